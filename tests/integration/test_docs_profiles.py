"""The commands that docs/profiles.md shows, run as they stand there."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.support.program import run_program

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("#")[0].strip() for line in re.findall(r"^    (dlperf-tui .*)$", TEXT, re.M)
]


def test_the_docs_show_commands() -> None:
    assert len(COMMANDS) == 8


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_docs_works(command: str, tmp_path: Path) -> None:
    example, *_ = re.findall(r"^```toml\n(.*?)^```", TEXT, re.M | re.S)
    (tmp_path / "acme-acmenet.toml").write_text(example, encoding="utf-8")
    steps = "".join(f"step {step} | loss 2.0 | 1850.0 img/s per GPU\n" for step in (200, 300, 400))
    (tmp_path / "old-run.log").write_text(steps, encoding="utf-8")
    done = run_program(
        shlex.split(command)[1:],
        cwd=tmp_path,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
        timeout=60,
    )
    here_alone = "needs 2 hosts, there is 1" in done.stderr  # as anywhere without an inventory
    assert done.returncode == (2 if here_alone else 0), done.stderr
    if "parse" in command:
        assert "14800" in done.stdout  # 1850 × 8 GPUs
