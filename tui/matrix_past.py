"""What was measured before, on the matrix: figures in the cells, holes, times; and in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import localtime, strftime

from rich.cells import cell_len
from rich.text import Text

from backends.campaign.plan.cost_estimate import RunTime, device_seconds, run_time
from backends.campaign.record.run_state import RunState
from backends.hosts.host_facts import HostSnapshot
from backends.results.gpu_time import device_time
from backends.results.grade_words import half_text
from backends.results.numbers import significant
from backends.results.past_result import (
    Past,
    PastFailure,
    PastOfCase,
    PastResult,
    other_settings,
    past_of_profile,
)
from profiles.durations import format_duration
from profiles.format.case import Case
from tui.matrix_marks import Cell, Marks
from tui.plan_words import READING_PAST
from tui.text import RUN_STATES, ago, both_ends, number, plain, shorten
from tui.theme import BAD, MUTED

LEAST_NAME = 12
"""Columns of a campaign's name, without its middle, wherever there is one."""
MOST_MEASURED = 12
"""Rows of a grid that are not its profile's, as far as they come of what was measured."""
NOTHING_YET = "no result yet"
FAILED = RUN_STATES[RunState.FAILED][0]
_NOTHING = PastOfCase()


@dataclass(frozen=True)
class PastOfGrid:
    """Of every cell of a grid. ``figures``: row by row, empty where all are. By the key of a case:
    ``results``, of the cases that have some; ``times``, how long a run takes."""

    results: Mapping[str, PastOfCase] = field(default_factory=dict)
    times: Mapping[str, RunTime | None] = field(default_factory=dict)
    figures: tuple[tuple[str, ...], ...] = ()

    def of(self, case: Case) -> PastOfCase:
        return self.results.get(case.key, _NOTHING)

    def device_s(self, cells: Iterable[Cell], repeats: int) -> float | None:
        """Of all of them that can run."""
        able = (cell.case.key for cell in cells if cell.state != "impossible")
        return device_seconds([self.times.get(key) for key in able], repeats)


def past_of_grid(
    part: Marks,
    cells: Sequence[Sequence[Cell]],
    found: Mapping[tuple[str, str], Sequence[Past]],
    devices: Collection[str],
    *,
    simulated: bool,
) -> PastOfGrid:
    """``found``: by profile and tag. ``devices``: see
    :func:`~backends.campaign.measured_before.known_devices`."""
    results: dict[str, PastOfCase] = {}
    times: dict[str, RunTime | None] = {}
    profile, settings = part.profile, part.settings
    past = past_of_profile(found, profile, settings, devices, simulated=simulated)
    for case in (cell.case for row in cells for cell in row):
        results[case.key] = of = past(case)
        times[case.key] = run_time(profile, case, settings, of)
    figures = tuple(tuple(figure(results.get(c.case.key, _NOTHING)) for c in row) for row in cells)
    return PastOfGrid(results, times, figures if any(map(any, figures)) else ())


def measured_rows(
    part: Marks,
    hosts: Sequence[HostSnapshot],
    found: Mapping[tuple[str, str], Sequence[Past]],
    devices: Collection[str],
    *,
    simulated: bool,
) -> tuple[str, ...]:
    """Tags that the grid lacks, of which some cell would have a figure and can run on these hosts:
    the :data:`MOST_MEASURED` measured last. The rest as of :func:`past_of_grid`."""
    name = part.profile.name
    newest = {
        tag: max(past.at for past in results)
        for (profile, tag), results in found.items()
        if profile == name and tag not in part.tags and results
    }
    if not newest:
        return ()
    cells = replace(part, tags=tuple(newest)).cells(hosts)
    past = past_of_grid(part, cells, found, devices, simulated=simulated)
    able = [
        row[0].case.tag
        for row in cells
        if any(c.state != "impossible" and figure(past.of(c.case)) for c in row)
    ]
    return tuple(sorted(able, key=newest.__getitem__, reverse=True)[:MOST_MEASURED])


def figure(past: PastOfCase) -> str:
    """For a cell: ``384 D``, ``7392 B``, ``26.6k A``, with its grade where it has one; ``✗ 384 D``
    of one that failed since, ``✗`` where it never succeeded; empty without a result."""
    words = [FAILED] if past.failed is not None else []
    if (newest := past.newest) is not None:
        words += [brief(newest.throughput), newest.grade or ""]
    return " ".join(words).rstrip()


def brief(value: float) -> str:
    """Three digits in at most five columns; four of what is below ten thousand."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= (9999.5 if unit == "k" else 0.9995 * size):
            return f"{value / size:#.3g}".rstrip(".") + unit
    return f"{value:.0f}" if value >= 1000 else significant(value, 3)


def holes(
    cells: Iterable[Cell], past: PastOfGrid, repeats: int, target: float | None
) -> list[Cell]:
    """Those that can run and that nothing stands for: no result of so many repeats, or with a
    ``target``, of a 95% interval as narrow."""
    return [
        cell
        for cell in cells
        if cell.state != "impossible"
        and not any(_is_enough(one, repeats, target) for one in past.of(cell.case).same)
    ]


def _is_enough(one: PastResult, repeats: int, target: float | None) -> bool:
    narrow = target is None or (one.half_width is not None and one.half_width <= target)
    return narrow and one.repeats >= repeats


def past_line(
    here: Case, part: Marks, past: PastOfGrid, now: float, room: int, *, reading: bool
) -> Text:
    """What stands for the case: figure, repeats, grade, of which campaign and when, on what; or
    why it failed last."""
    of = past.of(here)
    if of.failed is not None:
        return Text(failure_words(of.failed, now, room), BAD, end="")
    found = of.newest or of.other
    if found is None:
        words = READING_PAST if reading else NOTHING_YET
        return Text(words, MUTED, end="")
    prefix = ""
    if of.newest is None:
        changed = other_settings(found, part.profile, part.settings)
        given = "settings unknown" if changed is None else _settings_words(changed)
        prefix = f"{given}: "
    words = prefix + result_words(found, now, room - cell_len(prefix))
    return Text(shorten(words, room), MUTED, end="")


def older_words(same: Sequence[PastResult], target: float | None, now: float, room: int) -> str:
    """Of the results of a case, the newest first, that which counts for filling holes though it
    is not the newest: of more repeats or, with a ``target``, narrower. Empty where there is none,
    and no room."""
    if not same:
        return ""

    def worth(one: PastResult) -> float:
        if target is None:
            return one.repeats
        return -inf if one.half_width is None else -one.half_width

    best = max(same, key=worth)
    if worth(best) <= worth(same[0]):
        return ""
    why = "of more repeats" if target is None else "narrower"
    grade = "" if best.grade is None else f", grade {best.grade}"
    figures = f"{number(best.throughput)}, n={best.repeats}{grade}"
    when = f", {_age(best, now)}"
    forms = (f"older, {why}: {figures}{when}", f"older: {figures}{when}")
    return next((words for words in forms if cell_len(words) <= room), "")


def _age(found: Past, now: float) -> str:
    return f"{ago(max(0.0, now - found.at))}{' by your clock' * found.simulated}"


def _settings_words(settings: Mapping[str, str]) -> str:
    return "with " + ", ".join(f"{name}={plain(value)}" for name, value in settings.items())


def result_words(found: PastResult, now: float, room: int) -> str:
    """``6,872 images/s, n=3, grade B, 2d ago: 0012-h200``, and on which device where there is
    room."""
    parts = [f"{number(found.throughput)} {plain(found.unit)}", f"n={found.repeats}"]
    if found.grade is not None:
        parts.append(f"grade {found.grade}")
    if found.imported:
        parts.append("imported")
    parts.append(_age(found, now))
    whole = ", ".join(parts)
    left = room - cell_len(whole) - len(": ")
    if left < LEAST_NAME:  # what is left of a name would tell nothing
        return whole
    where = f"{whole}: {both_ends(plain(found.campaign), left)}"
    longer = f"{where}, on {plain(found.devices)}" if found.devices else where
    return longer if cell_len(longer) <= room else where


INTERVAL, REPEATS, GRADE, WHEN, CAMPAIGN = 1, 2, 3, 4, 6
"""Their places among :func:`past_cells`."""


def past_cells(found: PastResult, now: float) -> tuple[str, ...]:
    """The same in full, in columns: with its 95% interval, its day, and what it was measured on. Of
    what was simulated not how long ago: there is no room to say by whose clock."""
    day = strftime("%Y-%m-%d", localtime(found.at))
    narrow = f"±{half_text(found.half_width)}"
    return (
        f"{number(found.throughput)} {plain(found.unit)}",
        narrow,
        f"n={found.repeats}",
        "" if found.grade is None else f"grade {found.grade}",
        day if found.simulated else f"{day}, {_age(found, now)}",
        "imported" if found.imported else "",
        plain(found.campaign),
        plain(found.devices),
    )


def failure_words(found: PastFailure, now: float, room: int) -> str:
    """``✗ out of GPU memory, 2d ago: 0012-v100``; a reason that is too long is cut for the rest."""
    when = f", {_age(found, now)}: "
    name = both_ends(plain(found.campaign), max(LEAST_NAME, room // 2 - cell_len(when)))
    where = f"{when}{name}"
    left = max(room // 2, room - cell_len(where))
    return shorten(f"{shorten(f'{FAILED} {plain(found.reason)}', left)}{where}", room)


def time_line(
    here: Cell,
    past: PastOfGrid,
    repeats: int,
    others: Sequence[tuple[str, Iterable[Cell]]],
    room: int,
    device: str,
) -> Text:
    """How long a run of the case takes and what its repeats come to; then the same of ``others``,
    such as its row, as many as have room. ``device``: "GPU", or "device"."""
    own = past.times.get(here.case.key)
    if own is None:
        return Text("nobody knows how long a run takes", MUTED, end="")

    def said(seconds: float | None) -> str:
        return "" if seconds is None else device_time(seconds / 3600, device)

    all_of = said(device_seconds([own], repeats))
    words = f"≈{format_duration(own.seconds)} {own.basis}, × {repeats}: {all_of}"
    for name, cells in others:
        all_of = said(past.device_s(cells, repeats))
        more = f"{words} · {name} {all_of}" if all_of else words
        words = more if cell_len(more) <= room else words
    return Text(shorten(words, room), MUTED, end="")
