"""``pause``: runs that have not started are held back until ``unpause``."""

from __future__ import annotations

import argparse

from tui.cli.shared.chosen_runs import add_campaign_and_runs
from tui.cli.shared.pause_runs import pause_runs


def add(parser: argparse.ArgumentParser) -> None:
    add_campaign_and_runs(parser, "only these; without it all that have not started")


def run(arguments: argparse.Namespace) -> int:
    """What is running goes on; of a campaign that no console is at work on."""
    return pause_runs(arguments, pause=True)
