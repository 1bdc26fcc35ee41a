"""Simulated hosts by name, behind the face of a transport pool."""

from __future__ import annotations

import random
from collections.abc import Mapping

from backends.inventory.host_entry import Host
from backends.simulated.disk import Disk
from backends.simulated.fake_run import HOLD, Workload
from backends.simulated.machine import Machine, Network
from backends.simulated.network import Link
from backends.simulated.simulated_transport import (
    PatientTimekeeper,
    SimulatedTransport,
    Timekeeper,
)
from backends.simulated.spec import HostSpec
from backends.simulated.supervising import Asked, Workloads
from backends.transports.credential import Credential
from backends.transports.transport import Transport

_HOLDS = b"exec sleep "


class SimulatedCluster:
    """Machines that share a network, and a transport to each. Make it on a running event loop.

    Parameters
    ----------
    specs: the machines by host name.
    workloads: what runs do there; ``hold``: those that only hold their host.
    seed: pids, boot ids and ports follow from it.
    epoch: wall-clock time at the beginning, seconds since the epoch.
    speed: simulated seconds per second of the loop.
    patient: time waits for a loop that is busy; then ``close`` ends it.
    shared_disk: all homes are one file system.
    """

    def __init__(
        self,
        specs: Mapping[str, HostSpec],
        workloads: Workloads,
        *,
        seed: int = 0,
        epoch: float = 0.0,
        speed: float = 1.0,
        shared_disk: bool = False,
        patient: bool = False,
        hold: Workload = HOLD,
    ) -> None:
        self.time = PatientTimekeeper(speed) if patient else Timekeeper(speed)
        self._patient = patient
        self._epoch = epoch
        network = Network(random.Random(f"{seed}/network"))  # noqa: S311 (no secret)
        disk = Disk() if shared_disk else None

        def workload(asked: Asked) -> Workload:
            return hold if asked.script.startswith(_HOLDS) else workloads(asked)

        self.machines = {
            name: Machine(
                name,
                spec,
                workload,
                chance=random.Random(f"{seed}/{name}"),  # noqa: S311 (no secret)
                network=network,
                disk=disk,
                epoch=epoch,
            )
            for name, spec in specs.items()
        }
        self.links = {name: Link(speed=speed) for name in specs}
        self._transports: dict[str, SimulatedTransport] = {}

    def clock(self) -> float:
        """The login node's time in the simulated world, seconds since the epoch."""
        return self._epoch + self.time.told_at

    def crash(self, name: str, down_s: float) -> None:
        """Take a machine's power for so long: connections break, processes are gone."""
        machine, link = self.machines[name], self.links[name]
        self.time.bring(machine)
        machine.kernel.crash(down_s)
        link.reset()
        self.time.bring(machine)

    # The face of a pool --------------------------------------------------------------------------

    def get(self, host: Host | str) -> Transport:
        """The transport of a host; KeyError for one that this cluster does not have."""
        name = host if isinstance(host, str) else host.name
        if name not in self._transports:
            known = Host(name, address=name) if isinstance(host, str) else host
            self._transports[name] = self.transport(known)
        return self._transports[name]

    def transport(self, host: Host) -> SimulatedTransport:
        """A way to a host with a connection of its own, as another console would have it."""
        name = host.name
        return SimulatedTransport(host, self.machines[name], self.links[name], self.time)

    def ask_again(self) -> None:
        """Nobody is ever asked anything."""

    def let_in_by(self) -> Mapping[str, Credential]:
        """Nobody logs in."""
        return {}

    async def close(self) -> None:
        if self._patient:
            self.time.end()
        for transport in self._transports.values():
            await transport.close()
