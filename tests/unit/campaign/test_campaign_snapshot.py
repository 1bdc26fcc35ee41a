"""What screens are shown of a campaign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.lock import Holder, Role
from backends.campaign.record.run_estimates import durations, expected_slots
from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_view import RunView
from backends.campaign.record.silence import SILENT_S
from backends.campaign.record.state import CampaignState, apply, fold
from backends.campaign.record.status_view import CampaignSnapshot, Kept, take
from backends.campaign.record.waiting_words import waiting_text
from backends.engines.engine import Waiting, WaitKind
from backends.transports.transport import Problem
from profiles.durations import format_duration
from profiles.throughput.steady import Disturbance, Shape
from tests.unit.campaign.strategies import RUN_IDS, events, planned
from tests.unit.campaign.test_campaign_state import HOSTS, assigned, readings, succeeded
from tui.screens.run_text import state_text

A, B = "r-0001-a1", "r-0002-a1"


def shown(state: CampaignState, now: float, **more: object) -> CampaignSnapshot:
    return take(state, Path("/c"), now=now, **more)  # type: ignore[arg-type]


def view(snapshot: CampaignSnapshot, run_id: str) -> RunView:
    return next(view for view in snapshot.runs if view.run_id == run_id)


def test_a_lost_connection_is_told_with_its_age() -> None:
    lost = ev.ContactChanged(t=100.0, run_id=A, host="node2", lost=True, reason="connection lost")
    state = fold([planned(A), assigned(A), ev.RunLaunched(t=2.0, run_id=A), lost])
    assert view(shown(state, 112.0), A).state_text == "node2: connection lost 12s ago, retrying"
    read = shown(state, 112.0, read_only=True)
    assert view(read, A).state_text == "node2: connection lost 12s ago"  # nobody may be retrying
    ending = fold([ev.RunCancelling(t=105.0, run_id=A)], state)
    told = view(shown(ending, 112.0, read_only=True), A)
    assert told.state_text == "cancelling, node2: connection lost 12s ago"
    assert told.throughput_now is None
    over = ev.ContactChanged(t=100.0, run_id=A, host="node2", lost=True, reason=Problem.JOB_ENDS)
    state_over = fold([over], fold([planned(A), assigned(A), ev.RunLaunched(t=2.0, run_id=A)]))
    assert view(shown(state_over, 112.0), A).state_text == "node2: its job is ending"
    back = ev.ContactChanged(t=120.0, run_id=A, host="node2", lost=False)
    assert view(shown(fold([back], state), 121.0), A).state_text == "running, no reading yet"


@given(st.floats(0, 1e6), st.booleans())
def test_nobody_says_of_a_run_that_it_runs_without_having_looked(later: float, reads: bool) -> None:
    """A campaign that nobody is at work on: its journal says what was so then."""
    state = fold([planned(A), assigned(A), ev.RunLaunched(t=2.0, run_id=A)])
    at = 1.0
    if reads:
        point = (1.0, 5.0, 50.0)
        state = fold([ev.ReadingsArrived(t=50.0, run_id=A, first=0, readings=(point,))], state)
        at = 50.0
    seen = shown(state, at + later, read_only=True)
    said = view(seen, A)
    assert seen.deserted
    assert said.state is RunState.RUNNING  # a program reads what the journal says
    assert said.state_text.startswith("running when last seen ")
    assert said.state_text.endswith(" ago")
    assert said.state_text == f"running when {said.brief}"
    assert said.elapsed_s == at - 1.0
    assert (said.progress, said.eta_s, said.outlived) == (None, None, False)
    keeper = Holder("u", "h", 1, 1, "n", Role.KEEPER)
    kept = view(shown(state, at + later, read_only=True, kept_by=keeper), A)
    assert "last seen" not in kept.state_text
    simulated = view(shown(replace(state, simulated=True), at + later, read_only=True), A)
    assert simulated.brief == f"its demo was left{', last reading at 49s' * reads}"
    assert simulated.state_text == f"running when {simulated.brief}"
    assert simulated.elapsed_s == at - 1.0


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ({"eta_s": 60.0}, "ETA ≈1m00s{}"),
        ({"eta_s": 60.0, "paused": 1}, "ETA ≈1m00s{} of the others"),
        ({"after_that_s": 60.0, "blocked_by": ("n1",)}, "ETA ≈1m00s{} once n1 can be used"),
        (
            {"after_that_s": 60.0, "blocked_by": ("n1", "n2")},
            "ETA ≈1m00s{} once enough of n[1-2] can be used",
        ),
    ],
)
def test_an_eta_of_simulated_time_says_so_to_who_looks_from_outside(
    left: dict[str, Any], said: str
) -> None:
    for simulated, read_only in ((False, False), (False, True), (True, False), (True, True)):
        state = replace(fold([planned(A), planned(B)]), simulated=simulated)
        snapshot = replace(shown(state, 5.0, read_only=read_only), **left)
        outside = " of simulated time" if simulated and read_only else ""
        assert snapshot.summary.endswith(f" · {said.format(outside)}")


def test_a_run_that_ended_on_its_hosts_is_not_said_to_run_while_nobody_collects_it() -> None:
    state = fold([planned(A), assigned(A), ev.RunLaunched(t=2.0, run_id=A)])
    state = fold([ev.RunOver(t=60.0, run_id=A)], state)
    left = view(shown(state, 100.0, read_only=True), A)
    assert (left.state_text, left.over) == ("ended, not collected yet", "ended")
    assert (left.elapsed_s, left.eta_s) == (59.0, None)
    keeper = Holder("u", "h", 1, 1, "n", Role.KEEPER)
    for watched in (shown(state, 100.0), shown(state, 100.0, read_only=True, kept_by=keeper)):
        kept = view(watched, A)
        assert (kept.state_text, kept.over) == ("collecting", "collecting")


@given(ran_s=st.floats(0.1, 58.0), learnt_s=st.floats(0.0, 100.0), later_s=st.floats(0.0, 100.0))
def test_elapsed_stands_still_at_the_end_of_the_program_until_its_result_is_there(
    ran_s: float, learnt_s: float, later_s: float
) -> None:
    """However late that end was learnt."""
    state = fold([planned(A), assigned(A), ev.RunLaunched(t=2.0, run_id=A)])
    at = 2.0 + ran_s + learnt_s
    collecting = fold([ev.RunOver(t=at, run_id=A, ran_s=ran_s)], state)
    ended = fold([replace(succeeded(A, t=at + later_s), ran_s=ran_s)], collecting)
    seen = [view(shown(collecting, at + wait_s), A).elapsed_s for wait_s in (0.0, later_s)]
    assert {*seen, view(shown(ended, at + later_s), A).elapsed_s} == {2.0 + ran_s - 1.0}


def test_a_waiting_run_says_what_for() -> None:
    state = fold([planned(A)])
    assert view(shown(state, 0.0), A).state_text == "planned"
    why = Waiting(WaitKind.UNUSABLE, ("node3",), "held by bob")
    waiting = shown(state, 0.0, waiting={A: why})
    assert view(waiting, A).state_text == "waiting for node3: held by bob"
    assert view(waiting, A).brief == "waiting for node3"
    ahead = view(shown(state, 0.0, waiting={A: Waiting(WaitKind.BEHIND)}), A)
    assert ahead.brief == "waiting for its turn"
    assert "ahead" not in ahead.state_text, "which need not be above it"
    state = fold([planned(B)], state)
    kept = Waiting(WaitKind.BEHIND, ("node3",), behind=B)
    behind = view(shown(state, 0.0, waiting={A: kept, B: why}), A)
    called = view(shown(state, 0.0), B).label
    assert behind.state_text == f"behind {called}, which waits for node3"
    assert (behind.brief, behind.behind) == (f"behind {called}", called)
    queued = fold([ev.RunQueued(t=1.0, run_id=A, job_id="17")], state)
    assert view(shown(queued, 2.0), A).state_text == "queued"
    priority = {A: Waiting(WaitKind.QUEUED, detail="Priority")}
    assert view(shown(queued, 2.0, waiting=priority), A).state_text == "queued: Priority"


def test_a_start_has_made_no_progress_however_long_it_takes() -> None:
    """It may wait for a lease that somebody else has."""
    state = fold([planned(A, expected_s=20.0), assigned(A)])
    for now in (1.0, 5.0, 19.0, 60.0):
        starting = view(shown(state, now), A)
        assert (starting.progress, starting.eta_s) == (0.0, None)


def test_no_end_is_promised_while_nobody_knows_when_a_host_can_be_used() -> None:
    state = fold([planned(A, expected_s=20.0), planned(B, expected_s=20.0)])
    assert shown(state, 0.0).summary == "0/2 runs · ETA ≈40s"
    held = Waiting(WaitKind.UNUSABLE, ("node3",), "held by bob")
    for waiting in ({A: held, B: Waiting(WaitKind.BEHIND)}, {A: held, B: held}):
        seen = shown(state, 0.0, waiting=waiting)
        assert seen.eta_s is None
        assert seen.summary == "0/2 runs · ETA ≈40s once node3 can be used"


def test_why_there_is_no_eta_is_said() -> None:
    expected = [planned(A, expected_s=20.0), planned(B, expected_s=20.0)]
    begun = (assigned(A), ev.RunLaunched(t=2.0, run_id=A))
    state = fold([*expected, *begun])
    assert shown(state, 5.0).eta_text.startswith("ETA ")
    assert shown(state, 60.0).eta_text == "no ETA: a run is overdue"
    assert shown(state, 60.0).summary == "0/2 runs · no ETA: a run is overdue"
    lost = ev.ContactChanged(t=6.0, run_id=A, host=HOSTS[0], lost=True)
    away = fold([lost], state)
    assert shown(away, 7.0).eta_text.startswith("ETA "), "it goes on there"
    assert shown(away, 60.0).eta_text == f"no ETA: {HOSTS[0]} is out of reach"
    held = {B: Waiting(WaitKind.UNUSABLE, ("node3",), "held by bob")}
    assert shown(state, 60.0, waiting=held).eta_text == "no ETA: node3 cannot be used"
    assert shown(fold([planned(A)]), 0.0).eta_text == "", "its profile does not say how long"
    assert shown(away, 60.0, read_only=True).eta_text == ""


@pytest.mark.parametrize("late_s", [0.0, 0.4, 2.0, 4.9])
def test_no_figure_is_told_of_an_end_that_may_be_at_any_moment(late_s: float) -> None:
    """While others wait, of theirs; of the last run, or what is as good as over, that it may."""
    alone = fold([planned(A, expected_s=20.0), assigned(A), ev.RunLaunched(t=2.0, run_id=A)])
    begins = alone.runs[A].started_at
    assert begins is not None
    now = begins + 20.0 + late_s
    assert shown(alone, now).eta_text == "ETA any moment"
    both = fold([planned(B, expected_s=20.0)], alone)
    assert shown(both, now).eta_text == "ETA ≈20s"


NO_ETA: dict[str, Any] = {"eta_s": None, "after_that_s": None}
waitings = st.none() | st.builds(
    Waiting,
    st.sampled_from(WaitKind),
    detail=st.sampled_from(["", "Priority"]),
    expected_at=st.none() | st.floats(0, 2e9),
)
pauses = st.builds(ev.RunPaused, t=st.just(0.0), run_id=st.sampled_from((A, B)))
later = st.builds(replace, st.builds(planned, st.just("r-0002-a2")), not_before=st.floats(0, 2e9))
steps = st.tuples(
    events | pauses | later, st.floats(0, 2e9), st.dictionaries(st.sampled_from(RUN_IDS), waitings)
)


@given(st.lists(steps, max_size=30))
def test_what_is_kept_between_snapshots_changes_none(
    steps: list[tuple[ev.Event, float, dict[str, Waiting | None]]],
) -> None:
    state, kept = fold([planned(A), planned(B)]), Kept()
    for event, now, waiting in steps:
        state = apply(state, event)
        shown(state, now / 2, kept=kept)
        why = {run_id: found for run_id, found in waiting.items() if found is not None}
        one = shown(state, now, waiting=why, kept=kept)
        anew = shown(state, now, waiting=why)
        assert replace(one, **NO_ETA) == replace(anew, **NO_ETA)


@given(st.lists(steps, max_size=30))
@example([(ev.RunPaused(t=0.0, run_id=A), 1.0, {A: Waiting(WaitKind.SETTLING)})])
def test_a_view_has_the_kind_of_what_its_run_waits_for_where_it_says_that(
    steps: list[tuple[ev.Event, float, dict[str, Waiting | None]]],
) -> None:
    """Not beside "paused" or "retry in 5 s", which keep it whatever hosts there are."""
    state = fold([planned(A), planned(B)])
    for event, now, waiting in steps:
        state = apply(state, event)
        why = {run_id: found for run_id, found in waiting.items() if found is not None}
        for run in shown(state, now, waiting=why).runs:
            own = why.get(run.run_id)
            says_so = own is not None and run.state_text == waiting_text(own, now)
            assert run.waiting == (own.kind if own is not None and says_so else None)


def test_views_of_what_no_clock_changes_are_not_made_again() -> None:
    state, kept = fold([planned(A), planned(B), assigned(B)]), Kept()
    first = shown(state, 10.0, kept=kept)
    again = shown(state, 11.0, kept=kept)
    assert view(first, A) is view(again, A)
    assert view(first, B).elapsed_s != view(again, B).elapsed_s or view(first, B).elapsed_s is None


@given(st.floats(0, 2e9), st.floats(0, 1e6), st.floats(0, 2e9))
def test_a_retry_is_never_told_or_made_to_wait_longer_than_was_meant(
    planned_at: float, delay_s: float, now: float
) -> None:
    again = replace(planned(RUN_IDS[2], planned_at), not_before=planned_at + delay_s)
    run = fold([again]).runs[RUN_IDS[2]]
    assert 0.0 <= run.delay_s(now) <= delay_s + 1e-6
    if now >= planned_at:
        assert run.delay_s(now) == pytest.approx(max(0.0, planned_at + delay_s - now), abs=1e-6)
    assert fold([planned(A, planned_at)]).runs[A].delay_s(now) == 0.0


def test_the_estimate_is_the_profiles_until_the_campaign_has_its_own() -> None:
    assert shown(fold([planned(A), planned(B), assigned(A)]), 5.0).eta_s is None
    state = fold([planned(A, expected_s=20.0), planned(B, expected_s=20.0), assigned(A)])
    assert shown(state, 5.0).eta_s == pytest.approx(16.0 + 20.0)
    state = fold([succeeded(A, t=31.0)], state)
    assert shown(state, 31.0).eta_s == pytest.approx(30.0)
    left = shown(state, 31.0, read_only=True)
    assert (left.eta_s, left.summary) == (None, "1/2 runs"), "nobody starts the others"
    keeper = Holder("alice", "login02", 4711, 1, "n", Role.KEEPER)
    kept_by = shown(state, 31.0, read_only=True, kept_by=keeper)
    assert kept_by.eta_s == pytest.approx(30.0)


@given(st.floats(0.05, 20.0), st.floats(0.05, 20.0), st.booleans())
def test_what_was_measured_before_is_no_measure_of_what_profiles_guess(
    of_guess: float, of_measured: float, measured_ends: bool
) -> None:
    """Each kind of expectation is mended by runs of its own kind alone."""

    def case(run_id: str, nodes: int, *, timed: bool) -> ev.RunPlanned:
        return replace(planned(run_id), nodes=nodes, expected_s=60.0, timed=timed)

    ids = [f"r-000{number}-a1" for number in range(1, 5)]
    journal: list[ev.Event] = [
        case(run_id, nodes, timed=nodes % 2 == 0) for nodes, run_id in enumerate(ids, 1)
    ]
    end = ids[1] if measured_ends else ids[0]
    took = 60.0 * (of_measured if measured_ends else of_guess)
    journal += [
        replace(assigned(end), t=1.0),
        ev.RunLaunched(t=1.0, run_id=end),
        replace(succeeded(end), t=1.0 + took),
    ]
    state = fold(journal)
    expected = {
        nodes: durations(state.runs.values()).of(state.runs[run_id])
        for nodes, run_id in enumerate(ids, 1)
    }
    same, other = (4, 3) if measured_ends else (3, 4)
    assert expected[same] == pytest.approx(took)
    assert expected[other] == pytest.approx(60.0)


@given(
    # Different, so that no two are free at the same moment: who is first then is nobody's business.
    st.lists(st.sampled_from((0.31, 0.97, 1.13, 2.9)), min_size=2, max_size=4, unique=True),
    st.floats(5.0, 500.0),
    st.integers(1, 12),
    st.integers(2, 3),
)
def test_the_estimate_takes_each_host_for_as_fast_as_it_was_measured(
    speeds: list[float], seconds: float, left: int, rounds: int
) -> None:
    """Whoever is free first takes the next run, and needs for it what that host needs."""
    hosts = {f"node{number}": seconds / speed for number, speed in enumerate(speeds)}
    state, number, now = CampaignState(), 0, 1.0 + rounds * max(hosts.values())
    begun = ev.CampaignCreated(t=0.0, campaign="c", hosts=len(hosts))
    journal: list[ev.Event] = [begun]

    def run(repeat: int) -> ev.RunPlanned:
        return replace(planned(A), run_id=f"r-{repeat:04}-a1", nodes=1, repeat=repeat)

    for name, took in hosts.items():
        for turn in range(rounds):
            number += 1
            run_id, start = run(number).run_id, 1.0 + turn * took
            given_to = replace(assigned(run_id), t=start, hosts=(name,))
            launched = ev.RunLaunched(t=start, run_id=run_id)
            end = replace(succeeded(run_id), t=start + took)
            journal += [run(number), given_to, launched, end]
    journal += [run(number + 1 + more) for more in range(left)]
    state = fold(journal)
    free = dict.fromkeys(hosts, 0.0)
    for _ in range(left):
        first = min(free, key=free.__getitem__)
        free[first] += hosts[first]
    assert shown(state, now).eta_s == pytest.approx(max(free.values()), rel=1e-6)


def test_the_estimate_of_a_run_at_work_is_that_of_its_host() -> None:
    def on(run_id: str, host: str, start: float, end: float | None) -> list[ev.Event]:
        made = replace(planned(A), run_id=run_id, nodes=1, repeat=int(run_id[2:6]))
        begun = replace(assigned(run_id), t=start, hosts=(host,))
        launched = ev.RunLaunched(t=start, run_id=run_id)
        ends = [] if end is None else [replace(succeeded(run_id), t=end)]
        return [made, begun, launched, *ends]

    ids = [f"r-000{number}-a1" for number in range(1, 7)]
    measured = [*on(ids[0], "slow", 1.0, 31.0), *on(ids[1], "fast", 1.0, 11.0)]
    measured += [*on(ids[2], "slow", 31.0, 61.0), *on(ids[3], "fast", 11.0, 21.0)]
    state = fold([*measured, *on(ids[4], "slow", 70.0, None), *on(ids[5], "fast", 70.0, None)])
    now = shown(state, 75.0)
    assert (view(now, ids[4]).eta_s, view(now, ids[5]).eta_s) == pytest.approx((25.0, 5.0))


@given(st.floats(1.0, 100.0), st.floats(0.0, 0.95))
def test_what_a_run_stood_still_for_is_no_part_of_what_another_takes(
    usual: float, cost: float
) -> None:
    stalls = Disturbance(Shape.STALLS, size=-0.9, cost=cost, reading=3, count=1)
    ended = replace(succeeded(A, t=1.0 + usual / (1 - cost)), steady=(stalls,))
    begun = [planned(A), replace(assigned(A), t=1.0), ev.RunLaunched(t=1.0, run_id=A)]
    runs = fold([*begun, ended, planned(B)]).runs
    assert durations(runs.values()).of(runs[B]) == pytest.approx(usual)


@given(st.integers(1, 4), st.integers(1, 4), st.floats(3.0, 100.0), st.data())
def test_one_run_that_stood_still_changes_no_estimate(
    hosts: int, rounds: int, times: float, data: st.DataObject
) -> None:
    """Neither that of its host nor any other's, once three or more have been measured."""
    runs = max(3, hosts * rounds)
    still = data.draw(st.integers(0, runs - 1))
    journal: list[ev.Event] = [ev.CampaignCreated(t=0.0, campaign="c", hosts=hosts)]
    for number in range(runs):
        run_id, took = f"r-{number + 1:04}-a1", 9.0 * (times if number == still else 1.0)
        journal += [
            replace(planned(run_id), nodes=1, repeat=number + 1),
            replace(assigned(run_id), t=1.0, hosts=(f"node{number % hosts}",)),
            ev.RunLaunched(t=1.0, run_id=run_id),
            replace(succeeded(run_id), t=1.0 + took),
        ]
    ended = fold(journal).runs
    expected = durations(ended.values())
    for name in (f"node{number}" for number in range(hosts)):
        left = replace(ended["r-0001-a1"], run_id="left", hosts=(name,))
        assert expected.of(left) == pytest.approx(9.0)


def test_the_estimate_does_not_run_down_while_nothing_runs() -> None:
    """It counts from when the queue will give the nodes; where that does not say, there is none."""
    kept = Kept()
    state = fold([planned(A, expected_s=20.0), planned(B, expected_s=20.0)])
    assert shown(state, 5.0, kept=kept).eta_s == pytest.approx(40.0)
    assert shown(state, 15.0, kept=kept).eta_s == pytest.approx(40.0)
    first = Waiting(WaitKind.QUEUED, detail="Resources", expected_at=115.0)
    later = Waiting(WaitKind.QUEUED, detail="Priority", expected_at=300.0)
    silent = Waiting(WaitKind.QUEUED, detail="Priority")
    for waiting, eta_s in (({A: first, B: later}, 140.0), ({A: first, B: silent}, 140.0)):
        assert shown(state, 15.0, waiting=waiting, kept=kept).eta_s == pytest.approx(eta_s)
    assert shown(state, 15.0, waiting={A: silent, B: silent}, kept=kept).eta_s is None
    at_work = fold([replace(assigned(A), t=16.0)], state)
    assert shown(at_work, 20.0, waiting={B: first}, kept=kept).eta_s == pytest.approx(36.0)


@given(
    sizes=st.lists(st.integers(1, 2), min_size=1, max_size=6),
    held=st.sets(st.sampled_from(["n1", "n2", "n3", "n4"])),
    named=st.booleans(),
)
def test_nothing_is_expected_on_hosts_that_others_hold(
    sizes: list[int], held: set[str], named: bool
) -> None:
    """Nobody knows for how long. The estimate is that of as many hosts as are left."""
    names = ("n1", "n2", "n3", "n4")
    one = planned(A, expected_s=60.0)
    runs = [
        replace(one, run_id=f"r-{n:04}-a1", nodes=size, repeat=n) for n, size in enumerate(sizes, 1)
    ]
    free = len(names) - len(held)

    def campaign(hosts: int) -> CampaignState:
        return fold([ev.CampaignCreated(t=0.0, campaign="c", hosts=hosts), *runs])

    state = campaign(len(names))
    left = list(state.runs.values())
    slots = expected_slots(
        left, durations(left), 1.0, len(names), names=names if named else (), unusable=held
    )
    assert not held & {name for slot in slots.values() for name in slot.hosts}
    assert slots.keys() == {run.run_id for run in runs if run.nodes <= free}
    if max(sizes) <= free:
        reasons = tuple((name, "held by bob") for name in sorted(held))
        why = Waiting(WaitKind.BEHIND, unusable=reasons)
        waits = dict.fromkeys(state.runs, why)
        seen = shown(state, 1.0, waiting=waits)
        assert seen.eta_s == shown(campaign(free), 1.0).eta_s
        assert dict(seen.unusable) == dict(reasons)
        kept = Kept()  # … and it is learnt anew when that host is free
        shown(state, 1.0, waiting=waits, kept=kept)
        assert shown(state, 1.0, kept=kept).eta_s == shown(state, 1.0).eta_s


@given(
    st.lists(st.integers(1, 2), min_size=1, max_size=6), st.floats(1.0, 60.0), st.integers(5, 50)
)
def test_the_estimate_stays_where_it_is_while_hosts_rest_and_when_the_next_run_starts(
    sizes: list[int], settle_s: float, seconds: int
) -> None:
    """Where every run takes what was expected of it."""
    runs = [
        replace(planned(A), run_id=f"r-{n:04}-a1", nodes=size, repeat=n, settle_s=settle_s)
        for n, size in enumerate(sizes, 1)
    ]
    created = ev.CampaignCreated(t=0.0, campaign="c", hosts=len(HOSTS))
    journal: list[ev.Event] = [replace(run, expected_s=float(seconds)) for run in runs]
    state, kept = fold([created, *journal]), Kept()
    left = list(state.runs.values())
    slots = expected_slots(left, durations(left), 1.0, len(HOSTS), names=HOSTS)
    to_come: list[ev.Event] = []
    for run_id, slot in slots.items():
        given_to = replace(assigned(run_id), t=slot.start, hosts=slot.hosts)
        ends = (ev.RunOver(t=slot.end, run_id=run_id), succeeded(run_id, t=slot.end))
        to_come += [given_to, ev.RunLaunched(t=slot.start, run_id=run_id), *ends]
    to_come.sort(key=lambda event: event.t)
    end = max(slot.end for slot in slots.values())
    for event, following in pairwise(to_come):
        state = fold([event], state)
        if following.t == event.t:
            continue
        for now in (event.t, (event.t + following.t) / 2):
            eta_s = shown(state, now, kept=kept).eta_s
            assert eta_s is not None
            assert now + eta_s == pytest.approx(end)


@given(
    st.lists(st.floats(0.0, 300.0), min_size=1, max_size=4),
    st.integers(1, 3),
    st.floats(1.0, 60.0),
    st.floats(0.0, 400.0),
)
def test_no_campaign_ends_before_its_retries_have_begun_and_taken_their_time(
    delays: list[float], hosts: int, seconds: float, later: float
) -> None:
    """Each had its first attempt killed after 12 s, one of them while another was at work."""
    created = ev.CampaignCreated(t=0.0, campaign="c", hosts=hosts)
    state, kept = fold([created, planned(A, expected_s=seconds), assigned(A)]), Kept()
    ends = [1.0 + seconds]
    for number, delay_s in enumerate(delays, 2):
        first = replace(planned(A), run_id=f"r-{number:04}-a1", repeat=number, nodes=1)
        begun = replace(assigned(first.run_id), hosts=("other",))
        state = fold([replace(first, expected_s=seconds), begun], state)
        shown(state, 2.0, kept=kept)
        state = fold([failed(first.run_id, t=13.0, retry="after 30s")], state)
        again = next_attempt(state.runs[first.run_id], 13.0, 13.0 + delay_s)
        state = fold([again], state)
        ends.append(13.0 + delay_s + seconds)
    last = 0.0
    for now in sorted((13.0, 13.0 + later / 2, 13.0 + later)):
        seen = shown(state, now, kept=kept)
        assert seen.eta_s is None or now + seen.eta_s >= max(ends) - 1e-6
    state = fold([succeeded(A, t=1.0 + seconds)], state)
    least_s = min(delays)
    for now in (13.0 + seconds, 13.0 + seconds + least_s / 2, 13.0 + seconds + later):
        seen = shown(state, now, kept=kept)
        assert seen.eta_s is not None
        assert now + seen.eta_s >= max(now, *ends[1:]) - 1e-6
        last = seen.eta_s
    assert last > 0


def test_the_estimate_runs_down_with_the_delay_of_a_retry() -> None:
    state = fold([planned(A, expected_s=20.0), assigned(A), failed(A, t=13.0)])
    state, kept = fold([next_attempt(state.runs[A], 13.0, 48.0)], state), Kept()
    for now, eta_s in ((13.0, 55.0), (23.0, 45.0), (48.0, 20.0), (60.0, 20.0)):
        assert shown(state, now, kept=kept).eta_s == pytest.approx(eta_s)


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(0.1, 500.0)), min_size=1, max_size=8)
)
def test_no_attempt_that_failed_or_was_cancelled_tells_how_long_a_run_takes(
    attempts: list[tuple[bool, bool, float]],
) -> None:
    """``attempts``: whether of the case or of another, whether it failed, and what it took."""
    known = [planned(A, expected_s=20.0), assigned(A), succeeded(A, t=41.0)]
    journal: list[ev.Event] = [planned(B, expected_s=30.0)]
    for number, (same, fails, took) in enumerate(attempts, 10):
        run_id = f"r-{number:04}-a1"
        size = replace(planned(A), run_id=run_id, repeat=number, expected_s=20.0)
        end = (
            failed(run_id, t=1.0 + took) if fails else ev.RunCancelled(t=1.0 + took, run_id=run_id)
        )
        journal += [size if same else replace(size, nodes=1), assigned(run_id), end]
    for measured in ([], known):
        without = fold([planned(A, expected_s=20.0), planned(B, expected_s=30.0), *measured])
        state = fold([planned(A, expected_s=20.0), *journal, *measured])
        for run_id in (A, B):
            runs = without.runs, state.runs
            said = [durations(those.values()).of(those[run_id]) for those in runs]
            assert said[0] == said[1]


@given(
    others=st.lists(st.floats(0.5, 400.0), min_size=1, max_size=5),
    expected_s=st.sampled_from([0.0, 60.0, 240.0]),
    timed=st.booleans(),
    passed=st.floats(0.0, 500.0),
)
def test_what_other_cases_took_makes_no_first_run_of_a_case_overdue(
    others: list[float], expected_s: float, timed: bool, passed: float
) -> None:
    """``others``: seconds that runs of another precision took. 0 expected: not known."""
    first = replace(planned(A, expected_s=expected_s), timed=timed)
    elsewise = {**first.parameters, "precision": "fp32"}
    journal: list[ev.Event] = [first]
    for number, took in enumerate(others, 10):
        run_id = f"r-{number:04}-a1"
        other = replace(first, run_id=run_id, repeat=number, parameters=elsewise)
        begun = [replace(assigned(run_id), t=1.0), ev.RunLaunched(t=1.0, run_id=run_id)]
        journal += [other, *begun, replace(succeeded(run_id), t=1.0 + took)]
    began = 500.0
    journal += [replace(assigned(A), t=began), ev.RunLaunched(t=began, run_id=A)]
    now = shown(fold(journal), began + passed)
    run = view(now, A)
    if passed < expected_s or not expected_s:
        assert not run.outlived
        assert now.no_eta != "a run is overdue"
    if passed < expected_s and run.silent_s is None:
        assert run.eta_s is not None
        assert run.eta_s >= expected_s - passed - 1e-6
    if not expected_s:
        assert (run.progress, run.eta_s) == (None, None)


@given(
    st.lists(st.floats(0.1, 40.0), max_size=12),
    st.floats(5.0, 200.0),
    st.lists(st.floats(0.0, 400.0), min_size=2, max_size=12),
)
def test_the_bar_of_a_run_never_falls_and_is_of_the_clock_of_its_eta(
    gaps: list[float], expected_s: float, looks: list[float]
) -> None:
    """There is none while the run is silent or late; past its time it is full, as in its row."""
    times = [2.0 + gap for gap in accumulate(gaps)]
    launched = ev.RunLaunched(t=2.0, run_id=A)
    state = fold([planned(A, expected_s=expected_s), assigned(A), launched])
    before, came = 0.0, 0
    for now in sorted(2.0 + look for look in looks):
        since = sum(at <= now for at in times)
        points = tuple((float(i), 100.0, times[i]) for i in range(came, since))
        if points:
            told = ev.ReadingsArrived(t=now, run_id=A, first=came, readings=points)
            state = fold([told], state)
            came = since
        run = view(shown(state, now), A)
        if run.silent_s is not None or "no reading for" in run.doing:
            assert (run.progress, run.eta_s) == (None, None)
            continue
        share = run.progress if run.progress is not None else float(run.outlived)
        assert before - 1e-9 <= share <= 1.0
        if run.eta_s is not None:
            assert run.elapsed_s is not None
            assert share * (run.elapsed_s + run.eta_s) == pytest.approx(run.elapsed_s)
        before = share


SILENT = "0/1 runs · no ETA: a run is silent"


def test_no_end_is_promised_while_a_run_is_silent() -> None:
    points = tuple((float(i), 100.0, 3.0 + i) for i in range(6))
    told = ev.ReadingsArrived(t=8.0, run_id=A, first=0, readings=points)
    before = [planned(A, expected_s=50.0), assigned(A), ev.RunLaunched(t=2.0, run_id=A), told]
    state = fold(before)
    assert shown(state, 20.0).summary == "0/1 runs · ETA ≈31s"
    silent = shown(state, 49.0)
    assert view(silent, A).silent_s is not None
    assert view(silent, A).progress is None
    assert (silent.eta_s, silent.after_that_s, silent.summary) == (None, None, SILENT)
    assert view(shown(state, 8.0 + SILENT_S), A).silent_s is None


def test_a_retry_is_expected_to_take_what_its_first_attempt_was() -> None:
    first = planned(RUN_IDS[1], expected_s=20.0)
    state = fold([first])
    again = next_attempt(state.runs[first.run_id], 3.0)
    assert fold([again], state).runs[again.run_id].expected_s == 20.0


@pytest.fixture
def of_size() -> Callable[..., ev.RunPlanned]:
    """A planned run on so many nodes, of which the profile expects so many seconds."""

    def make(number: int, nodes: int, expected_s: float) -> ev.RunPlanned:
        run_id = f"r-{number:04d}-a1"
        return replace(planned(A), run_id=run_id, nodes=nodes, repeat=number, expected_s=expected_s)

    return make


def test_what_was_measured_of_one_case_corrects_what_is_expected_of_the_others(
    of_size: Callable[..., ev.RunPlanned],
) -> None:
    state = fold([of_size(1, 2, 20.0), of_size(2, 1, 40.0), assigned(A), succeeded(A, t=31.0)])
    assert shown(state, 31.0).eta_s == pytest.approx(40.0 * 30.0 / 20.0)


@pytest.mark.parametrize(
    ("hosts", "nodes", "eta_s"),
    [
        (4, (1, 1, 1, 1), 10.0),
        (2, (1, 1, 1, 1), 20.0),
        (4, (4, 1, 1, 1, 1), 20.0),
        (4, (3, 3, 1), 20.0),
        (0, (2, 1, 1), 20.0),  # an older journal does not say how many: as many as one run needs
    ],
)
def test_runs_share_the_hosts_that_the_campaign_was_planned_on(
    of_size: Callable[..., ev.RunPlanned], hosts: int, nodes: tuple[int, ...], eta_s: float
) -> None:
    created = ev.CampaignCreated(t=0.0, campaign="c", hosts=hosts)
    runs = [of_size(number, size, 10.0) for number, size in enumerate(nodes, 1)]
    assert shown(fold([created, *runs]), 0.0).eta_s == pytest.approx(eta_s)


def test_the_chart_shows_what_runs_else_what_ran_last() -> None:
    state = fold([planned(A), assigned(A), readings(A, 0, 4), planned(B)])
    [series] = shown(state, 20.0).series
    assert (series.run_id, series.warmup) == (A, 1)
    assert series.points[0] == (9.0, 100.0)
    state = fold([succeeded(A), assigned(B), readings(B, 0, 2)], state)
    assert [series.run_id for series in shown(state, 20.0).series] == [B]
    state = fold([succeeded(B)], state)
    assert [series.run_id for series in shown(state, 20.0).series] == [A]


def test_a_run_whose_end_was_learnt_late_took_what_it_took() -> None:
    """The console was away from the second reading on; the run ended after 30 s, unseen."""
    first, late = readings(A, 0, 2), 4000.0
    rest = ev.ReadingsArrived(
        t=late, run_id=A, first=2, readings=tuple((float(i), 7.0, late) for i in range(2, 8))
    )
    launched = ev.RunLaunched(t=2.0, run_id=A, hosts=("node1",))
    before = [planned(A), planned(B), assigned(A), launched, first, rest]
    for end in (succeeded(A, t=late, ran_s=30.0), failed(A, t=late, ran_s=30.0)):
        snapshot = shown(fold([*before, end]), late)
        assert view(snapshot, A).elapsed_s == pytest.approx(31.0)  # from its assignment on
        times = [seconds for seconds, _ in snapshot.series[0].points]
        assert times == sorted(times)
        assert times[1] == pytest.approx(10.0)  # as they came
        assert times[-1] == pytest.approx(31.0)
    assert shown(fold([*before, succeeded(A, t=late, ran_s=30.0)]), late).eta_s == (
        pytest.approx(31.0)
    )
    unknown = shown(fold([*before, succeeded(A, t=late)]), late)
    assert view(unknown, A).elapsed_s == pytest.approx(late - 1.0)


@given(ran_s=st.floats(5.0, 600.0), away_s=st.floats(1.0, 1e5))
def test_a_run_whose_launch_too_was_learnt_late_took_what_it_took(
    ran_s: float, away_s: float
) -> None:
    """The console was killed between the launch and the line that says so."""
    back = 1.0 + ran_s + away_s
    launched = ev.RunLaunched(t=back, run_id=A, hosts=("node1",))
    over = ev.RunOver(t=back + 0.3, run_id=A)
    before = [planned(A), assigned(A), launched, over]
    for end in (succeeded(A, t=back + 2.0, ran_s=ran_s), failed(A, t=back + 2.0, ran_s=ran_s)):
        assert view(shown(fold([*before, end]), back + 9.0), A).elapsed_s == pytest.approx(ran_s)


def test_a_run_that_outlives_its_estimate_has_no_share_done_and_says_so() -> None:
    """As one whose ranks never meet: 99% and an ETA of nothing would be made up."""
    before = [planned(A, expected_s=20.0), assigned(A), ev.RunLaunched(t=2.0, run_id=A)]
    state = fold(before)
    early = shown(state, 11.0)
    assert (view(early, A).progress, view(early, A).eta_s) == (0.5, 10.0)
    late = shown(state, 61.0)
    assert (view(late, A).progress, view(late, A).eta_s, late.eta_s) == (None, None, None)
    assert view(late, A).state_text == "running longer than ≈20s, no reading yet"
    assert (view(early, A).outlived, view(late, A).outlived) == (False, True)
    assert not view(shown(fold([*before, succeeded(A, t=61.0)]), 61.0), A).outlived
    read = shown(fold([readings(A, 0, 2)], state), 61.0)
    assert view(read, A).state_text == "running longer than ≈20s"


def failed(run_id: str, **more: object) -> ev.RunFailed:
    return ev.RunFailed(run_id=run_id, reason="exit status 1", **more)  # type: ignore[arg-type]


def test_the_header_counts_repeats_and_not_attempts() -> None:
    first, second = RUN_IDS[1:]
    failed = ev.RunFailed(t=3.0, run_id=first, reason="x", retry="now")
    state = fold([planned(A), assigned(A), succeeded(A), planned(first), failed])
    assert shown(state, 3.0).summary == "1/2 succeeded · 1 failed"
    state = fold([planned(second)], state)
    assert shown(state, 3.0).summary == "1/2 runs · ETA 8s"
    assert view(shown(state, 3.0), second).label.endswith("#2 attempt 2")


def test_a_problem_that_no_journal_can_hold_is_shown_all_the_same() -> None:
    noted = shown(fold([planned(A)]), 3.0).with_note(3.0, "disk full")
    assert noted.notes == ((3.0, "stop", "disk full"),)


def test_runs_that_were_cancelled_are_counted_apart_from_those_that_are_done() -> None:
    state = fold([planned(A), planned(B), ev.RunCancelled(t=1.0, run_id=B)])
    assert shown(state, 2.0).summary.startswith("0/2 succeeded · 1 skipped")
    begun = [planned(A), planned(B), assigned(B), ev.RunCancelled(t=1.0, run_id=B)]
    assert shown(fold(begun), 2.0).summary.startswith("0/2 succeeded · 1 cancelled")
    assert "cancelled" not in shown(fold([planned(A)]), 2.0).summary


def test_a_run_that_is_over_is_collecting_and_no_longer_waited_for() -> None:
    launched = ev.RunLaunched(t=2.0, run_id=A)
    runs = [planned(A, expected_s=20.0), planned(B, expected_s=20.0)]
    state = fold([*runs, assigned(A), launched, ev.RunOver(t=31.0, run_id=A)])
    now = shown(state, 39.0)
    assert (view(now, A).state_text, view(now, A).outlived) == ("collecting", False)
    assert view(now, A).elapsed_s == pytest.approx(30.0)
    assert now.eta_s == pytest.approx(20.0)  # of the other; it has not outlived its estimate
    ending = fold([ev.RunCancelling(t=40.0, run_id=A)], state)
    assert view(shown(ending, 41.0), A).state_text == "cancelling"
    assert fold([succeeded(A, t=42.0)], state).runs[A].ended_at == 42.0


def test_nobody_knows_what_share_of_a_cancellation_is_done() -> None:
    before = [
        planned(A, expected_s=60.0),
        assigned(A),
        ev.RunLaunched(t=2.0, run_id=A, hosts=("node1",)),
    ]
    assert view(shown(fold(before), 4.0), A).eta_s is not None
    run = view(shown(fold([*before, ev.RunCancelling(t=3.0, run_id=A)]), 4.0), A)
    assert (run.progress, run.eta_s) == (None, None)


@given(
    every=st.floats(0.1, 10.0) | st.floats(0.1, 300.0),
    count=st.integers(3, 200),
    quiet=st.floats(0.0, 20.0) | st.floats(0.0, 5000.0),
)
@example(every=1.0, count=10, quiet=8.0)
def test_a_run_without_a_reading_for_far_longer_than_they_take_says_so(
    every: float, count: int, quiet: float
) -> None:
    points = tuple((i, 100.0, 10.0 + every * i) for i in range(count))
    told = ev.ReadingsArrived(t=2.0, run_id=A, first=0, readings=points)
    state = fold(
        [
            planned(A, expected_s=every * count * 2 + 60.0),
            assigned(A),
            ev.RunLaunched(t=2.0, run_id=A),
            told,
        ]
    )
    now = points[-1][2] + quiet
    run = view(shown(state, now), A)
    assert (run.silent_s is not None) == (quiet > 20.0 and quiet > 5 * every)
    late = count >= 10 and quiet > 5.0 and quiet > 3 * (every + 1e-6)
    assert ("no reading for" in run.state_text) == (run.silent_s is not None or late)
    if late and run.silent_s is None:
        assert (run.progress, run.eta_s, run.outlived) == (None, None, False)
        assert run.doing == f"no reading for {format_duration(quiet)}"
        assert state_text(run).plain == "▶ running"
    if run.silent_s is not None:
        assert (run.progress, run.eta_s, run.outlived) == (None, None, False)
        assert state_text(run).plain.startswith("▲ silent ")
        assert run.state_text.endswith(f"no reading for {format_duration(run.silent_s)}")
    for left in (-1.0, 0.0, 90.0):
        given_up = view(shown(state, now, given_up={A: now + left}), A)
        until = "; ended as stalled in 1m30s unless one comes"
        said = until * (left > 0 and run.silent_s is not None)
        assert given_up.state_text == run.state_text + said
    pause = replace(told, first=count, readings=((count, 100.0, now),))
    after = fold([pause], state)
    assert view(shown(after, now + min(quiet, 5 * every)), A).silent_s is None, "it goes on"
    lost = ev.ContactChanged(t=now, run_id=A, host="node2", lost=True, reason="connection lost")
    for nobody_knows in (
        shown(fold([lost], state), now),
        shown(fold([ev.RunOver(t=now, run_id=A)], state), now),
        shown(state, now, read_only=True),
    ):
        assert view(nobody_knows, A).silent_s is None


@given(st.integers(1, 4), st.integers(1, 4), st.booleans(), st.booleans())
def test_a_run_that_needs_a_lost_host_waits_for_it_before_anybody_has_said_so(
    hosts: int, nodes: int, lost: bool, told: bool
) -> None:
    """The same for who is at work and for who looks on, with what is known of the moment or not."""
    began = ev.CampaignCreated(t=0.0, campaign="c", hosts=hosts)
    later = replace(planned(B, expected_s=20.0), nodes=nodes)
    state = fold([began, planned(A, expected_s=20.0), later, assigned(A)])
    state = fold([ev.RunLaunched(t=2.0, run_id=A)], state)
    gone = ev.ContactChanged(t=6.0, run_id=A, host=HOSTS[0], lost=True, reason="connection lost")
    state = fold([gone] * lost, state)
    waits = Waiting(WaitKind.BUSY, (HOSTS[0],))
    seen = shown(state, 7.0, waiting={B: waits} if told else {})
    short = lost and nodes > hosts - 1
    assert seen.blocked_by == ((HOSTS[0],) if short else ())
    assert seen.eta_text.endswith(f"once {HOSTS[0]} can be used") == short
    queued = shown(state, 7.0, waiting={B: Waiting(WaitKind.QUEUED)})
    assert not queued.blocked_by, "whose hosts a queue gives"


def test_a_run_whose_demo_was_left_has_not_failed_while_its_next_attempt_is_to_come() -> None:
    left = ev.RunFailed(t=9.0, run_id=A, reason="its demo was left", category=Cause.LEFT)
    state = fold([planned(A), assigned(A), left])
    seen = shown(state, 10.0)
    assert (seen.done, seen.failed, seen.summary) == (0, 0, "0/1 runs")
    over = shown(fold([ev.CampaignFinished(t=11.0)], state), 12.0)
    assert (over.done, over.failed) == (1, 1)
