"""Looking at 64 hosts: a full probe beside the least that others do on as many, side by side.

Every host is an sshd of its own on loopback. Who goes first changes from round to round, so that
what drifts favours none; ratios are of the same round, and the median of all rounds counts. CPU
seconds are the client's with its children. What the hosts do, which are other machines in truth,
takes its time on the same cores: on two of them it is most of the clock's.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import join

import asyncssh

from backends.hosts.host_facts import HostState
from backends.hosts.probe import PROBE_SCRIPT, probe_all
from backends.inventory.host_entry import Host
from backends.transports.login_shell import login_shell_command
from backends.transports.pool import TransportPool
from tests.benchmarks.report import headline, line, middle
from tests.support.sshd import SshHosts, renamed

HOSTS = 64
MANY = 512
ADDRESS = "::1"
"""For every host the machine is its own there, as it is in truth: on 127.0.0.0/8 each would look
through the processes of all for runs that claim it."""
ROUNDS = 7

Contender = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Took:
    """Seconds of one round, by the clock and of the client's CPU."""

    wall_s: float
    cpu_s: float


def main() -> None:
    headline(f"probing {HOSTS} sshd hosts, beside others that only log in and run true")
    with tempfile.TemporaryDirectory() as directory:
        served = SshHosts(Path(directory) / "hosts")
        try:
            hosts = [replace(served.add(address=ADDRESS).host, lease_dir="") for _ in range(HOSTS)]
            asyncio.run(_new_connections(hosts, _ssh_config(Path(directory), hosts)))
            asyncio.run(_held_connections(hosts, _ssh_config(Path(directory), hosts)))
            names = [renamed(hosts[n % HOSTS], f"n{n:03}") for n in range(MANY)]
            asyncio.run(_many(names))
        finally:
            served.close()


async def _new_connections(hosts: Sequence[Host], config: Path) -> None:
    contenders = {
        "full probe": lambda: _probe_anew(hosts),
        "asyncssh true": lambda: _bare(hosts),
    }
    if shutil.which("pdsh"):
        contenders["pdsh -f 64 true"] = lambda: _pdsh(hosts, config)
    took = await _rounds(contenders)
    _ratio(took, "full probe", "pdsh -f 64 true", 0.55)
    _ratio(took, "full probe", "asyncssh true", 1.25)


async def _held_connections(hosts: Sequence[Host], config: Path) -> None:
    pool = TransportPool(hosts)
    await asyncio.gather(*(pool.get(host).connect() for host in hosts))
    masters = [
        await asyncio.create_subprocess_exec("ssh", "-F", str(config), "-MNn", host.name)
        for host in hosts
    ]
    try:
        while len(list(config.parent.glob("m-*"))) < len(hosts):
            await asyncio.sleep(0.05)
        took = await _rounds(
            {
                "full probe, connections held": lambda: _probe(pool, hosts),
                "ssh, warm ControlMasters": lambda: _masters(hosts, config),
            }
        )
    finally:
        for master in masters:
            master.terminate()
            await master.wait()
        await pool.close()
    _ratio(took, "full probe, connections held", "ssh, warm ControlMasters", 0.35)


async def _many(hosts: Sequence[Host]) -> None:
    """How much of it the event loop does between two looks at anything else is told in seconds of
    its CPU: the clock's are the hosts'."""
    headline(f"probing {MANY} names of those hosts")
    pool = TransportPool(hosts)
    before, files = _memory_mib(), _open_files()
    try:
        for name in ("new connections", "connections held"):
            works: list[float] = []
            watch = asyncio.create_task(_watch_loop(works))
            began = time.perf_counter()
            await _probe(pool, hosts)
            line(name, f"{time.perf_counter() - began:.1f} s")
            watch.cancel()
            longest = max(works) * 1000
            line(
                "  the loop's longest turn",
                f"{longest:.0f} ms",
                target="< 100 ms",
                met=longest < 100,
            )
        line("more memory", f"{_memory_mib() - before:.0f} MiB")
        line("more open files", f"{_open_files() - files}")
    finally:
        await pool.close()


async def _watch_loop(works: list[float]) -> None:
    last = time.thread_time()
    while True:
        await asyncio.sleep(0.005)
        now = time.thread_time()
        works.append(now - last)
        last = now


def _memory_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def _rounds(contenders: dict[str, Contender]) -> dict[str, list[Took]]:
    took: dict[str, list[Took]] = {name: [] for name in contenders}
    for number in range(ROUNDS):
        names = list(contenders)
        for name in names if number % 2 == 0 else reversed(names):
            wall, cpu = time.perf_counter(), _cpu_s()
            await contenders[name]()
            took[name].append(Took(time.perf_counter() - wall, _cpu_s() - cpu))
    for name, all_of in took.items():
        wall, cpu = middle([t.wall_s for t in all_of]), middle([t.cpu_s for t in all_of])
        line(name, f"{wall:.2f} s, CPU {cpu:.2f} s")
    return took


def _cpu_s() -> float:
    """Of this process and of those that it waited for."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, kinds))


def _ratio(took: dict[str, list[Took]], ours: str, theirs: str, most: float) -> None:
    if theirs not in took:
        line(f"{ours} ÷ {theirs}", "not installed")
        return
    pairs = list(zip(took[ours], took[theirs], strict=True))
    ratio = middle([one.wall_s / other.wall_s for one, other in pairs])
    line(f"{ours} ÷ {theirs}", f"{ratio:.2f} ×", target=f"≤ {most} ×", met=ratio <= most)
    cpu = middle([one.cpu_s / other.cpu_s for one, other in pairs])
    line("  of the client's CPU", f"{cpu:.2f} ×")


# What is compared --------------------------------------------------------------------------------


async def _probe_anew(hosts: Sequence[Host]) -> None:
    pool = TransportPool(hosts)
    try:
        await _probe(pool, hosts)
    finally:
        await pool.close()


async def _probe(pool: TransportPool, hosts: Sequence[Host]) -> None:
    async for snapshot in probe_all(pool, hosts):
        if snapshot.state is HostState.UNREACHABLE:
            sys.exit(f"{snapshot.name}: {snapshot.reason}")


async def _bare(hosts: Sequence[Host]) -> None:
    async def one(host: Host) -> None:
        async with asyncssh.connect(
            host.address,
            host.port or 22,
            username=host.user,
            client_keys=[host.identity],
            known_hosts=host.known_hosts,
            config=None,
        ) as connection:
            await connection.run("true", check=True)

    await asyncio.gather(*(one(host) for host in hosts))


async def _pdsh(hosts: Sequence[Host], config: Path) -> None:
    names = ",".join(host.name for host in hosts)
    environment = {**os.environ, "PDSH_SSH_ARGS": f"-F {config} -o ControlMaster=no -S none"}
    await _run("pdsh", "-R", "ssh", "-S", "-f", str(HOSTS), "-w", names, "true", env=environment)


async def _masters(hosts: Sequence[Host], config: Path) -> None:
    await asyncio.gather(*(_same_script(host, config) for host in hosts))


async def _same_script(host: Host, config: Path) -> None:
    command = login_shell_command(f"sh -s -- {join([host.work_dir, host.lease_dir])} gpu")
    await _run("ssh", "-F", str(config), host.name, command, stdin=PROBE_SCRIPT)


async def _run(*command: str, env: dict[str, str] | None = None, stdin: bytes = b"") -> None:
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, env=env, stdin=pipe, stdout=pipe, stderr=pipe
    )
    await process.communicate(stdin)
    if process.returncode:
        sys.exit(f"{join(command)}: exit status {process.returncode}")


def _ssh_config(directory: Path, hosts: Sequence[Host]) -> Path:
    """The same hosts for ssh, by name."""
    lines = [f"Host {host.name}\n  HostName {host.address}\n  Port {host.port}\n" for host in hosts]
    first = hosts[0]
    lines.append(
        f"Host *\n  User {first.user}\n  IdentityFile {first.identity}\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {first.known_hosts}\n  ControlPath {directory}/m-%n\n"
        "  BatchMode yes\n  LogLevel ERROR\n"
    )
    path = directory / "ssh_config"
    path.write_text("".join(lines), encoding="utf-8")
    return path
