"""A console that ends by a fault of its own: nothing that is at work ends with it, or unsaid."""

from __future__ import annotations

import gc
import traceback
from pathlib import Path

from backends import debug
from profiles.errors import DlperfError
from tui.app import DlperfApp
from tui.kept_theme import state_dir
from tui.program_name import called_as, named
from tui.session import Session
from tui.text import plain


class ConsoleFault(DlperfError):
    """The console ended, and not because its operator wished it."""

    exit_code = 1


async def run_to_end(app: DlperfApp) -> str | None:
    """What it leaves to say when its operator has closed it.

    Raises
    ------
    ConsoleFault: it was not closed; a keeper goes on with what was at work.
    """
    told = await app.run_async()
    gc.freeze()  # or the interpreter looks through all of it as it ends, which takes 0.1 s
    if app.fault is not None:
        raise await _fault_of(app.session, app.fault) from app.fault
    return told


async def _fault_of(session: Session, error: Exception) -> ConsoleFault:
    told = await _let_go(session)
    last = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    what = debug.without_secrets(last)
    report = _written(error)
    told.append(f"to report it: {report}" if report else "--debug shows the traceback")
    ended = "console" if session.playing is None else "replay"
    return ConsoleFault(f"the {ended} ended by a fault of its own, {what}", remedy="; ".join(told))


async def _let_go(session: Session) -> list[str]:
    live = session.live
    told = []
    if live is not None and not live.finished:
        again = f"{called_as()} resume {plain(named(live.path))}"
        try:
            begun = await session.leave_to_keeper()
            told.append(f"a keeper goes on with {plain(live.called)} (pid {begun.pid})")
        except DlperfError as error:
            if session.simulated:
                again = f"{called_as()} demo"
            told.append(f"nobody goes on with {plain(live.called)}, {error.what}: {again}")
    await session.close()
    return told


def _written(error: Exception) -> Path | None:
    """The file that has all of it, the one before replaced; None where it cannot be written."""
    file = state_dir() / "last-fault.txt"
    text = "".join(traceback.format_exception(error))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(debug.without_secrets(text), encoding="utf-8")
    except OSError:
        return None
    return file
