"""The keys of every dialog; those of the pages are in :mod:`tui.key_bindings`."""

from __future__ import annotations

from collections.abc import Mapping

from tui.campaign_words import GRADES, MARKS
from tui.flag_words import FLAGS
from tui.key_types import LAST, Key, Panel

PALETTE = Key(
    "ctrl+p,colon",
    "app.command_palette",
    "Palette",
    "find any action of this by name",
    palette=False,
    said="^p or :",
)
HELP = Key("question_mark", "help", "Help", "explain these keys", footer=LAST, said="?")

_READ = (
    Key(
        "escape,q,question_mark,enter",
        "leave",
        "Close",
        "back to the page",
        footer=1,
        said="Esc q ? ⏎",
    ),
    Key("slash", "find", "Find", "find words in it", footer=2, said="/"),
    Key("n", "next(1)", "Next", "to the next line that has them", footer=3),
    Key("N", "next(-1)", "Before", "to the one before", footer=4),
    PALETTE,
)

DIALOGS: Mapping[str, Panel] = {
    "reading": Panel("Text", "", _READ),
    "help": Panel(
        "Help",
        "",
        (
            Key(
                "tab",
                "section(1)",
                "Next section",
                "to the next heading; behind the last one to the first",
                footer=1,
                said="Tab",
                palette=False,
            ),
            Key(
                "shift+tab",
                "section(-1)",
                "Section before",
                "to the heading before",
                footer=2,
                said="⇧Tab",
                palette=False,
            ),
            *_READ,
        ),
    ),
    "choice": Panel(
        "Question",
        "",
        (
            Key("enter", "choose", "Choose", "take the answer under the cursor", footer=1),
            Key("escape,q", "leave", "Back", "change nothing", footer=2, said="Esc q"),
            Key("down,j", "down", "Down", "next answer", said="↓ j"),
            Key("up,k", "up", "Up", "answer before", said="↑ k"),
            PALETTE,
            HELP,
        ),
    ),
    "prompt": Panel(
        "Question",
        "",
        (Key("escape", "leave", "Cancel", "change nothing", footer=2, said="Esc"),),
    ),
    "entry": Panel(
        "Entry",
        "",
        (
            Key("enter", "submit", "Accept", "take what is written", footer=1),
            Key(
                "ctrl+u",
                "delete_left_all",
                "Clear",
                "delete what stands before the cursor",
                footer=3,
                said="^u",
                palette=False,
            ),
        ),
    ),
    "marklist": Panel(
        "Marks",
        "",
        (
            Key("space", "mark", "Mark", "mark, or take the mark away", footer=1),
            Key("a", "all", "All", "mark all", footer=2),
            Key("n", "none", "None", "take all marks away", footer=3),
            Key("i", "write", "Type", "type instead of marking", footer=4),
            Key("enter", "accept", "Accept", "take the marks", footer=5),
            Key("escape,q", "leave", "Cancel", "change nothing", footer=6, said="Esc q"),
            PALETTE,
            HELP,
        ),
    ),
    "settings": Panel(
        "Settings",
        "",
        (
            Key("enter", "edit", "Change", "write another value", footer=1),
            Key("x", "reset", "Default", "back to the profile's default", footer=2),
            Key("escape,q", "leave", "Done", "back to the matrix", footer=3, said="Esc q"),
            PALETTE,
            HELP,
        ),
    ),
    "dryrun": Panel(
        "Dry-run",
        "# 3/6: the third run of the plan, of six; they are listed as they start.\n"
        "2n1g #1: of its case the first repeat; profiled: one more, which counts for no figure.\n"
        "│3 ──: in the schedule, where the third run begins, and for how long it has the host.\n"
        "#: before all that is no command.",
        (
            Key("enter", "start", "Start", "preflight of the hosts, then start", footer=1),
            Key("y", "copy", "Copy", "copy everything to the clipboard", footer=2),
            Key("escape,q", "leave", "Close", "start nothing", footer=3, said="Esc q"),
            Key("slash", "find", "Find", "find a run, a host, a part of a command", 4, said="/"),
            Key("n", "next(1)", "Next", "to the next line that has it", footer=5),
            Key("N", "next(-1)", "Before", "to the one before", footer=6),
            Key("right_square_bracket", "run(1)", "Next run", "to the next run", 7, said="]"),
            Key("left_square_bracket", "run(-1)", "Run before", "to the run before", 8, said="["),
            PALETTE,
            HELP,
        ),
    ),
    "start": Panel(
        "Start",
        "held: another campaign or a precheck has the host; runs wait until it lets go.\n"
        "stopped: preflight found what runs cannot go on with; x leaves the host out, or a\n"
        "profile that is stopped on all of them, F does not.\n"
        "with … too: the time counts these hosts, though no run can go there now.",
        (
            Key("enter", "start", "Start", "start the campaign", footer=1),
            Key("x", "leave_out", "Leave out, start", "start without what is stopped", footer=2),
            Key("F", "force", "Start anyway", "start although preflight says stop", footer=3),
            Key(
                "A",
                "add",
                "Add to it",
                "add to the campaign that is at work here the cases that it has not got; they are "
                "in its tables then",
                footer=1,
                named="Add these runs to the campaign at work",
            ),
            Key(
                "K",
                "start_kept",
                "Keeper",
                "have a keeper start it, which goes on without a console; on each host, runs of "
                "other campaigns and its own take turns",
                footer=4,
                named="Have a keeper start it",
            ),
            Key("d", "dry_run", "Dry-run", "show every command", footer=5),
            Key("escape,q", "leave", "Not now", "start nothing", footer=6, said="Esc q"),
            PALETTE,
            HELP,
        ),
    ),
    "precheck": Panel(
        "Precheck",
        "Hosts are measured by themselves, two by two and all together; who is slow or broken is "
        "named, with a NODESET of the others to copy. It goes on while this is closed.\n"
        "broken: a measurement ended there without a figure.\n"
        "faulty: results were wrong, or memory had errors.\n"
        "slow: slower than its like, or than itself in earlier prechecks.\n"
        "suspect: slow, or stalled or lost more often than others, in real runs alone.\n"
        "not judged: nothing names it, but it was busy, so that nobody can tell.\n"
        "not measured: left out, and why is said; nothing is known of it.",
        (
            Key("enter", "start", "Start", "measure the hosts that are free", footer=1),
            Key("l", "last", "Last", "what the last one found", footer=2),
            Key("p", "plan", "Measure again", "what another one would do", footer=3),
            Key(
                "o",
                "use",
                "Use others",
                "Matrix leaves out those to be left out: o there changes that",
                footer=4,
            ),
            Key(
                "y",
                "copy",
                "Copy",
                "copy --hosts with those that are well, or were not judged where none is",
                footer=5,
            ),
            Key("x", "stop", "Stop", "end it; what was measured is kept", footer=6),
            Key("escape,q", "leave", "Close", "back to the hosts", footer=7, said="Esc q"),
            PALETTE,
            HELP,
        ),
    ),
    "campaigns": Panel(
        "Campaigns",
        "Fastest case: the largest throughput of the campaign, where profiles have several units "
        "that of the first profile which has a result; speedup and grade are of that "
        "case, and of no other; base: others have their speedup over it.\n"
        f"Gr: the grade, what its figure is good for: {GRADES}; Results has those of all cases.\n"
        f"?: behind a grade, {MARKS['?']}; Enter opens it and reads them. "
        "†, ‡, §: as Results has them.\n"
        "State: ▶ live, ◌ unfinished, ✓ finished; of a finished one which runs it lost: ▲ some, "
        "✗ all, – all, and none failed.\n"
        "How long ago is by your clock, in a demo too, whose runs have a faster one.",
        (
            Key("enter", "open", "Open", "look at the campaign", footer=1),
            Key(
                "r",
                "resume",
                "Resume",
                "go on with it: re-attach, collect, start the rest",
                footer=2,
            ),
            Key("b", "keep", "Keeper", "leave it to a keeper, which goes on by itself", footer=3),
            Key(
                "space",
                "mark",
                "Mark",
                "mark it for comparing, or take the mark away; marks stay until they were compared "
                "and this list is closed",
                footer=4,
            ),
            Key(
                "c",
                "compare",
                "Compare",
                "those that are marked, side by side, against the oldest; of one alone what it has "
                "with different parameters",
                footer=5,
            ),
            Key(
                "asterisk",
                "mark_all",
                "Mark all",
                "mark every campaign that the list shows, none that its filter hides; again: take "
                "these marks away",
                footer=16,
                said="*",
            ),
            Key("u", "unmark", "Unmark", "take all marks away", footer=7),
            Key(
                "p",
                "replay",
                "Replay",
                "watch it as it ran, in this terminal; q comes back",
                footer=8,
            ),
            Key("slash", "filter", "Filter", "show only rows with these words", said="/", footer=9),
            Key(
                "s",
                "sort",
                "Sort",
                "by age, name, state, runs, failed, speedup, grade, device, measures",
                footer=10,
            ),
            Key("S", "reverse", "Reverse", "the other way round", footer=17),
            Key(
                "t",
                "tag",
                "Tag",
                "give it tags, or take them away; of several that are marked give each one more",
                footer=11,
            ),
            Key("n", "note", "Note", "say something of it, which its report has", footer=12),
            Key("m", "rename", "Rename", "give it another name; it stays the campaign", footer=14),
            Key(
                "d",
                "remove",
                "Remove",
                "from this disk, logs and all, after a question that says how much it is",
                footer=13,
            ),
            Key("escape,q", "leave", "Close", "open nothing", footer=6, said="Esc q"),
            PALETTE,
            HELP,
        ),
    ),
    "export": Panel(
        "Export",
        "The results as the report and every layout have them, in English or Chinese. Tables can "
        "be put in another order, or have rows as columns, and are written as they stand.",
        (
            Key("v", "layout(1)", "Layout", "the next layout; the report is the last", footer=1),
            Key(
                "f",
                "format",
                "Format",
                "aligned on the screen, or as it is written: md, csv, json, html",
                footer=2,
            ),
            Key("L", "language", "Language", "English or Chinese", footer=8),
            Key("s", "sort", "Sort", "by the next column", footer=6),
            Key("S", "reverse", "Reverse", "the largest first, or the smallest", footer=9),
            Key("p", "transpose", "Transpose", "rows as columns", footer=7),
            Key("y", "copy", "Copy", "copy all of it to the clipboard", footer=4),
            Key("enter", "write", "Write", "write it to a file", footer=3),
            Key("V", "layout(-1)", "Before", "the layout before", footer=10),
            Key("escape,q", "leave", "Close", "back to the results", footer=5, said="Esc q"),
            PALETTE,
            HELP,
        ),
    ),
    "compare": Panel(
        "Compare",
        "Every campaign against one, the oldest at first, as dlperf-tui compare.\n"
        "List:\n"
        "ratio: of the medians.\n"
        "n: successful repeats of baseline, then candidate, 6/7: one is missing.\n"
        "w: of the ratio of geometric means; need not lie around the medians', which has its "
        "own interval from six repeats on.\n"
        "Verdict, by Welch's interval:\n"
        "improvement, regression: it excludes 1, the change is over the threshold.\n"
        "faster, slower, in doubt: so, but grade D, another rule, other hosts, other devices or "
        "mixed environments.\n"
        "same: all of it is within the threshold.\n"
        "inconclusive: between these, or of fewer than three repeats.\n"
        "on other machines: no host of one side was on the other.\n"
        "insufficient: a side has no successful run of the case.\n"
        "only in 1: no other has the case at all.\n"
        "Holm: all cases tested at once, as among many one may be slow by chance.\n"
        "Curves:\n"
        "base: of speedup and efficiency the smallest case that all have; see title.\n"
        "another rule: a case measured so is no exact speedup, as ‡ of Results says; its panel "
        "Verdict names it.\n"
        "◉ in a curve: the case under the cursor. Behind it stand its figures in the baseline "
        "and the candidate, by their numbers.\n"
        "Campaigns:\n"
        "torchrun packages, or of another program: those of the Python that it runs in.\n"
        "Verdict:\n"
        "watched: of how many repeats it is known what the machines did.\n"
        f"{FLAGS}",
        (
            Key("v", "view", "View", "the next of curves, verdict and campaigns", footer=1),
            Key(
                "c",
                "quantity",
                "Curve",
                "curves of throughput per device, speedup or efficiency",
                footer=2,
            ),
            Key(
                "z",
                "zoom",
                "Zoom",
                "the focused panel alone, or what is read below the list; again: all",
                footer=3,
            ),
            Key("b", "baseline", "Base", "hold all against the next campaign", footer=3),
            Key(
                "a",
                "across",
                "Across",
                "parameters in which the cases of a pair may differ, such as precision; set "
                "already where no case is common without",
                footer=6,
            ),
            Key("t", "threshold", "Threshold", "the change that counts, 2% at first", footer=4),
            Key("e", "write", "Write", "write it to a file: markdown, CSV or JSON", footer=6),
            Key("y", "copy", "Copy", "copy all of it to the clipboard, as markdown", footer=7),
            Key("escape,q", "leave", "Close", "back to the campaigns", footer=5, said="Esc q"),
            Key(
                "enter",
                "open",
                "Repeats",
                "every repeat of the case, in the candidate; b, and those of the other",
                footer=8,
            ),
            Key("slash", "filter", "Filter", "show only rows with these words", said="/", footer=9),
            Key("s", "sort", "Sort", "by ratio, by verdict, as the cases come", footer=11),
            Key("S", "reverse", "Reverse", "the other way round", footer=12),
            Key(
                "r",
                "read",
                "Read again",
                "read the campaigns again, and logs that were changed",
                footer=10,
            ),
            Key(
                "down,j",
                "move(1)",
                "Down",
                "the next case, where z shows the curves alone",
                said="↓ j",
                palette=False,
            ),
            Key("up,k", "move(-1)", "Up", "the case before it", said="↑ k", palette=False),
            PALETTE,
            HELP,
        ),
    ),
    "unfinished": Panel(
        "Unfinished",
        "",
        (
            Key("enter,o", "open", "Open", "look at it, start nothing", footer=1, said="⏎ o"),
            Key("r", "resume", "Resume", "re-attach, collect, start the rest", footer=2),
            Key("b", "keep", "Keeper", "leave it to a keeper, which goes on by itself", footer=3),
            Key("escape,q", "leave", "Not now", "leave it as it is", footer=4, said="Esc q"),
            Key("slash", "filter", "Filter", "show only rows with these words", said="/", footer=5),
            Key("s", "sort", "Sort", "by the next column", footer=6),
            Key("S", "reverse", "Reverse", "the other way round", footer=7),
            PALETTE,
            HELP,
        ),
    ),
    "repeats": Panel(
        "Repeats",
        "",
        (
            Key("enter", "open", "To its run", "the run on Runs, with its chart and log", footer=2),
            Key("y", "copy", "Copy", "copy all of it to the clipboard, as markdown", footer=2),
            Key(
                "escape,q", "leave", "Close", "back to where it was opened", footer=1, said="Esc q"
            ),
            PALETTE,
            HELP,
        ),
    ),
}
