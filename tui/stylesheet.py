"""Styles that are parsed once: a page that is opened first costs its own rules only."""

from __future__ import annotations

from textual.css.stylesheet import Stylesheet


class KeptStylesheet(Stylesheet):
    """Textual's own parses every rule there is anew at each first page, and forgets what it has.

    What is parsed holds until the variables change: colours and the like by name.
    """

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """Take in what is new, and all where the variables have changed."""
        self.parse()
