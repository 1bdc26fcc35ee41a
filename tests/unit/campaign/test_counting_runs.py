"""However often its runs were tried, a campaign has one number of runs wherever it is told."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from backends.campaign.folder.artifacts import report_context
from backends.campaign.folder.bundle import Bundle
from backends.campaign.folder.index import summarise_campaign
from backends.campaign.folder.whole_report import cite_of
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, fold
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.results.attempts import latest_attempts, tried_again
from backends.results.campaign_report import render_report
from backends.results.run_counts import lost_words
from backends.results.summary import summarise
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned, succeeded
from tui.campaign_words import state_words
from tui.cli.shared.campaign_rows import campaign_rows, most_telling, run_rows
from tui.cli.shared.watching import drawn_one, on_screen
from tui.kept_words import titled
from tui.screens.campaign_text import summary_words
from tui.screens.run_text import RunRows, summary

attempts = st.lists(st.integers(1, 4), min_size=1, max_size=9)


def retried(attempts: list[int]) -> Iterator[ev.Event]:
    """Runs with so many attempts, of which the last is still to come."""
    yield ev.CampaignCreated(t=0.0, campaign="c", version="1")
    for repeat, many in enumerate(attempts, 1):
        for attempt in range(1, many + 1):
            yield planned(f"r-000{repeat}-a{attempt}")


def state_of(attempts: list[int]) -> CampaignState:
    return fold(list(retried(attempts)))


def shown_of(attempts: list[int]) -> CampaignSnapshot:
    return take(state_of(attempts), Path("c"), now=9.0)


@given(attempts)
def test_a_run_is_counted_once_and_that_it_was_tried_again_is_told_apart(
    attempts: list[int],
) -> None:
    state, shown = state_of(attempts), shown_of(attempts)
    runs, again = len(attempts), sum(many - 1 for many in attempts)
    assert len(state.runs) == sum(attempts)
    assert (shown.total, shown.tried_again) == (runs, again)
    results = run_results(state)
    latest = latest_attempts(results)
    assert (len(latest), tried_again(results, latest)) == (runs, again)
    assert f"of {runs} run" in state.unfinished
    assert f"({runs} run" in cite_of(state, Bundle(Path("c.tar"), "0"))
    said = f"{again} tried again"
    assert (said in titled(shown)) is (said in summary(shown).plain) is (again > 0)
    assert sum(not row.replaced for row in RunRows()(shown)) == runs


@given(attempts, st.integers(1, 12))
def test_what_has_no_room_is_counted_in_runs(attempts: list[int], room: int) -> None:
    told, more = most_telling(shown_of(attempts), room)
    last = {run.run_id for run in shown_of(attempts).state.latest_attempts()}
    assert len([run for run in told if run.run_id in last]) + more == len(attempts)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["running", "failed", "succeeded", "planned"]), min_size=1, max_size=50
    ),
    st.integers(14, 50),
    st.integers(60, 160),
)
def test_what_is_watched_fits_the_screen_and_begins_with_its_headline(
    outcomes: list[str], height: int, width: int
) -> None:
    shown = take(fold(with_outcomes(outcomes)), Path("c"), now=20.0)
    out = io.StringIO()
    console = Console(width=width, height=height, file=out, highlight=False)
    console.print(on_screen(drawn_one, shown, console))
    lines = out.getvalue().splitlines()
    assert len(lines) < height
    assert lines[0].startswith("c")
    there = [run for run in shown.runs if re.search(rf"\b{run.run_id}\b", out.getvalue())]
    more = len(outcomes) - len(there)
    below = " ".join(lines[-2:])
    assert (re.findall(r"and (\d+) more run", below) == [str(more)]) is (more > 0)
    if more:
        gone = [run for run in shown.runs if run not in there]
        assert not any(run.state.active for run in gone) or all(run.state.active for run in there)


OUTCOMES = ("succeeded", "failed", "cancelled", "skipped", "planned", "running")


def with_outcomes(outcomes: list[str]) -> list[ev.Event]:
    events: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", version="1")]
    for repeat, outcome in enumerate(outcomes, 1):
        run_id = f"r-000{repeat}-a1"
        events.append(replace(planned(run_id), repeat=repeat))
        if outcome not in ("skipped", "planned"):
            events += [assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
        if outcome == "succeeded":
            events.append(succeeded(run_id))
        elif outcome == "failed":
            events.append(ev.RunFailed(t=9.0, run_id=run_id, reason="out of memory"))
        elif outcome in ("cancelled", "skipped"):
            events.append(ev.RunCancelled(t=9.0, run_id=run_id))
    if not {"planned", "running"} & {*outcomes}:
        events.append(ev.CampaignFinished(t=10.0))
    return events


def told_counts(text: str) -> dict[str, int]:
    words = "succeeded|failed|cancelled|skipped"
    return {word: int(n) for n, word in re.findall(rf"(\d+) ({words})\b", text)}


@settings(deadline=None)
@given(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=9))
def test_every_place_has_the_same_counts_of_what_became_of_the_runs(outcomes: list[str]) -> None:
    """``status``, its watch, the lists, the console and report.md."""
    events = with_outcomes(outcomes)
    state = fold(events)
    shown = take(state, Path("c"), now=20.0)
    counts = {name: n for name in OUTCOMES[:4] if (n := outcomes.count(name))}
    lost = {name: n for name, n in counts.items() if name != "succeeded"}
    over = sum(n for name, n in counts.items() if name != "skipped")
    total = len(outcomes)
    with TemporaryDirectory() as directory:
        (Path(directory) / journal.FILE_NAME).write_bytes(b"".join(map(encode, events)))
        listed = summarise_campaign(Path(directory), lambda: 20.0)
        report = render_report(
            report_context(state, Path(directory)),
            run_results(state),
            summarise(run_results(state)),
        )
    well = counts.get("succeeded", 0)
    assert f"{well}/{total} {'succeeded' if lost else 'runs'}" in titled(shown)
    row = campaign_rows([listed]).rows[0]
    assert str(row[2]) == f"{well}/{total}"
    for told in (shown.summary, state_words(listed), " ".join(lost_words(listed))):
        assert told_counts(re.sub(r"\d+/\d+ succeeded", "", told)) == lost
    assert ("finished" in state_words(listed).split(", ")) == shown.finished
    assert shown.finished == shown.summary.endswith("finished")
    assert f"{over} of {total} run" in state.unfinished or shown.finished
    line = re.search(r"(\d+) of (\d+) repeats succeeded(?:, (\d+) never started)?", report)
    skipped = counts.get("skipped", 0)
    assert (f"never started: {skipped} of the planned" in report) == (skipped > 0)
    if "failed" in lost or "cancelled" in lost:
        assert line is not None
        assert int(line[1]) == counts.get("succeeded", 0)
        assert int(line[2]) == total, "as n has it"
        assert int(line[3] or 0) == counts.get("skipped", 0)
        for name in ("failed", "cancelled"):
            assert len(re.findall(rf"#\d: {name}", report)) == counts.get(name, 0)
    left = outcomes.count("planned") + outcomes.count("running")
    assert (f"Not ended yet: {left} of the planned" in report) == (left > 0)


ENDS = ("succeeded", "failed", "cancelled", "skipped")


def tried(tries: list[list[str]]) -> Iterator[ev.Event]:
    """Of each run what became of it, and of each that was planned again after it."""
    yield ev.CampaignCreated(t=0.0, campaign="c", version="1")
    for repeat in range(1, len(tries) + 1):
        yield planned(f"r-000{repeat}-a1")
    for attempt in range(1, 1 + max(map(len, tries))):
        for repeat, ends in enumerate(tries, 1):
            if attempt > len(ends):
                continue
            run_id, before = (f"r-000{repeat}-a{number}" for number in (attempt, attempt - 1))
            if attempt > 1:
                yield replace(planned(run_id), attempt=attempt, retry_of=before)
            if ends[attempt - 1] != "skipped":
                yield from (assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id))
            if ends[attempt - 1] == "succeeded":
                yield succeeded(run_id)
            elif ends[attempt - 1] == "failed":
                yield ev.RunFailed(t=9.0, run_id=run_id, reason="out of memory")
            else:
                yield ev.RunCancelled(t=9.0, run_id=run_id)
    yield ev.CampaignFinished(t=10.0)


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(ENDS), min_size=1, max_size=3).filter(
            lambda ends: "succeeded" not in ends[:-1]
        ),
        min_size=1,
        max_size=6,
    ),
    st.data(),
)
def test_a_campaign_that_went_on_after_it_was_listed_has_the_counts_of_its_runs(
    tries: list[list[str]], data: st.DataObject
) -> None:
    """Whatever ended between the listing and the reading of its runs."""
    events = list(tried(tries))
    first = data.draw(st.integers(2, len(events)))
    with TemporaryDirectory() as directory:
        written = Path(directory) / journal.FILE_NAME
        written.write_bytes(b"".join(map(encode, events[:first])))
        before = summarise_campaign(Path(directory), lambda: 20.0)
        written.write_bytes(b"".join(map(encode, events)))
        after = summarise_campaign(Path(directory), lambda: 20.0)
    told = before.counting(run_results(fold(events)))
    counts = ("done", "failed", "not_begun", "cancelled", "skipped", "total")
    counts += ("tried_again", "planned_again")
    assert {n: getattr(told, n) for n in counts} == {n: getattr(after, n) for n in counts}


def counted_in(text: str) -> int:
    """All runs that a text of counts tells; ``3/6`` and ``3 of 6 runs`` of those that succeeded."""
    text = re.sub(r"(\d+)(/\d+| of \d+ runs)(?= (succeeded|runs))", r"\1", text)
    words = "succeeded|runs|failed|cancelled|skipped|tried again|planned again"
    return sum(int(number) for number, _ in re.findall(rf"\b(\d+) ({words})\b", text))


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            lambda before, last: [*before, last],
            st.lists(st.sampled_from(ENDS[1:]), max_size=3),
            st.sampled_from(ENDS),
        ),
        min_size=1,
        max_size=6,
    )
)
@example([["succeeded"]] * 3 + [["cancelled", "skipped"], ["skipped", "skipped"], ["skipped"]])
def test_the_counts_of_every_place_add_up_to_its_rows(tries: list[list[str]]) -> None:
    """However runs ended and were tried or planned again."""
    events = list(tried(tries))
    state = fold(events)
    shown = take(state, Path("c"), now=20.0)
    with TemporaryDirectory() as directory:
        (Path(directory) / journal.FILE_NAME).write_bytes(b"".join(map(encode, events)))
        listed = summarise_campaign(Path(directory), lambda: 20.0)
    rows = len(run_rows(shown.runs).rows)
    assert rows == len(RunRows()(shown)) == sum(map(len, tries))
    of_list = summary_words(listed, 20.0).plain.partition("runs succeeded")
    succeeded_words = re.sub(r" of \d+ $", " succeeded", "".join(of_list[:1]))
    for told in (titled(shown), summary(shown).plain, succeeded_words + of_list[2]):
        assert counted_in(told) == rows, told
    for view in shown.runs:
        words = f"attempt {view.attempt}" * (view.attempt > 1)
        assert view.label == f"{view.case.label} #{view.repeat} {words}".rstrip()
    assert bool(state.lost) is any(ends[-1] != "succeeded" for ends in tries)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["planned", "running", "succeeded", "failed"]), min_size=1),
    st.booleans(),
)
def test_what_is_told_of_a_campaign_before_its_end_adds_up_to_its_runs(
    states: list[str], attended: bool
) -> None:
    events: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", version="1")]
    for number, became in enumerate(states, 1):
        run_id = f"r-{number:04}-a1"
        begun = [assigned(run_id), ev.RunLaunched(t=2.0, run_id=run_id)]
        ends = {
            "succeeded": [succeeded(run_id)],
            "failed": [ev.RunFailed(t=9.0, run_id=run_id, reason="")],
        }
        events += [replace(planned(run_id), repeat=number)]
        events += [] if became == "planned" else [*begun, *ends.get(became, [])]
    with TemporaryDirectory() as directory:
        (Path(directory) / journal.FILE_NAME).write_bytes(b"".join(map(encode, events)))
        listed = summarise_campaign(Path(directory), lambda: 20.0)
    told = summary_words(replace(listed, state="live") if attended else listed, 20.0).plain
    left = f"at work when last seen {20 - events[-1].t:.0f}s ago" if not attended else "at work"
    for state, words in (("failed", "failed"), ("running", left), ("planned", "to come")):
        number = states.count(state)
        assert (f"· {number} {words} ·" in told) is (number > 0)
    assert f"{states.count('succeeded')} of {len(states)} runs succeeded" in told


@given(st.lists(st.booleans(), min_size=1, max_size=4))
def test_a_report_has_the_commands_of_an_attempt_that_counts(failed: list[bool]) -> None:
    """The first that succeeded, where one did."""
    events: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", version="1")]
    for attempt, lost in enumerate(failed, 1):
        run_id = f"r-0001-a{attempt}"
        started = replace(assigned(run_id), commands=(f"on {run_id}",))
        end = ev.RunFailed(t=9.0, run_id=run_id, reason="") if lost else succeeded(run_id)
        events += [planned(run_id), started, end]
    [told] = report_context(fold(events), Path("c")).commands
    counted = failed.index(False) + 1 if False in failed else 1
    assert [command for _, command in told.lines] == [f"on r-0001-a{counted}"]
