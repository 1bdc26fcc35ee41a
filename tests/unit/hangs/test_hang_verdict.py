"""What the evidence carries, and no more: which rank is named, by what, how surely."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.codec import decode, encode
from backends.hangs.diagnosis import Confidence, Diagnosis, Finding, Lacking, Sign, Source, Suspect
from backends.hangs.evidence import (
    Collective,
    Gpu,
    HostEvidence,
    KernelLine,
    KernelProblem,
    Lack,
    Process,
    RasCount,
    RasProcess,
    RasReport,
    Stack,
)
from backends.hangs.verdict import diagnose
from backends.hangs.verdict_words import evidence_lines, lacking_lines, verdict_line
from profiles.cleantext import clean_text

NOW = 1_795_400_000.0
RUN_S = 600.0
WAITS = ("all_reduce", "wrapper", "train", "<module>")
WORKS = ("forward", "step", "train", "<module>")


def stack(pid: int, functions: tuple[str, ...] = WAITS) -> Stack:
    place = "torch/distributed/distributed_c10d.py:1" if functions == WAITS else "train.py:7"
    return Stack(pid, functions, (place,) * len(functions))


def pid_of(rank: int) -> int:
    return 2000 + rank


def cluster(hosts: int, each: int) -> list[HostEvidence]:
    """All ranks wait in the same collective, and nobody has anything to say."""
    found = []
    for host in range(hosts):
        ranks = range(host * each, (host + 1) * each)
        found.append(
            HostEvidence(
                f"node{host + 1}",
                devices=tuple(range(each)),
                processes=tuple(Process(pid_of(r), "R", "R", 1, r, r % each, 100) for r in ranks),
                stacks=tuple(stack(pid_of(r)) for r in ranks),
                flights=tuple((r, Collective("all_reduce", 1483, "started")) for r in ranks),
                ras=RasReport(hosts * each),
                gpus=tuple(Gpu(i, f"{i + 16:02x}:00", 100) for i in range(each)),
                kernel=(),
            )
        )
    return found


def changed(evidence: list[HostEvidence], rank: int, **fields: object) -> list[HostEvidence]:
    """With another process, stack, flight, or gpu of one rank; None: there is none."""
    each = len(evidence[0].processes)
    number, local = divmod(rank, each)
    host = evidence[number]
    if "process" in fields:
        new = fields["process"]
        host = replace(
            host,
            processes=tuple(_put(list(host.processes), local, new)),  # type: ignore[arg-type]
        )
    if "stack" in fields:
        host = replace(host, stacks=tuple(_put(list(host.stacks), local, fields["stack"])))  # type: ignore[arg-type]
    if "flight" in fields:
        told = None if fields["flight"] is None else (rank, fields["flight"])
        host = replace(host, flights=tuple(_put(list(host.flights), local, told)))  # type: ignore[arg-type]
    if "gpu" in fields:
        host = replace(host, gpus=tuple(_put(list(host.gpus), local, fields["gpu"])))  # type: ignore[arg-type]
    if "kernel" in fields:
        host = replace(host, kernel=fields["kernel"])  # type: ignore[arg-type]
    return [*evidence[:number], host, *evidence[number + 1 :]]


def _put(values: list[object], at: int, value: object) -> Iterable[object]:
    return (
        (v for i, v in enumerate(values) if i != at or value is not None)
        if value is None
        else [
            *values[:at],
            value,
            *values[at + 1 :],
        ]
    )


def verdict(evidence: list[HostEvidence], **more: object) -> Diagnosis:
    world = sum(len(host.devices) for host in cluster_sizes(evidence))
    bus = {(h.host, i): f"{i + 16:02x}:00" for h in evidence for i in h.devices}
    return diagnose(evidence, world=world, run_s=RUN_S, now=NOW, bus_ids=bus, **more)  # type: ignore[arg-type]


def cluster_sizes(evidence: list[HostEvidence]) -> list[HostEvidence]:
    return evidence


SIZES = st.tuples(st.integers(1, 4), st.integers(2, 8))


@given(SIZES)
def test_nobody_is_named_where_nobody_stands_out(size: tuple[int, int]) -> None:
    found = verdict(cluster(*size))
    assert found.suspects == ()
    assert found.confidence is Confidence.NONE
    assert (found.collective, found.number) == ("all_reduce", 1483)
    ranks = size[0] * size[1]
    assert verdict_line(found) == (
        f"which rank keeps the others could not be told: all {ranks} ranks wait in all_reduce #1483"
    )


def stopped(rank: int, each: int) -> Process:
    return Process(pid_of(rank), "T", "T", 1, rank, rank % each)


FAULTS = {
    "stopped": lambda r, each: {"process": stopped(r, each)},
    "uninterruptible": lambda r, each: {
        "process": replace(stopped(r, each), state="D", before="D")
    },
    "behind": lambda r, each: {"flight": Collective("all_reduce", 1482, "completed")},
    "other collective": lambda r, each: {"flight": Collective("all_gather", 1483, "started")},
    "not started": lambda r, each: {"flight": Collective("all_reduce", 1483, "scheduled")},
    "lost gpu": lambda r, each: {"gpu": Gpu(r % each, f"{r % each + 16:02x}:00", None, True)},
    "works": lambda r, each: {"stack": stack(pid_of(r), WORKS)},
    "idle gpu": lambda r, each: {"gpu": Gpu(r % each, f"{r % each + 16:02x}:00", 0)},
    "xid": lambda r, each: {
        "kernel": (KernelLine(KernelProblem.XID, "Xid", 60.0, 79, f"{r % each + 16:02x}:00"),)
    },
}


@given(SIZES, st.data(), st.sampled_from(sorted(FAULTS)))
def test_one_rank_that_stands_out_is_named_with_its_host_and_gpu(
    size: tuple[int, int], data: st.DataObject, fault: str
) -> None:
    hosts, each = size
    assume(fault != "other collective" or hosts * each > 2)  # of two nobody can tell whose is wrong
    rank = data.draw(st.integers(0, hosts * each - 1))
    found = verdict(changed(cluster(*size), rank, **FAULTS[fault](rank, each)))
    [suspect] = found.suspects
    assert (suspect.rank, suspect.host) == (rank, f"node{rank // each + 1}")
    assert (suspect.device, suspect.pid) == (rank % each, pid_of(rank))
    assert found.confidence is not Confidence.NONE
    line = verdict_line(found)
    assert f"rank {rank} on node{rank // each + 1}" in line
    assert f"node{rank // each + 1} GPU{rank % each}" in line


@pytest.mark.parametrize("where", ["nfs_wait_bit_killable", "io_schedule", ""])
def test_of_no_wait_is_said_that_nothing_ends_it(where: str) -> None:
    """One that is killable ends with SIGKILL."""
    process = replace(stopped(1, 2), state="D", before="D", wchan=where)
    line = verdict_line(verdict(changed(cluster(1, 2), 1, process=process)))
    assert "is in a wait that no ordinary signal interrupts" in line
    assert where in line


@given(SIZES, st.data())
def test_a_rank_that_has_no_process_any_more_is_named(
    size: tuple[int, int], data: st.DataObject
) -> None:
    hosts, each = size
    rank = data.draw(st.integers(0, hosts * each - 1))
    evidence = changed(cluster(*size), rank, process=None, stack=None, flight=None)
    found = verdict(evidence)
    assert [suspect.rank for suspect in found.suspects] == [rank]
    assert Sign.GONE in found.suspects[0].signs


@given(SIZES, st.data(), st.sampled_from(["cut", "silent", "none of its ranks is seen"]))
def test_no_rank_is_gone_where_not_all_processes_of_its_host_are_known(
    size: tuple[int, int], data: st.DataObject, why: str
) -> None:
    """Of a launcher in a job, for one, the first host's name is in all that it starts."""
    hosts, each = size
    rank = data.draw(st.integers(0, hosts * each - 1))
    evidence = changed(cluster(*size), rank, process=None, stack=None, flight=None)
    number = rank // each
    if why == "cut":
        evidence[number] = replace(evidence[number], listed=False)
    elif why == "silent":
        evidence[number] = HostEvidence(evidence[number].host, (), answered=False, listed=False)
    else:
        evidence[number] = replace(evidence[number], processes=(), stacks=(), flights=())
    found = verdict(evidence)
    assert not any(Sign.GONE in suspect.signs for suspect in found.suspects)


def test_a_rank_behind_and_the_drivers_message_are_one_line() -> None:
    evidence = changed(
        cluster(4, 8),
        21,
        flight=Collective("all_reduce", 1482, "started"),
        kernel=(
            KernelLine(KernelProblem.XID, "NVRM: Xid (PCI:0000:15:00): 79", 60.0, 79, "15:00"),
        ),
    )
    found = verdict(evidence)
    line = verdict_line(found)
    assert line.startswith(
        "rank 21 on node3 is in all_reduce #1482, all others in #1483: node3 GPU5; Xid 79 at "
    )
    assert found.confidence is Confidence.HIGH
    assert evidence_lines(found) == ["NVRM: Xid (PCI:0000:15:00): 79"]


@pytest.mark.parametrize("why", [Lack.SILENT, Lack.NOT_THERE])
def test_a_missing_dump_is_said_of_its_rank_and_of_a_host_only_where_it_has_none(why: Lack) -> None:
    one = verdict(changed(cluster(2, 2), 3, flight=why))
    assert [(s.rank, s.signs) for s in one.suspects] == [(3, {Sign.NO_DUMP})]
    assert evidence_lines(one) == []
    both = verdict(changed(changed(cluster(2, 2), 3, flight=why), 2, flight=why))
    assert evidence_lines(both) == [f"flight recorder: {why} on node2"]


def test_what_the_kernel_said_before_the_run_or_of_others_gpus_accuses_nobody() -> None:
    old = KernelLine(KernelProblem.XID, "old", RUN_S + 1, 79, "10:00")
    undated = KernelLine(KernelProblem.XID, "undated", None, 79, "10:00")
    found = verdict(changed(cluster(1, 4), 0, kernel=(old, undated)))
    assert found.suspects == ()
    evidence = cluster(1, 4)
    other = replace(
        evidence[0],
        devices=(0, 1),
        kernel=(KernelLine(KernelProblem.XID, "theirs", 1.0, 79, "13:00"),),
    )
    found = diagnose([other], world=2, run_s=RUN_S, now=NOW, bus_ids={("node1", 3): "13:00"})
    assert found.suspects == ()


def test_a_helper_of_a_rank_that_is_stopped_speaks_against_its_rank() -> None:
    evidence = cluster(1, 2)
    helper = Process(4000, "T", "T", pid_of(1))
    found = verdict([replace(evidence[0], processes=(*evidence[0].processes, helper))])
    assert [suspect.rank for suspect in found.suspects] == [1]


def test_who_computes_while_one_waits_is_not_accused() -> None:
    """Rank 0 waits for the others at a barrier that they have not come to yet: nobody hangs."""
    evidence = cluster(1, 4)
    stacks = tuple(stack(pid_of(r), WAITS if r == 0 else WORKS) for r in range(4))
    found = verdict([replace(evidence[0], stacks=stacks, flights=())])
    assert found.suspects == ()


def test_of_two_ranks_the_one_that_does_not_wait_is_probably_it() -> None:
    evidence = cluster(1, 2)
    stacks = (stack(pid_of(0)), stack(pid_of(1), WORKS))
    found = verdict([replace(evidence[0], stacks=stacks, flights=())])
    [suspect] = found.suspects
    assert suspect.rank == 1
    assert found.confidence is Confidence.LOW
    assert verdict_line(found).startswith("perhaps rank 1 on node1 does not wait but in forward")


def test_ras_names_a_rank_by_its_process_or_else_by_its_rank() -> None:
    by_pid = RasProcess(pid_of(3), "192.0.2.7", "1", 1, 2)  # rank 1 of a communicator of two
    by_rank = RasProcess(99, "192.0.2.7", "3", 3, 4)
    neither = RasProcess(99, "192.0.2.7", "1", 1, 2)
    for named, rank in ((by_pid, 3), (by_rank, 3), (neither, None)):
        evidence = [replace(h, ras=RasReport(4, missing=(named,))) for h in cluster(2, 2)]
        found = verdict(evidence)
        assert [suspect.rank for suspect in found.suspects] == ([] if rank is None else [rank])


def test_ras_of_another_job_on_the_host_accuses_nobody() -> None:
    named = RasProcess(99, "192.0.2.7", "3", 3, 8)
    found = verdict([replace(cluster(1, 4)[0], ras=RasReport(8, missing=(named,)))])
    assert found.suspects == ()


def test_counts_of_ras_name_who_is_behind() -> None:
    count = RasCount(RasProcess(pid_of(2), "n", "2", 2, 4), 60, 64, "AllReduce")
    host = replace(cluster(1, 4)[0], flights=(), ras=RasReport(4, counts=(count,)))
    found = verdict([host])
    assert verdict_line(found).startswith(
        "probably rank 2 on node1 has come to AllReduce #60, all others to #64: node1 GPU2"
    )


def test_a_host_that_does_not_answer_is_named_where_others_do() -> None:
    evidence = cluster(2, 2)
    found = verdict([evidence[0], HostEvidence("node2", (0, 1), answered=False)])
    assert [(s.host, s.rank) for s in found.suspects] == [("node2", None)]
    assert verdict_line(found).startswith("probably node2 does not answer")
    alone = verdict([HostEvidence("node1", (0, 1), answered=False)])
    assert alone.suspects == ()
    assert evidence_lines(alone) == ["host: did not answer in time on node1"]


def test_what_could_not_be_had_is_said_once_for_all_hosts() -> None:
    evidence = [
        replace(
            host,
            stacks=tuple((process.pid, Lack.NOT_INSTALLED) for process in host.processes),
            kernel=Lack.FORBIDDEN,
        )
        for host in cluster(4, 2)
    ]
    assert evidence_lines(verdict(evidence)) == [
        "py-spy: not installed on node[1-4]",
        "kernel log: not permitted on node[1-4]",
    ]


FINDINGS = st.builds(
    Finding,
    sign=st.sampled_from(Sign),
    collective=st.sampled_from(["", "all_reduce"]),
    number=st.none() | st.integers(0, 2**53),
    most=st.none() | st.integers(0, 2**53),
    xid=st.none() | st.integers(0, 999),
    at=st.none() | st.floats(0, 2e9),
    text=st.text(max_size=10),
)
DIAGNOSES = st.builds(
    Diagnosis,
    suspects=st.lists(
        st.builds(
            Suspect,
            host=st.text(max_size=8),
            rank=st.none() | st.integers(0, 4000),
            device=st.none() | st.integers(0, 15),
            findings=st.lists(FINDINGS, min_size=1, max_size=3).map(tuple),
        ),
        max_size=6,
    ).map(tuple),
    confidence=st.sampled_from(Confidence),
    ranks=st.integers(0, 4000),
    waiting=st.integers(0, 4000),
)


@given(DIAGNOSES)
def test_a_diagnosis_survives_the_journal_and_has_one_printable_line(found: Diagnosis) -> None:
    event = ev.RunDiagnosed(t=NOW, run_id="a-1", diagnosis=found)
    line = encode(event)
    assert decode(line) == event
    assert verdict_line(found) == clean_text(verdict_line(found))


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"suspects": [{"host": "h", "findings": []}]},
        {"suspects": [{"host": "h", "findings": [{"sign": "no such"}]}]},
        {"suspects": [{"host": "h", "findings": [{"sign": "xid", "at": -1.0}]}]},
        {"files": ["../../etc/passwd"]},
        {"confidence": "sure"},
    ],
)
def test_a_line_with_what_cannot_be_a_diagnosis_is_a_damaged_one(value: object) -> None:
    line: Mapping[str, object] = {
        "kind": "RunDiagnosed",
        "t": NOW,
        "run_id": "a-1",
        "diagnosis": value,
    }
    assert decode(json.dumps(line).encode()) is None


def test_words_for_what_a_newcomer_does_not_know() -> None:
    """What RAS is where there is none, which is no fault, and whose GPU is idle."""
    lacking = [
        Lacking(Source.RAS, Lack.NOT_THERE, ("sim2",)),
        Lacking(Source.RAS, Lack.SILENT, ("sim3",)),
    ]
    assert lacking_lines(lacking) == [
        "NCCL's own report (RAS, from NCCL 2.24 on): none on sim2",
        "NCCL RAS: did not answer in time on sim3",
    ]
    stopped, idle = Finding(Sign.STOPPED), Finding(Sign.IDLE_GPU)
    suspect = Suspect(rank=5, host="sim2", device=5, findings=(stopped, idle))
    line = verdict_line(replace(verdict(cluster(1, 2)), suspects=(suspect,)))
    assert line.endswith("sim2 GPU5; its GPU is idle, those of the other ranks are busy")


_PRESENT = re.compile(r"\b(is|are|has|have|does|gives|keeps|ranks wait|misses)\b")


@given(DIAGNOSES, st.booleans())
def test_what_is_told_as_past_has_no_verb_of_ours_in_the_present(
    found: Diagnosis, silent: bool
) -> None:
    theirs = [one.host for one in found.suspects]
    theirs += [told.text for one in found.suspects for told in one.findings]
    assume(not any(map(_PRESENT.search, theirs)))
    assert not _PRESENT.search(verdict_line(found, silent=silent, past=True))
