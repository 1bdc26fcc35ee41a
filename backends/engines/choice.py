"""Which engine gives a campaign its hosts. Nothing outside this room names one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from backends.engines.direct import DirectEngine, Pool
from backends.engines.engine import Engine
from backends.hosts.host_facts import HostSnapshot, Sought
from backends.hosts.placement import Placement
from backends.inventory.host_entry import Host


def engine_for(
    hosts: Sequence[tuple[Host, HostSnapshot]],
    pool: Pool,
    *,
    lease: str,
    force: bool,
    placement: Placement,
    sought: Sequence[Sought],
    clock: Callable[[], float],
) -> Engine:
    """The engine of these hosts; the parameters are :class:`DirectEngine`'s, the only one yet."""
    return DirectEngine(
        hosts, pool, lease=lease, force=force, placement=placement, sought=sought, clock=clock
    )
