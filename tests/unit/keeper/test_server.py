"""What is asked for is done once and answered once, at whatever line of the journal the one who
does it is killed."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.campaign.folder.paths import REQUESTS, TAKEN
from backends.campaign.plan.more_repeats import more_repeats
from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.record import events as ev
from backends.campaign.record.codec import decode, encode
from backends.campaign.record.state import CampaignState, RunState, fold
from backends.file_modes import Share
from backends.keeper.request import MOST_REPEATS, MOST_RUNS, Answer, Request, Verb, new_id
from backends.keeper.server import RequestServer
from backends.keeper.spool import ANSWERS, GOOD_FOR_S, Spool

NOW = 1_795_000_000.0
TOKEN = "1f9811d0"


def run_id(number: int, attempt: int = 1) -> str:
    return f"{TOKEN}-{number:04d}-a{attempt}"


def planned(number: int, repeat: int, gpus_per_node: int = 1) -> ev.RunPlanned:
    return ev.RunPlanned(
        t=NOW,
        run_id=run_id(number),
        profile="steady",
        framework="F",
        model="M",
        unit="samples/s",
        nodes=1,
        gpus_per_node=gpus_per_node,
        parameters={},
        repeat=repeat,
    )


BEGUN = (
    ev.CampaignCreated(t=NOW, campaign="steady"),
    *(planned(number, number) for number in (1, 2, 3)),
    ev.RunFailed(t=NOW, run_id=run_id(1), reason="no reason"),
)


class Killed(BaseException):
    pass


class Work:
    """A campaign whose journal is a list of lines: what was not written is gone with a kill.

    ``lines_left``: so many more are written, then it is killed.
    """

    def __init__(self, lines: list[bytes], lines_left: int = 10_000) -> None:
        self.lines = lines
        self.left = lines_left
        self.state = fold(filter(None, map(decode, lines)))
        self._queued: list[ev.Event] = []
        self.diagnosed: list[str] = []

    def diagnose(self, run_id: str) -> bool:
        self.diagnosed.append(run_id)
        return True

    def note(self, event: ev.Event) -> None:
        self.state = fold([event], self.state)
        self._queued.append(event)

    async def written(self) -> None:
        for event in self._queued:
            if self.left <= 0:
                raise Killed
            self.left -= 1
            self.lines.append(encode(event))
        self._queued.clear()

    def pause(self, run_id: str, by: str) -> bool:
        able = run_id in self.state.runs and self.state.runs[run_id].pausable
        if able:
            self.note(ev.RunPaused(t=NOW, run_id=run_id, by=by))
        return able

    def unpause(self, run_id: str) -> bool:
        able = run_id in self.state.runs and self.state.runs[run_id].paused
        if able:
            self.note(ev.RunUnpaused(t=NOW, run_id=run_id))
        return able

    def cancel_run(self, run_id: str) -> None:
        if run_id in self.state.runs and not self.state.runs[run_id].state.ended:
            self.note(ev.RunCancelled(t=NOW, run_id=run_id))

    def cancel_all(self) -> None:
        self.note(ev.CancelAsked(t=NOW))
        for run_id in self.state.runs:
            self.cancel_run(run_id)

    def retry(self, run_id: str) -> None:
        run = self.state.runs.get(run_id)
        if run is not None and run in self.state.latest_attempts():
            self.note(next_attempt(run, NOW))

    def repeat(self, repeats: int, first: int) -> None:
        for event in more_repeats(self.state, repeats, first, NOW):
            self.note(event)


def asks(campaign: Path, verb: Verb, run_ids: tuple[str, ...] | None = None, **more: int) -> str:
    asked = Request(new_id(), TOKEN, verb, run_ids, **more)
    Spool(campaign, lambda: NOW).put(asked)
    return asked.id


def answer(campaign: Path, request_id: str) -> Answer:
    found = Spool(campaign).answer(request_id)
    assert found is not None
    return found


def serve(campaign: Path, work: Work, now: float = NOW) -> None:
    """As a writer does from its start, until nothing is left to do."""

    async def served() -> None:
        server = RequestServer(campaign, lambda: now)
        await server._finish(work)
        await server._serve_what_is_there(work)

    asyncio.run(served())


def of_runs(state: CampaignState) -> dict[str, tuple[RunState, bool]]:
    return {run_id: (run.state, run.paused) for run_id, run in state.runs.items()}


WISHES: dict[str, Callable[[Path], str]] = {
    "cancel one": lambda path: asks(path, Verb.CANCEL, (run_id(2),)),
    "cancel all": lambda path: asks(path, Verb.CANCEL),
    "retry": lambda path: asks(path, Verb.RETRY),
    "pause": lambda path: asks(path, Verb.PAUSE),
    "repeat": lambda path: asks(path, Verb.REPEAT, repeats=2),
    "diagnose": lambda path: asks(path, Verb.DIAGNOSE, (run_id(2),)),
}


@pytest.mark.parametrize("name", WISHES)
def test_a_kill_at_any_line_leaves_it_done_once_and_answered_once(
    tmp_path: Path, name: str
) -> None:
    """Also more repeats, of which a part may be planned already, come to the same."""
    results = []
    for lines in range(40):
        path = tmp_path / str(lines)
        path.mkdir(0o700)
        Spool(path).make()
        request_id = WISHES[name](path)
        journal = list(map(encode, BEGUN))
        try:
            serve(path, Work(journal, lines))
            killed = False
        except Killed:
            killed = True
            assert Spool(path).answer(request_id) is None, "nobody is told what is not on disk"
            serve(path, Work(journal))
        assert len([line for line in journal if b'"RequestAnswered"' in line]) == 1
        assert not list((path / TAKEN).iterdir())
        told = answer(path, request_id)
        results.append((of_runs(fold(filter(None, map(decode, journal)))), told.done, told.run_ids))
        if not killed:
            break
    assert len(results) > 2, "it was killed at some lines"
    assert not killed, "it came to its end"
    assert all(result == results[-1] for result in results)


def test_an_answer_that_was_given_is_given_again_to_nobody(campaign: Path) -> None:
    """A request with an id that was answered changes nothing, whatever it says."""
    journal = list(map(encode, BEGUN))
    request_id = asks(campaign, Verb.RETRY)
    serve(campaign, Work(journal))
    first = answer(campaign, request_id)
    assert first.run_ids == (run_id(1, 2),)
    length = len(journal)
    again = Request(request_id, TOKEN, Verb.CANCEL)
    Spool(campaign, lambda: NOW).put(again)
    serve(campaign, Work(journal))
    assert len(journal) == length
    assert answer(campaign, request_id) == first
    assert not list((campaign / REQUESTS).iterdir())


def test_an_answer_that_is_an_hour_old_is_not_written_again(campaign: Path) -> None:
    journal = list(map(encode, BEGUN))
    request_id = asks(campaign, Verb.RETRY)
    serve(campaign, Work(journal))
    later = NOW + GOOD_FOR_S + 1
    serve(campaign, Work(journal), later)
    assert list((campaign / ANSWERS).iterdir()) == []
    serve(campaign, Work(journal), later)
    assert Spool(campaign).answer(request_id) is None


def test_what_was_being_taken_when_the_last_run_ended_is_done_all_the_same(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled task's thread goes on: it takes the request from under the one that looks
    whether there is a last one."""
    request_id = asks(campaign, Verb.RETRY)
    entered, may_go, has_gone = threading.Event(), threading.Event(), threading.Event()
    rename = Path.rename

    def slow(path: Path, target: Path) -> Path:
        if path.parent.name != "requests":
            return rename(path, target)
        if not entered.is_set():
            entered.set()
            assert may_go.wait(10)
            rename(path, target)
            has_gone.set()
            return target
        may_go.set()  # another one has found it, too
        assert has_gone.wait(10)
        return rename(path, target)

    async def to_the_end() -> None:
        server = RequestServer(campaign, lambda: NOW)
        serving = asyncio.create_task(server.serve(work))
        assert await asyncio.to_thread(entered.wait, 10)
        serving.cancel()
        last = asyncio.create_task(server.serve_the_last(work))
        await asyncio.to_thread(may_go.wait, 0.3)  # at most until it has found the same
        may_go.set()
        await last

    work = Work(list(map(encode, BEGUN)))
    monkeypatch.setattr(Path, "rename", slow)
    asyncio.run(to_the_end())
    assert answer(campaign, request_id).done


def test_whoever_asks_without_end_does_not_keep_a_campaign_from_its_end(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = Spool.reply

    def asked_again(spool: Spool, told: Answer) -> None:
        reply(spool, told)
        asks(campaign, Verb.UNPAUSE)

    monkeypatch.setattr(Spool, "reply", asked_again)
    monkeypatch.setattr("backends.keeper.server.LAST_S", 0.2)
    asks(campaign, Verb.UNPAUSE)

    async def last() -> None:
        async with asyncio.timeout(30):
            await RequestServer(campaign, lambda: NOW).serve_the_last(work)

    work = Work(list(map(encode, BEGUN)))
    asyncio.run(last())
    assert work.state.wishes


def test_answers_that_a_power_failure_took_are_written_again(campaign: Path) -> None:
    journal = list(map(encode, BEGUN))
    request_id = asks(campaign, Verb.RETRY)
    serve(campaign, Work(journal))
    first = answer(campaign, request_id)
    (campaign / ANSWERS / f"{request_id}.json").unlink()
    serve(campaign, Work(journal))
    assert answer(campaign, request_id) == first


@pytest.mark.parametrize(
    ("verb", "run_ids", "why"),
    [
        (Verb.CANCEL, (run_id(9),), "no run"),
        (Verb.RETRY, (run_id(2),), "only a failed or cancelled run is tried again"),
        (Verb.UNPAUSE, None, "no run is paused"),
    ],
)
def test_what_cannot_be_is_answered_with_the_line_that_a_command_would_say(
    campaign: Path, verb: Verb, run_ids: tuple[str, ...] | None, why: str
) -> None:
    journal = list(map(encode, BEGUN))
    request_id = asks(campaign, verb, run_ids)
    work = Work(journal)
    serve(campaign, work)
    told = answer(campaign, request_id)
    assert not told.done
    assert why in told.text
    wish = work.state.wishes[request_id]
    assert (wish.verb, wish.done) == (str(verb), False)
    assert wish.by


@pytest.mark.parametrize("verb", [Verb.CANCEL, Verb.RETRY, Verb.PAUSE, Verb.UNPAUSE])
def test_a_run_that_damage_took_from_the_journal_keeps_nobody_from_the_others(
    campaign: Path, verb: Verb
) -> None:
    wanted = (run_id(1) if verb is Verb.RETRY else run_id(2), run_id(9))
    taken = ev.RequestTaken(t=NOW, request=new_id(), verb=str(verb), by="ann", run_ids=wanted)
    serve(campaign, Work([*map(encode, BEGUN), encode(taken)]))
    told = answer(campaign, taken.request)
    assert told.done
    assert told.run_ids == ((run_id(1, 2),) if verb is Verb.RETRY else wanted[:1])


def test_only_runs_that_had_not_ended_were_asked_to_end(campaign: Path) -> None:
    cancelled = ev.RunCancelled(t=NOW, run_id=run_id(2))
    journal = [*map(encode, BEGUN), encode(cancelled)]
    first, second = asks(campaign, Verb.CANCEL), asks(campaign, Verb.CANCEL)
    os.utime(campaign / REQUESTS / f"{second}.json", (NOW + 1, NOW + 1))
    work = Work(journal)
    serve(campaign, work)
    assert work.state.wishes[first].run_ids == (run_id(3),)
    assert answer(campaign, first).text == "1 run asked to end"
    assert answer(campaign, second).text == "all runs asked to end"


@pytest.mark.parametrize("ended", [ev.RunCancelled(t=NOW, run_id=run_id(2)), None])
@pytest.mark.parametrize("others", [(), (run_id(3),)])
def test_a_run_that_was_cancelled_before_is_not_said_to_be_asked_to_end(
    campaign: Path, ended: ev.Event | None, others: tuple[str, ...]
) -> None:
    journal = [*map(encode, BEGUN), *([encode(ended)] if ended else [])]
    request_id = asks(campaign, Verb.CANCEL, (run_id(2), *others))
    serve(campaign, Work(journal))
    told = answer(campaign, request_id)
    asked = (*(() if ended else (run_id(2),)), *others)
    assert (told.done, told.run_ids) == (True, asked)
    runs = "1 run" if len(asked) == 1 else f"{len(asked)} runs"
    assert told.text == (f"{runs} asked to end" if asked else "nothing to end: it has ended before")


@pytest.mark.parametrize("at_work", [False, True])
def test_only_the_hosts_of_a_run_at_work_are_asked_why_it_does_not_move(
    campaign: Path, *, at_work: bool
) -> None:
    run = run_id(2)
    begun = [
        ev.RunAssigned(t=NOW, run_id=run, hosts=("n1",), commands=("",), port=1, log="a.log"),
        ev.RunLaunched(t=NOW, run_id=run, boot_ids=("b",)),
    ]
    work = Work(list(map(encode, [*BEGUN, *begun * at_work])))
    request_id = asks(campaign, Verb.DIAGNOSE, (run,))
    serve(campaign, work)
    told = answer(campaign, request_id)
    assert (told.run_ids, work.diagnosed) == ((run,) * at_work, [run] * at_work)
    assert ("nobody to ask" in told.text) is not at_work


def test_what_only_a_newer_version_can_do_is_refused_in_words_and_stops_nothing_else(
    campaign: Path,
) -> None:
    taken = ev.RequestTaken(t=NOW, request=new_id(), verb="levitate", by="ann")
    request_id = asks(campaign, Verb.CANCEL, (run_id(3),))
    serve(campaign, Work([*map(encode, BEGUN), encode(taken)]))
    told = answer(campaign, taken.request)
    assert (told.done, told.text) == (False, "this version does not know what 'levitate' asks for")
    assert answer(campaign, request_id).done


def test_a_request_for_the_end_of_all_from_before_is_understood(campaign: Path) -> None:
    """It does not say which runs had not ended."""
    taken = ev.RequestTaken(t=NOW, request=new_id(), verb="cancel", by="ann", everything=True)
    work = Work([*map(encode, BEGUN), encode(taken)])
    serve(campaign, work)
    assert work.state.cancel_asked
    assert answer(campaign, taken.request).text == "all runs asked to end"


def many_cases(count: int) -> list[bytes]:
    return [encode(BEGUN[0]), *(encode(planned(n, 1, n)) for n in range(1, count + 1))]


def test_more_runs_than_an_answer_can_name_are_not_planned(campaign: Path) -> None:
    cases = MOST_RUNS // MOST_REPEATS + 1
    journal = many_cases(cases)
    request_id = asks(campaign, Verb.REPEAT, repeats=MOST_REPEATS)
    work = Work(journal)
    serve(campaign, work)
    told = answer(campaign, request_id)
    assert not told.done
    assert f"{cases * MOST_REPEATS} runs" in told.text
    assert f"{MOST_RUNS} at once" in told.text
    assert len(work.state.runs) == cases


@pytest.mark.parametrize("verb", [Verb.PAUSE, Verb.UNPAUSE, Verb.RETRY, Verb.CANCEL])
def test_a_campaign_of_more_runs_than_an_answer_can_name_is_answered(
    campaign: Path, monkeypatch: pytest.MonkeyPatch, verb: Verb
) -> None:
    """All of them end; what says which they are is refused."""
    monkeypatch.setattr("backends.keeper.server.MOST_RUNS", 4)
    monkeypatch.setattr("backends.keeper.request.MOST_RUNS", 4)
    journal = many_cases(5)
    for number in range(1, 6):
        if verb is Verb.UNPAUSE:
            journal.append(encode(ev.RunPaused(t=NOW, run_id=run_id(number), by="ann")))
        if verb is Verb.RETRY:
            journal.append(encode(ev.RunFailed(t=NOW, run_id=run_id(number), reason="none")))
    request_id = asks(campaign, verb)
    work = Work(journal)
    before = of_runs(work.state)
    serve(campaign, work)
    told = answer(campaign, request_id)
    assert told.done is (verb is Verb.CANCEL)
    assert told.run_ids == ()
    assert (of_runs(work.state) == before) is not told.done
    assert ("5 runs asked to end" if told.done else "that is 5 runs") in told.text


def test_an_answer_that_names_as_many_runs_as_one_may_is_read(campaign: Path) -> None:
    runs = tuple(f"{TOKEN}-{number:06d}-a{100 + number}" for number in range(MOST_RUNS))
    told = Answer(new_id(), True, "done", runs)
    Spool(campaign).reply(told)
    assert answer(campaign, told.id) == told


def test_a_request_of_another_campaign_is_refused(campaign: Path) -> None:
    asked = Request(new_id(), "someother", Verb.CANCEL)
    Spool(campaign, lambda: NOW).put(asked)
    work = Work(list(map(encode, BEGUN)))
    serve(campaign, work)
    assert "another campaign" in answer(campaign, asked.id).text
    assert not work.state.cancel_asked


def test_a_run_whose_end_was_asked_for_is_ended_by_whoever_goes_on(campaign: Path) -> None:
    """What only the one who was killed knew."""
    asks(campaign, Verb.CANCEL, (run_id(2),))
    journal = [*map(encode, BEGUN)]
    serve(campaign, Work(journal))
    without = [line for line in journal if b'"RunCancelled"' not in line]
    work = Work(without)
    assert work.state.runs[run_id(2)].state is RunState.PLANNED
    serve(campaign, work)
    assert work.state.runs[run_id(2)].state is RunState.CANCELLED


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files away")


@needs_root
@pytest.mark.parametrize("share", [Share.PRIVATE, Share.GROUP])
def test_somebody_elses_request_is_refused_and_noted(tmp_path: Path, share: Share) -> None:
    """Who asks is the file's owner, whatever the file says: of a shared campaign a member of its
    group may, and nobody is a member of the group of root."""
    campaign = tmp_path / "campaign"
    campaign.mkdir()
    campaign.chmod(share.directory_mode)
    Spool(campaign).make()
    request_id = asks(campaign, Verb.CANCEL)
    os.chown(campaign / REQUESTS / f"{request_id}.json", 65534, 65534)
    work = Work(list(map(encode, BEGUN)))
    serve(campaign, work)
    assert not work.state.cancel_asked
    assert not answer(campaign, request_id).done
    assert [text for _, _, text in work.state.notes if "was refused" in text]
    assert request_id not in work.state.wishes


@needs_root
def test_a_member_of_the_campaigns_group_may_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = tmp_path / "campaign"
    campaign.mkdir()
    os.chown(campaign, -1, 4321)
    campaign.chmod(Share.GROUP.directory_mode)
    Spool(campaign).make()
    assert (campaign / REQUESTS).stat().st_gid == 4321
    request_id = asks(campaign, Verb.PAUSE)
    os.chown(campaign / REQUESTS / f"{request_id}.json", 65534, 4321)
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [4321])
    work = Work(list(map(encode, BEGUN)))
    serve(campaign, work)
    assert answer(campaign, request_id).done
    assert {run.paused_by for run in work.state.runs.values() if run.paused} == {"nobody"}


def test_who_is_refused_again_and_again_does_not_fill_the_journal(campaign: Path) -> None:
    for _ in range(60):
        path = campaign / REQUESTS / f"{new_id()}.json"
        path.write_bytes(b"\x1b[31m")
        os.utime(path, (NOW, NOW))
    journal = list(map(encode, BEGUN))
    work = Work(journal)
    serve(campaign, work)
    asyncio.run(work.written())
    assert len(journal) < len(BEGUN) + 30
    assert not list((campaign / REQUESTS).iterdir())
