"""What preflight will say of hosts by what they told already; nothing is asked, nothing is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from backends.hosts.fingerprint import is_unknown
from backends.hosts.host_condition import host_findings
from backends.hosts.host_facts import AWAY, HostFacts, HostSnapshot
from backends.hosts.needs import Planned
from backends.hosts.placement import LINKS_REMEDY, Placement, links_known
from backends.hosts.preflight_finding import Bearing, Finding, Level
from backends.hosts.same_machine import KEEP_ONE, are_one, by_machine
from backends.hosts.software import short_digest, software_of_runs, sought_for
from backends.inventory.nodesets import fold_nodeset
from backends.remote.lease import WAIT
from profiles.counted import counted, first_of
from profiles.format.host_capacity import HostCapacity

GPU_MODEL = "GPU model"


def facts_for(cases: Sequence[Planned], snapshots: Iterable[HostSnapshot]) -> dict[str, HostFacts]:
    """What the hosts that answer told, by name; without their GPUs where no case uses any, and of
    their software what the cases use."""
    sought = sought_for(cases)
    own = (software_of_runs(snapshot, sought) for snapshot in snapshots)
    told = {
        snapshot.name: snapshot.facts
        for snapshot in own
        if snapshot.facts is not None and snapshot.state not in AWAY
    }
    if all(planned.profile.on_cpus for planned in cases):
        return {name: facts.without_gpus() for name, facts in told.items()}
    return told


def foreseen(
    facts: Mapping[str, HostFacts],
    cases: Sequence[Planned],
    *,
    capacities: Iterable[HostCapacity] = (),
    placement: Placement = Placement.FIRST,
    person: str = "",
) -> tuple[Finding, ...]:
    """About hosts for ``cases``, host by host, then about all together.

    ``facts``: of :func:`facts_for`; ``capacities``: of the same hosts; ``person``: as in
    :func:`~backends.hosts.preflight.preflight`.
    """
    gpus_needed = any(planned.profile.devices == "gpu" for planned in cases)
    on_gpus = tuple(dict.fromkeys(p.profile.name for p in cases if not p.profile.on_cpus))
    only = () if all(p.profile.name in on_gpus for p in cases) else on_gpus
    findings: list[Finding] = []
    for name, own in facts.items():
        findings += host_findings(name, own, gpus_needed=gpus_needed, on_gpus=only)
        if placement is Placement.LINKED and not links_known(own):
            what = "how its GPUs are linked is not known: runs get the first ones"
            about = Bearing(only, ((name,),))
            findings.append(Finding(name, Level.WARN, what, LINKS_REMEDY, bearing=about))
        if own.lease is not None:
            ours = own.lease.of(person)
            named = ours.removeprefix("campaign ")
            holder = f"another campaign of {person} ({named})" if ours else own.lease
            what = f"held by {holder}: runs wait for it"
            remedy = WAIT if ours else own.lease.remedy
            findings.append(Finding(name, Level.WARN, what, remedy, harmless=True))
    capacities = tuple(capacities)
    findings += crowded(facts, cases, capacities)
    findings += same_machines(facts)
    if max((planned.case.nodes for planned in cases), default=1) == 1:
        findings += other_devices(facts, only)
    elif len(facts) > 1:
        findings += differences(facts, only, on_other_models(facts, cases, capacities))
    return tuple(replace(finding, by_facts=True) for finding in findings)


def renewed(
    findings: Iterable[Finding],
    now: Iterable[Finding],
    facts: Mapping[str, HostFacts],
    names: Sequence[str],
) -> tuple[Finding, ...]:
    """What preflight would find by now where its checks would come to the same: of what it
    found the checks, and beside them what is foreseen ``now``, by ``facts``. ``names``: of all
    hosts, in their order."""
    kept = [one for one in findings if not one.by_facts and one.level != Level.OK]
    kept += now
    return in_order([*kept, *untroubled(facts, kept)], names)


def untroubled(facts: Mapping[str, HostFacts], findings: Iterable[Finding]) -> list[Finding]:
    """One finding each, which says what it is, for the hosts of which nothing else is found."""
    troubled = {finding.host for finding in findings}
    return [
        Finding(name, Level.OK, _portrait(own))
        for name, own in facts.items()
        if name not in troubled
    ]


def in_order(findings: Iterable[Finding], names: Sequence[str]) -> tuple[Finding, ...]:
    """Host by host in the order of ``names``, the most serious first; then what is of no host."""
    order = {name: position for position, name in enumerate(names)}
    levels = list(Level)
    return tuple(
        sorted(findings, key=lambda f: (order.get(f.host, len(order)), -levels.index(f.level)))
    )


def differences(
    facts: Mapping[str, HostFacts], on_gpus: tuple[str, ...] = (), scattered: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """Versions and devices that are not the same on all hosts; ``on_gpus``: the profiles that use
    GPUs, where others do not; ``scattered``: of :func:`on_other_models`."""
    pace = "of a run over several hosts the slowest or oldest sets the pace"
    remedy = f"{pace}, and repeats elsewhere differ; make them alike, or leave hosts out"
    others = {title: value_of for title, value_of in _COMPARED.items() if title != GPU_MODEL}
    apart = f"repeats of {first_of(scattered)} can be on different models and do not compare, "
    of_models = f"{pace}, {apart * bool(scattered)}{_GRADED_D}"
    found = _differing(facts, {GPU_MODEL: _COMPARED[GPU_MODEL]}, of_models, on_gpus)
    found += _differing(facts, others, remedy, on_gpus)
    for image in dict.fromkeys(image for own in facts.values() for image in images_of(own)):
        # Not every host was asked about it.
        told = {name: own for name, own in facts.items() if image in images_of(own)}
        found += _differing(told, {f"image {image}": _id_of(image)}, remedy, on_gpus)
    return tuple(found)


def on_other_models(
    facts: Mapping[str, HostFacts], cases: Sequence[Planned], capacities: Iterable[HostCapacity]
) -> list[str]:
    """The cases, each once, of which one repeat can get GPUs of other models than another does."""
    known = [one for one in capacities if one.name in facts]
    model_of = _COMPARED[GPU_MODEL]
    tags: dict[str, None] = {}
    for planned in cases:
        profile, case = planned.profile, planned.case
        gpu_only = profile.devices == "gpu"
        fit = [one.name for one in known if one.holds(case.gpus_per_node, gpu_only=gpu_only)]
        several = len({model_of(facts[name]) for name in fit}) > 1
        if not profile.on_cpus and planned.repeats > 1 and several and len(fit) > case.nodes:
            tags[case.tag] = None
    return [*tags]


def one_machine(facts: Mapping[str, HostFacts]) -> list[list[str]]:
    """Names of one machine, of each that has several."""
    machines = by_machine((name, own.boot_id) for name, own in facts.items())
    return [names for names in machines if len(names) > 1]


def same_machines(facts: Mapping[str, HostFacts]) -> tuple[Finding, ...]:
    """Hosts that are one machine: a run on any of them may share its devices with another."""
    return tuple(
        Finding(
            "",
            Level.WARN,
            are_one(names),
            KEEP_ONE,
            bearing=Bearing(hosts=(tuple(names),)),
        )
        for names in one_machine(facts)
    )


def crowded(
    facts: Mapping[str, HostFacts], cases: Sequence[Planned], capacities: Iterable[HostCapacity]
) -> Iterator[Finding]:
    """Hosts, or machines of several names, on which a case that computes on CPUs has more processes
    than they have CPUs: of each the most that a case can have there, and which cases those are."""
    known = {one.name: one for one in capacities if one.name in facts}
    for names in by_machine((name, facts[name].boot_id) for name in known):
        cpus = max(facts[name].cpus for name in names)
        alone: dict[str, int] = {}
        most, on = 0, list[str]()
        profiles: dict[str, None] = {}
        counts: dict[str, int] = {}
        for planned in cases:
            each = planned.case.gpus_per_node
            fit = [name for name in names if _computes_on_cpus(planned, known[name])]
            alone |= {name: max(each, alone.get(name, 0)) for name in fit}
            there = each * min(planned.case.nodes, len(fit))
            if there > cpus:
                profiles[planned.profile.name] = None
                counts[planned.case.tag] = there
            if there > most:
                most, on = there, fit
        if not cpus or not profiles:
            continue
        said = {"": most} if most > max(alone.values()) else alone
        up_to = "up to " if len({*counts.values()}) > 1 else ""
        enough_alone = max(alone.values()) <= cpus
        for host, count in said.items():
            if count > cpus:
                which = "" if host else f"{fold_nodeset(on)}: "
                what = f"{which}{up_to}{counted(count, 'process')} on {counted(cpus, 'CPU')}"
                together = tuple((name,) for name in on) if enough_alone else (tuple(on),)
                there_on = ((host,),) if host else together
                about = Bearing(tuple(profiles), there_on, tags=tuple(counts))
                yield Finding(host, Level.WARN, what, _CROWDED, bearing=about)


def _computes_on_cpus(planned: Planned, host: HostCapacity) -> bool:
    """Runs of the case may be there, and use no GPU."""
    profile = planned.profile
    without = profile.on_cpus or (profile.devices == "any" and not host.gpus)
    return without and host.holds(planned.case.gpus_per_node, gpu_only=False)


def other_devices(
    facts: Mapping[str, HostFacts], on_gpus: tuple[str, ...] = ()
) -> tuple[Finding, ...]:
    """Whether each run, on one host alone, gets a GPU of the same model wherever it is put."""
    remedy = "repeats of a case run on any of them and do not compare: choose hosts of one kind"
    with_gpus = {name: own for name, own in facts.items() if own.gpus}
    found = _differing(with_gpus, {GPU_MODEL: _COMPARED[GPU_MODEL]}, remedy, on_gpus)
    anywhere = Bearing(on_gpus, (tuple(with_gpus),))  # of runs on one host, each bears
    return tuple(replace(finding, bearing=anywhere) for finding in found)


def _differing(
    facts: Mapping[str, HostFacts],
    compared: Mapping[str, Callable[[HostFacts], str]],
    remedy: str,
    on_gpus: tuple[str, ...],
) -> list[Finding]:
    findings = []
    for title, value_of in compared.items():
        names_of: dict[str, list[str]] = {}
        for name, own in facts.items():
            names_of.setdefault(value_of(own), []).append(name)
        if len(names_of) > 1:
            groups = (
                f"{value or 'none'} on {fold_nodeset(names)}" for value, names in names_of.items()
            )
            what = f"{title} differs: {', '.join(groups)}"
            about = Bearing(
                on_gpus if title in _OF_GPUS else (), tuple(map(tuple, names_of.values()))
            )
            findings.append(Finding("", Level.WARN, what, remedy, bearing=about))
    return findings


_CROWDED = "they wait for one another: choose cases with fewer per machine, unless you mean it"
_GRADED_D = "and a speedup between cases on different models is grade D: choose hosts of one model"
_OF_GPUS = ("GPU driver", GPU_MODEL, "number of GPUs")
_COMPARED: Mapping[str, Callable[[HostFacts], str]] = {
    "GPU driver": lambda facts: facts.driver_version or "",
    GPU_MODEL: lambda facts: ", ".join(sorted({gpu.name for gpu in facts.gpus})),
    "number of GPUs": lambda facts: str(len(facts.gpus)),
    "CPU model": lambda facts: facts.cpu_model,
    "python3": lambda facts: facts.python or "",
    "kernel": lambda facts: facts.kernel,
}


def images_of(facts: HostFacts) -> dict[str, str]:
    """Their ids, as far as they tell them apart, by their names."""
    told = (one for one in facts.software if (one.kind, one.name) == ("image", "id"))
    return {
        one.where.partition(" ")[2]: short_digest(one.version)
        for one in told
        if not is_unknown(one.version)
    }


def _id_of(image: str) -> Callable[[HostFacts], str]:
    return lambda facts: images_of(facts)[image]


def _portrait(facts: HostFacts) -> str:
    kinds = Counter(gpu.name for gpu in facts.gpus)
    devices = ", ".join(f"{count} × {name}" for name, count in kinds.items())
    parts = [
        f"{devices} idle" if devices else f"{facts.cpus} CPUs",
        f"driver {facts.driver_version}" if facts.driver_version else "",
        f"{(facts.disk_free_mib or 0) // 1024} GiB of disk free",
        *(f"image {image}: {number}" for image, number in images_of(facts).items()),
    ]
    return ", ".join(part for part in parts if part)
