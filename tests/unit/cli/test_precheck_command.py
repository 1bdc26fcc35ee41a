"""``precheck``: what is asked wrongly is one line, and nothing runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.cli.program import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rounds", "0"), "--rounds: 0 rounds measure no pair"),
        (("--at-once", "-1"), "--at-once: below 0"),
        (("--stages", "hosts"), "no stage is called 'hosts'"),
        (("--python", " "), "--python: no program is named"),
        (("--hosts", "nowhere"), "nowhere"),
        (("--engine", "slurm"), "a precheck takes hosts as they are, and slurm gives them"),
    ],
)
def test_what_cannot_be_is_one_line(
    words: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--campaigns", str(tmp_path / "campaigns"), "precheck", *words])
    out, error = capsys.readouterr()
    assert (code, out, len(error.splitlines())) == (2, "", 1)
    assert said in error
    assert not (tmp_path / "campaigns").exists()


def test_readonly_looks_and_measures_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--readonly", "--campaigns", str(tmp_path), "precheck"]
    assert main(words) == 2
    assert "--readonly" in capsys.readouterr().err
    assert main([*words, "--list"]) == 0
    assert capsys.readouterr() == ("", "none kept yet\n")


def test_a_demo_without_a_terminal_is_told_how_it_goes_without(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo"]) == 2
    assert "use 'dlperf-tui demo --headless'" in capsys.readouterr().err
