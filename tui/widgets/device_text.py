"""A host's GPUs, and the matrix of their links, as lines of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.text import Text

from backends.hosts.host_condition import HOT_C
from backends.hosts.host_facts import Gpu, GpuProcess, HostFacts, Topology
from backends.hosts.topology import legend
from backends.inventory.nodesets import fold_nodeset
from tui.text import bar, gib, join, plain, shorten
from tui.theme import ACCENT, BAD, GOOD, MUTED, WARN, link_colour

TOPOLOGY, LINKS = "Topology", "Links"
"""How the matrix of links begins, where that is below the GPUs: with affinities, and without."""

NOBODY, UNASKED, OURS = "–", "not known", "ours"


def gpu_lines(
    facts: HostFacts,
    own: Mapping[str, str],
    *,
    width: int | None = None,
    nobody: str = NOBODY,
) -> list[Text]:
    """A line per GPU below their head; ``width``: as many columns, and less of who uses them: a run
    of ours only as such where not every name has room. What is wrong with one is whole, though that
    be wider. ``nobody``: what stands where no user was seen."""
    short = width is not None
    mixed = len({gpu.name for gpu in facts.gpus}) > 1
    head = Text("GPUs ", "bold", no_wrap=True, end="")
    titles: tuple[str, ...] = (
        f"{'memory GiB':<{11 if short else 19}}",
        f"{'util':<{8 if short else 13}}",
    )
    apart = " " if short else "  "
    titles += (" temp", " power W", "  MHz", "in use by")
    head.append(apart.join(titles), f"not bold {MUTED}")
    figures = [_figures(gpu, apart, short=short) for gpu in facts.gpus]
    used = [_users(gpu, facts, own, short=short, nobody=nobody) for gpu in facts.gpus]
    if width is not None and any(
        line.cell_len + users.cell_len > width for line, users in zip(figures, used, strict=True)
    ):
        used = [_users(gpu, facts, None, short=short, nobody=nobody) for gpu in facts.gpus]
    lines = [head]
    for gpu, line, remarks in zip(facts.gpus, figures, used, strict=True):
        if mixed:
            remarks.append(f"  {plain(gpu.model)}", MUTED)
        troubles = join(_troubles(gpu, short=short), "  ")
        if short and troubles and remarks.plain == NOBODY:
            lines.append(line.append_text(troubles))
            continue
        behind = Text("  ").append_text(troubles) if troubles else Text()
        if width is not None:
            room = max(len(nobody), len(OURS), width - line.cell_len - behind.cell_len)
            remarks.truncate(room, overflow="ellipsis")
        lines.append(line.append_text(remarks).append_text(behind))
    if width is not None:
        head.truncate(width)
    return lines


def _figures(gpu: Gpu, apart: str, *, short: bool) -> Text:
    hot = gpu.temperature_c is not None and gpu.temperature_c >= HOT_C
    limit = "" if gpu.power_limit_w is None else f"/{gpu.power_limit_w:.0f}"
    power = "–" if gpu.power_w is None else f"{gpu.power_w:.0f}"
    cells = (
        _memory(gpu, 0 if short else 7),
        _utilisation(gpu, 3 if short else 8),
        (f"{_known(gpu.temperature_c):>3}°C", WARN if hot else ""),
        f"{power}{limit}".rjust(8),
        _known(gpu.sm_clock_mhz).rjust(5),
        "",
    )
    return Text(f" {gpu.index:>2}  ", no_wrap=True, end="").append_text(join(cells, apart))


def _known(value: int | None) -> str:
    return "–" if value is None else str(value)


def _troubles(gpu: Gpu, *, short: bool) -> list[tuple[str, str]]:
    found = [("MIG", WARN)] if gpu.mig_enabled else []
    if gpu.throttle_reasons:
        by = ", ".join(map(plain, gpu.throttle_reasons))
        brief = by.replace("software ", "").replace("thermal slowdown", "heat")
        found.append((f"slow: {brief}" if short else f"slowed by {by}", WARN))
    if gpu.ecc_uncorrected:
        kind = "ECC errors" if short else "uncorrected ECC errors"
        found.append((f"▲ {gpu.ecc_uncorrected} {kind}", BAD))
    return found


def _memory(gpu: Gpu, width: int) -> Text:
    used, total = gpu.memory_used_mib, gpu.memory_total_mib
    fraction = used / total if used is not None and total else None
    words = f"{gib(used)}/{gib(total)}".rjust(11)
    return join([words, " ", bar(fraction, width)]) if width else Text(words, end="")


def _utilisation(gpu: Gpu, width: int) -> Text:
    value = gpu.utilization_pct
    words = "   –" if value is None else f"{value:>3}%"
    return join([words, " ", bar(None if value is None else value / 100, width, GOOD)])


def _users(
    gpu: Gpu, facts: HostFacts, own: Mapping[str, str] | None, *, short: bool, nobody: str
) -> Text:
    """``own``: see :func:`_user`."""
    text = Text(no_wrap=True, end="")
    users = [p for p in facts.gpu_processes if p.gpu_index == gpu.index]
    if not users:
        return text.append(nobody, MUTED)
    if short:
        return join([_user(p, own) for p in _first_of_each(users)], " ")
    for number, process in enumerate(users):
        command = plain(process.command).split(" ")[0].rsplit("/", 1)[-1]
        text.append("  " if number else "").append_text(_user(process, own))
        text.append(f" {command} {process.pid}", MUTED)
    return text


def _user(process: GpuProcess, own: Mapping[str, str] | None) -> Text:
    """Whose it is; a run of ours as such. ``own``: what to call it, by run id; None: no name."""
    if not process.run_id:
        return Text(plain(process.user), WARN, end="")
    if own is None:
        return Text(OURS, ACCENT, end="")
    return Text(f"our run {plain(own.get(process.run_id, process.run_id))}", ACCENT, end="")


def _first_of_each(processes: Iterable[GpuProcess]) -> list[GpuProcess]:
    return list({(p.user, p.run_id): p for p in processes}.values())


def users_text(facts: HostFacts, own: Mapping[str, str], width: int) -> Text:
    """Every process on the GPUs, a line for each user and command, or more where it is long."""
    found: dict[tuple[str, str, str], list[GpuProcess]] = {}
    for process in facts.gpu_processes:
        key = (process.run_id, process.user, process.command)
        found.setdefault(key, []).append(process)
    text = Text(no_wrap=True, end="")
    for processes in found.values():
        first = processes[0]
        gpus = ",".join(map(str, sorted({p.gpu_index for p in processes})))
        words = [f"{shorten(plain(first.command), 60)},", "pid"]
        *others, last = map(str, sorted({p.pid for p in processes}))
        words += [*(f"{pid}," for pid in others), last]
        user = join([_user(first, own), f" on GPU {gpus}:"])
        text.append_text(flowed([user, *((word, MUTED) for word in words)], width, " "))
    return text


def link_lines(topology: Topology, *, short: bool = False) -> list[Text]:
    """The matrix; ``short``: without affinities, which the sentence above it tells."""
    labels = [plain(label) for label in topology.labels]
    width = max([5 if short else 4, *(len(label) for label in labels)])
    affinity = [] if short else [*map(plain, topology.cpu_affinity)]
    numa = [] if short else [*map(plain, topology.numa_affinity)]
    lines = [] if short else [Text(TOPOLOGY, "bold", end="")]
    head = Text(LINKS.ljust(width + 1) if short else " " * (width + 1), "bold", end="")
    for label in labels:
        head.append(label.rjust(max(len(label), 4)) + " ", f"not bold {MUTED}")
    if any(affinity):
        head.append("  CPUs".ljust(max(map(len, affinity)) + 4), f"not bold {MUTED}")
    lines.append(head.append("NUMA" if any(numa) else "", f"not bold {MUTED}"))
    for row, label in enumerate(labels):
        line = Text(label.ljust(width) + " ", MUTED, no_wrap=True, end="")
        for column, link in enumerate(map(plain, topology.links[row])):
            cell = "·" if link == "X" else link
            colour = link_colour(link)
            line.append(cell.rjust(max(len(labels[column]), 4)) + " ", colour)
        if any(affinity) and row < len(affinity):
            line.append("  " + affinity[row].ljust(max(map(len, affinity)) + 2), "default")
        if any(numa) and row < len(numa):
            line.append(numa[row], "default")
        lines.append(line)
    return lines


def legend_text(topology: Topology, width: int = 76) -> Text:
    """What the links that occur mean, and what numbers of NICs stand for."""
    parts = [
        join([(plain(link), link_colour(link)), (f" {plain(words)}", MUTED)])
        for link, words in legend(topology)
    ]
    text = flowed(parts, width, "   ")
    nics = [
        (f"{plain(short)} is {plain(name)}", MUTED) for short, name in topology.nic_names.items()
    ]
    return text.append_text(flowed(nics, width, "  ")) if nics else text


def flowed(parts: Iterable[Text | str | tuple[str, str]], width: int, between: str = " · ") -> Text:
    """On as many lines as it takes; a part is whole on one of them, however long it is."""
    text, line = Text(no_wrap=True, end=""), Text(no_wrap=True, end="")
    for part in parts:
        piece = join([part])
        if line.cell_len and line.cell_len + len(between) + piece.cell_len > max(40, width):
            text.append_text(line).append("\n")
            line = Text(no_wrap=True, end="")
        line.append(between if line.cell_len else "", MUTED).append_text(piece)
    return text.append_text(line).append("\n")


def affinity_text(topology: Topology, width: int) -> Text:
    """The CPUs that are near to GPUs, where the matrix has no column for them."""
    near: dict[str, list[str]] = {}
    gpus = [label for label in topology.labels if label.startswith("GPU")]
    for label, cpus in zip(gpus, topology.cpu_affinity, strict=False):
        if cpus:
            near.setdefault(plain(cpus), []).append(plain(label))
    parts = [(f"CPUs {cpus} near {fold_nodeset(labels)}", MUTED) for cpus, labels in near.items()]
    return flowed(parts, width) if parts else Text(end="")
