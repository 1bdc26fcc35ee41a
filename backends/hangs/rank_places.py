"""Which rank is where, and whose a GPU is: from what processes and nvidia-smi say of themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backends.hangs.evidence import HostEvidence, Lack, Process, RasProcess


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rank is, as far as that is known."""

    host: str
    rank: int | None = None
    device: int | None = None
    pid: int | None = None


class Ranks:
    """Who is where, from what the processes say of themselves."""

    def __init__(self, evidence: Sequence[HostEvidence], world: int) -> None:
        self.world = world
        self.by_rank: dict[int, Place] = {}
        self.by_pid: dict[tuple[str, int], Place] = {}
        self.processes: dict[int, Process] = {}
        for host in evidence:
            own = sorted(
                (p for p in host.processes if p.rank is not None and p.rank < world),
                key=lambda p: (p.rank or 0, p.pid),
            )
            for number, process in enumerate(own):
                local = number if process.local_rank is None else process.local_rank
                device = host.devices[local] if local < len(host.devices) else None
                place = Place(host.host, process.rank, device, process.pid)
                self.by_rank.setdefault(process.rank or 0, place)
                self.by_pid[host.host, process.pid] = place
                self.processes.setdefault(process.rank or 0, process)
        self._hosts = [host.host for host in evidence]

    def place(self, rank: int) -> Place:
        """A rank that no process told of is on the host in its turn, unless others differ."""
        if rank in self.by_rank or not self._hosts:
            return self.by_rank.get(rank, Place("", rank))
        each = max(1, self.world // len(self._hosts))
        in_turn = all(
            self._hosts[min(r // each, len(self._hosts) - 1)] == place.host
            for r, place in self.by_rank.items()
        )
        host = self._hosts[min(rank // each, len(self._hosts) - 1)] if in_turn else ""
        return Place(host, rank)

    def of_ras(self, named: RasProcess) -> Place | None:
        """By its process, which may be known under another number in a container; then by its rank,
        which is one of all where its communicator has all of them."""
        places = [place for (_, pid), place in self.by_pid.items() if pid == named.pid]
        if len(places) == 1:
            return places[0]
        if named.rank is None or named.ranks is None or named.rank >= self.world:
            return None
        # Those that are missing may not be counted.
        return self.place(named.rank) if named.ranks >= self.world - 1 else None


class Devices:
    """Whose device a PCI address is."""

    def __init__(
        self,
        evidence: Sequence[HostEvidence],
        ranks: Ranks,
        bus_ids: Mapping[tuple[str, int], str],
    ) -> None:
        self._known = {(host, bus): index for (host, index), bus in bus_ids.items()}
        self._ranks = ranks
        self._of_pid = {}
        for host in evidence:
            for gpu in host.gpus if not isinstance(host.gpus, Lack) else ():
                if gpu.index >= 0:
                    self._known.setdefault((host.host, gpu.bus_id), gpu.index)
            for pid, bus in host.gpu_of_pid:
                self._of_pid[host.host, bus] = pid

    def place(self, host: HostEvidence, bus: str, pid: int | None = None) -> Place | None:
        """The rank that has the device; None where it is none of the run's."""
        for known in (pid, self._of_pid.get((host.host, bus)) if bus else None):
            if known is not None and (place := self._ranks.by_pid.get((host.host, known))):
                return place
        index = self._known.get((host.host, bus))
        if index is None:
            return Place(host.host)
        if index not in host.devices:
            return None
        for place in self._ranks.by_rank.values():
            if (place.host, place.device) == (host.host, index):
                return place
        return Place(host.host, device=index)
