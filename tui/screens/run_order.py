"""The orders in which the list of runs can stand."""

from __future__ import annotations

from backends.campaign.record.run_view import RunView
from backends.campaign.record.state import RunState
from tui.row_order import RowOrder
from tui.widgets.keyed_table import Row

Listed = tuple[RunView, Row]


def _urgency(listed: Listed) -> int:
    """What is at work, then what went wrong, then what is to come; last, what is over and well,
    or was tried again."""
    run, row = listed
    if run.state.active:
        return 0
    if row.replaced:
        return 6
    if run.state is RunState.FAILED:
        return 1
    if run.state.waits:
        return 3 if run.paused else 2
    return 4 if run.state is RunState.CANCELLED else 5


def _rate(listed: Listed) -> float | None:
    """As the list shows it."""
    run, _ = listed
    return run.throughput_now if run.state.active else run.throughput


def _elapsed(listed: Listed) -> float | None:
    return listed[0].elapsed_s


PLANNED: RowOrder[Listed] = RowOrder(
    {"plan": None, "state": _urgency, "throughput": _rate, "elapsed": _elapsed},
    by="plan",
    figures=frozenset({"throughput", "elapsed"}),
)
"""As in the plan, until another is asked for."""
