"""The hosts of a campaign as they were when it began, read from its environment.json."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any  # JSON

from pydantic import TypeAdapter, ValidationError

from backends.campaign.folder.artifacts import ENVIRONMENT
from backends.campaign.folder.regular_file import open_to_read
from backends.hosts.host_condition import concerns, state_of
from backends.hosts.host_facts import Concern, HostFacts, HostSnapshot, HostState, Topology
from backends.hosts.preflight_finding import Bearing

MOST_ENVIRONMENT = 16 << 20
MOST_DIGITS = 15
AS_BEGUN = "so preflight said when the campaign was started"
_NOW_UNKNOWN = {
    "memory_available_mib": 0,
    "load1": math.nan,
    "round_trip_s": 0.0,
    "users": (),
    "gpu_processes": (),
    "sought": (),
    "lease": None,
    "lease_problem": "",
}
_GPU_NOW_UNKNOWN = dict.fromkeys(
    ("memory_used_mib", "utilization_pct", "power_w", "temperature_c", "sm_clock_mhz")
)
"""Facts of a moment, which environment.json leaves out."""


def recorded_hosts(source: Path, began: float) -> tuple[HostSnapshot, ...]:
    """By a campaign's environment.json, whoever wrote it; none where that cannot be read."""
    fd = open_to_read(source / ENVIRONMENT)
    if fd is None:
        return ()
    with os.fdopen(fd, "rb") as file:
        try:
            document = json.loads(file.read(MOST_ENVIRONMENT), parse_int=_small)
            listed = [one for one in document["hosts"] if isinstance(one["name"], str)]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return ()
    when = _recorded_at(document, began)
    return tuple(_snapshot(one, when) for one in listed)


def with_findings(host: HostSnapshot, told: Iterable[tuple[str, Bearing]]) -> HostSnapshot:
    """``told``: what preflight found before the campaign began, as the journal has it, "node3: in
    use", and of which runs. That of this host are its concerns; what is of one GPU degrades it."""
    found: dict[str, bool] = {}
    for text, bearing in told:
        name, _, what = text.partition(": ")
        if name == host.name and what:
            found.setdefault(what, bool(bearing.gpus))
    known = {concern.what for concern in host.concerns}
    more = (Concern(what, AS_BEGUN, of_gpu) for what, of_gpu in found.items() if what not in known)
    return replace(host, concerns=(*host.concerns, *more))


def with_what_was_recorded(now: HostSnapshot, recorded: Iterable[HostSnapshot]) -> HostSnapshot:
    """A host that is out of reach and of which nothing is known with what the campaign has
    ``recorded`` of it, if anything: then it is :attr:`HostSnapshot.recorded`, and as it was when it
    was ``probed_at``; any other as it is."""
    before = next((host for host in recorded if host.name == now.name and host.facts), None)
    if before is None or now.facts is not None or now.state is not HostState.UNREACHABLE:
        return now
    slots = now.slots or before.slots
    return replace(now, facts=before.facts, slots=slots, probed_at=before.probed_at)


def environments_of_then(hosts: Iterable[HostSnapshot], at_work: Container[str]) -> Iterator[str]:
    """What the operator must know of ``hosts`` that are known by the record alone, while a run is
    ``at_work`` there: of when its environment is."""
    for host in hosts:
        if host.recorded and host.probed_at is not None and host.name in at_work:
            when = datetime.fromtimestamp(host.probed_at, UTC)
            yield (
                f"{host.name} is out of reach: what runs there has its environment as it was "
                f"recorded {when:%Y-%m-%d %H:%M:%S} UTC"
            )


def _small(digits: str) -> int:
    return int(digits) if len(digits) <= MOST_DIGITS else 0


def _recorded_at(document: Mapping[str, Any], began: float) -> float:
    try:
        return datetime.fromisoformat(document["recorded_at"]).timestamp()
    except (ValueError, LookupError, TypeError, OverflowError):
        return began


def _snapshot(told: Mapping[str, Any], when: float) -> HostSnapshot:
    name, address, gpus = told["name"], str(told.get("address", "")), told.get("gpus")
    if isinstance(gpus, list):
        gpus = [_GPU_NOW_UNKNOWN | gpu for gpu in gpus if isinstance(gpu, dict)]
    try:
        facts = TypeAdapter(HostFacts).validate_python({**told, **_NOW_UNKNOWN, "gpus": gpus})
    except ValidationError:
        reason = str(told.get("reason", "")) or "nothing is recorded of it"
        return HostSnapshot(name, address, HostState.UNREACHABLE, reason, probed_at=when)
    if facts.topology is not None and not _is_square(facts.topology):
        facts = replace(facts, topology=None)
    state, reason = state_of(facts)
    slots = len(facts.gpus) or facts.cpus
    return HostSnapshot(
        name, address, state, reason, facts, slots, concerns=concerns(facts), probed_at=when
    )


def _is_square(topology: Topology) -> bool:
    return {len(topology.links), *map(len, topology.links)} == {len(topology.labels)}
