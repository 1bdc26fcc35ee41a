"""``unpause``: paused runs may start again."""

from __future__ import annotations

import argparse

from tui.cli.shared.chosen_runs import add_campaign_and_runs
from tui.cli.shared.pause_runs import pause_runs


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign_and_runs(parser, "only these; without it all that are paused")


def run(arguments: argparse.Namespace) -> int:
    """They start when the campaign goes on, with ``resume`` or in the console."""
    return pause_runs(arguments, pause=False)
