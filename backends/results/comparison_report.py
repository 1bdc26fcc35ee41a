"""A comparison in words: a table and markdown; for programs: :mod:`.comparison_files`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backends import version
from backends.hosts.fingerprint import joined, not_known
from backends.hosts.machines import Machines, machines_apart
from backends.inventory.nodesets import fold_nodeset
from backends.results.case_result import CaseResult
from backends.results.compared_environments import environments_apart
from backends.results.compared_labels import compared_label, compared_labels, value_text
from backends.results.comparison import THRESHOLD, ComparedCase, Comparison, Ground, Verdict
from backends.results.escaping import md_text
from backends.results.findings import Concern
from backends.results.grade_words import rules_text
from backends.results.layouts.cells import change_ends, count_cell, range_cell
from backends.results.mixed_environments import no_verdict_words, shares_changed
from backends.results.numbers import NOTHING, fixed, signed_percent
from backends.results.paired_cases import Key, differing, differing_words
from backends.results.provenance import false_logs, provenance
from backends.results.ratios import Method
from backends.results.recipes import not_recorded, recipe_words, recorded_alone_words
from backends.results.render import Column, Table, render_markdown
from backends.results.repeats_needed import needed_words
from backends.results.short_flags import fell_by
from backends.results.summary import parameters_text
from backends.results.translations import EN
from backends.results.verdict_doubts import by_other_rules, why_doubted
from profiles.counted import counted

if TYPE_CHECKING:
    from profiles.format.case_labels import CaseLabels


SIDES = ("baseline", "candidate")
_WELCH = (
    "ratio: of the two medians; w: Welch's interval, of the ratio of the geometric means, which "
    "need not lie around the ratio; that of the medians has an interval of its own from six "
    "repeats on"
)
_OTHER_MACHINES = "on other machines{hosts}, and how far machines differ is not in that interval"
_GROUNDS: Mapping[Ground, str] = {
    Ground.BEYOND: "the geometric means differ by {change}, 95% {low} to {high}",
    Ground.WITHIN: (
        "the geometric means differ by {change}, 95% {low} to {high}, all within {threshold}"
    ),
    Ground.NOISE: (
        "the geometric means differ by {change}, but by 95% {low} to {high}: it may be noise"
    ),
    Ground.UNPROVEN: (
        "the geometric means differ by {change}, 95% {low} to {high}: it may be {threshold}"
    ),
    Ground.OTHER_MODEL: "{models}: the speed of another model is no change",
    Ground.TOO_FEW: "{n}, a verdict takes three",
    Ground.NOT_IN_BASELINE: "not in the baseline",
    Ground.NOT_IN_CANDIDATE: "not in the candidate",
    Ground.BASELINE_FAILED: "no successful run in the baseline",
    Ground.CANDIDATE_FAILED: "no successful run in the candidate",
    Ground.CANDIDATE_UNFINISHED: "not in the candidate yet, which is unfinished",
}

ONLY_IN = {
    Ground.NOT_IN_BASELINE: "only in the candidate",
    Ground.NOT_IN_CANDIDATE: "only in the baseline",
}
"""What stands in the place of a verdict where there is nothing to hold a case against."""


def comparison_markdown(comparison: Comparison) -> str:
    """What differs between the environments, the table, and what the exit code rests on."""
    before, after = comparison_words(comparison)
    parts = [f"> **{md_text(line)}**" for line in before]
    parts.append(render_markdown([comparison_table(comparison)]).rstrip("\n"))
    lines = (*after, *comparison_footer(comparison))
    return "\n\n".join([*parts, *map(md_text, lines)]) + "\n"


def comparison_footer(comparison: Comparison) -> tuple[str, ...]:
    """Where the figures of either side come from, of which a case of several pairs counts once; and
    what compared them, which need not be what measured them."""
    sides: tuple[dict[Key, CaseResult], dict[Key, CaseResult]] = ({}, {})
    for case in comparison.cases:
        for side, key, own in zip(sides, case.keys, (case.baseline, case.candidate), strict=True):
            if key is not None and own is not None:
                side[key] = own
    hosts = comparison.hosts
    of_sides = tuple(
        f"{side.capitalize()}: {provenance(cases.values(), '', name=name, machines=hosts)}"
        for side, name, cases in zip(SIDES, comparison.called, sides, strict=True)
    )
    return (*of_sides, f"Compared by dlperf-tui {version()}.")


def comparison_words(comparison: Comparison) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is said before the table and after it."""
    before = [
        f"The environments differ{f' ({apart.which})' if apart.which else ''}, so that more than "
        f"the change under test may show. Baseline: {apart.baseline}. Candidate: {apart.candidate}."
        for apart in environments_apart(comparison)
    ]
    after = tuple(_after(comparison, AT_ITS_END))
    before += _other_machines(comparison)
    return (*before, *cautions(comparison), *_not_known(comparison)), after


def words_in_console(comparison: Comparison) -> list[str]:
    """What is said after the table where no program exits: what ``dlperf-tui compare`` would."""
    command = command_words(comparison.across, comparison.threshold)
    return _after(
        comparison, _Exit(f"{command} would exit with 1", f"{command} would not exit with 1 for it")
    )


def command_words(across: Sequence[str], threshold: float) -> str:
    """``dlperf-tui compare --across precision --threshold 5%``: that makes the same comparison."""
    also = f" --across {' '.join(across)}" if across else ""
    return f"dlperf-tui compare{also}" + (
        "" if threshold == THRESHOLD else f" --threshold {threshold * 100:g}%"
    )


def what_differs(comparison: Comparison) -> tuple[str, ...]:
    """By name, what else than the change under test may show in the ratios."""
    ours, theirs = comparison.machines
    kinds = {
        "environments": comparison.environments,
        "shares of environments": not comparison.environments and _other_shares(comparison),
        "hosts": ours and theirs and machines_apart(ours, theirs, setup=True),
        "scripts or settings": comparison.unlike,
        "rules of measuring": _other_rules(comparison),
    }
    return tuple(name for name, found in kinds.items() if found)


def _other_machines(comparison: Comparison) -> list[str]:
    """What no fingerprint tells: another machine with the same software and settings."""
    ours, theirs = comparison.machines
    # What the environments tell is said with them.
    setup = not comparison.environments
    apart_there = machines_apart(ours, theirs, setup=setup) if ours and theirs else ""
    alike = setup and not _not_known(comparison) and _set_up_alike(ours, theirs)
    on_gpus = bool(ours and theirs and ours.gpus and theirs.gpus)
    besides = f"; what is recorded of software{' and GPU settings' * on_gpus} is alike" * alike
    said = [f"The hosts differ: {apart_there}{besides}."] * bool(apart_there)
    for side, machines in zip(SIDES, comparison.machines, strict=True):
        if machines and machines.by_names:
            names = ", ".join(map(fold_nodeset, machines.by_names))
            gpus = ", with the GPUs of all whose cases are compared" * bool(machines.gpus)
            said.append(
                f"One machine has several names in the {side}, and counts once{gpus}: {names}."
            )
    return said


def _set_up_alike(ours: Machines | None, theirs: Machines | None) -> bool:
    """Both tell as much, and the same."""
    return bool(ours and theirs and dict(ours.setup) == dict(theirs.setup))


def _not_known(comparison: Comparison) -> list[str]:
    """Of which side nobody can tell what was different there."""
    pairs = [(c.baseline, c.candidate) for c in comparison.cases if c.baseline and c.candidate]
    sides = [
        {text for case in side for text in case.fingerprints} for side in zip(*pairs, strict=True)
    ]
    texts = [joined(side) if side else "" for side in sides]
    if not any(texts):
        return ["The environments are not known."]
    whole = "The {side}'s environment is not known."
    some = "Not known of the {side}'s environment: {keys}."
    return [
        (some if text else whole).format(side=side, keys=", ".join(keys))
        for side, text, keys in zip(SIDES, texts, not_known(texts), strict=True)
        if keys
    ]


def cautions(comparison: Comparison) -> tuple[str, ...]:
    """What else than the environments may show in the ratios."""
    before = [
        f"The {side} is unfinished: {told[0]} of {counted(told[1], 'run')} ended."
        for side, told in zip(SIDES, comparison.unfinished, strict=True)
        if told is not None
    ]
    if n := comparison.same_runs:
        before.append(f"{n} runs are on both sides: one campaign is the other, or a copy of it.")
    if found := differing(case.keys for case in comparison.cases):
        before.append(f"Not the same cases are compared: {differing_words(found)}.")
    if is_simulated(comparison):
        before.append(EN.simulated)
    before += _mixed(comparison)
    before += [*recipe_words(comparison.unlike), *recorded_alone_words(comparison.recorded_alone)]
    before += [*_no_recipe(comparison), *_other_rules(comparison)]
    both = [case for case in comparison.cases if case.baseline and case.candidate]
    for concern, shared in (
        (Concern.PACKED, "their hosts (packed)"),
        (Concern.SHARED_MACHINE, "a machine of several names"),
    ):
        if any(len({concern in side.concerns for side in _sides(case)}) > 1 for case in both):
            before.append(f"Some cases shared {shared} on one side alone: ratios show that too.")
    return tuple(before)


def _mixed(comparison: Comparison) -> list[str]:
    """Which cases have repeats of several environments, and how many of which."""
    labels = compared_labels(comparison.cases)
    found: dict[str, list[str]] = {}
    for case in comparison.cases:
        if case.ground is Ground.MIXED:
            name = f"{case.profile} {compared_label(case, labels)}"
            found.setdefault(case.mixed, []).append(name)
    told = "; ".join(f"{', '.join(names)} ({mixed})" for mixed, names in found.items())
    return [f"Repeats of one case ran in several environments, and no interval judges it: {told}."][
        : bool(found)
    ]


def _other_shares(comparison: Comparison) -> bool:
    """More of a case's repeats than before ran in one of its environments."""
    mixed = [case for case in comparison.cases if case.ground is Ground.MIXED]
    pairs = [(case.baseline, case.candidate) for case in mixed]
    return any(ours and theirs and shares_changed(ours, theirs) for ours, theirs in pairs)


def _no_recipe(comparison: Comparison) -> list[str]:
    """Of runs that this program started; an import says by itself what it is."""
    lacking = [
        f"the {side}"
        for side, known in zip(SIDES, comparison.recorded, strict=True)
        if not known and any(_ran_here(getattr(case, side)) for case in comparison.cases)
    ]
    return not_recorded(lacking)


def _ran_here(case: CaseResult | None) -> bool:
    return case is not None and any(not run.imported for run in case.runs)


def _other_rules(comparison: Comparison) -> list[str]:
    """Where the figures of a pair are made by unlike rules, as far as both are known."""
    told: Counter[tuple[str, str]] = Counter()
    for case in comparison.cases:
        if case.baseline is None or case.candidate is None:
            continue
        if by_other_rules(case.baseline, case.candidate):
            pair = (case.baseline, case.candidate)
            ours, theirs = (rules_text(one.rules, one.unit) for one in pair)
            told[ours, theirs] += 1
    return [
        f"Measured by another rule: {ours} in the baseline, {theirs} in the candidate "
        f"({counted(number, 'case')}): the ratio divides unlike figures."
        for (ours, theirs), number in told.items()
    ]


def parameters_compared(case: ComparedCase) -> str:
    """``batch_size=256, graphs=off → on``: what they are in the baseline, and in the candidate
    where that is something else."""
    before, after = dict(case.differs), dict(case.parameters)
    said = []
    for name in sorted({*before, *after}):
        was = f"{value_text(before[name])} → " if name in before else ""
        said.append(f"{name}={was}{value_text(after.get(name))}")
    return ", ".join(said)


def _caption(comparison: Comparison) -> str:
    """Which campaigns these are, of what and in what they were measured, and what counts."""
    units = ", ".join(dict.fromkeys(case.unit for case in comparison.cases))
    beyond = f"beyond {comparison.threshold * 100:g}%, where Welch's interval excludes 1"
    figures = f"Medians in {units}; a change counts {beyond}."
    ours, theirs = comparison.called
    named = f"Baseline: {ours}. Candidate: {theirs}." if ours or theirs else ""
    return " ".join(filter(None, (_of_all(comparison), named, figures)))


def _of_all(comparison: Comparison) -> str:
    """What all cases have in common, and no row says."""
    profiles = list(dict.fromkeys(case.profile for case in comparison.cases))
    shared = compared_labels(comparison.cases).shared
    if len(profiles) > 1:
        return f"All {shared}." if shared else ""
    return f"{profiles[0]}, all {shared}." if shared else f"{profiles[0]}."


def _assumed(comparison: Comparison) -> list[str]:
    """Whose profile did not have which parameters yet."""
    return [
        f"{SIDES[assumed.campaign].capitalize()}: {assumed.profile} had no such parameter yet, "
        f"so its default is taken: {parameters_text(dict(assumed.parameters))}."
        for assumed in comparison.assumed
    ]


@dataclass(frozen=True, slots=True)
class _Exit:
    """How it is told that there is a regression, and that something is none."""

    with_1: str
    not_for_it: str


AT_ITS_END = _Exit("the exit code is 1", "the exit code does not rest on it")


def _after(comparison: Comparison, exits: _Exit) -> list[str]:
    return [*_assumed(comparison), *_exit_lines(comparison, exits)]


def _exit_lines(comparison: Comparison, exits: _Exit) -> list[str]:
    """Which of the regressions in the table the exit code rests on."""
    n, decisive = comparison.judged, comparison.decisive
    labels = compared_labels(comparison.cases)
    among = f" among all {n} cases (Holm)" if n > 1 else ""
    lines = []
    plain = [case for case in decisive if not why_doubted(case.doubts)]
    doubtful = [case for case in decisive if why_doubted(case.doubts)]
    if plain:
        lines.append(f"Slower{among}, so that {exits.with_1}: {_names(plain, labels)}.")
    if doubtful:
        names = _names(doubtful, labels)
        lines.append(f"Slower{among}, so that {exits.with_1}, whatever it is from: {names}.")
    mixed = [
        case
        for case in comparison.cases
        if case.ground is Ground.MIXED and case.verdict is Verdict.INCONCLUSIVE
    ]
    if mixed:
        lines.append(no_verdict_words(len(mixed)))
    if n > len(mixed) and not decisive:
        beyond = f"by more than {comparison.threshold * 100:g}%"
        # They are among Holm's tests nevertheless: one that is slower decides.
        which, family = "No case", among
        if mixed:
            which, family = "No other case", f" among the tests of {n} cases (Holm)"
        lines.append(f"{which} is slower {beyond} and beyond what chance does{family}.")
    if others := comparison.of(Verdict.DIFFERENT_MODEL):
        lines.append(
            f"No verdict on another model, and {exits.not_for_it}: {_names(others, labels)}."
        )
    chance = [case for case in comparison.regressions if not case.decisive]
    if chance:
        lines.append(
            f"Slower by itself, but among {n} cases one may look so by chance (Holm), and "
            f"{exits.not_for_it}: {_names(chance, labels)}."
        )
    failed = [c for c in comparison.cases if c.ground is Ground.CANDIDATE_FAILED]
    if failed:
        lines.append(
            f"Succeeded in the baseline and never in the candidate; {exits.with_1}: "
            f"{_names(failed, labels)}."
        )
    return lines


def comparison_table(comparison: Comparison) -> Table:
    """One row per case: both medians with their n, ratio, grades, verdict and what it rests on."""
    profiles = len({case.profile for case in comparison.cases}) > 1
    units = len({case.unit for case in comparison.cases}) > 1
    labels = compared_labels(comparison.cases)
    headings = (*["profile"] * profiles, "case", *["unit"] * units)
    figures = (
        Column("baseline"),
        Column("n", rank=2),
        Column("candidate"),
        Column("n", rank=2),
        Column("ratio"),
        Column("95% interval", rank=1),
    )
    rows = [
        (
            *[case.profile] * profiles,
            compared_label(case, labels),
            *[case.unit] * units,
            *_side(case.baseline),
            *_side(case.candidate),
            ratio_cell(case),
            interval_cell(case),
            _grades(case),
            ONLY_IN.get(case.ground, case.words),
            "; ".join(
                filter(
                    None,
                    (
                        "" if case.ground in ONLY_IN else reason(case, comparison.threshold),
                        fell_by(case.baseline, case.candidate),
                        logs_words(case),
                    ),
                )
            ),
        )
        for case in comparison.cases
    ]
    methods = {case.interval.method for case in comparison.cases if case.interval}
    return Table(
        title="",
        columns=(
            *(Column(heading, "left") for heading in headings),
            *figures,
            Column("grades", "left", rank=3, below=True),
            Column("verdict", "left"),
            Column("why", "left", below=True),
        ),
        rows=tuple(rows),
        caption=_caption(comparison),
        notes=(_WELCH,) if Method.WELCH in methods else (),
    )


def ratio_cell(case: ComparedCase) -> str:
    """Of the medians that stand beside it, whatever its interval is of."""
    return fixed(case.ratio, 3)


def interval_cell(case: ComparedCase) -> str:
    """With as many decimals."""
    return range_cell(case.interval, 3)


def reason(case: ComparedCase, threshold: float) -> str:
    """What the verdict rests on, and what would decide where there is none."""
    figures = {"threshold": f"{threshold * 100:g}%", "n": _fewest(case)}
    if case.ground is Ground.MIXED:
        return case.mixed
    if case.models is not None:
        figures["models"] = "{} in the baseline, {} in the candidate".format(*case.models)
    if case.evidence is not None:
        figures["change"] = signed_percent(case.evidence.ratio - 1)
        figures["low"], figures["high"] = change_ends(case.evidence.interval())
    text = _GROUNDS[case.ground].format(**figures) + _by_medians(case)
    if case.other_machines and case.evidence is not None:
        sides = (case.baseline, case.candidate)
        hosts = dict.fromkeys(fold_nodeset(s.measured_hosts) for s in sides if s is not None)
        named = f" ({' → '.join(hosts)})" * (len(hosts) > 1)  # others may have the same name
        text = f"{text}; {_OTHER_MACHINES.format(hosts=named)}"
    if case.verdict is not Verdict.INCONCLUSIVE or case.ground is Ground.TOO_FEW:
        return text
    return f"{text}; {needed_words(case.repeats_needed)}"


def logs_words(case: ComparedCase) -> str:
    """``baseline: 2 logs do not give their figures``; empty where all do."""
    told = [(name, false_logs([side])) for name, side in _named_sides(case)]
    return "; ".join(f"{name}: {words}" for name, words in told if words)


def _by_medians(case: ComparedCase) -> str:
    """Where the printed ratio is another than the one that its interval is of; and where its own
    interval and the one that decides do not say the same."""
    if case.interval is None or case.ratio is None or case.evidence is None:
        return ""
    change, own = (signed_percent(ratio - 1) for ratio in (case.ratio, case.evidence.ratio))
    if case.interval.method is Method.WELCH and change != own:
        return f"; the medians differ by {change}"
    if case.by_medians is None or case.by_medians is case.verdict:
        return ""
    low, high = change_ends(case.interval)
    return f"; the interval of the ratio of medians ({low} to {high}) would say: {case.by_medians}"


def is_simulated(comparison: Comparison) -> bool:
    return any(side.simulated for case in comparison.cases for side in _sides(case))


def _fewest(case: ComparedCase) -> str:
    """``n = 2 in the baseline``: the fewest of both sides, and whose they are."""
    counts = {name: len(side.throughputs) for name, side in _named_sides(case)}
    fewest = min(counts.values(), default=0)
    whose = [name for name, n in counts.items() if n == fewest]
    return f"n = {fewest} in {'both' if len(whose) > 1 else f'the {whose[0]}' if whose else 'none'}"


def _sides(case: ComparedCase) -> Iterable[CaseResult]:
    return (side for _, side in _named_sides(case))


def _named_sides(case: ComparedCase) -> Iterator[tuple[str, CaseResult]]:
    for name, side in (("baseline", case.baseline), ("candidate", case.candidate)):
        if side is not None:
            yield name, side


def _side(case: CaseResult | None) -> tuple[str, str]:
    if case is None:
        return NOTHING, NOTHING
    return fixed(median_of(case)), count_cell(case)


def _grades(case: ComparedCase) -> str:
    """``B → D``"""
    sides = (case.baseline, case.candidate)
    return " → ".join(side.grade if side and side.grade else NOTHING for side in sides)


def median_of(case: CaseResult | None) -> float | None:
    return case.spread.median if case and case.spread else None


def _names(cases: Iterable[ComparedCase], labels: CaseLabels) -> str:
    told = []
    for case in cases:
        why = why_doubted(case.doubts)
        named = f"{case.profile} {compared_label(case, labels)}"
        told.append(f"{named} (in doubt: {why})" if why else named)
    return ", ".join(told)
