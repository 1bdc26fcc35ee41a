"""What becomes of the campaign when the console ends."""

from __future__ import annotations

from collections.abc import Mapping

from backends.campaign.folder.paths import KEEPER_LOG
from backends.campaign.record.lock import Role
from backends.campaign.record.status_view import CampaignSnapshot
from backends.keeper.credentials import by_hand
from backends.keeper.process import Begun
from backends.transports.credential import Credential
from profiles.counted import counted
from tui.kept_words import titled
from tui.program_name import COMMAND, called_again, called_as, demo_of, for_shell, named
from tui.screens.dialogs import Answer, Choice
from tui.screens.result_at_end import figures_so_far
from tui.text import plain

_PRECHECK_ENDS = "\n\nThe precheck that is at work ends with the console."


def quit_question(
    live: CampaignSnapshot,
    let_in_by: Mapping[str, Credential],
    *,
    measuring: bool = False,
    simulated: bool = False,
) -> Choice:
    """The answer is "keep", "detach", "cancel" or "stay"; what Enter takes is the keeper.

    ``measuring``: a precheck is at work, too. ``simulated``: its hosts go with the console.
    """
    if live.finished:
        return _of_finished(live, measuring=measuring)
    if simulated:
        return _of_simulated(live)
    left = live.total - live.done - live.active
    has, does, alone = _left_words(live.active, left)
    goes_on = "Runs on the hosts go on without this console. " * bool(live.active)
    text = (
        f"{plain(live.called)} has {has}{_eta(live)}. {goes_on}A keeper, a process on this "
        f"machine, {does}; consoles and commands can ask it for changes. After d the campaign "
        "waits for a console or 'resume'."
    )
    if hosts := by_hand(let_in_by, tuple(let_in_by)):
        text += (
            f"\n\n{plain(hosts)}: you answered what the login asked, and a keeper asks nobody: it "
            "cannot log in there."
        )
    text += _PRECHECK_ENDS * measuring
    return Choice(
        "Quit",
        text,
        (
            Answer("b", "leave it to a keeper: it goes on to the end", "keep"),
            Answer("d", f"detach: {alone}", "detach"),
            Answer("c", "cancel every run on every host, and stay to see it", "cancel"),
            Answer("s", "stay", "stay"),
        ),
    )


def _eta(live: CampaignSnapshot) -> str:
    return f", {plain(live.eta_text)}" * bool(live.eta_text)


def _left_words(active: int, left: int) -> tuple[str, str, str]:
    """What is not over, what a keeper does of it, and what becomes of it with nobody at work."""
    at_work, one = f"{counted(active, 'run')} at work", active + left == 1
    them = "it" if one else "them"
    if active and left:
        does = "starts the others and collects all of them"
        alone = "runs go on; nobody starts the others or collects any"
        return f"{at_work} and {left} to come", does, alone
    if active:
        goes_on = "the run goes on" if one else "runs go on"
        return at_work, f"collects {them}", f"{goes_on}, and nobody collects {them}"
    to_come, alone = f"{counted(left, 'run')} to come", "nobody starts what is to come"
    return to_come, f"starts and collects {them}", alone


def _of_finished(live: CampaignSnapshot, *, measuring: bool) -> Choice:
    """It came to its end while it was asked about."""
    title = "Quit · SIMULATED" if live.simulated else "Quit"
    over = f"{plain(live.called)} has finished: nothing of it is left to do."
    text = f"{over}{_PRECHECK_ENDS * measuring}"
    return Choice(title, text, (Answer("d", "quit", "detach"), Answer("s", "stay", "stay")))


def _of_simulated(live: CampaignSnapshot) -> Choice:
    left = counted(live.total - live.done, "run")
    to_end = f"{left} still to end{_eta(live)}"
    if live.active:
        others = ", and goes on with the others" * (live.total - live.done > live.active)
        words = (
            f"{to_end}. The simulated hosts go with this console, and what is at work "
            f"there. A later demo begins that anew{others}."
        )
        what = f"a later demo begins {counted(live.active, 'run')} at work anew"
    else:
        one = live.total - live.done == 1
        with_them, wait = ("it", "waits") if one else ("them", "wait")
        words = f"{to_end}, and none is at work. A later demo goes on with {with_them}."
        what = f"{left} {wait} for a later demo"
    return Choice(
        "Quit · SIMULATED",
        f"{plain(live.called)} has {words}",
        (
            Answer("d", f"quit: {what}", "detach"),
            Answer("c", "cancel every run on every host, and stay to see it", "cancel"),
            Answer("s", "stay", "stay"),
        ),
    )


def detached_words(left: CampaignSnapshot) -> str:
    """What is printed when only the runs go on."""
    if left.simulated:
        anew = f" · {left.active} at work begin{'s' * (left.active == 1)} anew" * bool(left.active)
        return (
            f"{plain(titled(left, goes_on=False))}{anew}.\n{figures_so_far(left)}\n"
            "r resumes it where it is offered, else O, then r, in:\n"
            f"{COMMAND}{plain(demo_of(left.path))}"
        )
    at_work = [f"{counted(left.active, 'run')} still at work on the hosts"] * bool(left.active)
    to_come = left.total - left.done - left.active
    waiting = [f"nobody starts the {counted(to_come, 'run')} to come"] * bool(to_come)
    return (
        f"{plain(left.called)}: {'; '.join([*at_work, *waiting])}.\n{figures_so_far(left)}\n"
        f"Come back with:\n{COMMAND}{plain(called_again())}\n"
        f"or go on in a command with:\n{COMMAND}{called_as()} resume {plain(named(left.path))}"
    )


def left_words(left: CampaignSnapshot, begun: Begun) -> str:
    """What is printed when a keeper goes on."""
    notes = "".join(f"note: {plain(note)}\n" for note in begun.notes)
    return f"{notes}{_keeps(left, begun.pid)}"


def followed_words(opened: CampaignSnapshot) -> str:
    """What is printed when somebody else goes on with what was looked at; "" where nobody does."""
    by = opened.kept_by
    if by is None or opened.finished or opened.replayed:
        return ""
    if by.role == Role.KEEPER:
        return _keeps(opened, by.pid)
    again = f"{called_as()} status --watch {named(opened.path)}"
    words = f"{plain(opened.called)}: {plain(by)} is at work on it.\n{figures_so_far(opened)}"
    return f"{words}\nLook at it again with:\n{COMMAND}{plain(again)}"


def _keeps(left: CampaignSnapshot, pid: int) -> str:
    """Who goes on, how far it is, and how to come back to it."""
    watch = f"{called_as()} status --watch {named(left.path)}"
    again = plain(called_again())
    return (
        f"A keeper (pid {pid}) goes on with {plain(titled(left))}.\n"
        f"{figures_so_far(left)}\n"
        f"The keeper's log:\n{COMMAND}{plain(for_shell(left.path / KEEPER_LOG))}\n"
        f"Come back with:\n{COMMAND}{again}\nor look on with:\n{COMMAND}{plain(watch)}"
    )
