"""What is read off a line of a log: by a pattern's groups, or by key paths of a JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Annotated

from pydantic import Field

from profiles.format.field_types import Model, Pattern
from profiles.format.regex.line_pattern import compile_pattern
from profiles.format.validators import MistakeAt, check_pattern
from profiles.scalars import Scalar

JSON_GROUP = "json"
Texts = Annotated[tuple[Scalar, ...], Field(min_length=1)]
Where = Mapping[str, Scalar | Texts]


class LineReading(Model):
    """A pattern, and what of its matches counts.

    Without ``paths`` the pattern's named groups are what is read. With them its only group is
    ``json``, where an object begins: ``paths`` says where in the object each value is (keys joined
    by dots), ``where`` which objects count: what a path must hold, or one of several; an empty text
    stands for a path that is not there. ``example`` is a line that the pattern is made for.
    """

    reading: Pattern
    example: str = ""
    paths: Mapping[str, str] = Field(default_factory=dict)
    where: Where = Field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """What is read: value, step, time …"""
        return frozenset(self.paths or compile_pattern(self.reading).groupindex)

    def check_fields(self, *, required: Set[str], known: Set[str]) -> None:
        """Raise ValueError unless ``required`` is read, and nothing that is not ``known``."""
        if not self.paths:
            if self.where:
                raise MistakeAt(("where",), "says which JSON objects count; add paths")
            check_pattern(self.reading, required=required, known=known)
            return
        check_pattern(self.reading, required={JSON_GROUP}, known={JSON_GROUP})
        for name in sorted(set(self.paths) - known):
            raise MistakeAt(("paths", name), f"unknown; known: {', '.join(sorted(known))}")
        for name in sorted(required - set(self.paths)):
            raise MistakeAt(("paths",), f"no path says where {name!r} is")
