"""What a campaign ran on: environment.json, and the fingerprint that marks mixed environments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any  # JSON

from backends.hosts.facts import HostFacts, HostSnapshot

# Facts of a moment: they belong to the console, not to a campaign's record.
_MOMENTARY = (
    *("load1", "load5", "users", "memory_available_mib", "gpu_processes", "round_trip_s"),
    *("lease", "lease_problem"),
)
_MOMENTARY_OF_GPU = (
    "memory_used_mib",
    "utilization_pct",
    "power_w",
    "temperature_c",
    "sm_clock_mhz",
    "throttle_reasons",
)


def environment_document(
    snapshots: Iterable[HostSnapshot],
    *,
    version: str,
    recorded_at: float,
    revisions: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of a campaign's environment.json.

    Parameters
    ----------
    snapshots: the campaign's hosts; unreachable ones are listed by name and reason.
    version: of dlperf-tui.
    recorded_at: seconds since the epoch.
    revisions: what only the campaign knows (git revisions, images, framework versions), by name.
    """
    return {
        "dlperf_tui": version,
        "recorded_at": datetime.fromtimestamp(recorded_at, UTC).isoformat(timespec="seconds"),
        **(revisions or {}),
        "hosts": [_host(snapshot) for snapshot in snapshots],
    }


def fingerprint(facts: HostFacts) -> str:
    """What a host's speed depends on, in words; equal text means an equal environment.

    GPU models (or the CPU where there is none), driver, CUDA, kernel and architecture. The number
    of GPUs and the memory are the case's business; the clock, the load and the users the moment's.
    """
    models = sorted({gpu.name for gpu in facts.gpus})
    parts = [
        " + ".join(models) or facts.cpu_model,
        f"driver {facts.driver_version}" if facts.driver_version else "",
        f"CUDA {facts.cuda_version}" if facts.cuda_version else "",
        facts.os,
        facts.kernel,
        facts.architecture,
    ]
    return ", ".join(part for part in parts if part)


def fingerprint_of(snapshot: HostSnapshot) -> str:
    """The fingerprint of a probed host; empty where nothing is known about it."""
    return fingerprint(snapshot.facts) if snapshot.facts else ""


def _host(snapshot: HostSnapshot) -> dict[str, Any]:
    host: dict[str, Any] = {"name": snapshot.name, "address": snapshot.address}
    if snapshot.facts is None:
        return {**host, "state": snapshot.state.value, "reason": snapshot.reason}
    facts = asdict(snapshot.facts)
    for key in _MOMENTARY:
        del facts[key]
    facts["gpus"] = [
        {key: value for key, value in gpu.items() if key not in _MOMENTARY_OF_GPU}
        for gpu in facts["gpus"]
    ]
    return {**host, "fingerprint": fingerprint(snapshot.facts), **facts}
