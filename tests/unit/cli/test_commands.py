from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tui.cli
from tui.cli import main
from tui.cli.arguments import build_parser
from tui.cli.commands import COMMANDS, CONSOLE, Command, command_file

NO_COMMANDS = {"__init__", "__main__", "commands", "arguments", "program", CONSOLE}
HEAVY = {"asyncio", "asyncssh", "pandas", "pydantic", "textual", "backends.use_cases"}


def loaded_by(*words: str) -> set[str]:
    """The modules that one call of the program imports."""
    code = f"import sys\nfrom tui.cli import main\nmain({list(words)!r})\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


def test_every_file_of_a_command_is_named_and_every_name_has_its_file() -> None:
    files = {file.stem for file in Path(tui.cli.__file__).parent.glob("*.py")} - NO_COMMANDS
    assert {file.removesuffix("_") for file in files} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(command_file(name).run)
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: dlperf-tui {name} ")
    assert "--inventory FILE" in said
    assert " ".join(COMMANDS[name].summary.split()) in " ".join(said.split())


def test_asking_for_the_version_or_for_help_imports_nothing_heavy() -> None:
    assert loaded_by("--version").isdisjoint(HEAVY)
    assert loaded_by("--help").isdisjoint(HEAVY)


def test_a_command_does_not_wait_for_what_another_needs() -> None:
    loaded = {module for module in loaded_by("profiles", "--help") if module.startswith("tui.cli.")}
    assert {f"tui.cli.{name}" for name in COMMANDS} & loaded == {"tui.cli.profiles"}


@pytest.mark.parametrize("before", [True, False])
def test_an_option_of_every_command_may_stand_before_or_after_its_name(
    before: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = ("--campaigns", str(tmp_path / "none"))
    assert main([*option, "status"] if before else ["status", *option]) == 0
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_an_engine_is_said_to_the_console_or_to_a_command_before_or_after_its_name() -> None:
    def engine(*words: str) -> object:
        return build_parser().parse_args(words).engine

    assert (engine(), engine("--engine", "slurm")) == (None, "slurm")
    assert engine("hosts", "--engine", "slurm") == "slurm"
    assert engine("--engine", "slurm", "hosts") == "slurm"
    assert engine("--engine", "slurm", "hosts", "--engine", "direct") == "direct"


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.changes])
def test_looking_only_refuses_what_changes_something(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = {
        "resume": ["x"],
        "retry": ["x"],
        "pause": ["x"],
        "unpause": ["x"],
        "cancel": ["x"],
        "keep": ["x"],
        "repeat": ["x", "1"],
        "import": ["x", "-o", "y"],
    }.get(name, [])
    assert main(["--readonly", name, *needed]) == 2
    assert capsys.readouterr().err == (
        "dlperf-tui: --readonly: this command changes something; leave --readonly out\n"
    )


def test_a_new_command_is_a_line_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What its file would hold: ``add`` and ``run``."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--to", required=True)

    def run(arguments: argparse.Namespace) -> int:
        print(f"hello {arguments.to}")
        return 0

    file = ModuleType("tui.cli.greet")
    file.__dict__.update(add=add, run=run)
    monkeypatch.setitem(sys.modules, file.__name__, file)
    monkeypatch.setitem(COMMANDS, "greet", Command("say hello", changes=True))
    assert main(["greet", "--to", "bob"]) == 0
    assert capsys.readouterr().out == "hello bob\n"
    assert main(["greet"]) == 2
    assert "--to" in capsys.readouterr().err
    assert main(["--readonly", "greet", "--to", "bob"]) == 2
