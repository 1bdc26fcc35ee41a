"""What was marked is taken back, key by key; and what is said of marks is what the frame says."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from textual.events import Key

from profiles.format.catalog import Catalog
from tests.console.conftest import (
    HUGE,
    LARGE,
    ONEFLOW,
    console,
    hints_shown,
    screen_text,
    settled,
    shows,
    tick,
    type_ahead,
    until,
)
from tests.console.fakes import FakeWorkspace, unprobed, v100_hosts
from tests.console.test_matrix import open_matrix
from tests.console.test_matrix_past import measured, read, said, smoke
from tui.app import DlperfApp
from tui.matrix_history import MOST_STEPS
from tui.screens.matrix_page import MatrixPage

CHANGING = ("space", "x", "X", "a", "n", "f", "A", "j", "l", "plus", "u")


def asked_for(page: MatrixPage) -> object:
    part = page.focused_marks
    assert part is not None
    return part, page._asked.repeats, page._asked.auto


def bundled(workspace: FakeWorkspace, hosts: int = 4) -> FakeWorkspace:
    sources = {
        name: Catalog.load((), None).source(name) for name in ("cpu-smoke", "oneflow-resnet50")
    }
    catalog = Catalog(sources, {})
    return FakeWorkspace(workspace.campaigns_dir, catalog=catalog, hosts=v100_hosts()[:hosts])


@given(keys=st.lists(st.sampled_from(CHANGING), min_size=1, max_size=12), ahead=st.booleans())
@settings(max_examples=10, deadline=None, phases=(Phase.explicit, Phase.generate))
def test_every_change_of_marks_is_taken_back_in_turn_however_fast_it_was_typed(
    keys: list[str], ahead: bool
) -> None:
    async def there_and_back() -> None:
        with tempfile.TemporaryDirectory() as directory:
            workspace = FakeWorkspace(Path(directory))
            measured(workspace, {smoke("1n1g"): [1.0], smoke("1n2g"): [1.0]})
            async with console(workspace) as (app, pilot):
                page = await read(app, pilot)
                expected, steps = [], page._history._steps["cpu-smoke"]
                for key in keys:
                    before, many = page.focused_marks, len(steps)
                    await pilot.press(key)
                    assert len(steps) > many or page.focused_marks == before
                    expected += [before] * (len(steps) > many)  # A may change repeats alone
                if ahead:
                    await type_ahead(app, pilot, *("backspace" for _ in expected))
                    assert not expected or page.focused_marks == expected[0]
                while expected and not ahead:
                    await pilot.press("backspace")
                    assert page.focused_marks == expected.pop()
                assert "Bksp Undo" not in hints_shown(app)
                first = page.focused_marks
                await pilot.press("backspace")
                assert page.focused_marks is first
                assert "nothing of cpu-smoke was changed" in said(app)

    asyncio.run(there_and_back())


async def test_the_marks_of_another_profile_stay_as_they_are(workspace: FakeWorkspace) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("n", "x")
        smoke_marks = page.focused_marks
        await pilot.press("tab", "j")
        await until(pilot, partial(shows, app, "Matrix · oneflow-resnet50"))
        assert "Bksp Undo" not in hints_shown(app)
        await pilot.press("space", "shift+tab", "x", "X")
        changed = page.focused_marks
        await pilot.press("backspace", "backspace", "backspace")
        part = page.focused_marks
        assert part is not None
        assert part != changed
        assert not part.wanted, "the profile that was taken in is out again"
        assert page._asked.marks("cpu-smoke") is smoke_marks
        assert "taken back: marks; " in said(app)


async def test_with_the_marks_of_the_source_its_repeats_and_settings_are_taken_back(
    workspace: FakeWorkspace,
) -> None:
    async with console(bundled(workspace), LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("plus", "plus", "x")
        before = asked_for(page)
        await pilot.press("A")
        assert page._asked.repeats is None
        await pilot.press("backspace")
        assert asked_for(page) == before
        assert "taken back: marks, values, repeats; " in said(app)
        app.clear_notifications()
        await pilot.press("A", "plus", "backspace")  # as many as were asked for since
        assert page._asked.repeats not in (None, before[1])  # type: ignore[index]
        assert "taken back: marks, values; " in said(app)


async def test_where_nothing_is_left_to_take_back_that_is_said(workspace: FakeWorkspace) -> None:
    async with console(bundled(workspace), LARGE) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("A", "plus", "plus")
        marks, (_, *asked) = page.focused_marks, asked_for(page)
        await pilot.press("A", "plus")  # changed nothing but the repeats, which are others since
        app.clear_notifications()
        await pilot.press("backspace")
        assert asked_for(page) == (marks, asked[0] - 1, asked[1])
        assert "nothing of it is left to take back: the repeats were changed since; " in said(app)
        await pilot.press("backspace")
        assert "taken back: " in said(app)


async def test_what_is_said_counts_the_cases_that_the_frame_counts(
    workspace: FakeWorkspace,
) -> None:
    """Whatever these hosts cannot run, and whatever is marked beside it."""
    for hosts in (1, 2, 4):
        async with console(bundled(workspace, hosts), HUGE) as (app, pilot):
            page = await open_matrix(app, pilot)
            part = page._asked.marks("oneflow-resnet50")
            given = {name: values[0] for name, values in ONEFLOW.items()}
            for beside in (False, True):
                if beside:
                    page._put(replace(part, settings=given).with_defaults())
                app.clear_notifications()
                await pilot.press("n", "A")
                await settled(app)
                assert in_frame(app) == counted(app), (hosts, beside)
                app.clear_notifications()
                await pilot.press("backspace", "backspace")
                await settled(app)
                assert in_frame(app) == counted(app), (hosts, beside)


def in_frame(app: DlperfApp) -> str:
    found = re.search(r"╰─+ (\d+ cases?)", screen_text(app))
    assert found is not None
    return found[1]


def counted(app: DlperfApp) -> str:
    return re.findall(r"(\d+ cases?) marked", said(app))[-1]


async def test_a_fill_that_waits_for_past_results_is_what_is_taken_back(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("x")
        before = page.focused_marks
        monkeypatch.setattr(MatrixPage, "_reading", True)
        await pilot.press("f")
        assert "reading past results" in screen_text(app)
        await pilot.press("backspace")
        monkeypatch.setattr(MatrixPage, "_reading", False)
        tick(app)
        await pilot.pause()
        assert page.focused_marks is before
        assert "reading past results" not in screen_text(app)


async def test_nothing_is_taken_back_by_a_key_from_before_the_hosts_were_shown(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press("x")
        marks = page.focused_marks
        workspace._hosts = unprobed(workspace._answers)
        tick(app)
        await pilot.pause()
        typed = Key("backspace", "\x7f")
        await workspace.probe()
        tick(app)
        app.post_message(typed)
        await settled(app)
        assert page.focused_marks is marks
        assert "not marked: hosts have answered" in said(app)
        await pilot.press("backspace")
        assert page.focused_marks is not marks


async def test_only_so_many_changes_are_kept(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        page = await open_matrix(app, pilot)
        part = page.focused_marks
        assert part is not None
        for _ in range(MOST_STEPS + 5):
            part = part.toggled(page._asked.cells(part)[0])
            page._put(part)
        assert sum(1 for _ in steps_back(page)) == MOST_STEPS


def steps_back(page: MatrixPage) -> Iterator[None]:
    while page.check_action("undo", ()):
        page.action_undo()
        yield
