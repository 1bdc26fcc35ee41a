"""Hosts that the queue of an engine tells of, in place of an inventory. Nothing outside this room
names such an engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Protocol

from backends.engines.engine import QueuedJob
from backends.hosts.host_facts import HostSnapshot
from backends.inventory.host_entry import QUEUES, Host
from backends.transports.transport import Transport

_PROGRAMS = {"slurm": "sinfo"}


class QueueHosts(Protocol):
    """What the queue has to give, asked of one machine that has its programs."""

    async def ask(self) -> Sequence[tuple[Host, HostSnapshot]]:
        """Every host that the queue knows, as it is now.

        Raises
        ------
        DlperfError: it does not answer, or is not there.
        """

    async def jobs(self) -> Sequence[QueuedJob]:
        """This user's that this program asked for, whoever did. Raises as :meth:`ask`."""

    async def end(self, job_id: str) -> None:
        """Have it end. Raises as :meth:`ask`; one that has ended is ended."""


def queue_hosts(engine: str, login: Transport, clock: Callable[[], float]) -> QueueHosts:
    """Of an engine in :data:`backends.inventory.host_entry.QUEUES`."""
    from backends.engines.slurm.node_hosts import NodeHosts  # noqa: PLC0415 (loads when needed)

    return {"slurm": NodeHosts}[engine](login, clock)


def engine_on_path() -> str:
    """The engine whose programs this machine has; empty: none."""
    found = (name for name in QUEUES if shutil.which(_PROGRAMS[name]))
    return next(found, "")
