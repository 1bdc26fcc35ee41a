"""Results in words: the table's rows, what to distrust about a case, its repeats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from backends.results.auto_repeats import AutoRepeats, expected_repeats
from backends.results.busbw_curve import bandwidth_words, is_collective
from backends.results.case_result import CaseResult
from backends.results.device_words import devices_text, memory_name
from backends.results.findings import Concern, Finding, Grade
from backends.results.grade import over_other_devices
from backends.results.grade_words import (
    HOSTS_OPTION,
    half_text,
    named_lines,
    one_model,
    rules_text,
    within,
)
from backends.results.layouts.cells import (
    count_cell,
    efficiency_cell,
    efficiency_interval_cell,
    speedup_cell,
    speedup_interval_cell,
)
from backends.results.mixed_environments import mixed_models
from backends.results.numbers import NOTHING, percent, scatter
from backends.results.reference_comparison import held_figures
from backends.results.reference_words import held_line
from backends.results.scaling_loss_words import explained_text
from backends.results.short_flags import SHORT, short_of
from backends.results.statistics import CV_LIMITS, Spread
from backends.results.steady_words import steadiness_text, window_text
from backends.results.summary import Group, on_cpus
from backends.results.telemetry_figures import Trouble, disturbed, throttled
from backends.results.telemetry_words import usual_lines
from backends.results.translations import EN
from backends.results.workload_figures import configuration, measurements, other_readings
from profiles.format.case_labels import CaseLabels, apart, case_labels
from tui.results_keys import WIDE
from tui.row_order import RowOrder
from tui.text import (
    LEAST_PART,
    cell,
    join,
    named_rows,
    number,
    plain,
    shared_of_all,
    throughput_heading,
    whole_parts,
)
from tui.theme import ACCENT, BAD, GOOD, MUTED, TEXT, WARN
from tui.widgets.keyed_table import Column, Row

CV_COLUMNS = 6
_COLUMNS = (
    Column("case", "Case", 11, most=60, enough=28, ends=True, apart=True, first=True),
    Column("gpus", "GPUs", 4, right=True, gives_way=2),
    Column("throughput", "throughput", 10, right=True, most=24),
    Column("unit", "Unit", 4, if_any=True, gives_way=1),
    Column("speedup", "Speedup", 7, right=True, most=12, first=True),
    Column("interval", "95% of speedup", 16, from_width=WIDE, right=True, most=24),
    Column("efficiency", "Effic.", 8, right=True, most=10),
    Column("cv", "CV", CV_COLUMNS, right=True, gives_way=3),
    Column("n", "n", 3, right=True),
    Column("grade", "Gr", 2),
    Column("flags", "Flags", None, parts=True),
)
LEAST_FLAGS = 12
"""Columns for the beginning of the first, and how many more there are."""
_COMPARED = frozenset({"speedup", "efficiency"})

_GRADE_COLOURS: Mapping[Grade | None, str] = {
    Grade.A: GOOD,
    Grade.B: TEXT,
    Grade.C: WARN,
    Grade.D: BAD,
}
_GOOD_FOR = {
    Grade.A: "good for a claim",
    Grade.B: "good for a table",
    Grade.C: "good for orientation",
    Grade.D: "a number, no more",
}
NO_FLAGS = ("–", "nothing ended yet")
_WIDE = frozenset({Concern.FEW_REPEATS, Concern.WIDE_INTERVAL})
_UNQUIET = frozenset(
    {Concern.CV_AMBER, Concern.CV_RED, Concern.UNSTEADY, Concern.DRIFT, Concern.DISTURBED}
)
_SLOWED = _UNQUIET | {Concern.THROTTLED}
_REMEDIES = {
    Trouble.OTHER_PROCESSES: "repeat when no other process is on the GPUs of {host}{shown}",
    Trouble.SWAPPED: "repeat when {host} has memory enough that it does not swap{shown}",
    Trouble.MEMORY_ERRORS: "see to the memory of GPU{gpu} of {host}, or repeat without {host}"
    + HOSTS_OPTION,
    Trouble.UNEVEN_LOAD: "repeat when the CPUs of {host} are quiet{shown}",
}
_OF_ATTEMPTS = frozenset({Concern.FAILED_RUNS, Concern.RETRIED})
_GRAVE = frozenset({Concern.FAILED_RUNS, Concern.CV_RED, Concern.NEGATIVE_SCALING})


def labels_of(groups: Sequence[Group]) -> CaseLabels:
    """How the cases are called beside one another."""
    return case_labels(case.as_case for group in groups for case in group.cases)


def group_label(group: Group, groups: Sequence[Group], labels: CaseLabels) -> str:
    """What tells the group from the others, and its profile where there are several."""
    label = labels.without_size(group.cases[0].as_case) or "measured"
    several = len({g.profile for g in groups}) > 1
    return f"{group.profile} {label}" if several else label


def case_label(case: CaseResult, groups: Sequence[Group], labels: CaseLabels) -> str:
    """As the table calls it, behind its profile where there are several."""
    several = len({group.profile for group in groups}) > 1
    return f"{case.profile} " * several + labels.label(case.as_case)


def result_columns(
    groups: Sequence[Group], labels: CaseLabels, devices: str = "Devices"
) -> tuple[Column, ...]:
    """What stands over the rows: devices that are CPU slots are not called GPUs. ``devices``: what
    they are called until a run has told."""
    runs = (run for group in groups for case in group.cases for run in case.runs)
    told = any(run.fingerprint or run.imported for run in runs)
    if told:
        devices = "Devices" if on_cpus(groups) else "GPUs"
    named = {
        "gpus": replace(_COLUMNS[1], label=devices, width=len(devices)),
        "throughput": replace(
            _COLUMNS[2], label=throughput_heading({group.unit for group in groups})
        ),
        "unit": replace(
            _COLUMNS[3], width=max((cell_len(plain(g.unit)) for g in groups), default=4)
        ),
    }
    profiles, _ = apart(group.profile for group in groups)
    if len(profiles) > 1:  # of which each case says its own, behind what it is called
        longest = max(cell_len(labels.label(c.as_case)) for g in groups for c in g.cases)
        must = longest + 1 + min(LEAST_PART, max(map(cell_len, profiles.values())))
        case = replace(_COLUMNS[0], last=True, must=must * (must <= _COLUMNS[0].enough))
        named |= {"case": case, "flags": replace(_COLUMNS[-1], least=LEAST_FLAGS)}
    if groups and all(len(group.cases) < 2 for group in groups):  # nothing is held against another
        named |= {c.key: replace(c, gives_way=1) for c in _COLUMNS if c.key in _COMPARED}
    return tuple(named.get(column.key, column) for column in _COLUMNS)


def shared_words(groups: Sequence[Group], labels: CaseLabels) -> str:
    """:func:`shared_of_all` of these."""
    _, alike = apart(group.profile for group in groups)
    return shared_of_all(alike, labels.shared)


def all_simulated(groups: Sequence[Group]) -> bool:
    return all(case.simulated for group in groups for case in group.cases)


def case_names(groups: Sequence[Group], labels: CaseLabels) -> dict[str, Text]:
    """The cases by their keys: as they are called, with what tells their profile from others."""
    profiles, _ = apart(group.profile for group in groups)
    several = len(profiles) > 1
    return {
        case.as_case.key: join(
            [
                cell(labels.label(case.as_case), "bold"),
                *[(f" {plain(profiles[case.profile])}", MUTED)] * several,
            ]
        )
        for group in groups
        for case in group.cases
    }


SORTS: Mapping[str, Callable[[CaseResult], Any] | None] = {  # Any: what can be put in order
    "case": None,
    "throughput": lambda case: case.throughput,
    "speedup": lambda case: case.speedup,
    "efficiency": lambda case: case.efficiency,
    "CV": lambda case: case.spread.cv if case.spread else None,
    "grade": lambda case: case.grade,
}
"""What rows can be sorted by; None: as the groups have them."""


FIGURES = frozenset({"throughput", "speedup", "efficiency", "CV"})
BY_CASE: RowOrder[CaseResult] = RowOrder(SORTS, "case", figures=FIGURES)


def result_rows(
    groups: Sequence[Group], labels: CaseLabels, order: RowOrder[CaseResult] = BY_CASE
) -> list[Row]:
    called = case_names(groups, labels)
    but, shared = _told_once(groups), _shared(groups)
    group_of = {id(case): group for group in groups for case in group.cases}
    cases = order.of(case for group in groups for case in group.cases)
    units = len({group.unit for group in groups}) > 1
    return [
        _row(
            group_of[id(case)],
            case,
            called[case.as_case.key],
            flags(case, but, shared),
            units=units,
            but=but,
        )
        for case in cases
    ]


def _row(
    group: Group,
    case: CaseResult,
    label: Text,
    told: Text,
    *,
    units: bool,
    but: frozenset[Concern],
) -> Row:
    base = case.case == group.base and bool(case.speedup) and not group.alone
    speedup = "base" if base else _speedup(case, group)
    cv = case.spread.cv if case.spread else None
    colour = _cv_colour(case)
    rate = number(case.throughput)
    unit = plain(case.unit) * (units and case.throughput is not None)
    return Row(
        case.as_case.key,
        (
            label,
            cell(case.gpus, right=True),
            cell(rate, f"bold {TEXT}" if case.throughput else MUTED, right=True),
            cell(unit, MUTED),
            cell(speedup, right=True),
            cell(speedup_interval_cell(case), right=True),
            cell(efficiency_cell(case, group), right=True),
            cell(_cv_text(cv), colour, right=True),
            cell(count_cell(case), right=True),
            cell(_grade_cell(case, but), _GRADE_COLOURS.get(case.grade, MUTED)),
            told,
        ),
        find=f"{case.profile} {case.as_case.label}",
    )


def _grade_cell(case: CaseResult, but: frozenset[Concern]) -> str:
    """``D↓`` where what sets it is among what is told once of all, below the rows."""
    if case.grade is None:
        return "–"
    sets = {found.concern for found in case.findings if found.ceiling is case.grade}
    return f"{case.grade}{'↓' * bool(sets and sets <= but)}"


def shared_reasons(groups: Sequence[Group]) -> list[str]:
    """What all cases share and no row has among its flags, and which grade that allows:
    ``all simulated: grade D``."""
    ceilings = {
        found.concern: found.ceiling
        for group in groups
        for case in group.cases
        for found in case.findings
    }
    return [
        f"all {SHORT[concern]}" + f": grade {ceilings[concern]}" * (concern in ceilings)
        for concern in sorted(_told_once(groups))
    ]


def _cv_text(cv: float | None) -> str:
    """As its column has room for: with fewer digits, or an end that it is beyond."""
    told = scatter(cv, beyond=CV_LIMITS)
    if cv is None or cell_len(told) <= CV_COLUMNS:
        return told
    if cv < 0.0001:
        return "<0.01%"
    shorter = (percent(cv, decimals) for decimals in (2, 1, 0))
    return next((text for text in shorter if cell_len(text) <= CV_COLUMNS), ">9999%")


def _cv_colour(case: CaseResult) -> str:
    if Concern.CV_RED in case.concerns:
        return BAD
    return WARN if Concern.CV_AMBER in case.concerns else ""


def _told_once(groups: Sequence[Group]) -> frozenset[Concern]:
    return frozenset({Concern.SIMULATED} if all_simulated(groups) else ())


def _shared(groups: Sequence[Group]) -> frozenset[Concern]:
    """What every case with a figure has, where there are several."""
    cases = [{*case.concerns} for group in groups for case in group.cases if case.spread]
    return frozenset(set.intersection(*cases)) if len(cases) > 1 else frozenset()


def flags_below(case: CaseResult, groups: Sequence[Group], width: int) -> str:
    """The flags of a case, for a line of so many columns where theirs has no room; empty where
    there is none."""
    told = flags(case, _told_once(groups), _shared(groups))
    return "" if told.plain in NO_FLAGS else whole_parts(told, width).plain


def flags(
    case: CaseResult,
    but: frozenset[Concern] = frozenset(),
    shared: frozenset[Concern] = frozenset(),
) -> Text:
    """The concerns of a case in a few words, ``but`` those that are told once of all. What costs
    more is first; of what costs the same that which is not ``shared`` by all. Few repeats of all
    are behind all that costs a grade and is not, for n says it of each, unless they alone set
    it."""
    sets = {found.concern for found in case.findings if found.ceiling is case.grade}

    def place(found: Finding) -> tuple[int, int]:
        if found.concern not in shared:
            return found.rank[0], 0
        if found.concern is Concern.FEW_REPEATS and sets != {Concern.FEW_REPEATS}:
            return Finding(found.concern, Grade.B).rank[0], 1
        return found.rank[0], 2

    told = [one.concern for one in sorted(case.findings, key=place) if one.concern not in but]
    failing = _only_failed_yet(case)
    if not told and not failing:
        return cell("–" if case.repeats else "nothing ended yet", MUTED)
    if not case.succeeded:  # before what its machines are: there is no figure for that to change
        told.sort(key=lambda concern: concern not in _OF_ATTEMPTS)
    words = ["failed so far"] * failing + [_in_short(one, case) for one in told]
    if Concern.LOG_CHANGED in told:  # before any grade: the figure cannot be checked
        words.insert(0, words.pop(failing + told.index(Concern.LOG_CHANGED)))
    failed = Concern.FAILED_RUNS in told and any(r.state != "cancelled" for r in case.failed_runs)
    grave = failing or any(concern in _GRAVE for concern in told)
    return cell(f"{'✗' if failed or failing else '▲'} {', '.join(words)}", BAD if grave else WARN)


def _only_failed_yet(case: CaseResult) -> bool:
    """Each repeat that has ended failed, and is tried again."""
    failed = any(run.state == "failed" for run in case.failed_runs)
    return failed and not case.succeeded and not case.lost_runs


def _in_short(concern: Concern, case: CaseResult) -> str:
    if concern is Concern.FAILED_RUNS and all(r.state == "cancelled" for r in case.failed_runs):
        if not case.succeeded:
            return "skipped" if _all_skipped(case) else "cancelled"
        return short_of(concern, case)
    if concern is Concern.FAILED_RUNS and case.failed:
        return "failed"
    count = f"{len(case.retried_runs)} " if concern is Concern.RETRIED else ""
    return count + short_of(concern, case)


def _how_far(case: CaseResult) -> str:
    """Of a case without a figure."""
    if not case.failed_runs:
        return "no repeat has ended yet"
    return "no repeat was started" if _all_skipped(case) else "no repeat has succeeded yet"


def way_on(case: CaseResult, *, retriable: bool) -> str:
    """Of a case without a figure, "" of another; ``retriable``: what failed can be tried again
    here."""
    again = retriable and bool(case.failed_runs)
    if case.spread is not None:
        return ""
    if _all_skipped(case):
        return "3, and t there starts it" if again else ""
    return f"3 has its log{', and t there tries it again' * again}"


def _better(case: CaseResult, group: Group, *, here: bool, watched: Collection[str]) -> list[str]:
    """What would mend that which sets the grade, as far as that can be mended; ``here``: by keys of
    this console; ``watched``: hosts on page 1."""
    if case.grade in (None, Grade.A):
        return []
    sets = [found.concern for found in case.findings if found.ceiling is case.grade]
    several = mixed_models(case)
    if several:  # it scatters by where its repeats ran
        sets = [concern for concern in sets if concern not in _WIDE]
    keep = [_by_key(one_model(group))] if several or over_other_devices(case) else []
    scatters = any(found.concern is Concern.CV_RED for found in case.findings)
    sets += [Concern.CV_RED] * scatters  # they would be narrow but for that
    shown = ": page 1 shows it" * (case.measured_hosts <= {*watched})
    causes = [] if _SLOWED.isdisjoint(sets) else [*_causes(case, shown)]
    if Concern.SHARED_MACHINE in case.concerns:
        causes.insert(0, f"keep to one name of each machine{HOSTS_OPTION}")
    keep += map(_by_key, causes)
    if causes:  # so that nothing else is suspected
        sets = [concern for concern in sets if concern not in _UNQUIET]
    narrow = "narrow it slowly, since they scatter so far" if scatters else "would narrow it"
    if case.spread is not None and case.spread.student is None:
        narrow = "would tell how far they scatter"
    ways = {
        f"more repeats {narrow}" + ": + on page 3 adds one of each case" * here: _WIDE,
        f"something else may use the hosts{shown}; repeat when they are quiet": _UNQUIET,
    }
    return [*keep, *(words for words, of in ways.items() if not of.isdisjoint(sets))]


def _causes(case: CaseResult, shown: str) -> Iterator[str]:
    """What to do about each thing that is known to have slowed its repeats down; ``shown``: where
    the hosts are."""
    slowed = throttled(case.measured_runs, at_its_limit=False)
    if Concern.THROTTLED in case.concerns and slowed is not None:
        gpu = slowed.gpu
        yield (
            f"see to what throttled GPU{gpu.gpu} of {gpu.host} ({slowed.reason}), or repeat "
            f"without {gpu.host}{HOSTS_OPTION}"
        )
    for found in disturbed(case.measured_runs):
        yield _REMEDIES[found.trouble].format(host=found.host, gpu=found.gpu, shown=shown)


def _by_key(words: str) -> str:
    return words.replace(HOSTS_OPTION, ": o on page 2 chooses hosts")


def run_on_the_way(case: CaseResult) -> str:
    """The run that :func:`way_on` is about, by its id: the last that failed and is not being tried
    again, with a reason if one has one; else one that has begun; "" where the case has none."""
    failed = case.lost_runs or case.failed_runs
    failed = tuple(run for run in failed if run.reason) or failed
    begun = tuple(run for run in case.unended_runs if run.state != "planned")
    return next((run.run_id for run in (*failed[-1:], *begun, *case.unended_runs)), "")


def _all_skipped(case: CaseResult) -> bool:
    return bool(case.failed_runs) and case.skipped_runs == case.failed_runs


def case_text(
    case: CaseResult,
    group: Group,
    rule: AutoRepeats | None = None,
    *,
    retriable: bool = False,
    watched: Collection[str] = (),
) -> Text:
    """What is known of a case beside its figures in the table; ``rule``: repeats go on by it.
    ``retriable``: what failed can be tried again here; ``watched``: hosts on page 1."""
    text = Text(end="")
    text.append(f"{plain(case.as_case.label)}", "bold").append(f"  {plain(case.profile)}\n", MUTED)
    spread = case.spread
    one = devices_text([group]).removesuffix("s")
    if spread is None:
        text.append(f"{_how_far(case)}\n", MUTED)
        if reason := next((run.reason for run in reversed(case.failed_runs) if run.reason), ""):
            text.append(f"{plain(reason)}\n", f"bold {BAD}")
        if words := way_on(case, retriable=retriable):
            text.append("→ ", ACCENT).append(f"{words}\n")
        text.append("\n").append_text(_distrust(case, group, here=retriable))
    else:
        text.append_text(_in_a_line(case, group, spread))
        text.append_text(_distrust(case, group, here=retriable, watched=watched)).append("\n")
        rows = [
            *([("measured", bandwidth_words(group))] if is_collective(group) else []),
            ("mean", number(spread.mean)),
            *_range_row(spread),
            *_interval_rows(spread),
            *_window_rows(case),
            *_repeats_rows(case, rule),
            *_per_device_row(case, one),
            *_scaling_rows(case, group),
        ]
        if case.gpu_memory_mib is not None:
            rows.append(
                (
                    memory_name(stated=case.memory_is_stated, on_cpus=group.on_cpus),
                    f"{case.gpu_memory_mib:,} MiB",
                )
            )
        rows += usual_lines(case.measured_runs)
        rows += measurements(case.metrics, summed_up=case.summed_up)
        rows += other_readings(case.metrics, summed_up=case.summed_up)
        rows += _published_rows(case)
        text.append_text(named_rows(rows))
        said = configuration(case.metrics)
        text.append_text(named_rows(said, "\nthe workload, by its log"))
    text.rstrip()
    return text


def _in_a_line(case: CaseResult, group: Group, spread: Spread) -> Text:
    """What matters most, which no flag pushes out of sight."""
    told = [("median", f"{number(spread.median)} {plain(case.unit)}")]
    if group.scales and case.case != group.base:
        told += [("speedup", _speedup(case, group))]
    told += [("n", count_cell(case))]
    text = Text(" · ").join(
        Text.assemble((f"{name} ", MUTED), (value, "bold")) for name, value in told
    )
    return text.append("\n")


def _distrust(case: CaseResult, group: Group, *, here: bool, watched: Collection[str] = ()) -> Text:
    """The grade, what sets it or is odd otherwise, and what would mend that."""
    lines, text = named_lines(case, group), Text(end="")
    if case.grade is not None:
        text.append("grade ", MUTED).append(str(case.grade), f"bold {_GRADE_COLOURS[case.grade]}")
        why = "" if case.grade is Grade.A else f", by what is marked {case.grade} below"
        text.append(f"{why}: {_GOOD_FOR[case.grade]}\n")
    for found, line in lines:
        text.append("▲ ", WARN)
        if found.ceiling > Grade.A and case.grade is not None:
            text.append(f"{found.ceiling} ", f"bold {_GRADE_COLOURS[found.ceiling]}")
        text.append(plain(_by_key(line)))
        none = case.grade is not None and found.ceiling is Grade.A
        text.append(f"{' · costs no grade' * none}\n", MUTED)
    ways = _better(case, group, here=here, watched=watched) if case.spread is not None else ()
    for way_on in ways:
        text.append("→ ", ACCENT).append(f"{way_on}\n")
    if case.grade is Grade.A and not lines:
        text.append("✓ ", ACCENT).append("nothing to distrust\n")
    return text


def _window_rows(case: CaseResult) -> list[tuple[str, str]]:
    """Over what a run's figure was taken, and whether that was steady."""
    rules, window = rules_text(case.rules, case.unit), window_text(case.measured_runs)
    rows = [("rule", rules)] if rules else []
    if not window:
        return rows
    return [*rows, ("window", window), ("steady", steadiness_text(case.measured_runs))]


def _per_device_row(case: CaseResult, one: str) -> list[tuple[str, str]]:
    """None of a bandwidth, which no device has a share of."""
    share = case.throughput_per_device
    return [] if share is None else [(f"per {one}", number(share))]


def _range_row(spread: Spread) -> list[tuple[str, str]]:
    """Of one repeat there is none."""
    if spread.n < 2:
        return []
    ends = f"{number(spread.minimum)} to {number(spread.maximum)}"
    return [("range", f"{ends}, CV {scatter(spread.cv, beyond=CV_LIMITS)}")]


def _interval_rows(spread: Spread) -> list[tuple[str, str]]:
    """Of the median, and Student's of the mean, which fewer repeats have too: the chart has bars of
    the one where there is one, else of the other. No throughput is below 0: of one that reaches it
    no ends are told."""
    of_median = "– (needs 6 repeats)"
    if spread.interval is not None:
        of_median = f"{number(spread.interval.low)} to {number(spread.interval.high)}"
    if (half := spread.student) is None:
        return [("95% of median", of_median)]
    low, high = (number(spread.mean * (1 + sign * half)) for sign in (-1, 1))
    ends = f"{low} to {high}" if half < 1 else "wider than the mean itself"
    return [
        ("95% of median", of_median),
        ("95% of mean", f"{ends} (Student's, ±{half_text(half)})"),
    ]


def _repeats_rows(case: CaseResult, rule: AutoRepeats | None) -> list[tuple[str, str]]:
    """How narrow the interval is, how narrow it is to be, and what that may still take."""
    if rule is None or not (width := within(case.spread, asked=rule.target)):
        return []
    rows = [("within", f"{width}, asked ±{rule.target * 100:g}%")]
    expected = expected_repeats(rule, case.throughputs)
    if case.stopped:
        rows.append(("repeats", f"{case.repeats}; {EN.stopped.get(case.stopped, case.stopped)}"))
    elif expected is not None and expected > case.succeeded:
        rows.append(("repeats", f"{case.repeats} of about {min(expected, rule.max_repeats)}"))
    return rows


def _speedup(case: CaseResult, group: Group) -> str:
    """With as many decimals as its interval, which stands beside it or below."""
    return speedup_cell(case, group, beside=case.speedup_interval)


def _scaling_rows(case: CaseResult, group: Group) -> list[tuple[str, str]]:
    """The speedup and the efficiency with their intervals, and what they refer to."""
    if not group.scales:
        return []
    if case.case == group.base:
        none = f"{NOTHING}, as there is no other size to compare with"
        whose = "its own base: no other size" if len(group.cases) == 1 else "the base of the others"
        return [("speedup", none if group.alone else f"1, {whose}")]
    share, range_of_it = efficiency_cell(case, group), efficiency_interval_cell(case)
    return [
        ("base", group.base),
        ("speedup", f"{_speedup(case, group)}{_bracketed(speedup_interval_cell(case))}"),
        ("efficiency", f"{share}{_bracketed(range_of_it)}"),
        *([("lost to", lost)] if (lost := explained_text(case, group)) else []),
    ]


def _published_rows(case: CaseResult) -> list[tuple[str, str]]:
    """The published figures that it can be held against; else the nearest, and why it cannot."""
    held = held_figures(case)
    equal = [f"{held_line(one)} · {one.reference.source}" for one in held if one.comparable]
    return [("published", line) for line in equal or map(held_line, held[:1])]


def _bracketed(interval: str) -> str:
    return "" if interval == NOTHING else f" ({interval})"
