"""Every constant that a statistical rule rests on, found in the source, and what else it could be.

A threshold, a confidence, a fewest number of repeats, a grade: whatever is changed in one of them
must fail a test. :mod:`tests.statistics.mutations` changes them, one at a time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parents[2]

_UNIT = "tests/unit/"
RULES: Mapping[str, tuple[str, ...]] = {
    "backends/hosts/host_condition.py": (
        _UNIT + "hosts/test_host_condition.py",
        _UNIT + "hosts/test_preflight.py",
        _UNIT + "hosts/test_probe.py",
    ),
    "backends/hosts/preflight.py": (_UNIT + "hosts/test_preflight.py",),
    "backends/hosts/probe.py": (_UNIT + "hosts/test_probe.py",),
    "backends/hosts/telemetry.py": (_UNIT + "hosts/test_telemetry.py",),
    "backends/hosts/telemetry_summary.py": (_UNIT + "hosts/test_telemetry.py",),
    "backends/results/auto_repeats.py": (_UNIT + "results/test_auto_repeats.py",),
    "backends/results/change_points.py": (_UNIT + "results/test_history.py",),
    "backends/results/comparison.py": (_UNIT + "results/test_result_compare.py",),
    "backends/results/repeats_needed.py": (_UNIT + "results/test_result_compare.py",),
    "backends/results/scaling_loss.py": (_UNIT + "results/test_scaling_loss.py",),
    "backends/results/scaling_loss_words.py": (_UNIT + "results/test_scaling_loss.py",),
    "backends/results/grade.py": (
        _UNIT + "results/test_grade.py",
        _UNIT + "results/test_telemetry_figures.py",
    ),
    "backends/results/telemetry_figures.py": (
        _UNIT + "results/test_telemetry_figures.py",
        _UNIT + "results/test_llm.py",
    ),
    "backends/results/history.py": (_UNIT + "results/test_history.py",),
    "backends/results/mlperf_score.py": (_UNIT + "results/test_mlperf.py",),
    "backends/results/projection.py": (_UNIT + "results/test_projection.py",),
    "backends/results/ratios.py": (_UNIT + "results/test_ratios.py",),
    "backends/results/statistics.py": (
        _UNIT + "results/test_result_statistics.py",
        _UNIT + "results/test_grade.py",
    ),
    "backends/results/student.py": (_UNIT + "results/test_ratios.py",),
    "profiles/format/measure_section.py": (
        _UNIT + "profiles/test_throughput.py",
        _UNIT + "profiles/test_line_readings.py",
    ),
    "profiles/throughput/derived.py": (_UNIT + "profiles/test_line_readings.py",),
    "profiles/throughput/doubts.py": (_UNIT + "profiles/test_doubts.py",),
    "profiles/throughput/measure_run.py": (
        _UNIT + "profiles/test_throughput.py",
        _UNIT + "profiles/test_line_readings.py",
    ),
    "profiles/throughput/rank_times.py": (_UNIT + "profiles/test_rank_times.py",),
    "profiles/throughput/slow_ranks.py": (_UNIT + "profiles/test_slow_ranks.py",),
    "profiles/throughput/steady.py": (_UNIT + "profiles/test_steady.py",),
    "profiles/throughput/tally.py": (_UNIT + "profiles/test_tally.py",),
    "profiles/throughput/window.py": (_UNIT + "profiles/test_throughput.py",),
}
"""The modules of the rules, and the tests that are responsible for each."""

ROOMS = ("backends/results", "profiles/throughput")
NO_RULES: Mapping[str, str] = {
    "backends/results/mlperf_scaling.py": "what is read at all",
    "backends/results/entered_figures.py": "what is read at all, and names",
    "backends/results/compared_environments.py": "how many cases are named one by one",
    "backends/results/recipes.py": "how many variables are named one by one",
    "backends/results/compared_models.py": "which models are told apart, which its own tests hold",
    "backends/results/findings.py": "in which order findings are told",
    "backends/results/history_report.py": "when a sentence is added",
    "backends/results/told_of.py": "how many cases are named one by one",
    "backends/results/sparkline.py": "how a series is drawn",
    "backends/results/numbers.py": "how figures are written, which its own tests hold",
    "backends/results/own_output.py": "how much of a file is looked at, to tell whose it is",
    "backends/results/provenance.py": "characters of the names of hosts that are written",
    "backends/results/result_files.py": "when what a crash has left is removed",
    "backends/results/svg_figures.py": "how figures are drawn",
    "profiles/throughput/as_stated.py": "how many hosts so many GPUs are, where nobody says",
    "profiles/throughput/measure_log_file.py": "bytes that are read at a time",
    "profiles/throughput/window_speeds.py": "readings that are kept one by one",
}
"""Modules in the rooms of the rules whose named numbers are no rule, and what these are."""

EXEMPT: Mapping[str, str] = {
    "preflight.CHECK_TIMEOUT_S": "how long a host is given to answer",
    "preflight.check_needs 200": "characters of an answer that are shown",
    "preflight.preflight 8": "bytes of a random token",
    "probe.PROBE_TIMEOUT_S": "how long a host is given to answer",
    "probe.WITHOUT_GPUS_TIMEOUT_S": "how long a host is given to answer",
    "probe.SOFTWARE_TIMEOUT_S": "how long a host is given to answer",
    "probe._machine": "digits of a digest",
    "probe._MAX_CELL": "characters of a fact that are kept",
    "host_condition._users_of_gpus 60": "characters of a command that are shown",
    "auto_repeats.AutoRepeats.__str__ 100": "a fraction is shown as percents",
    "change_points._PENALTY": "what is proposed, and tested before it counts",
    "change_points._proposed 1.4826": "what is proposed, and tested before it counts",
    "change_points._ROUNDING": "a guard against rounding",
    "comparison._ROUNDING": "a guard against rounding",
    "measure_section.FailurePattern.reason": "no text may be empty",
    "measure_section.Ways": "none may be empty",
    "projection._HOPELESS": "what a float holds",
    "projection._SAME": "a guard against rounding",
    "ratios._NEGLIGIBLE": "a guard against rounding",
    "ratios.median_ratio_interval 1e-12": "to the last digits of a float",
    "steady.Disturbance.count": "a value's default, and no threshold",
    "steady._BLOCKS": "readings that are looked at together",
    "steady._DECAYS": "a grid to search on, close enough that a neighbour does as well",
    "steady._level 1e-12": "a guard against rounding",
    "steady._level 1e-24": "a guard against rounding",
    "steady.disturbances 1e-6": "what no speed can be",
    "steady.disturbances 1e6": "what no speed can be",
    "student._DIGITS": "to the last digits of a float",
    "student._fraction": "to the last digits of a float",
    "student.quantile 1e-10": "to the last digits of a float",
    "telemetry._ACTIVE": "what drivers call the same",
    "telemetry._BLOCK": "bytes that are read at a time",
    "telemetry.MOST_BYTES": "bytes that are read at all",
    "telemetry.WHOLE_BYTES": "bytes beyond which several samples are kept as one",
}
"""What is no rule, and why: an owner, or an owner and its text."""


@dataclass(frozen=True)
class Constant:
    """A number, a grade or a word, at bytes ``start`` to ``end`` of its module's ``source``.

    ``owner``: the name that it is bound to, or the function that it stands in. ``others``: what
    each would be a change that a reviewer had to talk about.
    """

    path: str
    owner: str
    text: str
    line: int
    start: int
    end: int
    others: tuple[str, ...]
    source: bytes = field(repr=False)

    def changed(self, other: str) -> bytes:
        """The source with ``other`` in its place."""
        return self.source[: self.start] + other.encode() + self.source[self.end :]

    @property
    def keys(self) -> tuple[str, str]:
        """Its names in :data:`EXEMPT`."""
        owner = f"{Path(self.path).stem}.{self.owner}"
        return owner, f"{owner} {self.text}"

    @property
    def reason(self) -> str:
        """Why it is no rule; empty where it is one."""
        return next((EXEMPT[key] for key in self.keys if key in EXEMPT), "")

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.owner}: {self.text}"


def constants(path: str, source: bytes | None = None) -> list[Constant]:
    """All of a module, in the order of its text; ``path`` is relative to the repository."""
    source = (ROOT / path).read_bytes() if source is None else source
    lengths = [0, *map(len, source.splitlines(keepends=True))]
    lines = list(accumulate(lengths))
    found = []
    for owner, part, kind in _parts(ast.parse(source).body):
        for node, others in _KINDS[kind](part):
            start = lines[node.lineno - 1] + node.col_offset
            end = lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            text = source[start:end].decode()
            name = ".".join(owner)
            found.append(Constant(path, name, text, node.lineno, start, end, others, source))
    return sorted(found, key=lambda constant: constant.start)


class _Kind(Enum):
    NAMED = "named"  # of the module
    DEFAULT = "default"  # of a function or a class
    BODY = "body"  # of a function; decorators keep caches small


_Parts = Iterator[tuple[tuple[str, ...], ast.AST, _Kind]]
_Found = Iterator[tuple[ast.expr, tuple[str, ...]]]


def _parts(body: Sequence[ast.stmt], owner: tuple[str, ...] = ()) -> _Parts:
    for node in body:
        match node:
            case ast.ClassDef():
                yield from _parts(node.body, (*owner, node.name))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inside = (*owner, node.name)
                for default in (*node.args.defaults, *node.args.kw_defaults):
                    if default is not None:
                        yield inside, default, _Kind.DEFAULT
                for child in node.body:
                    yield inside, child, _Kind.BODY
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                yield (*owner, name), value, _Kind.DEFAULT if owner else _Kind.NAMED


def _of_a_name(part: ast.AST) -> _Found:
    """Numbers; grades beside what they are given for; a collection's words: each may be missing."""
    collection = part.args[0] if isinstance(part, ast.Call) and part.args else part
    if isinstance(collection, ast.Set | ast.Tuple) and len(collection.elts) > 1:
        for before, word in zip(
            [collection.elts[-1], *collection.elts], collection.elts, strict=False
        ):
            if isinstance(word, ast.Attribute) or _is_text(word):
                yield word, (ast.unparse(before),)
    for node in ast.walk(part):
        match node:
            case ast.Constant() if (number := _number(node)) is not None:
                yield node, _other_numbers(number)
            case ast.Dict(values=values):
                for value in values:
                    if (others := _OTHER_GRADES.get(ast.unparse(value))) is not None:
                        yield value, others


def _of_a_default(part: ast.AST) -> _Found:
    """Numbers but 0, which says that nothing is known."""
    for node in ast.walk(part):
        if isinstance(node, ast.Constant) and _number(node):
            yield node, _other_numbers(_number(node) or 0)


def _of_a_body(part: ast.AST) -> _Found:
    """Numbers; 0, 1 and 2 are arithmetic, but where something must be more or less than two."""
    for node in ast.walk(part):
        match node:
            case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE(), *_]):
                for side in (node.left, *node.comparators):
                    if _number(side) == 2:
                        yield side, _other_numbers(2)
            case ast.Constant() if _number(node) not in (None, 0, 1, 2):
                yield node, _other_numbers(_number(node) or 0)


_KINDS: Mapping[_Kind, Callable[[ast.AST], _Found]] = {
    _Kind.NAMED: _of_a_name,
    _Kind.DEFAULT: _of_a_default,
    _Kind.BODY: _of_a_body,
}
_OTHER_GRADES = {
    "Grade.A": ("Grade.B",),
    "Grade.B": ("Grade.A", "Grade.C"),
    "Grade.C": ("Grade.B", "Grade.D"),
    "Grade.D": ("Grade.C",),
}


def _number(node: ast.AST) -> float | None:
    """None for what is none, True among it."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _other_numbers(value: float) -> tuple[str, ...]:
    """One more and one less, or a fifth less and a quarter more; of what is near 1, as a confidence
    is, that of its distance to 1; of a guard against rounding some powers of ten."""
    others: tuple[float, ...]
    if isinstance(value, int):
        others = (value - 1, value + 1) if value <= 20 else (value * 4 // 5, value * 5 // 4)
    elif value == 0:
        others = (0.1,)
    elif value < 1e-5:
        others = (value / 1000, value * 1000)
    elif 0.5 < value < 2 and value != 1:
        others = (1 - 0.8 * (1 - value), 1 - 1.25 * (1 - value))
    else:
        others = (0.8 * value, 1.25 * value)
    return tuple(f"{other:.12g}" if other % 1 else repr(other) for other in others)
