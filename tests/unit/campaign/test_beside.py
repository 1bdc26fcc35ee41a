"""Which runs had a machine beside others, by its boot id: it may have several names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.run_changes import RUN_CHANGES
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.sharing import beside_on_its_machine

BOOTS = {"a": "one", "b": "one", "c": "two", "d": ""}
"""By host."""

SPANS = st.tuples(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True),
    st.integers(0, 9),
    st.one_of(st.none(), st.integers(1, 5)),
)


@given(st.lists(SPANS, max_size=6))
def test_what_ran_on_one_machine_at_the_same_time_is_beside_each_other(
    spans: list[tuple[list[str], int, int | None]],
) -> None:
    runs = [_run(str(at), *span) for at, span in enumerate(spans)]
    found = beside_on_its_machine(runs)
    for at, (hosts, began, lasts) in enumerate(spans):
        expected = set()
        for other, (theirs, there_began, there_lasts) in enumerate(spans):
            apart = (lasts is not None and began + lasts <= there_began) or (
                there_lasts is not None and there_began + there_lasts <= began
            )
            if other == at or apart:
                continue
            for machine in ("one", "two"):
                own = {host for host in hosts if BOOTS[host] == machine}
                there = {host for host in theirs if BOOTS[host] == machine}
                expected |= there - own if own else set()
        assert set(found.get(str(at), ())) == expected


def test_logs_that_are_fetched_keep_no_machine() -> None:
    over = replace(_run("1", ["a"], 0, 9), over_at=3.0)
    assert beside_on_its_machine([over, _run("2", ["b"], 4, 5)]) == {}


@given(assigned=st.floats(1, 20), ran=st.floats(2, 20), learnt=st.floats(0, 60))
def test_a_launch_that_was_learnt_late_parts_no_neighbours(
    assigned: float, ran: float, learnt: float
) -> None:
    """Who was killed between a start and its launch learns that when it comes back."""
    now = assigned + ran + learnt
    late = ev.RunLaunched(t=max(assigned, now - 0.05), run_id="1", boot_ids=("one",))
    run = replace(_run("1", ["a"], 0, None), state=RunState.STARTING, boot_ids=(), launched_at=None)
    run = replace(run, started_at=assigned)
    for event in (late, ev.RunOver(t=now, run_id="1", ran_s=ran)):
        run = RUN_CHANGES[type(event)](run, event)
    neighbour = replace(_run("2", ["b"], 0, None), launched_at=assigned - 1, over_at=assigned + 0.5)
    found = beside_on_its_machine([run, neighbour])
    assert found == {"1": ("b",), "2": ("a",)}
    assert run.over_at == pytest.approx(assigned + ran)


def _run(run_id: str, hosts: list[str], began: int, lasts: int | None) -> RunRecord:
    return RunRecord(
        run_id=run_id,
        profile="cpu-smoke",
        framework="Python",
        model="MLP",
        unit="samples/s",
        nodes=len(hosts),
        gpus_per_node=1,
        parameters={},
        repeat=1,
        attempt=1,
        hosts=tuple(hosts),
        boot_ids=tuple(BOOTS[host] for host in hosts),
        launched_at=float(began),
        ended_at=None if lasts is None else float(began + lasts),
    )
