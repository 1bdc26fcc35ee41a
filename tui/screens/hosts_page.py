"""Hosts: who answers, what they have, who uses it, and how the selected one is wired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text
from textual import on, work
from textual.widget import Widget

from backends.hosts.host_facts import HostFacts, HostSnapshot, HostState
from profiles.errors import DlperfError
from tui.key_bindings import bindings
from tui.messages import Problem
from tui.screens.page import Page
from tui.text import cell, count, gib, host_state, join, plain
from tui.theme import BAD, MUTED, WARN
from tui.widgets.filter_table import TablePanel
from tui.widgets.host_detail import CLOCK_WARNING_S, HostDetail
from tui.widgets.keyed_table import Column, KeyedTable, Row

COLUMNS = (
    Column("state", "State", 13),
    Column("name", "Host", 12),
    Column("address", "Address", 15, from_width=100),
    Column("devices", "Devices", 23),
    Column("load", "Load", 9, right=True, from_width=90),
    Column("memory", "Mem GiB", 9, right=True, from_width=100),
    Column("note", "In use by", None),
)


def devices(host: HostSnapshot) -> str:
    """ "8 × Tesla V100-SXM2", "24 slots"; what a run can use there."""
    if host.facts is not None and host.facts.gpus:
        names = {gpu.name.removeprefix("NVIDIA ").removeprefix("Tesla ") for gpu in host.facts.gpus}
        model = names.pop() if len(names) == 1 else "GPUs, mixed"
        return f"{len(host.facts.gpus)} × {model}"
    return count(host.slots, "slot") if host.slots else "–"


def note(host: HostSnapshot) -> Text:
    """Who uses the host; else what is wrong with it."""
    if host.state is HostState.UNREACHABLE:
        return cell(host.reason or "no answer", BAD)
    parts: list[Text | str | tuple[str, str]] = []
    if host.lease is not None:
        parts.append((plain(str(host.lease)), WARN))
    if host.facts is not None:
        parts += [(words, WARN) for words in _gpu_users(host.facts)]
        offset = host.facts.certain_clock_offset_s
        if abs(offset) >= CLOCK_WARNING_S:
            parts.append((f"▲ clock {offset:+.1f} s", WARN))
    if not parts and host.reason:
        parts.append((plain(host.reason), MUTED))
    return join(parts, " · ") if parts else cell("–", MUTED)


def _gpu_users(facts: HostFacts) -> list[str]:
    used: dict[str, set[int]] = {}
    for process in facts.gpu_processes:
        used.setdefault(plain(process.user), set()).add(process.gpu_index)
    return [f"{user} GPU {ranges(indices)}" for user, indices in used.items()]


def ranges(numbers: Iterable[int]) -> str:
    """{0, 1, 2, 5} → "0-2,5"."""
    parts: list[list[int]] = []
    for value in sorted(numbers):
        if parts and value == parts[-1][-1] + 1:
            parts[-1].append(value)
        else:
            parts.append([value])
    return ",".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def host_rows(hosts: Sequence[HostSnapshot]) -> list[Row]:
    return [
        Row(
            host.name,
            (
                host_state(host.state),
                cell(host.name, "bold"),
                cell(host.address or "–"),
                cell(devices(host)),
                cell(
                    f"{host.facts.load1:.1f}/{host.facts.cpus}" if host.facts else "–", right=True
                ),
                cell(_memory(host.facts), right=True),
                note(host),
            ),
            find=host.address,
        )
        for host in hosts
    ]


def _memory(facts: HostFacts | None) -> str:
    if facts is None:
        return "–"
    return f"{gib(facts.memory_mib - facts.memory_available_mib)}/{gib(facts.memory_mib)}"


def summary(hosts: Sequence[HostSnapshot]) -> str:
    """ "3 ready · 1 unreachable": for the frame."""
    counts = {state: sum(h.state is state for h in hosts) for state in HostState}
    return " · ".join(f"{n} {state}" for state, n in counts.items() if n)


class HostsPage(Page):
    PANEL = "hosts"
    BINDINGS = bindings("hosts")

    def body(self) -> Iterable[Widget]:
        yield TablePanel(KeyedTable(COLUMNS, id="hosts"), "Hosts", id="hosts-panel")
        yield HostDetail()

    def main_panel(self) -> TablePanel:
        return self.query_one("#hosts-panel", TablePanel)

    def on_mount(self) -> None:
        self.query_one(KeyedTable).focus()

    def pull(self) -> None:
        hosts = self.session.hosts
        panel = self.main_panel()
        panel.table.refill(host_rows(hosts))
        panel.retitle("Hosts", summary(hosts))
        panel.say_when_empty(
            "No host matches; Esc takes the filter away"
            if panel.filter_text
            else "The inventory has no hosts; add some to hosts.toml"
        )
        self._show_detail()

    @on(KeyedTable.Moved)
    def _show_detail(self) -> None:
        key = self.main_panel().table.current_key
        host = next((h for h in self.session.hosts if h.name == key), None)
        self.query_one(HostDetail).show(host)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "open":
            return not isinstance(self.focused, HostDetail)
        return super().check_action(action, parameters)

    def action_open(self) -> None:
        self.query_one(HostDetail).focus()

    def action_probe_one(self) -> None:
        key = self.main_panel().table.current_key
        if key is not None:
            self.probe([key])

    def action_probe_all(self) -> None:
        self.probe(None)

    @work(exclusive=True, group="probe", description="ask hosts what they have")
    async def probe(self, names: Sequence[str] | None) -> None:
        try:
            await self.session.workspace.cluster.probe(names)
        except DlperfError as error:
            self.post_message(Problem(error))
        self.tick()
