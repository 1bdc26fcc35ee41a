"""What a host's facts come to: whether it is fit, who uses it, and what is to be done about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from backends.hosts.host_facts import (
    Concern,
    Gpu,
    GpuProcess,
    HostFacts,
    HostSnapshot,
    HostState,
    LoadOf,
)
from backends.hosts.preflight_finding import Bearing, Finding, Level
from backends.hosts.topology import LinkClass, link_class

DISK_STOP_MIB = 1024
DISK_WARN_MIB = 10 * 1024
CLOCK_WARN_S = 1.0
HOT_C = 85
"""Of a GPU; data-centre GPUs begin to slow down a few degrees above."""
HIGH_LOAD_PER_CPU = 0.7
"""More says that something computes there."""
_IDLE_UTILIZATION_PCT = 5
_CONTEXT_MEMORY_MIB = 100  # a CUDA context takes more
_UNEXPLAINED_MEMORY_MIB = 1024
_SLOWED_DOWN = ("hardware slowdown", "thermal", "power brake", "application clocks")
_BEFORE_AMPERE = re.compile(r"\b([PV]100|G[PV]100|TITAN|RTX 20\d\d|Quadro)\b")
_MEND_DRIVER = "mend the driver, or leave the host out"

_Found = tuple[Level, str, str]


def state_of(facts: HostFacts, *, ours: Collection[str] = ()) -> tuple[HostState, str]:
    """Of a host that answers, with the reason; somebody's work goes before what is wrong.

    ``ours``: the runs there that whoever looks knows of, by run id.
    """
    if reason := busy_reason(facts, ours=ours):
        return HostState.BUSY, reason
    worst = next((concern for concern in concerns(facts) if concern.degrades), None)
    return (HostState.READY, "") if worst is None else (HostState.DEGRADED, worst.what)


def concerns(
    facts: HostFacts,
    *,
    ours: Collection[str] = (),
    our_gpus: Collection[int] = (),
) -> tuple[Concern, ...]:
    """What an operator should know before measuring there, the gravest first.

    ``ours``: the runs there that whoever looks knows of, by run id; ``our_gpus``: what they have.
    """
    light = [
        (what, remedy) for _, what, remedy in (*_lease_findings(facts), *_set_otherwise(facts))
    ]
    light += _load(facts)
    grave = _degrading("", facts, Bearing(), gpus_needed=False)
    return (
        *(Concern(it.what, it.remedy, degrades=True) for it in grave),
        *(Concern(what, remedy) for what, remedy in (*light, *_occupied(facts, ours, our_gpus))),
    )


def _degrading(
    name: str, facts: HostFacts, about: Bearing, *, gpus_needed: bool
) -> Iterable[Finding]:
    """What keeps the host from being what it should be: its state and preflight say the same."""
    if facts.gpu_problem:
        level = Level.STOP if gpus_needed or facts.gpus else Level.WARN
        yield Finding(name, level, facts.gpu_problem, _MEND_DRIVER, bearing=about)
    for check in (_worn, _hot):
        for gpu in facts.gpus:
            of_it = replace(about, gpus=(gpu.index,))
            yield from (Finding(name, *found, bearing=of_it) for found in check(facts, gpu))
    yield from (Finding(name, *found, harmless=True) for found in _clock(facts))


def _occupied(
    facts: HostFacts, ours: Collection[str], our_gpus: Collection[int]
) -> Iterable[tuple[str, str]]:
    runs = sorted({p.run_id for p in facts.gpu_processes if p.run_id} - {*ours})
    if runs:
        remedy = "page 3 shows it where it is of this campaign; dlperf-tui sweep finds any other"
        yield f"our run {', '.join(runs)} is on its GPUs", remedy
    used = {*our_gpus, *(process.gpu_index for process in facts.gpu_processes)}
    for gpu in facts.gpus:
        held = gpu.memory_used_mib or 0
        if gpu.index not in used and held > _UNEXPLAINED_MEMORY_MIB:
            yield (
                f"GPU{gpu.index} holds {held} MiB for a process that cannot be seen",
                f"as root: fuser -v /dev/nvidia{gpu.index}",
            )


def busy_reason(facts: HostFacts, *, ours: Collection[str] = ()) -> str:
    """Who uses the GPUs, in words; empty when nobody but a run of ours does.

    ``ours``: as in :func:`state_of`; what one of them does on a GPU may not tell whose it is.
    """
    foreign = [process for process in facts.gpu_processes if not process.run_id]
    if foreign:
        return "; ".join(_users_of_gpus(foreign))
    if ours:
        return ""
    known = {process.gpu_index for process in facts.gpu_processes}
    utilized = [
        f"GPU{gpu.index} at {gpu.utilization_pct}%"
        for gpu in facts.gpus
        if gpu.index not in known and _works_for_somebody(gpu)
    ]
    return f"{', '.join(utilized)}, by a process that cannot be seen" if utilized else ""


def _works_for_somebody(gpu: Gpu) -> bool:
    # Without persistence mode an idle GPU can report 100%: nvidia-smi itself woke it up. Whoever
    # computes on it holds memory too.
    memory = gpu.memory_used_mib
    holds_memory = memory is None or memory > _CONTEXT_MEMORY_MIB
    return (gpu.utilization_pct or 0) > _IDLE_UTILIZATION_PCT and holds_memory


def _users_of_gpus(processes: Sequence[GpuProcess]) -> Iterable[str]:
    for user in dict.fromkeys(process.user for process in processes):
        own = [process for process in processes if process.user == user]
        indices = ",".join(map(str, sorted({process.gpu_index for process in own})))
        who = user if user != "?" else f"pid {own[0].pid}"
        yield f"{who} on GPU{indices} ({own[0].command[:60] or f'pid {own[0].pid}'})"


def host_findings(
    name: str, facts: HostFacts, *, gpus_needed: bool, on_gpus: tuple[str, ...] = ()
) -> tuple[Finding, ...]:
    """Warnings and stops that one host's probe shows; ``on_gpus``: the profiles that use GPUs,
    where others do not."""
    findings = [Finding(name, *found) for found in _lease_findings(facts)]
    about = Bearing(on_gpus, ((name,),))
    findings += [
        Finding(name, *found, bearing=about) for found in _gpu_findings(facts, gpus_needed)
    ]
    findings += _degrading(name, facts, about, gpus_needed=gpus_needed)
    findings += [Finding(name, *found, harmless=True) for found in _disk_findings(facts)]
    return (*findings, *(Finding(name, *found) for found in _load_findings(facts)))


def _lease_findings(facts: HostFacts) -> Iterable[_Found]:
    if facts.lease_problem:
        remedy = "set another lease_dir in the inventory, or none"
        yield Level.STOP, facts.lease_problem, remedy


def _gpu_findings(facts: HostFacts, gpus_needed: bool) -> Iterable[_Found]:
    if gpus_needed and not (facts.gpus or facts.gpu_problem):
        yield Level.STOP, "has no GPU", "leave the host out"
    if busy := busy_reason(facts):
        yield Level.STOP, f"in use: {busy}", "wait, ask, or leave the host out"
    yield from _set_otherwise(facts)


def _set_otherwise(facts: HostFacts) -> Iterable[_Found]:
    """GPUs that are well, but not as a measurement wants them."""
    for gpu in facts.gpus:
        if gpu.mig_enabled:
            remedy = f"nvidia-smi -i {gpu.index} -mig 0 as root"
            yield Level.STOP, f"GPU{gpu.index} is partitioned (MIG)", remedy
    if len(models := {gpu.name for gpu in facts.gpus}) > 1:
        yield (
            Level.WARN,
            f"has different GPUs: {', '.join(sorted(models))}",
            "a run is as fast as its slowest GPU; leave the host out, or say so with the result",
        )


def _worn(facts: HostFacts, gpu: Gpu) -> Iterable[_Found]:
    """Memory errors, and whatever slows a GPU down."""
    title = f"GPU{gpu.index}"
    if gpu.ecc_uncorrected:
        yield (
            Level.STOP,
            f"{title} has {gpu.ecc_uncorrected} uncorrected memory errors since its driver "
            "was loaded",
            f"{_reset(facts, gpu)}; replace it if they come back",
        )
    if slowed := slowed_by(gpu):
        yield (
            Level.WARN,
            f"{title} is slowed down: {', '.join(slowed)}",
            "nvidia-smi -rac -rgc as root"
            if slowed == ["application clocks setting"]
            else "look at cooling and power: nvidia-smi -q -d PERFORMANCE",
        )


def _reset(facts: HostFacts, gpu: Gpu) -> str:
    """Before Ampere nvidia-smi resets GPUs that NVLink connects together, or none of them."""
    topology, label = facts.topology, f"GPU{gpu.index}"
    known = topology is not None and label in topology.labels
    links = topology.links[topology.labels.index(label)] if topology and known else ()
    linked = any(link_class(link) is LinkClass.NVLINK for link in links)
    if linked and _BEFORE_AMPERE.search(gpu.name):
        return "nvidia-smi -r as root, which resets all GPUs, when nothing runs on any of them"
    return f"nvidia-smi -i {gpu.index} -r as root when nothing runs on it"


def slowed_by(gpu: Gpu) -> list[str]:
    """What lowers its clock though it should not."""
    return [r for r in gpu.throttle_reasons if any(word in r for word in _SLOWED_DOWN)]


def _hot(_: HostFacts, gpu: Gpu) -> Iterable[_Found]:
    if gpu.temperature_c is not None and gpu.temperature_c >= HOT_C:
        remedy = "look at cooling: nvidia-smi -q -d TEMPERATURE"
        yield Level.WARN, f"GPU{gpu.index} is hot: {gpu.temperature_c} °C", remedy


def _disk_findings(facts: HostFacts) -> Iterable[_Found]:
    free = facts.disk_free_mib
    if free is None:
        yield Level.WARN, "disk space of work_dir is unknown", "look with df"
    elif free < DISK_WARN_MIB:
        yield (
            Level.STOP if free < DISK_STOP_MIB else Level.WARN,
            f"{free} MiB left on the file system of work_dir",
            "make room, or set work_dir in the inventory",
        )


def _clock(facts: HostFacts) -> Iterable[_Found]:
    # Readings are timed by the clock of this machine, so an offset cannot make a number wrong.
    offset_s = facts.certain_clock_offset_s
    if "clock" not in facts.missing and abs(offset_s) > CLOCK_WARN_S:
        ahead = "ahead of" if offset_s > 0 else "behind"
        yield (
            Level.WARN,
            f"its clock is {abs(facts.clock_offset_s):.1f} s {ahead} this machine's",
            "switch time synchronisation on (chrony); until then times in its logs do not match",
        )


def high_load(facts: HostFacts) -> str:
    """ "load 15.8 on 2 CPUs": of the last minute, whosever it is; empty where it is not high."""
    if not facts.cpus or not facts.load1 > HIGH_LOAD_PER_CPU * facts.cpus:
        return ""
    return f"load {facts.load1:.1f} on {facts.cpus} CPUs"


def at_load(host: HostSnapshot, facts: HostFacts) -> HostSnapshot:
    """The host with ``facts``, which have another load: what is said of its load is of that one."""
    before = high_load(host.facts) if host.facts is not None else ""
    rest = tuple(one for one in host.concerns if one.what != before)
    now = (Concern(*found) for found in _load(facts))
    return replace(host, facts=facts, concerns=(*rest, *now))


def _load(facts: HostFacts) -> Iterable[tuple[str, str]]:
    if not (words := high_load(facts)):
        return
    leased = facts.lease is not None and facts.lease.by_a_run
    marked = any(process.run_id for process in facts.gpu_processes)
    remedy = "something computes there, or did a minute ago: look with top"
    if facts.load_of is LoadOf.ENDED:
        remedy = "what of ours has just ended there may have made it; top shows what still computes"
    if facts.load_of is LoadOf.RUN or leased or marked:
        remedy = "a run has the host; top shows whether anything else computes there"
    yield words, remedy


def _load_findings(facts: HostFacts) -> Iterable[_Found]:
    who = f"; logged in: {', '.join(facts.users)}" if facts.users else ""
    for what, remedy in _load(facts):
        yield Level.WARN, f"{what}{who}", remedy
