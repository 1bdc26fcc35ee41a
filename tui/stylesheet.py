"""Styles that are parsed once: a page that is opened first costs its own rules only."""

from __future__ import annotations

from collections.abc import Mapping

from textual.css.stylesheet import Stylesheet


class KeptStylesheet(Stylesheet):
    """Textual's own parses every rule there is anew at each first page, and forgets what it has.

    ``variables``: colours and the like by name; what is parsed holds until they change.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__(variables=dict(variables))
        self._given = dict(variables)

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._given:
            self._given = dict(variables)
            super().set_variables(variables)

    def reparse(self) -> None:
        """Take in what is new, and all where the variables have changed."""
        self.parse()
