"""A batch script of a run does what the run would do, whatever is in its words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.engines.plain_job import PlainJob
from backends.engines.slurm.batch_script import JobRequest
from backends.engines.slurm.plain_script import plain_script, submit_script
from backends.inventory.host_entry import Host
from backends.inventory.job_options import JobOptions
from backends.launchers.build import build
from backends.launchers.launcher import LaunchRequest
from backends.launchers.symbols import (
    PORT,
    RUN_ID,
    shell_word,
    symbol,
    symbolic_sites,
    with_devices_together,
)
from profiles.format.case import Case
from profiles.format.profile import Profile

PRINT = """
import json, os, sys
told = {name: os.environ.get(name) for name in ("VALUE", "CUDA_VISIBLE_DEVICES")}
print(json.dumps([sys.argv[1:], told, os.getcwd(), sorted(os.listdir())]))
"""
TOOLS = {
    "srun": """
while [ "$1" != sh ]; do shift; done
SLURM_NODEID=0 SLURMD_NODENAME=a1 CUDA_VISIBLE_DEVICES=4,5,6 "$@"
SLURM_NODEID=1 SLURMD_NODENAME=a2 CUDA_VISIBLE_DEVICES=0,1,2 "$@"
""",
    "scontrol": """
case $* in
"show hostnames a[1-2]") printf 'a1\\na2\\n' ;;
"-o show node a1") echo "NodeName=a1 Arch=x NodeAddr=10.0.0.1 NodeHostName=a1" ;;
"-o show node a2") echo "NodeName=a2 Arch=x NodeAddr=10.0.0.2 NodeHostName=a2" ;;
esac
""",
}
hostile = st.text(
    alphabet=st.one_of(
        st.sampled_from("'\"$`\\;&|<>(){}*?~! \n\t#=%-"), st.characters(codec="utf-8")
    ),
    max_size=30,
).filter(lambda text: "\0" not in text)


def job(directory: Path, text: str, nodes: int) -> str:
    """Its script, which stands in ``directory`` with all that belongs to it."""
    described = Profile.model_validate(
        {
            "name": "tiny",
            "framework": "F",
            "model": "M",
            "settings": {"data": {"description": "any", "default": "x"}},
            "matrix": {"cases": ["1n1g"]},
            "measure": {"reading": r"(?P<value>\d+)"},
            "launch": {
                "launcher": "per_node",
                "command": f"{sys.executable} print.py {{data}} x{{data}}x {{node_rank}} "
                "{devices} {node_addresses} {master_address}:{master_port} {run_id}",
                "environment": {"VALUE": "{data}"},
            },
        }
    )
    case = Case("tiny", nodes, 2, {})
    sites = symbolic_sites(Host("login"), case, gpus=True)
    settings = {"data": text}
    request = LaunchRequest(described, case, sites, symbol(RUN_ID), 1, symbol(PORT), settings)
    commands = tuple(with_devices_together(command, 2) for command in build(request))
    (directory / "stage").mkdir(exist_ok=True)
    (directory / "stage" / "print.py").write_text(PRINT)
    it = PlainJob("tiny-1", "tiny", "job.sh", "logs/run.log", "stage", "work", commands)
    script = plain_script(it, JobRequest("", nodes, 2, gpus=True, limit_s=60.0), JobOptions())
    (directory / "job.sh").write_text(script)
    return script


def handed_in(directory: Path) -> subprocess.CompletedProcess[bytes]:
    """As Slurm runs it: a copy, on the first node."""
    tools = directory / "tools"
    tools.mkdir(exist_ok=True)
    for name, text in TOOLS.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}")
        (tools / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "SLURM_SUBMIT_DIR": str(directory),
        "SLURM_JOB_ID": "10042",
        "SLURM_JOB_NODELIST": "a[1-2]",
        "SLURM_NODEID": "0",
        "SLURMD_NODENAME": "a1",
        "CUDA_VISIBLE_DEVICES": "4,5,6",
    }
    script = (directory / "job.sh").read_bytes()
    return subprocess.run(
        ["sh", "-s"], input=script, env=environment, cwd="/", capture_output=True, check=False
    )


@given(hostile)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_value_becomes_shell_on_any_node(tmp_path: Path, text: str) -> None:
    directory = tmp_path / "it's a $(dir)"
    directory.mkdir(exist_ok=True)
    job(directory, text, nodes=2)
    done = handed_in(directory)
    assert (done.returncode, done.stderr) == (0, b"")
    for rank, (name, devices) in enumerate((("", "4,5"), (".a2", "0,1"))):
        log = (directory / "logs" / f"run{name}.log").read_text()
        argv, environment, where, files = json.loads(log)
        meet = ["10.0.0.1,10.0.0.2", "10.0.0.1:20042", "tiny-1-10042"]
        assert argv == [text, f"x{text}x", str(rank), devices, *meet]
        assert environment == {"VALUE": text, "CUDA_VISIBLE_DEVICES": devices}
        assert where == f"{directory}/work/tiny-1-10042.{rank}"
        assert files == ["print.py"]
    assert list((directory / "work").iterdir()) == []


def test_a_run_on_one_node_needs_no_step(tmp_path: Path) -> None:
    script = job(tmp_path, "plain", nodes=1)
    assert "srun" not in script
    assert "scontrol" not in script
    assert handed_in(tmp_path).returncode == 0
    argv, *_ = json.loads((tmp_path / "logs" / "run.log").read_text())
    assert argv == [
        *("plain", "xplainx", "0", "4,5"),
        *("127.0.0.1", "127.0.0.1:20042", "tiny-1-10042"),
    ]


def test_a_script_that_lies_elsewhere_says_so(tmp_path: Path) -> None:
    job(tmp_path, "plain", nodes=1)
    script = (tmp_path / "job.sh").read_text()
    (tmp_path / "job.sh").write_text(script.replace("self=job.sh", "self=gone.sh"))
    done = handed_in(tmp_path)
    assert done.returncode == 2
    assert b"from the directory of submit.sh" in done.stderr


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("plain", "plain"),
        ("it's", "'it'\"'\"'s'"),
        (f"--port={symbol(PORT)}", '--port="$DLPERF_PORT"'),
        (f"{symbol('A')}:8,{symbol('B')}:8", '"$A":8,"$B":8'),
        ("$DLPERF_PORT", "'$DLPERF_PORT'"),
        ("", "''"),
    ],
)
def test_a_symbol_is_a_variable_and_all_else_is_quoted(text: str, word: str) -> None:
    assert shell_word(text) == word


def test_jobs_are_handed_in_from_where_the_script_lies() -> None:
    text = submit_script(["a/jobs/1.sh", "a/jobs/2.sh"])
    assert text.endswith('cd "$(dirname "$0")"\nsbatch "$@" a/jobs/1.sh\nsbatch "$@" a/jobs/2.sh\n')
