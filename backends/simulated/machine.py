"""A simulated host as a whole: its kernel, disk and wrapper, and the commands that reach it."""

from __future__ import annotations

import random

from backends.simulated.disk import Disk
from backends.simulated.kernel import Kernel, Process
from backends.simulated.spec import HostSpec
from backends.simulated.supervising import Launcher, Workloads
from backends.simulated.wrapper import Wrapper

MIB = 1 << 20


class Network:
    """Who listens where, for the hosts that look whether they reach each other."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._listeners: dict[int, tuple[str, int]] = {}

    def listen(self, token: str, count: int) -> int:
        """A port at which ``token`` is told so many times."""
        port = self._chance.randrange(40_000, 60_000)
        while port in self._listeners:
            port += 1
        self._listeners[port] = token, count
        return port

    def listens(self, port: int) -> bool:
        return port in self._listeners

    def forget(self, port: int) -> None:
        self._listeners.pop(port, None)

    def connect(self, port: int, token: str) -> str:
        """ "ok", or what went wrong; all hosts reach each other."""
        if port not in self._listeners:
            return "refused"
        said, count = self._listeners[port]
        if count > 1:
            self._listeners[port] = said, count - 1
        else:
            self.forget(port)
        return "ok" if said == token else "wrong machine"


class Machine:
    """One host. Bring it to the present with ``kernel.advance`` before anything else.

    Parameters
    ----------
    name: the console's name for it.
    workloads: what runs do when their script is executed here.
    disk: None: one of its own; else shared with other hosts.
    epoch: wall-clock time at the kernel's 0.
    """

    def __init__(
        self,
        name: str,
        spec: HostSpec,
        workloads: Workloads,
        *,
        chance: random.Random,
        network: Network,
        disk: Disk | None = None,
        epoch: float = 0.0,
    ) -> None:
        self.spec = spec
        self.network = network
        self.kernel = Kernel(chance, epoch)
        self.disk = disk if disk is not None else Disk()
        self.wrapper: Wrapper = Wrapper(
            name,
            self.kernel,
            self.disk,
            subreaper=spec.python,
            flock=spec.flock or spec.python,
        )
        self.launcher: Launcher = Launcher(self.wrapper, workloads)
        self.pace_s = 0.0
        """What every command takes before it does anything: a slow login, a busy machine."""

    @property
    def free_mib(self) -> int:
        room = self.disk.room
        return self.spec.disk_mib if room is None else max(0, room) // MIB

    def at_work(self) -> list[Process]:
        """The processes of runs, other than what watches their timeouts."""
        return [p for p in self.kernel.living() if p.run_id and not p.helper]
