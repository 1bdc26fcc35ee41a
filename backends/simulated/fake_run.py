"""What a simulated run does: a small value that says what it prints, how it ends, and what it
leaves behind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Output = Callable[[], Iterator[tuple[float, bytes]]]
"""Gives, each time anew, what a process prints: (seconds since its start, bytes), in order."""

FOREVER = math.inf
TERMINATED = 128 + 15
MADE_UP = "python3 SIMULATED.py"
"""Command line of a process of which nothing else is said."""


def silence() -> Iterator[tuple[float, bytes]]:
    """Nothing is printed."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Child:
    """A process that the workload starts and does not wait for.

    Parameters
    ----------
    starts_after_s, lives_s: seconds since the workload's start, and since its own.
    on_term_s: how long its handler of TERM takes; 0: it ends at once; None: deaf to TERM.
    marked: it kept our marker in its environment.
    hides: it left its parent (a double fork), so that only a subreaper sees whose it is.
    holds_lease: it kept the descriptors that it inherited.
    stuck: in the kernel, so that not even KILL ends it.
    rank: of the run, that it is; ``load``: on GPUs.
    hangs_after_s: from then on, since the workload's start, it waits for a file that does not come.
    """

    starts_after_s: float = 0.0
    lives_s: float = FOREVER
    on_term_s: float | None = 0.0
    marked: bool = True
    hides: bool = False
    holds_lease: bool = True
    stuck: bool = False
    rank: int | None = None
    load: GpuLoad | None = None
    hangs_after_s: float = FOREVER


@dataclass(frozen=True, slots=True)
class Throttling:
    """One GPU is slowed down while a workload runs.

    Parameters
    ----------
    gpu: its index. after_s: seconds since the workload's start.
    mask: nvidia-smi's clocks event reasons. sm_clock_mhz: what is left.
    """

    gpu: int
    after_s: float
    mask: int
    sm_clock_mhz: int


@dataclass(frozen=True, slots=True)
class GpuLoad:
    """What a workload does to the GPUs of its host with these indices."""

    gpus: tuple[int, ...]
    memory_mib: int = 12_000
    power_w: float = 268.0
    temperature_c: int = 61
    utilization_pct: int = 97
    throttling: Throttling | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """One host's part in a run, as the host sees it.

    Parameters
    ----------
    output: what it prints, until it ends.
    ends_after_s: seconds since its start; FOREVER: it has to be ended.
    exit_status: of an end of its own.
    on_term_s: how long its handler of TERM takes; 0: it ends at once; None: deaf to TERM.
    on_term_output, on_term_status: what the handler prints last, and the status it leaves with.
    on_term_child_s: how long what the handler starts first takes, a copier of the checkpoint say,
        and the handler waits for it; 0: it starts nothing.
    children: what it leaves running.
    load: on its GPUs; None: on all that the host has.
    command: what its processes are by their command lines.
    """

    output: Output = silence
    ends_after_s: float = 0.0
    exit_status: int = 0
    on_term_s: float | None = 0.0
    on_term_output: bytes = b""
    on_term_status: int = TERMINATED
    on_term_child_s: float = 0.0
    children: tuple[Child, ...] = ()
    load: GpuLoad | None = None
    command: str = MADE_UP


HOLD = Workload(ends_after_s=FOREVER)
"""A process that only holds its host."""
