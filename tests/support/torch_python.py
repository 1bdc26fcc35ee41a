"""A Python that has PyTorch, for what is marked ``torch``: that of DLPERF_TORCH_PYTHON, or ours."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

WORKLOADS = Path(__file__).parents[2] / "profiles" / "workloads"


@cache
def _found() -> str | None:
    for python in (os.environ.get("DLPERF_TORCH_PYTHON"), sys.executable):
        if (
            python
            and not subprocess.run(
                [python, "-c", "import torch"], capture_output=True, check=False
            ).returncode
        ):
            return python
    return None


def torch_python() -> str:
    """Its path; skips the test where there is none."""
    found = _found()
    if found is None:
        pytest.skip("no PyTorch: set DLPERF_TORCH_PYTHON to a Python that has it")
    return found


def torchrun_beside() -> str:
    """The torchrun of that Python."""
    return str(Path(torch_python()).with_name("torchrun"))


def evaluate(workload: str, code: str) -> object:
    """Run ``code``, which knows the workload as ``workload``, and return its ``answer``."""
    script = f"import json, torch, {workload} as workload\n{code}\nprint(json.dumps(answer))"
    done = subprocess.run(
        [torch_python(), "-c", script], cwd=WORKLOADS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def refusal(workload: str, *arguments: str) -> str:
    """The last line that a workload leaves when it does not even start; never a traceback."""
    done = subprocess.run(
        [torch_python(), f"{workload}.py", *arguments],
        cwd=WORKLOADS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def under_torchrun(
    workload: str, nodes: int, devices: int, *arguments: str, **environment: str
) -> list[str]:
    """What each node's torchrun prints, all of them on loopback."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    processes = [
        subprocess.Popen(
            [
                *(torch_python(), "-m", "torch.distributed.run"),
                *(f"--nnodes={nodes}", f"--node-rank={rank}", f"--nproc-per-node={devices}"),
                *("--master-addr=127.0.0.1", f"--master-port={port}", "--local-addr=127.0.0.1"),
                *(str(WORKLOADS / f"{workload}.py"), *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", **environment},
        )
        for rank in range(nodes)
    ]
    try:
        outputs = [process.communicate(timeout=800) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_out, err) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, err
    return [out for out, _err in outputs]
