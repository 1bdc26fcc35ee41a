"""What the console and the command line share: hosts, profiles, campaigns, one connection pool.

Opening is quick: nothing is probed, and neither asyncssh nor pandas is imported until needed.
"""

from __future__ import annotations

import asyncio
import getpass
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign import events as ev
from backends.campaign import journal
from backends.campaign.controller import CampaignController
from backends.campaign.crew import Crew, Recipe, staged_files
from backends.campaign.lock import CampaignLock
from backends.campaign.opening import open_campaign
from backends.campaign.plan import Plan, PlannedCase, Selection
from backends.campaign.planner import make_plan
from backends.campaign.request import Request, read_request
from backends.campaign.snapshot import CampaignSnapshot, take
from backends.campaign.state import CampaignState, RunRecord, fold
from backends.campaign.store import CampaignSummary, list_campaigns
from backends.campaign.writing import rewrite_results, write_environment
from backends.engines.direct import Offer, Wanted, schedule
from backends.hosts.environment import fingerprint_of
from backends.hosts.model import HostSnapshot, HostState
from backends.hosts.probe import probe_all
from backends.inventory import Host, Inventory, listed_address, load_inventory, select
from profiles.catalog import Catalog
from profiles.errors import SelectionError
from profiles.settings import resolve_settings, split_overrides

if TYPE_CHECKING:
    from backends.hosts.finding import Finding
    from backends.transports.base import Prompter
    from backends.transports.pool import TransportPool


@dataclass(frozen=True, slots=True)
class DryRun:
    """A run as it would be done: one exact command per host, rank 0 first."""

    label: str
    hosts: tuple[str, ...]
    commands: tuple[str, ...]


def default_campaigns_dir() -> Path:
    """``$XDG_DATA_HOME/dlperf-tui/campaigns``, by default below ``~/.local/share``."""
    from platformdirs.unix import Unix  # noqa: PLC0415 (the XDG rule on every system)

    return Unix("dlperf-tui").user_data_path / "campaigns"


def user_profiles_dir() -> Path:
    """``$XDG_CONFIG_HOME/dlperf-tui/profiles``."""
    from platformdirs.unix import Unix  # noqa: PLC0415

    return Unix("dlperf-tui").user_config_path / "profiles"


class Workspace:
    """One operator's hosts, profiles and campaigns. Close it when done; runs go on."""

    def __init__(
        self,
        inventory: Inventory,
        catalog: Catalog,
        campaigns_dir: Path,
        *,
        profile_dirs: Sequence[Path] = (),
        prompter: Prompter | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.inventory = inventory
        self.catalog = catalog
        self.campaigns_dir = campaigns_dir
        self.login_host = socket.gethostname().split(".")[0]
        self._profile_dirs = tuple(profile_dirs)
        self._prompter = prompter
        self._clock = clock
        self._known: dict[str, HostSnapshot] = {}
        self._controllers: list[CampaignController] = []
        self._readers: dict[Path, journal.JournalReader] = {}

    @classmethod
    def open(
        cls,
        *,
        inventory: Path | None = None,
        campaigns: Path | None = None,
        profile_dirs: Sequence[Path] = (),
        prompter: Prompter | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Workspace:
        """Read the inventory and the catalogue.

        Raises
        ------
        InventoryError, ProfileError: the named file or directory is missing or malformed.
        """
        return cls(
            load_inventory(inventory),
            Catalog.load(profile_dirs, user_profiles_dir()),
            campaigns or default_campaigns_dir(),
            profile_dirs=profile_dirs,
            prompter=prompter,
            clock=clock,
        )

    @cached_property
    def pool(self) -> TransportPool:
        from backends.transports.pool import TransportPool  # noqa: PLC0415 (loads when needed)

        hosts = (*self.inventory.hosts, *self.inventory.aliases)
        return TransportPool(hosts, prompter=self._prompter)

    async def close(self) -> None:
        """Detach from live campaigns and close all connections."""
        for controller in self._controllers:
            await controller.detach()
        if "pool" in self.__dict__:
            await self.pool.close()

    # Hosts ---------------------------------------------------------------------------------------

    def host_snapshots(self) -> tuple[HostSnapshot, ...]:
        """The latest known of every host, in the inventory's order."""
        return tuple(self._snapshot(host) for host in self.inventory.hosts)

    def known_snapshots(self) -> tuple[HostSnapshot, ...]:
        """Every host that has been probed, ssh aliases too."""
        return tuple(self._known.values())

    def _snapshot(self, host: Host) -> HostSnapshot:
        unknown = HostSnapshot(
            host.name, listed_address(host), HostState.UNKNOWN, slots=host.slots or 0
        )
        return self._known.get(host.name, unknown)

    async def probe(self, names: Sequence[str] | None = None) -> None:
        """Look at hosts (default: all); :meth:`host_snapshots` follows as answers arrive."""
        hosts = [h for h in self._all_hosts() if names is None or h.name in names]
        if names is None:
            hosts = list(self.inventory.hosts)
        for host in hosts:
            self._known[host.name] = replace(self._snapshot(host), state=HostState.PROBING)
        async for snapshot in probe_all(self.pool, hosts, self._clock):
            self._known[snapshot.name] = snapshot

    def _all_hosts(self) -> tuple[Host, ...]:
        return (*self.inventory.hosts, *self.inventory.aliases)

    # Plans ---------------------------------------------------------------------------------------

    def plan(self, selection: Selection) -> Plan:
        """What the selection means on the hosts as they are known now.

        Raises
        ------
        SelectionError, ProfileError: something in it does not exist, or is missing.
        """
        hosts = select(self.inventory, selection.hosts or None)
        return make_plan(selection, self.catalog, hosts, tuple(self._known.values()))

    def dry_run(self, plan: Plan) -> tuple[DryRun, ...]:
        """Every run of the plan in the order of starting, with its hosts and exact commands.

        Hosts are those that an idle cluster would give; ports are chosen when a run starts, so
        29500 stands for them.
        """
        crew = self._crew(plan, "dry-run")
        offers = self._offers(plan)
        runs = []
        for repeat, planned in plan.rounds():
            wanted = Wanted(
                "dry-run",
                planned.case.nodes,
                planned.case.gpus_per_node,
                gpu_only=planned.profile.devices == "gpu",
            )
            names = schedule([wanted], offers, 0.0).starts.get("dry-run", ())
            record = _record(planned, repeat, "RUN")
            commands = crew.command_texts(record, names, 29500) if names else ()
            runs.append(
                DryRun(f"{planned.profile.name} {planned.case.label} #{repeat}", names, commands)
            )
        return tuple(runs)

    def _offers(self, plan: Plan) -> list[Offer]:
        offers = []
        for host in plan.hosts:
            known = self._known.get(host.name)
            if known is not None and known.state is HostState.UNREACHABLE:
                continue
            facts = known.facts if known else None
            unlimited = 1_000_000 if facts is None else 0
            offers.append(
                Offer(
                    host.name,
                    slots=(known.slots if facts and known else host.slots) or unlimited,
                    gpus=len(facts.gpus) if facts else (0 if host.slots else unlimited),
                )
            )
        return offers

    async def preflight(self, plan: Plan) -> tuple[Finding, ...]:
        """Check the plan's hosts before anything starts; every finding says how to mend it."""
        from backends.hosts.preflight import preflight  # noqa: PLC0415 (loads when needed)

        reachable = [
            host
            for host in plan.hosts
            if (known := self._known.get(host.name)) is None
            or known.state is not HostState.UNREACHABLE
        ]
        return await preflight(
            self.pool, reachable, plan.cases, tuple(self._known.values()), clock=self._clock
        )

    # Campaigns -----------------------------------------------------------------------------------

    async def start(
        self, plan: Plan, *, force: bool = False, overridden: Sequence[str] = ()
    ) -> CampaignController:
        """Create the campaign's directory and set to work; returns at once.

        ``force``: the operator overrode preflight's stops, which the report will say;
        ``overridden``: these findings.

        Raises
        ------
        SelectionError: the plan holds nothing that can run.
        DlperfError: the campaigns directory cannot be written, a staged file is missing.
        """
        if not plan.cases:
            reasons = "; ".join(f"{p.case.tag}: {p.infeasible}" for p in plan.refused[:3])
            raise SelectionError(
                f"nothing can run: {reasons or 'no case was chosen'}",
                remedy="choose other cases or hosts",
            )
        for recipe in self._recipes(plan).values():
            staged_files(recipe)  # a missing file is told before anything exists
        request = Request(
            plan.selection, plan.hosts, tuple(str(d) for d in self._profile_dirs), force
        )
        path, lock = await open_campaign(self.campaigns_dir, plan, request, overridden, self._clock)
        try:
            await self._probe_unknown(plan.hosts)
            return await self._controller(path, lock, plan)
        except BaseException:
            lock.release()
            raise

    async def resume(self, path: Path, *, take_over: bool = False) -> CampaignController:
        """Go on with a campaign: live runs are re-attached, ended ones collected, the rest done.

        Raises
        ------
        CampaignLockedError: another console writes it. JournalError: it is not a campaign.
        """
        journal.check_campaign(path)
        request = read_request(path)
        lock = CampaignLock(path, self._clock)
        lock.acquire(take_over=take_over)
        try:
            hosts = self._hosts_of(request)
            await self._probe_unknown(hosts)
            plan = Plan(request.selection, hosts, (), (), None)
            return await self._controller(path, lock, plan, request)
        except BaseException:
            lock.release()
            raise

    def _hosts_of(self, request: Request) -> tuple[Host, ...]:
        """The inventory's own description of each host, else the one the campaign kept."""
        return tuple(self.inventory.get(host.name) or host for host in request.hosts)

    def _cases_of(self, state: CampaignState, request: Request) -> tuple[PlannedCase, ...]:
        """One case per profile of the campaign: enough to know its settings."""
        cases = []
        for name in request.selection.profiles:
            profile = self.catalog.get(name)
            values = {
                key: value
                for key, value in request.selection.values.items()
                if key in profile.parameters or key in profile.settings
            }
            settings = resolve_settings(profile, split_overrides(profile, values)[1])
            run = next((r for r in state.runs.values() if r.profile == profile.name), None)
            if run is not None:
                cases.append(PlannedCase(profile, run.case, 1, settings))
        return tuple(cases)

    async def _probe_unknown(self, hosts: Sequence[Host]) -> None:
        unknown = [host for host in hosts if host.name not in self._known]
        async for snapshot in probe_all(self.pool, unknown, self._clock):
            self._known[snapshot.name] = snapshot

    async def _controller(
        self, path: Path, lock: CampaignLock, plan: Plan, resumed: Request | None = None
    ) -> CampaignController:
        """``resumed``: by whose words the profiles of the journal's runs are found."""
        state = await asyncio.to_thread(self.state, path)
        if resumed is not None:
            plan = replace(plan, cases=self._cases_of(state, resumed))
        snapshots = [self._known[host.name] for host in plan.hosts]
        controller = CampaignController(
            path,
            lock,
            state,
            self._crew(plan, path.name),
            snapshots,
            write_results=rewrite_results,
            clock=self._clock,
        )
        try:
            await asyncio.to_thread(write_environment, path, snapshots, self._clock())
        except OSError as error:
            text = f"cannot write environment.json: {error.strerror}"
            controller.note(ev.Noted(t=self._clock(), text=text))
        self._controllers.append(controller)
        controller.start()
        return controller

    def _crew(self, plan: Plan, campaign: str) -> Crew:
        who = f"{getpass.getuser()}@{self.login_host}, campaign {campaign}"
        return Crew(
            self._recipes(plan),
            {host.name: host for host in plan.hosts},
            tuple(self._known.values()),
            self.pool,
            lease_text=who,
            fingerprint=fingerprint_of,
            clock=self._clock,
        )

    def _recipes(self, plan: Plan) -> Mapping[str, Recipe]:
        sources = {self.catalog.get(name).name: name for name in plan.selection.profiles}
        return {
            planned.profile.name: Recipe(
                planned.profile,
                self.catalog.path(sources[planned.profile.name]),
                planned.settings,
            )
            for planned in plan.cases
        }

    # Looking at campaigns ------------------------------------------------------------------------

    def state(self, path: Path) -> CampaignState:
        """Any campaign's state from its journal; raises JournalError where there is none."""
        return fold(journal.read_events(path / journal.FILE_NAME))

    def load(self, path: Path) -> CampaignSnapshot:
        """A read-only view of any campaign, live or past, of this or another console."""
        reader = self._readers.get(path)
        if reader is None:
            reader = self._readers[path] = journal.JournalReader(path / journal.FILE_NAME)
        return take(reader.state(), path, now=self._clock(), expected_s={}, read_only=True)

    def campaigns(self) -> tuple[CampaignSummary, ...]:
        """All campaigns of the campaigns directory, newest first."""
        return list_campaigns(self.campaigns_dir, self._clock)

    def find_campaign(self, name_or_path: str) -> Path:
        """A campaign by its name in the campaigns directory, or by its path.

        Raises
        ------
        SelectionError: there is none.
        """
        for path in (self.campaigns_dir / name_or_path, Path(name_or_path)):
            if (path / journal.FILE_NAME).is_file():
                return path
        raise SelectionError(
            f"no campaign {name_or_path!r}",
            where=str(self.campaigns_dir),
            remedy="'dlperf-tui status' lists them; a path works too",
        )


def _record(planned: PlannedCase, repeat: int, run_id: str) -> RunRecord:
    profile, case = planned.profile, planned.case
    return RunRecord(
        run_id=run_id,
        profile=profile.name,
        framework=profile.framework,
        model=profile.model,
        unit=profile.unit,
        nodes=case.nodes,
        gpus_per_node=case.gpus_per_node,
        parameters=case.parameters,
        repeat=repeat,
        attempt=1,
    )
