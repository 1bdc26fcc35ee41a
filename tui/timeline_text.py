"""Who runs where and when: a line for each host, a bar for each run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from backends.inventory.nodesets import fold_nodeset, natural_order
from profiles.cleantext import clean_text
from profiles.durations import format_duration
from tui.backend_protocols import DryRun
from tui.text import join, plain, shorten
from tui.theme import MUTED

MOST_ROWS = 64
"""Lines; hosts beyond them are counted. Such as do the same at the same times are one line."""
MOST_LEGEND = 4
"""Lines of the names for which bars have no room; all names are in the list of the runs."""
MOST_NAME = 16
NOW = "┊"


@dataclass(frozen=True, slots=True)
class Bar:
    """A run on its hosts from ``start_s`` to ``end_s``: of ``names``, which begin with the longest,
    the first that has room whole, or what the last begins with; then as much of ``fill`` as it
    takes. ``until_s``: the end that is expected, where that is later; up to it ``ahead`` is drawn,
    in a style of its own."""

    hosts: tuple[str, ...]
    names: tuple[str, ...]
    start_s: float
    end_s: float
    fill: str = "─"
    style: str = ""
    until_s: float = 0.0
    ahead: tuple[str, str] = ("", "")


_Drawn = tuple[tuple[int, str, str], ...]  # of one line: column, characters, style


def timeline_lines(runs: Sequence[DryRun], width: int) -> list[str]:
    """With an axis above, in so many columns; nothing where nobody knows how long the runs take.
    A run has its number, and its label where there is room for all of it; others have theirs
    below."""
    short = told_apart([(run.label, run.short) for run in runs])
    bars = [
        Bar(run.hosts, _names(run, name), run.start_s or 0.0, run.end_s)
        for run, name in zip(runs, short, strict=True)
        if run.end_s is not None
    ]
    total = max((bar.end_s for bar in bars), default=0.0)
    if total <= 0 or len(bars) < len(runs):
        return []
    columns = width - MOST_NAME - 1
    axis = f"{'':{MOST_NAME}} {_axis(columns, total)}"
    drawn_lines = [line.plain for line in host_lines(bars, width, total)]
    return [axis, *drawn_lines, *_legend(runs, short, bars, columns, total, width)]


def _legend(
    runs: Sequence[DryRun],
    short: Sequence[str],
    bars: Sequence[Bar],
    columns: int,
    total: float,
    width: int,
) -> list[str]:
    """Number and ``short`` name of those of which the bar has a number alone, side by side."""
    told = [
        f"{run.number} {plain(name)}"
        for run, name, bar in zip(runs, short, bars, strict=True)
        if len(bar.names[2])
        <= drawn(bar, columns, total)[1]
        < min(len(clean_text(one)) for one in bar.names[:2])
    ]
    lines = side_by_side([(one, "") for one in told], width, MOST_LEGEND)
    return [line.plain.rstrip() for line in lines]


def side_by_side(
    entries: Sequence[tuple[str, str]], width: int, rows: int, whole: str = ""
) -> list[Text]:
    """Names with their styles in columns of one width. Where ``rows`` are too few for all of them
    the last place has how many more there are, and ``whole``, how those come into sight."""
    wide = min(width, max((cell_len(name) for name, _ in entries), default=0))
    beside = max(1, (width + 2) // (wide + 2))
    told = entries if len(entries) <= beside * rows else entries[: beside * rows - 1]
    short = [(shorten(name, wide), style) for name, style in told]
    cells = [(name + " " * (wide - cell_len(name)), style) for name, style in short]
    if more := len(entries) - len(told):
        cells.append((f"… {more} more{whole}", MUTED))
    return [join(cells[at : at + beside], "  ") for at in range(0, len(cells), beside)]


def told_apart(names: Sequence[tuple[str, str]]) -> list[str]:
    """Of runs, by their labels and short names: each short name, with what of its label tells it
    from others that have the same."""
    alike: dict[str, list[set[str]]] = defaultdict(list)
    for label, short in names:
        alike[short].append(set(label.split()))
    shared = {short: set.intersection(*words) - {*short.split()} for short, words in alike.items()}
    return [
        " ".join(word for word in label.split() if word not in shared[short])
        if len(alike[short]) > 1
        else short
        for label, short in names
    ]


def _names(run: DryRun, short: str) -> tuple[str, ...]:
    labels = (f"│{run.number} {plain(label)}" for label in (run.label, short))
    return *labels, f"│{run.number}", "│"


def _axis(columns: int, total: float) -> str:
    half, end = format_duration(total / 2), format_duration(total)
    left = f"{'0s':<{columns // 2}}{half}"
    return f"{left}{end:>{max(1, columns - len(left))}}"


def host_lines(
    bars: Sequence[Bar],
    width: int,
    total: float,
    *,
    now_s: float | None = None,
    fold: bool = True,
    first: Collection[str] = (),
    order: Sequence[str] = (),
) -> list[Text]:
    """A line for each host, in ``width`` columns that end at ``total`` seconds; more than one where
    bars are there side by side. ``now_s``: where a line stands across all of them.
    ``fold``: hosts whose lines are the same are one. ``first``: hosts that stand above. ``order``:
    of those that have one; others follow by name."""
    hosts: dict[str, list[Bar]] = defaultdict(list)
    for bar in bars:
        for host in bar.hosts:
            hosts[host].append(bar)
    columns = width - MOST_NAME - 1
    alike: dict[tuple[str, tuple[_Drawn, ...]], list[str]] = defaultdict(list)
    place = {name: number for number, name in enumerate(order)}

    def rank(name: str) -> tuple[bool, int, Any]:
        return name not in first, place.get(name, len(place)), natural_order(name)

    for host in sorted(hosts, key=rank):
        there = hosts[host]
        alike["" if fold else host, _lanes(there, columns, total)].append(host)
    now = None if now_s is None else column_of(now_s, columns, total)
    lines = []
    for (_, lanes), names in alike.items():
        name = shorten(plain(fold_nodeset(names)), MOST_NAME)
        lines += [
            _line("" if number else name, lane, now, columns) for number, lane in enumerate(lanes)
        ]
    more = len(lines) - MOST_ROWS
    return lines if more <= 0 else [*lines[:MOST_ROWS], Text(f"… {more} more lines")]


def column_of(at_s: float, columns: int, total: float) -> int:
    return min(columns - 1, max(0, int(at_s * columns / total)))


def drawn(bar: Bar, columns: int, total: float) -> tuple[int, int]:
    """How many columns a bar has up to its end, and up to the end that is expected."""
    start = column_of(bar.start_s, columns, total)
    if bar.until_s <= bar.end_s:  # as wide as any that takes as long, wherever it begins
        length = int((bar.end_s - bar.start_s) * columns / total + 1e-6)
        length = max(1, min(length, columns - start))
        return length, length
    done, length = (
        max(1, min(columns, int(at * columns / total)) - start) for at in (bar.end_s, bar.until_s)
    )
    return done, length


def _lanes(bars: Sequence[Bar], columns: int, total: float) -> tuple[_Drawn, ...]:
    """Of one host; more than one where runs are there side by side."""
    lanes: list[list[tuple[int, str, str]]] = []
    ends: list[int] = []
    for bar in sorted(bars, key=lambda bar: (bar.start_s, bar.names)):
        start = column_of(bar.start_s, columns, total)
        done, length = drawn(bar, columns, total)
        fill, style = bar.ahead
        free = next((number for number, end in enumerate(ends) if end <= start), len(lanes))
        before = lanes[free][-1][1] if free < len(lanes) and ends[free] == start else ""
        cleaned = [clean_text(name) for name in bar.names]
        name = next(
            (one for one in cleaned if len(one) <= length and not _one_number(before, one)),
            cleaned[-1],
        )[:length]
        name = name.rstrip() if len(name) == length else name  # its end is seen
        words = name.ljust(done, bar.fill).ljust(length, fill or bar.fill)
        if free == len(lanes):
            lanes.append([])
            ends.append(0)
        lanes[free].append((start, words[:done], bar.style))
        if length > done:
            lanes[free].append((start + done, words[done:length], style))
        ends[free] = start + length
    return tuple(map(tuple, lanes))


def _one_number(before: str, after: str) -> bool:
    """Side by side they read as one."""
    return before[-1:].isdigit() and after[:1].isdigit()


def _line(name: str, lane: _Drawn, now: int | None, columns: int) -> Text:
    text = Text(f"{name:{MOST_NAME}} ", no_wrap=True, end="")
    at = 0
    for start, words, style in (*lane, (columns, "", "")):
        if now is not None and at <= now < start:
            text.append(" " * (now - at)).append(NOW, MUTED)
            at = now + 1
        if words:
            text.append(" " * (start - at)).append(words, style)
            at = start + len(words)
    return text
