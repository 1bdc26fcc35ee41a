"""What ``plan`` prints for every bundled profile, on four hosts of eight GPUs, on both engines.

A difference is a change to look at, not always a mistake: ``pytest
tests/unit/cli/test_library_plans.py --snapshot-update`` accepts what is printed now.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from profiles.format.catalog import Catalog
from profiles.format.profile import Profile
from tests.unit.cli.conftest import Cli
from tests.unit.cli.four_hosts import DIRECT, SLURM, settings_of

CASES = ("1n1g", "1n8g", "4n8g")
CATALOG = Catalog.load()


class Text(SingleFileSnapshotExtension):
    """One file for each profile."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


def plan_text(cli: Cli, profile: Profile, inventory: Path) -> str:
    """All that is printed, but how far the hosts' clock, which stands still, is behind; what goes
    to stderr last."""
    words = ("plan", "--inventory", inventory, "-p", profile.name, "--case", *CASES, "-r", 1)
    answer = cli(*words, *settings_of(profile))
    lines = (answer.out + answer.err).splitlines(keepends=True)
    return "".join(line for line in lines if "its clock is" not in line)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("name", CATALOG.names)
def test_plan_of(name: str, cli: Cli, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told = ""
    for engine, text in (("direct", DIRECT), ("slurm", SLURM)):
        inventory = tmp_path / "hosts.toml"
        inventory.write_text(text)
        told += f"=== {engine}\n{plan_text(cli, CATALOG.get(name), inventory)}"
    assert told == snapshot(extension_class=Text)
