"""Who is broken, slow or suspect, and why: from figures and troubles to names. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backends.hosts.nvidia import THROTTLE_REASONS
from backends.precheck.figures import FAULTS, METRICS, SLOWED, About, Figure, Stage, Trouble
from backends.precheck.naming import Named, RankedHost, Ranking, Unequal, Verdict, Why
from backends.precheck.past import Past
from backends.precheck.slower import (
    differ,
    slow_ends,
    slower_than_before,
    slower_than_others,
)
from backends.precheck.tournament import Pair

_VERDICTS = {
    Why.BROKEN: Verdict.BROKEN,
    Why.FAULTY: Verdict.FAULTY,
    Why.SLOW: Verdict.SLOW,
    Why.CHANGED: Verdict.SLOW,
    Why.IN_RUNS: Verdict.SUSPECT,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """All that a precheck found. ``left_out``: why, by host; ``busy``: with what a host was when it
    was measured, as "load 15.8 on 2 CPUs"; ``shared``: with which others it is one machine;
    ``gpus``: their model."""

    hosts: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    busy: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[str, str] = field(default_factory=dict)
    gpus: Mapping[str, str] = field(default_factory=dict)


def rank(measured: Measured, past: Past | None = None) -> Ranking:
    """Name what is not as the others are, or as it was; with none, nobody."""
    named = [*_broken(measured.troubles), *_faulty(measured.figures)]
    pairs: list[Named] = []
    unequal: list[Unequal] = []
    alone: list[tuple[str, str]] = []
    for (metric, kind), figures in _series(measured.figures).items():
        told = METRICS[metric]
        if told.about is About.PAIR:
            failed = _failed_pairs(measured.troubles, kind) if metric != "ring" else {}
            hosts, links, two = _of_pairs(metric, figures, failed)
        else:
            hosts, links, two = _of_each(metric, figures)
        named += hosts
        pairs += links
        unequal += two
        # Of two hosts there is one pair, whichever sends.
        subjects = {(frozenset(f.hosts), f.devices) for f in figures}
        if len(subjects) == 1 and told.about is not About.GROUP:
            alone.append((metric, kind))
    named = [_slowed_by(one, measured.figures) for one in named]
    named += _pairs_without_figures(measured)
    pairs += _broken_together(measured.troubles)
    if past is not None:
        named += _changed(measured.figures, past)
        named += past.suspects
    ranked = _ranked(measured, named)
    blamed = {host for n in named for host in n.hosts} | {h for n in pairs for h in n.hosts}
    left = tuple(t for t in measured.troubles if not t.host and not blamed & set(t.hosts))
    alone = [one for one in alone if not any(n.metric == one[0] for n in named)]
    ordered = tuple(sorted(pairs, key=lambda one: one.weight))
    return Ranking(ranked, ordered, tuple(unequal), left, tuple(alone))


def _series(figures: Iterable[Figure]) -> Mapping[tuple[str, str], list[Figure]]:
    found: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        if figure.metric in METRICS and METRICS[figure.metric].judged:
            found.setdefault(figure.series, []).append(figure)
    return found


def _broken(troubles: Iterable[Trouble]) -> Iterator[Named]:
    for trouble in troubles:
        if trouble.host:
            yield Named(
                Why.BROKEN,
                About.HOST,
                (trouble.host,),
                metric=str(trouble.stage),
                reason=trouble.reason,
                log=trouble.log,
            )


_FAULT_WORDS = {
    "wrong": "wrong results",
    "ecc": "uncorrected memory errors since the driver was loaded",
    "remapping": "memory rows could not be replaced, or wait for a reset",
}


def _faulty(figures: Iterable[Figure]) -> Iterator[Named]:
    for figure in figures:
        if figure.metric == SLOWED and figure.value > 0:
            reason = f"slowed down: {figure.details.get('of')}"
            named = Named(Why.SLOW, About.GPU, figure.hosts, figure.devices[:1], SLOWED)
            yield replace(named, reason=reason)
        if figure.metric in FAULTS and figure.value > 0:
            more = figure.details.get("of") or ""
            words = f"{figure.value:.0f} {_FAULT_WORDS[figure.metric]}"
            if figure.metric == "remapping":
                words = _FAULT_WORDS[figure.metric]
            yield Named(
                Why.FAULTY,
                About.GPU,
                figure.hosts,
                figure.devices[:1],
                metric=figure.metric,
                unit=figure.unit,
                reason=f"{words}: {more}" if more else words,
            )


def _slowed_by(named: Named, figures: Iterable[Figure]) -> Named:
    """With what lowered a slow GPU's clock meanwhile, as nvidia-smi told."""
    if named.metric not in ("gemm_sustained", "sm_clock"):
        return named
    for figure in figures:
        if figure.metric == "sm_clock" and figure.subject == (named.hosts, named.devices):
            mask = figure.details.get("slowed_by")
            bits = mask if isinstance(mask, int) else 0
            reasons = [words for bit, words in THROTTLE_REASONS.items() if bits & bit]
            return replace(named, reason=f"slowed by {', '.join(reasons)}") if reasons else named
    return named


_Found = tuple[list[Named], list[Named], list[Unequal]]


def _of_each(metric: str, figures: Sequence[Figure]) -> _Found:
    """Figures of hosts, GPUs or links within a host: of hosts, of pairs, differences of two."""
    told = METRICS[metric]
    by_subject = {figure.subject: figure.value for figure in figures}
    slow = slower_than_others(by_subject, told.tolerance)
    hosts = [
        Named(Why.SLOW, told.about, hosts, devices, metric, told.unit, than)
        for (hosts, devices), than in slow.items()
    ]
    return hosts, [], list(_two(metric, by_subject))


def _two(
    metric: str, values: Mapping[tuple[tuple[str, ...], tuple[int, ...]], float]
) -> Iterator[Unequal]:
    told = METRICS[metric]
    if (found := differ(values, told.tolerance)) is not None:
        low, than = found
        high = next(subject for subject in values if subject != low)
        yield Unequal(metric, told.unit, low, high, than)


def _of_pairs(metric: str, figures: Sequence[Figure], failed: Mapping[Pair, Trouble]) -> _Found:
    told = METRICS[metric]
    values: dict[Pair, float] = {}
    for figure in figures:
        pair = _pair(figure.hosts)
        # Of both directions the worse: a ring is as slow as that.
        values[pair] = min(values.get(pair, math.inf), figure.value)
    for pair in failed:
        values.setdefault(pair, 0.0)
    ends = slow_ends(values, told.tolerance)
    hosts, pairs = [], []
    for host, than in ends.hosts.items():
        if than.value:
            hosts.append(Named(Why.SLOW, About.HOST, (host,), (), metric, told.unit, than))
        else:
            trouble = next(t for pair, t in failed.items() if host in pair)
            hosts.append(_no_partner(host, metric, trouble))
    for pair, than in ends.pairs.items():
        if pair in failed:
            pairs.append(_failed_pair(pair, metric, failed[pair]))
        else:
            pairs.append(Named(Why.SLOW, About.PAIR, pair, (), metric, told.unit, than))
    return hosts, pairs, []


def _broken_together(troubles: Iterable[Trouble]) -> Iterator[Named]:
    """Two that break what all do together, each of which works with others."""
    for trouble in troubles:
        if trouble.stage is Stage.ALL and not trouble.host and len(trouble.hosts) == 2:
            yield _failed_pair(_pair(trouble.hosts), str(Stage.ALL), trouble)


def _pairs_without_figures(measured: Measured) -> Iterator[Named]:
    """Hosts whose every pair failed, where no pair at all has a figure to compare with."""
    failed = _failed_pairs(measured.troubles)
    if not failed or any(
        METRICS[f.metric].about is About.PAIR for f in measured.figures if f.metric in METRICS
    ):
        return
    counts: dict[str, int] = {}
    for pair in failed:
        for host in pair:
            counts[host] = counts.get(host, 0) + 1
    for host, count in counts.items():
        if count == len(failed) > 1:  # in all of them, and no other is
            trouble = next(t for pair, t in failed.items() if host in pair)
            yield _no_partner(host, str(Stage.PAIRS), trouble)


def _no_partner(host: str, metric: str, trouble: Trouble) -> Named:
    return Named(
        Why.BROKEN,
        About.HOST,
        (host,),
        metric=metric,
        reason=f"fails with every other host: {trouble.reason}",
        log=trouble.log,
    )


def _failed_pair(pair: Pair, metric: str, trouble: Trouble) -> Named:
    return Named(
        Why.BROKEN, About.PAIR, pair, metric=metric, reason=trouble.reason, log=trouble.log
    )


def _failed_pairs(troubles: Iterable[Trouble], kind: str | None = None) -> Mapping[Pair, Trouble]:
    """Of this kind; None: of any."""
    return {
        _pair(trouble.hosts): trouble
        for trouble in troubles
        if trouble.stage is Stage.PAIRS
        and not trouble.host
        and len(trouble.hosts) == 2
        and kind in (None, trouble.kind)
    }


def _pair(hosts: Sequence[str]) -> Pair:
    low, high = sorted(hosts)
    return low, high


def _changed(figures: Iterable[Figure], past: Past) -> Iterator[Named]:
    for figure in figures:
        told = METRICS.get(figure.metric)
        if told is None or not told.judged or told.about in (About.PAIR, About.GROUP):
            continue
        than = slower_than_before(figure.value, past.values_of(figure), told.tolerance)
        if than is not None:
            yield Named(
                Why.CHANGED,
                told.about,
                figure.hosts,
                figure.devices,
                figure.metric,
                told.unit,
                than,
            )


def _busy(measured: Measured, host: str) -> str:
    """Also where its figures alone say so: on an idle host all CPUs compute no less than one."""
    told = measured.busy.get(host, "")
    found = {figure.metric: figure.value for figure in measured.figures if figure.hosts == (host,)}
    share = 1 - METRICS["cpu_all"].tolerance
    least = found.get("cpu_one", 0.0) * share
    below = f"all CPUs together computed less than {share:.0%} of what one alone did"
    return ", ".join([told] * bool(told) + [below] * (found.get("cpu_all", least) < least))


def _ranked(measured: Measured, named: Sequence[Named]) -> tuple[RankedHost, ...]:
    found = []
    for host in dict.fromkeys((*measured.hosts, *measured.left_out)):
        reasons = tuple(sorted((n for n in named if host in n.hosts), key=lambda n: n.weight))
        left_out = measured.left_out.get(host, "")
        if left_out and not any(n.why is not Why.IN_RUNS for n in reasons):
            verdict = Verdict.NOT_MEASURED
        else:
            verdict = _VERDICTS[reasons[0].why] if reasons else Verdict.WELL
        busy = _busy(measured, host)
        if busy and verdict is Verdict.WELL:
            verdict = Verdict.NOT_JUDGED
        shared, gpus = measured.shared.get(host, ""), measured.gpus.get(host, "")
        found.append(RankedHost(host, verdict, reasons, left_out, busy, shared, gpus))

    def place(ranked: RankedHost) -> tuple[int, tuple[int, float]]:
        weight = ranked.reasons[0].weight if ranked.reasons else (len(Why), 0.0)
        return list(Verdict).index(ranked.verdict), weight

    return tuple(sorted(found, key=place))
