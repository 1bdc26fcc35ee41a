"""What a campaign ran on: environment.json, and the fingerprint that marks mixed environments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any  # JSON

from backends.hosts.fingerprint import UNKNOWN, fingerprint_text
from backends.hosts.host_facts import Gpu, HostFacts, HostSnapshot, Sought
from backends.hosts.software import software_by_role

_NO_FACTS = {"state", "reason"}  # the keys of a host of which there is nothing else to say
# Facts of a moment: they belong to the console, not to a campaign's record.
_MOMENTARY = (
    *("load1", "users", "memory_available_mib", "gpu_processes", "round_trip_s"),
    *("lease", "lease_problem", "sought", "load_of"),
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
    snapshots: Iterable[HostSnapshot], *, version: str, recorded_at: float
) -> dict[str, Any]:
    """The content of a campaign's environment.json.

    Parameters
    ----------
    snapshots: the campaign's hosts; unreachable ones are listed by name and reason.
    version: of dlperf-tui.
    recorded_at: seconds since the epoch.
    """
    return {
        "dlperf_tui": version,
        "recorded_at": datetime.fromtimestamp(recorded_at, UTC).isoformat(timespec="seconds"),
        "hosts": [_host(snapshot) for snapshot in snapshots],
    }


def with_what_was_unknown(
    first: Mapping[str, Any], later: Mapping[str, Any]
) -> dict[str, Any]:  # JSON
    """The ``first`` document, and of the ``later`` one the hosts that the first knows nothing of.

    Those say by themselves when they were looked at. Both are as :func:`environment_document`
    makes them.
    """
    when = {"recorded_at": later["recorded_at"]}
    found = {host["name"]: host for host in later["hosts"]}
    hosts = []
    for host in first["hosts"]:
        now = found.pop(host["name"], host)
        learned = host.keys() >= _NO_FACTS and not now.keys() >= _NO_FACTS
        hosts.append(now | when if learned else host)
    hosts += [host | when for host in found.values()]
    return {**first, "hosts": hosts}


def fingerprint(facts: HostFacts, sought: Sequence[Sought] = ()) -> str:
    """What a host's speed depends on, in the form of :mod:`backends.hosts.fingerprint`.

    GPU models (or the CPU where there is none), driver, CUDA, kernel and architecture; how the GPUs
    are set; and the software of ``sought``. The number of GPUs and the memory are the case's
    business; the clock, the load and the users the moment's. What cannot be read is left out.
    """
    models = sorted({gpu.name for gpu in facts.gpus})
    platform = [
        " + ".join(models) or facts.cpu_model,
        f"driver {facts.driver_version}" if facts.driver_version else "",
        f"CUDA {facts.cuda_version}" if facts.cuda_version else "",
        facts.os,
        facts.kernel,
        facts.architecture,
    ]
    software = software_by_role(facts.software, sought)
    own_nccl = any(one.kind == "image" for one in sought) or any(
        "nccl" in version for version in software.values()
    )
    system = {"system NCCL": facts.nccl_library} if facts.gpus and not own_nccl else {}
    return fingerprint_text(
        ", ".join(part for part in platform if part),
        {**gpu_settings(facts.gpus), **software, **system},
    )


def gpu_settings(gpus: Sequence[Gpu]) -> dict[str, str]:
    """How the operator, or whoever owns the host, has set the GPUs, by name; no GPU, no setting.

    Where they differ every value is there: ``350 + 700 W``. ``unknown`` where one does not say.
    """
    modes = (
        ("persistence", [_mode(gpu.persistence) for gpu in gpus]),
        ("ECC", [_mode(gpu.ecc_enabled) for gpu in gpus]),
        ("MIG", [_mode(gpu.mig_enabled) for gpu in gpus]),
    )
    values: dict[str, list[str]] = {
        "power limit": [
            f"{limit:g} W" if (limit := gpu.power_limit_w) is not None else "" for gpu in gpus
        ],
        "application clocks": [
            "/".join(map(str, clocks)) + " MHz" if (clocks := gpu.application_clocks_mhz) else ""
            for gpu in gpus
        ],
        **dict(modes),
    }
    return {
        name: " + ".join(sorted(set(found))) if all(found) else UNKNOWN
        for name, found in values.items()
        if found
    }


def _mode(enabled: bool | None) -> str:
    return {True: "on", False: "off", None: ""}[enabled]


def fingerprint_of(snapshot: HostSnapshot, sought: Sequence[Sought] = ()) -> str:
    """The fingerprint of a probed host; empty where nothing is known about it."""
    return fingerprint(snapshot.facts, sought) if snapshot.facts else ""


def _host(snapshot: HostSnapshot) -> dict[str, Any]:
    host: dict[str, Any] = {"name": snapshot.name, "address": snapshot.address}
    if snapshot.facts is None:
        return {**host, "state": snapshot.state.value, "reason": snapshot.reason}
    facts = asdict(snapshot.facts)
    for key in _MOMENTARY:
        del facts[key]
    facts["clock_offset_s"] = snapshot.facts.certain_clock_offset_s
    facts["gpus"] = [
        {key: value for key, value in gpu.items() if key not in _MOMENTARY_OF_GPU}
        for gpu in facts["gpus"]
    ]
    return {
        **host,
        "fingerprint": fingerprint(snapshot.facts, snapshot.facts.sought),
        "gpu_settings": gpu_settings(snapshot.facts.gpus),
        **facts,
    }
