"""--engine, of the console and of the commands that take hosts; imports nothing heavy."""

from __future__ import annotations

import argparse

from backends.inventory.host_entry import ENGINES


def add_engine(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """``again``: behind a command, where what stands before it holds unless given anew."""
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        metavar="|".join(ENGINES),
        default=argparse.SUPPRESS if again else None,
        help="who gives the hosts; as the inventory says, or direct",
    )
