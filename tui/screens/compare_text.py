"""A comparison in words: its rows, and what is said above and below them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rich.cells import cell_len
from rich.text import Text

from backends.results.case_result import CaseResult
from backends.results.compared_labels import compared_label, compared_labels, whole_label
from backends.results.comparison import ComparedCase, Verdict, verdict_words
from backends.results.comparison_report import (
    ONLY_IN,
    interval_cell,
    logs_words,
    ratio_cell,
    reason,
    what_differs,
)
from backends.results.layouts.cells import count_cell
from backends.results.paired_cases import NoCommonCaseError
from backends.results.verdict_doubts import why_doubted
from profiles.counted import counted
from profiles.errors import DlperfError
from profiles.format.case import Case
from profiles.format.case_labels import CaseLabels
from tui.row_order import RowOrder
from tui.side_by_side import SideBySide
from tui.text import both_ends, cell, join, number, plain, problem_line
from tui.theme import BAD, GOOD, MUTED, TEXT, WARN
from tui.widgets.chart import series_colour
from tui.widgets.keyed_table import Column, Row

COLUMNS = (
    Column("case", "Case", 14, most=48, ends=True, first=True, enough=32),
    Column("with", "#", 2, right=True),
    Column("baseline", "Baseline", 9, right=True, most=16, first=True, gives_way=2),
    Column("candidate", "Candidate", 9, right=True, most=16, first=True, gives_way=3),
    Column("n", "n", 3, right=True, most=13, first=True, gives_way=1),
    Column("ratio", "Ratio", 5, right=True),
    Column("interval", "95% interval", 13, right=True, most=22, first=True),
    Column("verdict", "Verdict", None, words=True),
)

VERDICTS = {
    Verdict.REGRESSION: ("✗", BAD),
    Verdict.IMPROVEMENT: ("✓", GOOD),
    Verdict.SAME: ("=", TEXT),
    Verdict.INCONCLUSIVE: ("?", WARN),
    Verdict.INSUFFICIENT: ("–", MUTED),
    Verdict.DIFFERENT_MODEL: ("≠", WARN),
}

Pair = tuple[int, ComparedCase]
"""The place of the candidate, and the case."""


def _gravity(pair: Pair) -> tuple[bool, int]:
    """Those that are certain first, what has become slower before all else."""
    _, case = pair
    return bool(why_doubted(case.doubts)), [*Verdict].index(case.verdict)


BY_PAIR: RowOrder[Pair] = RowOrder(
    {"case": None, "ratio": lambda pair: pair[1].ratio, "verdict": _gravity}, by="case"
)
"""Those of one case together, until another is asked for."""

COUNTED = (Verdict.REGRESSION, Verdict.IMPROVEMENT)
LEAST_NAME = 16


def columns_of(found: SideBySide, *, wide: bool = False) -> tuple[Column, ...]:
    """Which campaign a row is of is said where it could be another; a verdict has room."""
    verdicts = (_row_verdict(case, place, found, wide=wide) for place, case in found.cases())
    least = max((verdict.cell_len for verdict in verdicts), default=0)
    columns = (*COLUMNS[:-1], replace(COLUMNS[-1], least=max(COLUMNS[-1].least, least)))
    return tuple(one for one in columns if one.key != "with" or held_by_number(found))


def held_by_number(found: SideBySide) -> bool:
    return len(found.others) > 1


def row_key(place: int, case: ComparedCase) -> str:
    label = Case(case.profile, 1, 1, dict(case.parameters)).key
    return f"{place} {case.case} {label} {case.differs}"


def labels_of(found: SideBySide) -> CaseLabels:
    return compared_labels(case for _, case in found.cases())


def below_rows(
    found: SideBySide, labels: CaseLabels, selected: tuple[int, ComparedCase] | None = None
) -> Text:
    """What the selected verdict rests on, what is so of all rows, and what is in none of them."""
    said = [(_reason_of(*selected, found, labels) if selected else "", "")]
    profiles = {case.profile for _, case in found.cases()}
    shared = [*profiles] if len(profiles) == 1 else []
    shared += [f"all {labels.shared}"] if labels.shared else []
    said += [(plain(", ".join(shared)), MUTED), (_across_by_itself(found), WARN)]
    said += [(_differing(found), WARN)]
    if found.cases():
        said += [(not_compared(found), WARN)]
    return Text("\n").join(Text(words, colour) for words, colour in said if words)


def _across_by_itself(found: SideBySide) -> str:
    if not found.by_itself:
        return ""
    held = [other for other in found.others if other.comparison is not None]
    with_whom: dict[tuple[str, ...], list[str]] = {}
    for other in held:
        with_whom.setdefault(found.across_with(other.place), []).append(str(other.place + 1))
    told = [
        f"with {' and '.join(whom)} " * (len(whom) < len(held))
        + f"across {plain(', '.join(names))}"
        for names, whom in with_whom.items()
        if names
    ]
    return f"▲ {', '.join(told)}: nothing else is common; a changes it"


def _differing(found: SideBySide) -> str:
    """What the panel of the campaigns tells in full."""
    told = (what_differs(other.comparison) for other in found.others if other.comparison)
    names = dict.fromkeys(name for names in told for name in names)
    return f"▲ other {', '.join(names)}: see the panel Campaigns" if names else ""


def compared_rows(
    found: SideBySide,
    labels: CaseLabels,
    order: RowOrder[Pair] = BY_PAIR,
    *,
    wide: bool = False,
) -> list[Row]:
    """``wide``: there is room for which way a verdict in doubt points, and why it is not."""
    pairs = found.cases()
    several = len({case.profile for _, case in pairs}) > 1
    return [
        _row(place, case, found, labels, several=several, wide=wide)
        for place, case in order.of(pairs)
    ]


def _row(
    place: int,
    case: ComparedCase,
    found: SideBySide,
    labels: CaseLabels,
    *,
    several: bool,
    wide: bool,
) -> Row:
    label = cell(compared_label(case, labels), "bold")
    if several:
        label = join([label, (f" {plain(case.profile)}", MUTED)])
    which = [cell(place + 1, series_colour(place), right=True)] if held_by_number(found) else []
    verdict = _row_verdict(case, place, found, wide=wide)
    why = why_doubted(case.doubts) if wide else ""
    interval = interval_cell(case).replace(" … ", "…")
    return Row(
        row_key(place, case),
        (
            label,
            *which,
            _median_cell(case.baseline),
            _median_cell(case.candidate),
            cell(_counts(case), right=True),
            cell(ratio_cell(case), "bold" if case.ratio else MUTED, right=True),
            cell(interval, right=True),
            join([verdict, (f"  {why}", MUTED)]) if why else verdict,
        ),
        find=f"{case.profile} {whole_label(case)}",
    )


def _median_cell(case: CaseResult | None) -> Text:
    median = case.spread.median if case and case.spread else None
    return cell(number(median), MUTED if median is None else "", right=True)


def _counts(case: ComparedCase) -> str:
    """Repeats of the baseline, then of the candidate: ``3, 7``."""
    sides = (case.baseline, case.candidate)
    return ", ".join("–" if side is None else count_cell(side) for side in sides)


def verdict_text(case: ComparedCase, place: int, found: SideBySide, *, brief: bool = False) -> Text:
    """Of a case on one side only which that is."""
    symbol, colour = _sign(case)
    word = verdict_words(case.verdict, case.doubts, brief=brief)
    if case.ground in ONLY_IN:
        word = _only_in(case, place, found)
    return cell(f"{symbol} {word}", colour)


def _row_verdict(case: ComparedCase, place: int, found: SideBySide, *, wide: bool) -> Text:
    """``? faster, in doubt`` where there is room for that, else ``? faster``."""
    text = verdict_text(case, place, found, brief=True)
    if why_doubted(case.doubts) and case.ground not in ONLY_IN:
        symbol, colour = _sign(case)
        words = case.words.partition(": ")[0]
        text = cell(f"{symbol} {words if wide else words.removesuffix(', in doubt')}", colour)
    return _marked(text, case)


def _marked(verdict: Text, case: ComparedCase) -> Text:
    """One that rests on a log which does not give its figure."""
    return join([verdict, (" ▲", WARN)]) if logs_words(case) else verdict


def _sign(case: ComparedCase) -> tuple[str, str]:
    return VERDICTS[Verdict.INCONCLUSIVE if why_doubted(case.doubts) else case.verdict]


def _only_in(case: ComparedCase, place: int, found: SideBySide) -> str:
    return f"only in {(place if case.baseline is None else found.baseline) + 1}"


def row_reason(case: ComparedCase, found: SideBySide) -> str:
    why = "" if case.ground in ONLY_IN else reason(case, found.threshold)
    return plain("; ".join(filter(None, [why, logs_words(case)])))


def _reason_of(place: int, case: ComparedCase, found: SideBySide, labels: CaseLabels) -> str:
    """Of which row it is, where there are several."""
    words = _whole_reason(place, case, found)
    whose = f"{plain(compared_label(case, labels))}: " if len(found.cases()) > 1 else ""
    return f"{whose}{words}" if words else ""


def _whole_reason(place: int, case: ComparedCase, found: SideBySide) -> str:
    """With the verdict where its row has no word of that, or not why it is none."""
    if case.ground in ONLY_IN:
        alone = _only_in(case, place, found)
        return "; ".join(filter(None, [alone, row_reason(case, found)]))
    reason_words = row_reason(case, found)
    return f"{case.words}: {reason_words}" if case.doubts else reason_words


def unfinished_words(found: SideBySide) -> str:
    """ "2 unfinished: 7 of 9 runs ended"; empty where all of them are at their end."""
    told: dict[int, tuple[int, int]] = {}
    for other in found.others:
        counts = other.comparison.unfinished if other.comparison is not None else (None, None)
        sides = zip((found.baseline, other.place), counts, strict=True)
        told |= {place: ended for place, ended in sides if ended is not None}
    return ", ".join(
        f"{place + 1} unfinished: {ended} of {counted(runs, 'run')} ended"
        for place, (ended, runs) in sorted(told.items())
    )


def title_words(found: SideBySide, room: int, order: RowOrder[Pair] = BY_PAIR) -> str:
    """What all are held against, what may differ between the cases of a pair, how many cases have
    which verdict, the threshold, and the rows' order, where that is not theirs. Where there is no
    ``room`` for all of it verdicts are told by their symbols, then not at all: all else stays."""
    across, many = "", ""
    if found.across:
        across = f" · across {', '.join(found.across)}"
        many = f" · across {counted(len(found.across), 'parameter')}"
    words, signs = _tally(found)
    before, after = f"Against {found.baseline + 1} ", f" · threshold {found.threshold * 100:g}%"
    after += order.behind_title
    forms = [f"{across}{words}", f"{across}{signs}", f"{many}{signs}", across, many]
    left = [room - cell_len(f"{before}{form}{after}") for form in forms]
    chosen = next((n for n, columns in enumerate(left) if columns >= LEAST_NAME), len(forms) - 1)
    name = both_ends(plain(found.sides[found.baseline].name), max(LEAST_NAME, left[chosen]))
    return f"{before}{name}{forms[chosen]}{after}"


def _tally(found: SideBySide) -> tuple[str, str]:
    """In words, and by symbols."""
    cases = [case for _, case in found.cases()]
    both_sides = [case for case in cases if case.ground not in ONLY_IN]
    both_sides.sort(key=lambda case: [*Verdict].index(case.verdict))
    told = Counter(verdict_words(case.verdict, case.doubts, brief=True) for case in both_sides)
    words = [counted(n, word) if word in COUNTED else f"{n} {word}" for word, n in told.items()]
    symbols = Counter(_sign(case)[0] for case in both_sides)
    signs = " ".join(f"{n} {symbol}" for symbol, n in symbols.items())
    alone = len(cases) - len(both_sides)
    one_side = [f"{alone} on one side"] if alone else []
    both = ([*words, *one_side], [*filter(None, [signs]), *one_side])
    in_words, by_signs = ("".join(f" · {part}" for part in parts) for parts in both)
    return in_words, by_signs


def not_compared(found: SideBySide) -> str:
    """Which of several are in no row, and why."""
    return " · ".join(
        f"{other.place + 1} {plain(found.sides[other.place].name)} not compared: "
        f"{plain(other.problem.what)}"
        for other in found.others
        if other.problem is not None
    )


def none_compared(found: SideBySide) -> str:
    """In the place of the rows, where there are none: why, of each campaign."""
    refused = [(found.sides[o.place].name, _by_key(o.problem)) for o in found.others if o.problem]
    several = len(refused) > 1
    lines = [f"{plain(name)}: " * several + problem_line(problem) for name, problem in refused]
    return "\n".join(lines)


def _by_key(problem: DlperfError) -> DlperfError:
    """With the key that mends it, and not the command line's option."""
    if not isinstance(problem, NoCommonCaseError) or not problem.across:
        return problem
    keyed = f"a compares them across {', '.join(problem.across)}"
    return NoCommonCaseError(problem.what, keyed, problem.across)
