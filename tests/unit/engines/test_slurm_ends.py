"""How each end of a job that Slurm tells is called, and whether the run is tried again."""

from __future__ import annotations

import pytest

from backends.campaign.run.end_reason import judge_allocation_end
from backends.engines.engine import AllocationEnd, EndKind, Wanted
from backends.engines.slurm.job_nodes import blamed
from backends.engines.slurm.jobs import Job, JobState, parse_squeue
from backends.engines.slurm.run_job import RunJob

COLUMNS = (
    "7",
    "dlperf-r",
    "{state}",
    "{reason}",
    "gpu",
    "{nodes}",
    "1795390489",
    "0",
    "{restarts}",
)
LINE = "".join(f"{column}\x1f" for column in COLUMNS)


def job(state: str, reason: str = "None", nodes: str = "node[1-2]", restarts: int = 0) -> Job:
    line = LINE.format(state=state, reason=reason, nodes=nodes, restarts=restarts)
    [found] = parse_squeue(line)
    return found


@pytest.mark.parametrize(
    ("seen", "kind", "retry"),
    [
        (job("NODE_FAIL"), EndKind.NODE_FAILED, "later"),
        (job("BOOT_FAIL"), EndKind.LAUNCH_FAILED, "later"),
        (job("FAILED", "JobLaunchFailure"), EndKind.LAUNCH_FAILED, "later"),
        (job("PENDING", "launch failed requeued held", ""), EndKind.LAUNCH_FAILED, "later"),
        (job("PENDING", "launch_failed_requeued_held", ""), EndKind.LAUNCH_FAILED, "later"),
        (job("CANCELLED"), EndKind.CANCELLED, "never"),
        (job("TIMEOUT", "TimeLimit"), EndKind.TIME_LIMIT, "never"),
        (job("DEADLINE", "DeadLine"), EndKind.DEADLINE, "never"),
        (job("PREEMPTED"), EndKind.PREEMPTED, "later"),
        (job("OUT_OF_MEMORY", "OutOfMemory"), EndKind.OUT_OF_MEMORY, "never"),
    ],
)
def test_ends_are_told_apart(seen: Job, kind: EndKind, retry: str) -> None:
    run = RunJob(Wanted("r", 2, 1), "7", seen=seen)
    assert run.over
    assert run.end is not None
    assert (run.end.kind, judge_allocation_end(run.end).retry) == (kind, retry)


@pytest.mark.parametrize("seen", [job("COMPLETED"), job("FAILED", "NonZeroExitCode")])
def test_what_ended_by_itself_is_no_word_of_slurms(seen: Job) -> None:
    run = RunJob(Wanted("r", 2, 1), "7", seen=seen)
    assert run.over
    assert run.end is None


@pytest.mark.parametrize("state", sorted(JobState))
def test_every_state_is_over_or_not_and_only_what_is_over_has_an_end(state: JobState) -> None:
    run = RunJob(Wanted("r", 2, 1), "7", seen=job(state))
    assert run.over == state.ended
    assert run.end is None or run.over
    assert not (state.ended and state.waits)


def test_every_end_has_words_and_a_rule() -> None:
    for kind in EndKind:
        ended = judge_allocation_end(AllocationEnd("r", kind, host="node1", by="alice"))
        assert ended.reason.startswith("node1: the ")
        assert ended.reason.endswith(" by alice")
        assert ended.retry in ("later", "never")
        of_all = judge_allocation_end(AllocationEnd("r", kind, of_all=True))
        assert (
            of_all.reason == ended.reason
            or "the campaign's job" in of_all.reason
            or (kind is EndKind.NODE_FAILED)
        )


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("Prolog error", EndKind.PROLOG_FAILED),
        ("batch job complete failure", EndKind.LAUNCH_FAILED),
        ("disk is being replaced after a Prolog error", None),
        ("none", None),
    ],
)
def test_a_drained_node_says_whose_doing_it_was(reason: str, kind: EndKind | None) -> None:
    """``sinfo --Node`` has a line for each partition of a node."""
    text = f"node1\x1fnone\x1f\nnode2\x1f{reason}\x1f\nnode2\x1f{reason}\x1f\n"
    assert blamed(text) == ("node2" if kind else "", kind)
