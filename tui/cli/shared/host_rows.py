"""Hosts as a reader sees them: one line each, and with ``--wide`` all that was found out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from backends.hosts.first_inventory import devices_text
from backends.hosts.host_facts import AWAY, Gpu, HostFacts, HostSnapshot, HostState
from backends.hosts.topology import topology_block
from backends.hosts.topology_words import summary_of
from backends.results.escaping import md_text
from backends.results.numbers import NOTHING
from backends.results.render import Column
from profiles.cleantext import clean_text
from tui.cli.shared.output import folded
from tui.cli.shared.print_table import Rows, Said, Tone, print_rows

_TONES = {
    HostState.READY: Tone.GOOD,
    HostState.BUSY: Tone.WARN,
    HostState.DEGRADED: Tone.WARN,
    HostState.UNREACHABLE: Tone.BAD,
    HostState.OFFLINE: Tone.BAD,
}
_COLUMNS = (
    Column("host", "left"),
    Column("state", "left"),
    Column("devices", "left"),
    Column("GPUs used"),
    Column("load"),
    Column("remarks", "left", below=True),
)
_INDENT = "  "
_QUEUE = (Column("partitions", "left"),)
_WIDE = (
    Column("address", "left"),
    Column("CPUs"),
    Column("memory"),
    Column("driver"),
    Column("clock"),
)
_GPU_COLUMNS = (
    Column("GPU"),
    Column("model", "left"),
    Column("memory"),
    Column("use"),
    Column("power"),
    Column("clock"),
    Column("°C"),
    Column("slowed by", "left"),
)


def host_rows(snapshots: Sequence[HostSnapshot], *, wide: bool = False) -> Rows:
    """One line per host."""
    queue = any(snapshot.partitions for snapshot in snapshots)
    more = (*(_QUEUE if queue else ()), *(_WIDE if wide else ()))
    columns = (*_COLUMNS[:-1], *more, _COLUMNS[-1])
    return Rows(columns, [_row(snapshot, queue=queue, wide=wide) for snapshot in snapshots])


def print_hosts(snapshots: Sequence[HostSnapshot], *, wide: bool) -> None:
    """On stdout."""
    print_rows(host_rows(snapshots, wide=wide))
    terminal = sys.stdout.isatty()
    if terminal and (said := as_of(snapshots)):  # in a pipe the table stands alone
        print(f"\n{said}")
    if not wide:
        return
    for snapshot in snapshots:
        if snapshot.facts is not None:
            print()
            _print_host(snapshot, snapshot.facts, terminal=terminal)


def as_of(snapshots: Sequence[HostSnapshot]) -> str:
    """``as of 06:12:31 UTC``, ``as of 06:12:31 to 06:12:40 UTC``: when they were looked at; empty
    where none was."""
    times = [snapshot.probed_at for snapshot in snapshots if snapshot.probed_at]
    if not times:
        return ""
    clock = [f"{datetime.fromtimestamp(t, UTC):%H:%M:%S}" for t in (min(times), max(times))]
    return f"as of {' to '.join(dict.fromkeys(clock))} UTC"


def _row(snapshot: HostSnapshot, *, queue: bool, wide: bool) -> list[str | Said]:
    facts, told = snapshot.facts, snapshot.partitions
    cells: list[str | Said] = [
        Said(snapshot.name, Tone.NAME),
        Said(snapshot.state_word, _TONES.get(snapshot.state, Tone.QUIET)),
        devices_text(snapshot),
        _in_use(facts),
        NOTHING if facts is None else f"{facts.load1:.2f}",
    ]
    if queue:
        cells.append(", ".join(snapshot.partitions))
    if wide:
        cells += [
            snapshot.address or NOTHING,
            NOTHING if facts is None else str(facts.cpus),
            NOTHING if facts is None else f"{facts.memory_mib / 1024:.0f} GiB",
            (facts.driver_version if facts else None) or NOTHING,
            NOTHING if facts is None or told else f"{facts.certain_clock_offset_s:.2f} s",
        ]
    tone = Tone.BAD if snapshot.state in AWAY else Tone.WARN
    return [*cells, Said("; ".join(_remarks(snapshot)), tone)]


def _in_use(facts: HostFacts | None) -> str:
    if facts is None or not facts.gpus:
        return NOTHING
    used = {process.gpu_index for process in facts.gpu_processes}
    return f"{len(used)}/{len(facts.gpus)}"


def _remarks(snapshot: HostSnapshot) -> Iterator[str]:
    if snapshot.reason and snapshot.reason not in snapshot.warnings:
        yield snapshot.reason
    if snapshot.lease is not None:
        yield f"held by {snapshot.lease.words}"
    yield from snapshot.warnings


def _print_host(snapshot: HostSnapshot, facts: HostFacts, *, terminal: bool) -> None:
    """All that was found out about one host."""
    if terminal:
        print(snapshot.name)
    else:
        print(f"## {md_text(snapshot.name)}\n")
    for line in _lines(snapshot, facts):
        print(_indented(clean_text(line)) if terminal else f"- {md_text(line)}")
    if facts.gpus and not snapshot.partitions:
        print()
        print_rows(Rows(_GPU_COLUMNS, list(map(_gpu, facts.gpus))))
    if facts.topology is not None:
        block = topology_block(facts.topology)
        print(f"\n{block}" if terminal else f"\n```\n{block}\n```")


def _indented(line: str) -> str:
    """Between words on as many lines as it takes."""
    room = shutil.get_terminal_size().columns - len(_INDENT)
    return _INDENT + folded(line, room).replace("\n", f"\n{_INDENT}")


def _lines(snapshot: HostSnapshot, facts: HostFacts) -> Iterator[str]:
    what = (f"{facts.cpus} CPUs {facts.cpu_model}", f"{facts.memory_mib / 1024:.0f} GiB", facts.os)
    yield ", ".join(part.strip() for part in what if part)
    if snapshot.partitions:
        yield f"partitions: {', '.join(snapshot.partitions)}"
    if facts.lease is not None:
        yield f"held by {facts.lease}; {facts.lease.remedy}"
    for concern in snapshot.concerns:
        yield f"{concern.what} → {concern.remedy}"
    for process in facts.gpu_processes:
        who = f"our run {process.run_id}" if process.run_id else process.user
        yield f"GPU{process.gpu_index} used by {who}: {process.command}"
    if summary := summary_of(facts):
        yield f"links: {summary}"
    if facts.users:
        yield f"logged in: {', '.join(facts.users)}"


def _gpu(gpu: Gpu) -> list[str | Said]:
    return [
        str(gpu.index),
        gpu.name,
        f"{_number(gpu.memory_used_mib)}/{_number(gpu.memory_total_mib)} MiB",
        NOTHING if gpu.utilization_pct is None else f"{gpu.utilization_pct}%",
        NOTHING if gpu.power_w is None else f"{gpu.power_w:.0f} W",
        NOTHING if gpu.sm_clock_mhz is None else f"{gpu.sm_clock_mhz} MHz",
        _number(gpu.temperature_c),
        ", ".join(gpu.throttle_reasons),
    ]


def _number(value: int | None) -> str:
    return NOTHING if value is None else str(value)
