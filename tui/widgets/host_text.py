"""Everything known of one host in words: its state, its GPUs, how its devices are linked."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.text import Text

from backends.hosts.first_inventory import devices_text
from backends.hosts.host_facts import Concern, HostFacts, HostSnapshot, HostState
from backends.hosts.topology_words import summary_of
from profiles.counted import counted
from tui.text import age, gib, host_state, join, plain
from tui.theme import ACCENT, BAD, MUTED, WARN
from tui.widgets.device_text import (
    NOBODY,
    UNASKED,
    affinity_text,
    flowed,
    gpu_lines,
    legend_text,
    link_lines,
    users_text,
)

if TYPE_CHECKING:
    from backends.precheck.judged import Judged

CLOCK_WARNING_S = 1.0
"""From here on the host's clock is said to be off: log times of two hosts do not compare."""
BETWEEN = 3


def host_text(
    host: HostSnapshot,
    *,
    width: int = 76,
    now: float | None = None,
    own: Mapping[str, str] | None = None,
    metered: bool = False,
    judged: Judged | None = None,
) -> Text:
    """The detail panel's content at ``width`` columns; wider where what it shows is.

    Parameters
    ----------
    now: seconds since the epoch, for how old it all is.
    own: what to call runs of ours, by run id.
    metered: its GPUs and load were seen a moment ago, whenever it was asked for the rest.
    judged: by the latest precheck, or why it was not; it needs ``now``.
    """
    own = own or {}
    text = Text(no_wrap=True, end="")
    text.append_text(_headline(host, now, own, width, metered=metered)).append("\n")
    if judged is not None and now is not None:
        sign = "▲" if judged.named else "●" if judged.known else "○"
        style = WARN if judged.named else MUTED
        text.append_text(_wrapped(f"{sign} {judged.text(now)}", width, style))
    if host.facts is None:
        text.append_text(_without_facts(host, width))
        return text.append("\n").append_text(seen) if (seen := _seen(host, now, width)) else text
    for concern in host.concerns:
        text.append_text(_concern(concern, width))
    if host.partitions:
        return text.append_text(_told_by_queue(host, host.facts, width))
    # What changes comes first: a small terminal has no room for more.
    if host.facts.gpus:
        text.append_text(_devices(host, host.facts, width, own)).append("\n")
    else:
        if host.gpus_unknown:
            text.append_text(_wrapped(f"GPUs unknown: {host.gpus_unknown}", width, BAD))
            text.append_text(_seen(host, now, width))
        none = "" if host.gpus_unknown else "No GPU; "
        text.append(f"{none}{counted(host.slots, 'slot')} for CPU workloads\n", MUTED)
        if host.facts.topology is not None:
            text.append("\n").append_text(_stacked(link_lines(host.facts.topology)))
            text.append_text(legend_text(host.facts.topology)).append("\n")
    if summary := summary_of(host.facts):
        text.append_text(_wrapped(summary, width)).append("\n")
    text.append_text(_system(host.facts, width))
    text.rstrip()
    return text


def _headline(
    host: HostSnapshot,
    now: float | None,
    own: Mapping[str, str],
    width: int,
    *,
    metered: bool,
) -> Text:
    """State, address, age, lease; who holds a host may have a lot to say, on lines of its own."""
    parts: list[Text | str | tuple[str, str]] = [
        host_state(host),
        plain(host.address or ", ".join(host.partitions) or "this machine"),
    ]
    old = age(host, now)
    if host.recorded:
        parts.append(("its facts as of the campaign's begin", MUTED))
    elif old != "–":
        when = "asked just now" if old == "now" else f"as of {old} ago"
        when += f", {host.outdated}" * bool(host.outdated)
        if metered and old != "now":
            seen = "GPUs and load" if host.facts is not None and host.facts.gpus else "load"
            when = f"facts {when}; {seen} as of now"
        parts.append((when, MUTED))
    if not (host.facts is None or host.partitions or (host.recorded and not host.lease)):
        parts.append(_lease(host, own))
    return _in_lines(parts, width)


def _in_lines(parts: Sequence[Text | str | tuple[str, str]], width: int) -> Text:
    """On as few lines as have room for them; what is wider than one goes on below."""
    line, *others = (
        part if isinstance(part, Text) else Text(*((part,) if isinstance(part, str) else part))
        for part in parts
    )
    text = Text(end="")
    for part in others:
        longer = join([line, part], " · ")
        if longer.cell_len <= width:
            line = longer
            continue
        text.append_text(line).append("\n")
        line = part if part.cell_len <= width else _wrapped(part.plain, width, str(part.style))
        line.rstrip()
    return text.append_text(line)


def _lease(host: HostSnapshot, own: Mapping[str, str]) -> tuple[str, str]:
    if host.lease is None:
        return "no lease", MUTED
    label = own.get(host.lease.run_id)
    if label is not None:
        return f"held by our run {plain(label)}", ACCENT
    return f"held by {plain(host.lease.explained)}", WARN


def _without_facts(host: HostSnapshot, width: int) -> Text:
    if host.state is HostState.UNREACHABLE:
        text = Text("\n").append_text(_wrapped(host.reason, width, BAD))
        if host.remedy:
            text.append_text(_wrapped(f"→ {host.remedy}", width))
        return text.append("\nr asks again once that is mended", MUTED)
    words = "asking it now …" if host.state is HostState.PROBING else "not probed yet; r asks it"
    return Text(f"\n{words}", MUTED)


def _seen(host: HostSnapshot, now: float | None, width: int) -> Text:
    """What a host that does not tell what it has had when it last did."""
    if host.seen is None:
        return Text()
    when = age(host.seen, now)
    old = "" if when == "–" else f", {when} ago"
    return _wrapped(f"it had {devices_text(host.seen)} when it last told{old}", width, MUTED)


def _concern(concern: Concern, width: int) -> Text:
    sign = "▲" if concern.degrades else "·"
    text = _wrapped(f"{sign} {plain(concern.what)}", width, BAD if concern.degrades else WARN)
    return text.append_text(_wrapped(f"  → {plain(concern.remedy)}", width))


def _wrapped(words: str, width: int, style: str = "") -> Text:
    lines = textwrap.wrap(
        plain(words) if not words.startswith(" ") else words,
        max(30, width),
        subsequent_indent="  ",
        break_on_hyphens=False,
    )
    return Text("".join(f"{line}\n" for line in lines), style, no_wrap=True, end="")


def _told_by_queue(host: HostSnapshot, facts: HostFacts, width: int) -> Text:
    """Nobody has looked at the host itself."""
    text = _capacity(facts, width)
    used = sorted({process.gpu_index for process in facts.gpu_processes})
    if facts.gpus:
        models = " + ".join(dict.fromkeys(plain(gpu.name) for gpu in facts.gpus))
        text.append(f"{counted(len(facts.gpus), 'GPU')}, {models}")
        text.append(f"; jobs have {', '.join(map(str, used)) or 'none'}\n")
    if host.reason and not host.concerns:
        text.append_text(_wrapped(host.reason, width))
    return text


def _system(facts: HostFacts, width: int) -> Text:
    text = flowed([plain(facts.os), plain(facts.kernel), plain(facts.cpu_model)], width)
    text.append_text(_capacity(facts, width))
    software: list[Text | str | tuple[str, str]] = []
    if facts.driver_version:
        cuda = f", CUDA {plain(facts.cuda_version)}" if facts.cuda_version else ""
        software.append(f"driver {plain(facts.driver_version)}{cuda}")
    software.append(f"python {plain(facts.python)}" if facts.python else ("no python3 found", WARN))
    software += [plain(name) for name in facts.container_runtimes]
    offset = facts.certain_clock_offset_s
    warned = abs(offset) >= CLOCK_WARNING_S
    clock = f"clock {offset:+z.2f} s from this machine's"
    software.append((f"{'▲ ' if warned else ''}{clock}", WARN if warned else ""))
    return text.append_text(flowed(software, width))


def _capacity(facts: HostFacts, width: int) -> Text:
    memory, load = f"{gib(facts.memory_mib)} GiB", []
    if facts.of_a_moment:
        memory = f"{gib(facts.memory_mib - facts.memory_available_mib)} of {memory}"
        load = [f"load {facts.load1:.1f}"]
    parts: list[Text | str | tuple[str, str]] = [
        f"{counted(facts.cpus, 'CPU')}, {counted(facts.numa_nodes, 'NUMA node')}",
        *load,
        f"memory {memory}",
    ]
    return flowed(parts, width)


def _devices(host: HostSnapshot, facts: HostFacts, width: int, own: Mapping[str, str]) -> Text:
    """GPUs, and how they are linked: beside each other where there is room, else below."""
    topology = facts.topology
    asked = facts.of_a_moment and not host.outdated  # a watch tells the load, and no users
    lines = partial(gpu_lines, facts, own, nobody=NOBODY if asked else UNASKED)
    table = lines()
    links = link_lines(topology, short=True) if topology is not None else []
    room = width - BETWEEN - max((line.cell_len for line in links), default=0)
    beside = bool(links) and _width(lines(width=room)) <= room
    room = room if beside else width
    short = _width(table) > room
    gpus = lines(width=room) if short else table
    text = _beside(gpus, links) if beside else _stacked(gpus)
    if host.outdated:
        why = f"not known, as it was asked {host.outdated}; r asks it again"
        text.append_text(_wrapped(why, width, MUTED))
    users = users_text(facts, own, width) if short else Text(end="")
    if users or beside:
        text.append("\n").append_text(users)
    if topology is None:
        text.rstrip()
        return text.append("\n")
    whole = [] if beside else link_lines(topology)
    if whole and _width(whole) <= width:
        text.append_text(_stacked([Text(end=""), *whole]))
    else:  # CPUs and NUMA nodes have no column, but a line of their own
        text.append_text(_stacked([Text(end=""), *links] if whole else []))
        text.append_text(affinity_text(topology, width))
    return text.append_text(legend_text(topology, width))


def _stacked(lines: list[Text]) -> Text:
    text = Text(no_wrap=True, end="")
    for line in lines:
        text.append_text(line).append("\n")
    return text


def _width(lines: list[Text]) -> int:
    return max(line.cell_len for line in lines)


def _beside(left: list[Text], right: list[Text]) -> Text:
    text = Text(no_wrap=True, end="")
    at = _width(left) + BETWEEN
    for one, other in zip_longest(left, right, fillvalue=Text("", end="")):
        text.append_text(one).append(" " * (at - one.cell_len)).append_text(other).append("\n")
    return text
