"""What a host can hold, as far as the matrix has to know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostCapacity:
    """What a host can hold: its GPUs, and ``slots`` devices where there is no GPU.

    None: not known yet, so that nothing is ruled out. ``clusters``: of a queue's several those that
    it is in. ``gpu_problem``: why its GPUs are not known, though it has a driver.
    """

    name: str
    slots: int | None
    gpus: int | None
    clusters: frozenset[str] = frozenset()
    gpu_problem: str = ""

    def devices(self, *, gpu_only: bool) -> int | None:
        """GPUs where there are some or must be; slots otherwise; None: not known."""
        return self.gpus if self.gpus or gpu_only else self.slots

    def holds(self, count: int, *, gpu_only: bool) -> bool:
        devices = self.devices(gpu_only=gpu_only)
        return devices is None or devices >= count
