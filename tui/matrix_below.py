"""What stands below the grid: what each of several profiles runs, or where a terminal is tall the
grids of the others, then, where lines are free, what is known of the case under the cursor: what
runs, and what was measured before; what is marked; last, what others published."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from math import inf
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from backends.campaign.plan.cost_estimate import RunTime, device_seconds
from backends.results.gpu_time import device_time
from backends.results.past_result import PastResult
from profiles.counted import counted
from profiles.durations import format_duration
from profiles.errors import ProfileError
from profiles.format.case import Case
from profiles.format.launch_section import LAUNCHERS
from profiles.format.template import fill_known
from tui.matrix_labels import column_kinds, column_labels
from tui.matrix_marks import Marks, Rows, marked_cases
from tui.matrix_past import (
    CAMPAIGN,
    GRADE,
    INTERVAL,
    LEAST_NAME,
    NOTHING_YET,
    REPEATS,
    WHEN,
    past_cells,
)
from tui.matrix_request import Asked, lacking_settings
from tui.plan_words import READING_PAST, device_word
from tui.text import both_ends, number, plain, shorten
from tui.theme import ACCENT, MUTED, TEXT
from tui.widgets.grid_text import Figures, GridText

if TYPE_CHECKING:
    from profiles.references.reference_tables import Reference

MOST_COMMAND = 3
"""Lines of a command."""
LESS_OF_A_RESULT = (
    ((), False),
    ((), True),
    ((INTERVAL,), True),
    ((INTERVAL, WHEN), True),
    ((INTERVAL, REPEATS, GRADE, WHEN), True),
)
"""What is left out of a result for room, and whether its day is, beside its age: half a date is
none."""
LEAST_DEVICE = 8
"""Columns of one, where it is named."""
GAP = 3
"""Columns between two grids, lines between two rows of them."""


@dataclass(frozen=True, slots=True)
class OtherGrid:
    """A profile that takes part beside the one in front."""

    part: Marks
    cells: Rows
    figures: Figures

    def block(self, room: int, most: int) -> list[Text]:
        part = self.part
        marked = sum(cell.state == "marked" for row in self.cells for cell in row)
        title = f"{plain(part.profile.name)}  {counted(marked, 'case')}"
        labels, kinds = tuple(column_labels(part)), column_kinds(part)
        grid = GridText(labels, self.cells, kinds, self.figures, room)
        head = Text(shorten(f" {title}", room), f"bold {TEXT}", end="")
        return [head, *grid.lines(most - 1)]


def others_lines(others: Sequence[OtherGrid], width: int, height: int) -> list[Text]:
    """Side by side as long as there is room, then below; those that have none are named."""
    lines: list[Text] = []
    left = list(others)
    while left and height - len(lines) >= 4:
        most = height - len(lines) - (len(left) > 1)
        row: list[Text] = []
        used = 0
        while left:
            block = left[0].block(width - used, most)
            wide = max(line.cell_len for line in block)
            if used and used + wide > width:
                break
            row = _beside(row, used, block)
            used += wide + GAP
            left.pop(0)
        lines += [*row, Text(end="")]
    if left:
        names = ", ".join(plain(other.part.profile.name) for other in left)
        lines.append(Text(shorten(f" also marked: {names}", width), ACCENT, end=""))
    return lines[:height]


def profiles_lines(asked: Asked, width: int, height: int) -> list[Text]:
    """What each profile runs, where several take part."""
    if len(asked.taking_part) < 2:
        return []
    rows = []
    for part in asked.taking_part:
        cases, repeats = marked_cases(asked.cells(part)), asked.repeats_of(part)
        taken = device_seconds([asked.past(part).times.get(one.key) for one in cases], repeats)
        device = device_word([part.profile], asked.gpus)
        price = "" if taken is None else device_time(taken / 3600, device)
        many = f"{counted(len(cases), 'case')} × {repeats}"
        rows.append((plain(part.profile.name), many, price))
    widths = _widths(rows)
    room = max(1, width - sum(widths[1:]) - 5)  # with the blank before each line
    rows = [(both_ends(name, room), many, price) for name, many, price in rows]
    widths[0] = min(widths[0], room)
    told = _lined_up(rows, widths)
    return _listed("marked", told, len(told), width, height)


def _beside(row: list[Text], used: int, block: list[Text]) -> list[Text]:
    joined = []
    for left, right in zip_longest(row, block, fillvalue=Text(end="")):
        line = left.copy()
        line.append(" " * (used - line.cell_len)).append_text(right)
        joined.append(line)
    return joined


def case_lines(
    part: Marks,
    case: Case,
    asked: Asked,
    now: float,
    width: int,
    height: int,
    command: Sequence[str] = (),
    *,
    beside: bool = True,
) -> list[Text]:
    """All that is known of a case, as far as there is room: the past has half of what the command
    leaves, and what published figures do not need; so has what is marked ``beside`` it of what is
    left then. ``command``: of :func:`run_lines`."""
    time = asked.past(part).times.get(case.key)
    device = device_word([part.profile], asked.gpus)
    lines = run_lines(part, case, time, width, device, command)
    if len(lines) > height + 1:  # the last one is empty
        lines = [*lines[: max(0, height - 1)], Text(" … i shows all of it", MUTED, end="")]
    lines = lines[:height]
    same, rows = asked.past(part).of(case).same, asked.published(part, case)

    def room() -> int:
        left = height - len(lines)
        return max(left // 2, left - len(rows) - 2) if rows else left

    lines += past_lines(case.label, same, now, width, room())
    lines += marked_lines(part, asked, now, width, room()) * beside
    left = height - len(lines)
    return lines + published_lines(rows, case.batch_size, part, asked.devices(part), width, left)


def run_lines(
    part: Marks,
    case: Case,
    time: RunTime | None,
    width: int,
    device: str,
    command: Sequence[str] = (),
) -> list[Text]:
    """What a run of the case is: its size, its command, how long it takes and may take. Where no
    exact ``command`` is given what is chosen when it starts stays in braces."""
    try:
        launch = part.profile.launch_for(case)
    except ProfileError:  # it says so itself where it is planned
        return []
    size = f"{counted(case.nodes, 'host')} × {counted(case.gpus_per_node, device)}"
    if case.batch_size is not None:
        size += f", batch {case.batch_size} on each, {case.batch_size * case.gpus} in all"
    settings = part.profile.settings_with(part.settings)
    lacking = lacking_settings(part)
    known = {name: value for name, value in settings.items() if name not in lacking}
    values = {**known, **case.values()}
    words = _hanging(f"{size}; {launch.launcher}: {LAUNCHERS[launch.launcher]}", width)
    words += command or _few_lines(one_line(fill_known(launch.command, values)), width - 2)
    if launch.container is not None and not command:
        container = launch.container
        words.append(f"in {container.runtime}: {one_line(fill_known(container.image, values))}")
    limits = f"ended after {launch.timeout}, or {launch.stall_timeout} without a reading"
    if time is not None:
        limits = f"≈{format_duration(time.seconds)} {time.basis}; {limits}"
    words += _hanging(limits, width)
    return _listed(f"{case.label}: what a run is", words, len(words), width, len(words) + 2)


def past_lines(
    label: str, same: Sequence[PastResult], now: float, width: int, height: int
) -> list[Text]:
    """The newest first, in columns; the rest is counted."""
    shown = _shown(len(same), height)
    rows = [past_cells(one, now) for one in same[:shown]]
    words = _in_columns(rows, width - 1) if rows else []
    title = f"{label} before; ±: half of its 95% interval, – for n=1"
    return _listed(title, words, len(same), width, height)


def _in_columns(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A campaign's name without its middle, for campaigns may differ in their ends alone; the
    device where there is room for more than its beginning."""
    widths = _widths(rows)
    kept = [n for n, wide in enumerate(widths) if wide]

    def room() -> int:
        return width - sum(widths[n] + 2 for n in kept if n < CAMPAIGN)

    for out in (INTERVAL, GRADE):
        if out in kept and room() < LEAST_NAME:
            kept.remove(out)
    widths[CAMPAIGN] = min(widths[CAMPAIGN], max(1, room()))
    if room() - widths[CAMPAIGN] - 2 < LEAST_DEVICE:
        kept = [n for n in kept if n <= CAMPAIGN]

    def text(row: Sequence[str], n: int) -> str:
        return set_cell_size(both_ends(row[n], widths[n]) if n == CAMPAIGN else row[n], widths[n])

    return ["  ".join(text(row, n) for n in kept).rstrip() for row in rows]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]


def _lined_up(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    return ["  ".join(map(set_cell_size, row, widths)).rstrip() for row in rows]


def marked_lines(part: Marks, asked: Asked, now: float, width: int, height: int) -> list[Text]:
    """What would run: how long each case takes, and what it measured last."""
    cases, past = marked_cases(asked.cells(part)), asked.past(part)
    repeats = asked.repeats_of(part)
    device = device_word([part.profile], asked.gpus)
    none = NOTHING_YET if asked.past_reading.complete else READING_PAST

    def words(case: Case, without: Collection[int], undated: bool) -> tuple[str, str, str, str]:
        time, same = past.times.get(case.key), past.of(case).same
        taken = device_seconds([time], repeats)
        cells = list(past_cells(same[0], now)[:CAMPAIGN]) if same else [none]
        if same and undated:
            cells[WHEN] = cells[WHEN].partition(", ")[2] or cells[WHEN]
        return (
            case.label,
            "time not known" if time is None else f"≈{format_duration(time.seconds)} × {repeats}",
            "" if taken is None else device_time(taken / 3600, device),
            "  ".join(cell for n, cell in enumerate(cells) if cell and n not in without),
        )

    for less in LESS_OF_A_RESULT:
        rows = [words(case, *less) for case in cases[: _shown(len(cases), height)]]
        widths = _widths(rows)
        if sum(widths) + 2 * len(widths) - 1 <= width:  # with the blank before each line
            break
    told = _lined_up(rows, widths)
    title = f"marked: {counted(len(cases), 'case')}, how long a run of each takes, its last result"
    return _listed(title, told, len(cases), width, height)


def published_lines(
    rows: Sequence[Reference],
    batch: int | None,
    part: Marks,
    devices: Collection[str],
    width: int,
    height: int,
) -> list[Text]:
    """What others measured, and on what; of these the nearest to ``batch``, that of the case,
    comes first, then the GPU model of today's hosts, ``devices``, then the profile's own
    framework."""
    framework = part.profile.framework

    def order(row: Reference) -> tuple[float, bool, bool]:
        there = any(row.gpu.name in name for name in devices)
        return _apart(row, batch), not there, not row.framework.startswith(framework)

    words = (_published(row) for row in sorted(rows, key=order))
    title = "published: same workload, precision and number of GPUs"
    return _listed(title, words, len(rows), width, height)


def _apart(row: Reference, batch: int | None) -> float:
    """How many times as large the one is as the other; infinite where nobody says."""
    if not (batch and row.batch_size):
        return inf
    return max(batch, row.batch_size) / min(batch, row.batch_size)


def _published(row: Reference) -> str:
    size = f", b{row.batch_size}" if row.batch_size else ""
    year = f", {row.date[:4]}" if row.date else ""
    what = f"{row.gpu.name}: {number(row.value)} {row.unit}{size}, {row.framework}"
    return plain(f"{what}, {row.system}{year}")


def _hanging(words: str, width: int) -> list[str]:
    return wrap(words, max(20, width - 2), subsequent_indent="  ")


def _few_lines(command: str, width: int) -> list[str]:
    lines = wrap(command, max(20, width), break_on_hyphens=False)
    if len(lines) > MOST_COMMAND:
        lines[MOST_COMMAND - 1 :] = [shorten(" ".join(lines[MOST_COMMAND - 1 :]), width)]
    return lines


def one_line(command: str) -> str:
    return plain(" ".join(command.split()))


def _listed(title: str, words: Iterable[str], total: int, width: int, height: int) -> list[Text]:
    """Of ``total`` lines those that have room; no more of ``words`` are made."""
    if not (shown := _shown(total, height)):
        return []
    lines = [Text(shorten(f" {title}", width), f"bold {TEXT}", end="")]
    lines += [Text(shorten(f" {one}", width), MUTED, end="") for one in islice(words, shown)]
    if more := total - shown:
        lines.append(Text(f" +{more} more", MUTED, end=""))
    return [*lines, Text(end="")]


def _shown(total: int, height: int) -> int:
    """How many of them have room below a title and above an empty line, or how many more."""
    return total if total < height - 1 else max(0, height - 3)


def below_text(lines: Sequence[Text], width: int, height: int) -> Text:
    """All of ``height``, so that nothing is laid out anew when other lines come."""
    kept = [*lines[:height], *(Text(end="") for _ in range(height - len(lines)))]
    for line in kept:
        line.truncate(width)
    return Text("\n", end="").join(kept)
