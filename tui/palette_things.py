"""In the palette, behind the actions: runs, cases and hosts that the console shows, by name, and
lines of the help."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from textual.command import Hit, Hits, Provider

from tui.command_palette import Application, palette_line
from tui.key_bindings import PAGES, PANELS
from tui.screens.help import help_lines, help_text, term_of
from tui.text import RUN_STATES, plain
from tui.widgets.keybar import panel_of

if TYPE_CHECKING:
    from tui.screens.page import Page

MOST = 5
"""Of a kind, the best."""
LEAST_OF_HELP = 3
"""Characters, from which on the help is looked through."""
THINGS, HELP = 1e-4, 1e-10
"""What their ranks are at most: below those of actions that are done now, and below those that are
not."""


class Thing(NamedTuple):
    name: str
    words: str
    found_by: str
    lead: Callable[[], Awaitable[None]]


class ThingsProvider(Provider):
    """Leads to the row of a run on Runs, of a case on Results, of a host on Hosts; to a line of the
    help."""

    async def startup(self) -> None:
        """What there is, once: a campaign may have 1000 runs."""
        self._things: Sequence[tuple[str, Sequence[Thing]]] = ()
        self._lines: Sequence[tuple[str, str]] = ()
        if not self.screen.is_modal:
            self._things = (("runs", self._runs()), ("results", self._cases()))
            self._things += (("hosts", self._hosts()),)
            self._lines = help_lines([panel_of(self.screen), *PANELS])

    @property
    def _app(self) -> Application:
        return cast(Application, self.app)

    def _runs(self) -> Sequence[Thing]:
        if (viewed := self._app.session.viewed) is None:
            return ()
        found = []
        for run in viewed.runs:
            name = f"{plain(run.label)}  {plain(run.profile)}"
            state = RUN_STATES[run.state][1]
            lead = partial(self._lead_to, "runs", run.run_id)
            found.append(Thing(name, f"run: {state}", f"{name} {state}".casefold(), lead))
        return found

    def _cases(self) -> Sequence[Thing]:
        viewed = self._app.session.viewed
        cases = {run.case.key: run.case for run in viewed.runs} if viewed is not None else {}
        return [
            Thing(name, "case", name.casefold(), partial(self._lead_to, "results", key))
            for key, case in cases.items()
            for name in [f"{plain(case.label)}  {plain(case.profile)}"]
        ]

    def _hosts(self) -> Sequence[Thing]:
        return [
            Thing(name, f"host: {host.state}", name.casefold(), lead)
            for host in self._app.session.hosts
            for name, lead in [(plain(host.name), partial(self._lead_to, "hosts", host.name))]
        ]

    async def search(self, query: str) -> Hits:
        words = query.casefold().split()
        for kind, (page, things) in enumerate(self._things):
            if not words or not self.app.check_action("page", (page,)):
                continue
            having = [one for one in things if all(word in one.found_by for word in words)]
            having.sort(key=lambda one: not one.found_by.startswith(words[0]))
            key = str([*PAGES].index(page) + 1)
            for number, one in enumerate(having[:MOST]):
                rank = THINGS * (1 - (kind * MOST + number) / 100)
                line = palette_line(self.app, one.name, one.words, key)
                yield Hit(rank, line, one.lead, text=f"{one.name} {one.words}")
        if len(query.strip()) >= LEAST_OF_HELP:
            for number, (panel, said) in enumerate(_lines_with(words, self._lines)[:MOST]):
                where = f"help of {PANELS[panel].title}"
                shown = palette_line(self.app, where, said, "?")
                lead = partial(self._explain, panel, said)
                yield Hit(HELP * (1 - number / 100), shown, lead, text=f"{where} {said}")

    async def _lead_to(self, page: str, key: str) -> None:
        self._app.action_page(page)
        screen = cast("Page", self.app.screen)
        # As for what a key of another page does: it is filled by then.
        screen.call_after_refresh(screen.call_after_refresh, screen.see, key)

    async def _explain(self, panel: str, line: str) -> None:
        from tui.screens.dialogs import Help, Reading  # noqa: PLC0415 - seldom needed

        title = f"Help · {PANELS[panel].title}"
        here = panel == panel_of(self.app.screen)
        text = help_text([panel])
        shown = Help(title, self.app.screen) if here else Reading(title, text, widest=True)
        self.app.push_screen(shown)
        shown.call_after_refresh(shown.look_for, term_of(line))


def _lines_with(words: Sequence[str], lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those first of which the term begins so, then those that have it in their term."""
    having = [one for one in lines if all(word in one[1].casefold() for word in words)]

    def place(one: tuple[str, Any]) -> tuple[bool, bool]:
        term = term_of(one[1]).casefold()
        return not term.startswith(words[0]), words[0] not in term

    return sorted(having, key=place)
