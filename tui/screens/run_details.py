"""Everything about one run in words: its state and what to do, figures, devices, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from backends.campaign.cleanup_words import cleanup_text
from backends.campaign.record.cause import Cause
from backends.campaign.record.run_record import LEFT, avoided
from backends.campaign.record.run_results import run_result
from backends.campaign.record.run_view import COLLECTING, RunView, chart_series
from backends.campaign.record.run_window import run_window, summed_up
from backends.campaign.record.sharing import shared_with
from backends.campaign.record.state import CampaignState, RunRecord, RunState
from backends.hangs.remedy_words import remedy_line
from backends.hangs.slow_rank_words import slow_rank_line
from backends.hangs.verdict_words import evidence_lines, verdict_line
from backends.hosts.fingerprint import has_no_packages, side_by_side
from backends.hosts.host_facts import Gpu, HostFacts
from backends.inventory.nodesets import fold_nodeset, ranked_nodeset
from backends.results.device_words import memory_name
from backends.results.grade_words import idle_line, logs_differ, rules_text
from backends.results.numbers import percent
from backends.results.run_result import RunResult
from backends.results.steady_words import disturbance_text
from backends.results.summary import parameters_text
from backends.results.telemetry_figures import THROTTLED, disturbed, throttled
from backends.results.telemetry_words import (
    coinciding,
    disturbed_line,
    throttled_line,
    usual_lines,
)
from backends.results.words_apart import words_apart
from backends.results.workload_figures import configuration, measurements, other_readings
from profiles.cleantext import clean_text
from profiles.counted import counted
from profiles.durations import format_duration
from profiles.logs.failures import REMEDIES, without_host
from tui.text import clock_time, named_rows, number, plain, ranges, run_state
from tui.theme import ACCENT, BAD, MUTED, TEXT, WARN
from tui.widgets.throughput_plot import jitter_text, no_jitter_yet

SIMULATED_TIME = ", in simulated time"
"""Behind a time of day of a demo, whose clock is not that of who reads."""
_COPY = "y copies all this"
_LOG = f"Enter reads the log · {_COPY}"
_NEXT_STEPS = {
    RunState.FAILED: f"t tries it again · {_LOG}",
    RunState.CANCELLED: "t does it again",
    RunState.PLANNED: "starts by itself as soon as its hosts are free · c skips it",
}


def _next_step(
    run: RunView,
    later: RunRecord | None,
    *,
    read_only: bool,
    way_on: str,
    asks: bool,
    asked: bool,
) -> str:
    """``later``: the last attempt of it, where there is one. ``asked``: its hosts have said why it
    does not move."""
    log = _LOG if run.hosts else _COPY * bool(run.reason)
    if later is not None:
        begun = later.started_at is not None
        so_far = run_state(later.state, paused=later.paused, begun=begun).plain.partition(" ")[2]
        so_far = f"attempt {later.attempt} took its place: {so_far}"
        if not read_only and later.state in (RunState.FAILED, RunState.CANCELLED):
            so_far += ", and is the one to try again"
        return " · ".join(filter(None, (so_far, log)))
    if read_only:
        return " · ".join(filter(None, (plain(way_on), log)))
    if run.silent_s is not None:
        why = "again" if asked else "why"
        return f"{f'd asks its hosts {why} · ' * asks}c ends it · {_LOG}"
    if run.paused:
        return "p lets it start when its turn comes · c skips it"
    if run.behind:
        return f"starts after {plain(run.behind)} has started or is skipped · c skips it"
    return "t starts it" if run.skipped else _NEXT_STEPS.get(run.state, "")


def details_text(
    run: RunView,
    state: CampaignState,
    *,
    called: str = "",
    read_only: bool = False,
    way_on: str = "",
    hosts: Mapping[str, HostFacts] | None = None,
    now: str = "",
    at: str = "now",
    expected: str = "",
    asks: bool = True,
    log: str = "",
    folder: str = "",
    on_cpus: bool = False,
) -> Text:
    """State, reason, what to do next, and what its hosts said; then figures, devices, commands; the
    end of its log.

    ``called``: its name in the list, without what all runs share.
    ``way_on``: how it is done again where no key does it.
    ``hosts``: as they were when the campaign began. ``now``: what its GPUs do at this moment,
    which is called ``at``. ``expected``: where and when one that waits will be.
    ``asks``: the hosts of a run that does not move can be asked from here.
    ``log``: where its log is, where that is told otherwise than by the view. ``folder``: what is
    before a path in the campaign to make it one on this machine, such as "/campaigns/c1/".
    ``on_cpus``: its devices are slots, whatever GPUs its hosts have.
    """
    record = state.runs[run.run_id]
    text = Text(end="")
    begun, silent = run.elapsed_s is not None, run.silent_s is not None
    text.append_text(
        run_state(
            run.state,
            paused=run.paused,
            over=run.over,
            begun=begun,
            silent=silent,
            warming=run.warms_up,
        )
    )
    text.append(f"  {plain(run.profile)}\n", MUTED)
    _why(text, run, record, simulated=state.simulated)
    later = _later(record, state)
    asked = record.diagnosis is not None
    step = _next_step(run, later, read_only=read_only, way_on=way_on, asks=asks, asked=asked)
    over = state.finished or state.cancel_asked
    if run.over == LEFT and later is None and not (read_only or over):  # that is planned just now
        step = "it begins anew by itself"
    steps = (_remedy(run, record), step)
    for step in filter(None, steps):
        text.append("→ ", ACCENT).append(f"{step}\n")
    _diagnosed(text, run, record, folder, simulated=state.simulated)
    result = run_result(record, state)
    if result.log_differs:  # before the figure that it is of
        text.append("▲ ", WARN).append(f"{plain(logs_differ(result))}\n")
    unsteady = (
        f"{disturbance_text(one)}{coinciding(result, place)}"
        for place, one in enumerate(record.steady or ())
    )
    now_s = None if record.started_at is None else record.started_at + (run.elapsed_s or 0.0)
    slow = (
        slow_rank_line(one, ranks=result.gpus, ended_at=result.ended_at, now=now_s)
        for one in record.slow_ranks or ()
    )
    for warning in (*slow, *unsteady, *_of_its_machines(result), *record.warnings):
        text.append("▲ ", WARN).append(f"{plain(warning)}\n")
    text.append("\n")
    current = [(at, now)] if now and run.state.active else []
    shared = [("run", run.label)] if called not in ("", run.label) else []
    facts = (
        *shared,
        *_wanted(
            run, avoided(record, state.runs), expected, "recorded" if at == "then" else "expected"
        ),
        *_facts(run, record, log or str(run.log or "")),
        *_attempts(record, state),
        *_sharing(record, state),
        *current,
        *usual_lines([result]),
        *_environment(run, record, hosts or {}),
    )
    text.append_text(named_rows(facts))
    text.append_text(named_rows(configuration(record.metrics), "\nthe workload, by its log"))
    for host, command in _commands(run):
        text.append(f"\n{plain(host)}\n", MUTED).append(f"{plain(command)}\n")
    for line in _device_lines(record, hosts or {}, on_cpus=on_cpus):
        text.append_text(line).append("\n")
    text.append("\n" * bool(run.evidence))
    for written in run.evidence:
        text.append("  │ ", MUTED).append(f"{clean_text(written)}\n")
    text.rstrip()
    return text


def _of_its_machines(run: RunResult) -> Iterator[str]:
    """What of them its figure is to be distrusted for."""
    if run.measured is None:
        return
    slowed = throttled([run], at_its_limit=False)
    lines = [throttled_line(slowed)] if slowed is not None and slowed.share > THROTTLED else []
    for line in (*map(disturbed_line, disturbed([run])), *lines):
        yield line.partition(": ")[2]  # which repeat it is of stands above
    if idle := idle_line(run):
        yield idle


def _commands(run: RunView) -> Iterator[tuple[str, str]]:
    """With the host of each; of another than the first what differs, where that is little."""
    first = ""
    for host, command in zip(run.hosts, run.commands, strict=False):
        apart = words_apart(first, command) if first and command else None
        if apart is not None:
            yield host, f"as above with {apart}" if apart else "as above"
        elif command:
            yield host, command
        first = first or command


def _why(text: Text, run: RunView, record: RunRecord, *, simulated: bool) -> None:
    """Why it is as it is."""
    if run.reason:
        colour = BAD if run.state is RunState.FAILED else WARN
        named = record.failed_host in re.split(r":? ", run.reason)
        where = "" if named or not record.failed_host else f"{record.failed_host}: "
        words = f"{where}{run.reason}"
        text.append(plain(words), f"bold {colour}")
        ended_with = f"exit status {record.exit_status}"
        if record.exit_status is not None and not words.endswith(ended_with):
            text.append(f"  {ended_with}", MUTED)
        text.append("\n")
    elif run.over == COLLECTING and not run.out_of_reach:
        text.append("its program has ended; its log is fetched, compared and measured\n", MUTED)
    elif run.state_text != str(run.state):
        flies = SIMULATED_TIME * (simulated and run.paused)
        text.append(f"{plain(run.state_text)}{flies}\n", MUTED if run.doing else WARN)


def _remedy(run: RunView, record: RunRecord) -> str:
    """What helps most often against what it failed by, or does not move for; "" where nobody
    knows."""
    if run.state is RunState.FAILED and record.category != Cause.STALLED:
        return REMEDIES.get(without_host(run.reason), "")
    stuck = run.state is RunState.FAILED or (run.silent_s is not None and record.diagnosis)
    return remedy_line(record.diagnosis, over=run.state.ended) if stuck else ""


def verdict_of(run: RunView, record: RunRecord) -> str:
    """Why it did not move, when its hosts were asked for that; "" where nobody was, or where
    nothing was wrong. As what was, once it has ended or a reading has come since."""
    found = record.diagnosis
    if found is None or (not found.suspects and run.state is RunState.SUCCEEDED):
        return ""
    silent = run.silent_s is not None or run.state is RunState.FAILED
    past = run.state.ended or (record.last_reading_at or 0.0) > (record.diagnosed_at or 0.0)
    return plain(verdict_line(found, silent=silent, past=past))


def _diagnosed(
    text: Text, run: RunView, record: RunRecord, folder: str, *, simulated: bool
) -> None:
    """Its verdict, and what shows it."""
    found = record.diagnosis
    if found is None or not (verdict := verdict_of(run, record)):
        return
    text.append("◆ ", ACCENT).append(verdict, f"bold {TEXT}")
    flies = SIMULATED_TIME * simulated
    text.append(f"  asked at {clock_time(record.diagnosed_at or 0.0)}{flies}\n", MUTED)
    for line in evidence_lines(found):
        text.append("  · ", MUTED).append(f"{plain(line)}\n")
    if found.files:
        where = plain(f"{folder}{found.files[0].rpartition('/')[0]}")
        text.append(f"  · {counted(len(found.files), 'file')} of what they said: {where}\n", MUTED)


def _wanted(
    run: RunView, avoids: Sequence[str], expected: str, is_told: str
) -> Iterator[tuple[str, str]]:
    """Of one that waits: what it takes, by which values, and when its turn comes."""
    if not run.state.waits:
        return
    nodes, devices = run.case.nodes, run.case.gpus_per_node
    each = " on each" * (nodes > 1)
    yield "takes", f"{counted(nodes, 'host')}, {counted(devices, 'device')}{each}"
    if run.case.parameters:
        yield "parameters", parameters_text(dict(run.case.parameters))
    if avoids:
        yield "avoids", f"{fold_nodeset(avoids)}, if it can: the attempt before it failed there"
    if expected:
        yield is_told, f"{expected}, after the campaign began"


def _facts(run: RunView, record: RunRecord, log: str) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    if run.hosts:
        facts.append(("hosts", ranked_nodeset(run.hosts)))
    if run.throughput is not None:
        facts.append(("throughput", f"{number(run.throughput)} {run.unit}"))
        facts.append(("measured", rules_text([(record.statistic, record.window)], run.unit)))
    elif run.readings:
        facts.append(("readings", str(run.readings)))
    facts += _steps(record)
    if record.gpu_memory_mib is not None:
        seen = record.telemetry is not None and record.telemetry.memory_mib == record.gpu_memory_mib
        by = ", the most seen in samples of the driver" * seen
        facts.append((memory_name(stated=record.imported), f"{record.gpu_memory_mib:,} MiB{by}"))
    facts += measurements(record.metrics, summed_up=summed_up(record))
    facts += other_readings(record.metrics, summed_up=summed_up(record))
    if run.elapsed_s is not None:
        facts.append(("took" if run.state.ended else "for", format_duration(run.elapsed_s)))
    if left := cleanup_text(run.cleanup):
        facts.append(("clean-up", left))
    if log:
        facts.append(("log", log))
    return facts


def _sharing(record: RunRecord, state: CampaignState) -> list[tuple[str, str]]:
    """Of a campaign that packs: its devices, and the runs that share its host."""
    if not state.pack or not record.devices:
        return []
    own = [ranges({*indices}, ", ") for indices in record.devices.values()]
    alike = len(own) > 1 and len({*own}) == 1
    near = (run for run in state.runs.values() if set(run.hosts) & set(record.hosts))
    others = shared_with(near).get(record.run_id, ())
    beside = f"{len(others)} other runs" if len(others) != 1 else "1 other run"
    devices = f"{own[0]} on each" if alike else "; ".join(own)
    return [("devices", devices), ("packed", f"beside {beside} of its host" if others else "alone")]


def _steps(record: RunRecord) -> Iterator[tuple[str, str]]:
    window = run_window(record, chart_series(record).points)
    if window.warmup and not window.summed_up:
        yield "warm-up", f"{counted(window.warmup, 'reading')} left out"
    if window.used is not None:
        yield "window", f"{window.used} of {counted(record.reading_count, 'reading')}"
    if not record.reading_count:
        return
    if record.state.active and not window.known:
        yield "jitter", no_jitter_yet(window)
    elif said := jitter_text(window, at_work=record.state.active):
        yield "jitter", said


def _later(record: RunRecord, state: CampaignState) -> RunRecord | None:
    """The last attempt of its repeat, where that is another one."""
    last = next(one for one in state.latest_attempts() if one.slot == record.slot)
    return last if last.run_id != record.run_id else None


def _attempts(record: RunRecord, state: CampaignState) -> Iterator[tuple[str, str]]:
    """Those before this one, and what became of them."""
    before: list[RunRecord] = []
    last = record
    while (one := state.runs.get(last.retry_of)) is not None and one.attempt < last.attempt:
        before.insert(0, one)  # attempts that go down end: a journal may name a circle of them
        last = one
    for place, one in enumerate(before):
        took = ""
        if one.started_at is not None and one.ended_at is not None:
            took = f" after {format_duration(max(0.0, one.ended_at - one.started_at))}"
        where = f" on {ranked_nodeset(one.hosts)}" if one.hosts else ""
        why = f": {one.reason}" if one.reason else ""
        yield (
            "" if place else "attempts",
            f"{one.attempt}. {one.ended_as or one.state}{took}{where}{why}",
        )


def _environment(
    run: RunView, record: RunRecord, hosts: Mapping[str, HostFacts]
) -> Iterator[tuple[str, str]]:
    if record.fingerprint:
        yield "environment", _environment_words(record.fingerprint)
        return
    alike: dict[str, list[str]] = {}
    for host in run.hosts:
        if (facts := hosts.get(host)) is not None:
            alike.setdefault(_host_words(facts), []).append(host)
    for words, names in alike.items():
        yield "environment", words if len(alike) == 1 else f"{fold_nodeset(names)}: {words}"


def _environment_words(text: str) -> str:
    told = []
    for part in side_by_side((text,)):
        (value,) = part.values
        if has_no_packages(part.key, value):
            value = "no framework is installed in it"
        told.append(f"{part.key}: {value}" if part.key else value)
    return "; ".join(told)


def _host_words(facts: HostFacts) -> str:
    driver = f"driver {facts.driver_version}" if facts.driver_version else ""
    cuda = f"CUDA {facts.cuda_version}" if facts.cuda_version else ""
    cpus = ", ".join(filter(None, [counted(facts.cpus, "CPU"), facts.cpu_model]))
    return ", ".join(filter(None, (driver, cuda, facts.os, facts.kernel, cpus)))


def throttled_words(record: RunRecord, state: CampaignState) -> str:
    """``GPU3 of node1 throttled 65.0%``: the worst of its GPUs; "" where none was for long."""
    if record.telemetry is None:
        return ""
    found = throttled([run_result(record, state)], at_its_limit=False)
    if found is None or found.share <= THROTTLED:
        return ""
    of = f" of {plain(found.gpu.host)}" * (len(record.hosts) > 1)
    return f"GPU{found.gpu.gpu}{of} throttled {percent(found.share)}"


NOT_THROTTLED = "not throttled"
_GPU_COLUMNS = ("", "util", "power", "clock", "memory", "hottest", "throttled")


def _device_lines(
    record: RunRecord, hosts: Mapping[str, HostFacts], *, on_cpus: bool
) -> list[Text]:
    """Each device of the run: which one it is, and where it was watched what it did."""
    used = {(gpu.host, gpu.gpu): gpu for gpu in record.telemetry.gpus} if record.telemetry else {}
    watched: list[tuple[str, ...]] = []
    lines: list[Text] = []
    for host in record.hosts:
        indices = record.devices_on(host)
        facts = hosts.get(host)
        gpus = facts.gpus if facts is not None and not on_cpus else ()
        known = {gpu.index: gpu for gpu in gpus}
        slots = on_cpus or (facts is not None and not gpus)
        words = _devices_words(indices, known, "slots" if slots else "devices")
        lines.append(Text(f"\n{plain(host)}  {words}", MUTED))
        lines += [
            Text(f"  GPU{index}  {plain(known[index].uuid)}  {plain(known[index].bus_id)}")
            for index in indices
            if index in known
        ]
        for index in indices:
            if (gpu := used.get((host, index))) is not None:
                power = gpu.power_w_mean
                watched.append(
                    (
                        f"{plain(host)}:{index}",
                        _unit(gpu.utilization_mean, "%"),
                        _unit(power, " W"),
                        _unit(gpu.sm_clock_mhz_mean, " MHz"),
                        _unit(gpu.memory_mib_max, " MiB"),
                        _unit(gpu.temperature_c_max, " °C"),
                        _throttled(gpu.throttled_s),
                    )
                )
    if watched:
        rows = [_GPU_COLUMNS, *watched]
        widths = [max(len(row[n]) for row in rows) for n in range(len(_GPU_COLUMNS) - 1)]
        lines.append(Text(""))
        for place, row in enumerate(rows):
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True)]
            lines.append(Text("  ".join([*cells, row[-1]]).rstrip(), MUTED if not place else ""))
    return lines


def _devices_words(indices: Sequence[int], known: Mapping[int, Gpu], kind: str) -> str:
    models = sorted({plain(known[index].name) for index in indices if index in known})
    if models:
        return f"{len(indices)} × {' + '.join(models)}"
    return f"{kind} {ranges({*indices}, ', ')}"


def _unit(value: float | None, unit: str) -> str:
    return "–" if value is None else f"{number(value, 0)}{unit}"


def _throttled(seconds: Mapping[str, float] | None) -> str:
    if seconds is None:
        return "–"
    lasting = sorted(seconds.items(), key=lambda one: -one[1])
    return (
        ", ".join(f"{plain(reason)} {format_duration(s)}" for reason, s in lasting if s)
        or NOT_THROTTLED
    )
