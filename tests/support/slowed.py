"""Hosts in network namespaces that are slow: fewer CPU seconds a second, or a bad link."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.netns import NamespaceHosts
from tests.support.processes import children

_V1 = Path("/sys/fs/cgroup/cpu")
_V2 = Path("/sys/fs/cgroup")
_PERIOD_US = 20_000


def why_no_cgroups() -> str:
    """Why a host cannot be slowed here; empty when it can."""
    if (_V1 / "cpu.cfs_quota_us").exists() or (_V1 / "tasks").exists():
        return ""
    controllers = _V2 / "cgroup.subtree_control"
    if controllers.exists() and "cpu" in controllers.read_text().split():
        return ""
    return "no cgroup of CPU time can be made"


@contextmanager
def slowed(hosts: NamespaceHosts, number: int, share: float) -> Iterator[None]:
    """All that runs on node ``number``, and begins there, has ``share`` of one CPU together."""
    name = f"dlperf-{secrets.token_hex(4)}"
    quota = int(share * _PERIOD_US)
    if (_V1 / "tasks").exists():
        group = _V1 / name
        group.mkdir()
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(max(1000, quota)))
    else:
        group = _V2 / name
        group.mkdir()
        (group / "cpu.max").write_text(f"{max(1000, quota)} {_PERIOD_US}")
    process = hosts.served[number - 1].process
    assert process is not None
    for pid in _tree(process.pid):
        (group / "cgroup.procs").write_text(str(pid))
    try:
        yield
    finally:
        home = group.parent / "cgroup.procs"
        for pid in (group / "cgroup.procs").read_text().split():
            try:
                home.write_text(pid)
            except OSError:  # it has ended
                continue
        group.rmdir()


def _tree(pid: int) -> list[int]:
    return [pid, *(one for child in children(pid) for one in _tree(child))]


@contextmanager
def throttled(hosts: NamespaceHosts, first: int, second: int, rate: str) -> Iterator[None]:
    """What two nodes send to each other is dropped beyond ``rate``: "1mb/s"."""
    rules = [
        (number, hosts.hosts()[other - 1].address, f"dl{number}{other}")
        for number, other in ((first, second), (second, first))
    ]
    for number, address, name in rules:
        hosts.execute(number, *_rule("-A", address, name, rate))
    try:
        yield
    finally:
        for number, address, name in rules:
            hosts.execute(number, *_rule("-D", address, name, rate))


def _rule(what: str, address: str, name: str, rate: str) -> tuple[str, ...]:
    limit = ("-m", "hashlimit", "--hashlimit-above", rate, "--hashlimit-name", name)
    return ("iptables", what, "OUTPUT", "-p", "tcp", "-d", address, *limit, "-j", "DROP")


def break_python(hosts: NamespaceHosts, number: int) -> None:
    """Node ``number`` gets a python3 that is there and does not start."""
    served = hosts.served[number - 1]
    broken = served.directory / "broken"
    broken.mkdir()
    python = broken / "python3"
    python.write_text(
        "#!/bin/sh\n"
        "echo 'python3: error while loading shared libraries: libpython3.so: not found' >&2\n"
        "exit 127\n"
    )
    python.chmod(0o755)
    served.options = (f"SetEnv HOME={served.home} PATH={broken}:/usr/local/bin:/usr/bin:/bin",)
    hosts.crash(number)
    hosts.boot(number)
