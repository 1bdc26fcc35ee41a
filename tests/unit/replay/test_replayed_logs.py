"""What a replay says of the logs is what is so where they were written, at every moment."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.reader import read_campaign
from backends.replay.replay_workspace import ReplayWorkspace
from backends.use_cases import Workspace
from tests.unit.results.test_logs_edited_later import FALSE, TRUE, campaign

DEEDS = {**TRUE, **{name: deed for name, (deed, _) in FALSE.items() if name != "removed"}}


@settings(max_examples=20, deadline=None)
@given(
    deeds=st.lists(st.sampled_from(sorted(DEEDS)), min_size=2, max_size=2),
    shares=st.lists(st.floats(0, 1), max_size=6),
)
async def test_a_replay_doubts_the_logs_that_differ_and_no_other(
    deeds: list[str], shares: list[float]
):
    with campaign(stamped=True) as source:
        recorded = read_campaign(source).runs.values()
        runs = [run for run in recorded if run.throughput and not run.profiled][-2:]
        for run, deed in zip(runs, deeds, strict=True):
            DEEDS[deed](source / run.log)
        workspace = ReplayWorkspace(source, 10.0, monotonic=lambda: 0.0)
        clock = workspace.replay_clock
        said = Workspace.open().load(source).notes
        differs = {run.log for run, deed in zip(runs, deeds, strict=True) if deed in FALSE}
        try:
            for before, share in pairwise([0.0, *shares, 1.0]):
                clock.seek(clock.begin + share * (clock.end - clock.begin))
                workspace.advance()
                shown = workspace.load(workspace.playback)  # before the logs, as the console does
                workspace.reach()
                workspace.catch_up()
                over = {run.log for run in shown.state.runs.values() if run.throughput}
                doubted = {run.log for run in shown.state.runs.values() if run.log_differs}
                assert doubted == differs & over, (before, share)
            assert doubted == differs
            assert [text for *_, text in shown.notes] == [text for *_, text in said]
        finally:
            await workspace.close()
