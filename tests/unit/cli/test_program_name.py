"""What a shell is told to type."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tui.program_name import for_shell

NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda name: name not in (".", ".."))


@given(NAMES, st.booleans())
@example("a b'c", True)
@example("~", True)
@example("$HOME", False)
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_shell_reads_a_path_back_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, at_home: bool
) -> None:
    home = tmp_path / "it's home"
    monkeypatch.setenv("HOME", str(home))
    path = (home if at_home else tmp_path) / name / "campaigns"
    word = for_shell(path)
    assert word.startswith("~/") is at_home
    read = subprocess.run(["sh", "-c", f"printf %s {word}"], stdout=subprocess.PIPE, check=True)
    assert read.stdout == os.fsencode(path)


@pytest.mark.parametrize(("home", "word"), [("/", "/srv/x"), ("/srv/x", "~"), ("/srv", "~/x")])
def test_what_is_home_itself_is_no_path_below_it(
    monkeypatch: pytest.MonkeyPatch, home: str, word: str
) -> None:
    monkeypatch.setenv("HOME", home)
    assert for_shell(Path("/srv/x")) == word
