"""Every key of the console, as data: the bindings, the footer, the help and the palette read it.

A panel is a widget class with ``PANEL`` set to a name below and ``BINDINGS = bindings(name)``. Help
of the focused widget is that of its panel and of everything around it, up to the application.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from textual.binding import Binding, BindingType


@dataclass(frozen=True, slots=True)
class Key:
    """``keys``: as Textual names them, comma-separated. ``footer``: rank there, 0 for not shown.

    ``said``: how help writes the keys where their names read badly.
    """

    keys: str
    action: str
    label: str
    help: str
    footer: int = 0
    said: str = ""
    palette: bool = True


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    about: str
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page: its tab's label, a line of help, and where its class is: ``module:Class``.

    The class is imported when the page is first opened.
    """

    label: str
    help: str
    where: str


LAST = 99
"""The rank of a key that the footer always has, at its end."""

PAGES: Mapping[str, PageEntry] = {
    "hosts": PageEntry(
        "Hosts", "hosts, their GPUs and how they are linked", "tui.screens.hosts:HostsPage"
    ),
    "matrix": PageEntry(
        "Matrix", "choose profiles and cases, and start them", "tui.screens.matrix:MatrixPage"
    ),
    "runs": PageEntry(
        "Runs", "runs, samples/s and logs as they happen", "tui.screens.runs:RunsPage"
    ),
    "results": PageEntry(
        "Results", "throughput, speedup and export", "tui.screens.results:ResultsPage"
    ),
}
"""The pages by name, in the order of their digits. A new one is an entry here and its file."""

_SCROLL = (
    Key("down,j", "scroll_down", "Down", "one line down", said="↓ j", palette=False),
    Key("up,k", "scroll_up", "Up", "one line up", said="↑ k", palette=False),
    Key("left,h", "scroll_left", "Left", "towards the line's start", said="← h", palette=False),
    Key("right,l", "scroll_right", "Right", "towards the line's end", said="→ l", palette=False),
    Key("home,g", "scroll_home", "Top", "to the first line", said="Home g", palette=False),
    Key("end,G", "scroll_end", "End", "to the last line", said="End G", palette=False),
    Key("pageup", "page_up", "Page up", "a page up", said="PgUp", palette=False),
    Key("pagedown", "page_down", "Page down", "a page down", said="PgDn", palette=False),
)

PANELS: Mapping[str, Panel] = {
    "app": Panel(
        "Everywhere",
        "",
        (
            *(
                Key(str(digit), f"page('{name}')", page.label, page.help)
                for digit, (name, page) in enumerate(PAGES.items(), 1)
            ),
            Key("tab", "app.focus_next", "Next panel", "to the next panel", palette=False),
            Key("shift+tab", "app.focus_previous", "Back", "to the panel before", palette=False),
            Key("ctrl+p", "command_palette", "Palette", "find any action by name", palette=False),
            Key("O", "campaigns", "Campaigns", "look at another campaign, or resume one"),
            Key("N", "notes", "Notes", "what the engine had to say about the campaign"),
            Key(
                "question_mark", "help", "Help", "explain the focused panel", said="?", footer=LAST
            ),
            Key("q", "quit", "Quit", "leave; runs go on and can be re-attached", footer=LAST - 1),
        ),
    ),
    "table": Panel(
        "Table",
        "",
        (
            Key("down,j", "cursor_down", "Down", "one row down", said="↓ j", palette=False),
            Key("up,k", "cursor_up", "Up", "one row up", said="↑ k", palette=False),
            Key("left,h", "scroll_left", "Left", "scroll left", said="← h", palette=False),
            Key("right,l", "scroll_right", "Right", "scroll right", said="→ l", palette=False),
            Key("home,g", "scroll_top", "First", "to the first row", said="Home g", palette=False),
            Key("end,G", "scroll_bottom", "Last", "to the last row", said="End G", palette=False),
            Key("pageup", "page_up", "Page up", "a page up", said="PgUp", palette=False),
            Key("pagedown", "page_down", "Page down", "a page down", said="PgDn", palette=False),
        ),
    ),
    "hosts": Panel(
        "Hosts",
        "Each host of the inventory: whether it answers, what it has, and who uses it. The panel "
        "below shows the host under the cursor: its GPUs and how they are linked.",
        (
            Key("r", "probe_one", "Re-probe", "ask the host under the cursor again", footer=1),
            Key("R", "probe_all", "Re-probe all", "ask every host again", footer=2),
            Key("slash", "filter", "Filter", "show only rows with these words", said="/", footer=4),
            Key("enter", "open", "Details", "read the host's details", footer=3, palette=False),
            Key("escape", "back", "Back", "back to the list", said="Esc", palette=False),
        ),
    ),
    "detail": Panel(
        "Details",
        "Links between devices as nvidia-smi prints them, fastest to slowest: NV# is a bond of # "
        "NVLinks; PIX passes one PCIe bridge, PXB several; PHB the CPU's host bridge; NODE crosses "
        "host bridges of one NUMA node; SYS crosses NUMA nodes.",
        _SCROLL,
    ),
    "matrix": Panel(
        "Matrix",
        "What to run: mark profiles on the right, and on the grid the cases (nodes × GPUs per "
        "node) and the parameters of each. A dot cannot be run here; its reason stands below. "
        "Under strong scaling all devices share one batch, Σ64, and [x] b32 is what each gets. "
        "What takes a minute at most starts with Enter at once when the checks on the hosts find "
        "nothing; anything else is shown before it starts.",
        (
            Key("enter", "start", "Start", "check the hosts, then start what is marked", footer=1),
            Key("d", "dry_run", "Dry-run", "show every command; starts nothing", footer=3),
            Key("a", "mark_all", "All", "mark every case that can run", footer=4),
            Key(
                "b",
                "scaling",
                "Scaling",
                "weak scaling, a batch per device; strong, one shared by all; or both",
                footer=5,
            ),
            Key(
                "e",
                "explain",
                "Explain",
                "one more run of each case, profiled and uncounted, where every marked profile "
                "has [explain]",
                footer=6,
            ),
            Key(
                "u",
                "until_known",
                "Until known",
                "repeat until the 95% interval is narrow, or as often as said",
                footer=7,
            ),
            Key(
                "U", "target", "Target", "how narrow that is, ±1% at first, and a budget", footer=8
            ),
            Key("plus,equals_sign", "repeats(1)", "More", "one repeat more", said="+", footer=9),
            Key("minus", "repeats(-1)", "Fewer", "one repeat less", said="-", footer=10),
            Key(
                "p",
                "parameters",
                "Parameters",
                "choose which parameter values are columns",
                footer=11,
            ),
            Key(
                "s",
                "settings",
                "Settings",
                "paths, images and other settings of the profile",
                footer=12,
            ),
            Key("o", "hosts", "Hosts", "choose which hosts may be used", footer=13),
            Key(
                "c",
                "add_case",
                "Add case",
                "a case the profile does not list, such as 2n4g",
                footer=14,
            ),
            Key("n", "mark_none", "None", "take every mark of this profile away", footer=15),
            Key("slash", "filter", "Filter", "find a profile", said="/", footer=17),
        ),
    ),
    "grid": Panel(
        "Cases",
        "",
        (
            Key("space", "mark", "Mark", "mark the cell, or take the mark away", footer=2),
            Key("x", "mark_row", "Row", "mark the whole row, or take its marks away", footer=16),
            Key("up,k", "move(0,-1)", "Up", "one case up", said="↑ k", palette=False),
            Key("down,j", "move(0,1)", "Down", "one case down", said="↓ j", palette=False),
            Key("left,h", "move(-1,0)", "Left", "one column left", said="← h", palette=False),
            Key("right,l", "move(1,0)", "Right", "one column right", said="→ l", palette=False),
        ),
    ),
    "profiles": Panel(
        "Profiles",
        "",
        (Key("space", "mark", "Mark", "take part in the campaign, or not", footer=2),),
    ),
    "runs": Panel(
        "Runs",
        "Every run of the campaign. The panels below follow the run under the cursor: samples/s "
        "as it happens, its log, and why it failed where it did.",
        (
            Key("v", "view", "Chart/log", "the next of chart, log and details", footer=1),
            Key(
                "c", "cancel_run", "Cancel", "end the run under the cursor, on every host", footer=2
            ),
            Key("C", "cancel_all", "Cancel all", "end every run and start no more"),
            Key("t", "retry", "Retry", "do the failed or cancelled run again", footer=3),
            Key("f", "follow", "Follow", "follow the log, or hold it still", footer=4),
            Key("L", "next_log", "Next log", "the log of the run's next host"),
            Key("z", "zoom", "Zoom", "the focused panel alone, or all again"),
            Key("y", "copy", "Copy", "copy the run's commands and log path"),
            Key("slash", "filter", "Filter", "show only rows with these words", said="/"),
            Key("enter", "open", "Log", "read the run's log", palette=False),
            Key(
                "escape",
                "back",
                "Back",
                "back to the list, which goes with the runs at work again",
                said="Esc",
                palette=False,
            ),
        ),
    ),
    "log": Panel(
        "Log",
        "The raw log of the run, as it arrives. What you read stands still when you hold it; new "
        "lines are counted meanwhile.",
        _SCROLL,
    ),
    "results": Panel(
        "Results",
        "The median over the successful repeats of each case, and how it scales: speedup is "
        "throughput over that of the base case, efficiency is speedup over the share of devices.",
        (
            Key("e", "export", "Export", "write the report, or one of its layouts", footer=1),
            Key("enter", "open", "Repeats", "every repeat of the case", footer=2, palette=False),
            Key("v", "view", "Curve", "speedup curve, or flags, where space is short", footer=3),
            Key("slash", "filter", "Filter", "show only rows with these words", said="/"),
            Key("escape", "back", "Back", "back to the list", said="Esc", palette=False),
        ),
    ),
    "scroll": Panel("Text", "", _SCROLL),
    "help": Panel(
        "Help",
        "",
        (
            Key(
                "escape,q,question_mark,enter",
                "leave",
                "Close",
                "back to the page",
                footer=1,
                said="Esc",
            ),
        ),
    ),
    "choice": Panel(
        "Question",
        "",
        (
            Key("enter", "choose", "Choose", "take the answer under the cursor", footer=1),
            Key("escape", "leave", "Cancel", "change nothing", footer=2, said="Esc"),
            Key("down,j", "down", "Down", "next answer", said="↓ j"),
            Key("up,k", "up", "Up", "answer before", said="↑ k"),
        ),
    ),
    "prompt": Panel(
        "Entry",
        "",
        (
            Key("enter", "accept", "Accept", "take what is written", footer=1),
            Key("escape", "leave", "Cancel", "change nothing", footer=2, said="Esc"),
        ),
    ),
    "marklist": Panel(
        "Marks",
        "",
        (
            Key("space", "mark", "Mark", "mark, or take the mark away", footer=1),
            Key("a", "all", "All", "mark all", footer=2),
            Key("n", "none", "None", "take all marks away", footer=3),
            Key("i", "write", "Write", "type instead of marking", footer=4),
            Key("enter", "accept", "Accept", "take the marks", footer=5),
            Key("escape", "leave", "Cancel", "change nothing", footer=6, said="Esc"),
        ),
    ),
    "settings": Panel(
        "Settings",
        "",
        (
            Key("enter", "edit", "Change", "write another value", footer=1),
            Key("x", "reset", "Default", "back to the profile's default", footer=2),
            Key("escape", "leave", "Done", "back to the matrix", footer=3, said="Esc"),
        ),
    ),
    "dryrun": Panel(
        "Dry-run",
        "",
        (
            Key("enter", "start", "Start", "check the hosts, then start", footer=1),
            Key("y", "copy", "Copy", "copy everything to the clipboard", footer=2),
            Key("escape", "leave", "Close", "start nothing", footer=3, said="Esc"),
        ),
    ),
    "start": Panel(
        "Start",
        "",
        (
            Key("enter", "start", "Start", "start the campaign", footer=1),
            Key("F", "force", "Start anyway", "start although a check says stop", footer=2),
            Key("d", "dry_run", "Dry-run", "show every command", footer=3),
            Key("escape", "leave", "Not now", "start nothing", footer=4, said="Esc"),
        ),
    ),
    "campaigns": Panel(
        "Campaigns",
        "",
        (
            Key("enter", "open", "Open", "look at the campaign", footer=1),
            Key(
                "r",
                "resume",
                "Resume",
                "go on with it: re-attach, collect, start the rest",
                footer=2,
            ),
            Key("slash", "filter", "Filter", "show only rows with these words", said="/", footer=3),
            Key("escape", "leave", "Close", "open nothing", footer=4, said="Esc"),
        ),
    ),
    "unfinished": Panel(
        "Unfinished",
        "",
        (
            Key("enter", "resume", "Resume", "re-attach, collect, start the rest", footer=1),
            Key("o", "open", "Open read-only", "look at it, change nothing", footer=2),
            Key("escape", "leave", "Ignore", "leave it as it is", footer=3, said="Esc"),
        ),
    ),
    "repeats": Panel(
        "Repeats",
        "",
        (Key("escape", "leave", "Close", "back to the results", footer=1, said="Esc"),),
    ),
}


def bindings(panel: str) -> list[BindingType]:
    """The bindings of a panel, as Textual wants them."""
    return [
        Binding(
            key.keys,
            key.action,
            key.label,
            show=key.footer > 0,
            key_display=key.said or None,
            tooltip=key.help,
        )
        for key in PANELS[panel].keys
    ]


_SAID = {"enter": "⏎", "escape": "Esc", "space": "space", "ctrl+p": "^p", "shift+tab": "⇧tab"}


def key_name(key: Key) -> str:
    """How the help and the footer write a key."""
    return key.said or _SAID.get(key.keys, key.keys)


def hints(panel: str, *, without: tuple[str, ...] = ()) -> str:
    """The keys of a dialog on one line: "⏎ Start  Esc Not now"; ``without``: actions."""
    keys = sorted(PANELS[panel].keys, key=lambda key: key.footer)
    shown = [key for key in keys if key.footer and key.action not in without]
    return "  ".join(f"{key_name(key)} {key.label}" for key in shown)
