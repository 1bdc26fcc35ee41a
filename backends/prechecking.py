"""Prechecks of an operator's hosts: planned, measured, ranked, kept; and what a campaign makes of
the one that went before it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from backends import version
from backends.campaign.folder.hosts_in_runs import hosts_in_runs
from backends.cluster import Cluster
from backends.file_modes import Share, make_directory, make_file
from backends.hosts.preflight_finding import Bearing, Finding, Level
from backends.inventory.host_entry import Host
from backends.precheck.judged import REMEDY, Judged, judgements
from backends.precheck.measure import Measuring, Say
from backends.precheck.naming import UNNAMED, RankedHost, Verdict
from backends.precheck.past import Past
from backends.precheck.plan_precheck import (
    PrecheckPlan,
    Wishes,
    load_against,
    look,
    make_plan,
    usable,
)
from backends.precheck.programs import Target
from backends.precheck.ranking import Measured, rank
from backends.precheck.record import (
    FILE_NAME,
    FOLDER,
    Precheck,
    figures_before,
    new_directory,
    prechecks,
    to_text,
)
from backends.precheck.words import (
    NO_TWO_LEFT,
    hosts_option,
    named_text,
    precheck_markdown,
    reasons_text,
    ways_of,
)
from backends.results.result_files import write_in_campaign
from profiles.errors import SelectionError

if TYPE_CHECKING:
    from profiles.format.profile import Profile

REPORT = "precheck.md"


class Prechecks:
    """Of a cluster's hosts, kept beside the campaigns.

    ``clock``: seconds since the epoch.
    """

    def __init__(self, cluster: Cluster, campaigns_dir: Path, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._campaigns_dir = campaigns_dir
        self._clock = clock

    async def plan(
        self, nodeset: str, wishes: Wishes | None = None, *, probe: bool = True
    ) -> PrecheckPlan:
        """What will run, where, for how long; hosts that are busy are left out.

        ``probe``: ask the hosts anew; else only those that could not be measured, or judged, when
        they were last looked at, and quietly.

        Raises
        ------
        SelectionError: a queue gives the hosts, the nodeset names one that is not there, or none
            can be measured.
        """
        return await self.plan_for(self._chosen(nodeset), wishes or Wishes(), probe=probe)

    def _chosen(self, nodeset: str) -> tuple[Host, ...]:
        self._refuse_queue()
        return self._cluster.chosen(nodeset)

    def _refuse_queue(self) -> None:
        if self._cluster.simulated:
            raise SelectionError("SIMULATED hosts have nothing to measure", where="precheck")
        inventory = self._cluster.inventory
        if inventory.login is not None:
            raise SelectionError(
                f"a precheck takes hosts as they are, and {inventory.engine} gives them",
                where="precheck",
                remedy="inside of an allocation that you have (salloc), use --engine direct and an"
                " inventory of its nodes",
            )

    async def plan_for(
        self, hosts: Sequence[Host], wishes: Wishes, *, probe: bool = True
    ) -> PrecheckPlan:
        """The same for these hosts."""
        self._refuse_queue()
        if probe:
            await self._cluster.probe([host.name for host in hosts])
        targets, left_out = self._usable(hosts)
        refused = [host for host in hosts if host.name in left_out]
        refused += [target.host for target in targets if load_against(target)]
        if refused and not probe:  # who was in the way may have gone
            await self._cluster.refresh(0.0, refused)
            targets, left_out = self._usable(hosts)
        looked = await look(self._cluster.pool, targets, wishes)
        return make_plan(looked, left_out, wishes)

    def _usable(self, hosts: Sequence[Host]) -> tuple[list[Target], dict[str, str]]:
        return usable([(host, self._cluster.snapshot(host)) for host in hosts])

    async def measure(
        self, plan: PrecheckPlan, say: Say = lambda progress: None, share: Share | None = None
    ) -> Precheck:
        """Do it, rank the hosts, keep it beside the campaigns. Names that were found to be of one
        machine since it was planned are not measured at the same time. Who is cancelled keeps what
        there is, marked as not finished, and nothing on the hosts.

        Raises
        ------
        PrecheckError: no directory can be made for it. OSError: nothing can be written there.
        """
        plan = self._as_known_now(plan)
        started_at = self._clock()
        share = share or self._cluster.inventory.share
        directory = await asyncio.to_thread(new_directory, self._campaigns_dir, started_at, share)
        lease = f"{self._cluster.person}, precheck {directory.name}"
        measuring = Measuring(plan, self._cluster.pool, directory, lease, say)
        try:
            await measuring.run()
        except BaseException:
            with contextlib.suppress(OSError):  # whatever ended it is what counts
                await asyncio.to_thread(self._kept, plan, measuring, directory, started_at, False)
            raise
        return await asyncio.to_thread(self._kept, plan, measuring, directory, started_at, True)

    def _as_known_now(self, plan: PrecheckPlan) -> PrecheckPlan:
        now = [(target, self._cluster.snapshot(target.host)) for target in plan.targets]
        targets = [replace(t, snapshot=seen) if seen.facts is not None else t for t, seen in now]
        return make_plan(targets, plan.left_out, plan.wishes)

    def _kept(
        self,
        plan: PrecheckPlan,
        measuring: Measuring,
        directory: Path,
        started_at: float,
        finished: bool,
    ) -> Precheck:
        measured = measuring.measured
        past = self._past(measured, directory)
        precheck = Precheck(
            name=directory.name,
            path=directory,
            started_at=started_at,
            seconds=round(self._clock() - started_at, 1),
            measured=measured,
            ranking=rank(measured, past),
            ways=ways_of(plan),
            finished=finished,
            version=version(),
            left=tuple(measuring.left),
        )
        write(precheck, directory)
        return precheck

    def _past(self, measured: Measured, directory: Path) -> Past:
        hosts = (*measured.hosts, *measured.left_out)
        campaigns = self._campaigns_dir
        return Past(
            figures_before(campaigns, hosts, directory),
            hosts_in_runs(campaigns, hosts, self._clock),
        )

    def latest(self, most: int) -> tuple[Precheck, ...]:
        """Those that were kept, the newest first."""
        return tuple(prechecks(self._campaigns_dir, most))

    def judgements(self) -> dict[str, Judged]:
        """What those of the last day say of hosts, by name. Blocking."""
        return judgements(prechecks(self._campaigns_dir), self._clock())

    def doubted(self, hosts: Sequence[str], profiles: Sequence[Profile]) -> tuple[Finding, ...]:
        """What they hold against these ``hosts``, for who starts a campaign of these ``profiles``
        there. Blocking."""
        known = self.judgements()
        return tuple(
            Finding(name, Level.WARN, known[name].lasting, REMEDY, bearing=bearing)
            for name in hosts
            if name in known and known[name].named
            if (bearing := _bearing(known[name].ranked, profiles)) is not None
        )


def write(precheck: Precheck, directory: Path) -> None:
    """precheck.json and, for people, precheck.md. Raises OSError."""
    write_in_campaign(directory / FILE_NAME, to_text(precheck))
    write_in_campaign(directory / REPORT, precheck_markdown(precheck))


# Of a campaign -----------------------------------------------------------------------------------


def findings_of(precheck: Precheck, profiles: Sequence[Profile]) -> tuple[Finding, ...]:
    """What a precheck has to say to who starts a campaign of these ``profiles`` on these hosts:
    what is broken stops it, what is slow is said. Nothing is left out for it."""
    ranking = precheck.ranking
    rest = f"leave it out: {hosts_option(ranking.keep)}" if ranking.keep else ""
    found = []
    for ranked in ranking.hosts:
        bearing = _bearing(ranked, profiles)
        if ranked.verdict in UNNAMED or bearing is None:
            continue
        grave = ranked.verdict in (Verdict.BROKEN, Verdict.FAULTY)
        level = Level.STOP if grave else Level.WARN
        what = f"precheck: {ranked.verdict}: {reasons_text(ranked)}"
        found.append(Finding(ranked.host, level, what, rest, bearing=bearing))
    apart = NO_TWO_LEFT
    if together := ranking.keep_together:
        apart = f"{hosts_option(together)} for runs of several hosts"
    found += [
        Finding(
            "",
            Level.WARN,
            f"precheck: {named_text(named)}",
            apart,
            bearing=Bearing(hosts=tuple((name,) for name in named.hosts)),
        )
        for named in ranking.pairs
        if not set(named.hosts) & set(ranking.exclude)
    ]
    return tuple(found)


def _bearing(ranked: RankedHost, profiles: Sequence[Profile]) -> Bearing | None:
    """Which runs what names a host is of; None where it is about GPUs alone, and they use none."""
    on_gpus = tuple(profile.name for profile in profiles if not profile.on_cpus)
    if not ranked.of_gpus_alone or len(on_gpus) == len(profiles):
        return Bearing(hosts=((ranked.host,),))
    return Bearing(on_gpus, ((ranked.host,),)) if on_gpus else None


def carry(precheck: Precheck, campaign: Path) -> None:
    """Put a copy, logs included, into a campaign's directory. Blocking. Raises OSError."""
    target = campaign / FOLDER
    make_directory(target)
    for source in _files(precheck.path):
        copied = target / source.relative_to(precheck.path)
        make_directory(copied.parent)
        make_file(copied)
        shutil.copyfile(source, copied, follow_symlinks=False)


def _files(directory: Path) -> Iterator[Path]:
    """Only what a precheck writes, and no link."""
    for path in sorted((directory / "logs").rglob("*.log")):
        if path.is_file() and not path.is_symlink():
            yield path
    # Last the one that says that all is there.
    yield from (directory / name for name in (REPORT, FILE_NAME) if (directory / name).is_file())
