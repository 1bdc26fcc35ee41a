"""Builds what a run needs: commands, log files, supervisors."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from backends.campaign.folder.paths import (
    diagnosis_directory,
    diagnosis_path,
    host_log_path,
    run_log_path,
    telemetry_path,
)
from backends.campaign.folder.raw_log_writer import COLLECT_S, RawLog
from backends.campaign.plan.profile_in_campaign import ProfileSetup
from backends.campaign.record import events as ev
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.run_record import RunRecord, avoided
from backends.campaign.run.diagnosing import Evidence
from backends.campaign.run.host_part import Member
from backends.campaign.run.host_watch import HostWatch
from backends.campaign.run.mirror import LogMirror
from backends.campaign.run.reconnect import Contact
from backends.campaign.run.supervisor import RunSupervisor
from backends.clocks import ours
from backends.engines.engine import AllocatedHost, Allocation, AllocationEnd, Wanted
from backends.hangs.kernel_log import bus_key
from backends.hosts.fingerprint import apart, joined, several
from backends.hosts.host_facts import HostSnapshot, Sought
from backends.hosts.software import sought_by
from backends.inventory.host_entry import Host, train_address_of
from backends.launchers.build import build, needs_port
from backends.launchers.launcher import HostCommand, LaunchRequest, LaunchSite
from backends.remote.client import RemoteHost
from profiles.durations import parse_duration
from profiles.errors import SelectionError
from profiles.format.profile import Profile

DISK_THREADS = 8


class RunFactory:
    """From setups and allocations to commands and supervisors; nothing is started here.

    Parameters
    ----------
    setups: by profile name.
    fingerprint: of a host's environment and of software there, so that mixed ones are marked.
    pack: runs on one host share it, each on its own devices.
    """

    def __init__(
        self,
        setups: Mapping[str, ProfileSetup],
        *,
        fingerprint: Callable[[HostSnapshot, Sequence[Sought]], str],
        clock: Callable[[], float] = time.time,
        pack: bool = False,
    ) -> None:
        self._setups = dict(setups)
        self._fingerprint = fingerprint
        self._clock = clock
        self._pack = pack
        # Threads of its own: a disk that does not answer holds up nothing else.
        self._disk = ThreadPoolExecutor(DISK_THREADS, thread_name_prefix="raw log")

    def profile(self, name: str) -> Profile:
        return self._setup(name).profile

    def _setup(self, name: str) -> ProfileSetup:
        try:
            return self._setups[name]
        except KeyError:
            raise SelectionError(
                f"this campaign uses profile {name!r}, which is not here",
                remedy="give its directory with --profile-dir",
            ) from None

    def wanted(self, run: RunRecord, runs: Mapping[str, RunRecord], not_before: float) -> Wanted:
        """What an engine has to know of a run; ``runs``: of the campaign, by id."""
        profile = self.profile(run.profile)
        return Wanted(
            run.run_id,
            run.nodes,
            run.gpus_per_node,
            not_before=not_before,
            gpu_only=profile.devices == "gpu",
            avoid=avoided(run, runs),
            patience_s=parse_duration(profile.launch.lost_limit),
            limit_s=parse_duration(profile.launch_for(run.case).timeout),
            on_cpus=profile.on_cpus,
            repeat=run.repeat,
            settle_s=parse_duration(profile.launch.settle),
            cluster=run.case.cluster,
            asks=profile.job_keys,
            pack=self._pack and run.nodes == 1,
        )

    async def free_port(self, run: RunRecord, allocation: Allocation, recorder: Recorder) -> int:
        """A rendezvous port that is free on rank 0's host, and that no run of the campaign there is
        about to listen at; 0 where none is needed."""
        if not needs_port(self.profile(run.profile), run.case):
            return 0
        host = allocation.hosts[0]
        while True:
            port = await RemoteHost(host.transport).free_port()
            at_work = (one for one in recorder.state.runs.values() if one.state.active)
            if not any(one.port == port and host.name in one.hosts for one in at_work):
                return port

    def commands(
        self, run: RunRecord, sites: Sequence[LaunchSite], port: int | str
    ) -> tuple[HostCommand, ...]:
        setup = self._setup(run.profile)
        return build(
            LaunchRequest(
                profile=setup.profile,
                case=run.case,
                sites=sites,
                run_id=run.run_id,
                repeat=run.repeat,
                port=port,
                settings=setup.settings,
                profiled=run.profiled,
            )
        )

    def _for(self, run: RunRecord, allocation: Allocation) -> Allocation:
        return allocation.on_cpus() if self.profile(run.profile).on_cpus else allocation

    def assignment(
        self, run: RunRecord, allocation: Allocation, port: int, taken: Set[str], now: float
    ) -> ev.RunAssigned:
        """Where a run goes, and what is to be started there; ``taken``: names of logs."""
        commands = self.commands(run, launch_sites(self._for(run, allocation)), port)
        return ev.RunAssigned(
            t=now,
            run_id=run.run_id,
            hosts=allocation.names,
            devices=allocation.devices,
            placement=allocation.placement,
            job_id=allocation.job_id,
            port=port,
            commands=tuple(command.text for command in commands),
            log=run_log_path(self.profile(run.profile), run, taken),
        )

    def supervisor(
        self,
        run: RunRecord,
        allocation: Allocation,
        campaign: Path,
        recorder: Recorder,
        *,
        fresh: bool,
        idle: Callable[[], None],
        taken: Callable[[], Awaitable[AllocationEnd | None]],
        patience_s: float | None = None,
    ) -> RunSupervisor:
        """For a run that has been assigned.

        ``fresh``, ``idle``, ``taken``, ``patience_s``: see
        :class:`~backends.campaign.run.supervisor.RunSupervisor`.
        """
        setup, allocation = self._setup(run.profile), self._for(run, allocation)
        commands = self.commands(run, launch_sites(allocation), run.port)
        members = [
            self._member(run, given, command, campaign, recorder)
            for given, command in zip(allocation.hosts, commands, strict=True)
        ]
        watches = [
            HostWatch(
                given,
                RawLog(campaign / telemetry_path(run.run_id, given.name), self._disk),
                shared=bool(allocation.group),
            )
            for given in allocation.hosts
        ]
        launch = setup.profile.launch_for(run.case)
        sought = sought_by(setup.profile, setup.settings, launch)
        kinds = self._fingerprints(allocation, sought)
        return RunSupervisor(
            run,
            setup.profile,
            members,
            recorder,
            clock=self._clock,
            lease_text=allocation.lease,
            group=allocation.group,
            fingerprint=joined(kinds),
            warnings=_differences(kinds),
            watches=watches,
            evidence=Evidence(
                campaign,
                diagnosis_path(run.log),
                diagnosis_directory(run.run_id),
                on_gpus=all(given.has_gpus for given in allocation.hosts),
            ),
            idle=idle,
            taken=taken,
            fresh=fresh,
            patience_s=patience_s,
        )

    def mirror(
        self,
        run: RunRecord,
        remote: RemoteHost,
        campaign: Path,
        note: Callable[[str], None] = lambda text: None,
    ) -> LogMirror:
        """One host's log of a run that has ended: nobody reads what comes."""
        name = remote.transport.host.name
        log = RawLog(campaign / local_log(run, name), self._disk)
        contact = Contact(name, lambda _lost, _reason: None)
        return LogMirror(run.run_id, remote, log, contact, note=note)

    def _member(
        self,
        run: RunRecord,
        given: AllocatedHost,
        command: HostCommand,
        campaign: Path,
        recorder: Recorder,
    ) -> Member:
        return Member(
            name=given.name,
            remote=RemoteHost(given.transport, files=given.files),
            command=command,
            log=RawLog(
                campaign / local_log(run, given.name), self._disk, collect_s=ours(COLLECT_S)
            ),
            contact=self._contact(run, given.name, recorder),
            stage=tuple(files.tree for files in self._setup(run.profile).stage),
            price_per_hour=given.transport.host.price_per_hour,
            bus_ids=_bus_ids(given),
        )

    def _contact(self, run: RunRecord, name: str, recorder: Recorder) -> Contact:
        def changed(lost: bool, reason: str) -> None:
            recorder.note(
                ev.ContactChanged(
                    t=self._clock(), run_id=run.run_id, host=name, lost=lost, reason=reason
                )
            )

        return Contact(name, changed, lost=name in run.lost_hosts)

    def _fingerprints(
        self, allocation: Allocation, sought: Sequence[Sought]
    ) -> Mapping[str, list[str]]:
        """The kinds of environment among the run's hosts, each with its hosts."""
        kinds: dict[str, list[str]] = {}
        for given in allocation.hosts:
            kinds.setdefault(self._fingerprint(given.snapshot, sought), []).append(given.name)
        return {kind: kinds[kind] for kind in sorted(kinds) if kind}


def _bus_ids(given: AllocatedHost) -> Mapping[int, str]:
    facts = given.snapshot.facts
    return {gpu.index: bus_key(gpu.bus_id) for gpu in facts.gpus} if facts is not None else {}


def local_log(run: RunRecord, host: str) -> str:
    """Where a host's log of the run lies in the campaign."""
    log = run.log or f"logs/{run.run_id}.log"  # the line of the journal that says it is lost
    return log if run.hosts[:1] == (host,) else host_log_path(log, host)


def launch_sites(allocation: Allocation) -> tuple[LaunchSite, ...]:
    """Where the ranks of a run go, in rank order."""
    alone = len(allocation.hosts) == 1
    return tuple(
        LaunchSite(
            given.host,
            rank_address(given.host, alone=alone),
            has_gpus=given.has_gpus,
            devices=given.devices,
            cpus=given.cpus,
            nics=given.nics,
            node_name=given.node_name,
            shared=bool(allocation.group),
        )
        for given in allocation.hosts
    )


def rank_address(host: Host, *, alone: bool) -> str:
    """What the other hosts' ranks connect to; a run on one host stays on its loopback."""
    return "127.0.0.1" if alone else train_address_of(host)


def _differences(kinds: Mapping[str, list[str]]) -> tuple[str, ...]:
    if not several(kinds):
        return ()
    alike: dict[str, list[str]] = {}
    for text, names in zip(apart(list(kinds)), kinds.values(), strict=True):
        alike.setdefault(text, []).extend(names)
    told = "; ".join(f"{', '.join(names)}: {text}" for text, names in alike.items())
    return (f"the hosts of this run differ: {told}",)
