"""A past campaign that is looked at, while somebody else may plan further runs of it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.status_view import CampaignSnapshot
from backends.inventory.host_entry import Inventory
from backends.use_cases import Workspace
from tests.console.test_campaign_files import DONE
from tests.unit.cli.conftest import FINISHED, append, assigned, planned, succeeded
from tui.session import Session


class Counting(Workspace):
    """``meanwhile``: is written while a campaign is being read."""

    loads = 0
    meanwhile: tuple[ev.Event, ...] = ()

    def load(self, path: Path) -> CampaignSnapshot:
        self.loads += 1
        found = super().load(path)
        append(path, *self.meanwhile)
        self.meanwhile = ()
        return found


def further(number: int) -> list[tuple[ev.Event, ...]]:
    """What `dlperf-tui retry` of another console writes, in pieces as they may be read."""
    run_id = f"more-{number}"
    reopened = ev.CampaignReopened(t=time.time())
    return [(reopened, planned(run_id)), (assigned(run_id),), (succeeded(run_id), FINISHED)]


PIECES = [piece for number in range(3) for piece in further(number)]


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.sampled_from(["appended", "while read", "nothing"]), max_size=16))
async def test_what_others_add_after_the_end_is_seen_and_else_nothing_is_read(
    steps: list[str],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "past")
        path.mkdir()
        append(path, ev.CampaignCreated(t=time.time(), campaign="past"), *DONE)
        workspace = Counting(Inventory(()), None, path.parent)
        session = Session(workspace)
        to_write = iter(PIECES)
        await session.open(path)
        for step in steps:
            piece = () if step == "nothing" else next(to_write, ())
            if step == "while read":
                workspace.meanwhile = piece
                await session.open(path)
            else:
                append(path, *piece)
            await session.refresh()
            now = Workspace(Inventory(()), None, path.parent).load(path)
            assert session.opened is not None
            assert session.opened.state == now.state
            loads = workspace.loads
            await session.refresh()
            assert (workspace.loads == loads) is session.opened.finished
        await workspace.close()
