"""What is chosen in Compare stays chosen: each choice is changed by its own key alone."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from textual.widgets import Input

from backends.results.comparison import Verdict
from tests.console.conftest import HUGE, LARGE, SMALL, console, settled, shows, until
from tests.console.fakes import FakeWorkspace
from tests.console.test_bursts import SEED
from tests.console.test_compare import measured, open_compare
from tui.screens.across_dialog import AcrossList
from tui.screens.compare_screen import Compare
from tui.screens.dialogs import Prompt
from tui.widgets.keyed_table import KeyedTable


def chosen(screen: Compare) -> dict[str, object]:
    assert screen._found is not None
    return {
        "b": screen._baseline,
        "c": screen._quantity,
        "v": screen._view,
        "t": screen._threshold,
        "a": screen._found.across,
        "s": screen._order,
    }


KEYS: dict[str, tuple[str, ...]] = {
    "b": ("b",),
    "c": ("c",),
    "v": ("v",),
    "t": ("t", "enter"),
    "a": ("a", "enter"),
    "marks": ("a", "space", "enter"),
    "left": ("a", "space", "escape"),
    "j": ("j",),
    "r": ("r",),
    "s": ("s",),
    "S": ("S",),
    "z": ("z", "z"),
    "help": ("question_mark", "escape"),
}
CHANGES = {"b": "b", "c": "c", "v": "v", "marks": "a", "z": "", "t": "t", "s": "s", "S": "s"}
"""What a key may change; all others nothing."""


@pytest.mark.parametrize("seed", range(3))
async def test_what_is_chosen_changes_by_its_own_key_alone(
    workspace: FakeWorkspace, seed: int
) -> None:
    for days, (name, sizes) in enumerate(
        (("a", ("128", "160")), ("b", ("128", "160")), ("c", ("160",)))
    ):
        await measured(
            workspace, name, days=days, choice={"batch_size": sizes}, tags=("1n1g", "1n8g")
        )
    workspace.summaries.reverse()
    workspace.probed.clear()
    random = Random(SEED + seed)
    async with console(workspace, LARGE) as (app, pilot):
        screen = await open_compare(app, pilot, 3)
        for name in ["b", "a", *random.choices([*KEYS], k=14)]:
            before = chosen(screen)
            await pilot.press(KEYS[name][0])
            await settled(app)
            opened = {"a": AcrossList, "t": Prompt}.get(KEYS[name][0])
            if opened is not None:
                await until(pilot, lambda o=opened: isinstance(app.screen, o))
            if name == "t":
                percent = random.choice(("1%", "2%", "3%"))
                app.screen.query_one(Input).value = percent
            await pilot.press(*KEYS[name][1:])
            await until(pilot, lambda: app.screen is screen)
            await settled(app, at_work=lambda: not screen._settled.is_set())
            after = chosen(screen)
            others = {key for key in before if before[key] != after[key]}
            assert others <= {CHANGES.get(name, "")}, (name, before, after)


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_s_puts_the_cases_in_another_order_and_the_cursor_stays_on_its_own(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    for days, speed in enumerate((1.0, 0.9, 1.1)):
        await measured(workspace, f"at-{speed}", days=days, speed=speed)
    workspace.probed.clear()
    async with console(workspace, size) as (app, pilot):
        screen = await open_compare(app, pilot, 3)
        table = screen.query_one(KeyedTable)
        as_they_come = table.shown_keys
        await pilot.press("down")
        here = table.current_key

        def ratios() -> list[float]:
            pairs = [screen._pairs[key][1] for key in table.shown_keys]
            return [pair.ratio or 0.0 for pair in pairs]

        await pilot.press("S")
        assert table.shown_keys == as_they_come
        await pilot.press("s")
        assert shows(app, "by ratio ▴")
        assert ratios() == sorted(ratios()) != [ratios()[0]] * len(as_they_come)
        await pilot.press("S")
        assert shows(app, "by ratio ▾")
        assert ratios() == sorted(ratios(), reverse=True)
        assert table.current_key == here
        await pilot.press("s")
        assert shows(app, "by verdict ▴")
        verdicts = [screen._pairs[key][1] for key in table.shown_keys]
        places = [(bool(one.doubts), [*Verdict].index(one.verdict)) for one in verdicts]
        assert places == sorted(places)
        await pilot.press("s")
        assert table.shown_keys == as_they_come
        assert table.current_key == here


async def test_across_that_is_left_as_it_was_keeps_the_baseline(workspace: FakeWorkspace) -> None:
    await measured(workspace, "b-larger", choice={"batch_size": ("160",)}, days=1)
    await measured(workspace, "a-smaller", choice={"batch_size": ("128",)})
    workspace.probed.clear()
    async with console(workspace, LARGE) as (app, pilot):
        screen = await open_compare(app, pilot, 2)
        await pilot.press("b")
        await until(pilot, partial(shows, app, "Against 2 b-larger"))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AcrossList))
        await pilot.press("enter")
        await settled(app)
        assert shows(app, "Against 2 b-larger")
        assert screen._baseline == 1
