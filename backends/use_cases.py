"""The one face of the console, the command line and scripts: what can be asked of this program.

Plan, start, resume, cancel, look. Opening is quick: nothing is probed, and neither asyncssh nor
pandas is imported until needed. In a script: docs/api.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from backends.campaign.record.lock import CampaignLock, Holder, Role
from backends.cluster import Cluster
from backends.inventory.host_entry import Inventory, select
from backends.inventory.job_options import JobsAsked
from backends.inventory.load import NOTHING_ASKED, load_inventory
from profiles.errors import DlperfError, ProfileError, SelectionError

if TYPE_CHECKING:
    from backends.campaign.controller import CampaignController
    from backends.campaign.folder.campaign_views import CampaignViews
    from backends.campaign.folder.imported import Imported
    from backends.campaign.folder.index import CampaignSummary
    from backends.campaign.folder.opened_bundles import OpenedBundles
    from backends.campaign.folder.past_index import Found, PastIndex
    from backends.campaign.folder.raw_logs import LogChecks, LogDoubt
    from backends.campaign.folder.remove import Removable
    from backends.campaign.folder.tags_and_note import About
    from backends.campaign.plan.campaign_request import Request
    from backends.campaign.plan.plan import DryRun, Plan
    from backends.campaign.plan.selection import Selection
    from backends.campaign.record.state import CampaignState
    from backends.campaign.record.status_view import CampaignSnapshot
    from backends.campaign_changes import CampaignChanges
    from backends.campaign_start import Starter
    from backends.file_modes import Share
    from backends.hosts.host_facts import HostSnapshot
    from backends.hosts.preflight_finding import Finding, Say
    from backends.prechecking import Prechecks
    from backends.results.comparison import Comparison
    from backends.results.gained_parameters import Assumed
    from backends.results.history import History
    from backends.results.run_result import RunResult
    from backends.simulated.simulated_cluster import SimulatedCluster
    from backends.transports.transport import Prompter
    from profiles.format.catalog import Catalog


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

    _logs_written: Path | None = None
    """Not in a campaign's directory, but there: of a copy that is still growing."""

    def __init__(
        self,
        inventory: Inventory,
        catalog: Catalog | None,
        campaigns_dir: Path,
        *,
        profile_dirs: Sequence[Path] = (),
        prompter: Prompter | None = None,
        clock: Callable[[], float] = time.time,
        role: Role = Role.CONSOLE,
        simulated: SimulatedCluster | None = None,
    ) -> None:
        self.role = role
        self.cluster = Cluster(inventory, prompter=prompter, clock=clock, simulated=simulated)
        self._catalog = catalog
        self.campaigns_dir = campaigns_dir
        self.profile_dirs = tuple(profile_dirs)
        self.clock = clock
        # Those of others are stamped by this machine's clock, whatever time it is on made-up hosts.
        self._real_clock = clock if simulated is None else time.time
        self._controllers: list[CampaignController] = []

    @classmethod
    def open(
        cls,
        *,
        inventory: Path | None = None,
        campaigns: Path | None = None,
        profile_dirs: Sequence[Path] = (),
        prompter: Prompter | None = None,
        clock: Callable[[], float] = time.time,
        engine: str | None = None,
        jobs: JobsAsked = NOTHING_ASKED,
        role: Role = Role.CONSOLE,
    ) -> Workspace:
        """Read the inventory; the catalogue is read when it is first asked for.

        ``engine``: who gives the hosts; None: as the inventory says. ``jobs``: asked of its queue.
        ``role``: what goes on with campaigns here, as others are told.

        Raises
        ------
        InventoryError, ProfileError: the named file or directory is missing or malformed.
        """
        if missing := [str(path) for path in profile_dirs if not path.is_dir()]:
            raise ProfileError("no such directory", where=missing[0], remedy="check --profile-dir")
        return cls(
            load_inventory(inventory, engine=engine, jobs=jobs),
            None,
            campaigns or default_campaigns_dir(),
            profile_dirs=profile_dirs,
            prompter=prompter,
            clock=clock,
            role=role,
        )

    @cached_property
    def catalog(self) -> Catalog:
        """Bundled profiles, the user's own, and those of --profile-dir."""
        if self._catalog is not None:
            return self._catalog
        from profiles.format.catalog import Catalog  # noqa: PLC0415 (the models: loads when needed)

        return Catalog.load(self.profile_dirs, user_profiles_dir())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Detach from live campaigns and close all connections."""
        for controller in self._controllers:
            await controller.detach()
        await self.cluster.close()

    # Plans ---------------------------------------------------------------------------------------

    def plan(self, selection: Selection) -> Plan:
        """What the selection means on the hosts as they are known now.

        Raises
        ------
        SelectionError, ProfileError: something in it does not exist, or is missing.
        """
        from backends.campaign.plan.planner import make_plan  # noqa: PLC0415 (loads when needed)
        from backends.inventory.queue import hosts_by_cluster  # noqa: PLC0415 (as above)

        profiles = [self.catalog.get(name) for name in selection.profiles]
        inventory = self.cluster.inventory_for({p.name: dict(p.job_keys) for p in profiles})
        hosts = select(inventory, selection.hosts or None)
        clusters = hosts_by_cluster(inventory)
        return make_plan(selection, self.catalog, hosts, self.cluster.probed, clusters)

    def dry_run(self, plan: Plan) -> tuple[DryRun, ...]:
        """Every run of the plan in the order of starting, with its hosts and exact commands."""
        return self._starter.dry_runs(plan).runs()

    def dry_run_elsewhere(self, plan: Plan) -> tuple[DryRun, ...]:
        """The refused cases' commands, as they would be on hosts that can run them."""
        return self._starter.dry_runs(plan).elsewhere()

    def export(self, plan: Plan, directory: Path) -> tuple[Path, ...]:
        """Write the plan as scripts; see :meth:`backends.campaign_start.Starter.export`."""
        return self._starter.export(plan, directory)

    def adopt_hosts(
        self, request: Request, selection: Selection
    ) -> tuple[Selection, tuple[str, ...]]:
        """Make a campaign file's hosts known here; what the inventory says of a name wins.

        Returns the selection, of those hosts where it names none, and the names of which the
        inventory says something else.
        """
        other = self.cluster.adopt(request.hosts)
        if selection.hosts or not request.hosts:
            return selection, other
        return replace(selection, hosts=",".join(host.name for host in request.hosts)), other

    async def preflight(
        self, plan: Plan, say: Say | None = None, *, measured_next: bool = False
    ) -> tuple[Finding, ...]:
        """Check the hosts, with remedies; ``say`` takes lines on images that are fetched first.

        ``measured_next``: a precheck follows, and what earlier ones hold against hosts is not said.
        """
        from backends.plan_preflight import plan_preflight  # noqa: PLC0415 (loads when needed)

        hosts = () if measured_next else [host.name for host in plan.hosts]

        def doubted() -> tuple[Finding, ...]:
            return self.prechecks.doubted(hosts, plan.profiles) if hosts else ()

        before = await asyncio.to_thread(doubted)
        return await plan_preflight(self.cluster, plan, self.clock, say, before)

    def foreseen(self, plan: Plan) -> tuple[Finding, ...]:
        """What :meth:`preflight` will find by what the hosts told when they were asked last."""
        from backends.plan_preflight import plan_foreseen  # noqa: PLC0415 (loads when needed)

        return plan_foreseen(self.cluster, plan)

    def unreachable(self, plan: Plan) -> tuple[Finding, ...]:
        """See :func:`backends.plan_preflight.plan_unreachable`."""
        from backends.plan_preflight import plan_unreachable  # noqa: PLC0415 (loads when needed)

        return plan_unreachable(self.cluster, plan)

    def renewed(
        self, plan: Plan, findings: Sequence[Finding], hosts: Iterable[HostSnapshot]
    ) -> tuple[Finding, ...]:
        """See :func:`backends.plan_preflight.plan_renewed`."""
        from backends.plan_preflight import plan_renewed  # noqa: PLC0415 (loads when needed)

        return plan_renewed(self.cluster, plan, findings, hosts)

    def without_stopped(self, plan: Plan, findings: Sequence[Finding]) -> Plan | None:
        """See :func:`backends.campaign.plan.without_stopped.without_stopped`."""
        from backends.campaign.plan.without_stopped import (  # noqa: PLC0415 (loads when needed)
            without_stopped,
        )

        return without_stopped(plan, findings, self.cluster.snapshots(), self.plan)

    @cached_property
    def prechecks(self) -> Prechecks:
        """Measurements of the hosts themselves."""
        from backends.prechecking import Prechecks  # noqa: PLC0415 (loads when needed)

        return Prechecks(self.cluster, self.campaigns_dir, self.clock)

    # Campaigns -----------------------------------------------------------------------------------

    @cached_property
    def _starter(self) -> Starter:
        from backends.campaign_start import Starter  # noqa: PLC0415 (the engine: loads when needed)

        return Starter(
            self.cluster,
            self.catalog,
            self.campaigns_dir,
            self.profile_dirs,
            self.clock,
            self.role,
            log_doubts=partial(self._log_checks.doubts, unstamped=False),
        )

    async def start(
        self,
        plan: Plan,
        findings: Sequence[Finding] = (),
        *,
        force: bool = False,
        share: Share | None = None,
    ) -> CampaignController:
        """Start a campaign; see :meth:`backends.campaign_start.Starter.start`.

        ``findings``: of :meth:`preflight`. ``force``: override those that stop it, which the
        campaign will say. ``share``: who may read it; None: as the inventory says.

        Raises
        ------
        StoppedError: a finding stops it.
        """
        return self._attached(await self._starter.start(plan, findings, force, share))

    async def create(
        self,
        plan: Plan,
        findings: Sequence[Finding] = (),
        *,
        force: bool = False,
        share: Share | None = None,
    ) -> Path:
        """As :meth:`start`, but nobody goes on with it yet: for a keeper."""
        path, lock, _ = await self._starter.create(plan, findings, force, share)
        lock.release()
        return path

    async def resume(
        self, path: Path, *, take_over: bool = False, adopt: bool = False
    ) -> CampaignController:
        """Go on with a campaign; see :meth:`backends.campaign_start.Starter.resume`."""
        resumed = self._starter.resume(path, take_over=take_over, adopt=adopt)
        return self._attached(await resumed)

    @cached_property
    def changes(self) -> CampaignChanges:
        """Cancel, retry, pause, more repeats: of a campaign that has begun, whoever is at work on
        it."""
        from backends.campaign_changes import CampaignChanges  # noqa: PLC0415 (when needed)

        return CampaignChanges(self._starter, self._attached, self.clock)

    def _attached(self, controller: CampaignController) -> CampaignController:
        self._controllers.append(controller)
        return controller

    # Looking at campaigns ------------------------------------------------------------------------

    @cached_property
    def _views(self) -> CampaignViews:
        from backends.campaign.folder.campaign_views import CampaignViews  # noqa: PLC0415 (late)
        from backends.campaign.run.measured_again import measured_again  # noqa: PLC0415 (late)

        return CampaignViews(
            self.clock, measured_again, self.writer, self._log_checks, self._real_clock
        )

    @cached_property
    def _log_checks(self) -> LogChecks:
        from backends.campaign.folder.raw_logs import LogChecks  # noqa: PLC0415 (late)

        return LogChecks(self.catalog.find, self._logs_written)

    def log_doubts(
        self, path: Path, *, whole: bool = False, go_on: Callable[[], bool] = lambda: True
    ) -> tuple[LogDoubt, ...]:
        """Which logs of a campaign are missing, do not give its figures any more, or were changed;
        ``whole``, ``go_on``: as of :meth:`LogChecks.doubts`. Raises as :meth:`state` does.
        Blocking."""
        return self._log_checks.doubts(self.state(path), path, whole=whole, go_on=go_on)

    def logs_as_known(self, state: CampaignState, path: Path) -> tuple[object, ...]:
        """Another one than before as soon as there may be more to say of the logs of a campaign;
        see :meth:`LogChecks.as_known`. Blocking, for no longer than the disk is asked."""
        return self._log_checks.as_known(path, self._log_checks.logs_of(state, path))

    def checked(self, path: Path, *, whole: bool = False) -> CampaignState:
        """As :meth:`state`, with :meth:`log_doubts` at the runs that they are of."""
        from backends.campaign.folder.raw_logs import with_doubts  # noqa: PLC0415 (late)

        state = self.state(path)
        return with_doubts(state, self._log_checks.doubts(state, path, whole=whole))

    def state(self, path: Path) -> CampaignState:
        """Any campaign's state from its journal; raises JournalError where there is none.

        Ends that the journal of a finished campaign has lost are read from its logs.
        """
        from backends.campaign.folder.reader import read_campaign  # noqa: PLC0415 (as above)
        from backends.campaign.run.measured_again import measured_again  # noqa: PLC0415 (late)

        return measured_again(read_campaign(path), path, self.clock())

    def writer(self, path: Path) -> Holder | None:
        """Who is at work on a campaign, console or keeper; None: nobody gives a sign."""
        return CampaignLock(path, self._real_clock).living()

    def remarks(self, path: Path) -> tuple[str, ...]:
        """What a reader of its figures must know: that it goes on elsewhere, damage, changes."""
        return self._views.remarks(path)

    def load(self, path: Path, *, quick: bool = False) -> CampaignSnapshot:
        """A read-only view of any campaign, live or past, of this or another console; ``quick``:
        as of :meth:`CampaignViews.load`."""
        return self._views.load(path, quick=quick)

    def campaigns(self) -> tuple[CampaignSummary, ...]:
        """All campaigns of the campaigns directory, newest first."""
        from backends.campaign.folder.index import list_campaigns  # noqa: PLC0415 (as above)

        return list_campaigns(self.campaigns_dir, self._real_clock)

    def has_run(self, run_id: str) -> bool:
        """Whether it is of a campaign of the campaigns directory. Blocking."""
        from backends.campaign.folder.index import is_of  # noqa: PLC0415 (as above)

        return is_of(self.campaigns_dir, run_id)

    @cached_property
    def past(self) -> PastIndex:
        """What the campaigns of the campaigns directory measured, as far as it was read."""
        from backends.campaign.folder.past_index import PastIndex  # noqa: PLC0415 (as above)

        return PastIndex(self.campaigns_dir, self._log_checks)

    def as_measured(self, plan: Plan, found: Found) -> Plan:
        """With what its cases took before, of what was ``found``, on such hosts as it has."""
        from backends.campaign.measured_before import (  # noqa: PLC0415 (as above)
            as_measured,
            past_of_plan,
        )

        names = {host.name for host in plan.hosts}
        hosts = [host for host in self.cluster.snapshots() if host.name in names]
        return as_measured(plan, past_of_plan(plan, found, hosts, simulated=self.cluster.simulated))

    def runs(self, path: Path) -> tuple[RunResult, ...]:
        """A campaign's runs, as tables and statistics take them.

        Raises
        ------
        SelectionError: it has none. JournalError: it is no campaign.
        """
        from backends.campaign.record.run_results import run_results  # noqa: PLC0415 (as above)

        runs = run_results(self.checked(path))
        if not runs:
            raise SelectionError("the campaign has no runs", where=str(path))
        return runs

    def compare(
        self,
        baseline: Path,
        candidate: Path | None,
        threshold: float = 0.02,
        across: Sequence[str] = (),
    ) -> Comparison:
        """What became slower; ``threshold``: the relative change that counts; ``across``:
        parameters that may differ. Without a candidate: what they had at first in the baseline
        against all that they had there later.

        Raises
        ------
        SelectionError: one of them has no runs. JournalError: it is no campaign.
        """
        from backends.campaign.folder.compare_campaigns import compare_campaigns  # noqa: PLC0415

        return compare_campaigns(
            baseline, candidate, self.runs, self.shown, lambda: self.catalog, threshold, across
        )

    def history(self, paths: Sequence[Path], threshold: float = 0.02) -> History:
        """How the cases of these campaigns went over time; raises like :meth:`compare`."""
        from backends.campaign.folder.history_of import history_of  # noqa: PLC0415 (as above)

        return history_of(paths, self.checked, lambda: self.catalog, threshold, self.shown)

    def runs_together(
        self, paths: Sequence[Path]
    ) -> tuple[tuple[tuple[RunResult, ...], ...], tuple[Assumed, ...]]:
        """The runs of each campaign, as :meth:`runs`, for one table: a parameter that a profile
        gained later has its default in the older ones."""
        from backends.campaign.folder.parameter_defaults import defaults_of  # noqa: PLC0415
        from backends.results.gained_parameters import with_defaults  # noqa: PLC0415
        from backends.results.side_by_side import named_apart  # noqa: PLC0415

        runs = named_apart(paths, [self.runs(path) for path in paths])
        return with_defaults(runs, defaults_of(paths, lambda: self.catalog))

    def import_campaign(
        self, source: Path, profile: str | None, output: Path, *, share: Share | None = None
    ) -> Imported:
        """Make a campaign of logs, or of a file of figures; see
        :func:`backends.campaign.folder.imported.import_campaign`. Raises ProfileError.
        """
        from backends.campaign.folder.imported import import_campaign  # noqa: PLC0415 (as above)

        read_with = None if profile is None else self.catalog.get(profile)
        share = share or self.cluster.inventory.share
        return import_campaign(source, read_with, output, share, self.clock())

    def move_campaign(self, path: Path, new: str) -> Path:
        """Move a campaign to another name in the campaigns directory, or to a path.

        It stays the campaign, and its report has the name; returns where it is now. Raises like
        :func:`backends.campaign.folder.adopt.move`.
        """
        from backends.campaign.folder.adopt import move  # noqa: PLC0415 (loads when needed)
        from backends.campaign.folder.save_tags_and_note import renew_report  # noqa: PLC0415

        target = Path(new) if "/" in new else self.campaigns_dir / new
        move(path, target, self.clock)
        with suppress(DlperfError):  # it is moved
            renew_report(self.checked(target), target, self.clock)
        return target

    def look_at_removable(self, path: Path, *, force: bool = False) -> Removable:
        """What there is to ask about before a campaign is removed; raises as
        :meth:`remove_campaign`. Blocking."""
        from backends.campaign.folder.remove import look_at_removable  # noqa: PLC0415 (as above)

        return look_at_removable(path, self._real_clock, force=force)

    def remove_campaign(
        self, path: Path, *, force: bool = False, asked: Removable | None = None
    ) -> None:
        """Remove a campaign from this disk; see
        :func:`backends.campaign.folder.remove.remove_campaign`."""
        from backends.campaign.folder.remove import remove_campaign  # noqa: PLC0415 (as above)

        remove_campaign(path, self._real_clock, force=force, asked=asked)

    def describe_campaign(self, path: Path, change: Callable[[About], About]) -> About:
        """Say something else of a campaign than what is said there, which its report has from then
        on; of one that a console is at work on, when that writes the report next.

        Raises
        ------
        DlperfError: it cannot be written.
        """
        from backends.campaign.folder.save_tags_and_note import describe  # noqa: PLC0415 (as above)

        return describe(path, change, self.clock)

    def find_campaign(self, name_or_path: str) -> Path:
        """A campaign by its name in the campaigns directory, or by its path.

        Raises
        ------
        SelectionError: there is none. NothingStartedError: it was ended before it began.
        """
        from backends.campaign.folder.find_campaign import find_campaign  # noqa: PLC0415 (as above)

        return find_campaign(self.campaigns_dir, name_or_path)

    def find_to_read(self, name_or_path: str) -> Path:
        """The same of a campaign that is only looked at, which may be a bundle: it is unpacked for
        as long as this workspace is there. Raises BundleError as well."""
        from backends.campaign.folder.bundle import is_bundle  # noqa: PLC0415 (as above)

        if is_bundle(name_or_path):
            return self.bundles.open(Path(name_or_path))
        return self.find_campaign(name_or_path)

    def shown(self, path: Path) -> Path:
        """Where a campaign lies for who reads of it: the bundle, not where it was unpacked."""
        bundle = self.bundles.of(path)
        return path if bundle is None else bundle.path

    @cached_property
    def bundles(self) -> OpenedBundles:
        """Those that were opened."""
        from backends.campaign.folder.opened_bundles import OpenedBundles  # noqa: PLC0415 (late)

        return OpenedBundles()
