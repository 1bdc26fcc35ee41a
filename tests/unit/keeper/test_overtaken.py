"""Who changes a campaign that nobody is at work on has the later word: what was asked before is
refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, read_events, write_now
from backends.keeper.overtaken import HALF, WHY, refuse_overtaken
from backends.keeper.request import Verb
from backends.keeper.spool import Spool
from tests.unit.keeper.test_server import NOW, Work, answer, asks, planned, run_id, serve


def changed(path: Path) -> list[str]:
    """As who pauses does; the kinds of the lines that were written, in their order."""
    before = len(list(read_events(path / FILE_NAME)))

    def write(events: Sequence[ev.Event]) -> None:
        write_now(path / FILE_NAME, events)

    refuse_overtaken(path, read_campaign(path), lambda: NOW, write)
    return [type(event).__name__ for event in read_events(path / FILE_NAME)][before:]


def begun(path: Path, *more: ev.Event) -> None:
    created = ev.CampaignCreated(t=NOW, campaign="campaign")
    write_now(path / FILE_NAME, [created, planned(1, 1), planned(2, 1), *more])


def test_what_lies_there_is_refused_in_the_journal_and_to_who_asked(campaign: Path) -> None:
    begun(campaign)
    asked = [asks(campaign, Verb.UNPAUSE, (run_id(1),)), asks(campaign, Verb.REPEAT, repeats=2)]
    assert changed(campaign) == ["RequestAnswered"] * 2
    for one in asked:
        assert (answer(campaign, one).done, answer(campaign, one).text) == (False, WHY)
    assert Spool(campaign).take() is None
    assert changed(campaign) == []


def test_what_was_taken_and_not_answered_is_not_begun_again(campaign: Path) -> None:
    asked = asks(campaign, Verb.UNPAUSE, (run_id(1),))
    taken = ev.RequestTaken(t=NOW, request=asked, verb="unpause", by="ann", run_ids=(run_id(1),))
    begun(campaign, taken)
    assert Spool(campaign).take() is not None
    assert changed(campaign) == ["RequestAnswered"]
    assert (answer(campaign, asked).done, answer(campaign, asked).text) == (False, HALF)
    assert read_campaign(campaign).wishes[asked].done is False


def test_a_cancel_that_was_refused_is_done_by_nobody(campaign: Path) -> None:
    """What of it is not done stays so."""
    asked = asks(campaign, Verb.CANCEL, (run_id(1),))
    taken = ev.RequestTaken(t=NOW, request=asked, verb="cancel", by="ann", run_ids=(run_id(1),))
    begun(campaign, taken)
    assert Spool(campaign).take() is not None
    assert read_campaign(campaign).cancel_wished == {run_id(1)}
    assert read_campaign(campaign).end_wished_by(run_id(1)) == "ann"
    assert changed(campaign) == ["RequestAnswered"]
    assert read_campaign(campaign).cancel_wished == set()
    assert read_campaign(campaign).end_wished_by(run_id(1)) == ""
    work = Work((campaign / FILE_NAME).read_bytes().splitlines())
    serve(campaign, work)
    assert not work.state.runs[run_id(1)].state.ended
    assert (answer(campaign, asked).done, answer(campaign, asked).text) == (False, HALF)


def test_an_answer_that_stands_stays(campaign: Path) -> None:
    asked = asks(campaign, Verb.PAUSE, (run_id(1),))
    taken = ev.RequestTaken(t=NOW, request=asked, verb="pause", by="ann", run_ids=(run_id(1),))
    answered = ev.RequestAnswered(t=NOW, request=asked, done=True, text="1 run paused")
    begun(campaign, taken, answered)
    assert Spool(campaign).take() is not None  # and whoever answered was killed just then
    assert changed(campaign) == []
    assert (answer(campaign, asked).done, answer(campaign, asked).text) == (True, "1 run paused")


def test_a_file_that_is_no_request_leaves_no_line_in_the_journal(campaign: Path) -> None:
    begun(campaign)
    one = asks(campaign, Verb.PAUSE)
    path = campaign / f"spool/requests/{one}.json"
    path.write_bytes(b"{")
    assert changed(campaign) == []
    assert answer(campaign, one).done is False


def test_a_campaign_of_which_nothing_was_ever_asked_gets_no_spool(tmp_path: Path) -> None:
    begun(tmp_path)
    assert changed(tmp_path) == []
    assert not (tmp_path / "spool").exists()
