"""Sets campaigns going: an engine and a controller for a new or an unfinished campaign.

Apart from :mod:`backends.use_cases` because this loads the engine, which a console that only looks
does not need.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from backends.campaign.cancelling import CancelOrder
from backends.campaign.controller import CampaignController
from backends.campaign.folder.adopt import be_here
from backends.campaign.folder.artifacts import record_environment, rewrite_results
from backends.campaign.folder.create import open_campaign
from backends.campaign.folder.debug_log import DebugLog
from backends.campaign.folder.directory_identity import check_place
from backends.campaign.folder.frozen import changed_since, changed_words, read_manifest, thaw
from backends.campaign.folder.raw_logs import LogDoubt
from backends.campaign.folder.reader import CampaignReader
from backends.campaign.folder.recorded_hosts import (
    environments_of_then,
    recorded_hosts,
    with_what_was_recorded,
)
from backends.campaign.folder.refuse_foreign_files import refuse_ways_out
from backends.campaign.more_cases import BegunWith
from backends.campaign.plan.campaign_request import Request, read_request
from backends.campaign.plan.plan import Plan, PlannedCase
from backends.campaign.plan.profile_in_campaign import ProfileSetup, staged_files
from backends.campaign.plan.without_stopped import stopped_last
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, last_time
from backends.campaign.record.lock import CampaignLock, Role
from backends.campaign.record.run_changes import planned_since, planning
from backends.campaign.record.state import CampaignState, RunRecord, campaign_of
from backends.campaign.record.unwatched import unwatched
from backends.campaign.run.factory import RunFactory
from backends.campaign.run.lost_runs import look_for_strays
from backends.campaign.run.recovery import recovered
from backends.campaign_export import Export
from backends.cluster import Cluster
from backends.dry_runs import DryRuns
from backends.engines.choice import engine_for
from backends.engines.engine import Engine, Held
from backends.file_modes import Share
from backends.hosts.environment import fingerprint_of
from backends.hosts.host_facts import HostSnapshot, Sought
from backends.hosts.placement import Placement, placement_of
from backends.hosts.preflight_finding import Finding, in_spite_of
from backends.hosts.software import sought_for
from backends.inventory.host_entry import Host, reached_as
from backends.inventory.queue import Queue, queue_of_inventory
from backends.keeper.server import RequestServer
from backends.remote.client import RemoteHost
from profiles.errors import SelectionError
from profiles.format.catalog import Catalog
from profiles.format.site_settings import resolve_settings, split_overrides


class Starter:
    """Starts and resumes campaigns on a cluster's hosts."""

    def __init__(
        self,
        cluster: Cluster,
        catalog: Catalog,
        campaigns_dir: Path,
        profile_dirs: Sequence[Path],
        clock: Callable[[], float],
        role: Role = Role.CONSOLE,
        *,
        log_doubts: Callable[[CampaignState, Path], Sequence[LogDoubt]],
    ) -> None:
        """``log_doubts``: what there is to say of the logs of a campaign; blocking."""
        self._role = role
        self._cluster = cluster
        self._catalog = catalog
        self._campaigns_dir = campaigns_dir
        self._profile_dirs = tuple(profile_dirs)
        self._clock = clock
        self._log_doubts = log_doubts

    def dry_runs(self, plan: Plan) -> DryRuns:
        """What a plan would run.

        Raises
        ------
        SelectionError: it asks for what the hosts' engine does not do.
        """
        self._refuse(plan)
        return DryRuns(plan, self._cluster, lambda some: self._factory(self._setups(some)))

    def export(self, plan: Plan, directory: Path) -> tuple[Path, ...]:
        """Write it as scripts that the hosts' queue runs without us; which they are.

        Raises
        ------
        SelectionError: no queue gives the hosts; see :meth:`backends.campaign_export.Export.write`.
        """
        self._refuse(plan)
        queue = self._queue(plan)
        if queue is None:
            raise SelectionError(
                "scripts are written for a queue, which gives each run its hosts",
                where="--export",
                remedy="add --engine slurm",
            )
        setups = self._setups(plan, staged=True)
        nodes = self._cluster.probed
        return Export(plan, setups, self._factory(setups), queue, nodes).write(directory)

    def _queue(self, plan: Plan) -> Queue | None:
        """That gives the plan's hosts; None: they are the inventory's own."""
        return queue_of_inventory(self._cluster.inventory_for(plan.job_keys), plan.hosts)

    def _refuse(self, plan: Plan) -> None:
        inventory = self._cluster.inventory
        one_job = inventory.job_options.allocation == "campaign"
        if len(inventory.clusters) > 1 and one_job:
            raise SelectionError(
                "one job is of one cluster, and there are several",
                remedy="use --allocation run, or a campaign for each: --clusters NAME",
            )
        asked = {planned.profile.job_keys: planned.profile.name for planned in plan.cases}
        if len(asked) > 1 and one_job:
            raise SelectionError(
                f"one job for {' and '.join(asked.values())}, which ask Slurm for different things",
                remedy="use --allocation run, or a campaign for each",
            )
        if plan.selection.pack and inventory.login and one_job:
            raise SelectionError(
                "one job for all runs holds no more devices of a node than its widest run takes",
                where="--pack",
                remedy="leave it out, or use --allocation run or --engine direct",
            )
        ours = inventory.login is None or one_job
        if not ours and plan.selection.placement is Placement.LINKED:
            raise SelectionError(
                f"placement linked: {inventory.engine} chooses the devices of its jobs by itself",
                remedy="leave it out, or use --allocation campaign or --engine direct",
            )

    async def start(
        self, plan: Plan, findings: Sequence[Finding], force: bool, share: Share | None
    ) -> CampaignController:
        """:meth:`create` a campaign and set to work; returns at once."""
        path, lock, basis = await self.create(plan, findings, force, share)
        return await self._go_on(CampaignReader(path), lock, basis)

    async def create(
        self, plan: Plan, findings: Sequence[Finding], force: bool, share: Share | None
    ) -> tuple[Path, CampaignLock, Basis]:
        """A campaign's directory, ready to be gone on with: what is asked for, and frozen.

        ``findings``: of preflight; ``force``: the operator overrode its stops, which the report
        will say; ``share``: who may read the campaign, None: as the inventory says.

        Raises
        ------
        StoppedError: a finding stops it.
        SelectionError: the plan holds nothing that can run.
        DlperfError: the campaigns directory cannot be written, a staged file is missing.
        """
        against = in_spite_of(findings, force=force)
        plan = stopped_last(plan, findings)
        if not plan.cases:
            reasons = "; ".join(f"{p.case.tag}: {p.infeasible}" for p in plan.refused[:3])
            raise SelectionError(
                f"nothing can run: {reasons or 'no case was chosen'}",
                remedy="choose other cases or hosts",
            )
        self._refuse(plan)
        setups = self._setups(plan, staged=True)  # a missing file is told before anything exists
        queue = self._queue(plan)
        request = Request(
            plan.selection, plan.hosts, tuple(str(d) for d in self._profile_dirs), force, queue
        )
        path, lock = await open_campaign(
            self._campaigns_dir,
            plan,
            request,
            tuple(setups.values()),
            against,
            self._clock,
            share or self._cluster.inventory.share,
            role=self._role,
            simulated=self._cluster.simulated,
            today=self._cluster.own_now(),
        )
        return path, lock, Basis(setups, plan.hosts, plan.selection.attempts, queue=queue)

    async def resume(
        self,
        path: Path,
        *,
        take_over: bool,
        silent: float | None = None,
        adopt: bool = False,
        order: CancelOrder | None = None,
    ) -> CampaignController:
        """Go on with a campaign: live runs are re-attached, ended ones collected, the rest done.

        ``order``: only to end some of its runs; as nothing will be started, it does not matter what
        became of what the campaign began with. ``silent``: what was seen of a writer whose last
        sign is of the future; None: that is watched here. ``adopt``: also in a copy, which then is
        the campaign.

        Raises
        ------
        ElsewhereError: it is a copy, or was handed on to one.
        CampaignLockedError: another console writes it. JournalError: it is not a campaign.
        FrozenError: what it began with is not there as it was.
        ForeignFileError: a symlink leads out of it.
        SelectionError: its hosts are simulated and ours are not, or the other way round.
        """
        reader = CampaignReader(path)
        state = await asyncio.to_thread(reader.state)
        await asyncio.to_thread(refuse_ways_out, path)
        self.refuse_other_world(path, state)
        if not adopt:
            check_place(path, state)
        basis = await asyncio.to_thread(self._basis, path, state, order is not None)
        lock = CampaignLock(path, self._clock, self._role)
        if take_over and silent is None:
            silent = await lock.silent()
        gone, seen_at = lock.holder(), self._clock()
        lock.acquire(take_over=take_over, silent=silent)
        try:
            wrote_at = await asyncio.to_thread(last_time, path / FILE_NAME)
            await asyncio.to_thread(be_here, path, state, self._clock, take_over=take_over)
        except BaseException:
            lock.release()
            raise
        controller = await self._go_on(reader, lock, basis, order)
        if gone is not None and order is None and not state.finished:
            holder, age_s = gone
            signs = (seen_at - age_s, *filter(None, [wrote_at]))
            controller.note(unwatched(holder, signs, self._clock()))
        return controller

    def of_other_hosts(self, state: CampaignState) -> bool:
        """Its hosts are simulated, and ours are not: nobody can ask them."""
        return state.simulated and not self._cluster.simulated

    def refuse_other_world(self, path: Path, state: CampaignState) -> None:
        """What was measured and what was made up are never in one campaign.

        Raises
        ------
        SelectionError: its hosts are simulated and ours are not, or the other way round.
        ElsewhereError: nor does a demo go on with it: it is a copy.
        """
        if self.of_other_hosts(state):
            check_place(path, state)
            where = shlex.quote(str(path.parent))
            demo = f"dlperf-tui demo --campaigns {where}"
            if state.finished:
                raise SelectionError(
                    "this campaign is SIMULATED and over: nothing of it is left to change",
                    where=str(path),
                    remedy=f"begin another in: {demo}",
                )
            raise SelectionError(
                "this campaign is SIMULATED: its hosts were never there",
                where=str(path),
                remedy=f"go on with it in: {demo}",
            )
        if self._cluster.simulated and not state.simulated:
            raise SelectionError(
                "this campaign was measured, and the demo's hosts are SIMULATED",
                where=str(path),
                remedy="go on with it in 'dlperf-tui', or 'dlperf-tui resume'",
            )

    def _basis(self, path: Path, state: CampaignState, only_to_end: bool) -> Basis:
        if not state.frozen or (only_to_end and state.frozen_damage):
            return self._todays_basis(path, state)
        manifest = read_manifest(path, state.frozen)
        setups = thaw(path, manifest, stage=not only_to_end)
        changed = changed_since(path, manifest, stage=True, simulated=state.simulated)
        notes = [changed_words(changed)]
        hosts, queue = self._reached(manifest.hosts), self._queue_today(manifest.queue)
        return Basis(setups, hosts, manifest.attempts, notes, queue)

    def _todays_basis(self, path: Path, state: CampaignState) -> Basis:
        """Of a campaign that froze nothing (schema 1), or whose frozen files are damaged."""
        request = read_request(path)
        plan = Plan(request.selection, self._reached(request.hosts), (), ())
        setups = self._setups(replace(plan, cases=self._cases_of(state, request)), staged=True)
        notes = []
        if not state.frozen:
            by = f"dlperf-tui {state.version}".rstrip()
            notes = [f"begun by {by}, which froze nothing: today's profiles are used"]
        queue = self._queue_today(request.queue)
        return Basis(setups, plan.hosts, request.selection.attempts, notes, queue)

    def _reached(self, hosts: Sequence[Host]) -> tuple[Host, ...]:
        """The hosts of a campaign as they were, reached as the inventory says today."""
        return tuple(
            reached_as(host, self._cluster.inventory.get(host.name) or host) for host in hosts
        )

    def _queue_today(self, queue: Queue | None) -> Queue | None:
        """The queue that gave a campaign its hosts, its login node reached as of today."""
        login = self._cluster.inventory.login
        if queue is None or login is None or login.name != queue.login.name:
            return queue
        return replace(queue, login=reached_as(queue.login, login))

    def _cases_of(self, state: CampaignState, request: Request) -> tuple[PlannedCase, ...]:
        """One case per profile of the campaign: enough to know its settings."""
        cases = []
        for name in request.selection.profiles:
            profile = self._catalog.get(name)
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

    async def _go_on(
        self,
        reader: CampaignReader,
        lock: CampaignLock,
        basis: Basis,
        order: CancelOrder | None = None,
    ) -> CampaignController:
        try:
            if basis.queue is None:  # else whoever gets the hosts looks at them
                await self._cluster.probe_unknown(basis.hosts, basis.sought)
            return await self._controller(reader, lock, basis, order)
        except BaseException:
            lock.release()
            raise

    async def _controller(
        self, reader: CampaignReader, lock: CampaignLock, basis: Basis, order: CancelOrder | None
    ) -> CampaignController:
        path = reader.directory
        state = await asyncio.to_thread(reader.state)  # now that nobody else writes it
        recorded = await asyncio.to_thread(recorded_hosts, path, self._clock())
        known = [
            with_what_was_recorded(self._cluster.snapshot(host), recorded) for host in basis.hosts
        ]

        async def learnt(host: HostSnapshot) -> None:
            for text in await asyncio.to_thread(self._record_environment, path, basis, [host]):
                controller.note(ev.Noted(t=self._clock(), text=text))

        engine = self._engine(basis, known, learnt, path.name, state)
        askers = time.time if self._cluster.simulated else None
        controller = CampaignController(
            path,
            lock,
            state,
            engine,
            self._factory(basis.setups, pack=state.pack),
            write_results=rewrite_results,
            log_doubts=self._log_doubts,
            clock=self._clock,
            max_attempts=basis.attempts,
            order=order,
            notify=self._cluster.inventory.notify,
            # Else there is nobody to plan anything for: others ask whoever goes on afterwards.
            requests=RequestServer(path, self._clock, askers) if order is None else None,
            debug_log=DebugLog(path),
            begun_with=BegunWith(
                basis.setups,
                [host.name for host in basis.hosts],
                one_job=basis.queue is not None and basis.queue.one_job,
            ),
        )
        missing = [run for run in state.runs.values() if run.run_id not in reader.planned]
        for event in await asyncio.to_thread(self._what_was_lost, path, state, missing, basis):
            controller.note(event)
        remotes = [RemoteHost(engine.transport(host.name)) for host in basis.hosts]
        profiles = {name: setup.profile for name, setup in basis.setups.items()}
        for event in await look_for_strays(
            controller.state, remotes, profiles, self._clock(), path, order
        ):
            controller.note(event)
        told = {"", *(text for _, _, text in state.notes)}
        notes = [text for text in basis.notes if text not in told]
        if order is None:  # else nothing is measured on them now
            runs = state.runs.values()
            at_work = {name for run in runs if run.state.active for name in run.hosts}
            notes += [text for text in environments_of_then(known, at_work) if text not in told]
            hosts = [self._cluster.snapshot(host) for host in basis.hosts]
            notes += await asyncio.to_thread(self._record_environment, path, basis, hosts)
        for text in notes:
            controller.note(ev.Noted(t=self._clock(), text=text))
        controller.start()
        return controller

    def _record_environment(
        self, path: Path, basis: Basis, hosts: Sequence[HostSnapshot]
    ) -> list[str]:
        try:
            record_environment(path, hosts, basis.sought, self._clock())
        except OSError as error:
            return [f"cannot write environment.json: {error.strerror}"]
        return []

    def _what_was_lost(
        self, path: Path, state: CampaignState, missing: Sequence[RunRecord], basis: Basis
    ) -> list[ev.Event]:
        """The plannings, of ``missing``, and the ends that are known without the journal."""
        now = self._clock()
        profiles = {name: setup.profile for name, setup in basis.setups.items()}
        return [
            *(
                planning(run, planned_since(run, state.runs, now))
                for run in missing
                if not state.imported
            ),
            *recovered(state, path, profiles, now),
        ]

    def _engine(
        self,
        basis: Basis,
        known: Sequence[HostSnapshot],
        learnt: Callable[[HostSnapshot], Awaitable[None]],
        campaign: str,
        state: CampaignState,
    ) -> Engine:
        """``known``: of each of its hosts the latest; ``learnt``: told of those that are back."""
        return engine_for(
            list(zip(basis.hosts, known, strict=True)),
            self._cluster.pool,
            lease=f"{self._cluster.person}, campaign {campaign}",
            force=state.forced,
            placement=placement_of(state.placement),
            sought=basis.sought,
            learnt=learnt,
            clock=self._clock,
            queue=basis.queue,
            campaign=campaign_of(next(iter(state.runs), "")),
            held=state.held or (Held() if state.lost_lines else None),
        )

    def _factory(self, setups: Mapping[str, ProfileSetup], *, pack: bool = False) -> RunFactory:
        return RunFactory(setups, fingerprint=fingerprint_of, clock=self._clock, pack=pack)

    def _setups(self, plan: Plan, *, staged: bool = False) -> Mapping[str, ProfileSetup]:
        """``staged``: with the files that they ship, which are read now."""
        sources = [self._catalog.source(name) for name in plan.selection.profiles]
        setups: dict[str, ProfileSetup] = {}
        for source in sources:
            name = source.profile.name
            if name in setups and source.path != setups[name].source.path:
                raise SelectionError(
                    f"two profiles are called {name!r}: {setups[name].source.path} and "
                    f"{source.path}",
                    remedy="rename one of the two",
                )
            settings = next((p.settings for p in plan.cases if p.profile.name == name), None)
            if settings is not None:
                files = staged_files(source, settings) if staged else ()
                setups[name] = ProfileSetup(source, settings, files)
        return setups


@dataclass(frozen=True, slots=True)
class Basis:
    """What a campaign is gone on with. ``notes``: what the operator must know of it; ``queue``:
    that gives the hosts."""

    setups: Mapping[str, ProfileSetup]
    hosts: tuple[Host, ...]
    attempts: int
    notes: Sequence[str] = ()
    queue: Queue | None = None

    @property
    def sought(self) -> tuple[Sought, ...]:
        """Where the software of its runs is looked for."""
        return sought_for(self.setups.values())
