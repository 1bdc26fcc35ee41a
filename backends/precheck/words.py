"""A precheck in words and tables: the same for the terminal, the report and the console."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backends.inventory.nodesets import expand_nodeset, fold_nodeset, ranked_nodeset
from backends.precheck.figures import METRICS, About, Figure, Stage, each_of
from backends.precheck.naming import UNNAMED, Named, RankedHost, Ranking, Unequal, Verdict, Why
from backends.precheck.plan_precheck import PrecheckPlan, Step
from backends.precheck.ranking import Measured
from backends.precheck.record import Precheck
from backends.results.escaping import md_text
from backends.results.numbers import percent, significant
from backends.results.render import Column, Table, render_markdown
from profiles.counted import counted
from profiles.durations import format_duration

PROPOSED = "Proposed to leave out"
UNJUDGED = "measured, and not judged while the load is so unless found broken or slow"
NO_TWO_LEFT = "no two hosts are left for runs of several hosts"
MOST_ROWS = 66
"""Of pairs: those of twelve hosts; of more only what is named is printed."""
MOST_AGAIN = 4
"""Figures that were measured more than once; of the others the count is told."""
_STAGES: Mapping[str, str] = {
    "host": "the host by itself",
    "gpus": "its GPUs",
    "within": "all-reduce within the host",
    "pairs": "two hosts together",
    "all": "all hosts together",
}


# What is named -----------------------------------------------------------------------------------


def what_of(hosts: Sequence[str], devices: Sequence[int]) -> str:
    """ "node3", "node3 GPU5", "node3 GPU5 → GPU6", "node1 and node2"."""
    name = " and ".join(hosts)
    return " ".join((name, " → ".join(f"GPU{index}" for index in devices))).strip()


def who_is_named(ranking: Ranking) -> str:
    """Who is named, and who was not judged, in a few words: "node3; node[4-5] not judged: busy"."""
    named = [*dict.fromkeys(" and ".join(one.hosts) for one in ranking.named)]
    busy = _not_judged(ranking)
    if not named and len(busy) < len(ranking.hosts):
        named = ["nobody"]
    return "; ".join([*named, *([f"{fold_nodeset(busy)} not judged: busy"] if busy else [])])


def _not_judged(ranking: Ranking) -> list[str]:
    return [ranked.host for ranked in ranking.hosts if ranked.verdict is Verdict.NOT_JUDGED]


def reason_text(named: Named) -> str:
    """Why somebody is named, without whose it is but for the GPU."""
    device = " → ".join(f"GPU{index}" for index in named.devices)
    start = f"{device}: " if device else ""
    if named.than is None:
        where = _STAGES.get(named.metric)
        at = f"{where}: " if where and named.why is Why.BROKEN else ""
        return f"{start}{at}{named.reason}"
    than = named.than
    if named.metric == "runs":
        return f"{percent(than.loss)} slower than the median of {than.of} hosts in real runs"
    title = METRICS[named.metric].title
    value = f"{significant(than.value, 4)} {named.unit}"
    usual = f"{significant(than.usual, 4)}"
    of = {
        Why.CHANGED: f"its own median of {than.of} earlier prechecks",
        Why.SLOW: f"the median of {than.of} {_noun(named.about, than.of)}",
    }[named.why]
    more = f"; {named.reason}" if named.reason else ""
    return f"{start}{title} {value}, {percent(than.loss)} below {of} ({usual}){more}"


def _noun(about: About, count: int) -> str:
    noun = {About.HOST: "host", About.GPU: "GPU", About.LINK: "link", About.PAIR: "pair"}.get(
        about, "group"
    )
    return noun if count == 1 else f"{noun}s"


def named_text(named: Named) -> str:
    """One line: who, and why."""
    return f"{' and '.join(named.hosts)}: {reason_text(named)}"


def reasons_text(ranked: RankedHost) -> str:
    """Of a host in the ranking."""
    own = own_reasons_text(ranked)
    if ranked.left_out and not ranked.reasons:
        return own
    busy = [f"busy when it was measured: {ranked.busy}"] if ranked.busy else []
    shared = [f"one machine with {ranked.shared}: they share what is measured"]
    return "; ".join([*filter(None, [own]), *busy, *shared * bool(ranked.shared)])


def own_reasons_text(ranked: RankedHost) -> str:
    """Without :func:`shared_remarks`."""
    if ranked.left_out and not ranked.reasons:
        return ranked.left_out
    return "; ".join(map(reason_text, ranked.reasons))


def shared_remarks(ranking: Ranking) -> Iterator[str]:
    """What is so of several hosts, and names none of them, each a sentence."""
    loads, machines = dict[str, list[str]](), dict[str, None]()
    for ranked in ranking.hosts:
        if ranked.left_out and not ranked.reasons:
            continue
        if ranked.busy:  # a machine is asked once, before the load of our own measuring is on it
            when = " when the first of the machine's names was measured" * bool(ranked.shared)
            loads.setdefault(f"{ranked.busy}{when}", []).append(ranked.host)
        if ranked.shared:
            machines[fold_nodeset([ranked.host, *expand_nodeset(ranked.shared)])] = None
    if loads:
        each = "; ".join(f"{fold_nodeset(hosts)}: {load}" for load, hosts in loads.items())
        yield f"Busy when measured: {each}."
    for hosts in machines:
        yield f"{hosts} are one machine: they share what is measured."


def unequal_text(unequal: Unequal) -> str:
    than, title = unequal.than, METRICS[unequal.metric].title
    return (
        f"{what_of(*unequal.low)} has {significant(than.value, 4)} {unequal.unit} of {title},"
        f" {percent(than.loss)} below {what_of(*unequal.high)}: of two nobody can tell which is as"
        " it should be"
    )


def conclusions(ranking: Ranking, measured: Measured) -> tuple[str, ...]:
    """What follows from it, and what does not, each a sentence."""
    besides = (unmeasured_gpus(measured), _once_more(measured))
    return (*_conclusions(ranking), *filter(None, besides))


def _once_more(measured: Measured) -> str:
    """Of figures that were measured more than once a sentence; empty where there are none."""
    again = [f for f in measured.figures if f.metric in METRICS and len(each_of(f)) > 1]
    told = [
        f"{what_of(f.hosts, f.devices)} {METRICS[f.metric].title}"
        f" {', then '.join(map(_cell, each_of(f)))} {f.unit}"
        for f in again[:MOST_AGAIN]
    ]
    more = f"; {len(again) - MOST_AGAIN} more" * (len(again) > MOST_AGAIN)
    return f"Measured once more, and the better counts: {'; '.join(told)}{more}." if told else ""


def _conclusions(ranking: Ranking) -> Iterator[str]:
    if not ranking.named:
        well = len(ranking.keep)
        if well > 1:
            unclear = ranking.alone or ranking.unequal or ranking.troubles
            found = "" if unclear else f": {well} hosts are as the others are"
            yield (
                f"Nobody is named{found}. That is no proof: who is slow in real runs is ranked"
                " here, too."
            )
        elif well:
            yield "One host has nothing to be compared with but its own earlier prechecks."
    if busy := _not_judged(ranking):
        yield f"Not judged, being busy: {fold_nodeset(busy)}. Measure again when idle."
    if ranking.alone and len(ranking.hosts) > 1:
        yield f"Compared with nobody, being the only one of its kind: {_alone_text(ranking)}."
    if ranking.exclude:
        rest = ": no host is left"
        if ranking.keep:
            judged = " that was judged" * bool(busy)
            rest = f"{judged}: {hosts_option(ranking.keep)}"
        elif unjudged := ranking.proposed:
            rest = f" is not judged: {hosts_option(unjudged)}"
        yield f"{PROPOSED}: {fold_nodeset(ranking.exclude)}. The rest{rest}"
    yield from _of_several_hosts(ranking)
    if mixed := _mixed(ranking):
        yield mixed
    for trouble in ranking.troubles:
        yield (
            f"{fold_nodeset(trouble.hosts)} together: {trouble.reason}; nobody can tell whose"
            " doing it is."
        )
    for unequal in ranking.unequal:
        yield unequal_text(unequal) + "."


def _of_several_hosts(ranking: Ranking) -> Iterator[str]:
    for a, b in ranking.keep_apart:
        yield f"Not together in one run: {a} and {b}."
    if ranking.keep_apart and ranking.keep_together:
        yield f"For runs of several hosts: {hosts_option(ranking.keep_together)}"
    elif ranking.keep_apart:
        yield f"{NO_TWO_LEFT.capitalize()}."


def hosts_option(hosts: Sequence[str]) -> str:
    """ "--hosts 'node[1-2]'"."""
    return f"--hosts '{ranked_nodeset(hosts)}'"


def _mixed(ranking: Ranking) -> str:
    """That what is proposed has GPUs of several models; else empty."""
    hosts, models = ranking.proposed, dict[str, list[str]]()
    for ranked in ranking.hosts:
        if ranked.gpus and ranked.host in hosts:
            models.setdefault(ranked.gpus, []).append(ranked.host)
    if len(models) < 2:
        return ""
    each = ", ".join(f"{model} on {ranked_nodeset(names)}" for model, names in models.items())
    return f"Their GPUs differ: {each}; a speedup between cases on different models is grade D."


def _alone_text(ranking: Ranking) -> str:
    kinds: dict[str, list[str]] = {}
    for metric, kind in ranking.alone:
        kinds.setdefault(kind, []).append(METRICS[metric].title)
    return "; ".join(
        ", ".join(titles) + (f" ({kind})" if kind else "") for kind, titles in kinds.items()
    )


# Tables ------------------------------------------------------------------------------------------


def ranking_table(ranking: Ranking) -> Table:
    """The worst first; pairs of hosts that are named though neither is, behind the hosts."""
    rows = [(r.host, str(r.verdict), reasons_text(r)) for r in ranking.hosts]
    pairs = []
    for hosts in dict.fromkeys(named.hosts for named in ranking.pairs):
        same = [named for named in ranking.pairs if named.hosts == hosts]
        why = "; ".join(map(reason_text, same))
        pairs.append((what_of(hosts, ()), str(same[0].why), why))
    first = [row for row in rows if row[1] not in UNNAMED]
    rest = [row for row in rows if row not in first]
    columns = (Column("host", "left"), Column("verdict", "left"), Column("why", "left"))
    return Table("Ranking", columns, (*first, *pairs, *rest))


_MAIN = ("cpu_all", "memory", "disk_write", "disk_read", "gemm", "copy", "within")
_TOGETHER = tuple(name for name, m in METRICS.items() if m.about in (About.PAIR, About.GROUP))


def main_figures(measured: Measured, host: str) -> str:
    """Of a host, on one line: "SHA-256 on all CPUs 812 MB/s · matrix products 13.1 to 13.4
    TFLOP/s", of its GPUs the slowest and the fastest; empty where nothing of it was measured."""
    return _ranges([f for f in measured.figures if f.hosts == (host,)], _MAIN)


def unmeasured_gpus(measured: Measured) -> str:
    """Of hosts of whose GPUs nothing was measured, a sentence; empty where there is none such."""
    told = {f.hosts[0] for f in measured.figures if f.metric in METRICS and f.devices}
    hosts = [host for host in measured.hosts if measured.gpus.get(host) and host not in told]
    if not hosts:
        return ""
    return f"GPUs of {fold_nodeset(hosts)} were not measured: nothing is said of their speed."


def figures_together(measured: Measured) -> str:
    """Of hosts with each other, on one line, the slowest and the fastest: "TCP between two hosts
    1.435 to 1.573 GB/s"; empty where none was measured."""
    return _ranges(measured.figures, _TOGETHER)


def expected_text(measured: Measured) -> str:
    """What is expected of those figures, which are called slow, and which never; empty where
    none is judged."""
    there = {figure.metric for figure in measured.figures}
    metrics = [METRICS[name] for name in (*_MAIN, *_TOGETHER) if name in there]
    most = [f"{one.tolerance:.0%} ({one.title})" for one in metrics if one.judged]
    told = [one.title for one in metrics if not one.judged]
    rule = (
        "More is better. Expected: the median of its like, or of its own earlier prechecks. Slow: "
        "below that by more than they spread and by more than "
    )
    unjudged = f". Told, but never called slow: {'; '.join(told)}" if told else ""
    return f"{rule}{', '.join(most)}{unjudged}" if most else ""


def _ranges(figures: Sequence[Figure], names: Sequence[str]) -> str:
    parts = []
    for name in names:
        values = [figure.value for figure in figures if figure.metric == name]
        if values:
            ends = dict.fromkeys(_cell(end(values)) for end in (min, max))
            parts.append(f"{METRICS[name].title} {' to '.join(ends)} {METRICS[name].unit}")
    return " · ".join(parts)


def figure_tables(precheck: Precheck) -> tuple[Table, ...]:
    """What was measured: of hosts, of GPUs, of pairs."""
    figures = precheck.measured.figures
    tables = [
        _by_host(figures, precheck.measured.hosts),
        _by_gpu(figures),
        _links(figures),
        _pairs(figures),
    ]
    return tuple(table for table in tables if table is not None)


def _by_host(figures: Sequence[Figure], hosts: Sequence[str]) -> Table | None:
    names = [n for n, m in METRICS.items() if m.about is About.HOST]
    names = [n for n in names if any(f.metric == n for f in figures)]
    values = {(f.hosts[0], f.metric): f.value for f in figures if len(f.hosts) == 1}
    if not names:
        return None
    rows = [(host, *(_cell(values.get((host, name))) for name in names)) for host in hosts]
    return Table("Hosts", (Column("host", "left"), *map(_column, names)), tuple(rows))


def _by_gpu(figures: Sequence[Figure]) -> Table | None:
    names = [n for n, m in METRICS.items() if m.about is About.GPU]
    names = [n for n in names if any(f.metric == n for f in figures)]
    if not names:
        return None
    of_gpus = [f for f in figures if len(f.devices) == 1]
    values = {(*f.subject, f.metric): f.value for f in of_gpus}
    subjects = dict.fromkeys(f.subject for f in of_gpus)
    rows = [
        (hosts[0], str(devices[0]), *(_cell(values.get((hosts, devices, n))) for n in names))
        for hosts, devices in subjects
    ]
    columns = (Column("host", "left"), Column("GPU"), *map(_column, names))
    return Table("GPUs", columns, tuple(rows))


def _links(figures: Sequence[Figure]) -> Table | None:
    """Of each host's links of a kind the slowest and the fastest."""
    found: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        if figure.metric == "peer":
            found.setdefault((figure.hosts[0], figure.kind), []).append(figure)
    if not found:
        return None
    rows = []
    for (host, kind), some in found.items():
        low, high = (pick(some, key=lambda f: f.value) for pick in (min, max))
        slowest = what_of((), low.devices)
        rows.append((host, kind, str(len(some)), _cell(low.value), slowest, _cell(high.value)))
    columns = (
        Column("host", "left"),
        Column("links", "left"),
        Column("n"),
        Column("slowest (GB/s)"),
        Column("from, to", "left"),
        Column("fastest (GB/s)"),
    )
    return Table("GPU to GPU", columns, tuple(rows))


def _pairs(figures: Sequence[Figure]) -> Table | None:
    some = [f for f in figures if f.metric in METRICS]
    some = [f for f in some if METRICS[f.metric].about in (About.PAIR, About.GROUP)]
    if not some or len(some) > MOST_ROWS:
        return None
    rows = [
        (METRICS[f.metric].title, _together(f), significant(f.value, 4), f.unit)
        for f in sorted(some, key=lambda f: (f.metric, f.value))
    ]
    columns = (
        Column("together", "left"),
        Column("hosts", "left"),
        Column("value"),
        Column("unit", "left"),
    )
    return Table("Hosts together", columns, tuple(rows))


def _together(figure: Figure) -> str:
    if figure.metric in ("exchange", "ring"):
        return " → ".join(figure.hosts)
    return fold_nodeset(figure.hosts)


def _column(name: str) -> Column:
    return Column(f"{METRICS[name].title} ({METRICS[name].unit})")


def _cell(value: float | None) -> str:
    return significant(value, 4)


# What will be done -------------------------------------------------------------------------------

_DOES: Mapping[str, str] = {
    "host": "CPU, memory and disk of each host",
    "gpus": "matrix products, memory, PCIe and links of each host's GPUs",
    "within": "all-reduce of each host's GPUs",
    "pairs": "hosts two by two",
    "all": "all hosts together",
}


def step_text(step: Step) -> str:
    """What a step does, and for how long."""
    how = f" by {step.way}" if step.way else ""
    times = ""
    if step.stage == "pairs":
        times = f", {counted(step.runs, 'pair')} in {counted(step.times, 'round')}"
    return f"{_DOES[step.stage]}{how}{times}, ≈ {format_duration(step.expected_s)}"


def plan_lines(plan: PrecheckPlan) -> tuple[str, ...]:
    """All that is said before anything runs."""
    lines = [f"on {fold_nodeset(plan.hosts)}, ≈ {format_duration(plan.expected_s)}:"]
    lines += [f"  {step_text(step)}" for step in plan.steps]
    pairs = plan.step(Stage.PAIRS)
    if pairs is not None and plan.all_rounds > pairs.times:
        lines.append(
            f"  not every pair: {plan.all_rounds} rounds would have all of them (--rounds)"
        )
    lines += [f"  {note}" for note in plan.notes]
    loads: dict[str, list[str]] = {}
    for host, load in plan.busy.items():
        loads.setdefault(load, []).append(host)
    lines += [f"{UNJUDGED}: {fold_nodeset(hosts)}: {load}" for load, hosts in loads.items()]
    lines += [f"left out: {host}: {why}" for host, why in plan.left_out.items()]
    return tuple(lines)


def ways_of(plan: PrecheckPlan) -> tuple[str, ...]:
    """How it was measured, for the record."""
    return (*(step_text(step) for step in plan.steps), *plan.notes)


# The page ----------------------------------------------------------------------------------------


def precheck_markdown(precheck: Precheck, heading: str = "#") -> str:
    """The whole of it, for a file or a part of a report; ends with a line break."""
    measured = precheck.measured
    lines = [f"{heading} Precheck {precheck.name}"]
    if not precheck.finished:
        lines.append("> **It was stopped before its end.**")
    lines.append(
        f"{counted(len(measured.hosts), 'host')} ({fold_nodeset(measured.hosts)}) in"
        f" {format_duration(precheck.seconds)}."
        if measured.hosts
        else "No host was measured."
    )
    lines += [md_text(line) for line in conclusions(precheck.ranking, measured)]
    tables = (ranking_table(precheck.ranking), *figure_tables(precheck))
    lines.append(render_markdown(tables, heading=f"{heading}#").rstrip("\n"))
    if precheck.ways:
        lines.append("How: " + md_text("; ".join(precheck.ways)) + ".")
    return "\n\n".join(lines) + "\n"
