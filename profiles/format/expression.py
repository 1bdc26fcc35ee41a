"""The small language of ``exclude`` and ``when``: comparisons and arithmetic over one case.

Grammar, loosest binding first::

    or    := and ("or" and)*
    and   := not ("and" not)*
    not   := "not" not | compare
    compare := sum (("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in") sum)*
    sum   := term (("+" | "-") term)*
    term  := factor (("*" | "/" | "//" | "%") factor)*
    factor := "-" factor | number | text | "true" | "false" | name | "(" or ")" | "[" or, … "]"

There are no calls, attributes or subscripts, so nothing but the case's own values can be reached.
Arithmetic takes numbers only and ends at :data:`LARGEST`, which keeps every result small. Names are
the profile's parameters and ``nodes``, ``gpus_per_node``, ``gpus``. Why this is not :mod:`ast`
with a list of what is allowed: docs/architecture.md.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from profiles.errors import ProfileError

Value = str | int | float | bool
Values = Mapping[str, Value]
_Operand = Value | tuple[Value, ...]
_Evaluate = Callable[[Values], _Operand]

LARGEST = 10**18
"""No number may be larger in magnitude; this is more than any count or size in a benchmark."""

_MAX_LENGTH = 500
_MAX_DEPTH = 40
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+(?:\.\d+)?)(?![\w.])
      | (?P<text>'[^']*'|"[^"]*")
      | (?P<name>[A-Za-z_]\w*)
      | (?P<symbol>==|!=|<=|>=|//|[<>+\-*/%()\[\],])
      | (?P<end>$)
    )""",
    re.VERBOSE | re.ASCII,
)
_KEYWORDS = frozenset({"and", "or", "not", "in", "true", "false", "True", "False"})
_COMPARISONS: dict[str, Callable[[_Operand, _Operand], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed condition. ``names`` are the variables it reads."""

    text: str
    names: frozenset[str]
    _evaluate: _Evaluate

    def holds(self, values: Values) -> bool:
        """Whether the condition is true for ``values``.

        Raises
        ------
        ProfileError: a name has no value, kinds do not fit (``'amp' < 3``), or a division by zero.
        """
        return bool(self._evaluate(values))

    def number(self, values: Values) -> int | float:
        """What the arithmetic comes to for ``values``; whole results of a division are int.

        Raises
        ------
        ProfileError: as :meth:`holds`, or the result is not a number.
        """
        result = self._evaluate(values)
        if isinstance(result, bool) or not isinstance(result, int | float):
            raise _mistake(self.text, 1, f"{result!r} is not a number")
        _check_size(self.text, result, "the result")
        return int(result) if result == int(result) else result


@functools.lru_cache(maxsize=256)
def parse_expression(text: str) -> Expression:
    """Parse ``text``; raises ProfileError that names the column (from 1) of the first mistake."""
    if len(text) > _MAX_LENGTH:
        raise ProfileError(
            f"condition of {len(text)} characters", remedy=f"use at most {_MAX_LENGTH}"
        )
    parser = _Parser(text)
    evaluate = parser.parse()
    return Expression(text=text, names=frozenset(parser.names), _evaluate=evaluate)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            column = position + len(text[position:]) - len(text[position:].lstrip()) + 1
            raise _mistake(text, column, f"cannot read {text[column - 1 : column + 9]!r}")
        kind = str(match.lastgroup)
        word = match.group(kind)
        column = match.start(kind) + 1
        if word in _KEYWORDS:
            kind = "symbol"
        tokens.append(_Token(kind, word, column))
        if kind == "end":
            return tokens
        position = match.end()


def _mistake(text: str, column: int, what: str) -> ProfileError:
    return ProfileError(
        f"{what} at column {column} of the condition {text!r}",
        remedy="conditions compare parameters, nodes, gpus_per_node and gpus "
        "with ==, <, in, and, or, not",
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.index = 0
        self.depth = 0
        self.names: set[str] = set()

    def parse(self) -> _Evaluate:
        evaluate = self._or()
        if self._now.kind != "end":
            self._fail(f"unexpected {self._now.text!r}")
        return evaluate

    @property
    def _now(self) -> _Token:
        return self.tokens[self.index]

    def _fail(self, what: str) -> NoReturn:
        raise _mistake(self.text, self._now.column, what)

    def _take(self, *symbols: str) -> str | None:
        token = self._now
        if token.kind == "symbol" and token.text in symbols:
            self.index += 1
            return token.text
        return None

    def _or(self) -> _Evaluate:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self._fail("nested too deeply")
        left = self._and()
        while self._take("or"):
            left = _either(left, self._and())
        self.depth -= 1
        return left

    def _and(self) -> _Evaluate:
        left = self._not()
        while self._take("and"):
            left = _both(left, self._not())
        return left

    def _not(self) -> _Evaluate:
        negations = 0
        while self._take("not"):
            negations += 1
        operand = self._compare()
        return _negated(operand) if negations % 2 else operand

    def _compare(self) -> _Evaluate:
        operands = [self._sum()]
        symbols: list[str] = []
        while symbol := self._take("==", "!=", "<", "<=", ">", ">=", "in", "not"):
            if symbol == "not":
                if not self._take("in"):
                    self._fail("expected 'in' after 'not'")
                symbol = "not in"
            symbols.append(symbol)
            operands.append(self._sum())
        return _compared(self.text, operands, symbols) if symbols else operands[0]

    def _sum(self) -> _Evaluate:
        left = self._term()
        while symbol := self._take("+", "-"):
            left = _calculated(self.text, symbol, left, self._term())
        return left

    def _term(self) -> _Evaluate:
        left = self._factor()
        while symbol := self._take("*", "/", "//", "%"):
            left = _calculated(self.text, symbol, left, self._factor())
        return left

    def _factor(self) -> _Evaluate:
        negative = False
        while self._take("-"):
            negative = not negative
        atom = self._atom()
        return _calculated(self.text, "-", _constant(0), atom) if negative else atom

    def _atom(self) -> _Evaluate:
        token = self._now
        if self._take("("):
            inner = self._or()
            if not self._take(")"):
                self._fail("expected ')'")
            return inner
        if self._take("["):
            return self._list()
        if word := self._take("true", "True", "false", "False"):
            return _constant(word.lower() == "true")
        if token.kind not in ("number", "text", "name"):
            self._fail(
                f"expected a value, not {token.text!r}" if token.text else "expected a value"
            )
        self.index += 1
        if token.kind == "number":
            return _constant(float(token.text) if "." in token.text else int(token.text))
        if token.kind == "text":
            return _constant(token.text[1:-1])
        self.names.add(token.text)
        return _variable(self.text, token)

    def _list(self) -> _Evaluate:
        items: list[_Evaluate] = []
        while not self._take("]"):
            if items and not self._take(","):
                self._fail("expected ',' or ']'")
            items.append(self._or())
        return lambda values: tuple(_single(self.text, item(values)) for item in items)


def _constant(value: Value) -> _Evaluate:
    return lambda _values: value


def _variable(text: str, token: _Token) -> _Evaluate:
    def evaluate(values: Values) -> _Operand:
        try:
            return values[token.text]
        except KeyError:
            raise _mistake(text, token.column, f"unknown name {token.text!r}") from None

    return evaluate


def _either(left: _Evaluate, right: _Evaluate) -> _Evaluate:
    return lambda values: bool(left(values)) or bool(right(values))


def _both(left: _Evaluate, right: _Evaluate) -> _Evaluate:
    return lambda values: bool(left(values)) and bool(right(values))


def _negated(operand: _Evaluate) -> _Evaluate:
    return lambda values: not operand(values)


def _single(text: str, value: _Operand) -> Value:
    if isinstance(value, tuple):
        raise _mistake(text, 1, "a list is only allowed after 'in'")
    return value


def _calculated(text: str, symbol: str, left: _Evaluate, right: _Evaluate) -> _Evaluate:
    def evaluate(values: Values) -> _Operand:
        a, b = left(values), right(values)
        if isinstance(a, str | tuple) or isinstance(b, str | tuple):
            raise _mistake(text, 1, f"{a!r} {symbol} {b!r} takes numbers only")
        for operand in (a, b):
            _check_size(text, operand, f"a number beside {symbol!r}")
        try:
            return _ARITHMETIC[symbol](a, b)
        except ZeroDivisionError:
            raise _mistake(text, 1, f"{a!r} {symbol} {b!r} divides by zero") from None

    return evaluate


def _check_size(text: str, number: float, what: str) -> None:
    if not abs(number) <= LARGEST:  # so written, it refuses NaN too
        raise _mistake(text, 1, f"{what} is not within ±10^18")


def _compared(text: str, operands: list[_Evaluate], symbols: list[str]) -> _Evaluate:
    def evaluate(values: Values) -> _Operand:
        left = operands[0](values)
        for symbol, operand in zip(symbols, operands[1:], strict=True):
            right = operand(values)
            if not _holds(text, left, symbol, right):
                return False
            left = right
        return True

    return evaluate


def _holds(text: str, left: _Operand, symbol: str, right: _Operand) -> bool:
    if symbol in ("in", "not in"):
        if not isinstance(right, tuple):
            raise _mistake(text, 1, "'in' takes a list such as ['fp32', 'amp']")
        return (left in right) == (symbol == "in")
    if isinstance(left, tuple) or isinstance(right, tuple):
        raise _mistake(text, 1, "a list is only allowed after 'in'")
    ordered = symbol not in ("==", "!=")
    if ordered and isinstance(left, str) != isinstance(right, str):
        raise _mistake(text, 1, f"cannot order {left!r} and {right!r}")
    return _COMPARISONS[symbol](left, right)
