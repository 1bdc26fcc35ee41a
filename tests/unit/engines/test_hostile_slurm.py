"""What a hostile queue may print: names, reasons, partitions and lists that are none, and far too
much of everything. Nothing of it reaches a shell, a terminal or a path, and it costs little."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.engines.engine import Wanted
from backends.engines.slurm.commands import (
    SEPARATOR,
    Document,
    RefusedError,
    SlurmCommands,
    SlurmError,
)
from backends.engines.slurm.gres import device_indices, parse_gpus
from backends.engines.slurm.job_nodes import JobNodes
from backends.engines.slurm.job_steps import JobSteps
from backends.engines.slurm.jobs import Job, JobState, parse_sacct, parse_squeue
from backends.engines.slurm.node_hosts import node_host, node_snapshot, our_jobs
from backends.engines.slurm.nodes import Node, nodes_in, parse_reservations, parse_sinfo
from backends.engines.slurm.refusals import refusal
from backends.engines.slurm.run_job import RunJob
from backends.engines.slurm.step_transport import StepTransport
from backends.engines.slurm.submission import job_id_in
from backends.inventory.host_entry import HOST_NAME, Host, this_machine
from backends.transports.local import LocalTransport
from backends.transports.transport import HostUnreachableError
from profiles.cleantext import clean_text

EVIL = [
    "$(touch /tmp/x)",
    "`id`",
    "a;b",
    "a b",
    "a'b",
    "-x",
    "../../etc",
    "\x1b]52;c;aGk=\x07",
    "\x9b31m",
    "\u202etxt",
    "²",
    "٣",
    "node[1-999999999]",
    "gpu:99999999999",
    "gpu:h200:8(IDX:0-99999999999)",
    "9" * 5000,
    "x" * 100_000,
    "",
]
CELLS = st.sampled_from(EVIL) | st.text(max_size=30).filter(lambda text: SEPARATOR not in text)


def printed(columns: int, cells: list[str], *, end: str = SEPARATOR) -> str:
    row = [cells[n % len(cells)].replace("\n", " ") for n in range(columns)]
    return SEPARATOR.join(row) + end + "\n"


def is_plain(text: str) -> bool:
    return clean_text(text) == text


@given(st.lists(CELLS, min_size=1, max_size=10))
def test_ids_and_nodes_of_jobs_are_fit_for_a_command_and_reasons_for_a_screen(
    cells: list[str],
) -> None:
    found = [
        *parse_squeue(printed(9, cells)),
        *parse_squeue(printed(9, ["7", *cells])),
        *parse_sacct(printed(7, cells, end="")),
        *parse_sacct(printed(7, ["7", *cells], end="")),
    ]
    for job in found:
        assert job.job_id.isascii()
        assert job.job_id.isdigit()
        assert all(HOST_NAME.fullmatch(name) for name in job.nodes)
        assert is_plain(job.reason)
        assert is_plain(job.cancelled_by)
        assert len(job.reason) < 1000


def all_text(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return [text for name in fields for text in all_text(getattr(value, name))]
    if isinstance(value, tuple | list | frozenset):
        return [text for item in value for text in all_text(item)]
    return []


def shown(nodes: list[Node]) -> list[str]:
    """All text that a screen or a table gets of nodes."""
    hosts = [node_host(node, this_machine("login")) for node in nodes]
    labels = [label for host in hosts for label in host.labels]
    return [*labels, *(text for node in nodes for text in all_text(node_snapshot(node))[1:])]


@given(st.lists(CELLS, min_size=1, max_size=10))
def test_what_is_told_of_nodes_is_fit_for_a_screen(cells: list[str]) -> None:
    nodes = parse_sinfo(printed(10, ["node1", *cells]))
    assert all(is_plain(text) for text in shown(nodes))
    parse_reservations(" ".join(f"{cell}={cell}" for cell in cells))


@given(
    st.dictionaries(st.sampled_from(["state", "partitions", "reason", "gres", "gres_used"]), CELLS)
)
def test_the_same_as_json(values: dict[str, str]) -> None:
    node: dict[str, Any] = {"name": "node1", **values, "partitions": [values.get("partitions", "")]}
    nodes = nodes_in(Document(38, {"nodes": [node]}))
    assert all(is_plain(text) for text in shown(nodes))


@pytest.mark.parametrize(
    "read",
    [
        lambda: parse_gpus("gpu:99999999999"),
        lambda: device_indices("gpu:8(IDX:0-99999999999)"),
        lambda: node_snapshot(parse_sinfo(printed(10, ["gpu:99999999999"]))[0]),
        lambda: parse_squeue(printed(9, ["7", "node[1-999999999]"])),
        lambda: parse_squeue(printed(9, ["7", "dlperf-x", "RUNNING"]) * 50_000),
        lambda: parse_sinfo(printed(10, ["node1", "gpu"]) * 20_000),
    ],
)
def test_far_too_much_takes_little(read: Callable[[], object]) -> None:
    began = time.process_time()
    read()
    assert time.process_time() - began < 10


@pytest.mark.parametrize("text", ["", "yes", "12 34", "1;x\n$(id)", "Submitted batch job 7", "²"])
def test_an_answer_of_sbatch_that_is_no_id_is_none(text: str) -> None:
    with pytest.raises(SlurmError) as error:
        job_id_in(text, "login")
    assert not isinstance(error.value, RefusedError)  # the job may be there: its name tells


@pytest.mark.parametrize("text", ["12\n", "12;cluster\n", "a banner of the site\n12\n"])
def test_the_id_is_the_last_line_that_sbatch_says(text: str) -> None:
    assert job_id_in(text, "login") == "12"


def job(job_id: str, name: str) -> Job:
    return Job(job_id, name, JobState.RUNNING)


CAMPAIGN, RUN = "0a1b2c3d", "0a1b2c3d-0001-a2"


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("dlperf-0a1b2c3d-0001-a2", True),
        ("dlperf-0a1b2c3d-0001-a1", True),  # that it was queued again as
        ("dlperf-0a1b2c3e-0001-a2", False),
        ("dlperf-0a1b2c3dx", False),
        ("train", False),
    ],
)
def test_a_job_of_the_same_number_is_ours_by_its_name_only(name: str, ours: bool) -> None:
    """Numbers begin anew when a controller has lost its state."""
    found = RunJob(Wanted(RUN, 1, 1), "7").of({"7": job("7", name)})
    assert (found is not None) == ours
    of_all = RunJob(Wanted(CAMPAIGN, 1, 1), "7", of_all=True)
    assert of_all.of({"7": job("7", name)}) is None
    assert of_all.of({"7": job("7", f"dlperf-{CAMPAIGN}")}) is not None


def test_the_job_of_another_campaign_is_not_ours_whatever_their_ids_begin_with() -> None:
    """An attempt is told by ``-a`` in a run's name; a campaign's id may begin so."""
    of_all = RunJob(Wanted("a1b2c3d4", 1, 1), "7", of_all=True)
    assert of_all.of({"7": job("7", "dlperf-a9b2c3d4")}) is None
    assert of_all.of({"7": job("7", "dlperf-a1b2c3d4-0001-a1")}) is None
    assert of_all.of({"7": job("7", "dlperf-a1b2c3d4")}) is not None


@pytest.mark.parametrize(
    "name",
    [
        "dlperf-cpu-smoke-01",  # of a script that was exported
        "dlperf-mine",
        "dlperf-0a1b2c3d\x1b]52;c;aGk=\x07",
        "dlperf-0a1b2c3d-0001-a1 or so",
        "dlperf-",
        "xdlperf-0a1b2c3d",
    ],
)
def test_sweep_leaves_jobs_alone_that_are_merely_called_alike(name: str) -> None:
    ours = [job("1", f"dlperf-{CAMPAIGN}"), job("2", f"dlperf-{RUN}")]
    assert [one.of for one in our_jobs([*ours, job("3", name)])] == [CAMPAIGN, RUN]


class Unasked:
    """Slurm's programs, none of which shall be run."""


async def test_a_refusal_that_speaks_of_nothing_known_is_only_told() -> None:
    found = await refusal("Job violates accounting/QOS policy \x1b[31m", Unasked())  # type: ignore[arg-type]
    assert (found.key, found.known) == ("", ())


class Shell(LocalTransport):
    """Does what it is told, below a directory; Slurm's programs are not there."""

    def __init__(self, directory: Path) -> None:
        super().__init__(replace(this_machine("login"), work_dir=str(directory)))


@pytest.mark.parametrize(
    "evil", ["a;touch x", "$(touch x)", "`touch x`", "a'\ntouch x\n'", "../../x"]
)
async def test_what_a_journal_of_somebody_elses_says_executes_nothing(
    tmp_path: Path, evil: str
) -> None:
    """Ids of runs and jobs, and names of nodes: a campaign may be a copy that was made up."""
    (tmp_path / "jobs").mkdir()
    before = sorted(tmp_path.rglob("*"))
    login = Shell(tmp_path)
    steps = JobSteps(login)
    assert not await steps.wait(evil, evil, [evil])
    await steps.withdraw(evil, evil)
    nodes = JobNodes(login, SlurmCommands(login), (), (), lambda: 0.0)
    assert not await nodes.begun([evil], 0.1)
    await nodes.said(evil)
    with pytest.raises(HostUnreachableError):
        await StepTransport(Host(evil), evil, login, lambda: False, evil).run("true")
    assert sorted(tmp_path.rglob("*")) == before
