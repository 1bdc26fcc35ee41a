"""A comparison in words: a table, markdown, JSON, and JUnit XML for continuous integration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from backends import version
from backends.hosts.fingerprint import apart, joined, not_known
from backends.results.case_result import CaseResult
from backends.results.compared_labels import compared_label, compared_labels, value_text
from backends.results.comparison import ComparedCase, Comparison, Ground, Verdict
from backends.results.escaping import md_text, one_line
from backends.results.findings import Concern
from backends.results.layouts.cells import count_cell, range_cell
from backends.results.numbers import NOTHING, fixed, signed_percent, trimmed
from backends.results.paired_cases import differing, differing_words
from backends.results.provenance import provenance
from backends.results.ratios import Method, RatioInterval
from backends.results.render import Column, Table, render_markdown
from backends.results.summary import parameters_text
from backends.results.translations import Lang, Words, pick, words

if TYPE_CHECKING:
    from profiles.format.case_labels import CaseLabels


def comparison_markdown(comparison: Comparison, lang: Lang = "en") -> str:
    """What differs between the environments, the table, and what the exit code rests on."""
    before, after = comparison_words(comparison, lang)
    parts = [f"> **{md_text(line)}**" for line in before]
    parts.append(render_markdown([comparison_table(comparison, lang)]).rstrip("\n"))
    lines = (*after, *comparison_footer(comparison, lang))
    return "\n\n".join([*parts, *map(md_text, lines)]) + "\n"


def comparison_footer(comparison: Comparison, lang: Lang = "en") -> tuple[str, ...]:
    """Where the figures of either side come from."""
    w = words(lang)
    sides = (
        (w.baseline, [case.baseline for case in comparison.cases]),
        (w.candidate, [case.candidate for case in comparison.cases]),
    )
    return tuple(
        f"{name}: {provenance([case for case in cases if case is not None], version(), lang)}"
        for name, cases in sides
    )


def comparison_words(
    comparison: Comparison, lang: Lang = "en"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is said before the table and after it."""
    w = words(lang)
    apart_there = dict.fromkeys(apart(pair) for pair in comparison.environments)
    before = [
        w.environments_differ.format(baseline=ours, candidate=theirs)
        for ours, theirs in apart_there
    ]
    after = (*_assumed(comparison, lang), *_exit_lines(comparison, w))
    return (*before, *cautions(comparison, lang), *_not_known(comparison, lang)), after


def _not_known(comparison: Comparison, lang: Lang) -> list[str]:
    """Of which side nobody can tell what was different there."""
    w = words(lang)
    pairs = [(c.baseline, c.candidate) for c in comparison.cases if c.baseline and c.candidate]
    sides = [
        {text for case in side for text in case.fingerprints} for side in zip(*pairs, strict=True)
    ]
    texts = [joined(side) if side else "" for side in sides]
    if not any(texts):
        return [pick(lang, "The environments are not known.", "双方的环境均未知。")]
    whole = pick(lang, "The {side}'s environment is not known.", "{side}的环境未知。")
    some = pick(
        lang, "Not known of the {side}'s environment: {keys}.", "{side}的环境中未知：{keys}。"
    )
    return [
        (some if text else whole).format(side=side, keys=", ".join(keys))
        for side, text, keys in zip((w.baseline, w.candidate), texts, not_known(texts), strict=True)
        if keys
    ]


def cautions(comparison: Comparison, lang: Lang = "en") -> tuple[str, ...]:
    """What else than the environments may show in the ratios."""
    w = words(lang)
    before = []
    if comparison.same_runs:
        said = pick(
            lang,
            "{n} runs are on both sides: one campaign is the other, or a copy of it.",
            "两侧有 {n} 个相同的运行：一方就是另一方，或是其副本。",
        )
        before.append(said.format(n=comparison.same_runs))
    if across := across_words(comparison, lang):
        before.append(across)
    if _simulated(comparison):
        before.append(w.simulated)
    both = [case for case in comparison.cases if case.baseline and case.candidate]
    if any(len({Concern.PACKED in side.concerns for side in _sides(case)}) > 1 for case in both):
        before.append(
            pick(
                lang,
                "Some cases shared their hosts (packed) on one side alone: ratios show that too.",
                "部分用例仅一方为打包运行（共用主机）：比值也包含其影响。",
            )
        )
    return tuple(before)


def across_words(comparison: Comparison, lang: Lang = "en") -> str:
    """In which parameters the cases of a pair differ; empty where they are the same cases."""
    found = differing(case.keys for case in comparison.cases)
    if not found:
        return ""
    text = pick(
        lang,
        "Not the same cases are compared: {differing}. All other parameters are the same.",
        "比较的不是相同的用例：{differing}。其余参数相同。",
    )
    return text.format(differing=differing_words(found, lang))


def parameters_compared(case: ComparedCase) -> str:
    """``batch_size=256, graphs=off → on``: what they are in the baseline, and in the candidate
    where that is something else."""
    before, after = dict(case.differs), dict(case.parameters)
    said = []
    for name in sorted({*before, *after}):
        was = f"{value_text(before[name])} → " if name in before else ""
        said.append(f"{name}={was}{value_text(after.get(name))}")
    return ", ".join(said)


def _caption(comparison: Comparison, lang: Lang) -> str:
    """Which campaigns these are, of what and in what they were measured, and what counts."""
    units = ", ".join(dict.fromkeys(case.unit for case in comparison.cases))
    figures = pick(
        lang,
        f"Medians in {units}; a change counts beyond {comparison.threshold * 100:g}%.",
        f"中位数，单位 {units}；变化超过 {comparison.threshold * 100:g}% 才计入。",
    )
    ours, theirs = comparison.names
    named = pick(lang, f"Baseline: {ours}. Candidate: {theirs}.", f"基线：{ours}。候选：{theirs}。")
    said = (_of_all(comparison, lang), named if any(comparison.names) else "", figures)
    return words(lang).gap.join(filter(None, said))


def _of_all(comparison: Comparison, lang: Lang) -> str:
    """What all cases have in common, and no row says."""
    profiles = list(dict.fromkeys(case.profile for case in comparison.cases))
    shared = compared_labels(comparison.cases).shared
    if len(profiles) > 1:
        return pick(lang, f"All {shared}.", f"均为 {shared}。") if shared else ""
    if not shared:
        return f"{profiles[0]}{pick(lang, '.', '。')}"
    return pick(lang, f"{profiles[0]}, all {shared}.", f"{profiles[0]}，均为 {shared}。")


def _assumed(comparison: Comparison, lang: Lang) -> list[str]:
    """Whose profile did not have which parameters yet."""
    w = words(lang)
    text = pick(
        lang,
        "{side}: {profile} had no such parameter yet, so its default is taken: {values}.",
        "{side}：{profile} 当时还没有该参数，按默认值计：{values}。",
    )
    return [
        text.format(
            side=(w.baseline, w.candidate)[assumed.campaign],
            profile=assumed.profile,
            values=parameters_text(dict(assumed.parameters)),
        )
        for assumed in comparison.assumed
    ]


def _exit_lines(comparison: Comparison, w: Words) -> list[str]:
    """Which of the regressions in the table the exit code rests on."""
    n, decisive = comparison.judged, comparison.decisive
    labels = compared_labels(comparison.cases)
    among = w.among.format(n=n) if n > 1 else ""
    lines = []
    if decisive:
        lines.append(w.decisive.format(among=among, cases=_names(decisive, labels)))
    elif n:
        lines.append(w.nothing_decisive.format(among=among))
    chance = [case for case in comparison.regressions if not case.decisive]
    if chance:
        lines.append(w.by_chance.format(n=n, cases=_names(chance, labels)))
    failed = [c for c in comparison.cases if c.ground is Ground.CANDIDATE_FAILED]
    if failed:
        lines.append(w.no_longer.format(cases=_names(failed, labels)))
    return lines


def comparison_table(comparison: Comparison, lang: Lang = "en") -> Table:
    """One row per case: both medians with their n, ratio, verdict and what it rests on."""
    w = words(lang)
    profiles = len({case.profile for case in comparison.cases}) > 1
    units = len({case.unit for case in comparison.cases}) > 1
    labels = compared_labels(comparison.cases)
    unit = pick(lang, "unit", "单位")
    headings = (*[w.profile] * profiles, w.case, *[unit] * units)
    figures = (
        Column(w.baseline),
        Column(w.count, rank=2),
        Column(w.candidate),
        Column(w.count, rank=2),
        Column(w.ratio),
        Column(w.ratio_interval, rank=1),
    )
    rows = [
        (
            *[case.profile] * profiles,
            compared_label(case, labels),
            *[case.unit] * units,
            *_side(case.baseline),
            *_side(case.candidate),
            fixed(case.ratio, 3),
            range_cell(case.interval, lambda value: fixed(value, 3)),
            w.verdicts[case.verdict],
            reason(case, comparison.threshold, w),
        )
        for case in comparison.cases
    ]
    methods = {case.interval.method for case in comparison.cases if case.interval}
    return Table(
        title="",
        columns=(
            *(Column(heading, "left") for heading in headings),
            *figures,
            Column(w.verdict, "left"),
            Column(w.reason, "left"),
        ),
        rows=tuple(rows),
        caption=_caption(comparison, lang),
        notes=(w.mark_welch,) if Method.WELCH in methods else (),
    )


def reason(case: ComparedCase, threshold: float, w: Words) -> str:
    """What the verdict rests on, and what would decide where there is none."""
    figures = {"threshold": f"{threshold * 100:g}%", "n": _fewest(case)}
    if case.evidence is not None:
        interval = case.evidence.interval()
        figures["change"] = signed_percent(case.evidence.ratio - 1)
        figures["low"] = signed_percent(interval.low - 1)
        figures["high"] = signed_percent(interval.high - 1)
    text = w.grounds[case.ground].format(**figures) + _by_medians(case, w)
    if case.verdict is not Verdict.INCONCLUSIVE or case.ground is Ground.TOO_FEW:
        return text
    if case.repeats_needed is None:
        return text + w.hopeless
    return text + w.needed.format(n=case.repeats_needed)


def _by_medians(case: ComparedCase, w: Words) -> str:
    """Where the printed ratio's interval and the one that decides do not say the same."""
    if case.interval is None or case.by_medians is None or case.by_medians is case.verdict:
        return ""
    low, high = (signed_percent(end - 1) for end in (case.interval.low, case.interval.high))
    return w.by_medians.format(low=low, high=high, verdict=w.verdicts[case.by_medians])


def _simulated(comparison: Comparison) -> bool:
    return any(side.simulated for case in comparison.cases for side in _sides(case))


def _ends(interval: RatioInterval | None) -> list[float] | None:
    return [interval.low, interval.high] if interval else None


def _fewest(case: ComparedCase) -> str:
    return f"n = {min((len(side.throughputs) for side in _sides(case)), default=0)}"


def _sides(case: ComparedCase) -> Iterable[CaseResult]:
    return (side for side in (case.baseline, case.candidate) if side is not None)


def _side(case: CaseResult | None) -> tuple[str, str]:
    if case is None:
        return NOTHING, NOTHING
    return trimmed(_median(case)), count_cell(case)


def _median(case: CaseResult | None) -> float | None:
    return case.spread.median if case and case.spread else None


def _names(cases: Iterable[ComparedCase], labels: CaseLabels) -> str:
    return ", ".join(f"{case.profile} {compared_label(case, labels)}" for case in cases)


def _name(case: ComparedCase) -> str:
    """For programs: the same whatever else is compared."""
    return " ".join(filter(None, [case.profile, case.case, parameters_compared(case)]))


def comparison_document(comparison: Comparison) -> dict[str, Any]:  # JSON
    """The keys are a contract with other programs: docs/reports.md lists them."""
    w = words("en")
    return {
        "threshold": comparison.threshold,
        "baseline_campaign": comparison.names[0] or None,
        "candidate_campaign": comparison.names[1] or None,
        "across": list(comparison.across),
        "simulated": _simulated(comparison),
        "regressions": len(comparison.regressions),
        "inconclusive": len(comparison.of(Verdict.INCONCLUSIVE)),
        "decisive": [_name(case) for case in comparison.decisive],
        "environments": [
            {"baseline": ours, "candidate": theirs} for ours, theirs in comparison.environments
        ],
        "assumed": [
            {
                "side": ("baseline", "candidate")[assumed.campaign],
                "profile": assumed.profile,
                "parameters": dict(assumed.parameters),
            }
            for assumed in comparison.assumed
        ],
        "cases": [
            {
                "profile": case.profile,
                "case": case.case,
                "parameters": dict(case.parameters),
                "differs": dict(case.differs),
                "unit": case.unit,
                "baseline": _median(case.baseline),
                "candidate": _median(case.candidate),
                "ratio": case.ratio,
                "ratio_interval": _ends(case.interval),
                "estimate": case.evidence.ratio if case.evidence else None,
                "estimate_interval": _ends(case.evidence.interval() if case.evidence else None),
                "verdict": str(case.verdict),
                "reason": reason(case, comparison.threshold, w),
                "repeats_needed": case.repeats_needed,
            }
            for case in comparison.cases
        ],
    }


def comparison_junit(comparison: Comparison, *, strict: bool = False) -> str:
    """JUnit XML as CI servers read it: a test per case, failed where the exit code rests on it.

    What is not decided, and a regression that may be chance among so many cases, is skipped with
    its reason: it must not turn a pipeline red that ``compare`` leaves green.
    """
    w = words("en")
    failing = comparison.fails(strict=strict)
    undecided = [
        case
        for case in comparison.cases
        if case not in failing and case.verdict not in (Verdict.SAME, Verdict.IMPROVEMENT)
    ]
    suite = ET.Element(
        "testsuite",
        name="dlperf-tui compare" + " SIMULATED" * _simulated(comparison),
        tests=str(len(comparison.cases)),
        failures=str(len(failing)),
        errors="0",
        skipped=str(len(undecided)),
    )
    for case in comparison.cases:
        name = " ".join(filter(None, [case.case, parameters_compared(case)]))
        test = ET.SubElement(
            suite, "testcase", classname=one_line(case.profile), name=one_line(name)
        )
        said = one_line(f"{case.verdict}: {reason(case, comparison.threshold, w)}")
        if case in failing:
            ET.SubElement(test, "failure", message=said, type=str(case.verdict)).text = said
        elif case in undecided:
            ET.SubElement(test, "skipped", message=said)
        else:
            ET.SubElement(test, "system-out").text = said
    ET.indent(suite)
    body = ET.tostring(suite, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'
