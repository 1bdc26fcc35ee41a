"""The nodes of a job: when they are ready, how to reach them, and what they are."""

from __future__ import annotations

import asyncio
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from backends.engines.engine import AllocatedHost, EndKind, Journaled
from backends.engines.slurm.commands import SlurmCommands, SlurmError, columns, rows, said
from backends.engines.slurm.jobs import Job
from backends.engines.slurm.node_hosts import node_snapshot
from backends.engines.slurm.node_share import NodeShare, share_told
from backends.engines.slurm.nodes import all_nodes
from backends.engines.slurm.step_transport import StepTransport
from backends.hosts.host_facts import HostSnapshot, HostState, Sought
from backends.hosts.probe import probe
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.installation import remote_path
from backends.remote.wrapper_messages import RemoteError, RunPhase
from backends.transports.transport import Completed, HostUnreachableError, Transport
from profiles.errors import SelectionError

STEPS_BEGIN_WITHIN_S = 60.0
LOOK_EVERY_S = 0.2
BEGUN_EVERY_S = 0.5
STEP_LIMIT_S = 60.0
_ADDRESS = re.compile(r"NodeName=(\S+).*?\bNodeAddr=(\S+)")

Ended = Callable[[], bool]
"""Whether the job is over, so that no step can run in it."""


class JobNodes:
    """``login``: a machine that shares its ``work_dir`` with the nodes; ``known``: of the nodes."""

    def __init__(
        self,
        login: Transport,
        commands: SlurmCommands,
        known: Sequence[tuple[Host, HostSnapshot]],
        sought: Sequence[Sought],
        clock: Callable[[], float],
    ) -> None:
        self._login = login
        self._commands = commands
        self._known = {host.name: host for host, _ in known}
        told = (snapshot for _, snapshot in known if snapshot.state is not HostState.UNKNOWN)
        self._told = tuple(told)  # by Slurm, when the campaign began
        self._snapshots = {snapshot.name: snapshot for snapshot in self._told}
        self._sought = tuple(sought)
        self._clock = clock
        self._addresses: dict[str, str] = {}

    async def share(self, partition: str) -> NodeShare:
        """What a job there may count on. Raises SlurmError, HostUnreachableError."""
        if not self._told:
            nodes = await all_nodes(self._commands)
            self._told = tuple(node_snapshot(node) for node in nodes)
        return share_told(self._told, partition)

    async def ready(self, job: Job, ended: Ended) -> bool:
        """Once a step on every node waits for the run; False: the job has ended first.

        Raises
        ------
        SelectionError: the nodes do not share the directory. HostUnreachableError: the login node
        is away.
        """
        return await self.there(job, [f"{job.job_id}.{name}" for name in job.nodes], ended)

    async def begun(self, job_ids: Sequence[str], within_s: float) -> frozenset[str]:
        """Those whose script has begun, as soon as one has: its output is there; none has within
        that time: empty. No program of Slurm's is asked.

        Raises
        ------
        HostUnreachableError, TimeoutError: the login node is away.
        """
        jobs = f"{remote_path(self._login.host.work_dir)}/jobs"
        ids = shlex.join(job_ids)
        # Listed, since NFS may have remembered that they were not there.
        command = (
            f"cd {jobs} || exit 1; n={math.ceil(within_s / BEGUN_EVERY_S)}; "
            f"while [ $n -gt 0 ]; do n=$((n - 1)); ls >/dev/null; for job in {ids}; "
            'do [ -e "$job.out" ] && echo "$job" && n=0; done; '
            f"[ $n = 0 ] || sleep {BEGUN_EVERY_S}; done"
        )
        said = bytearray()
        async with asyncio.timeout(within_s + STEP_LIMIT_S):
            await self._login.stream(command, said.extend, spare=True)  # it can be done without
        return frozenset(said.decode("ascii", "replace").split()).intersection(job_ids)

    async def there(self, job: Job, directories: Sequence[str], ended: Ended) -> bool:
        """Once the job has made all of them below ``jobs``; else as :meth:`ready`."""
        jobs = f"{remote_path(self._login.host.work_dir)}/jobs"
        # Listed, since NFS may have remembered that they were not there.
        command = (
            f"cd {jobs} && ls >/dev/null && "
            f'for post in {shlex.join(directories)}; do [ -d "$post" ] || exit 1; done'
        )
        try:
            async with asyncio.timeout(STEPS_BEGIN_WITHIN_S):
                while not ended():
                    done = await self._login.run(command, timeout_s=STEP_LIMIT_S)
                    if done.exit_status == 0:
                        return True
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            raise SelectionError(
                f"the nodes of job {job.job_id} have begun, but nothing of it appears in"
                f" {self._login.host.work_dir}",
                where=self._login.host.name,
                remedy="set work_dir to a directory that the nodes share with the login node",
            ) from None
        return False

    async def allocated(self, job: Job, gpus: int, ended: Ended) -> tuple[AllocatedHost, ...]:
        """The nodes of a job that is ready, each asked what it is and which devices it was given.

        ``gpus``: how many of each the run takes.
        """
        await self._learn_addresses(job.nodes)
        asked = (self._allocated(name, job.job_id, gpus, ended) for name in job.nodes)
        return tuple(await asyncio.gather(*asked))

    async def _allocated(self, name: str, job_id: str, gpus: int, ended: Ended) -> AllocatedHost:
        host = self._host(name)
        steps = StepTransport(host, job_id, self._login, ended)
        visible = steps.run('printf %s "${CUDA_VISIBLE_DEVICES-}"', timeout_s=STEP_LIMIT_S)
        answer, snapshot = await asyncio.gather(
            visible, probe(steps, self._clock, sought=self._sought)
        )
        self._snapshots[name] = snapshot
        devices = _devices(answer, gpus)
        return AllocatedHost(host, devices, steps, snapshot, self._login, node_name=name)

    async def before(self, run: Journaled, job_id: str, ended: Ended) -> tuple[AllocatedHost, ...]:
        """The nodes of a run that was given them before a restart."""
        await self._learn_addresses(run.hosts)
        first = tuple(range(run.want.gpus_per_node))
        return tuple(
            AllocatedHost(
                self._host(name),
                run.devices.get(name, first),
                StepTransport(self._host(name), job_id, self._login, ended),
                self._snapshots.get(name) or HostSnapshot(name, name, HostState.UNKNOWN),
                self._login,
                node_name=name,
            )
            for name in run.hosts
        )

    async def all_ended(self, run_id: str, names: Sequence[str]) -> bool:
        """Whether the run has left the record of its end on each of them."""
        remotes = [RemoteHost(self.files_of(name)) for name in names]
        try:
            statuses = await asyncio.gather(*(remote.status(run_id) for remote in remotes))
        except RemoteError:
            return False
        return all(status.phase is RunPhase.EXITED for status in statuses)

    def files_of(self, name: str) -> Transport:
        """The login node, as a way to the files of what ran on a node."""
        return StepTransport(self._host(name), "", self._login, lambda: True)

    async def at_fault(self, names: Sequence[str]) -> tuple[str, EndKind | None]:
        """The first of them that Slurm has drained because it could not begin a job there, and how
        that is called; none: empty."""
        form = columns("NodeList", "Reason")
        words = ("--noheader", "--Node", f"--Format={form}", f"--nodes={','.join(names)}")
        try:
            told = await self._commands.run("sinfo", *words)
        except (SlurmError, HostUnreachableError):
            return "", None
        return blamed(told)

    async def down(self, names: Sequence[str]) -> str:
        """Which of them Slurm has given up, where it was one."""
        words = ("--noheader", "--Node", "--states=down,fail,no_respond,unknown", "--format=%N")
        try:
            told = await self._commands.run("sinfo", *words, f"--nodes={','.join(names)}")
        except (SlurmError, HostUnreachableError):
            return ""
        down = set(told.split())
        return down.pop() if len(down) == 1 else ""

    async def said(self, job_id: str) -> str:
        """What srun said in a job whose run never began; empty where that was nothing."""
        if not job_id:
            return ""
        path = f"{remote_path(self._login.host.work_dir)}/jobs/{shlex.quote(job_id)}.out"
        done = await self._login.run(f"tail -c 2000 {path}; rm -f {path}", timeout_s=STEP_LIMIT_S)
        return said(done.stdout)

    def _host(self, name: str) -> Host:
        known = self._known.get(name, self._login.host)
        return replace(
            known,
            name=name,
            work_dir=self._login.host.work_dir,
            lease_dir="",
            train_address=(name in self._known and known.train_address)
            or self._addresses.get(name, name),
        )

    async def _learn_addresses(self, names: Sequence[str]) -> None:
        """Where ranks reach the nodes: as Slurm itself does."""
        new = [name for name in names if name not in self._addresses]
        if new:
            self._addresses |= parse_addresses(
                await self._commands.run("scontrol", "--oneliner", "show", "node", ",".join(new))
            )


_FAULTS = {
    "prolog": EndKind.PROLOG_FAILED,
    "batch job complete failure": EndKind.LAUNCH_FAILED,
    "launch fail": EndKind.LAUNCH_FAILED,
}
"""By the first words of the reason for which Slurm itself drains a node."""


def blamed(text: str) -> tuple[str, EndKind | None]:
    """What :meth:`JobNodes.at_fault` asks for."""
    for name, reason in rows(text, 2):
        for words, kind in _FAULTS.items():
            if reason.lower().startswith(words):
                return name, kind
    return "", None


def parse_addresses(text: str) -> Mapping[str, str]:
    """``scontrol --oneliner show node``: NodeAddr by name."""
    return {found[1]: found[2] for found in map(_ADDRESS.search, text.splitlines()) if found}


def _devices(answer: Completed, count: int) -> tuple[int, ...]:
    """The indices that the step may use, as CUDA counts them there; else the first ones."""
    words = answer.stdout.decode("ascii", "replace").split(",")
    if len(words) >= count and all(word.isdigit() for word in words):
        return tuple(int(word) for word in words[:count])
    return tuple(range(count))
