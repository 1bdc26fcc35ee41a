"""Conditions of ``exclude`` and ``when``: what they mean, and that nothing else can be said."""

from __future__ import annotations

import ast
import contextlib
import keyword
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from profiles.errors import ProfileError
from profiles.format.expression import LARGEST, Expression, parse_expression

VALUES: dict[str, Any] = {
    "precision": "amp",
    "batch_size": 96,
    "nodes": 2,
    "gpus_per_node": 8,
    "gpus": 16,
    "xla": True,
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("precision == 'amp' and batch_size < 128", True),
        ("precision == 'fp32' or nodes > 1", True),
        ("not xla", False),
        ("not not xla", True),
        ("precision in ['amp', 'fp16']", True),
        ("precision not in ['amp']", False),
        ("batch_size * gpus > 1500", True),
        ("batch_size % 32 == 0", True),
        ("gpus // 3 == 5 and gpus / 4 == 4.0", True),
        ("1 < nodes <= 2", True),
        ("1 < nodes < 2", False),
        ("-nodes == 0 - 2", True),
        ("nodes == 1 or nodes == 2 and gpus == 8", False),
        ("(nodes == 1 or nodes == 2) and gpus == 16", True),
        ('precision == "amp"', True),
        ("precision != 3", True),
        ("xla == true", True),
        ("nodes == 5 and missing == 1", False),  # not evaluated, as in Python
    ],
)
def test_conditions_mean_what_python_means(text: str, holds: bool) -> None:
    assert parse_expression(text).holds(VALUES) is holds


def test_names_are_known_before_anything_runs() -> None:
    assert parse_expression("precision == 'amp' and gpus > 8").names == {"precision", "gpus"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch_size <", "expected a value at column 13"),
        ("batch_size = 3", "cannot read '= 3' at column 12"),
        ("(nodes == 1", r"expected '\)' at column 12"),
        ("nodes == 1 )", r"unexpected '\)' at column 12"),
        ("nodes not 1", "expected 'in' after 'not'"),
        ("", "expected a value at column 1"),
        ("precision in ['a' 'b']", "expected ',' or ']' at column 19"),
        ("'unclosed", "cannot read"),
        ("1.2.3 == 1", "cannot read"),
        ("3nodes", "cannot read"),
    ],
)
def test_mistakes_are_told_with_their_column(text: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        parse_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "nodes.__class__",
        "precision[0] == 'a'",
        "nodes ** 99999",
        "lambda: 1",
        "[n for n in nodes]",
        "nodes if gpus else 1",
        "{'a': 1}",
        "f'{nodes}'",
        "nodes := 3",
        "nodes & 1",
    ],
)
def test_python_beyond_the_language_is_refused(text: str) -> None:
    with pytest.raises(ProfileError):
        parse_expression(text).holds(VALUES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes / 0 == 1", "divides by zero"),
        ("precision < 3", "cannot order"),
        ("precision * 3 == 'ampampamp'", "takes numbers only"),
        ("nodes in 3", "'in' takes a list"),
        ("[1] == [1]", "a list is only allowed after 'in'"),
        ("unknown == 1", "unknown name 'unknown'"),
    ],
)
def test_kinds_that_do_not_fit_are_told(text: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        parse_expression(text).holds(VALUES)


def test_depth_and_length_have_a_bound() -> None:
    with pytest.raises(ProfileError, match="nested too deeply"):
        parse_expression("(" * 100 + "1" + ")" * 100)
    with pytest.raises(ProfileError, match="use at most"):
        parse_expression("1 == 1 and " * 1000 + "1 == 1")


@given(st.text(max_size=60))
def test_any_text_parses_or_raises_a_profile_error(text: str) -> None:
    try:
        parsed = parse_expression(text)
    except ProfileError:
        return
    assert isinstance(parsed, Expression)


_SAYABLE = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn),
    *(ast.Constant, ast.Name, ast.Load, ast.List),
)
"""What Python's own parser may find in a text that is a condition."""

_WORDS = st.sampled_from(
    [
        *("nodes", "gpus", "precision", "true", "1", "2.5", "99", "'amp'", '"b"', "_", "__class__"),
        *"()[],.:=<>+-*/%&|^~@{};#",
        *("==", "!=", "<=", ">=", "//", "**", ":=", "<<", "->", "...", ".real", "exec(", "open("),
        *("and", "or", "not", "in", "is", "if", "else", "for", "lambda", "await", "yield"),
        *("f''", "b''", "1j", "1e9", "0x1", "1_0"),
    ]
)
_SOUPS = st.lists(_WORDS, max_size=12).map(" ".join)


@given(_SOUPS)
@example("nodes in [1, 2] and not precision == 'amp'")
def test_what_parses_is_nothing_but_the_language_to_python_itself(text: str) -> None:
    try:
        expression = parse_expression(text)
    except ProfileError:
        return
    assume(not any(map(keyword.iskeyword, expression.names)))  # to us "lambda" is a name
    found = {type(node) for node in ast.walk(ast.parse(text, mode="eval"))}
    assert found <= set(_SAYABLE)


_ANY_VALUE = (
    st.integers()
    | st.integers(min_value=10**300, max_value=10**400)
    | st.floats()
    | st.booleans()
    | st.text(max_size=5)
)


@given(
    st.one_of(
        _SOUPS,
        st.builds(
            "{} {} {}".format,
            st.sampled_from(["nodes", "gpus", "0", "9" * 200, "1" * 320 + ".0"]),
            st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "==", "in"]),
            st.sampled_from(["nodes", "gpus", "0", "9" * 250, "1.5"]),
        ),
    ),
    st.fixed_dictionaries({"nodes": _ANY_VALUE, "gpus": _ANY_VALUE, "precision": _ANY_VALUE}),
)
@example(f"{'9' * 400} / 3 == 1", {})
@example(f"{'1' * 400}.0", {})
@example("nodes * nodes", {"nodes": float("inf")})
@example("nodes", {"nodes": float("nan")})
def test_whatever_the_values_are_there_is_an_answer_or_a_profile_error(
    text: str, values: dict[str, Any]
) -> None:
    try:
        expression = parse_expression(text)
    except ProfileError:
        return
    with contextlib.suppress(ProfileError):
        assert isinstance(expression.holds(values), bool)
    with contextlib.suppress(ProfileError):
        assert abs(expression.number(values)) <= LARGEST


@given(
    st.sampled_from(["(", "[", "-", "not ", "1 + ", "1 == ", "1 or ", "[1, "]), st.integers(0, 500)
)
def test_no_nesting_exhausts_the_stack(opening: str, depth: int) -> None:
    with contextlib.suppress(ProfileError):
        parse_expression(opening * depth + "1").holds({})


_NUMBERS = st.integers(-5, 100).map(lambda number: f"({number})" if number < 0 else str(number))
_NAMES = st.sampled_from(["nodes", "gpus", "batch_size"])
_SUMS = st.recursive(
    _NUMBERS | _NAMES,
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=6,
)
_COMPARISONS = st.tuples(_SUMS, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), _SUMS).map(
    " ".join
)
_CONDITIONS = st.recursive(
    _COMPARISONS,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join)
        | inner.map(lambda text: f"not ({text})")
    ),
    max_leaves=5,
)


@given(_CONDITIONS)
def test_the_language_agrees_with_python_where_both_can_speak(text: str) -> None:
    if len(text) > 500:
        return
    assert parse_expression(text).holds(VALUES) is bool(eval(text, {}, dict(VALUES)))  # noqa: S307, RUF100
