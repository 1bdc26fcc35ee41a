"""Hosts with wires to pull, and a place where measured recovery times are kept."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.support.campaigns import Bench
from tests.support.netns import NamespaceHosts, why_not
from tests.support.sshd import SshHosts

Measured = Callable[[str, float], None]


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[NamespaceHosts]:
    """Two hosts in network namespaces of their own."""
    if reason := why_not():
        pytest.skip(reason)
    hosts = NamespaceHosts(tmp_path / "hosts", 2)
    yield hosts
    hosts.close()


@pytest.fixture
async def wired(tmp_path: Path, machines: NamespaceHosts) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, machines.hosts())
    yield found
    await found.close()


@pytest.fixture
async def bench(tmp_path: Path, ssh_hosts: SshHosts) -> AsyncIterator[Bench]:
    """Four hosts, each a real sshd on loopback."""
    ssh_hosts(4)
    found = Bench(tmp_path, ssh_hosts.hosts())
    yield found
    await found.close()


@pytest.fixture
def measured() -> Measured:
    """Keeps seconds by name in the file that DLPERF_FAULTS_OUT names, for docs/reliability.md."""

    def keep(name: str, seconds: float) -> None:
        print(f"{name}: {seconds:.1f} s")
        if path := os.environ.get("DLPERF_FAULTS_OUT"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"fault": name, "seconds": round(seconds, 2)}) + "\n")

    return keep


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB of its own."""
    if reason := why_not():
        pytest.skip(reason)
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)], check=True)
    yield path
    deadline = time.monotonic() + 10
    while subprocess.run(["umount", str(path)], check=False).returncode:
        if time.monotonic() > deadline:
            subprocess.run(["umount", "-l", str(path)], check=False)
            break
        time.sleep(0.2)
