"""A host's topology in a sentence: what its matrix says, and nothing that it does not say."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from backends.hosts.device_sets import DeviceGraph, best_by_size, closeness, graph_of
from backends.hosts.host_facts import HostFacts, Topology
from backends.hosts.topology import LinkClass, link_class

MOST_PAIRS = 12
"""Links of single pairs that are listed one by one."""
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SIZES = {2: "pairs", 3: "triples", 4: "quads"}
_NEXT_TO = (LinkClass.PCIE_SWITCH, LinkClass.PCIE_SWITCHES)
Group = tuple[int, ...]


def summary_of(facts: HostFacts) -> str:
    """Of a probed host; empty where it has no GPU, or its driver says nothing of links."""
    if facts.topology is None:
        return ""
    partitioned = tuple(gpu.index for gpu in facts.gpus if gpu.mig_enabled)
    return topology_summary(facts.topology, facts.interconnects, partitioned)


@lru_cache(maxsize=256)  # screens ask again and again, and all sets of 16 GPUs take a while
def topology_summary(
    topology: Topology, interconnects: tuple[str, ...] = (), partitioned: Group = ()
) -> str:
    """The sentence; empty where there is no GPU. Never raises.

    Parameters
    ----------
    interconnects: ports with their rates, as HostFacts has them.
    partitioned: indices of GPUs in MIG mode; their slices have none of these links.
    """
    graph = graph_of(topology)
    if not graph.gpus:
        return ""
    clauses = [*_linked(graph), *_nics(graph, _rates(interconnects)), *_advice(graph)]
    if split := sorted(set(partitioned) & set(graph.gpus)):
        clauses.append(f"partitioned (MIG): {_gpus(split)}, whose slices have none of these links")
    return "; ".join(clauses)


# Links -------------------------------------------------------------------------------------------


def _linked(graph: DeviceGraph) -> Iterator[str]:
    links = set(graph.links.values())
    if not links:
        yield ", ".join(["one GPU", *_place(graph)])
    elif len(links) == 1:
        yield ", ".join([_every_pair(links.pop()), *_place(graph)])
    else:
        yield from _mixed(graph)


def _every_pair(link: str) -> str:
    match link_class(link):
        case LinkClass.NVLINK:
            return f"every pair {link}, one NVLink domain"
        case LinkClass.UNKNOWN:
            return "links unknown"
        case _:
            return f"no NVLink, every pair {link}"


def _mixed(graph: DeviceGraph) -> Iterator[str]:
    closest = min(link_class(link) for link in graph.links.values())
    groups = cliques(graph, closest)
    linked = [group for group in groups if len(group) > 1]
    title = "NVLink" if closest is LinkClass.NVLINK else _name(graph, closest)
    none = "" if closest is LinkClass.NVLINK else "no NVLink, "
    if len(groups) == 1:
        by_link = _by_link(graph, itertools.combinations(graph.gpus, 2))
        domain = "one NVLink domain" if title == "NVLink" else f"every pair {title}"
        yield f"{none}{', '.join([domain, *_place(graph)])}"
        yield _counted(by_link, "pairs")
        return
    sizes = {len(group) for group in linked}
    kind = _SIZES.get(max(sizes), f"groups of {max(sizes)}") if len(sizes) == 1 else "groups"
    if len(linked) == 1:
        kind = kind.replace("groups", "group").removesuffix("s") if len(sizes) == 1 else kind
    alone = [group[0] for group in groups if len(group) == 1]
    placed = [f"{none}{_number(len(linked))} {title} {kind}", _placed(graph, linked)]
    yield ", ".join(filter(None, placed))
    if alone:
        yield f"{_gpus(alone)} without {title}"
    yield _across(graph, groups)
    if any(_where(graph, group) is None for group in linked) and graph.places:
        yield _homes(graph)


def cliques(graph: DeviceGraph, kind: LinkClass) -> list[Group]:
    """All GPUs in groups in which every two have a link of ``kind``; of one place if possible."""
    left, groups = list(graph.gpus), []
    while left:
        group = [left.pop(0)]
        for gpu in sorted(
            left, key=lambda g: (graph.places.get(g) != graph.places.get(group[0]), g)
        ):
            if all(link_class(graph.link(gpu, other)) is kind for other in group):
                group.append(gpu)
        left = [gpu for gpu in left if gpu not in group]
        groups.append(tuple(sorted(group)))
    return groups


def _across(graph: DeviceGraph, groups: Sequence[Group]) -> str:
    pairs = [
        (min(a, b), max(a, b))
        for one, other in itertools.combinations(groups, 2)
        for a, b in itertools.product(one, other)
    ]
    near = [pair for pair in pairs if link_class(graph.link(*pair)) is LinkClass.NVLINK]
    rest = sorted({graph.link(*pair) for pair in pairs if pair not in near}, key=closeness)
    if not near:
        return f"across them {_and(rest, 'or')}"
    listed = _counted(_by_link(graph, near), "pairs", brackets=True)
    return f"across them only {listed}" + (f", the rest over {_and(rest, 'or')}" if rest else "")


def _by_link(
    graph: DeviceGraph, pairs: Iterable[tuple[int, int]]
) -> Mapping[str, list[tuple[int, int]]]:
    """The closest first."""
    found: dict[str, list[tuple[int, int]]] = {}
    for pair in sorted(pairs):
        found.setdefault(graph.link(*pair), []).append(pair)
    return dict(sorted(found.items(), key=lambda item: closeness(item[0])))


def _counted(
    by_link: Mapping[str, Sequence[tuple[int, int]]], noun: str, *, brackets: bool = False
) -> str:
    """``0–4 and 1–5 (NV2), 2–6 (NV1)``, or ``NV2 between 0–3 and 1–2, the rest NV1``."""
    many = sum(map(len, by_link.values())) > MOST_PAIRS
    parts = []
    for link, pairs in by_link.items():
        listed = [f"{a}–{b}" for a, b in pairs]
        said = f"{len(pairs)} {noun}" if many and len(pairs) > 2 else _and(listed)
        parts.append(f"{said} ({link})" if brackets else f"{link} between {said}")
    if not brackets:
        parts[-1] = f"the rest {list(by_link)[-1]}"
    return ", ".join(parts)


# Places ------------------------------------------------------------------------------------------


def _where(graph: DeviceGraph, group: Sequence[int]) -> str | None:
    """The place of all of a group; None where there is none such."""
    places = {graph.places.get(gpu) for gpu in group}
    return places.pop() if len(places) == 1 else None


def _place(graph: DeviceGraph) -> list[str]:
    if not graph.places:
        return []
    if _where(graph, graph.gpus) is not None:
        return [f"one {_kind(graph)}"]
    return [_homes(graph)]


def _kind(graph: DeviceGraph) -> str:
    return "NUMA node" if graph.numa else "socket"


def _homes(graph: DeviceGraph) -> str:
    """Which GPUs are at which place."""
    homes: dict[str, list[int]] = {}
    for gpu in graph.gpus:
        homes.setdefault(graph.places[gpu], []).append(gpu)
    return _and([f"{_gpus(gpus)} on {_kind(graph)} {place}" for place, gpus in homes.items()])


def _placed(graph: DeviceGraph, groups: Sequence[Group]) -> str:
    """Groups by name, each with its place."""
    where = [_where(graph, group) for group in groups]
    if any(place is None for place in where):
        return _and([_group(group) for group in groups])
    if _where(graph, graph.gpus) is not None:
        return f"{_and([_group(group) for group in groups])}, one {_kind(graph)}"
    homes: dict[str | None, list[str]] = {}
    for place, group in zip(where, groups, strict=True):
        homes.setdefault(place, []).append(_group(group))
    parts = [f"{_and(names)} on {_kind(graph)} {place}" for place, names in homes.items()]
    return _and(parts) if len(parts) == len(groups) else ", ".join(parts)


def _group(group: Group) -> str:
    return f"GPU{group[0]}–{group[1]}" if len(group) == 2 else _gpus(group)


# NICs --------------------------------------------------------------------------------------------


def _nics(graph: DeviceGraph, rates: Mapping[str, str]) -> Iterator[str]:
    """Those that are near to the same GPUs together."""
    alike: dict[tuple[Group, str], list[str]] = {}
    for name, links in graph.nics.items():
        nearest = min(map(link_class, links.values()), default=LinkClass.UNKNOWN)
        near = tuple(gpu for gpu, link in links.items() if link_class(link) is nearest)
        if nearest is LinkClass.UNKNOWN:
            alike.setdefault(((), ""), []).append(name)
        else:
            word = "" if nearest in _NEXT_TO else links[near[0]]
            alike.setdefault((near, word), []).append(name)
    parts = []
    for (near, word), names in alike.items():
        said = _and(names) + _rate([rates.get(name, "") for name in names])
        if not near:
            parts.append(f"{said} at an unknown distance")
        elif not word:
            parts.append(f"{said} next to {_gpus(near)}")
        elif near == graph.gpus:
            parts.append(f"{said} equally far from every GPU ({word})")
        else:
            parts.append(f"{said} nearest to {_gpus(near)} ({word})")
    if parts:
        yield ", ".join(parts)


def _rates(interconnects: Iterable[str]) -> dict[str, str]:
    """``mlx5_0 100 Gb/sec (4X EDR)`` → 100 Gb/sec; a port that is down says so."""
    rates: dict[str, str] = {}
    for line in interconnects:
        name, _, rest = line.partition(" ")
        rate, bracket, state = rest.partition(" (")
        down = state.partition(")")[2].strip() if bracket else ""
        rates.setdefault(name, ", ".join(filter(None, (rate, down))))
    return rates


def _rate(rates: Sequence[str]) -> str:
    if not all(rates) or len(set(rates)) > 1:
        return ""
    return f" ({rates[0]}{' each' if len(rates) > 1 else ''})"


# Advice ------------------------------------------------------------------------------------------


def _advice(graph: DeviceGraph) -> Iterator[str]:
    """Where the first GPUs are not the best set of so many."""
    for size, best in best_by_size(graph).items():
        first = graph.gpus[:size]
        if graph.worth(best) != graph.worth(first):
            yield f"for 1n{size}g {_list(best)}: {_compared(graph, best, first)}"


def _compared(graph: DeviceGraph, best: Group, first: Group) -> str:
    linked, others = _within(graph, best), _within(graph, first)
    better, worse = [linked], [f"are {others}"] if others != linked else []
    (_, _, spread, nics), (_, _, spread_first, nics_first) = graph.worth(best), graph.worth(first)
    if spread < spread_first:
        better.append(f"on one {_kind(graph)}" if spread == 1 else "on fewer NUMA nodes")
        worse = worse or [f"are on {_number(spread_first)}"]
    if nics < nics_first and all(graph.nearest_nic[gpu] in _NEXT_TO for gpu in best):
        better.append("next to the NIC" if len(graph.nics) == 1 else "next to a NIC")
        worse = worse or ["are farther from it"]
    elif nics < nics_first and not worse:
        better.append("nearer to the NIC" if len(graph.nics) == 1 else "nearer to a NIC")
        worse = ["are farther from it"]
    if not worse:
        total, total_first = (_nvlinks(graph, gpus) for gpus in (best, first))
        better += [f"{total} NVLinks in all"] * (total != total_first)
        worse = [f"have {total_first}" if total != total_first else "are farther apart"]
    return f"{_and(better)} ({_list(first)}, the first {_number(len(first))}, {worse[0]})"


def _nvlinks(graph: DeviceGraph, gpus: Group) -> int:
    return -sum(closeness(link)[1] for link in graph.links_within(gpus))


def _within(graph: DeviceGraph, gpus: Group) -> str:
    """``NV2``, or ``NV1 to NV2``: the farthest and the closest link of a set."""
    links = sorted(set(graph.links_within(gpus)), key=closeness, reverse=True)
    return links[0] if len(links) == 1 else f"{links[0]} to {links[-1]}"


# Words -------------------------------------------------------------------------------------------


def _name(graph: DeviceGraph, kind: LinkClass) -> str:
    return next(link for link in graph.links.values() if link_class(link) is kind)


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _list(gpus: Iterable[int]) -> str:
    return ",".join(map(str, gpus))


def _gpus(gpus: Sequence[int]) -> str:
    """``GPU0…3`` where there are three and more in a row, else each."""
    names: list[str] = []
    for run in _runs(gpus):
        names += [f"GPU{run[0]}…{run[-1]}"] if len(run) > 2 else [f"GPU{gpu}" for gpu in run]
    return _and(names)


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _and(words: Sequence[str], last: str = "and") -> str:
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
