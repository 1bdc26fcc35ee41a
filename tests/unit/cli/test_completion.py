"""Completion, asked of real shells: commands, options, choices, campaigns and profiles."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from profiles.format.catalog import Catalog
from profiles.scalars import scalar_text
from tests.unit.cli.conftest import Cli, planned

Complete = Callable[..., set[str]]
Campaign = Callable[..., Path]

BASH = r"""
source "$SCRIPT"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
$(complete -p dlperf-tui | sed 's/.*-F \([^ ]*\).*/\1/')
printf '%s\n' "${COMPREPLY[@]}"
"""


def ask_bash(words: list[str], environment: Mapping[str, str]) -> set[str]:
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH, "bash", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split("\n")) - {""}


def ask_fish(words: list[str], environment: Mapping[str, str]) -> set[str]:
    done = subprocess.run(
        ["fish", "--no-config", "-c", 'source "$SCRIPT"; complete -C "$LINE"'],
        env={**environment, "LINE": " ".join(words)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stderr == ""
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


def ask_zsh(words: list[str], environment: Mapping[str, str]) -> set[str]:
    """In a terminal of its own, as zsh completes nothing without one."""
    inner = Path(environment["HOME"]) / "inner.zsh"
    inner.write_text(
        """
autoload -Uz compinit && compinit -u -d "$HOME/.zcompdump"
eval "$(<$SCRIPT)"
zstyle ':completion:*' menu no
compadd() {
  local -a shown
  builtin compadd -O shown "$@" 2>/dev/null
  (( $#shown )) && print -rl -- "${(@)shown}" >> "$FOUND"
  builtin compadd "$@"
}
bindkey '^I' complete-word
done_now() { print -r -- . > "$FOUND.done"; zle -I; exit }
zle -N done_now
bindkey '^X' done_now
"""
    )
    found = Path(environment["HOME"]) / "found"
    outer = """
zmodload zsh/zpty
zpty -b shell 'zsh -f -i'
zpty -w shell 'source $HOME/inner.zsh; print -r loaded'
zpty -m -r shell text '*loaded*' ; zpty -m -r shell text '*loaded*'
zpty -n -w shell "$LINE"$'\\t'$'\\x18'
for n in {1..800}; do [[ -e "$FOUND.done" ]] && break; zpty -r -t shell text; sleep 0.05; done
zpty -d shell
"""
    for left in (found, found.with_name("found.done")):
        left.unlink(missing_ok=True)
    subprocess.run(
        ["zsh", "-f", "-c", outer],
        env={**environment, "LINE": " ".join(words), "FOUND": str(found), "TERM": "dumb"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert found.with_name("found.done").exists(), "zsh did not come to the end"
    return set(found.read_text().split("\n")) - {""} if found.exists() else set()


ASK = {"bash": ask_bash, "zsh": ask_zsh, "fish": ask_fish}


@pytest.fixture(params=ASK)
def complete(request: pytest.FixtureRequest, cli: Cli, tmp_path: Path) -> Complete:
    """``complete("status", "2026")``: what a Tab behind these words offers."""
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(cli("completion", shell).out)
    home = tmp_path / "home"
    data = home / ".local/share/dlperf-tui"
    data.mkdir(parents=True)
    (data / "campaigns").symlink_to(cli.campaigns)
    environment = {**os.environ, "HOME": str(home), "SCRIPT": str(script)}

    def offered(*words: str) -> set[str]:
        return ASK[shell](["dlperf-tui", *words], environment)

    return offered


def starting(names: set[str], start: str) -> set[str]:
    return {name for name in names if name.startswith(start)}


def test_commands_options_and_choices_are_offered(complete: Complete) -> None:
    assert complete("comp") >= {"compare", "completion"}
    assert "--repeats" in complete("run", "--rep")
    assert starting(complete("report", "x", "--layout", "p"), "p") == {"pivot"}
    assert starting(complete("campaigns", "p"), "p") == {"prune"}
    assert "--older-than" in complete("campaigns", "prune", "--o")


def test_campaigns_are_offered_by_their_names(
    complete: Complete, campaign: Campaign, cli: Cli, tmp_path: Path
) -> None:
    for name in ("2026-11-21-one", "2026-11-22-two", "baseline"):
        campaign(name, planned("a"))
    (cli.campaigns / "2026-no-campaign").mkdir()
    dated = {"2026-11-21-one", "2026-11-22-two"}
    for words in (["status"], ["logs"], ["campaigns", "rm"], ["compare", "baseline"], ["report"]):
        assert starting(complete(*words, "2026"), "2026") == dated, words
    assert "baseline" in complete("resume", "")
    elsewhere = tmp_path / "elsewhere" / "third"
    elsewhere.mkdir(parents=True)
    (elsewhere / "events.jsonl").write_text("")
    found = complete("--campaigns", str(elsewhere.parent), "status", "t")
    assert starting(found, "t") == {"third"}


def test_profiles_are_offered_those_of_the_operator_too(complete: Complete, tmp_path: Path) -> None:
    mine = tmp_path / "home/.config/dlperf-tui/profiles"
    mine.mkdir(parents=True)
    (mine / "file.toml").write_text('# mine\nname = "torch-mine"\nframework = "F"\n')
    found = complete("run", "-p", "torch-")
    assert found >= {"torch-resnet50", "torch-gpt", "torch-mine"}
    assert "file" not in complete("run", "-p", "fi")


@pytest.mark.parametrize("name", ["torch-resnet50", "ngc-tensorflow-resnet50", "torch-gpt"])
def test_cases_and_values_are_those_of_the_profile_on_the_line(
    complete: Complete, name: str
) -> None:
    profile = Catalog.load().get(name)
    cases, (first, *_) = {*profile.matrix.cases}, profile.parameters
    values = {f"{first}={scalar_text(one)}" for one in profile.parameters[first].choices}
    for profile_words in (["-p", name], ["--profile", name]):
        assert starting(complete("run", *profile_words, "--case", "1"), "1") == starting(cases, "1")
        assert starting(complete("run", *profile_words, "--set", first), f"{first}=") == values
    assert not starting(complete("run", "--case", "1"), "1")


def test_bash_takes_a_value_apart_and_what_is_behind_its_name_is_offered(
    complete: Complete, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["complete"] != "bash":
        return
    name, values = "batch_size", ("--set", "batch_size", "=")
    choices = Catalog.load().get("torch-resnet50").parameters[name].choices
    words = {scalar_text(one) for one in choices}
    assert complete("run", "-p", "torch-resnet50", *values) == words
    assert complete("run", "-p", "torch-resnet50", *values, "1") == starting(words, "1")


def test_nothing_is_offered_where_there_is_nothing(complete: Complete) -> None:
    assert not starting(complete("status", "zzz"), "zzz")


def test_a_shell_that_is_not_known_is_one_line(cli: Cli) -> None:
    assert "there is no 'tcsh', choose from bash, zsh, fish" in cli.complaint("completion", "tcsh")
    assert "did you mean 'fish'?" in cli.complaint("completion", "fsh")
