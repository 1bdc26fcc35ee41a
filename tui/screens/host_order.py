"""The orders in which the list of hosts can stand."""

from __future__ import annotations

from backends.hosts.host_facts import HostFacts, HostSnapshot, HostState
from tui.row_order import RowOrder
from tui.widgets.keyed_table import Row

Listed = tuple[HostSnapshot, Row]


def _urgency(listed: Listed) -> int:
    """What cannot be used first, or not well; then what is in use; what is ready last."""
    host, _ = listed
    return -[*HostState].index(HostState.BUSY if host.in_use else host.state)


def _of_now(listed: Listed) -> HostFacts | None:
    facts = listed[0].facts
    return facts if facts is not None and facts.of_a_moment else None


def _load(listed: Listed) -> float | None:
    """Per CPU."""
    facts = _of_now(listed)
    return facts.load1 / facts.cpus if facts is not None and facts.cpus else None


def _memory(listed: Listed) -> float | None:
    """The share in use."""
    facts = _of_now(listed)
    if facts is None or not facts.memory_mib:
        return None
    return 1 - facts.memory_available_mib / facts.memory_mib


INVENTORY: RowOrder[Listed] = RowOrder(
    {"inventory": None, "state": _urgency, "load per CPU": _load, "memory in use": _memory},
    by="inventory",
    figures=frozenset({"load per CPU", "memory in use"}),
)
"""As in the inventory, or as a queue names them, until another is asked for."""
