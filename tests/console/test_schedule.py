"""Hosts over time: what was, is and is expected to be, where and when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.due_runs import DueRuns
from backends.campaign.record import events as ev
from backends.campaign.record.run_estimates import durations, expected_slots
from backends.campaign.record.run_record import RunRecord, avoided
from backends.campaign.record.run_view import RunView
from backends.campaign.record.state import CampaignState, fold, next_attempt_id
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.engines.engine import Wanted
from backends.engines.filling import Offer
from backends.engines.hosts_schedule import schedule_on
from backends.inventory.nodesets import ranked_nodeset
from profiles.counted import counted
from profiles.durations import format_duration
from profiles.format.host_capacity import HostCapacity
from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    begin,
    console,
    screen_text,
    shows,
    tick,
    until,
)
from tests.console.fakes import FakeController, FakeWorkspace
from tests.console.test_runs import open_runs, pass_time
from tests.unit.campaign.test_campaign_state import succeeded
from tui.app import DlperfApp
from tui.screens.run_text import COLUMNS, RunRows, state_text
from tui.screens.schedule_text import MOST_PLAYED, NEAR, TINY, Schedule, _around, _within
from tui.theme import ACCENT, MUTED
from tui.timeline_text import MOST_NAME, Bar, _lanes, host_lines
from tui.widgets.keyed_table import KeyedTable

HOSTS = ("h1", "h2")
ENDED = succeeded("")


def planned(number: int, nodes: int) -> ev.RunPlanned:
    return ev.RunPlanned(
        t=0.0,
        run_id=f"r-{number:04}-a1",
        profile="p",
        framework="f",
        model="m",
        unit="images/s",
        nodes=nodes,
        gpus_per_node=1,
        parameters={},
        repeat=number,
        attempt=1,
        expected_s=60.0,
    )


def campaign(sizes: list[int], ended: int, at_work: int) -> tuple[CampaignSnapshot, float]:
    """The first of the runs one after another, a minute each; then one at work for half of it."""
    told: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", hosts=2)]
    told += [planned(number, nodes) for number, nodes in enumerate(sizes, 1)]
    now = 0.0
    for number, nodes in enumerate(sizes[: ended + at_work], 1):
        run_id = f"r-{number:04}-a1"
        told.append(
            ev.RunAssigned(t=now, run_id=run_id, hosts=HOSTS[:nodes], commands=(), port=1, log="l")
        )
        told.append(ev.RunLaunched(t=now, run_id=run_id))
        if number <= ended:
            now += 60.0
            told.append(ev.RunFailed(t=now, run_id=run_id, reason="x"))
    state: CampaignState = fold(told)
    now += 30.0
    return take(state, Path("c"), now=now), now


def host_rows(text: str) -> dict[str, str]:
    rows = (line for line in text.splitlines() if line[:2] in HOSTS)
    return {row[:2]: row[MOST_NAME + 1 :] for row in rows}


@given(
    st.lists(st.integers(1, 2), min_size=1, max_size=6),
    st.integers(0, 3),
    st.integers(0, 1),
    st.integers(60, 200),
)
@settings(max_examples=60, deadline=None)
def test_each_run_is_once_on_each_of_its_hosts_and_the_end_is_that_of_the_one_estimate(
    sizes: list[int], ended: int, at_work: int, width: int
) -> None:
    viewed, now = campaign(sizes, min(ended, len(sizes)), at_work)
    text = Schedule().lines(viewed, None, width, now, HOSTS).plain
    rows = host_rows(text)
    assert all(len(line) <= width for line in text.splitlines())
    marks = "".join(rows.values())
    over = sum(sizes[: min(ended, len(sizes))])
    assert sum(marks.count(mark) for mark in "✗▶·") == sum(sizes)
    assert marks.count("✗") == over
    if viewed.eta_s is not None:
        columns = width - MOST_NAME - 1
        total = now + viewed.eta_s
        assert max(map(len, rows.values())) == pytest.approx(columns, abs=2), "the last one ends it"
        place = text.splitlines()[0].index("▼") - MOST_NAME - 1
        assert place == pytest.approx(min(now / total * columns, columns - 5), abs=1)


@given(st.integers(2, 6), st.integers(60, 200), st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_host_that_others_hold_is_marked_and_nothing_is_planned_there(
    runs: int, width: int, held: bool
) -> None:
    viewed, now = campaign([1] * runs, 1, 1)
    if held:
        viewed = replace(viewed, unusable={"h2": "held by bob, campaign x"})
    text = Schedule().lines(viewed, None, width, now, HOSTS, rows=20).plain
    rows = host_rows(text)
    if held:
        assert rows["h2"].strip("┊ ").startswith("░ held")
        assert not set(rows["h2"]) & set("·▶┄")
        assert rows["h1"].count("·") == runs - 2
    else:
        assert "░" not in text
        assert ("·" in rows.get("h2", "")) == (runs > 2)
    assert ("░ cannot be used" in text) == held


@given(st.lists(st.integers(1, 2), min_size=1, max_size=30), st.integers(40, 200))
@settings(max_examples=60, deadline=None)
def test_a_bar_has_the_label_of_its_run_whole_or_its_mark_alone(
    sizes: list[int], width: int
) -> None:
    viewed, now = campaign(sizes, len(sizes) // 2, 1)
    whole = {run.label for run in viewed.runs} | {
        f"{run.label.split()[0]} #{number}" for number, run in enumerate(viewed.runs, 1)
    }
    for row in host_rows(Schedule().lines(viewed, None, width, now, HOSTS).plain).values():
        drawn = (re.sub("[━┄╌┊]", " ", bar).strip() for bar in re.split("[✗▶·]", row))
        assert set(drawn) <= whole | {""}


@given(st.sampled_from(["━", "┄"]), st.integers(1, 30), st.text("abc #1", min_size=1, max_size=12))
def test_a_name_that_has_room_is_there_whatever_becomes_of_the_run(
    fill: str, length: int, name: str
) -> None:
    name = f"✓ {name.strip() or 'a'}"
    [lane] = _lanes([Bar(("n",), (f"{name} ", "✓"), 0, length, fill)], 60, 60)
    drawn = "".join(words for _, words, _ in lane)
    assert len(drawn) == length
    assert drawn.startswith(f"{name}{fill}") or drawn.startswith(f"{name} {fill}") == (
        len(name) < length
    )
    assert length == 1 or drawn.endswith(fill), "its end is seen"


@given(st.lists(st.integers(1, 2), min_size=1, max_size=6), st.integers(0, 5), st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_hosts_of_the_run_under_the_cursor_come_first_where_not_all_have_room(
    sizes: list[int], at: int, rows: int
) -> None:
    viewed, now = campaign([1, *sizes], 0, 0)
    names = tuple(f"h{number}" for number in range(1, 10))
    selected = viewed.runs[at % len(viewed.runs)]
    lines = Schedule().lines(viewed, selected, 100, now, names, rows=rows).plain.splitlines()
    one = viewed.runs.index(selected) + 1
    mine = [n for n, line in enumerate(lines) if f" #{one}" in line and line.startswith("h")]
    hosts = [line[:2] for line in lines if line.startswith("h")]
    if len(lines) > rows:
        assert mine[:1] == [1], "right below the axis"
    else:
        assert hosts == sorted(hosts)


async def test_only_what_is_said_leaves_a_zoomed_panel_of_runs(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        seen = set()
        for key in ("s", *"vvvv"):
            await pilot.press(key, "z")
            seen.add(zoomed := page.panels.alone)
            await pilot.press("W")
            await pilot.pause()
            assert zoomed
            assert page.panels.alone == zoomed
            leads_back = "z or Esc" in screen_text(app)
            assert leads_back is (zoomed not in ("chart", "schedule")), zoomed
            await pilot.press("z", "escape")
        assert seen == {"schedule", "chart", "log", "details"}


def test_what_has_no_place_is_counted_and_the_cursor_is_told_when() -> None:
    viewed, now = campaign([1, 2, 1], 1, 1)
    paused = ev.RunPaused(t=now, run_id="r-0003-a1", by="alice")
    viewed = take(fold([paused], viewed.state), Path("c"), now=now)
    at_work = viewed.runs[1]
    text = Schedule().lines(viewed, at_work, 100, now, HOSTS).plain
    assert "not shown: 1 run paused" in text
    assert f"{at_work.label} is on h[1-2] from 1m00s, expected until 2m00s" in text
    assert "expected expected" not in text


@given(st.integers(61, 9_000))
@settings(max_examples=20)
def test_a_run_that_outlives_its_estimate_is_told_by_how_long_it_has_been_at_work(
    late_s: int,
) -> None:
    viewed, now = campaign([1, 2, 1], 1, 1)
    late = take(viewed.state, Path("c"), now=now + late_s)
    run = late.runs[1]
    assert run.outlived
    began = late.state.runs[run.run_id].started_at or 0.0
    text = shown_for(late, run, now + late_s)
    lasting = format_duration(now + late_s - began)
    assert f"{run.label} has been on h[1-2] for {lasting}, longer than was expected" in text
    assert "since" not in text


@pytest.mark.parametrize("limit_s", [None, 90.0, 600.0])
def test_of_a_silent_run_the_limit_of_its_profile_is_told_while_its_end_is_not_known(
    limit_s: float | None,
) -> None:
    viewed, now = campaign([1, 2, 1], 1, 1)
    points = tuple((float(i), 100.0, now + i) for i in range(6))
    told = ev.ReadingsArrived(t=now + 6, run_id="r-0002-a1", first=0, readings=points)
    state = fold([told], viewed.state)
    for later_s in (40.0, 400.0, 4000.0):
        later = take(state, Path("c"), now=now + later_s)
        run = later.runs[1]
        assert run.silent_s is not None
        waits = later.runs[2]
        own, other = (
            Schedule().lines(later, one, 100, at, HOSTS, stall_limit=lambda _: limit_s).plain
            for at in [now + later_s]
            for one in (run, waits)
        )
        lasting = format_duration(30.0 + later_s)
        if limit_s is None:
            ends = "nothing tells when {} ends"
        else:
            ends = f"{{}} is ended as stalled after {format_duration(limit_s)} without a reading"
        assert f"{run.label} has been on h[1-2] for {lasting}; {ends.format('it')}" in own
        assert "expected until" not in own
        assert f"when it begins is not known: {ends.format(run.label)}" in other


@given(st.integers(1, 3600))
@settings(max_examples=20)
def test_the_latest_end_of_a_silent_run_is_told_of_it_and_of_what_waits_for_it(left_s: int) -> None:
    viewed, now = campaign([2, 2, 2], 0, 1)
    points = tuple((float(i), 100.0, now + i) for i in range(6))
    told = ev.ReadingsArrived(t=now + 6, run_id="r-0001-a1", first=0, readings=points)
    at = now + 40
    state, given_up = fold([told], viewed.state), {"r-0001-a1": at + left_s}
    silent, waits, _ = (later := take(state, Path("c"), now=at, given_up=given_up)).runs
    limit = f"ended as stalled in {format_duration(left_s)} unless a reading comes"
    text = shown_for(later, silent, at)
    assert f"; it is {limit}" in text
    assert f"not shown: 2 runs to come, after {silent.label}" in text
    assert f"when it begins is not known: {silent.label} is {limit}" in shown_for(later, waits, at)
    assert f"ended as stalled in {format_duration(left_s)} unless one comes" in silent.state_text


@given(st.lists(st.integers(1, 2), min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_what_waits_for_hosts_of_a_silent_run_has_no_foretold_place(sizes: list[int]) -> None:
    viewed, now = campaign(sizes, 0, 1)
    points = tuple((float(i), 100.0, now + i) for i in range(6))
    told = ev.ReadingsArrived(t=now + 6, run_id="r-0001-a1", first=0, readings=points)
    going = take(fold([told], viewed.state), Path("c"), now=now + 7)
    silent = take(going.state, Path("c"), now=now + 40)
    schedule = Schedule()
    schedule.lines(going, None, 100, now + 7, HOSTS)  # and what was played then is not kept
    held = set(HOSTS[: sizes[0]])
    for number, run in enumerate(silent.runs[1:], 1):
        text = schedule.lines(silent, run, 100, now + 40, HOSTS).plain
        rows = host_rows(text)
        assert all("┄" not in rows.get(host, "") for host in held), text
        if sizes[number] > len(HOSTS) - len(held):
            why = "when it begins is not known: "
            why += f"nothing tells when {silent.runs[0].label} ends"
            assert f"{run.label}: {run.state_text}; {why}" in text


def test_a_run_that_starts_has_its_bar_from_then_on_fainter_than_one_at_work() -> None:
    viewed, now = campaign([1, 2, 1], 1, 0)
    begun = ev.RunAssigned(t=now - 5, run_id="r-0002-a1", hosts=HOSTS, commands=(), port=1, log="l")
    starting = take(fold([begun], viewed.state), Path("c"), now=now)
    launched = ev.RunLaunched(t=now, run_id="r-0002-a1")
    running = take(fold([launched], starting.state), Path("c"), now=now)
    assert starting.eta_s == running.eta_s
    looks = []
    for shown, symbol in ((starting, "◌"), (running, "▶")):
        text = Schedule().lines(shown, None, 100, now, HOSTS)
        rows = host_rows(text.plain)
        assert all(row.count(f"{symbol} 2n1g #2 ") == 1 for row in rows.values()), "in full"
        ends = {host: len(row.split("·")[0].rstrip()) for host, row in rows.items()}
        at = text.plain.index(symbol)
        looks.append((ends, {str(s.style) for s in text.spans if s.start <= at < s.end}))
    assert looks[0][0] == looks[1][0]
    assert looks[0][1] == {MUTED}
    assert looks[1][1] == {ACCENT}


def test_the_run_under_the_cursor_is_told_whatever_its_state() -> None:
    viewed, now = campaign([1, 2, 1], 1, 1)
    paused = ev.RunPaused(t=now, run_id="r-0003-a1", by="alice")
    viewed = take(fold([paused], viewed.state), Path("c"), now=now)
    for run in viewed.runs:
        text = Schedule().lines(viewed, run, 100, now, HOSTS).plain
        assert text.count(f"\n{run.label}") == 1
    over, _, waits = viewed.runs
    assert f"{over.label} was on h1 from 0s, for 1m00s: failed" in shown_for(viewed, over, now)
    assert f"{waits.label}: paused by alice since" in shown_for(viewed, waits, now)


@given(st.permutations(("h1", "h2", "v100a", "h200a")), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_hosts_stand_in_the_order_of_ranks_as_in_the_list_of_runs(
    order: list[str], nodes: int
) -> None:
    """Rank 0's host is the first: whoever reads both must not take them for two runs."""
    hosts = tuple(order[:nodes])
    told: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", hosts=4), planned(1, nodes)]
    run_id = "r-0001-a1"
    told.append(ev.RunAssigned(t=0.0, run_id=run_id, hosts=hosts, commands=(), port=1, log="l"))
    told.append(ev.RunLaunched(t=0.0, run_id=run_id))
    for end in ([], [ev.RunFailed(t=60.0, run_id=run_id, reason="x")]):
        viewed = take(fold([*told, *end]), Path("c"), now=90.0)
        text = Schedule().lines(viewed, viewed.runs[0], 160, 90.0, order).plain
        firsts = [line.split()[0] for line in text.splitlines() if line.strip()]
        rows = [name for name in firsts if name in order]
        assert rows == list(hosts)
        assert f" on {ranked_nodeset(hosts)} " in text


def shown_for(viewed: CampaignSnapshot, run: RunView, now: float) -> str:
    return Schedule().lines(viewed, run, 100, now, HOSTS).plain


def test_of_a_campaign_that_nobody_goes_on_with_nothing_is_expected() -> None:
    viewed, now = campaign([1, 1], 1, 0)
    left = take(viewed.state, Path("c"), now=now + 1e6, read_only=True)
    text = Schedule().lines(left, None, 100, now + 1e6, HOSTS).plain
    assert "▼ now" not in text
    assert text.count("·") == 0
    assert len(host_rows(text)["h1"]) > 70, "and the time since is not drawn"


def test_it_is_played_anew_only_when_something_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tui.screens import schedule_text  # noqa: PLC0415 - to count its calls

    played: list[int] = []
    real = schedule_text.expected_slots

    def counted(*args: object) -> object:
        played.append(1)
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(schedule_text, "expected_slots", counted)
    viewed, now = campaign([1, 2, 1], 1, 1)
    schedule = Schedule()
    for width in range(60, 160):
        schedule.lines(viewed, None, width, now, HOSTS)
    assert len(played) == 1


@pytest.mark.parametrize("size", [SMALL, HUGE], ids=str)
async def test_s_shows_the_hosts_over_time_and_goes_back(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        controller: FakeController = begin(app, workspace)
        page = await open_runs(app, pilot)
        for _ in range(3):
            await pass_time(workspace, app, pilot, 20)
        await pilot.press("s")
        await until(pilot, partial(shows, app, "Schedule · hosts over time"))
        tick(app)
        await pilot.pause()
        shown = screen_text(app)
        rows = [row for row in shown.splitlines() if row.lstrip("│ ").startswith("node")]
        assert all(any(f"{host} " in row for row in rows) for host in controller.hosts)
        assert "▶ 4n8g" in shown
        assert "▼ now" in shown
        assert page.panels.next_view == "chart"
        await pilot.press("s")
        await until(pilot, lambda: not shows(app, "hosts over time"))
        await pilot.press("s", "v")
        await until(pilot, partial(shows, app, "images/s over time"))


async def test_each_campaign_is_scheduled_by_its_own_durations(workspace: FakeWorkspace) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace, ("1n8g",))
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("s")
        await until(pilot, partial(shows, app, "hosts over time"))
        viewed = app.session.viewed
        assert viewed is not None
        panels, run = page.panels, viewed.runs[0]
        names = {run.run_id: run.label}
        first = panels._timetable
        panels.show(viewed, run, names)
        assert panels._timetable is first
        panels.show(replace(viewed, path=viewed.path / "another"), run, names)
        assert panels._timetable is not first


sizes_and_times = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from([20.0, 60.0, 90.0])), min_size=1, max_size=5
)


@given(sizes_and_times, st.integers(1, 3), st.sampled_from([None, 1]), st.data())
@settings(max_examples=60, deadline=None)
def test_what_comes_next_is_what_the_engine_starts_next(
    cases: list[tuple[int, float]], repeats: int, most: int | None, data: st.DataObject
) -> None:
    """Whatever runs took that have ended, and wherever some failed; case by case as they are
    planned here."""
    names = ("h1", "h2", "h3")
    runs = [
        replace(
            planned(1000 * case + repeat, nodes),
            parameters={"case": case},
            repeat=repeat,
            expected_s=expected_s,
        )
        for case, (nodes, expected_s) in enumerate(cases, 1)
        for repeat in range(1, repeats + 1)
    ]
    told: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", hosts=3), *runs]
    now = 0.0
    while True:
        state = fold(told)
        recorder = SimpleNamespace(state=state)
        due = DueRuns(recorder, _AsPlanned(), None, clock=lambda now=now: now)  # type: ignore[arg-type]
        with mock.patch("backends.campaign.due_runs.loop_time", return_value=0.0):
            wanted = due.wanted(())
        if not wanted:
            break
        offers = [Offer(HostCapacity(name, None, None)) for name in names]
        starts = schedule_on(offers, wanted, now).starts
        left = [one for one in state.runs.values() if not one.state.ended]
        expected = durations(state.runs.values())
        slots = expected_slots(left, expected, now, 3, 0, names, most=most)
        told_next = {k: v.hosts for k, v in slots.items() if v.start <= now}
        assert told_next == starts or (most and told_next.items() <= starts.items())
        for run_id, hosts in starts.items():
            begun = ev.RunAssigned(t=now, run_id=run_id, hosts=hosts, commands=(), port=1, log="l")
            told += [begun, ev.RunLaunched(t=now, run_id=run_id)]
            end = now + data.draw(st.floats(5.0, 100.0))
            if state.run(run_id).attempt > 1 or data.draw(st.integers(0, 3)):
                told.append(replace(ENDED, t=end, run_id=run_id))
            else:
                bad = data.draw(st.sampled_from(hosts))
                told.append(ev.RunFailed(t=end, run_id=run_id, reason="it broke", host=bad))
                (run,) = (one for one in runs if one.run_id == run_id)
                again = replace(run, t=end, run_id=next_attempt_id(run_id, 1), attempt=2)
                told.append(replace(again, retry_of=run_id))
        now += 100.0


class _AsPlanned:
    """What an engine has to know of a run that has no wishes."""

    def wanted(self, run: RunRecord, runs: Mapping[str, RunRecord], not_before: float) -> Wanted:
        avoid = avoided(run, runs)
        return Wanted(run.run_id, run.nodes, run.gpus_per_node, repeat=run.repeat, avoid=avoid)


@pytest.mark.parametrize("more", [0, 1, 60])
def test_what_is_beyond_those_that_are_played_comes_after_them_but_never_what_is_at_work(
    more: int,
) -> None:
    number = MOST_PLAYED + more
    last = f"r-{number:04}-a1"
    state = fold(
        [
            ev.CampaignCreated(t=0.0, campaign="c", hosts=2),
            *(planned(one, 1) for one in range(1, number + 1)),
            ev.RunAssigned(t=1.0, run_id=last, hosts=("h1",), commands=(), port=1, log="l"),
            ev.RunLaunched(t=1.0, run_id=last),
        ]
    )
    viewed = take(state, Path("c"), now=2.0)
    text = Schedule().lines(viewed, viewed.runs[-1], 100, 2.0, HOSTS).plain
    assert "is on h1 from 1s, expected until 1m01s" in text
    assert "nobody knows" not in text
    assert (f"{more} run" in text) == (more > 0)
    assert ("after these" in text) == (more > 0)


async def test_s_again_shows_what_was_there_before(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, ("1n8g",))
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 20)
        await pilot.press("v")
        await until(pilot, lambda: page.panels.details.display)
        await pilot.press("s")
        await until(pilot, lambda: page.panels.schedule.display)
        await pilot.press("s")
        await until(pilot, lambda: not page.panels.schedule.display)
        assert page.panels.details.display


@pytest.mark.parametrize("size", [SMALL, HUGE])
@pytest.mark.parametrize("before", [("enter",), ("enter", "e", "escape"), ("tab",), ("v", "z")])
async def test_keys_choose_the_run_that_a_schedule_tells_wherever_they_were_before(
    workspace: FakeWorkspace, size: tuple[int, int], before: tuple[str, ...]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        await pilot.press(*before)
        await pilot.press("s")
        await until(pilot, lambda: page.panels.schedule.display)
        for key in ("j", "k"):
            at = page.selected
            await pilot.press(key)
            await until(pilot, lambda at=at: page.selected != at)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 2), min_size=1, max_size=30),
    st.integers(0, 30),
    st.integers(0, 1),
    st.integers(40, 150),
    st.integers(0, 40),
)
def test_who_has_no_room_for_its_name_has_a_number_with_its_name_below(
    sizes: list[int], ended: int, at_work: int, width: int, rows: int
) -> None:
    viewed, now = campaign(sizes, ended, at_work)
    bare = Schedule().lines(viewed, None, width, now, HOSTS).plain.splitlines()
    lines = Schedule().lines(viewed, None, width, now, HOSTS, rows=rows).plain.splitlines()
    assert len(lines) <= max(rows, len(bare))
    assert all(len(line) <= width for line in lines[len(bare) :])
    if rows <= len(bare):
        assert lines == bare
        return
    if rows > len(bare) + 1 or lines[-1].lstrip()[:2] in ("┄ ", "┊ ", "✗ ", "· "):
        signs = lines.pop()  # where no name needs a line, the only one is theirs
        expects = any("┄" in row for row in host_rows("\n".join(bare)).values())
        assert ("┄ expected" in signs) is expects
        assert ("┊ now" in signs) is ("┊" in "\n".join(bare))
        if width >= 60:
            failed = "✗" in "".join(host_rows("\n".join(bare)).values())
            assert ("✗ failed" in signs) is failed
    told = "  ".join(lines[len(bare) :])
    more = re.search(r"… (\d+) more", told)
    numbers = re.findall(r"(?:^|  )(\d+) 1?\d*n", told)
    above = "\n".join(lines[1 : len(bare)])
    labels = {str(number): run.label for number, run in enumerate(viewed.runs, 1)}
    named = sum(label in above or f"#{n}" in above for n, label in labels.items())
    hidden = sum(number not in above for number in numbers if len(number) == 1)
    assert hidden <= len(re.findall(r"(?<!\d)[✗·┄]", above)), "but for a bar of one column"
    for number in numbers:
        assert labels[number] in told or width < 60
    if not more:
        assert len(numbers) + named >= len(labels)
    if width >= 60:
        assert bool(told) == (named < len(labels)), "whoever has no name has a line below"
    blocks = [block for row in host_rows(above).values() for block in re.split(r"(?=[✗▶·])", row)]
    for block in blocks if told else ():
        assert re.search(r"\d", block) or len(re.sub("[ ┊]", "", block)) < 3, "all have a number"


@given(st.lists(st.integers(1, 9), min_size=2, max_size=9), st.integers(24, 60))
def test_numbers_of_runs_side_by_side_never_read_as_one(took: list[int], width: int) -> None:
    ends = [0, *accumulate(took)]
    bars = [
        Bar(("vm",), (f"✓{n}", f"{n}", "✓"), float(start), float(end), "━")
        for n, (start, end) in enumerate(pairwise(ends), 1)
    ]
    (line, *more) = host_lines(bars, width, float(ends[-1]))
    for lane in (line, *more):
        assert not re.search(r"\d\d", lane.plain)


def below_schedule(app: DlperfApp, words: re.Pattern[str]) -> bool:
    return bool(words.search(screen_text(app).partition("Schedule")[2]))


async def test_where_names_have_no_room_and_rows_are_free_they_stand_below(
    workspace: FakeWorkspace,
) -> None:
    for size in (SMALL, (120, 40)):
        async with console(workspace, size) as (app, pilot):
            begin(app, workspace, repeats=2)
            await open_runs(app, pilot)
            await pass_time(workspace, app, pilot, 30)
            await pilot.press("s")
            names = [(tag, n) for tag in ("1n1g", "1n8g", "2n8g", "4n8g") for n in (1, 2)]

            for tag, n in names:
                name = re.compile(rf"{tag} .*#{n}|{tag} #{n}")
                await until(pilot, partial(below_schedule, app, name))
            assert size == SMALL or "┄ expected" in screen_text(app).partition("Schedule")[2]


def test_a_profiled_run_is_called_so_in_its_bar_and_in_the_legend() -> None:
    viewed, now = campaign([1, 1], 2, 0)
    told = replace(planned(3, 2), repeat=3, profiled=True)
    state = fold([told], viewed.state)
    viewed = take(state, Path("c"), now=now)
    for width in range(40, 200, 8):
        text = Schedule().lines(viewed, None, width, now, HOSTS, rows=30).plain
        assert "#3" not in text
        assert "profiled" in text


@given(st.booleans(), st.integers(60, 200))
@settings(max_examples=20, deadline=None)
def test_a_run_has_the_mark_and_the_colour_that_the_list_gives_it(silent: bool, width: int) -> None:
    viewed, now = campaign([1, 1], 1, 1)
    if silent:
        runs = [replace(run, silent_s=20.0) for run in viewed.runs if run.state.active]
        viewed = replace(viewed, runs=(viewed.runs[0], *runs))
    text = Schedule().lines(viewed, None, width, now, HOSTS, rows=20)
    listed = state_text(viewed.runs[1])
    sign = listed.plain[0]
    assert {one for one in text.plain if one in "▶▲"} == {sign} == {"▲" if silent else "▶"}
    bar = text.plain.index(sign)
    assert str(listed.style) in {str(s.style) for s in text.spans if s.start <= bar < s.end}
    assert ("▲ silent" in text.plain.splitlines()[-1]) is silent


@given(st.floats(0.0, 300.0), st.floats(0.0, 300.0))
def test_how_long_a_run_took_is_what_the_list_says(begin_s: float, took_s: float) -> None:
    told: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", hosts=2), planned(1, 1)]
    run_id = "r-0001-a1"
    told.append(
        ev.RunAssigned(t=begin_s, run_id=run_id, hosts=("h1",), commands=(), port=1, log="l")
    )
    told.append(ev.RunLaunched(t=begin_s, run_id=run_id))
    told.append(ev.RunFailed(t=begin_s + took_s, run_id=run_id, reason="x"))
    now = begin_s + took_s + 1.0
    viewed = take(fold(told), Path("c"), now=now)
    (row,) = RunRows()(viewed)
    elapsed = next(n for n, column in enumerate(COLUMNS) if column.key == "elapsed")
    text = Schedule().lines(viewed, viewed.runs[0], 100, now, HOSTS).plain
    assert f", for {row.cells[elapsed].plain}: failed" in text


async def test_details_of_a_run_that_waits_say_what_it_takes_and_the_schedules_time(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace, repeats=3)
        page = await open_runs(app, pilot)
        await pass_time(workspace, app, pilot, 30)
        viewed = page.viewed
        assert viewed is not None
        waiting = [run for run in viewed.runs if run.state.waits]
        table = page.query_one(KeyedTable)
        now, names = workspace.cluster.now(), tuple(page.panels._hosts)
        told = 0
        for run in waiting:
            table.select(run.run_id)
            await pilot.pause()
            tick(app)
            shown = page.panels.beside.text
            lines = dict(line.split(maxsplit=1) for line in shown.splitlines() if " " in line)
            assert lines["takes"].startswith(counted(run.case.nodes, "host"))
            for name, value in run.case.parameters.items():
                assert f"{name}={value}" in lines["parameters"]
            words = Schedule().lines(viewed, run, 120, now, names).plain
            expected = re.search(r" is expected (on .*)", words)
            told += expected is not None
            assert ("expected" in lines) == (expected is not None)
            if expected is not None:
                assert lines["expected"].startswith(expected[1])
        assert told


TIMES = st.tuples(st.floats(0, 1000), st.floats(0, 300), st.floats(-5, 300))


@given(st.lists(TIMES, min_size=1, max_size=8), st.data())
def test_near_a_run_what_is_seen_is_eight_times_as_long_and_each_bar_what_of_it_is_there(
    times: list[tuple[float, float, float]], data: st.DataObject
) -> None:
    bars = [
        Bar(("h1",), ("x",), at, at + took, "-", "", at + took + more) for at, took, more in times
    ]
    total = max(max(bar.end_s, bar.until_s) for bar in bars) + data.draw(st.floats(0.1, 500))
    own = data.draw(st.sampled_from(bars))
    from_s, until_s = _around([own], total)
    lasts = max(own.end_s, own.until_s) - own.start_s
    assert 0 <= from_s < until_s <= total
    assert from_s <= own.start_s
    assert max(own.end_s, own.until_s) <= until_s + TINY
    if (from_s, until_s) == (0.0, total):
        assert lasts <= 0 or lasts * NEAR >= total
    else:
        assert until_s - from_s == pytest.approx(NEAR * lasts)
    seen = list(_within(bars, from_s, until_s))
    for bar in bars:
        latest = max(bar.end_s, bar.until_s)
        there = [min(max(at, from_s), until_s) - from_s for at in (bar.start_s, bar.end_s, latest)]
        found = [[one.start_s, one.end_s, max(one.end_s, one.until_s)] for one in seen]
        if there[0] < there[2]:
            assert any(one == pytest.approx(there, abs=1e-6) for one in found)


@pytest.mark.parametrize("at", [0, 3, 9])
async def test_w_brings_a_schedule_nearer_to_the_run_under_the_cursor_and_back(
    workspace: FakeWorkspace, at: int
) -> None:
    """And goes with the cursor."""
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace, repeats=5)
        await open_runs(app, pilot)
        for _ in range(4):
            await pass_time(workspace, app, pilot, 50)
        await pilot.press("s", *["down"] * at)
        await until(pilot, partial(shows, app, "Schedule · hosts over time"))
        await until(pilot, partial(shows, app, "W Nearer"))
        before = screen_text(app)
        await pilot.press("W")
        await until(pilot, partial(shows, app, "Schedule · around the run"))
        assert shows(app, "W All times")
        assert host_lines_of(screen_text(app)) != host_lines_of(before)
        await pilot.press("g")
        await until(pilot, lambda: re.search("│ {15,}0s ", screen_text(app)))
        await pilot.press("W")
        await until(pilot, partial(shows, app, "Schedule · hosts over time"))
        assert host_lines_of(screen_text(app)) == host_lines_of(before)


def host_lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("│ node")]
