"""The same workload on a real host and on a simulated one, for tests that compare the two."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import time
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RunSpec, RunStatus
from backends.simulated.fake_run import Workload
from backends.simulated.simulated_cluster import SimulatedCluster
from backends.simulated.spec import HostSpec
from backends.simulated.supervising import Asked
from backends.transports.local import LocalTransport
from backends.transports.transport import Transport
from tests.support.processes import alive, kill
from tests.support.somebody import PYTHON, transport_of_somebody
from tests.support.unique import NUMBER

# Plays a Workload given as JSON, and notes the pids of all that it starts.
PLAYER = r"""
import json, os, signal, sys, time
plan = json.loads(sys.argv[1])
pids = sys.argv[2]
began = time.monotonic()

def note(kind):
    with open(pids, "a") as file:
        file.write("%s %d\n" % (kind, os.getpid()))

def handle(after, output, status, child_s):
    def handler(number, frame):
        signal.signal(signal.SIGTERM, signal.SIG_DFL if child_s else signal.SIG_IGN)
        if child_s:
            child = os.fork()
            if not child:
                note("copier")
                time.sleep(child_s)
                os._exit(0)
            os.waitpid(child, 0)
        time.sleep(after)
        os.write(1, output.encode("latin-1"))
        os._exit(status)
    return handler

def listen(on_term_s, output, status, child_s=0):
    if on_term_s is None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif on_term_s > 0 or output or child_s:
        signal.signal(signal.SIGTERM, handle(on_term_s, output, status, child_s))
    else:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

def wait_for(moment):
    while moment is None or time.monotonic() < moment:
        time.sleep(3600 if moment is None else max(0.0, moment - time.monotonic()))

def bear(child):
    if os.fork():
        return
    os.setsid()
    if child["hides"] and os.fork():
        os._exit(0)
    if not child["holds_lease"]:
        os.closerange(3, 64)
    if sys.argv[3:] != ["reborn"] and not child["marked"]:
        again = json.dumps(dict(plan, reborn=child))
        words = [sys.executable, __file__, again, pids, "reborn"]
        os.execve(sys.executable, words, {"PATH": os.environ["PATH"]})
    live(child)

def live(child):
    listen(child["on_term_s"], "", 143)
    note("child")
    wait_for(None if child["lives_s"] is None else time.monotonic() + child["lives_s"])
    os._exit(0)

if sys.argv[3:] == ["reborn"]:
    live(plan["reborn"])
listen(
    plan["on_term_s"], plan["on_term_output"], plan["on_term_status"], plan["on_term_child_s"]
)
note("main")
for child in plan["children"]:
    bear(child)
for at, text in plan["output"]:
    wait_for(began + at)
    os.write(1, text.encode("latin-1"))
wait_for(None if plan["ends_after_s"] is None else began + plan["ends_after_s"])
os._exit(plan["exit_status"])
"""


def path_without(hidden: Collection[str], tools: Path) -> str:
    """A PATH on which these programs are not; ``tools``: a directory to make for it."""
    if not hidden:
        return os.environ["PATH"]
    tools.mkdir()
    for place in ("/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = tools / program.name
            if program.name not in hidden and not os.path.lexists(link):
                link.symlink_to(program)
    return str(tools)


class Player(Protocol):
    """A host that plays workloads."""

    remote: RemoteHost

    async def start(self, run_id: str, workload: Workload, **more: object) -> RunStatus: ...

    def executions(self, run_id: str) -> int:
        """How often the run's script was executed."""

    def living(self, run_id: str) -> int:
        """How many processes of the workload live, found or not."""

    async def kill_supervisor(self, run_id: str) -> None: ...

    def end_by_hand(self, run_id: str) -> None:
        """End what is left of the workload, as an operator does who has looked."""

    async def close(self) -> None: ...


def _spec(run_id: str, script: str, more: dict[str, object]) -> RunSpec:
    return RunSpec(run_id, script, **{"lease": "alice@login01", "grace_s": 1.0, **more})  # type: ignore[arg-type]


class RealPlayer:
    """This machine, through the real wrapper."""

    def __init__(self, directory: Path, *, python: bool = True, flock: bool = True) -> None:
        self._directory = directory
        self._program = directory / "player.py"
        self._program.write_text(PLAYER)
        host = Host(
            f"here{NUMBER}",
            transport="local",
            work_dir=str(directory / "work"),
            lease_dir=str(directory / "leases"),
        )
        hidden = {name for name, there in (("python3", python), ("flock", flock)) if not there}
        environment = {**os.environ, "PATH": path_without(hidden, directory / "tools")}
        self.remote = RemoteHost(
            LocalTransport(host, environment=environment)
            if python
            else transport_of_somebody(host, directory, environment)
        )
        self._runs: set[str] = set()

    def _pids(self, run_id: str, kind: str = "") -> list[int]:
        file = self._directory / f"{run_id}.pids"
        lines = file.read_text().splitlines() if file.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith(kind)]

    async def start(self, run_id: str, workload: Workload, **more: object) -> RunStatus:
        self._runs.add(run_id)
        plan = asdict(workload)
        plan["output"] = [(at, data.decode("latin-1")) for at, data in workload.output()]
        plan["on_term_output"] = workload.on_term_output.decode("latin-1")
        text = json.dumps(plan).replace("Infinity", "null")
        words = [PYTHON, str(self._program), text, str(self._directory / f"{run_id}.pids")]
        return await self.remote.start(_spec(run_id, f"exec {shlex.join(words)}\n", more))

    def executions(self, run_id: str) -> int:
        return len(self._pids(run_id, "main"))

    def living(self, run_id: str) -> int:
        return sum(alive(pid) for pid in self._pids(run_id))

    async def kill_supervisor(self, run_id: str) -> None:
        kill((await self.remote.status(run_id)).pid or 0)

    def end_by_hand(self, run_id: str) -> None:
        for pid in self._pids(run_id):
            kill(pid)

    async def close(self) -> None:
        for run_id in self._runs:
            for pid in self._pids(run_id):
                kill(pid)
            await self.remote.cancel(run_id, grace_s=0.1)
        shutil.rmtree(self._directory / "tools", ignore_errors=True)


class SimulatedPlayer:
    """A host of the model, in real time."""

    def __init__(self, *, python: bool = True, flock: bool = True) -> None:
        self._workloads: dict[str, Workload] = {}
        self._executed: list[str] = []
        self._cluster = SimulatedCluster(
            {"node1": HostSpec(python=python, flock=flock)}, self._workload, epoch=time.time()
        )
        self._machine = self._cluster.machines["node1"]
        self.remote = RemoteHost(self._cluster.get("node1"))

    def _workload(self, asked: Asked) -> Workload:
        self._executed.append(asked.run_id)
        return self._workloads[asked.run_id]

    @property
    def transport(self) -> Transport:
        return self._cluster.get("node1")

    async def start(self, run_id: str, workload: Workload, **more: object) -> RunStatus:
        self._workloads[run_id] = workload
        return await self.remote.start(_spec(run_id, "exec python3 play\n", more))

    def executions(self, run_id: str) -> int:
        return self._executed.count(run_id)

    def living(self, run_id: str) -> int:
        self._cluster.time.bring(self._machine)
        living = self._machine.kernel.living()
        return sum(not process.helper for process in living if process.origin == run_id)

    async def kill_supervisor(self, run_id: str) -> None:
        machine = self._machine
        self._cluster.time.bring(machine)
        supervisor = machine.wrapper.supervisor(machine.wrapper.files(run_id))
        assert supervisor is not None
        machine.kernel.kill(supervisor)
        await asyncio.sleep(0)

    def end_by_hand(self, run_id: str) -> None:
        for process in self._machine.kernel.living():
            if process.origin == run_id and not process.helper:
                self._machine.kernel.kill(process)
        self._machine.kernel.changed()
        self._cluster.time.bring(self._machine)

    async def close(self) -> None:
        await self._cluster.close()
