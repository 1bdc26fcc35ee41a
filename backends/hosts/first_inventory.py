"""A first hosts.toml: the hosts of the ssh config, as a probe found them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.nodesets import expand_nodeset, fold_nodeset, ranked_nodeset
from profiles.cleantext import clean_text
from profiles.counted import counted

_HEAD = """\
# Hosts for dlperf-tui, from {source}; docs/inventory.md has every key.
# Address, user, port, key and ProxyJump of each stay what the ssh config says.

[defaults]
# interface = "ib0"                  # for the training traffic, where it has a network of its own
# work_dir = "~/.cache/dlperf-tui"   # on the hosts
"""
_TRAINING = "what ranks on other hosts connect to, by the ssh config"
_ADDRESS = re.compile(r"[A-Za-z0-9._-]+")
_MODEL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{1,4}\d{1,4}[A-Za-z]?(?![A-Za-z0-9])")


def first_inventory(
    snapshots: Sequence[HostSnapshot], source: str, addresses: Mapping[str, str] | None = None
) -> str:
    """The text of the file. Hosts that could not be reached, and where others have GPUs those
    without, are in it as comments. ``source``: where their names are from. ``addresses``: by name,
    what an alias stands for: the hosts themselves need not know the alias.

    Names are those of :data:`backends.inventory.host_entry.HOST_NAME`.
    """
    reached = [s for s in snapshots if s.facts is not None]
    away = [s for s in snapshots if s.facts is None]
    with_gpus = [s for s in reached if s.gpus_unknown or (s.facts is not None and s.facts.gpus)]
    known = addresses if addresses and len(reached) > 1 else {}
    blocks = [_HEAD.format(source=clean_text(source)).rstrip("\n")]
    for devices, group in groupby(with_gpus or reached, key=devices_text):
        hosts = list(group)
        each = " each" if len(hosts) > 1 else ""
        blocks.append(f"# {devices}{each}\n{_entry(hosts, known)}")
    if with_gpus and (without := [s for s in reached if s not in with_gpus]):
        why = "# No GPU: a login node, a gateway? Take the # away to run there all the same."
        blocks.append(f"{why}\n{_commented(_entry(without, known))}")
    if away:
        reasons = "".join(f"#   {s.name}: {_line(s.reason) or s.state}\n" for s in away)
        why = f"# Not reached when this was written:\n{reasons}"
        blocks.append(f"{why}{_commented(_entry(away, known))}")
    return "\n\n".join(blocks) + "\n"


def devices_text(snapshot: HostSnapshot) -> str:
    """``8 × NVIDIA H200``; ``no GPU, 2 slots``; ``GPUs unknown`` where its driver does not tell; a
    dash where nobody knows."""
    if snapshot.gpus_unknown:
        return "GPUs unknown"
    if snapshot.facts is None:
        return "–"
    models = Counter(gpu.name for gpu in snapshot.facts.gpus)
    if not models:
        return f"no GPU, {counted(snapshot.slots, 'slot')}"
    return ", ".join(f"{number} × {_line(name)}" for name, number in models.items())


def usable(snapshots: Iterable[HostSnapshot]) -> bool:
    """Whether any could be reached."""
    return any(snapshot.state is not HostState.UNREACHABLE for snapshot in snapshots)


def _entry(hosts: Sequence[HostSnapshot], addresses: Mapping[str, str]) -> str:
    names = fold_nodeset(host.name for host in hosts)
    lines = ["[[hosts]]", f'name = "{names}"']
    there = [addresses.get(name, name) for name in expand_nodeset(names)]
    if set(there) != {host.name for host in hosts} and all(map(_ADDRESS.fullmatch, there)):
        lines.append(f'train_address = "{ranked_nodeset(there)}"  # {_TRAINING}')
    labels = dict.fromkeys(label for host in hosts for label in _labels(host))
    if labels:
        quoted = ", ".join(f'"{label}"' for label in labels)
        lines.append(f"labels = [{quoted}]")
    return "\n".join(lines) + "\n"


def _labels(host: HostSnapshot) -> list[str]:
    """``h200`` of "NVIDIA H200"; nothing where a name has no such word."""
    gpus = host.facts.gpus if host.facts is not None else ()
    found = (_MODEL.search(gpu.name) for gpu in gpus)
    return [match[0].lower() for match in found if match is not None]


def _commented(text: str) -> str:
    return "".join(f"# {line}\n" for line in text.splitlines())


def _line(text: str) -> str:
    return " ".join(clean_text(text).split())
