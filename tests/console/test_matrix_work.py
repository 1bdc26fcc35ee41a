"""What the matrix does anew: nothing for a cursor that moves, little for a mark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.past_index import PastIndex
from backends.results import past_result
from backends.results.past_result import Past, PastFailure, PastResult
from tests.console.conftest import HUGE, ONEFLOW, console, tick
from tests.console.fakes import FakeWorkspace
from tests.console.test_matrix_past import SMOKE, measured, read, smoke
from tui import matrix_below, matrix_past, matrix_request, plan_words
from tui.matrix_below import past_lines
from tui.matrix_marks import Marks, new_marks
from tui.matrix_past import past_of_grid
from tui.screens.matrix_page import MatrixPage
from tui.screens.page import Page


def counted(monkeypatch: pytest.MonkeyPatch, *parts: tuple[Any, str]) -> Counter[str]:
    """How often each was called, by its name."""
    calls: Counter[str] = Counter()

    def counting(name: str, of: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **more: Any) -> Any:
            calls[name] += 1
            return of(*given, **more)

        return called

    for where, name in parts:
        monkeypatch.setattr(where, name, counting(name, getattr(where, name)))
    return calls


async def test_a_cursor_that_moves_asks_nothing_again_and_a_mark_only_for_its_grid(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(workspace, {smoke("1n1g"): [1.0] * 3})
    async with console(workspace, HUGE) as (app, pilot):
        page = await read(app, pilot)
        second = page._asked.marks("oneflow-resnet50").with_defaults()
        given = {name: values[0] for name, values in ONEFLOW.items()}
        page._asked.put(replace(second, settings=given))
        tick(app)
        await pilot.pause()
        calls = counted(
            monkeypatch,
            (matrix_request, "past_of_grid"),
            (matrix_request, "capacity"),
            (matrix_request, "known_devices"),
            (plan_words, "host_findings"),
            (Marks, "cells"),
        )
        await pilot.press(*"jljlhk")
        tick(app)
        await pilot.pause()
        assert calls["past_of_grid"] == calls["capacity"] == calls["known_devices"] == 0
        assert calls["host_findings"] == calls["cells"] == 0
        before = page._asked.plan
        assert before is not None
        assert before.selection.profiles == ("cpu-smoke", "oneflow-resnet50")
        await pilot.press("j", "space")
        assert page._asked.plan is not before
        assert calls["past_of_grid"] == 0
        assert calls["host_findings"] == len(workspace.snapshots())
        assert calls["cells"] <= 3, "the grid, and the two rows of the list"


@pytest.mark.parametrize("where", ["grid", "profiles"])
async def test_a_cursor_that_moves_has_the_page_shown_once(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(Page, "_tick", lambda _: None)  # what comes by itself, twice a second
    async with console(workspace, HUGE) as (app, pilot):
        await read(app, pilot)
        keys = "jlkh" if where == "grid" else "jk"
        if where == "profiles":
            await pilot.press("tab")
        calls = counted(monkeypatch, (MatrixPage, "_cell_text"))
        for number, key in enumerate(keys, 1):
            await pilot.press(key)
            assert calls["_cell_text"] == number, key


def test_each_past_result_is_looked_at_once_however_many_cells_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags, sizes = ("1n1g", "1n2g", "2n1g"), (16, 32, 64, 128)
    for number in range(20):
        cases = [smoke(tag, size) for tag in tags for size in sizes]
        workspace = FakeWorkspace(tmp_path)
        measured(workspace, {case: [1.0 + number] for case in cases}, f"c{number}")
    index = PastIndex(tmp_path)
    index.read()
    part = new_marks(SMOKE.profile)
    cells = part.cells(())
    calls = counted(monkeypatch, (past_result, "_key"))
    past = past_of_grid(part, cells, index.found, (), simulated=False)
    assert len(past.of(smoke("1n2g", 64)).same) == 20
    assert past.of(smoke("1n4g")).same == ()
    cases = len(tags) * len(sizes)
    assert calls["_key"] <= 20 * cases + cases + sum(map(len, cells))


def test_only_what_has_room_is_put_into_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(FakeWorkspace(tmp_path), {smoke("1n1g"): [1.0]})
    index = PastIndex(tmp_path)
    index.read()
    ((one,),) = index.found.values()
    calls = counted(monkeypatch, (matrix_below, "past_cells"))
    lines = past_lines("1n1g", [one] * 5000, one.at, 80, 12)
    assert len(lines) == 12
    assert lines[-2].plain == " +4991 more"
    assert calls["past_cells"] == 9
    assert all(text in lines[1].plain for text in matrix_past.past_cells(one, one.at)[:5])


@pytest.mark.parametrize("width", range(60, 140, 4))
def test_campaigns_that_differ_at_their_ends_do_so_where_there_is_little_room(
    tmp_path: Path, width: int
) -> None:
    measured(FakeWorkspace(tmp_path), {smoke("1n1g"): [1.0]})
    index = PastIndex(tmp_path)
    index.read()
    ((one,),) = index.found.values()
    assert isinstance(one, PastResult)
    names = [f"2026-11-28-SIMULATED-of-resnet50-on-all-hosts-{end}" for end in ("am", "pm")]
    same = [replace(one, campaign=name) for name in names]
    _, *lines = [line.plain for line in past_lines("1n1g", same, one.at, width, 12)][:3]
    shared = {of.name: getattr(one, of.name) for of in fields(Past)}
    failed = PastFailure(**shared, reason="out of memory " * 5)
    told = [matrix_past.result_words(of, one.at, width) for of in same]
    told += [
        matrix_past.failure_words(replace(failed, campaign=name), one.at, width) for name in names
    ]
    for first, second in (lines, told[:2], told[2:]):
        assert first != second
        assert "am" in first
        assert "pm" in second
        assert max(len(first), len(second)) <= width


@given(st.booleans(), st.floats(0, 1e7) | st.sampled_from([0.0, 5.0]), st.integers(60, 200))
def test_an_age_of_what_was_simulated_says_by_whose_clock_it_is_or_is_left_out(
    simulated: bool, ago_s: float, room: int
) -> None:
    shared = {"profile": "p", "tag": "1n1g", "parameters": {}, "settings": {}, "devices": "V100"}
    past: dict[str, Any] = {
        **shared,
        "campaign": "c",
        "path": Path("c"),
        "at": 1e9,
        "imported": False,
    }
    figures: dict[str, Any] = {
        "throughput": 9.0,
        "unit": "images/s",
        "repeats": 3,
        "half_width": 0.1,
    }
    one = PastResult(**past, **figures, grade=None, run_s=None, simulated=simulated)
    failed = PastFailure(**past, simulated=simulated, reason="out of memory")
    now = 1e9 + ago_s
    newest = replace(one, repeats=1)
    told = [
        matrix_past.result_words(one, now, room),
        matrix_past.failure_words(failed, now, room),
        matrix_past.older_words([newest, one], None, now, room),
    ]
    aged = re.compile(r", (now|\d+[smhd] ago)")
    assert all(aged.search(words) for words in told)
    assert all(("by your clock" in words) == simulated for words in told)
    assert bool(aged.search(", ".join(matrix_past.past_cells(one, now)))) != simulated
