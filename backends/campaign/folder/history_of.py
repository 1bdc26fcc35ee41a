"""Campaigns on disk as a history takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

from backends.campaign.folder.by_our_clock import begun_at
from backends.campaign.folder.parameter_defaults import defaults_of
from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.campaign.folder.recorded_recipe import recorded_recipe
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState
from backends.hosts.machines import machines_of
from backends.results.history import Campaign, History, history
from backends.results.side_by_side import named_apart
from profiles.format.catalog import Catalog


def history_of(
    paths: Sequence[Path],
    read: Callable[[Path], CampaignState],
    catalog: Callable[[], Catalog],
    threshold: float,
    shown: Callable[[Path], Path] = lambda path: path,
) -> History:
    """``shown``: where a campaign lies for who reads of it.

    Raises like :func:`backends.results.history.history`, and as ``read`` does. Blocking."""
    states = [read(path) for path in paths]
    runs = named_apart(paths, [run_results(state) for state in states])
    campaigns = [
        Campaign(
            name=next((run.campaign for run in own), path.name),
            path=shown(path),
            began_at=begun_at(state, path) or 0.0,
            finished=state.finished,
            simulated=state.simulated,
            imported=state.imported,
            runs=tuple(own),
            machines=partial(machines_of, recorded_hosts(path, 0.0)),
            recipe=cache(partial(recorded_recipe, path)),
        )
        for path, state, own in zip(paths, states, runs, strict=True)
    ]
    return history(campaigns, threshold, defaults_of(paths, catalog))
