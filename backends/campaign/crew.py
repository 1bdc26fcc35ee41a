"""Builds what a campaign's runs need: commands, log files, remote hosts, supervisors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import profiles
from backends.campaign.layout import diagnosis_path, host_log_path
from backends.campaign.rawlog import RawLog
from backends.campaign.state import RunRecord
from backends.campaign.supervisor import Member, Recorder, RunSupervisor
from backends.hosts.model import HostSnapshot
from backends.hosts.probe import probe
from backends.inventory import Host, train_address_of
from backends.launchers.base import HostCommand, LaunchRequest, LaunchSite
from backends.launchers.build import build, needs_port
from backends.remote.client import RemoteHost
from backends.remote.model import StagedTree
from backends.transports.base import Transport
from profiles.command import render_text
from profiles.durations import parse_duration
from profiles.errors import ProfileError, SelectionError
from profiles.model import Profile

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
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._recipes = dict(recipes)
        self._hosts = dict(hosts)
        self._snapshots = {snapshot.name: snapshot for snapshot in snapshots}
        self._pool = pool
        self._lease_text = lease_text
        self._fingerprint = fingerprint
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
        facts = self._snapshots[name].facts if name in self._snapshots else None
        address = "127.0.0.1" if alone and not host.train_address else train_address_of(host)
        return LaunchSite(host, address, has_gpus=bool(facts and facts.gpus))

    def supervisor(self, run: RunRecord, campaign: Path, recorder: Recorder) -> RunSupervisor:
        """For a run that has been assigned, whether it is new or taken up again."""
        recipe = self._recipe(run.profile)
        commands = self.commands(run, run.hosts, run.port)
        members = []
        for rank, (name, command) in enumerate(zip(run.hosts, commands, strict=True)):
            relative = run.log if rank == 0 else host_log_path(run.log, name)
            members.append(
                Member(
                    name=name,
                    remote=self.remote(name),
                    command=command,
                    log=RawLog(campaign / relative),
                    stage=self._stage(recipe),
                )
            )
        return RunSupervisor(
            run,
            recipe.profile,
            members,
            recorder,
            clock=self._clock,
            lease_text=self._lease_text,
            fingerprint=self._run_fingerprint(run),
            diagnosis_path=campaign / diagnosis_path(run.log),
        )

    def _run_fingerprint(self, run: RunRecord) -> str:
        """Equal where all hosts of the runs are alike; several kinds of host are listed."""
        kinds = {self._fingerprint(s) for name in run.hosts if (s := self._snapshots.get(name))}
        return " + ".join(sorted(kinds))

    def _stage(self, recipe: Recipe) -> tuple[StagedTree, ...]:
        """The profile's files, read and hashed once per campaign."""
        name = recipe.profile.name
        if name not in self._stages:
            self._stages[name] = staged_files(recipe)
        return self._stages[name]


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
