"""What pages and dialogs share: one that comes to the front is painted once, when it is whole.

Textual paints a screen as soon as it is laid out, again when a part is filled or gets the focus,
and all of it once more in the end; for a dialog it renders the page beside it each time, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from math import inf
from typing import TypeVar

from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.css.styles import RulesMap
from textual.geometry import Region, Size
from textual.notifications import Notifications
from textual.reactive import Reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widget import Widget
from textual.widgets._toast import ToastRack

from tui.typed_ahead import Sight, typed_ahead
from tui.widgets.told import Told

Result = TypeVar("Result")
REFRESH_S = 0.5
"""What goes on is shown anew so often."""
WHOLE_WITHIN_S = 0.25
"""It is painted then, whole or not."""


class FrontScreen(Screen[Result]):
    """A screen with its :class:`Sight`."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)  # who gets it repaints itself
    TOLD_LINES = 1
    """For words that pass."""

    def __init__(self, **named: str | None) -> None:
        super().__init__(**named)
        self.sight = Sight(self, self.paint)
        self._owed = self._painting = False
        self._where_painted: Mapping[Widget, tuple[Region, Region]] = {}
        self._last_told = Told()

    def _extend_compose(self, widgets: list[Widget]) -> None:
        super()._extend_compose(widgets)
        widgets[:] = [self._last_told, *(one for one in widgets if not isinstance(one, ToastRack))]

    @property
    def told_room(self) -> int:
        """Columns for what is said, in the line where it stands."""
        return self.app.size.width

    def tell(self, said: Notifications) -> None:
        """What is said now, of what is in front."""
        if self._last_told.is_attached:
            self._last_told.show(said, self.told_room, self.TOLD_LINES)

    def tell_no_more(self) -> None:
        """Something is in front of it, which says it now."""
        if self._last_told.display:
            self._last_told.display = False
            self._refresh_layout()

    def _update_focus_styles(
        self, focused: Widget | None = None, blurred: Widget | None = None
    ) -> None:
        """Only the frame of a panel tells that the focus is within: Textual matches all that is in
        it anew."""
        around = (one.ancestors_with_self for one in (focused, blurred) if one is not None)
        panels = {node for node in chain(*around) if getattr(node, "_has_focus_within", False)}
        self.app.stylesheet.update_nodes(panels, animate=True)

    async def _message_loop_exit(self) -> None:
        """What it has at work ends before its widgets go: Textual ends it after them."""
        going = set(self.walk_children(with_self=True))
        for worker in self.workers:
            if worker.node in going:
                worker.cancel()
        await super()._message_loop_exit()

    def _compositor_refresh(self) -> None:
        if self.is_current and self._under_way_s < WHOLE_WITHIN_S:
            self._owed = True
            self._dirty_widgets.clear()  # their regions are noted
        else:
            self._owed = False
            self._repaint_moved()
            super()._compositor_refresh()

    @property
    def _under_way_s(self) -> float:
        """For how long what is to be painted is not whole yet: the screen itself, or what a key
        changes; inf: it is whole, or painted all the same."""
        dealing = inf if self._painting else typed_ahead(self).dealing_s
        return min(self.sight.awaited_s, dealing)

    def _repaint_moved(self) -> None:
        """Textual compares a layout with the one before, which it may have made anew in between,
        because somebody asked where a widget is: what moved then stays as it was painted."""
        shown = self._compositor.visible_widgets
        if shown is not self._where_painted:
            moved = shown.items() ^ self._where_painted.items()
            regions = (clip.intersection(region) for _, (region, clip) in moved)
            self._compositor._dirty_regions.update(filter(None, regions))
            self._where_painted = shown

    def paint(self) -> None:
        """What there is to paint, now and not with the next tick of Textual's clock."""
        if self.is_running:
            self._painting = True
            self._on_timer_update()
            if self._owed:
                self._compositor_refresh()
            self._painting = False

    def render(self) -> RenderableType | Visual:  # type: ignore[override]
        """A dialog on what is below it. Textual knows that only while it paints, and keeps what it
        rendered at any other time: nothing but a colour."""
        stack = self.app.screen_stack
        below = stack[: stack.index(self)] if self.is_modal and self in stack else ()
        if below and self.styles.background.a < 1:
            return Behind(below[-1])
        return super().render()


@lru_cache(maxsize=4096)
def _unclickable(style: RichStyle | None) -> RichStyle:
    return (style or RichStyle.null()).clear_meta_and_links()


class Behind(Visual):
    """The page beside a dialog, in its own colours: as it was rendered, nothing in it to click."""

    def __init__(self, screen: Screen[object]) -> None:
        self._screen = screen

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        strips = self._screen._compositor.render_strips(Size(width, height or 0))
        return [
            Strip(
                [Segment(text, _unclickable(style)) for text, style, _ in strip if text],
                strip.cell_length,
            )
            for strip in strips
        ]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self._screen.size.height
