"""Text in a widget of its own, which changes as the console is used."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static


class ShownText(Static):
    """Taken literally. The page is laid out again only where it takes another size, for that costs
    more than all else that a key does."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__("", markup=False, id=id, classes=classes)
        self._said: Text | None = None
        self._takes: tuple[int, int] | None = None

    def show(self, text: Text) -> None:
        if text == self._said:
            return
        self._said = text
        self.update(text, layout=False)
        before, self._takes = self._takes, self._size_taken()
        if before != self._takes:
            self.refresh(layout=True)

    def _size_taken(self) -> tuple[int, int]:
        """Columns and lines."""
        rules, width = self.styles.get_rules(), self.content_size.width
        if self.styles.width is not None and self.styles.width.is_auto:
            width = self.visual.get_optimal_width(rules, self.app.size.width)
        return width, self.visual.get_height(rules, width) if width else 0
