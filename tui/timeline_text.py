"""Who runs where and when, if all takes as long as is expected: a line for each host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from backends.inventory.nodesets import fold_nodeset
from profiles.durations import format_duration
from tui.backend_protocols import DryRun
from tui.text import plain

MOST_ROWS = 64
"""Lines; hosts beyond them are counted. Such as do the same at the same times are one line."""
MOST_NAME = 16


def timeline_lines(runs: Sequence[DryRun], width: int) -> list[str]:
    """With an axis above, in so many columns; nothing where nobody knows how long the runs take."""
    ends = [run.end_s for run in runs if run.end_s is not None]
    total = max(ends, default=0.0)
    if total <= 0 or len(ends) < len(runs):
        return []
    hosts: dict[str, list[DryRun]] = defaultdict(list)
    for run in runs:
        for host in run.hosts:
            hosts[host].append(run)
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    columns = width - MOST_NAME - 1
    for host, there in hosts.items():
        alike[tuple(_bars(there, columns, total))].append(host)
    lines = [f"{'':{MOST_NAME}} {_axis(columns, total)}"]
    for bars, names in alike.items():
        name = plain(fold_nodeset(names))
        name = name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"
        lines += [
            f"{name if not number else '':{MOST_NAME}} {bar}" for number, bar in enumerate(bars)
        ]
    more = len(lines) - 1 - MOST_ROWS
    return lines if more <= 0 else [*lines[: MOST_ROWS + 1], f"… {more} more lines"]


def _axis(columns: int, total: float) -> str:
    half, end = format_duration(total / 2), format_duration(total)
    left = f"{'0s':<{columns // 2}}{half}"
    return f"{left}{end:>{max(1, columns - len(left))}}"


def _bars(runs: Sequence[DryRun], columns: int, total: float) -> list[str]:
    """Of one host; more than one where runs are there side by side."""
    lanes: list[str] = []
    for run in sorted(runs, key=lambda run: (run.start_s or 0.0, run.label)):
        start = min(columns - 1, int((run.start_s or 0.0) * columns / total))
        length = max(1, int((run.end_s or 0.0) * columns / total) - start)
        bar = f"│{plain(run.short)}".ljust(length, "─")[:length]
        for number, lane in enumerate(lanes):
            if len(lane) <= start:
                lanes[number] = lane.ljust(start) + bar
                break
        else:
            lanes.append("".ljust(start) + bar)
    return lanes
