"""environment.json in words: the hosts that were used, their versions, their topology."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from backends.results.escaping import md_block, md_text
from backends.results.translations import Words

Json = Mapping[str, Any]  # what json.load gives; every look into it is guarded


def environment_section(
    environment: Json, w: Words, took_part: Collection[str] = (), *, simulated: bool = False
) -> list[str]:
    """Markdown blocks: one bullet per kind of host, the versions, one matrix per topology.

    ``environment`` is read leniently. Under ``hosts`` it has one object per host with the fields of
    :class:`backends.hosts.host_facts.HostFacts`, flat or under ``facts``; all else are versions and
    revisions: texts, or objects of texts. ``took_part``: who had a run; no other host is told of,
    where that is known. ``simulated``: it was recorded by the clock of a demo.
    """
    hosts = [_flat(host) for host in _objects(environment.get("hosts"))]
    hosts = [host for host in hosts if host.get("name") in took_part] or hosts
    blocks = []
    lines = [
        f"- {line}" for line in (*_host_lines(hosts, w), *_version_lines(environment, simulated))
    ]
    if lines:
        blocks.append("\n".join(lines))
    for matrix, names in _alike((topology_text(host), host) for host in hosts):
        if matrix:
            heading = w.topology.format(hosts=md_text(names))
            blocks.append(f"{heading}:\n\n{md_block(matrix)}")
    return blocks or [w.no_environment]


def topology_text(host: Json) -> str:
    """The matrix as ``nvidia-smi topo -m`` prints it; empty where nothing is known."""
    topology = host.get("topology")
    if isinstance(topology, str):
        return topology.strip("\n")
    if not isinstance(topology, Mapping):
        return ""
    labels = _texts(topology.get("labels"))
    links = [_texts(row) for row in _sequence(topology.get("links"))]
    if not labels or len(links) != len(labels):
        return ""
    extra = [
        ("CPU Affinity", _texts(topology.get("cpu_affinity"))),
        ("NUMA Affinity", _texts(topology.get("numa_affinity"))),
    ]
    extra = [(name, values) for name, values in extra if any(values)]
    rows = [["", *labels, *(name for name, _ in extra)]]
    for i, (label, row) in enumerate(zip(labels, links, strict=True)):
        rows.append([label, *row, *(v[i] if i < len(v) else "" for _, v in extra)])
    width = max(len(row) for row in rows)
    widths = [max(len(row[c]) for row in rows if c < len(row)) for c in range(width)]
    lines = ["  ".join(f"{t:<{n}}" for t, n in zip(row, widths, strict=False)) for row in rows]
    legend = topology.get("nic_names")
    if isinstance(legend, Mapping) and legend:
        lines += ["", *(f"{nic}: {name}" for nic, name in legend.items())]
    return "\n".join(line.rstrip() for line in lines)


def _host_lines(hosts: Sequence[Json], w: Words) -> list[str]:
    lines = []
    for text, names in _alike((_describe(host), host) for host in hosts):
        line = w.host_line.format(names=md_text(names)) if ", " in names else md_text(names)
        lines.append(f"{line}: {md_text(text)}" if text else line)
    return lines


def _describe(host: Json) -> str:
    gpus = _objects(host.get("gpus"))
    parts = []
    for model, same in _alike((_gpu_text(gpu), gpu) for gpu in gpus):
        parts.append(f"{same.count(', ') + 1} × {model}")
    if host.get("driver_version"):
        parts.append(f"driver {host['driver_version']}")
    if host.get("cuda_version"):
        parts.append(f"CUDA {host['cuda_version']}")
    if isinstance(settings := host.get("gpu_settings"), Mapping):
        parts += [f"{name} {value}" for name, value in settings.items()]
    if host.get("cpu_model") or host.get("cpus"):
        cpus = f"{host['cpus']} CPUs" if host.get("cpus") else ""
        parts.append(" ".join(filter(None, [cpus, str(host.get("cpu_model") or "")])))
    if isinstance(host.get("memory_mib"), int | float):
        parts.append(f"{host['memory_mib'] / 1024:.0f} GiB")
    parts += [str(host[key]) for key in ("os", "kernel") if host.get(key)]
    if host.get("python"):
        parts.append(f"Python {host['python']}")
    if isinstance(variables := host.get("variables"), Mapping):
        parts += [f"{name}={value}" for name, value in variables.items()]
    parts += [
        f"{found.get('where')}: {found.get('name')} {found.get('version')}"
        for found in _objects(host.get("software"))
    ]
    return ", ".join(parts)


def _gpu_text(gpu: Json) -> str:
    memory = gpu.get("memory_total_mib")
    name = str(gpu.get("name") or "GPU")
    return f"{name} ({memory} MiB)" if memory else name


def _version_lines(environment: Json, simulated: bool) -> list[str]:
    lines = []
    for key, value in environment.items():
        if key == "hosts":
            continue
        text = _value_text(value)
        if text:
            name = "dlperf-tui" if key == "dlperf_tui" else key.replace("_", " ")
            clock = " in simulated time" * (simulated and key == "recorded_at")
            lines.append(f"{md_text(name)}: {md_text(text)}{clock}")
    return lines


def _value_text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {text}" for key, v in value.items() if (text := _value_text(v)))
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(_value_text, value)))
    return "" if value is None else str(value)


def _alike(described: Iterable[tuple[str, Json]]) -> list[tuple[str, str]]:
    """Texts with the names of everything they describe, in order of appearance."""
    names: dict[str, list[str]] = {}
    for text, thing in described:
        names.setdefault(text, []).append(str(thing.get("name") or "?").replace(",", " "))
    return [(text, ", ".join(own)) for text, own in names.items()]


def _flat(host: Json) -> dict[str, Any]:
    facts = host.get("facts")
    return {**(facts if isinstance(facts, Mapping) else {}), **host}


def _objects(value: object) -> list[Json]:
    return [item for item in _sequence(value) if isinstance(item, Mapping)]


def _sequence(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _texts(value: object) -> list[str]:
    return [str(item) for item in _sequence(value)]
