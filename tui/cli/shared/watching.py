"""Campaigns watched while somebody else works on them: redrawn in place on a terminal, one line
per change in a pipe."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from backends.campaign.folder.index import CampaignSummary
from backends.campaign.record.status_view import CampaignSnapshot
from backends.results.run_counts import lost_words, succeeded
from backends.use_cases import Workspace
from profiles.cleantext import clean_text
from profiles.counted import counted
from tui.cli.shared.campaign_rows import most_telling, run_rows, watched_rows
from tui.cli.shared.exit_codes import code_of
from tui.cli.shared.print_table import Rows, fitted
from tui.cli.shared.progress import Changes
from tui.kept_words import DESERTED, kept_words, titled

if TYPE_CHECKING:
    from rich.console import Console, Group

Shown = TypeVar("Shown")
Drawn = tuple[str, Rows, str]
"""A heading, rows, and a line below them."""
Draw = Callable[[Shown, int], Drawn]
"""With no more rows than that, but for one."""

EVERY_S = 1.0
"""A look reads what was added to the journal, and nothing where nothing was."""
ALL_EVERY_S = 2.0
REST = 10
"""A look at all campaigns reads each journal: for so many times as long nothing is done then."""
_WATCHED = ("live", "unfinished")
"""States of campaigns that somebody works on, or may."""
_WITHOUT = ": without --watch all"
_AROUND = 4  # lines beside the runs: a heading, a blank, the columns, and where the cursor waits


def watch_one(workspace: Workspace, path: Path) -> int:
    """Until the campaign has finished; the exit code is that of ``status``."""
    changes = Changes()
    by: list[str] = []

    def tell(shown: CampaignSnapshot, out: Callable[[str], None]) -> None:
        changes.tell(shown, out)
        if not shown.finished and by != [words := _kept(shown)]:
            by[:] = [words]
            out(words)

    with _shown_by(tell, drawn_one) as show:
        while True:
            shown = workspace.load(path)
            show(shown)
            if shown.finished:
                return code_of(shown.state)
            time.sleep(EVERY_S)


def watch_all(workspace: Workspace) -> int:
    """Those that are live or unfinished, until it is interrupted; of others how many there are."""
    known: dict[Path, str] = {}

    def tell(campaigns: tuple[CampaignSummary, ...], out: Callable[[str], None]) -> None:
        first = not known
        for campaign in campaigns:
            line = f"{campaign.path.name} {campaign.state} {succeeded(campaign)}/{campaign.total}"
            line = f"SIMULATED {line}" if campaign.simulated else line
            line = clean_text(" ".join([line, *lost_words(campaign), campaign.problem]).rstrip())
            if known.get(campaign.path) != line:
                known[campaign.path] = line
                if not first or campaign.state in _WATCHED:
                    out(line)
        if first and (others := _others(campaigns)):
            out(others)
        for gone in known.keys() - {campaign.path for campaign in campaigns}:
            out(clean_text(f"{gone.name} is gone"))
            del known[gone]

    def drawn(campaigns: tuple[CampaignSummary, ...], room: int) -> Drawn:
        return drawn_all(campaigns, room, workspace.campaigns_dir)

    with _shown_by(tell, drawn) as show:
        while True:
            began = time.monotonic()
            show(workspace.campaigns())
            time.sleep(max(ALL_EVERY_S, REST * (time.monotonic() - began)))


def drawn_all(campaigns: Sequence[CampaignSummary], room: int, where: Path) -> Drawn:
    """``room``: for so many of them. ``where``: they lie."""
    watched = [one for one in campaigns if one.state in _WATCHED]
    watched.sort(key=lambda one: one.state != "live")
    more = f"and {len(watched) - room} more{_WITHOUT}" if len(watched) > room else ""
    below = ", ".join(filter(None, [more, _others(campaigns)]))
    if watched:
        return "", watched_rows(watched[:room]), below
    what = "nothing is live or unfinished" if campaigns else "no campaigns"
    return f"{what} in {where}", watched_rows(()), below


def _others(campaigns: Sequence[CampaignSummary]) -> str:
    """``12 finished, 1 not started``; "" without any."""
    states = Counter(one.state for one in campaigns if one.state not in _WATCHED)
    return ", ".join(f"{count} {state}" for state, count in states.most_common())


def _kept(shown: CampaignSnapshot) -> str:
    """A console, or a keeper, or that nobody is at work on it."""
    by = shown.kept_by
    return clean_text(kept_words(by, time.time())) if by is not None else DESERTED


def drawn_one(shown: CampaignSnapshot, room: int) -> Drawn:
    """``room``: for so many runs, or a line of how many more there are."""
    runs, more = most_telling(shown, room)
    heading = titled(shown)
    if not shown.finished:
        heading = f"{heading} · {_kept(shown)}"
    left = f"and {counted(more, 'more run')}{_WITHOUT}" if more else ""
    return heading, run_rows(runs), left


def on_screen(drawn: Draw[Shown], shown: Shown, console: Console) -> Group:
    """With as many rows as leave all of it on the screen, and the line where the cursor waits."""
    from rich.console import Group  # noqa: PLC0415 (comes with Textual; 50 ms)
    from rich.text import Text  # noqa: PLC0415

    room = max(1, console.height - _AROUND)
    while True:
        heading, rows, below = drawn(shown, room)
        parts = [Text(clean_text(heading)), Text("")] if heading else []
        under = [Text(clean_text(below))] if below else []
        told = Group(*parts, *fitted(rows, console.width), *under)
        lines = len(console.render_lines(told, pad=False))
        if (over := lines - (console.height - 1)) <= 0 or room == 1:
            return told
        room = max(1, room - max(1, over * room // lines))


@contextmanager
def _shown_by(
    tell: Callable[[Shown, Callable[[str], None]], None],
    drawn: Draw[Shown],
) -> Iterator[Callable[[Shown], None]]:
    if not sys.stdout.isatty():
        yield lambda shown: tell(shown, lambda line: print(line, flush=True))
        return
    from rich.console import Console  # noqa: PLC0415 (comes with Textual; 50 ms)
    from rich.live import Live  # noqa: PLC0415

    console = Console(highlight=False)
    size = console.size
    with Live(console=console, auto_refresh=False) as live:

        def draw(shown: Shown) -> None:
            nonlocal size
            if size != console.size:  # the terminal has folded what is drawn on other lines
                size = console.size
                console.clear()
            live.update(on_screen(drawn, shown, console), refresh=True)

        yield draw
