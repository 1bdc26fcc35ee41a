"""What becomes of the campaign at work when the console ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from backends import debug
from backends.campaign.record.status_view import CampaignSnapshot
from profiles.errors import DlperfError
from tui.screens.quit_question import detached_words, left_words
from tui.session import Session

Leave = Callable[[str], Awaitable[None]]
"""Closes the console; what is printed after it."""


async def leave_as(
    answer: str | None,
    live: CampaignSnapshot,
    session: Session,
    leave: Leave,
    stay: Callable[[DlperfError | None], None],
) -> None:
    """As was answered to :func:`tui.screens.quit_question.quit_question`. ``stay``: the campaign
    goes on here, and why where that is not what was answered."""
    if answer == "cancel" and session.controller is not None:
        session.controller.cancel_all()
        stay(None)
    elif answer == "detach":
        await leave(detached_words(live))
    elif answer == "keep":
        try:
            begun = await session.leave_to_keeper()
        except DlperfError as error:
            stay(error)
        else:
            await leave(left_words(live, begun))


async def leave_unseen(session: Session, leave: Leave) -> None:
    """The terminal is lost: nobody sees or types anything any more."""
    try:
        if session.at_work or session.leaving:
            await session.leave_to_keeper()
    except DlperfError as error:  # the runs go on; the next console says the rest
        debug.log().info("no keeper: %s", error)
    finally:
        await leave("")
