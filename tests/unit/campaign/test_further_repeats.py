"""What follows when all runs of a campaign have ended: more repeats by the rule, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from backends.campaign.plan.further_runs import further_runs
from backends.campaign.plan.next_attempt import next_attempt
from backends.campaign.record import events as ev
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, fold
from backends.campaign.record.status_view import take
from backends.results.auto_repeats import Stop
from backends.results.summary import summarise


def planned(tag: str, repeat: int, number: int, attempt: int = 1, retry_of: str = "") -> ev.Event:
    return ev.RunPlanned(
        t=float(number),
        run_id=f"abcd-{number:04d}-a{attempt}",
        profile="p",
        framework="F",
        model="M",
        unit="samples/s",
        nodes=1,
        gpus_per_node=int(tag[2:-1]),
        parameters={"batch_size": 32},
        repeat=repeat,
        attempt=attempt,
        retry_of=retry_of,
    )


def ran(run_id: str, start: float, value: float | None, seconds: float = 10.0) -> list[ev.Event]:
    end: ev.Event = ev.RunFailed(t=start + seconds, run_id=run_id, reason="out of memory")
    if value is not None:
        end = ev.RunSucceeded(
            t=start + seconds,
            run_id=run_id,
            throughput=value,
            readings=5,
            used=4,
            window="all readings",
            statistic="mean",
        )
    start_event = ev.RunAssigned(
        t=start, run_id=run_id, hosts=("node1",), commands=("x",), port=1, log="logs/x"
    )
    return [start_event, end]


def asked(**more: object) -> list[ev.Event]:
    fields: dict[str, object] = {"target": 0.01, "quantity": "throughput", "max_repeats": 50}
    return [
        ev.CampaignCreated(t=0.0, campaign="c"),
        ev.RepeatsAsked(t=0.0, **{**fields, **more}),  # type: ignore[arg-type]
    ]


def campaign(values: Sequence[float | None], tag: str = "1n1g", **more: object) -> list[ev.Event]:
    plan = [planned(tag, repeat, repeat) for repeat in range(1, len(values) + 1)]
    runs = [
        event
        for number, value in enumerate(values, start=1)
        for event in ran(f"abcd-{number:04d}-a1", 100.0 * number, value)
    ]
    return [*asked(**more), *plan, *runs]


def next_runs(state: CampaignState) -> list[ev.RunPlanned]:
    return [e for e in further_runs(state, 5000.0) if isinstance(e, ev.RunPlanned)]


def settled(state: CampaignState) -> list[str]:
    return [e.why for e in further_runs(state, 5000.0) if isinstance(e, ev.CaseSettled)]


WIDE = [95.0, 105.0] * 3


def test_the_next_repeats_follow_on_the_last_ones() -> None:
    state = fold(campaign(WIDE))
    runs = next_runs(state)
    assert [(run.repeat, run.run_id) for run in runs] == [
        (7, "abcd-0007-a1"),
        (8, "abcd-0008-a1"),
    ]
    assert {run.profile for run in runs} == {"p"}
    assert fold(runs, state).runs["abcd-0007-a1"].case == state.runs["abcd-0001-a1"].case


def test_repeats_go_round_robin_over_the_cases() -> None:
    two = [planned("1n1g", r, r) for r in range(1, 7)]
    two += [planned("1n2g", r, r + 6) for r in range(1, 7)]
    runs = [
        e
        for n in range(1, 13)
        for e in ran(f"abcd-{n:04d}-a1", 100.0 * n, 95.0 if n % 2 else 105.0)
    ]
    further = next_runs(fold([*asked(), *two, *runs]))
    assert [(run.gpus_per_node, run.repeat) for run in further] == [(1, 7), (2, 7), (1, 8), (2, 8)]
    assert [run.run_id[5:9] for run in further] == ["0013", "0014", "0015", "0016"]


def test_a_case_that_is_known_is_settled_once() -> None:
    state = fold(campaign([100.0 + 0.1 * (-1) ** i for i in range(8)]))
    events = further_runs(state, 5000.0)
    assert [type(event) for event in events] == [ev.CaseSettled]
    after = fold(events, state)
    assert after.settled == {"p/1n1g/batch_size=32": Stop.REACHED}
    assert further_runs(after, 5001.0) == []
    (group,) = summarise(run_results(after))
    assert group.cases[0].stopped == "reached"
    assert summarise(run_results(state))[0].cases[0].stopped is None


def test_a_number_of_repeats_is_left_as_it_is() -> None:
    state = fold([event for event in campaign(WIDE) if not isinstance(event, ev.RepeatsAsked)])
    assert further_runs(state, 5000.0) == []
    assert summarise(run_results(state))[0].cases[0].stopped == "asked"


def test_nothing_is_planned_while_something_is_under_way() -> None:
    events = campaign(WIDE)
    assert further_runs(fold(events[:-1]), 5000.0) == []


def test_nothing_is_planned_after_a_cancel() -> None:
    state = fold([*campaign(WIDE), ev.CancelAsked(t=4000.0)])
    assert further_runs(state, 5000.0) == []
    one = fold([*campaign(WIDE)[:-1], ev.RunCancelled(t=4000.0, run_id="abcd-0006-a1")])
    assert (next_runs(one), settled(one)) == ([], ["cancelled"])


def test_retries_are_one_repeat_and_cost_their_gpu_time() -> None:
    failed = campaign([*WIDE[:5], None], budget_gpu_s=80.0)
    retry = [
        planned("1n1g", 6, 6, attempt=2, retry_of="abcd-0006-a1"),
        *ran("abcd-0006-a2", 900.0, 105.0),
    ]
    # Seven attempts of ten seconds: ten are left for another.
    runs = next_runs(fold([*failed, *retry]))
    assert [run.run_id for run in runs] == ["abcd-0007-a1"]


def test_gpu_time_counts_every_device() -> None:
    assert next_runs(fold(campaign(WIDE, tag="1n8g", budget_gpu_s=10 * 8 * 8.0)))
    assert settled(fold(campaign(WIDE, tag="1n8g", budget_gpu_s=10 * 8 * 6.5))) == ["budget"]


def test_failures_in_a_row_are_counted_in_the_order_of_running() -> None:
    assert settled(fold(campaign([None, None, None]))) == ["failing"]
    assert len(next_runs(fold(campaign([None, None, 100.0])))) == 5


def test_a_damaged_journal_gives_no_run_the_id_of_another() -> None:
    events = campaign(WIDE)
    lost = [event for event in events if getattr(event, "run_id", "") != "abcd-0002-a1"]
    state = fold(lost)
    runs = next_runs(state)
    assert runs
    assert not {run.run_id for run in runs} & set(state.runs)


@pytest.mark.parametrize("quantity", ["throughput", "speedup"])
def test_the_base_is_the_smallest_case(quantity: str) -> None:
    wide, tight = [*WIDE, 95.0, 105.0], [100.0, 100.1] * 4
    plan = [planned("1n1g", r, r) for r in range(1, 9)]
    plan += [planned("1n2g", r, r + 8) for r in range(1, 9)]
    runs = [e for n, v in enumerate(wide, 1) for e in ran(f"abcd-{n:04d}-a1", 100.0 * n, v)]
    runs += [e for n, v in enumerate(tight, 9) for e in ran(f"abcd-{n:04d}-a1", 100.0 * n, v)]
    state = fold([*asked(quantity=quantity), *plan, *runs])
    assert {run.gpus_per_node for run in next_runs(state)} == {1}
    assert settled(state) == (["reached"] if quantity == "throughput" else [])


def explained(values: Sequence[float | None], *, auto: bool = False) -> list[ev.Event]:
    created, asked_for, *rest = campaign(values)
    assert isinstance(created, ev.CampaignCreated)
    return [replace(created, explain=("p",)), *([asked_for] if auto else []), *rest]


def test_a_case_to_be_explained_gets_one_profiled_run_when_its_repeats_are_done() -> None:
    events = explained([100.0, None])
    assert next_runs(fold(events[:-1])) == []
    state = fold(events)
    (run,) = next_runs(state)
    assert (run.profiled, run.repeat, run.run_id) == (True, 3, "abcd-0003-a1")
    done = fold([run, *ran(run.run_id, 6000.0, 90.0)], state)
    assert further_runs(done, 7000.0) == []
    assert [one.profiled for one in done.latest_attempts()] == [False, False, True]
    (group,) = summarise(run_results(done))
    assert (group.cases[0].repeats, group.cases[0].throughputs) == (2, (100.0,))


def test_repeats_until_it_is_known_come_before_the_profiled_run() -> None:
    state = fold(explained(WIDE, auto=True))
    assert [run.profiled for run in next_runs(state)] == [False, False]
    assert state.open_ended
    known = fold(explained([100.0 + 0.1 * (-1) ** i for i in range(8)], auto=True))
    assert settled(known) == ["reached"]
    every = dict.fromkeys((run.case.key for run in known.runs.values()), Stop.REACHED)
    assert known.open_ended
    assert not replace(known, settled=every).open_ended
    assert [run.profiled for run in next_runs(known)] == [True]


def test_what_never_succeeded_is_not_profiled() -> None:
    assert next_runs(fold(explained([None, None]))) == []
    assert next_runs(fold([*explained([100.0]), ev.CancelAsked(t=4000.0)])) == []


def test_another_attempt_at_a_profiled_run_is_profiled_too() -> None:
    state = fold(explained([100.0]))
    (run,) = next_runs(state)
    failed = fold([run, *ran(run.run_id, 6000.0, None)], state)
    again = next_attempt(failed.runs[run.run_id], 7000.0)
    assert (again.profiled, again.repeat) == (True, run.repeat)
    requeued = ev.RunRequeued(t=1.0, run_id=run.run_id, next_id="abcd-0002-a2", reason="r")
    assert fold([run, requeued], state).runs["abcd-0002-a2"].profiled


def test_a_number_that_a_stray_has_is_not_given_again() -> None:
    state = fold(explained([100.0]))
    stray = ev.RunAssigned(
        t=1.0, run_id="abcd-0002-a1", hosts=("node1",), commands=("x",), port=1, log="logs/x"
    )
    (run,) = next_runs(fold([stray], state))
    assert run.run_id == "abcd-0003-a1"


@pytest.mark.parametrize("values", [[100.0], [100.0, None], [None, None], [100.0, 101.0, 102.0]])
def test_profiled_runs_are_counted_from_the_beginning(values: list[float | None]) -> None:
    events = explained(values)
    after = fold(events)
    planned = [*after.runs.values(), *(run for run in next_runs(after))]
    for number in range(len(events) - 1, len(events) + 1):
        now = fold(events[:number])
        seen = take(now, Path("c"), now=9000.0)
        assert seen.total == len(planned) or not any(values)
    end = take(after, Path("c"), now=9000.0)
    assert (end.total, end.done) == (len(planned), len(after.runs))
    if more := next_runs(after):
        done = fold([*more, *ran(more[0].run_id, 6000.0, 90.0)], after)
        assert take(done, Path("c"), now=9000.0).total == len(planned)
