"""What there is to run on, asked in one place: the inventory, the connections, the latest probes.

Opening is quick: nothing is probed, and asyncssh is not imported until a connection is needed.
"""

from __future__ import annotations

import contextlib
import getpass
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from backends.hosts.host_facts import HostSnapshot, HostState, Sought
from backends.hosts.same_machine import with_same_machines
from backends.inventory.host_entry import Host, Inventory, listed_address, select
from backends.inventory.load import by_engine
from backends.inventory.queue_asks import NO_PROFILE, Keys, asks, partitions_of
from profiles.errors import DlperfError, SelectionError

if TYPE_CHECKING:
    from backends.engines.queue_hosts import QueueHosts
    from backends.inventory.queue import Queue
    from backends.simulated.simulated_cluster import SimulatedCluster
    from backends.transports.credential import Credential
    from backends.transports.pool import TransportPool
    from backends.transports.transport import Prompter


class Cluster:
    """One operator's hosts, one connection to each.

    Parameters
    ----------
    prompter: whom to ask what a login asks; without one nothing is ever asked.
    clock: seconds since the epoch.
    simulated: hosts that are made up, by their names; None: real ones.
    """

    def __init__(
        self,
        inventory: Inventory,
        *,
        prompter: Prompter | None = None,
        clock: Callable[[], float] = time.time,
        simulated: SimulatedCluster | None = None,
    ) -> None:
        self.inventory = inventory
        self._simulated = simulated
        self.login_host = socket.gethostname().split(".")[0]
        self.prompter = prompter
        self._clock = clock
        self._known: dict[str, HostSnapshot] = {}
        self._told: tuple[dict[str, HostSnapshot], dict[str, HostSnapshot]] = ({}, {})
        self._nodes = inventory.hosts  # of the queue, whatever partitions are asked for
        self._asked_queue_at: float | None = None
        self.problem = ""
        """Why the queue did not tell its hosts when it was last asked."""

    @property
    def person(self) -> str:
        """As leases name who sits here: ``root@vm``."""
        return f"{getpass.getuser()}@{self.login_host}"

    @property
    def simulated(self) -> bool:
        """Nothing that is measured here was measured."""
        return self._simulated is not None

    @property
    def simulated_speed(self) -> float | None:
        """Simulated seconds per second; None of hosts that are real, or were recorded."""
        return None if self._simulated is None else self._simulated.time.speed

    @cached_property
    def pool(self) -> TransportPool | SimulatedCluster:
        if self._simulated is not None:
            return self._simulated
        from backends.transports.pool import TransportPool  # noqa: PLC0415 (loads when needed)

        return TransportPool(self._all_hosts(), prompter=self.prompter)

    @cached_property
    def queue_hosts(self) -> QueueHosts | None:
        """The queue that gives the hosts, to be asked; None: they are the inventory's own."""
        login = self.inventory.login
        if login is None:
            return None
        from backends.engines.queue_hosts import queue_hosts  # noqa: PLC0415 (loads when needed)

        return queue_hosts(self.inventory.engine, self.pool.get(login), self._clock)

    async def learn_hosts(self) -> None:
        """Ask the engine's queue which hosts there are, and how they are; without a queue the
        inventory has said it.

        Raises
        ------
        DlperfError: the queue does not answer; what it said last is still known. Or it has no such
            partition as jobs are to be in.
        """
        if self.queue_hosts is None:
            return
        self._asked_queue_at = self._clock()
        try:
            found = await self.queue_hosts.ask()
            self._nodes = tuple(host for host, _ in found)
            self._known = {snapshot.name: snapshot for _, snapshot in found}
            self.inventory = self.inventory_for()
        except DlperfError as error:
            self.problem = str(error) if isinstance(error, SelectionError) else error.what
            raise
        self.problem = ""

    def inventory_for(self, profiles: Mapping[str, Keys] = NO_PROFILE) -> Inventory:
        """Whose hosts are those that jobs of these profiles may get, each with what it asks for.

        Raises
        ------
        SelectionError: there is no such partition.
        """
        if self.inventory.login is None or not self._known:
            return self.inventory
        of_node = {snapshot.name: snapshot.partitions for snapshot in self._known.values()}
        asked = asks(self.inventory, profiles or NO_PROFILE)
        wanted = partitions_of(asked, set(chain.from_iterable(of_node.values())))
        if wanted is None:
            return replace(self.inventory, hosts=self._nodes)
        hosts = (host for host in self._nodes if wanted.intersection(of_node.get(host.name, ())))
        return replace(self.inventory, hosts=tuple(hosts))

    def use_engine(self, engine: str) -> None:
        """From now on another one gives the hosts."""
        self.inventory = by_engine(self.inventory, engine)
        self.__dict__.pop("queue_hosts", None)
        self._known.clear()
        self._nodes = self.inventory.hosts

    def use_queue(self, queue: Queue) -> None:
        """From now on this queue gives the hosts, unless the inventory has one."""
        if self.inventory.login is None:
            self.use_engine(queue.engine)
            self.inventory = replace(
                self.inventory,
                login=queue.login,
                job_options=queue.options,
                clusters=queue.clusters,
            )

    def use_pull(self, pull: str) -> None:
        """From now on images are fetched to all hosts when this says, whatever the inventory does;
        one of :data:`backends.inventory.host_entry.PULLS`."""
        known = self.inventory
        self.inventory = replace(
            known,
            hosts=tuple(replace(host, pull=pull) for host in known.hosts),
            aliases=tuple(replace(host, pull=pull) for host in known.aliases),
            login=known.login and replace(known.login, pull=pull),
        )

    async def offered_engine(self) -> str:
        """The engine whose queue answers this machine and knows of hosts, where there is no
        inventory, and no GPU here; else empty."""
        here = self.snapshots()
        asked = all(snapshot.facts is not None for snapshot in here)
        gpus = any(snapshot.capacity.gpus for snapshot in here)
        if self.inventory.path is not None or self.queue_hosts is not None or not asked or gpus:
            return ""
        from backends.engines.queue_hosts import engine_on_path, queue_hosts  # noqa: PLC0415

        engine = engine_on_path()
        login = by_engine(self.inventory, engine).login if engine else None
        if login is None:
            return ""
        try:
            found = await queue_hosts(engine, self.pool.get(login), self._clock).ask()
        except DlperfError:  # its programs are installed, and that is all
            return ""
        return engine if found else ""

    def let_in_by(self) -> Mapping[str, Credential]:
        """By host: what the login was made with, where it was one over SSH."""
        return self.pool.let_in_by() if "pool" in self.__dict__ else {}

    async def close(self) -> None:
        """Close all connections."""
        if "pool" in self.__dict__:
            await self.pool.close()

    def chosen(self, nodeset: str) -> tuple[Host, ...]:
        """The hosts of a nodeset; empty: all.

        Raises
        ------
        SelectionError: it names one that is not there.
        """
        return select(self.inventory, nodeset or None)

    def adopt(self, hosts: Sequence[Host]) -> tuple[str, ...]:
        """Make hosts of a campaign file known; what the inventory says of a name wins, unless it is
        the one of this machine that nobody wrote.

        Returns the names of which the inventory says something else.
        """
        theirs = {host.name: host for host in hosts}
        known = self.inventory.hosts
        if self.inventory.path is None:
            known = tuple(theirs.get(host.name, host) for host in known)
        new = tuple(host for host in hosts if self.inventory.get(host.name) is None)
        self.inventory = replace(self.inventory, hosts=(*known, *new))
        return tuple(name for name, host in theirs.items() if self.inventory.get(name) != host)

    def _all_hosts(self) -> tuple[Host, ...]:
        login = () if self.inventory.login is None else (self.inventory.login,)
        return (*login, *self.inventory.hosts, *self.inventory.aliases)

    # What is known of them -----------------------------------------------------------------------

    def snapshots(self) -> tuple[HostSnapshot, ...]:
        """The latest known of every host, in the inventory's order."""
        told = self._looked_at()
        return tuple(told.get(host.name) or _never_seen(host) for host in self.inventory.hosts)

    def snapshot(self, host: Host) -> HostSnapshot:
        return self._looked_at().get(host.name) or _never_seen(host)

    @property
    def probed(self) -> tuple[HostSnapshot, ...]:
        """Every host that was looked at, ssh aliases too."""
        return tuple(self._looked_at().values())

    def _looked_at(self) -> dict[str, HostSnapshot]:
        """What is known of each by itself, and which of them are one machine."""
        if self._told[0] != self._known:
            told = with_same_machines([*self._known.values()])
            self._told = dict(self._known), {host.name: host for host in told}
        return self._told[1]

    async def probe(
        self, names: Sequence[str] | None = None, *, sought: Sequence[Sought] = ()
    ) -> None:
        """Look at hosts (default: all); :meth:`snapshots` follows as answers arrive.

        ``sought``: where to look for software, and again where they were looked at for it before.
        What the operator would not answer at an earlier
        login is asked again.
        """
        hosts = self.will_probe(names)
        self.pool.ask_again()
        if self.queue_hosts is not None:
            await self._probe_queue()
            return
        await self._probe(hosts, self._and_before(hosts, sought))

    def will_probe(self, names: Sequence[str] | None = None) -> Sequence[Host]:
        """Those that :meth:`probe` looks at are told to be asked from now on; a queue's are not."""
        if self.inventory.login is not None:
            return ()
        hosts: Sequence[Host] = self.inventory.hosts
        if names is not None:
            hosts = [host for host in self._all_hosts() if host.name in names]
        for host in hosts:
            before = self._known.get(host.name) or _never_seen(host)
            self._known[host.name] = replace(before, state=HostState.PROBING)
        return hosts

    async def _probe_queue(self) -> None:
        before = self._known
        self._known = {name: replace(s, state=HostState.PROBING) for name, s in before.items()}
        asked = self._known
        try:
            await self.learn_hosts()
        finally:
            if self._known is asked:  # no answer
                self._known = before

    def now(self) -> float:
        """Seconds since the epoch, by the clock that :attr:`HostSnapshot.probed_at` is told by."""
        return self._clock()

    def own_now(self) -> float:
        """As :meth:`now`, for who sits here: simulated hosts have a time of their own."""
        return self._clock() if self._simulated is None else time.time()

    async def refresh(self, older_than_s: float, among: Sequence[Host] | None = None) -> None:
        """Look again at hosts that were looked at so long ago, quietly: what is known of them stays
        until they have answered, and nobody is asked again for what a login wants to know.
        ``among``: these; None: all of the inventory."""
        before = self._clock() - older_than_s
        if self.queue_hosts is not None:
            if self._asked_queue_at is not None and self._asked_queue_at <= before:
                with contextlib.suppress(DlperfError):
                    await self.learn_hosts()
            return
        stale = [
            host
            for host in (self.inventory.hosts if among is None else among)
            if (seen := self._known.get(host.name)) is not None
            and seen.state is not HostState.PROBING
            and (seen.probed_at is None or seen.probed_at <= before)
        ]
        await self._probe(stale, (), keep_software=True)

    async def watch(self, name: str, take: Callable[[bytes], None]) -> None:
        """Hand on the telemetry of a host that was looked at, until cancelled, or its end.

        Raises
        ------
        HostUnreachableError: it cannot be reached any more, or has no channel to spare.
        """
        from backends.hosts.telemetry import telemetry_command  # noqa: PLC0415 (loads when needed)

        host, seen = self.inventory.get(name), self._known.get(name)
        if host is None or seen is None or seen.facts is None or seen.partitions:
            return
        command = telemetry_command(gpus=bool(seen.facts.gpus))
        await self.pool.get(host).stream(command, take, spare=True)

    async def probe_unknown(self, hosts: Sequence[Host], sought: Sequence[Sought] = ()) -> None:
        """Look at those of ``hosts`` that were never looked at, or not for this software."""
        if self.queue_hosts is not None:
            if not all(host.name in self._known for host in hosts):
                await self.learn_hosts()
            return
        new = [host for host in hosts if not self._knows(host, sought)]
        await self._probe(new, self._and_before(new, sought))

    def _and_before(self, hosts: Sequence[Host], sought: Sequence[Sought]) -> Sequence[Sought]:
        """With what was sought on any of them before, lest it be forgotten."""
        facts = (known.facts for host in hosts if (known := self._known.get(host.name)) is not None)
        before = chain.from_iterable(found.sought for found in facts if found is not None)
        return tuple(dict.fromkeys((*sought, *before)))

    def _knows(self, host: Host, sought: Sequence[Sought]) -> bool:
        known = self._known.get(host.name)
        return known is not None and (known.facts is None or set(sought) <= set(known.facts.sought))

    async def _probe(
        self, hosts: Sequence[Host], sought: Sequence[Sought], *, keep_software: bool = False
    ) -> None:
        if not hosts:
            return
        from backends.hosts.probe import probe_all  # noqa: PLC0415 (loads when needed)

        async for snapshot in probe_all(self.pool, hosts, self._clock, sought=sought):
            before = self._known.get(snapshot.name)
            now = _with_software_of(snapshot, before if keep_software else None)
            if not now.tells and before is not None:
                now = replace(now, seen=before if before.tells else before.seen)
            self._known[snapshot.name] = now


def _never_seen(host: Host) -> HostSnapshot:
    return HostSnapshot(host.name, listed_address(host), HostState.UNKNOWN, slots=host.slots or 0)


def _with_software_of(snapshot: HostSnapshot, before: HostSnapshot | None) -> HostSnapshot:
    """What was not looked for again is as it was."""
    if snapshot.facts is None or before is None or before.facts is None:
        return snapshot
    known = before.facts
    facts = replace(snapshot.facts, sought=known.sought, software=known.software)
    return replace(snapshot, facts=facts)
