"""Which GPUs of a host are best linked: sets in the order of their worth.

A set is as good as the farthest of its links; then count all of them, then over how few NUMA nodes
(or CPU affinities) it spreads, then how near it is to the NICs, then its indices.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

from backends.hosts.host_facts import Topology
from backends.hosts.topology import LinkClass, link_class
from backends.inventory.nodesets import natural_order

MOST_TRIED = 20_000
"""Sets of a size of which the best is surely found: any of 16 GPUs. Where there are more they are
grown."""
_GPU = re.compile(r"GPU(\d{1,9})", re.ASCII)
_NOWHERE = ("", "N/A", "?", "-")
Closeness = tuple[int, int]
"""Of a link: its class, and the number of its NVLinks, negative; smaller is closer."""
Worth = tuple[Closeness, tuple[int, int], int, int]
"""Of a set: its farthest link, the sums over its links, its places, the sum of its nearest NICs."""
_NOTHING: Worth = ((0, 0), (0, 0), 0, 0)
_Rated = tuple[Worth, tuple[int, ...]]


def closeness(link: str) -> Closeness:
    """Of a link as printed; ``NV18`` is closer than ``NV2``, which is closer than ``PIX``."""
    kind = link_class(link)
    bonded = link.removeprefix("NV") if kind is LinkClass.NVLINK else ""
    return kind, -int(bonded[:6] or 0)


@dataclass(frozen=True)
class DeviceGraph:
    """The matrix by index of GPU, whatever order it was printed in.

    ``places``: NUMA node of each GPU, else the place of its CPU affinity among all, else nothing.
    ``numa``: they are NUMA nodes. ``nics``: by name, the link to each GPU.
    """

    gpus: tuple[int, ...]
    links: Mapping[tuple[int, int], str]
    places: Mapping[int, str]
    numa: bool
    nics: Mapping[str, Mapping[int, str]]

    def link(self, one: int, other: int) -> str:
        return self.links[min(one, other), max(one, other)]

    def closeness(self, one: int, other: int) -> Closeness:
        return self._close[min(one, other), max(one, other)]

    def links_within(self, gpus: Sequence[int]) -> list[str]:
        return [self.link(*pair) for pair in itertools.combinations(sorted(gpus), 2)]

    @cached_property
    def nearest_nic(self) -> Mapping[int, LinkClass]:
        """By GPU; UNKNOWN where there is none."""
        return {
            gpu: min(
                (link_class(links[gpu]) for links in self.nics.values()), default=LinkClass.UNKNOWN
            )
            for gpu in self.gpus
        }

    @cached_property
    def known(self) -> bool:
        """Whether anything is known of any link; else every set is as good as the next."""
        return any(kind is not LinkClass.UNKNOWN for kind, _ in self._close.values())

    def best(self, size: int, among: tuple[int, ...]) -> tuple[int, ...]:
        """As :func:`best_set`, but looked for once."""
        if (size, among) not in self._best:
            grown = min((self.worth(gpus), gpus) for gpus in _grown(self, size, among))
            few = math.comb(len(among), size) <= MOST_TRIED
            self._best[size, among] = (self._improved(grown, among) if few else grown)[1]
        return self._best[size, among]

    def _improved(self, best: _Rated, among: tuple[int, ...]) -> _Rated:
        """The best of all sets of that size, begun in the order of their indices; no further where
        none can be as good as the best so far."""
        size = len(best[1])
        begun: list[_Rated] = [
            (_NOTHING, (gpu,)) for gpu in reversed(among[: len(among) - size + 1])
        ]
        while begun:
            before, gpus = begun.pop()
            worth = self._with_last(before, gpus)
            if (self._least(worth, len(gpus), size), gpus) > (best[0], best[1][: len(gpus)]):
                continue
            if len(gpus) == size:
                best = worth, gpus
                continue
            first, missing = bisect_right(among, gpus[-1]), size - len(gpus)
            nexts = among[first : len(among) - missing + 1]
            begun += [(worth, (*gpus, gpu)) for gpu in reversed(nexts)]
        return best

    def _with_last(self, before: Worth, gpus: tuple[int, ...]) -> Worth:
        """The worth of a set of which that of all but the last is known."""
        farthest, (kinds, bonded), _, nics = before
        last = gpus[-1]
        close = [self._close[gpu, last] for gpu in gpus[:-1]]
        for kind, more in close:
            kinds, bonded = kinds + kind, bonded + more
        places = len({self.places[gpu] for gpu in gpus if gpu in self.places})
        return max([farthest, *close]), (kinds, bonded), places, nics + self.nearest_nic[last]

    def _least(self, worth: Worth, count: int, size: int) -> Worth:
        """What no set of ``size`` that begins with such ``count`` falls below in any part."""
        farthest, (kinds, bonded), places, nics = worth
        links = math.comb(size, 2) - math.comb(count, 2)
        kind, most, nic = self._closest
        sums = kinds + links * kind, bonded + links * most
        return farthest, sums, places, nics + (size - count) * nic

    @cached_property
    def _closest(self) -> tuple[int, int, int]:
        """Of all links and NICs, each by itself."""
        kinds, bonded = zip(*self._close.values(), strict=True) if self._close else ((0,), (0,))
        return min(kinds), min(bonded), min(self.nearest_nic.values())

    def worth(self, gpus: Sequence[int]) -> Worth:
        """Smaller is better; sets of one worth differ by their indices alone."""
        ordered = tuple(sorted(gpus))
        begun = (ordered[: n + 1] for n in range(len(ordered)))
        return reduce(self._with_last, begun, _NOTHING)

    @cached_property
    def _close(self) -> Mapping[tuple[int, int], Closeness]:
        return {pair: closeness(link) for pair, link in self.links.items()}

    @cached_property
    def _best(self) -> dict[tuple[int, tuple[int, ...]], tuple[int, ...]]:
        return {}


@lru_cache(maxsize=256)  # hosts are alike, and asked about for every run
def graph_of(topology: Topology) -> DeviceGraph:
    """Never raises. Of two cells that say something else of one link the farther counts."""
    rows = dict(zip(topology.labels, topology.links, strict=False))
    cells = {
        (one, other): cell
        for one, row in rows.items()
        for other, cell in zip(topology.labels, row, strict=False)
    }
    indices = {label: int(m[1]) for label in topology.labels if (m := _GPU.fullmatch(label))}
    labels = {index: label for label, index in reversed(indices.items())}
    gpus = tuple(sorted(labels))
    nics = {
        topology.nic_names.get(label, label): {
            gpu: _link(cells, label, labels[gpu]) for gpu in gpus
        }
        for label in sorted(set(rows) - set(indices), key=natural_order)
    }
    by_label = [label for label in topology.labels if label in indices]  # as affinities are given
    numa = _known(by_label, topology.numa_affinity)
    cpus = _known(by_label, topology.cpu_affinity)
    places = numa or _places(cpus)
    return DeviceGraph(
        gpus=gpus,
        links={
            (one, other): _link(cells, labels[one], labels[other])
            for one, other in itertools.combinations(gpus, 2)
        },
        places={gpu: places[labels[gpu]] for gpu in gpus if labels[gpu] in places},
        numa=bool(numa),
        nics=nics,
    )


def best_set(
    graph: DeviceGraph, size: int, among: Iterable[int] | None = None
) -> tuple[int, ...] | None:
    """The best linked set of so many GPUs, by index; None where there are too few.

    ``among``: indices that may be taken; default: all.
    """
    free = sorted(set(graph.gpus if among is None else among) & set(graph.gpus))
    return graph.best(size, tuple(free)) if 0 < size <= len(free) else None


def best_by_size(graph: DeviceGraph) -> dict[int, tuple[int, ...]]:
    """The best sets of 2, 4, 8, … GPUs, as long as that is not all of them."""
    powers = (2**n for n in itertools.count(1))
    sizes = itertools.takewhile(lambda size: size < len(graph.gpus), powers)
    return {size: best for size in sizes if (best := best_set(graph, size)) is not None}


def _grown(graph: DeviceGraph, size: int, free: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """From each GPU one set, by taking the GPU that is nearest to those that it has."""
    for first in free:
        grown = [first]
        while len(grown) < size:
            left = [gpu for gpu in free if gpu not in grown]
            grown.append(min(left, key=lambda gpu: (*_added(graph, grown, gpu), gpu)))
        yield tuple(sorted(grown))


def _added(graph: DeviceGraph, grown: Sequence[int], gpu: int) -> tuple[object, ...]:
    close = [graph.closeness(gpu, other) for other in grown]
    elsewhere = graph.places.get(gpu) not in {graph.places.get(other) for other in grown}
    return max(close), sum(bonded for _, bonded in close), elsewhere, graph.nearest_nic[gpu]


def _link(cells: Mapping[tuple[str, str], str], one: str, other: str) -> str:
    said = {cells.get(pair, "?") for pair in ((one, other), (other, one))} - {"X"}
    known = {link for link in said if link_class(link) is not LinkClass.UNKNOWN} or said
    return max(known, key=lambda link: (closeness(link), link), default="?")


def _known(labels: Sequence[str], affinities: Sequence[str]) -> dict[str, str]:
    """Empty unless it is known of all of them: half an order would put known before unknown."""
    given = {
        label: said for label, said in zip(labels, affinities, strict=False) if said not in _NOWHERE
    }
    return given if len(given) == len(labels) else {}


def _places(cpus: Mapping[str, str]) -> dict[str, str]:
    """Sockets in the order of their first CPU."""
    order = {said: str(n) for n, said in enumerate(sorted(set(cpus.values()), key=natural_order))}
    return {label: order[said] for label, said in cpus.items()}
