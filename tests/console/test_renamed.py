"""A campaign that was renamed is called everywhere as its directory is."""

import shutil
from pathlib import Path

from backends.inventory.host_entry import Inventory
from backends.use_cases import Workspace
from tests.console.conftest import HUGE, console, screen_text, until
from tests.console.test_campaigns import EXAMPLES, in_one_line
from tui.widgets.keyed_table import KeyedTable, current_key

BEGUN_AS = ("2026-11-28-resnet50-graphs", "2026-11-28-h100-resnet50-graphs-2")


async def test_no_page_calls_a_campaign_as_it_was_called_before(tmp_path: Path) -> None:
    for name in ("h200-x2-resnet50-graphs-again", "h100-resnet50-graphs"):
        shutil.copytree(EXAMPLES / name, tmp_path / f"baseline-of-{name}")
    workspace = Workspace(Inventory(()), None, tmp_path)
    workspace.past.read()
    paths = [one.path for one in workspace.campaigns()]
    assert {past.campaign for own in workspace.past.by_campaign.values() for past in own} == {
        path.name for path in paths
    }
    async with console(workspace, HUGE) as (app, pilot):
        for path in paths:
            await app.session.open(path)
            for page in "34":
                await pilot.press(page)
                await until(pilot, lambda: in_one_line(app, ["past campaign", path.name]))  # noqa: B023
                await until(pilot, lambda: screen_text(app).count(path.name) >= 2)  # noqa: B023
                assert not [name for name in BEGUN_AS if f" {name} " in screen_text(app)]
        await pilot.press("O")
        await until(pilot, lambda: current_key(app.screen) is not None)
        for marked, path in enumerate(paths, 1):
            app.screen.query_one(KeyedTable).select(str(path))
            await until(pilot, lambda: current_key(app.screen) == str(path))  # noqa: B023
            await pilot.press("space")
            await until(pilot, lambda: f"{marked} marked" in screen_text(app))  # noqa: B023
        await pilot.press("c")
        await until(pilot, lambda: "Against 1 " in screen_text(app))
        for place, path in enumerate(reversed(paths), 1):
            await until(pilot, lambda: f"{place} {path.name}" in screen_text(app))  # noqa: B023
    await workspace.close()
