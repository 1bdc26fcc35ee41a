"""Hosts as JSON: what ``dlperf-tui hosts --json`` prints, documented in docs/inventory.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any  # JSON

from backends.hosts.device_sets import best_by_size, graph_of
from backends.hosts.host_facts import HostFacts, HostSnapshot
from backends.hosts.topology_words import summary_of
from backends.remote.lease import Lease


def host_document(snapshot: HostSnapshot) -> dict[str, Any]:
    """One host. Every key is always there; of an unreachable host the facts are null or empty.

    Memory and disk in MiB, clock offset and round trip in seconds, power in watts.
    """
    facts = snapshot.facts
    topology = facts.topology if facts else None
    return {
        "name": snapshot.name,
        "address": snapshot.address,
        "state": snapshot.state.value,
        "reason": snapshot.reason,
        "remedy": snapshot.remedy,
        "warnings": list(snapshot.warnings),
        "remedies": [concern.remedy for concern in snapshot.concerns],
        "probed_at": snapshot.probed_at,
        "slots": snapshot.slots,
        "lease": _lease(snapshot.lease),
        "partitions": list(snapshot.partitions),
        "reservation": snapshot.reservation,
        "os": facts.os if facts else None,
        "kernel": facts.kernel if facts else None,
        "architecture": facts.architecture if facts else None,
        "hostname": facts.hostname if facts else None,
        "boot_id": facts.boot_id if facts else None,
        "cpu_model": facts.cpu_model if facts else None,
        "cpus": facts.cpus if facts else None,
        "numa_nodes": facts.numa_nodes if facts else None,
        "memory_mib": facts.memory_mib if facts else None,
        "memory_available_mib": facts.memory_available_mib if facts else None,
        "disk_free_mib": facts.disk_free_mib if facts else None,
        "disk_total_mib": facts.disk_total_mib if facts else None,
        "load": facts.load1 if facts else None,
        "users": list(facts.users) if facts else [],
        "python": facts.python if facts else None,
        "driver": facts.driver_version if facts else None,
        "cuda": facts.cuda_version if facts else None,
        "nccl": (facts.nccl_library or None) if facts else None,
        "gpus": [_listed(asdict(gpu)) for gpu in facts.gpus] if facts else [],
        "gpu_processes": [asdict(process) for process in facts.gpu_processes] if facts else [],
        "gpu_problem": facts.gpu_problem if facts else "",
        "link_labels": list(topology.labels) if topology else [],
        "links": [list(row) for row in topology.links] if topology else [],
        "nic_names": dict(topology.nic_names) if topology else {},
        "cpu_affinity": list(topology.cpu_affinity) if topology else [],
        "numa_affinity": list(topology.numa_affinity) if topology else [],
        "topology": _topology(facts),
        "interconnects": list(facts.interconnects) if facts else [],
        "container_runtimes": list(facts.container_runtimes) if facts else [],
        "clock_offset_s": round(facts.certain_clock_offset_s, 3) if facts else None,
        "round_trip_s": round(facts.round_trip_s, 3) if facts else None,
        "missing": list(facts.missing) if facts else [],
    }


def _topology(facts: HostFacts | None) -> dict[str, Any]:
    if facts is None or facts.topology is None:
        return {"summary": "", "best": {}}
    best = best_by_size(graph_of(facts.topology))
    return {
        "summary": summary_of(facts),
        "best": {str(size): list(gpus) for size, gpus in best.items()},
    }


def _lease(lease: Lease | None) -> dict[str, Any] | None:
    return None if lease is None else {"holder": lease.words, "since": lease.since}


def _listed(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()
    }
