"""Builds what a campaign's runs need: commands, log files, remote hosts, supervisors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import profiles
from backends.campaign.folder.paths import diagnosis_path, host_log_path, telemetry_path
from backends.campaign.folder.rawlog import RawLog
from backends.campaign.record import events as ev
from backends.campaign.record.state import RunRecord
from backends.campaign.run.gpu_watch import TelemetryLog
from backends.campaign.run.host_part import Member
from backends.campaign.run.reading_feed import Recorder
from backends.campaign.run.reconnect import Contact
from backends.campaign.run.supervisor import RunSupervisor
from backends.hosts.facts import HostSnapshot
from backends.hosts.probe import probe
from backends.inventory.hosts import Host, train_address_of
from backends.launchers.base import HostCommand, LaunchRequest, LaunchSite
from backends.launchers.build import build, needs_port
from backends.remote.client import RemoteHost
from backends.remote.messages import StagedTree
from backends.transports.base import Transport
from profiles.durations import parse_duration
from profiles.errors import ProfileError, SelectionError
from profiles.format.profile import Profile
from profiles.format.template import render_text

BUNDLED_FILES = Path(profiles.__file__).parent


class Pool(Protocol):
    def get(self, host: Host) -> Transport: ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """A profile as this campaign runs it: where its file lies, and the operator's settings."""

    profile: Profile
    path: Path
    settings: Mapping[str, str]


class Crew:
    """Everything is looked up by name; nothing is started here.

    Parameters
    ----------
    recipes: by profile name. hosts: by host name, all that the campaign may use.
    lease_text: who holds a host, for the others: "alice, campaign 2026-11-21-resnet50".
    assume_gpus: the hosts are imagined ones with GPUs, for commands that are only shown.
    """

    def __init__(
        self,
        recipes: Mapping[str, Recipe],
        hosts: Mapping[str, Host],
        snapshots: Sequence[HostSnapshot],
        pool: Pool,
        *,
        lease_text: str,
        fingerprint: Callable[[HostSnapshot], str],
        assume_gpus: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._recipes = dict(recipes)
        self._hosts = dict(hosts)
        self._snapshots = {snapshot.name: snapshot for snapshot in snapshots}
        self._pool = pool
        self._lease_text = lease_text
        self._fingerprint = fingerprint
        self._assume_gpus = assume_gpus
        self._clock = clock
        self._remotes: dict[str, RemoteHost] = {}
        self._stages: dict[str, tuple[StagedTree, ...]] = {}

    @property
    def expected_s(self) -> Mapping[str, float]:
        """A run's usual seconds by profile, where the profile says so."""
        return {
            name: parse_duration(recipe.profile.launch.expected)
            for name, recipe in self._recipes.items()
            if recipe.profile.launch.expected
        }

    def profile(self, name: str) -> Profile:
        return self._recipe(name).profile

    def _recipe(self, name: str) -> Recipe:
        try:
            return self._recipes[name]
        except KeyError:
            raise SelectionError(
                f"this campaign uses profile {name!r}, which is not here",
                remedy="give its directory with --profile-dir",
            ) from None

    def remote(self, name: str) -> RemoteHost:
        if name not in self._hosts:
            raise SelectionError(
                f"this campaign uses host {name!r}, which the inventory does not have",
                remedy="give the inventory it was started with (--inventory)",
            )
        if name not in self._remotes:
            self._remotes[name] = RemoteHost(self._pool.get(self._hosts[name]))
        return self._remotes[name]

    async def probe(self, name: str) -> HostSnapshot:
        host = self._hosts[name]
        snapshot = await probe(self._pool.get(host), self._clock)
        if snapshot.facts is not None or name not in self._snapshots:
            self._snapshots[name] = snapshot
        return snapshot

    async def free_port(self, run: RunRecord, names: Sequence[str]) -> int:
        """A rendezvous port that is free on rank 0's host; 0 where none is needed."""
        recipe = self._recipe(run.profile)
        if not needs_port(recipe.profile, run.case):
            return 0
        return await self.remote(names[0]).free_port()

    def command_texts(self, run: RunRecord, names: Sequence[str], port: int) -> tuple[str, ...]:
        return tuple(command.text for command in self.commands(run, names, port))

    def commands(self, run: RunRecord, names: Sequence[str], port: int) -> tuple[HostCommand, ...]:
        recipe = self._recipe(run.profile)
        return build(
            LaunchRequest(
                profile=recipe.profile,
                case=run.case,
                sites=[self._site(name, alone=len(names) == 1) for name in names],
                run_id=run.run_id,
                repeat=run.repeat,
                port=port,
                settings=recipe.settings,
            )
        )

    def _site(self, name: str, *, alone: bool) -> LaunchSite:
        host = self._hosts[name]
        address = "127.0.0.1" if alone and not host.train_address else train_address_of(host)
        return LaunchSite(host, address, has_gpus=self._has_gpus(name))

    def supervisor(
        self,
        run: RunRecord,
        campaign: Path,
        recorder: Recorder,
        *,
        fresh: bool,
        idle: Callable[[], None],
    ) -> RunSupervisor:
        """For a run that has been assigned.

        ``fresh``: just now, so that its log begins here; else it is taken up again. ``idle``: see
        :class:`~backends.campaign.run.supervisor.RunSupervisor`.
        """
        recipe = self._recipe(run.profile)
        commands = self.commands(run, run.hosts, run.port)
        members = [
            Member(
                name=name,
                remote=self.remote(name),
                command=command,
                log=RawLog(campaign / (run.log if rank == 0 else host_log_path(run.log, name))),
                contact=self._contact(run, name, recorder),
                stage=self._stage(recipe),
            )
            for rank, (name, command) in enumerate(zip(run.hosts, commands, strict=True))
        ]
        for member in members:
            if fresh and member.log.size:  # of a run that the journal has lost
                member.log.restart()
        telemetry = [
            TelemetryLog(
                self._pool.get(self._hosts[name]),
                campaign / telemetry_path(run.run_id, name),
                run.gpus_per_node,
            )
            for name in run.hosts
            if self._has_gpus(name)
        ]
        kinds = self._fingerprints(run)
        return RunSupervisor(
            run,
            recipe.profile,
            members,
            recorder,
            clock=self._clock,
            lease_text=self._lease_text,
            fingerprint=" + ".join(kinds),
            warnings=_differences(kinds),
            telemetry=telemetry,
            diagnosis_path=campaign / diagnosis_path(run.log),
            idle=idle,
        )

    def _contact(self, run: RunRecord, name: str, recorder: Recorder) -> Contact:
        def changed(lost: bool, reason: str) -> None:
            recorder.note(
                ev.ContactChanged(
                    t=self._clock(), run_id=run.run_id, host=name, lost=lost, reason=reason
                )
            )

        return Contact(name, changed, self._clock)

    def _has_gpus(self, name: str) -> bool:
        facts = self._snapshots[name].facts if name in self._snapshots else None
        return self._assume_gpus or bool(facts and facts.gpus)

    def _fingerprints(self, run: RunRecord) -> Mapping[str, list[str]]:
        """The kinds of environment among the run's hosts, each with its hosts."""
        kinds: dict[str, list[str]] = {}
        for name in run.hosts:
            if (snapshot := self._snapshots.get(name)) is not None:
                kinds.setdefault(self._fingerprint(snapshot), []).append(name)
        return {kind: kinds[kind] for kind in sorted(kinds) if kind}

    def _stage(self, recipe: Recipe) -> tuple[StagedTree, ...]:
        """The profile's files, read and hashed once per campaign."""
        name = recipe.profile.name
        if name not in self._stages:
            self._stages[name] = staged_files(recipe)
        return self._stages[name]


def _differences(kinds: Mapping[str, list[str]]) -> tuple[str, ...]:
    if len(kinds) < 2:
        return ()
    told = "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items())
    return (f"the hosts of this run differ: {told}",)


def staged_files(recipe: Recipe) -> tuple[StagedTree, ...]:
    """The files that a profile ships; paths are relative to the profile's own file, and bundled
    workloads (``workloads/…``) are found from any profile.

    Raises
    ------
    ProfileError: a file is not there or cannot be read.
    """
    trees = []
    for relative in recipe.profile.launch.stage:
        name = render_text(relative, recipe.settings)
        own = (recipe.path.parent / name).resolve()
        source = own if own.exists() else BUNDLED_FILES / name
        try:
            trees.append(StagedTree.of({source.name: source}))
        except OSError as error:
            raise ProfileError(
                f"cannot read {own}: {error.strerror}",
                where=f"profile {recipe.profile.name}: launch.stage",
                remedy="put the file there or correct the path",
            ) from error
    return tuple(trees)
