"""A new campaign on disk: its directory, what was asked, what is frozen, and the first events."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from backends import version
from backends.campaign.folder.directory_identity import place_of
from backends.campaign.folder.frozen import freeze
from backends.campaign.folder.paths import campaign_name, create_directory, name_of
from backends.campaign.plan.campaign_request import Request, write_request
from backends.campaign.plan.plan import Plan, PlannedCase
from backends.campaign.plan.profile_in_campaign import ProfileSetup
from backends.campaign.plan.selection import REQUEST_NAME
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, Journal
from backends.campaign.record.lock import CampaignLock, Role
from backends.file_modes import Share
from backends.hosts.preflight_finding import InSpiteOf
from profiles.durations import parse_duration
from profiles.errors import DlperfError
from profiles.format.workload_section import workload_of

SIMULATED = "SIMULATED"
"""Is in the name of a campaign whose hosts are made up."""


class CannotCreateError(DlperfError):
    """The campaigns directory takes no new campaign."""

    def __init__(self, directory: Path, reason: str) -> None:
        super().__init__(
            f"cannot create a campaign: {reason}",
            where=str(directory),
            remedy="check permissions and free space, or choose --campaigns DIR",
        )


async def open_campaign(
    campaigns: Path,
    plan: Plan,
    request: Request,
    setups: Sequence[ProfileSetup],
    against: InSpiteOf,
    clock: Callable[[], float],
    share: Share = Share.PRIVATE,
    *,
    role: Role = Role.CONSOLE,
    simulated: bool = False,
    today: float | None = None,
) -> tuple[Path, CampaignLock]:
    """Create a campaign for the plan and become its writer. What fails leaves nothing behind.

    ``setups``: of the plan's profiles. ``against``: what preflight found.
    ``share``: who may read it. ``role``: of who creates it. ``simulated``: on hosts that are made
    up. ``today``: seconds since the epoch, of the day in its name, where ``clock`` is not that of
    who asks.

    Raises
    ------
    CannotCreateError: the directory cannot be written, or the disk is full.
    """
    slug = plan.selection.name or name_of(planned.profile.name for planned in plan.cases)
    if simulated:
        slug = f"{SIMULATED}-{slug}"
    try:
        day = clock() if today is None else today
        path = create_directory(campaigns, campaign_name(day, slug), share)
    except OSError as error:
        raise CannotCreateError(campaigns, error.strerror or str(error)) from error
    lock = CampaignLock(path, clock, role)
    try:
        _become_writer(lock, campaigns)
        write_request(path / REQUEST_NAME, request)
        now = clock()
        planned = planned_runs(plan, now)
        digest = await asyncio.to_thread(
            freeze, path, setups, plan.hosts, plan.selection.attempts, planned, request.queue
        )
        journal = Journal(path / FILE_NAME)
        place = place_of(path)
        journal.append(
            ev.CampaignCreated(
                t=now,
                campaign=path.name,
                version=version(),
                simulated=simulated,
                forced=request.forced,
                overridden=against.stops,
                forced_on=against.stop_bearings,
                left_out=plan.left_out,
                warned=tuple(text for text, _ in against.warnings),
                bearings=tuple(bearing for _, bearing in against.warnings),
                hosts=len(plan.hosts),
                explain=tuple(dict.fromkeys(p.profile.name for p in plan.profiled)),
                placement=str(plan.selection.placement),
                pack=plan.selection.pack,
                devices=plan.most_devices if plan.selection.pack else 0,
                frozen=digest,
                place=place.inodes,
                host=place.host,
                path=place.path,
            )
        )
        if (rule := plan.selection.auto) is not None:
            journal.append(
                ev.RepeatsAsked(
                    t=clock(),
                    target=rule.target,
                    quantity=str(rule.quantity),
                    max_repeats=rule.max_repeats,
                    budget_gpu_s=rule.budget_gpu_s,
                )
            )
        for event in planned:
            journal.append(event)
        written = await journal.commit()
        journal.close()
        if not written:
            raise CannotCreateError(campaigns, journal.problem)  # noqa: TRY301 (undone below)
    except BaseException as error:  # a mistake of ours leaves nothing half-begun either
        lock.release()
        shutil.rmtree(path, ignore_errors=True)
        if isinstance(error, OSError):
            raise CannotCreateError(campaigns, error.strerror or str(error)) from error
        raise
    return path, lock


def _become_writer(lock: CampaignLock, campaigns: Path) -> None:
    try:
        lock.acquire()
    except DlperfError as error:  # of a new directory it can only be the disk
        raise CannotCreateError(campaigns, error.what) from error


def planned_runs(plan: Plan, now: float) -> list[ev.RunPlanned]:
    """Every run that is to be done, in the order of starting; their ids are new each time."""
    token = secrets.token_hex(4)
    return [
        planned_run(planned, repeat, f"{token}-{number:04d}-a1", now)
        for number, (repeat, planned) in enumerate(plan.rounds(), 1)
    ]


def planned_run(planned: PlannedCase, repeat: int, run_id: str, now: float) -> ev.RunPlanned:
    """One run of a case."""
    profile, case = planned.profile, planned.case
    workload = workload_of(profile.workload, case, planned.settings)
    return ev.RunPlanned(
        t=now,
        run_id=run_id,
        profile=profile.name,
        framework=profile.framework,
        model=profile.model,
        unit=profile.unit,
        nodes=case.nodes,
        gpus_per_node=case.gpus_per_node,
        parameters=dict(case.parameters),
        repeat=repeat,
        workload=workload.name,
        arithmetic=str(workload.arithmetic) if workload.name else "",
        expected_s=planned.expected_s or 0.0,
        timed=planned.measured_s is not None,
        settle_s=parse_duration(profile.launch.settle),
    )
