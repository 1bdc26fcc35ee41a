"""Every key of the console, as data: the bindings, the footer, the help and the palette read it.

A panel is a widget class with ``PANEL`` set to a name below and ``BINDINGS = bindings(name)``. Help
of the focused widget is that of its panel and of everything around it, up to the application.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.binding import Binding, BindingType

from tui.dialog_keys import DIALOGS
from tui.kept_words import PAST
from tui.key_types import LAST, PAGED, SCROLL, Key, Panel
from tui.results_keys import CURVE, RESULTS


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page: its tab's label, a line of help, and where its class is: ``module:Class``.

    The class is imported when the page is first opened. ``of_campaign``: empty without one.
    """

    label: str
    help: str
    where: str
    of_campaign: bool = False


PAGES: Mapping[str, PageEntry] = {
    "hosts": PageEntry(
        "Hosts", "hosts, their GPUs and how they are linked", "tui.screens.hosts_page:HostsPage"
    ),
    "matrix": PageEntry(
        "Matrix", "choose profiles and cases, and start them", "tui.screens.matrix_page:MatrixPage"
    ),
    "runs": PageEntry(
        "Runs",
        "runs, their throughput and logs as they happen",
        "tui.screens.runs_page:RunsPage",
        True,
    ),
    "results": PageEntry(
        "Results", "throughput, speedup and grades", "tui.screens.results_page:ResultsPage", True
    ),
}
"""The pages by name, in the order of their digits. A new one is an entry here and its file."""

_EVERYWHERE = (
    *(
        Key(str(digit), f"page('{name}')", page.label, page.help)
        for digit, (name, page) in enumerate(PAGES.items(), 1)
    ),
    Key("tab", "app.focus_next", "Next panel", "to the next panel", palette=False),
    Key("shift+tab", "app.focus_previous", "Back", "to the panel before", palette=False),
    Key(
        "ctrl+p,colon",
        "command_palette",
        "Palette",
        "find an action, a run, a case, a host or a line of the help by its name",
        footer=92,
        palette=False,
        said="^p or :",
    ),
    Key(
        "O",
        "campaigns",
        "Campaigns",
        "look at, resume or replay; or compare campaigns: mark two, then c",
        footer=90,
    ),
    Key(
        "N",
        "notes",
        "Notes",
        "events and notes of the campaign, and what was said last; a warning of what is past stays "
        "in sight until it is read here",
        footer=91,
    ),
    Key("T", "theme", "Theme", "light colours, or dark ones", footer=94),
    Key("ctrl+l", "redraw", "Redraw", "paint the whole screen again", 93, said="^l"),
    Key("question_mark", "help", "Help", "explain the focused panel", said="?", footer=LAST),
    Key(
        "q",
        "quit",
        "Quit",
        "quit; asks first where a campaign of its own is at work",
        footer=LAST - 1,
    ),
)

NOT_IN_A_REPLAY = ("campaigns", "page('matrix')")
"""A replay shows one campaign, and starts none."""

OF_REPLAYS = (
    Key("full_stop,space", "play", "Play", "stand still, or go on; so does Space", -6, said="."),
    Key("greater_than_sign", "faster(1)", "Fast", "up to 100 times", -3, said=">"),
    Key("less_than_sign", "faster(-1)", "Slow", "down to as it was", -2, said="<"),
    Key("0", "restart", "Begin", "back to its beginning", -1),
    Key(
        "right_square_bracket",
        "turn(1)",
        "Next",
        "to where the next run begins or ends",
        -5,
        said="]",
    ),
    Key(
        "left_square_bracket",
        "turn(-1)",
        "Prev",
        "back to where the run before that began or ended",
        -4,
        said="[",
    ),
    Key("right_curly_bracket", "skip(30)", "+30s", "half a minute ahead", 23, said="}"),
    Key("left_curly_bracket", "skip(-30)", "−30s", "half a minute back", 24, said="{"),
)

PANELS: Mapping[str, Panel] = {
    "app": Panel("Everywhere", "", _EVERYWHERE),
    "replay": Panel(
        "Everywhere",
        "This is a replay: what was recorded, as it came. Nothing is asked of a host. Why a run "
        "waited is not recorded.\n"
        "Above:\n"
        "━┃┄: of the time that was recorded what is past, where it is, and what is to come.\n"
        "✗, ▲: there a run failed; one was found to hang, or to have a slow rank.",
        (*OF_REPLAYS, *(key for key in _EVERYWHERE if key.action not in NOT_IN_A_REPLAY)),
        "Replay",
        OF_REPLAYS,
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
        "Each host of the inventory: whether it answers, what it has, and who uses it.\n"
        "List:\n"
        "Hosts: asked again every minute; those of a fast demo every ten seconds of yours, and "
        "ages are of its simulated time.\n"
        "degraded: runs may use it, but what it measures cannot be trusted; o on Matrix leaves it "
        "out.\n"
        "a,b are the same machine: names of one kernel; runs on them share its devices.\n"
        "24 GPUs (16 distinct), above: the sum of the rows, and without those of a machine's "
        "second name.\n"
        "slot: a device for CPU workloads where there is no GPU: one for each CPU, or as many as "
        "the inventory says; with GPUs as many as GPUs.\n"
        "no lease: no run has the host; one at a time gets it, so that two do not share it.\n"
        "Panel below:\n"
        "of the host under the cursor: what is wrong and how to mend it, GPUs and links.\n"
        "Facts: all that it said when it was asked; GPUs are watched while the cursor is there.\n"
        "for 1n2g 2,3: a run on 2 GPUs of 1 host: these are best linked; L on Matrix gives them, "
        "else it gets the first two.\n"
        "Bars: memory in use of all that the GPU has, and use of 100%; ┄ is what is left.\n"
        "Lines: the last two minutes, the newest at the right; a gap: nothing was seen then.\n"
        "their height: up to 100%, 100 °C, all memory, the power limit, the application clock, "
        "else the GPU's highest, or the most seen; ↑: beyond that.",
        (
            Key("r", "probe_one", "Re-probe", "ask the host under the cursor again", footer=1),
            Key("s", "login", "Log in", "open ssh to the host; its end leads back", footer=2),
            Key("z", "zoom", "Zoom", "the host's details and topology alone; again: all", 5),
            Key("R", "probe_all", "Re-probe all", "ask every host again", footer=6),
            Key("p", "precheck", "Precheck", "measure the hosts; who is slow or broken", footer=3),
            Key("slash", "filter", "Filter", "show only rows with these words", said="/", footer=7),
            Key(
                "o",
                "sort",
                "Sort",
                "by state, what cannot be used first; by load per CPU; by memory in use; as in the "
                "inventory",
                footer=8,
            ),
            Key("enter", "open", "Details", "read the host's details", footer=4, palette=False),
            Key("escape", "back", "Back", "back to the list", 5, said="Esc", palette=False),
        ),
    ),
    "detail": Panel(
        "Details",
        "Links between devices as nvidia-smi prints them, fastest to slowest: NV# is a bond of # "
        "NVLinks; PIX passes one PCIe bridge, PXB several; PHB the CPU's host bridge; NODE crosses "
        "host bridges of one NUMA node; SYS crosses NUMA nodes.",
        SCROLL,
    ),
    "matrix": Panel(
        "Matrix",
        "What to run: mark profiles on the right, and on the grid cases (nodes × GPUs per node) "
        "and their parameters.\n"
        "Grid:\n"
        "dot: it cannot be run here; its reason stands below.\n"
        "faint figure: measured before by the same settings, on the same GPU model where that is "
        "known.\n"
        "rows: the profile's cases, what c added, and the last 12 others that were measured.\n"
        "letter: its grade; with ✗ the case failed since then.\n"
        "[·], ?: they wait for a host to answer.\n"
        "ages: how long ago something was is by your clock, in a demo too.\n"
        "Σ64: strong scaling, all devices share one batch; [x] b32 is what each gets.\n"
        "other grids: Tab, the marked profile there, and Tab lead to its own.\n"
        "Below:\n"
        "time: how long the case takes, and its whole row, column and matrix if all were marked.\n"
        "device-seconds: seconds × devices.\n"
        "per_node, first_node: launchers; the command starts on every host, or on the first.\n"
        "mpirun, srun, torchrun: launchers; they start a rank on each device.\n"
        "Profiles:\n"
        "[s]: it needs settings first.\n"
        "dot: it has no case that can run here.\n"
        "[·]: marked, but none of its cases can run here, or none before a host has answered.\n"
        "Start:\n"
        "Enter: what takes a minute at most starts at once when preflight of the hosts finds "
        "nothing.\n"
        "else: it is shown before it starts.",
        (
            Key("enter", "start", "Start", "preflight, then start what is marked", footer=1),
            Key("d", "dry_run", "Dry-run", "show every command; starts nothing", footer=3),
            Key("a", "mark_all", "All", "mark every case that can run", footer=4),
            Key(
                "b",
                "scaling",
                "Scale",
                "weak scaling, a batch per device; strong, one shared by all; or both",
                footer=7,
            ),
            Key(
                "e",
                "explain",
                "Explain",
                "one more run of each case, profiled and uncounted, where every marked profile "
                "says how: its [explain]",
                footer=6,
            ),
            Key(
                "u",
                "until_known",
                "Until",
                "repeat until the 95% interval is narrow, or as often as said",
                footer=7,
            ),
            Key(
                "U", "target", "Target", "how narrow that is, ±1% at first, and a budget", footer=8
            ),
            Key(
                "plus,equals_sign",
                "repeats(1)",
                "More",
                "one more repeat of each case, of every marked profile",
                said="+",
                footer=4,
                named="One more repeat of each case",
            ),
            Key(
                "minus",
                "repeats(-1)",
                "Fewer",
                "one repeat fewer of each case, of every marked profile; none has less than one",
                said="-",
                footer=4,
                named="One repeat fewer of each case",
            ),
            Key(
                "p",
                "parameters",
                "Values",
                "choose which parameter values are columns",
                footer=5,
            ),
            Key(
                "s",
                "settings",
                "Settings",
                "paths, images and other settings of the profile",
                footer=5,
            ),
            Key(
                "o",
                "hosts",
                "Hosts",
                "choose which hosts may be used, until the console ends",
                footer=13,
            ),
            Key(
                "c",
                "add_case",
                "Case",
                "a case the profile does not list, such as 2n4g",
                footer=14,
            ),
            Key("n", "mark_none", "None", "take every mark of this profile away", footer=15),
            Key(
                "f",
                "fill",
                "Fill",
                "mark the holes of the grid with the cursor: what can run and has no result of so "
                "many repeats yet",
                footer=4,
            ),
            Key(
                "A",
                "preset",
                "Source",
                "marks, values, repeats and settings as the profile's source had them",
                footer=11,
            ),
            Key(
                "backspace",
                "undo",
                "Undo",
                "take back the last change of the profile's marks; again: the one before",
                footer=10,
                said="Bksp",
            ),
            Key(
                "i",
                "about",
                "About",
                "what a run of the case is, its past results, and published figures",
                footer=5,
            ),
            Key("slash", "filter", "Find profile", "find a profile", said="/", footer=17),
            Key(
                "escape",
                "back",
                "All profiles",
                "every profile again",
                2,
                said="Esc",
                palette=False,
            ),
            Key(
                "P",
                "pack",
                "Pack",
                "several runs on a host at once, each on devices of its own; they are marked",
                footer=18,
            ),
            Key(
                "L",
                "link",
                "Linked",
                "placement of runs: the best linked devices, as Hosts names them, or the first",
                footer=18,
            ),
        ),
    ),
    "grid": Panel(
        "Cases",
        "",
        (
            Key("space", "mark", "Mark", "mark the cell, or take the mark away", footer=2),
            Key("x", "mark_row", "Row", "mark the whole row, or take its marks away", footer=16),
            Key("X", "mark_column", "Column", "the same of the whole column", footer=16),
            Key("up,k", "move(0,-1)", "Up", "one case up", said="↑ k", palette=False),
            Key("down,j", "move(0,1)", "Down", "one case down", said="↓ j", palette=False),
            Key("left,h", "move(-1,0)", "Left", "one column left", said="← h", palette=False),
            Key("right,l", "move(1,0)", "Right", "one column right", said="→ l", palette=False),
            Key("home,g", "end(-1)", "First", "to the first row", said="Home g", palette=False),
            Key("end,G", "end(1)", "Last", "to the last row", said="End G", palette=False),
            Key("pageup", "page(-1)", "Page up", "a page up", said="PgUp", palette=False),
            Key("pagedown", "page(1)", "Page down", "a page down", said="PgDn", palette=False),
        ),
    ),
    "profiles": Panel(
        "Profiles",
        "",
        (Key("space", "mark", "Mark", "take part in the campaign, or not", footer=2),),
    ),
    "runs": Panel(
        "Runs",
        "Every run of the campaign; the panels follow the one under the cursor.\n"
        "List:\n"
        "order: the plan's, or sorted; not that in which they start.\n"
        "start: repeat by repeat, most hosts × time first; smaller ones fill gaps.\n"
        "a2: in a name, attempt 2.\n"
        "Hosts: folded; log, schedule and details have them by rank, 0 first.\n"
        "Progress, ETA: by the clock and what its case took or its profile says.\n"
        "ETA ≈8m: no run was measured yet.\n"
        "expected ≈2m: for all of it; it takes longer.\n"
        "profiled after the others: runs that e on Matrix adds, which are not counted.\n"
        "throughput: faint, the last reading of a run at work; bold, the figure of one that "
        "succeeded.\n"
        "State:\n"
        "queued: an engine was asked for its hosts; before that planned.\n"
        "warming up: starting is over, but no reading counts yet; then running.\n"
        "no reading for 8s: three times as long as ever before; no progress, no ETA.\n"
        "silent: no reading comes any more; no progress, no ETA.\n"
        "paused: p holds it back.\n"
        "collecting: its program has ended; its log is fetched and measured.\n"
        "last seen, not collected yet: nobody is at work on the campaign.\n"
        "being taken up again: its hosts have not told yet how far it is.\n"
        "left: its demo was.\n"
        "ended: succeeded, failed, skipped, or cancelled, after cancelling.\n"
        "tried again, planned again: it failed, or was skipped; attempt 2 took its place.\n"
        "✓▲: its figure is to be distrusted: throttled, slow readings, unsteady, disturbed, GPUs "
        "idle.\n"
        "log changed, log missing: it does not give the run's figure any more.\n"
        "Why it waits:\n"
        "waiting for hosts, waiting for its turn: others have them, or go first.\n"
        "behind 4n8g #2: hosts are kept idle for that run, which is to go first.\n"
        "settling: its hosts rest after the run before.\n"
        "needs: more hosts than can be used.\n"
        "retry in: it failed.\n"
        "Chart:\n"
        "lines: its own; before it has ended also those of others at work.\n"
        "Window: readings that count, by the profile's rule; before it, warm-up.\n"
        "┊: where the window begins and ends.\n"
        "jitter: p95 and CV of the times of steps.\n"
        "p95: as long as a step took at most in 95% of readings, each the mean of its steps.\n"
        "CV: their standard deviation over their mean; of repeats: page 4.\n"
        "◆: the speed dropped or rose, by the mean of what follows over that before.\n"
        "not level before: until there it was slower, or faster.\n"
        "drift: of a straight line through the readings that count; ×: a stall.\n"
        "rank 5 14% slow: its own time of a step above the median of the others, who wait for it.\n"
        "Telemetry:\n"
        "figures: the last; of a run that has ended means while it trained, °C the highest.\n"
        "over the run: as it trained too shortly for two, or its log came in one burst.\n"
        "CPU: how busy all of the host are, without GPUs, by the run and by others; –: no two "
        "readings yet.\n"
        "without data loading: throughput while its log waits for no data.\n"
        "load 4.1/2.0: so many processes run or wait to, of the run and of others, on 2 CPUs.\n"
        "GPU3 throttled 65%: so much of the run's time, by no limit that was set; the worst one.\n"
        "↑ in a line: beyond what a full one stands for, the figure after the /.\n"
        "Schedule:\n"
        "━: a run was or is there; ╌: it failed or was cancelled; ┄: expected.\n"
        "▼ above, ┊ where a line is free: now. Bold, on the cursor's colour: the run under it.\n"
        "a block with a number, its place in the plan: its name, for want of room, stands below.\n"
        "a number alone: no room for its mark either.",
        (
            Key(
                "c",
                "cancel_run",
                "Cancel",
                "stop the run: it ends on every host; skip it, before it has begun",
                footer=2,
            ),
            Key(
                "t",
                "retry",
                "Retry",
                "do the failed or cancelled run again; start a skipped one",
                footer=3,
            ),
            Key(
                "R",
                "retry_all",
                "Retry failed",
                "do every failed run of the list again, but those that were tried again",
                footer=12,
            ),
            Key("p", "pause", "Pause", "hold the run back until p is pressed again", footer=4),
            Key(
                "space",
                "mark",
                "Mark",
                "mark the run, or take the mark away: c, t and p are for all that are marked, and "
                "ask",
                footer=12,
            ),
            Key("u", "unmark", "Unmark", "take all marks away; so does Esc", footer=13),
            Key(
                "f",
                "follow",
                "Follow",
                "follow the run's log, or hold it still; its end, once it is over",
                footer=6,
            ),
            Key("L", "next_log", "Next log", "the log of the run's next host", footer=12),
            Key(
                "y",
                "copy",
                "Copy",
                "copy the run's commands and log path; where its details are shown, all of them",
                footer=12,
            ),
            Key(
                "asterisk",
                "mark_all",
                "Mark all",
                "mark every run that the list shows, none that its filter hides; again: take these "
                "marks away",
                footer=13,
                said="*",
            ),
            Key("v", "view", "View", "the next of chart, telemetry, log and details", footer=-3),
            Key(
                "x",
                "trouble(1)",
                "Next trouble",
                "to the next run in trouble, failed or silent, then ▲; not what was tried again",
                footer=2,
            ),
            Key("X", "trouble(-1)", "Trouble before", "to the one before it", footer=14),
            Key(
                "C",
                "cancel_all",
                "Cancel all",
                "stop all: end every run and start no more",
                footer=9,
            ),
            Key("P", "pause_all", "Pause all", "all in the list that waits; again: start it", 5),
            Key(
                "plus,equals_sign",
                "repeat",
                "More",
                "one more repeat of each case",
                footer=13,
                said="+",
                named="One more repeat of each case",
            ),
            Key(
                "a",
                "to_work",
                "To work",
                "to a run that is at work; the cursor goes with what is, until a key concerns its "
                "run",
                footer=7,
            ),
            Key(
                "d",
                "diagnose",
                "Diagnose",
                "why does it not move? Its hosts are asked, as they are without d before a silent "
                "run is ended; nothing of it is disturbed",
                footer=13,
            ),
            Key(
                "s",
                "schedule",
                "Schedule",
                "hosts over time: which run was, is or is expected where, and when; "
                "again: chart, telemetry and log",
                footer=3,
            ),
            Key(
                "o",
                "sort",
                "Sort",
                "by state: what is at work, then what failed and was not tried again; by "
                "throughput; by elapsed time; as in the plan",
                footer=11,
            ),
            Key(
                "W",
                "window",
                "Window",
                "the chart of the readings that count alone; a schedule of the time around the run "
                "under the cursor; again: all",
                footer=11,
            ),
            Key(
                "m",
                "meters",
                "Meters",
                "utilisation, power, clock, memory: the mean; temperature: the hottest; the clock "
                "of a GPU far below it; or one of each GPU",
                footer=10,
            ),
            Key(
                "z",
                "zoom",
                "Zoom",
                "the focused panel alone, or what is below the list, telemetry of every GPU; "
                "there, v leads to the next; again: all",
                footer=8,
            ),
            Key(
                "slash",
                "filter",
                "Filter",
                "show only rows with these words; in details or schedule find words",
                said="/",
                footer=7,
            ),
            Key("enter", "open", "Read log", "read the run's log", footer=5, palette=False),
            Key(
                "escape",
                "back",
                "Back",
                "back to the list; there, take its filter away",
                footer=11,
                said="Esc",
                palette=False,
            ),
        ),
        about_actions=(
            (
                "pause",
                f"p, P and t act at once; c, C, + and R of several ask, as do t and R of a {PAST}.",
            ),
        ),
    ),
    "log": Panel(
        "Log",
        "The raw log of the run, as it arrives. What you read stands still when you hold it; new "
        "lines are counted meanwhile. ‹ and › stand where a line goes on, … between its step and "
        "its figure, which are in sight. ┃ stands before a reading that counts, ┊ before one that "
        "does not, as of the warm-up; where that is not known, the frame says why. A line 'own: "
        "rank 1' is no reading: it has the time that a step takes this rank alone, by which slow "
        "ranks are found.",
        (
            Key("slash", "search", "Search", "find words in all of the log", said="/", footer=1),
            Key("n", "again(1)", "Next", "the next line that has them", footer=2),
            Key("N", "again(-1)", "Before", "the line before that has them", footer=6),
            Key("e", "error(1)", "Next error", "the next line that looks like an error", footer=3),
            Key("E", "error(-1)", "Error before", "the last such line before", footer=7),
            Key("r", "rank", "Rank", "the lines of one rank alone, or of all", footer=5),
            Key("w", "wrap", "Wrap", "long lines on several rows, or cut", footer=4),
            *SCROLL,
        ),
    ),
    "results": RESULTS,
    "curve": CURVE,
    "scroll": Panel("Text", "", PAGED),
    "filter": Panel(
        "Filter",
        "",
        (
            Key(
                "enter,down",
                "keep",
                "Keep",
                "back to the rows that have these words",
                footer=1,
                said="⏎",
            ),
            Key("escape", "clear", "Clear", "show every row again", footer=2, said="Esc"),
        ),
    ),
    **DIALOGS,
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
            priority=key.action == "redraw",  # whatever is in front
        )
        for key in PANELS[panel].keys
    ]


_SAID = {"enter": "⏎", "escape": "Esc", "space": "space", "ctrl+p": "^p", "shift+tab": "⇧tab"}


def key_name(key: Key) -> str:
    """How the help and the footer write a key."""
    return key.said or sign_of(key.keys)


def sign_of(pressed: str) -> str:
    """How they write a key that was pressed, by its name in Textual."""
    return _SAID.get(pressed, pressed)


def hints(keys: Sequence[Key], room: int) -> str:
    """A line of keys, "⏎ Start  Esc Not now  ? Help": as many of the first as have room beside what
    explains the others."""
    last = [key for key in keys if key.action == "help"]
    shown = [key for key in keys if key.action != "help"]
    while cell_len(line := _hint_line([*shown, *last])) > room and shown:
        shown.pop()
    return line if cell_len(line) <= room else ""


def _hint_line(keys: Sequence[Key]) -> str:
    return "  ".join(f"{key_name(key)} {key.label}" for key in keys)
