"""A new campaign on disk: its directory, what was asked, its lock, and the first events."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from backends import version
from backends.campaign.folder.paths import campaign_name, create_directory
from backends.campaign.plan.request import FILE_NAME as REQUEST_NAME
from backends.campaign.plan.request import Request, write_request
from backends.campaign.plan.selection import Plan
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, Journal
from backends.campaign.record.lock import CampaignLock
from profiles.errors import DlperfError


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
    overridden: Sequence[str],
    clock: Callable[[], float],
) -> tuple[Path, CampaignLock]:
    """Create a campaign for the plan and become its writer. What fails leaves nothing behind.

    ``overridden``: what preflight would have stopped it for.

    Raises
    ------
    CannotCreateError: the directory cannot be written, or the disk is full.
    """
    slug = plan.selection.name or plan.cases[0].profile.name
    try:
        path = create_directory(campaigns, campaign_name(clock(), slug))
    except OSError as error:
        raise CannotCreateError(campaigns, error.strerror or str(error)) from error
    lock = CampaignLock(path, clock)
    try:
        write_request(path / REQUEST_NAME, request)
        lock.acquire()
        journal = Journal(path / FILE_NAME)
        for event in opening_events(plan, path.name, clock(), request.forced, overridden):
            journal.append(event)
        written = await journal.commit()
        journal.close()
        if not written:
            raise CannotCreateError(campaigns, journal.problem)
    except (OSError, DlperfError) as error:
        lock.release()
        for name in (FILE_NAME, REQUEST_NAME):
            with contextlib.suppress(OSError):
                (path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            path.rmdir()
        if isinstance(error, DlperfError):
            raise
        raise CannotCreateError(campaigns, error.strerror or str(error)) from error
    return path, lock


def opening_events(
    plan: Plan, name: str, now: float, forced: bool, overridden: Sequence[str] = ()
) -> list[ev.Event]:
    """What a campaign's journal begins with: every run that is to be done."""
    events: list[ev.Event] = [
        ev.CampaignCreated(
            t=now, campaign=name, version=version(), forced=forced, overridden=tuple(overridden)
        )
    ]
    token = secrets.token_hex(4)
    for number, (repeat, planned) in enumerate(plan.rounds(), 1):
        profile, case = planned.profile, planned.case
        events.append(
            ev.RunPlanned(
                t=now,
                run_id=f"{token}-{number:04d}-a1",
                profile=profile.name,
                framework=profile.framework,
                model=profile.model,
                unit=profile.unit,
                nodes=case.nodes,
                gpus_per_node=case.gpus_per_node,
                parameters=dict(case.parameters),
                repeat=repeat,
            )
        )
    return events
