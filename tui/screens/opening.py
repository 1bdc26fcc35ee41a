"""What is seen while the first page is made: its modules and all profiles are read for that, which
takes longer than all before it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from tui.screens.front_screen import FrontScreen
from tui.screens.page import header_of
from tui.session import Session
from tui.widgets.header import Tabs

MODE = "opening"


class Opening(FrontScreen[None]):
    """The lines above the page that comes; no key is for it."""

    def __init__(self, session: Session, coming: str) -> None:
        super().__init__()
        self._session = session
        self._coming = coming

    def compose(self) -> ComposeResult:
        yield header_of(self._session)
        yield Tabs(self._coming)
        yield Static("\n Opening …", id="opening")
