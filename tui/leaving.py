"""What becomes of the campaign at work when the console ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from backends import debug
from backends.campaign.record.status_view import CampaignSnapshot
from profiles.errors import DlperfError
from tui.campaign_words import MARKS
from tui.kept_words import titled
from tui.program_name import COMMAND, called_again, called_as, demo_of, for_shell, named
from tui.screens.quit_question import detached_words, followed_words, left_words
from tui.screens.result_at_end import groups_of, result_lines
from tui.session import Session
from tui.text import plain

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
    goes on here, and why where that is not what was answered. ``live``: as it was then."""
    live = session.live or live
    if live.finished and answer != "cancel":
        await leave(finished_words(live))
    elif answer == "cancel" and session.controller is not None:
        session.controller.cancel_all()
        stay(None)
    elif answer == "detach":
        words = detached_words(live)
        files = f"\nIts files:\n{COMMAND}{plain(for_shell(live.path))}" * live.simulated
        await leave(f"{words}{files}")
    elif answer == "keep":
        try:
            begun = await session.leave_to_keeper()
        except DlperfError as error:
            stay(error)
        else:
            await leave(left_words(live, begun))


def said_at_end(session: Session) -> str:
    """What is printed where nothing was asked: no campaign of this console has runs to do."""
    live, opened = session.live, session.opened
    followed = ""
    if opened is not None:
        over = session.followed and opened.finished and not opened.replayed
        followed = finished_words(opened) if over else followed_words(opened)
    return "\n".join(filter(None, ("" if live is None else finished_words(live), followed)))


def left_at(session: Session) -> float:
    """When a console was left last, seconds since the epoch; 0: nobody knows. Blocking."""
    try:
        return 0.0 if session.left_file is None else session.left_file.stat().st_mtime
    except OSError:
        return 0.0


def note_left(session: Session) -> None:
    """That it is left now; where that cannot be written, the next one tells more. Blocking."""
    if session.left_file is not None and not session.simulated:
        with suppress(OSError):
            session.left_file.parent.mkdir(parents=True, exist_ok=True)
            session.left_file.touch()


def others_kept(session: Session) -> str:
    """Which of the campaigns that keepers started for this console go on, but for the one that is
    looked at; "" where none does. Blocking."""
    told = []
    for path in session.begun_kept:
        with suppress(DlperfError):  # it was moved, or removed
            shown = session.workspace.load(path, quick=True)
            if not shown.finished and path != session.viewed_path:
                watch = f"{called_as()} status --watch {named(path)}"
                told.append(
                    f"A keeper goes on with {plain(titled(shown))}.\n{COMMAND}{plain(watch)}"
                )
    return "\n".join(told)


def finished_words(live: CampaignSnapshot) -> str:
    """What is printed when a campaign of this console, or one that it followed, is over."""
    lies = _lies_now(live)
    report = f"{called_as()} report {named(lies)}"
    again = demo_of(lies) if live.simulated else called_again()
    look = f"Look at it with O in:\n{COMMAND}{plain(again)}"
    path = for_shell(lies)
    files = "" if path in report else f"Its files:\n{COMMAND}{plain(path)}\n"
    lines = result_lines(groups_of(live))
    marks = [f"{mark} {MARKS[mark]}" for mark in "†‡§" if any(mark in line for line in lines)]
    result = "\n".join([f"{plain(titled(live))}.", *lines, *marks])
    return f"{result}\n{files}{look}\nor print it with:\n{COMMAND}{plain(report)}"


def _lies_now(live: CampaignSnapshot) -> Path:
    """Somebody may have renamed it meanwhile. Blocking."""
    from backends.campaign.folder.directory_identity import moved_to  # noqa: PLC0415 (at the end)

    gone = not live.path.exists()
    return (moved_to(live.path, live.state.place) if gone else None) or live.path


async def leave_unseen(session: Session, leave: Leave) -> None:
    """The terminal is lost: nobody sees or types anything any more."""
    try:
        if session.at_work or session.leaving:
            await session.leave_to_keeper()
    except DlperfError as error:  # the runs go on; the next console says the rest
        debug.log().info("no keeper: %s", error)
    finally:
        await leave("")
