"""Everything known of one host: its state, its GPUs, how its devices are linked."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import ScrollableContainer
from textual.widgets import Static

from backends.hosts.host_facts import Gpu, HostFacts, HostSnapshot, HostState, Topology
from backends.hosts.topology import legend
from tui.key_bindings import bindings
from tui.text import bar, count, gib, host_state, join, plain
from tui.theme import BAD, GOOD, MUTED, WARN, link_colour
from tui.widgets.filter_table import set_frame

CLOCK_WARNING_S = 1.0
"""From here on the host's clock is said to be off: log times of two hosts do not compare."""


def host_text(host: HostSnapshot, *, alone: bool = True) -> Text:
    """The detail panel's content. ``alone``: state and address have to be said here too."""
    text = Text(no_wrap=True, end="")
    text.append_text(_headline(host)).append("\n")
    if host.facts is None:
        return text.append_text(_without_facts(host))
    text.append_text(_system(host.facts))
    if host.facts.gpus:
        text.append("\n").append_text(_gpus(host.facts))
    else:
        text.append("\n").append(f"No GPU; {count(host.slots, 'slot')} for CPU workloads\n", MUTED)
    if host.facts.topology is not None:
        text.append("\n").append_text(_topology(host.facts.topology))
    text.rstrip()
    return text


def _headline(host: HostSnapshot) -> Text:
    lease = ("no lease", MUTED)
    if host.lease is not None:
        lease = (f"held by {plain(host.lease.explained)}", WARN)
    return join([host_state(host.state), plain(host.address or "this machine"), lease], " · ")


def _without_facts(host: HostSnapshot) -> Text:
    if host.state is HostState.UNREACHABLE:
        return Text(f"\n{plain(host.reason)}\n\n", BAD).append(
            "r asks again once that is mended", MUTED
        )
    words = "asking it now …" if host.state is HostState.PROBING else "not probed yet; r asks it"
    return Text(f"\n{words}", MUTED)


def _system(facts: HostFacts) -> Text:
    text = Text(no_wrap=True, end="")
    text.append_text(
        join([plain(facts.os), plain(facts.kernel), plain(facts.cpu_model)], " · ")
    ).append("\n")
    memory = f"{gib(facts.memory_mib - facts.memory_available_mib)} of {gib(facts.memory_mib)} GiB"
    parts: list[Text | str | tuple[str, str]] = [
        f"{count(facts.cpus, 'CPU')}, {count(facts.numa_nodes, 'NUMA node')}",
        f"load {facts.load1:.1f}",
        f"memory {memory}",
    ]
    text.append_text(join(parts, " · ")).append("\n")
    software: list[Text | str | tuple[str, str]] = []
    if facts.driver_version:
        cuda = f", CUDA {plain(facts.cuda_version)}" if facts.cuda_version else ""
        software.append(f"driver {plain(facts.driver_version)}{cuda}")
    software.append(f"python {plain(facts.python)}" if facts.python else ("no python3 found", WARN))
    software += [plain(name) for name in facts.container_runtimes]
    offset = facts.certain_clock_offset_s
    warned = abs(offset) >= CLOCK_WARNING_S
    software.append((f"{'▲ ' if warned else ''}clock {offset:+.2f} s", WARN if warned else ""))
    return text.append_text(join(software, " · ")).append("\n")


def _gpus(facts: HostFacts) -> Text:
    names = {plain(gpu.name) for gpu in facts.gpus}
    text = Text(no_wrap=True, end="")
    same = names.pop() if len(names) == 1 else ""
    text.append("GPUs", "bold")
    text.append("  memory GiB          util           temp   power W   in use by\n", MUTED)
    for gpu in facts.gpus:
        text.append(f" {gpu.index:>2}  ")
        text.append_text(_memory(gpu)).append("  ").append_text(_utilisation(gpu)).append("  ")
        hot = gpu.temperature_c is not None and gpu.temperature_c >= 85
        temperature = "  –" if gpu.temperature_c is None else f"{gpu.temperature_c:>3}"
        text.append(f"{temperature}°C", WARN if hot else "").append("  ")
        limit = "" if gpu.power_limit_w is None else f"/{gpu.power_limit_w:.0f}"
        text.append(f"{'–' if gpu.power_w is None else format(gpu.power_w, '.0f')}{limit}".rjust(8))
        text.append("  ").append_text(_users(gpu, facts))
        if not same:
            text.append(f"  {plain(gpu.name)}", MUTED)
        if gpu.mig_enabled:
            text.append("  MIG", WARN)
        if gpu.ecc_uncorrected:
            text.append(f"  ▲ {gpu.ecc_uncorrected} uncorrected ECC errors", BAD)
        text.append("\n")
    return text


def _memory(gpu: Gpu) -> Text:
    used, total = gpu.memory_used_mib, gpu.memory_total_mib
    fraction = used / total if used is not None and total else None
    return join([f"{gib(used)}/{gib(total)}".rjust(11), " ", bar(fraction, 7)])


def _utilisation(gpu: Gpu) -> Text:
    value = gpu.utilization_pct
    words = "   –" if value is None else f"{value:>3}%"
    return join([words, " ", bar(None if value is None else value / 100, 8, GOOD)])


def _users(gpu: Gpu, facts: HostFacts) -> Text:
    text = Text(no_wrap=True, end="")
    users = [p for p in facts.gpu_processes if p.gpu_index == gpu.index]
    if not users:
        return text.append("–", MUTED)
    for number, process in enumerate(users):
        command = plain(process.command).split(" ")[0].rsplit("/", 1)[-1]
        text.append("  " if number else "").append(plain(process.user), WARN)
        text.append(f" {command} {process.pid}", MUTED)
    return text


def _topology(topology: Topology) -> Text:
    labels = [plain(label) for label in topology.labels]
    width = max([4, *(len(label) for label in labels)])
    text = Text(no_wrap=True, end="").append("Topology\n", "bold")
    affinity = [*map(plain, topology.cpu_affinity)]
    numa = [*map(plain, topology.numa_affinity)]
    text.append(" " * (width + 1))
    for label in labels:
        text.append(label.rjust(max(len(label), 4)) + " ", MUTED)
    if any(affinity):
        text.append("  CPUs".ljust(max(map(len, affinity)) + 4), MUTED)
    text.append("NUMA\n" if any(numa) else "\n", MUTED)
    for row, label in enumerate(labels):
        text.append(label.ljust(width) + " ", MUTED)
        for column, link in enumerate(map(plain, topology.links[row])):
            cell = "·" if link == "X" else link
            text.append(cell.rjust(max(len(labels[column]), 4)) + " ", link_colour(link))
        if any(affinity) and row < len(affinity):
            text.append("  " + affinity[row].ljust(max(map(len, affinity)) + 2))
        if any(numa) and row < len(numa):
            text.append(numa[row])
        text.append("\n")
    return text.append_text(_legend(topology))


def _legend(topology: Topology) -> Text:
    parts = [
        join([(plain(link), link_colour(link)), (f" {plain(words)}", MUTED)])
        for link, words in legend(topology)
    ]
    text = Text(no_wrap=True, end="")
    line = Text(no_wrap=True, end="")
    for piece in parts:
        if line.cell_len and line.cell_len + piece.cell_len + 3 > 76:
            text.append_text(line).append("\n")
            line = Text(no_wrap=True, end="")
        if line.cell_len:
            line.append("   ")
        line.append_text(piece)
    text.append_text(line).append("\n")
    for short, name in topology.nic_names.items():
        text.append(f"{plain(short)} is {plain(name)}  ", MUTED)
    return text


def detail_title(host: HostSnapshot | None) -> str:
    """ "node3 · 8 × Tesla V100-SXM2-16GB": the model where all GPUs are of one."""
    if host is None:
        return "Details"
    names = {gpu.name for gpu in host.facts.gpus} if host.facts else set()
    if host.facts is None or len(names) != 1:
        return host.name
    return f"{host.name} · {len(host.facts.gpus)} × {names.pop()}"


class HostDetail(ScrollableContainer, can_focus=True):
    """The selected host, scrollable both ways."""

    PANEL = "detail"
    BINDINGS = bindings("detail")

    def __init__(self) -> None:
        super().__init__(classes="panel", id="detail")
        self._shown: HostSnapshot | None = None

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def show(self, host: HostSnapshot | None) -> None:
        """Show a host; the scroll stays when it is the same host as before."""
        if host == self._shown:
            return
        moved = self._shown is None or host is None or host.name != self._shown.name
        self._shown = host
        set_frame(self, detail_title(host))
        self.query_one(Static).update(host_text(host) if host else Text(""))
        if moved:
            self.scroll_home(animate=False)
