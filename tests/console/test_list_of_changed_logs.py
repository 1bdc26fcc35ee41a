"""The open list of campaigns has the grades that their logs leave them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from backends.campaign.folder import past_index
from backends.campaign.folder.past_index import PastIndex
from backends.campaign.folder.raw_logs import LogChecks
from backends.campaign.record.state import CampaignState
from backends.results.past_result import logs_changed
from tests.console.conftest import LARGE, console, until
from tests.console.test_campaign_files import OnDisk
from tests.unit.results.test_logs_edited_later import campaign
from tui.screens.campaign_list import CampaignList


class Checked(OnDisk):
    """Looks at logs, as the workspace does."""

    index: PastIndex | None = None

    @property
    def past(self) -> PastIndex:
        self.index = self.index or PastIndex(self.campaigns_dir, LogChecks(lambda _: None))
        return self.index


@pytest.mark.parametrize("by", ["time", "resume"])
async def test_an_open_list_sees_logs_that_change_meanwhile_and_reads_nothing_while_none_does(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.screens.campaign_list.AGAIN_S", 0.05 if by == "time" else 1e6)
    reads: list[Path] = []
    real = past_index._state

    def counted(directory: Path) -> CampaignState | None:
        reads.append(directory)
        return real(directory)

    monkeypatch.setattr(past_index, "_state", counted)
    workspace = Checked(tmp_path)
    workspace.campaigns_dir.mkdir(parents=True, exist_ok=True)
    path = workspace.campaigns_dir / "c"
    with campaign(stamped=True) as made:
        shutil.copytree(made, path)
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("O")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))
        page = app.screen
        assert isinstance(page, CampaignList)
        await until(pilot, lambda: path in page._results)
        looks: list[int] = []
        look = PastIndex.look_at_logs
        monkeypatch.setattr(
            PastIndex, "look_at_logs", lambda own, go_on: (look(own, go_on), looks.append(1))
        )
        read = len(reads)

        async def looked_again() -> None:
            before = len(looks)
            if by == "resume":
                await pilot.press("c")
                await until(pilot, lambda: app.screen is not page)
                await pilot.press("escape")
            await until(pilot, lambda: app.screen is page and len(looks) > before)

        await pilot.press("space")
        await looked_again()
        assert len(reads) == read
        assert not logs_changed(page._results[path])
        for log in path.rglob("*.log"):
            log.unlink()
        await looked_again()
        await until(pilot, lambda: logs_changed(page._results[path]))
    await workspace.close()
