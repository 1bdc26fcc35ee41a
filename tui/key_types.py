"""What a key of the console is, and a panel of them: bindings, footer, help and palette read it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Key:
    """``keys``: as Textual names them, comma-separated. ``footer``: rank there, 0 for not shown.

    ``said``: how help writes the keys where their names read badly. ``named``: what the palette
    calls it, where the footer has no room for such words.
    """

    keys: str
    action: str
    label: str
    help: str
    footer: int = 0
    said: str = ""
    palette: bool = True
    named: str = ""

    @property
    def explained(self) -> str:
        """What it does, with the word that the footer has for it, by which it is looked for."""
        told = not self.footer or self.label.casefold() in self.help.casefold()
        return self.help if told else f"{self.label}: {self.help}"

    @property
    def moves(self) -> bool:
        """It moves about, and does nothing else."""
        return not self.footer and self.keys.partition(",")[0] in _MOVING

    @property
    def written(self) -> bool:
        """Where text is typed it is text."""
        return _is_text(self.keys.partition(",")[0])

    @property
    def beside_text(self) -> Key:
        """The same where text is typed: without those of its keys that are text there."""
        names, said = self.keys.split(","), self.said.replace(" or ", " ").split()
        if len(names) != len(said):
            return self
        pairs = zip(names, said, strict=True)
        return replace(self, said=" ".join(word for name, word in pairs if not _is_text(name)))

    def without(self, taken: Container[str]) -> Key | None:
        """The same without those of its keys; None where none is left."""
        names, said = self.keys.split(","), self.said.replace(" or ", " ").split()
        left = [name for name in names if name not in taken]
        if not left or left == names:
            return self if left else None
        if len(names) != len(said):
            return replace(self, keys=",".join(left))
        words = (word for name, word in zip(names, said, strict=True) if name in left)
        return replace(self, keys=",".join(left), said=" ".join(words))


@dataclass(frozen=True, slots=True)
class Panel:
    """``own``: those of the keys that it is there for; help has them first, under ``own_title``.
    ``about_actions``: by action, what ``about`` ends with where the console does that at all."""

    title: str
    about: str
    keys: tuple[Key, ...]
    own_title: str = ""
    own: tuple[Key, ...] = ()
    about_actions: tuple[tuple[str, str], ...] = ()


def _is_text(name: str) -> bool:
    return len(name) == 1 or name in _CHARACTERS


_MOVING = frozenset(("down", "up", "left", "right", "home", "end", "pageup", "pagedown"))
_CHARACTERS = frozenset(
    {
        *("colon", "space", "slash", "asterisk", "question_mark", "plus", "equals_sign", "minus"),
        *("full_stop", "less_than_sign", "greater_than_sign"),
        *("left_square_bracket", "right_square_bracket"),
        *("left_curly_bracket", "right_curly_bracket"),
    }
)

LAST = 99
"""The rank of a key that the footer always has, at its end."""

SCROLL = (
    Key("down,j", "scroll_down", "Down", "one line down", said="↓ j", palette=False),
    Key("up,k", "scroll_up", "Up", "one line up", said="↑ k", palette=False),
    Key("left,h", "scroll_left", "Left", "towards the line's start", said="← h", palette=False),
    Key("right,l", "scroll_right", "Right", "towards the line's end", said="→ l", palette=False),
    Key("home,g", "scroll_home", "Top", "to the first line", said="Home g", palette=False),
    Key("end,G", "scroll_end", "End", "to the last line", said="End G", palette=False),
    Key("pageup", "page_up", "Page up", "a page up", said="PgUp", palette=False),
    Key("pagedown", "page_down", "Page down", "a page down", said="PgDn", palette=False),
)
PAGED = (
    *SCROLL,
    Key("space", "page_down", "Page down", "a page down", palette=False),
    Key("b", "page_up", "Page up", "a page up", palette=False),
)
"""Of text that is read, as in a pager."""
