"""Styles are parsed once, and anew where colours change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.css import stylesheet as textual_stylesheet

from tests.console.conftest import console, until
from tests.console.fakes import FakeWorkspace
from tui.key_bindings import PAGES
from tui.theme import DARK
from tui.widgets.header import Tabs


@pytest.mark.painted
async def test_a_page_that_is_opened_first_has_only_its_own_rules_parsed(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[object] = []
    parse = textual_stylesheet.parse

    def noted(scope: str, css: str, read_from: object, **more: object) -> object:
        parsed.append((scope, read_from, more["tie_breaker"]))
        return parse(scope, css, read_from, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(textual_stylesheet, "parse", noted)
    async with console(workspace) as (app, pilot):
        for number, name in enumerate(PAGES, 1):
            await pilot.press(str(number))
            await until(pilot, lambda name=name: app.current_mode == name)  # type: ignore[misc]
    assert len(parsed) > len(PAGES)
    assert len(parsed) == len(set(parsed)), "each of them once"


async def test_another_theme_has_its_own_colours(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        tabs = app.screen.query_one(Tabs)
        before = tabs.styles.color, app.screen.styles.background
        app.register_theme(replace(DARK, name="other", background="#ffffff", surface="#ffffff"))
        app.theme = "other"
        await until(pilot, lambda: app.screen.styles.background != before[1])
        app.theme = DARK.name
        await until(pilot, lambda: (tabs.styles.color, app.screen.styles.background) == before)
