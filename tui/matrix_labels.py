"""Headings of the matrix: what the columns of a grid are."""

from __future__ import annotations

from profiles.format.case import GLOBAL_BATCH, in_order
from profiles.scalars import Scalar, scalar_text
from tui.matrix_marks import Marks


def value_label(name: str, value: Scalar) -> str:
    """A parameter value in a column heading: b128, fp32, xla=true."""
    if name == "batch_size":
        return f"b{value}"
    if name == "precision":
        return str(value)
    return f"{name}={scalar_text(value)}"


def column_labels(marks: Marks) -> tuple[str, ...]:
    """Headings; a parameter with only one value shown is left out unless nothing else is left.

    Of strong scaling, Σ512 is the global batch, in the place of the batch size.
    """
    varying = [name for name, values in marks.shown.items() if len(values) > 1]
    short = [n for n in ("batch_size", "precision") if n in marks.shown and n not in varying]
    named = [n for n in in_order(marks.shown) if n in varying or n in short]
    if not named:
        return ("default",) * len(marks.columns)
    return tuple(
        " ".join(
            value_label(name, column[name]) if name in column else f"Σ{column[GLOBAL_BATCH]}"
            for name in named
        )
        for column in marks.columns
    )


def column_kinds(marks: Marks) -> tuple[str, ...]:
    """The kind of scaling of every column; none where all of it is weak, as it always was."""
    if not marks.totals:
        return ()
    return tuple(
        "strong scaling" if GLOBAL_BATCH in column else "weak scaling" for column in marks.columns
    )
