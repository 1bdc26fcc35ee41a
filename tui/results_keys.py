"""Keys of Results, and what its help explains."""

from __future__ import annotations

from tui.campaign_words import GRADES, MARKS
from tui.flag_words import FLAGS
from tui.key_types import Key, Panel

WIDE = 150
"""Columns from which the table has more than the most needed."""

_MARKS = "".join(f"{sign}: of a speedup, {MARKS[sign]}.\n" for sign in "†‡§")

RESULTS = Panel(
    "Results",
    "The median over the successful repeats of each case, and how it scales: speedup is "
    "throughput over that of the base case, efficiency is speedup over how many times as many "
    "devices it has.\n"
    f"Gr: the grade, what a figure is good for: {GRADES}; the panel of the case begins with "
    "why.\n"
    "n: successful repeats, 6/7 where one failed or is to come.\n"
    "CV: their standard deviation over their mean.\n"
    f"{_MARKS}"
    "w: the interval is Welch's, of the ratio of geometric means, which three to five repeats "
    "have, and need not lie around the speedup, which is of medians; of these there is one from "
    "six on.\n"
    "Flags: what to distrust: a log changed or missing, then what sets the grade, of what costs as "
    "much first what not all cases have, and few repeats behind that where all have few; +2: two "
    "more, which the panel of the case has; D↓: what all share sets it, which the line below the "
    "list says.\n"
    "✗: before flags, a repeat failed; ▲: none did.\n"
    f"95% of speedup has a column from {WIDE} columns on; without room a column in which there is "
    "nothing drops out, as CV of one repeat, then speedup and efficiency of one case alone, then "
    "GPUs or Devices, then CV, then n. The panel "
    "of the case has all of them.\n\n"
    "Of a case:\n"
    "rule, which readings of a run make its figure, and how: elapsed, all samples over all the "
    "time between readings; mean, median, harmonic mean, last, of what the readings say; trimmed "
    "mean, without the largest and the smallest.\n"
    "window, how many these are; CV of speeds within a run; page 3 has that of step times.\n"
    "steady, whether its speed was level, without drift, step or stall.\n"
    "lost to, what takes the rest of the efficiency; unexplained, what nothing that was measured "
    "tells: e on Matrix makes one more run of each case that may.\n"
    "without data loading, the throughput that its log counts while it does not wait for data; "
    "‡: of other readings than the throughput, which its log sums up itself.\n"
    "training loss, as all else that logs say: the median of the repeats; page 3 has each.\n"
    "not level before step 24, until that step it was slower, or faster.\n\n"
    "◉ in a curve: the case under the cursor.\n"
    "●, ◆: the other sizes of its curve; other curves are lines alone, their numbers on them.\n"
    "◇ PROJECTED, dashed: what more devices would give if it went on so, and its range; of the "
    "curve of the case under the cursor, where its model fits.\n"
    "Below a curve stand the flags of the case under the cursor, where the list has no room for "
    f"all of them.\n\n{FLAGS}",
    (
        Key(
            "e",
            "export",
            "Export",
            "the report and every layout on the screen; write it to a file, or copy it",
            footer=1,
        ),
        Key("enter", "open", "Repeats", "every repeat of the case and its state", footer=2),
        Key("v", "view", "Curve", "the curve, or all about the case", footer=3),
        Key(
            "c",
            "quantity",
            "Curve",
            "curves of speedup, efficiency or throughput per device; of all, which is first",
            footer=4,
        ),
        Key(
            "z",
            "zoom",
            "Zoom",
            "the focused panel alone, or what is read below the list, where v leads to the next; "
            "again: all",
            footer=5,
        ),
        Key("slash", "filter", "Filter", "show only rows with these words", said="/", footer=6),
        Key("s", "sort", "Sort", "by throughput, speedup, efficiency, CV or grade", footer=7),
        Key("S", "reverse", "Reverse", "the largest first, or the smallest", footer=8),
        Key("escape", "back", "Back", "back to the list", 9, said="Esc", palette=False),
    ),
)

CURVE = Panel(
    "Curve",
    "",
    (
        Key("down,j", "move(1)", "Down", "the next case", said="↓ j", palette=False),
        Key("up,k", "move(-1)", "Up", "the case before it", said="↑ k", palette=False),
    ),
)
"""Of one that is alone on the page."""
