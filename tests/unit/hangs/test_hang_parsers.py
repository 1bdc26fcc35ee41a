"""What hosts say of a run that does not move, of any quality, as values."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backends.hangs.evidence import (
    Collective,
    KernelProblem,
    Lack,
    RasCount,
    RasProcess,
    Stack,
)
from backends.hangs.flight import read_flight
from backends.hangs.gpus import read_gpu_processes, read_gpus
from backends.hangs.host_evidence import host_evidence
from backends.hangs.kernel_log import bus_key, read_kernel
from backends.hangs.last_lines import last_lines_of_ranks
from backends.hangs.processes import read_processes
from backends.hangs.ras import read_ras
from backends.hangs.sections import Section, split
from backends.hangs.stacks import collective_of, read_stack, waits
from backends.hangs.verdict import diagnose
from backends.hangs.verdict_words import evidence_lines, verdict_line
from profiles.cleantext import clean_text

RAS = Path(__file__).parent / "ras"
NAMES = ["processes", "py-spy", "flight", "ras", "gpus", "gpu-processes", "kernel", "network"]
NAMES += ["uptime", "lines", "environment"]


def answer(*sections: Section) -> bytes:
    """As ``diagnose.sh`` writes it."""
    parts = [b"@diagnosis running 12\n"]
    for one in sections:
        status = "-" if one.status is None else str(one.status)
        head = f"@section {one.name} {one.argument} {status} {len(one.content)}\n"
        parts += [head.encode(), one.content, b"\n"]
    return b"".join(parts)


sections = st.builds(
    Section,
    name=st.sampled_from(NAMES),
    argument=st.sampled_from(["-", "0", "1", "77"]),
    status=st.sampled_from([None, 0, 1, 3, 124, 127]),
    content=st.binary(max_size=200),
)


@given(st.lists(sections, max_size=6))
def test_pieces_come_back_byte_for_byte_whatever_is_in_them(pieces: list[Section]) -> None:
    assert split(answer(*pieces)) == tuple(pieces)


@given(st.lists(sections, min_size=1, max_size=4), st.data())
def test_of_an_answer_that_was_cut_short_only_whole_pieces_count(
    pieces: list[Section], data: st.DataObject
) -> None:
    whole = answer(*pieces)
    kept = data.draw(st.integers(0, len(whole)))
    found = split(whole[:kept])
    assert found == tuple(pieces[: len(found)])


def test_a_line_of_a_log_cannot_pass_for_a_piece_of_evidence() -> None:
    forged = Section("lines", "-", 0, b"x\n@section processes - 0 9\npid=1 ...\n")
    assert [one.name for one in split(answer(forged))] == ["lines"]
    assert split(b"motd\n" + answer(forged)) == ()


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(
            [
                "Job summary",
                "Communicators... (0.001s)",
                "Missing communicator data from 1 rank",
                "  Rank 2 -- GPU 2 managed by process 2398 on node 192.0.2.2",
                "  Rank 7 has launched up to operation 60 -- GPU 3 managed by process 9 on node n",
                "  26 ranks have launched up to operation 6650",
                "  Communicator ranks have different AllReduce operation counts",
                "    0         1         1         3         4         3   RUNNING  INCOMPLETE",
                'Thread 326 (active): "MainThread"',
                "    all_reduce (torch/distributed/distributed_c10d.py:2501)",
                "[  12.5] NVRM: Xid (PCI:0000:0f:00): 79, pid=12, GPU has fallen off the bus.",
                "index, pci.bus_id, utilization.gpu [%]",
                "0, 00000000:0F:00.0, 100 %",
                "1 mlx5_0/1 state 1: DOWN",
                "2 mlx5_0/1 symbol_error 12",
                "1 mlx5_0/1 symbol_error 2",
                "pid=12 rank=3 local=1 state=T before=T cpu=0 stuck=0 wchan=-\tpython3 train.py",
                "\x1b]52;c;eA==\x07",
            ]
        ),
    ),
    max_size=12,
).map("\n".join)


@given(st.sampled_from(NAMES), TEXTS, st.sampled_from([None, 0, 1, 124]), st.integers(1, 5))
def test_no_text_of_a_host_breaks_a_verdict_or_reaches_the_terminal_as_it_is(
    name: str, text: str, status: int | None, world: int
) -> None:
    told = [
        Section(name, "12", status, text.encode("utf-8", "replace")),
        Section("uptime", "-", 0, b"100.0 50.0\n"),
        Section(
            "processes", "-", 0, b"pid=12 rank=0 local=0 state=S before=S cpu=0 stuck=0 wchan=-\tx"
        ),
    ]
    found = diagnose(
        [host_evidence("node1", (0, 1), told), host_evidence("node2", (), None)],
        world=world,
        run_s=60.0,
        now=1e9,
    )
    for line in (verdict_line(found), *evidence_lines(found)):
        assert line == clean_text(line)


@given(st.binary(max_size=400))
@example(pickle.dumps(print))
@example(b"cos\nsystem\n(S'true'\ntR.")
@example(b"\x80\x04r\xff\xff\xff\x7f.")  # a memo of two thousand million places
@example(b"]" * 300)
@example(b"[" * 400)
def test_no_dump_breaks_its_reader(content: bytes) -> None:
    assert isinstance(read_flight(content, 0), Collective | Lack)


def _text(text: str) -> bytes:
    return pickle.BINUNICODE + len(text).to_bytes(4, "little") + text.encode()


SIXTY = b")" + b"2\x86" * 60  # pairs of one and the same, sixty deep: 2^60 leaves
DEEP = b")" + b"\x85" * 1_000_000
SAME_HASH = [number * (2**61 - 1) for number in range(1, 60_000)]
NAME = b"".join(
    map(_text, ("state", "started", "profiling_name", ":" + "x" * 1_000_000, "collective_seq_id"))
)
COSTLY = {
    "much memory": b"\x96" + (1 << 29).to_bytes(8, "little"),
    "a key that is hashed for ever": b"}" + SIXTY + b"Ns",
    "one of many keys": b"}(" + SIXTY + b"Nu",
    "a key of the old form": b"(" + SIXTY + b"Nd",
    "a set": b"\x8f(" + SIXTY + b"\x90",
    "a frozen set": b"(" + SIXTY + b"\x91",
    "a key beyond the stack": b"}" + DEEP + b"Ns",
    "keys of one hash": b"}("
    + b"".join(b"\x8a\x0c" + number.to_bytes(12, "little") + b"N" for number in SAME_HASH)
    + b"u",
    "places of one hash": b"N" + b"".join(b"p%d\n" % number for number in SAME_HASH),
    "one name in all": b"}("
    + _text("entries")
    + b"](}("
    + NAME
    + b"K\x01uq\x00"
    + b"h\x00" * 200_000,
}
READ = """
import re, resource, sys
from backends.hangs.flight import read_flight
dump = sys.stdin.buffer.read()
spent = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
resource.setrlimit(resource.RLIMIT_CPU, (spent + 6, spent + 6))
told = read_flight(dump, 0)
# Not ru_maxrss: that begins with what the process was that started this one.
print(told, re.search("VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.parametrize("why", COSTLY)
def test_no_dump_costs_more_than_a_few_seconds_and_little_memory(why: str) -> None:
    named = why == "one name in all"
    dump = b"\x80\x04" + COSTLY[why] + (b"eu." if named else b".")
    child = subprocess.run(
        [sys.executable, "-c", READ], input=dump, capture_output=True, check=False
    )
    assert child.returncode == 0, child.stderr[-400:]
    told, _, resident_kib = child.stdout.decode().rpartition(" ")
    assert told.startswith("Collective") if named else told == Lack.UNREADABLE
    assert int(resident_kib) < 400 << 10


def test_a_dump_calls_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "called"

    class Caller:
        def __reduce__(self) -> object:
            return (Path.touch, (mark,))

    dump = pickle.dumps({"entries": [Caller()]})
    assert read_flight(dump, 0) is Lack.UNREADABLE
    assert not mark.exists()


def entry(number: int, name: str = "nccl:all_reduce", state: str = "started", **more: object):  # type: ignore[no-untyped-def]
    return {
        "collective_seq_id": number,
        "profiling_name": name,
        "state": state,
        "process_group": ("0", "default_pg"),
        "is_p2p": False,
        **more,
    }


@pytest.mark.parametrize("form", [pickle.dumps, lambda value: json.dumps(value).encode()])
def test_the_last_collective_of_the_default_group_is_read(form) -> None:  # type: ignore[no-untyped-def]
    other = [entry(900 + i, process_group=("3", "tensor parallel")) for i in range(5)]
    dump = form(
        {"version": "2.10", "entries": [entry(1481, state="completed"), *other, entry(1482)]}
    )
    assert read_flight(dump, 0) == Collective("all_reduce", 1482, "started")
    assert read_flight(form({"entries": []}), 0) is Lack.NOT_THERE
    assert read_flight(b"no dump\n", 6) is Lack.NOT_THERE
    assert read_flight(b"", 5) is Lack.TOO_LARGE


def test_a_healthy_job_has_nothing_missing_for_ras() -> None:
    report = read_ras((RAS / "healthy.txt").read_text())
    assert report is not None
    assert (report.gpus, report.missing, report.dead, report.counts) == (4, (), (), ())
    assert report.whole


def test_ras_names_the_rank_that_was_stopped() -> None:
    report = read_ras((RAS / "rank2-stopped.txt").read_text())
    assert report is not None
    assert report.missing == (RasProcess(2398, "192.0.2.2", "2", 2, 4),)


COUNTS = """Communicators... (0.05s)
Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        32   RUNNING  MISMATCH

Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 3487 on node node4 managing GPU 5

Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different collective operation counts
  30 ranks have launched up to operation 6650
  2 ranks have launched up to operation 6649
  Rank 0 -- GPU 0 managed by process 483072 on node node1
  Rank 2 -- GPU 2 managed by process 483074 on node node1

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  31 ranks have launched up to operation 64
  Rank 7 has launched up to operation 60 -- GPU 3 managed by process 1650 on node node1
"""


def test_counts_of_operations_are_read_in_the_old_form_and_in_the_new() -> None:
    report = read_ras(COUNTS)
    assert report is not None
    assert report.dead == (RasProcess(3487, "node4", "5"),)
    assert report.counts == (
        RasCount(RasProcess(483072, "node1", "0", 0, 32), 6649, 6650),
        RasCount(RasProcess(483074, "node1", "2", 2, 32), 6649, 6650),
        RasCount(RasProcess(1650, "node1", "3", 7, 32), 60, 64, "AllReduce"),
    )


DUMP = """Process 326: python3 train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 400 (idle): "Thread-1"
    wait (threading.py:324)
    run (tqdm/_monitor.py:60)

Thread 326 (active): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2501)
    wrapper (torch/distributed/c10d_logger.py:83)
    main (train.py:12)
    <module> (train.py:20)
"""


def test_the_main_thread_of_a_dump_tells_the_collective() -> None:
    stack = read_stack(326, DUMP, 0)
    assert isinstance(stack, Stack)
    assert stack.functions == ("all_reduce", "wrapper", "main", "<module>")
    assert collective_of(stack) == "all_reduce"
    assert waits(stack)
    busy = read_stack(326, DUMP.replace("all_reduce (torch/distributed", "matmul (torch/nn"), 0)
    assert isinstance(busy, Stack)
    assert not waits(busy)


@pytest.mark.parametrize(
    ("frame", "waiting"),
    [
        ("wait (torch/futures/__init__.py:4)", True),
        ("synchronize (torch/cuda/__init__.py:1083)", True),
        ("_engine_run_backward (torch/autograd/graph.py:824)", True),
        ("synchronize (paddle/device/cuda/__init__.py:98)", True),
        ("wait (/opt/venv/lib/python3.11/site-packages/horovod/torch/mpi_ops.py:9)", True),
        ("wait (threading.py:331)", False),
        ("wait (multiprocessing/connection.py:948)", False),
        ("wait (subprocess.py:1264)", False),
        ("wait (mytorch/queue.py:7)", False),
        ("wait (torch/utils/data/dataloader.py:7)", False),
    ],
)
def test_who_waits_for_its_own_data_does_not_wait_for_the_others(frame: str, waiting: bool) -> None:
    """A rank whose DataLoader hangs is in the same functions as one that waits, in other files."""
    loader = "    _try_get_data (torch/utils/data/dataloader.py:1243)\n    main (train.py:12)\n"
    stack = read_stack(326, f'Thread 326 (idle): "MainThread"\n    {frame}\n{loader}', 0)
    assert isinstance(stack, Stack)
    assert waits(stack) is waiting


@pytest.mark.parametrize(
    ("text", "status", "lack"),
    [
        ("py-spy is not installed\n", 127, Lack.NOT_INSTALLED),
        ("Permission Denied: Try running again with elevated permissions", 1, Lack.FORBIDDEN),
        ("", None, Lack.SILENT),
        ("", 124, Lack.SILENT),
        ("Error: Failed to find python version", 1, Lack.UNREADABLE),
    ],
)
def test_why_there_is_no_stack_is_told(text: str, status: int | None, lack: Lack) -> None:
    assert read_stack(1, text, status) is lack


KERNEL = """[ 1200.000001] NVRM: Xid (PCI:0000:0f:00): 79, pid='<unknown>', GPU fell off the bus.
[ 1201.5] NVRM: Xid (PCI:0001:1a:00): 94, pid=4242, name=python3, Contained: SM (0x1).
[ 1202.0] pcieport 0000:0e:00.0: AER: Uncorrected (Fatal) error received: 0000:0f:00.0
[ 1203.0] INFO: task python3:4242 blocked for more than 120 seconds.
[ 1204.0] Memory cgroup out of memory: Killed process 77 (python3) total-vm:1kB
[ 1205.0] mlx5_core 0000:3a:00.0 ib0: Link down
not a line of the kernel
"""


def test_lines_of_the_kernel_are_told_apart_and_dated() -> None:
    lines = read_kernel(KERNEL, 0, 1300.0)
    assert not isinstance(lines, Lack)
    assert [(line.problem, line.xid, line.pid) for line in lines] == [
        (KernelProblem.XID, 79, None),
        (KernelProblem.XID, 94, 4242),
        (KernelProblem.PCIE, None, None),
        (KernelProblem.HUNG_TASK, None, 4242),
        (KernelProblem.OUT_OF_MEMORY, None, 77),
        (KernelProblem.NETWORK, None, None),
    ]
    assert lines[0].ago_s == pytest.approx(99.999999)
    assert (lines[0].bus_id, lines[1].bus_id) == ("0f:00", "1:1a:00")


def test_a_kernel_log_that_may_not_be_read_is_said_to_be() -> None:
    text = "dmesg: read kernel buffer failed: Operation not permitted\n"
    assert read_kernel(text, 1, 10.0) is Lack.FORBIDDEN
    assert read_kernel("", 0, 10.0) == ()


def test_one_device_has_one_name_whoever_writes_it() -> None:
    assert {bus_key("00000000:0F:00.0"), bus_key("0000:0f:00"), bus_key("0f:00.0")} == {"0f:00"}
    assert bus_key("00000001:1A:00.0") == bus_key("0001:1a:00") != bus_key("0000:1a:00")


def test_a_gpu_that_is_lost_is_seen() -> None:
    text = "index, pci.bus_id, utilization.gpu [%]\n0, 00000000:0F:00.0, 100 %\n"
    lost = "Unable to determine the device handle for GPU0000:1A:00.0: Unknown Error\n"
    gpus = read_gpus(text + lost, 0)
    assert not isinstance(gpus, Lack)
    assert [(g.index, g.bus_id, g.utilization_pct, g.lost) for g in gpus] == [
        (0, "0f:00", 100, False),
        (-1, "1a:00", None, True),
    ]
    assert read_gpus("", 124) is Lack.SILENT
    assert read_gpu_processes("pid, gpu_bus_id\n12, 00000000:0F:00.0\n") == ((12, "0f:00"),)


def test_the_last_line_of_each_rank_is_told_where_the_launcher_says_whose_it_is() -> None:
    log = (
        b"[1,0]<stdout>:iter 1\n[1,1]<stdout>:iter 1\n\x1b[31m[1,0]<stderr>:Traceback\x1b[0m\n"
        b"[default3]:step 7\n[rank5]: RuntimeError\n7: step 9\nno rank's line\n[1,1]<stdout>:\n"
    )
    told = {0: "Traceback", 1: "iter 1", 3: "step 7", 5: "RuntimeError", 7: "step 9"}
    assert last_lines_of_ranks(log) == told
    assert last_lines_of_ranks(b"train: step 1\n12:30:01 loss\n") == {}


@given(st.binary(max_size=200))
def test_no_log_breaks_the_last_lines(log: bytes) -> None:
    for line in last_lines_of_ranks(log).values():
        assert line == clean_text(line)


@pytest.mark.parametrize(
    ("status", "listed"), [(0, True), (None, False), (1, False), ("not there", False)]
)
def test_a_list_of_processes_that_was_cut_is_said_not_to_be_whole(
    status: int | None | str, listed: bool
) -> None:
    line = b"pid=12 rank=0 local=0 state=S before=S cpu=0 stuck=0 wchan=-\tx\n"
    told = [] if isinstance(status, str) else [Section("processes", "-", status, line)]
    assert host_evidence("node1", (), told).listed is listed
    assert not host_evidence("node1", (), None).listed


def test_processes_are_read_and_nonsense_is_left_out() -> None:
    text = (
        "pid=7 parent=1 rank=3 local=1 state=T before=T cpu=9 stuck=2 wchan=do_signal_stop\ta b \n"
        "pid=8 parent=7 rank=- local=- state=S before=R cpu=0 stuck=0 wchan=-\tpython3\n"
        "pid=x state=S\twhat\nnothing\n"
    )
    first, second = read_processes(text)
    assert (first.pid, first.rank, first.local_rank, first.state) == (7, 3, 1, "T")
    assert (first.stuck, first.wchan, first.command) == (2, "do_signal_stop", "a b")
    assert (second.rank, second.local_rank, second.before) == (None, None, "R")
