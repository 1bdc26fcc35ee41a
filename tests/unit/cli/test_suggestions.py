"""What was mistyped: one line that names what may have been meant; and an example in every help."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from profiles.case_tag import parse_tag
from profiles.errors import SelectionError
from profiles.nearest import did_you_mean
from tests.unit.cli.conftest import FINISHED, Cli, planned, succeeded
from tui.cli import main
from tui.cli.arguments import CommandParser, build_parser
from tui.cli.commands import COMMANDS, command_file

CAMPAIGN_FIRST = ("report", "logs", "replay", "resume", "retry", "repeat", "cancel", "compare")


@pytest.mark.parametrize("words", [*CAMPAIGN_FIRST, "campaigns rm", "campaigns tag"])
@pytest.mark.parametrize("behind", [False, True])
def test_without_a_campaign_the_newest_is_named(
    words: str, behind: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--campaigns", str(tmp_path)]
    first, *rest = words.split()
    asked = [first, *where, *rest] if behind else [*where, first, *rest]
    assert main(asked) == 2
    assert "the newest" not in capsys.readouterr().err
    figures = 'framework = "F"\nmodel = "M"\nfigures = [{ case = "1n1g", throughput = [5.0] }]\n'
    (tmp_path / "figures.toml").write_text(figures, encoding="utf-8")
    imported = ["import", str(tmp_path / "figures.toml"), "-o", str(tmp_path / "only")]
    assert main([*where, *imported]) == 0
    capsys.readouterr()
    assert main(asked) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"; the newest is only; see 'dlperf-tui {words} --help'" in line
    (tmp_path / "only").rename(tmp_path / "only\x1b]0;x\x07")
    assert main(asked) == 2
    assert "the newest is 'only" in (told := capsys.readouterr().err)
    assert told.strip().isprintable()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["hsots"], "did you mean 'hosts'?"),
        (["Report"], "did you mean 'report'?"),
        (["hosts", "--wdie"], "did you mean '--wide'?"),
        (["run", "-p", "cpu-smoke", "--repaets", "3"], "did you mean '--repeats'?"),
        (["run", "-p", "cpu-smoke", "--repaets=3"], "did you mean '--repeats'?"),
        (["report", "x", "--layout", "report"], "or read CAMPAIGN/report.md; see"),
        (["report", "x", "--layout", "pivto"], "did you mean 'pivot'?"),
        (["export", "2026-11-21-resnet50"], "did you mean 'report'?"),
        (["results"], "did you mean 'report'?"),
        (["cancel", "2026-11-21-resnet50", "0008"], "0008; a run is named by --run 0008; see"),
        (["unpause", "2026-11-21-resnet50", "0008"], "a run is named by --run 0008"),
        (["campaigns", "prume"], "did you mean 'prune'?"),
        (["rm", "2026-11-21-resnet50"], "no 'rm', did you mean 'campaigns rm'?"),
        (["remove", "2026-11-21-resnet50"], "no 'remove', did you mean 'campaigns rm'?"),
        (["delete", "2026-11-21-resnet50"], "no 'delete', did you mean 'campaigns rm'?"),
        (["campaigns", "remove", "2026-11-21-resnet50"], "no 'remove', did you mean 'rm'?"),
        (["campaigns", "rm", "x", "--forec"], "did you mean '--force'?"),
        (["run", "-p", "cpu-smok"], "did you mean cpu-smoke"),
        (["profiles", "cpu-smoke"], "did you mean 'profiles show cpu-smoke'?"),
        (["profiles", "cpu-smok"], "did you mean 'profiles show cpu-smoke'?"),
        (["plan", "-p", "cpu-smoke", "-c", "1x2"], "did you mean '1n2g'?"),
        (["plan", "-p", "cpu-smoke", "--hosts", "nodd1"], "unknown host 'nodd1'"),
        (["status", "2026-11-21-resnet05"], "did you mean '2026-11-21-resnet50'?"),
        (["run", "cpu-smoke"], "did you mean '-p cpu-smoke'?"),
        (["plan", "cpu-smok", "--repeats", "3"], "did you mean '-p cpu-smoke'?"),
        (["report", "x", "--json"], "did you mean '--format json'?"),
        (
            ["run", "-p", "cpu-smoke", "--hosts", "a,b", "--dry-run"],
            "--dry-run; 'dlperf-tui plan' says what would run",
        ),
        (["run", "-p", "cpu-smoke", "--dry-run"], "'dlperf-tui plan' says what would run"),
        (["sweep", "--json"], "--json is of hosts, profiles, "),
        (["history", "nightly"], "nightly: is a tag, no campaign; say --tag nightly"),
        (["logs", "1", "2026-11-21-resnet50"], "dlperf-tui logs 2026-11-21-resnet50 1"),
        (
            ["campaigns", "tag", "good", "2026-11-21-resnet50"],
            "the campaign stands first: dlperf-tui campaigns tag 2026-11-21-resnet50 good",
        ),
        (
            ["campaigns", "note", "good one", "2026-11-21-resnet50"],
            "dlperf-tui campaigns note 2026-11-21-resnet50 'good one'",
        ),
        (["profiles", "show", "cpu-smoke", "--json"], "--json: is of the list"),
    ],
)
def test_a_mistyped_word_is_met_with_what_is_near(
    cli: Cli, campaign: Callable[..., Path], words: list[str], says: str
) -> None:
    campaign("2026-11-21-resnet50", planned("a"), succeeded("a"), FINISHED)
    cli("campaigns", "tag", "2026-11-21-resnet50", "nightly")
    line = cli.complaint(*words)
    assert says in line
    assert line.startswith("dlperf-tui")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("-p X", "run -p X"),
        ("-pX", "run -pX"),
        ("--profile X", "run --profile X"),
        ("--profile=X --json", "run --profile=X --json"),
        ("--campaigns D --case 1n1g", "--campaigns D run --case 1n1g"),
        ("-p X plan -c 1n1g", "plan -p X -c 1n1g"),
        ("--readonly --watch", "--readonly status --watch"),
    ],
)
def test_an_option_without_its_command_is_met_with_the_command_that_was_meant(
    cli: Cli, words: str, meant: str
) -> None:
    line = cli.complaint(*words.split())
    assert line.startswith("dlperf-tui: ")
    assert f"did you mean 'dlperf-tui {meant} --campaigns" in line


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_before_its_command_is_sent_behind_it(cli: Cli, command: str) -> None:
    parser = CommandParser(prog="x")
    common = build_parser()._option_string_actions
    command_file(command).add(parser)
    for option in parser._option_string_actions:
        if option not in common:
            line = cli.complaint(option, command)
            assert f"did you mean 'dlperf-tui {command} {option} --campaigns" in line, option


def test_an_option_is_not_taken_for_one_that_begins_alike(cli: Cli) -> None:
    """--profile X would have been --profile-dir X."""
    assert "unrecognized arguments: --profile" in cli.complaint("status", "--profile", "X")


@pytest.mark.parametrize("option", ["--inventory", "--profile-dir", "--readonly", "--engine"])
def test_an_option_before_any_command_that_is_written_wrong_is_named_itself(
    cli: Cli, option: str
) -> None:
    for at in range(4, len(option)):
        wrong = option[:at] + option[at + 1 :]
        for words in ([wrong, "x"], [wrong, "x", "hosts"], [wrong, "status"]):
            line = cli.complaint(*words)
            assert f"unrecognized arguments: {wrong}, did you mean '{option}'?" in line
    assert "did you mean" not in cli.complaint("-Z", "x")


def test_several_hosts_are_one_word(cli: Cli) -> None:
    for more in (["b"], ["b", "c[1-2]"]):
        told = cli.complaint("plan", "-p", "cpu-smoke", "--hosts", "a", *more, "--json")
        meant = shlex.quote(",".join(["a", *more]))
        assert f"unrecognized arguments: {' '.join(more)}, did you mean '--hosts {meant}'?" in told
    assert "did you mean" not in cli.complaint("plan", "--hosts", "a", "-p", "cpu-smoke", "zzz")


@pytest.mark.parametrize("option", ["--zzz", "-z", "--zzz=1"])
def test_an_option_is_not_taken_for_a_host(cli: Cli, option: str) -> None:
    for more in ([option], ["b", option], [option, "b"]):
        line = cli.complaint("run", "-p", "cpu-smoke", "--hosts", "a", *more)
        assert "did you mean '--hosts" not in line


def test_what_is_near_nothing_suggests_nothing_and_lists_what_there_is(cli: Cli) -> None:
    assert "did you mean" not in cli.complaint("zzz")
    assert "choose from init, hosts, profiles" in cli.complaint("zzz")
    assert "did you mean" not in cli.complaint("hosts", "--zzz")
    assert "did you mean" not in cli.complaint("status", "zzz")


def test_a_command_answers_for_its_own_options(cli: Cli) -> None:
    line = cli.complaint("run", "-p", "cpu-smoke", "--frobnicate")
    assert line.startswith("dlperf-tui run: ")
    assert line.endswith("see 'dlperf-tui run --help'")


@pytest.mark.parametrize(
    ("text", "meant"),
    [("2x8", "2n8g"), ("2n8", "2n8g"), ("n2g4", "2n4g"), ("8", "1n8g"), ("2N8gpus", "2n8g")],
)
def test_a_case_is_guessed_from_its_numbers(text: str, meant: str) -> None:
    with pytest.raises(SelectionError, match=f"did you mean '{meant}'"):
        parse_tag(text)


@pytest.mark.parametrize("text", ["", "x", "0n1g", "1n0g", "1n2g3", "9" * 40, "99999999n1"])
def test_what_has_no_likely_numbers_is_not_guessed(text: str) -> None:
    with pytest.raises(SelectionError) as told:
        parse_tag(text)
    assert "did you mean" not in str(told.value)


def test_names_are_near_without_regard_to_case() -> None:
    assert did_you_mean("NODE1", ["node1", "login"]) == ", did you mean 'node1'?"
    assert did_you_mean("x", []) == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_in_every_help_is_a_call_that_the_program_takes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out.partition("example:\n")[2]
    assert [line.strip() for line in said.splitlines()] == [
        line.strip() for line in COMMANDS[name].example.splitlines()
    ]
    for line in said.splitlines():
        program, *words = shlex.split(line)
        assert (program, words[0]) == ("dlperf-tui", name)
        build_parser().parse_args(words)


@pytest.mark.parametrize("action", ["ls", "mv", "rename", "rm", "prune", "tag", "note"])
def test_so_is_that_of_everything_that_is_done_with_campaigns(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaigns", action, "--help"]) == 0
    said = capsys.readouterr().out
    program, *words = shlex.split(said.partition("example:\n")[2])
    assert [program, *words[:2]] == ["dlperf-tui", "campaigns", action]
    build_parser().parse_args(words)


def test_the_program_shows_an_example_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    build_parser().parse_args(shlex.split(said.partition("example: ")[2])[1:])


def test_a_number_that_is_none_is_told_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "x", "-n", "many"]) == 2
    assert capsys.readouterr().err == (
        "dlperf-tui logs: argument -n/--lines: 'many' is no whole number; see 'dlperf-tui logs "
        "--help'\n"
    )


@pytest.mark.parametrize(
    ("word", "meant"),
    [("tag", "campaigns tag"), ("prune", "campaigns prune"), ("bash", "completion bash")],
)
def test_a_word_that_stands_behind_a_command_is_said_with_it(
    cli: Cli, word: str, meant: str
) -> None:
    line = cli.complaint(word, "c")
    assert f"there is no {word!r}, did you mean {meant!r}? See " in line


def test_another_word_is_not_suggested() -> None:
    """A slip of the fingers changes or swaps a letter; "export" is a word of its own."""
    commands = list(COMMANDS)
    assert did_you_mean("export", commands) == ""
    for name in (name for name in commands if len(name) > 3):
        for place in range(1, len(name) - 1):
            swapped = f"{name[:place]}{name[place + 1]}{name[place]}{name[place + 2 :]}"
            assert did_you_mean(swapped, [name]) == f", did you mean {name!r}?"
            assert did_you_mean(name[:place] + name[place + 1 :], [name])


def test_a_path_that_leads_nowhere_is_met_with_what_lies_beside_it(
    cli: Cli, campaign: Callable[..., Path], tmp_path: Path
) -> None:
    for name in ("resnet50-graphs", "resnet50-tf32", "gpt"):
        campaign(name)
    other = tmp_path / "elsewhere"
    cli.campaigns.rename(other)
    both = f"did you mean {other}/resnet50-graphs or {other}/resnet50-tf32?"
    assert both in cli.complaint("status", other / "resnet50")
    assert f"did you mean {other}/gpt?" in cli.complaint("compare", other / "gtp", "x")
    assert "did you mean" not in cli.complaint("status", other / "bert")


def test_profiles_are_one_document(cli: Cli) -> None:
    found = {one["name"]: one for one in cli.document("profiles")}
    assert found["cpu-smoke"]["framework"] == "Python"
    assert "1n2g" in found["cpu-smoke"]["cases"]


def test_where_there_is_no_such_campaign_those_that_there_are_are_named(
    cli: Cli,
) -> None:
    def said() -> str:
        return cli.complaint("status", "zzz")

    assert "none is there, --campaigns names another directory" in said()
    for number in range(5):
        (cli.campaigns / f"c{number}").mkdir(parents=True)
        (cli.campaigns / f"c{number}" / "events.jsonl").touch()
    assert "there are c4, c3, c2, 'dlperf-tui campaigns ls' lists all 5; a path works" in said()


def test_the_whole_report_is_no_layout_but_has_a_command(cli: Cli) -> None:
    line = cli.complaint("report", "some-campaign", "--layout", "report")
    assert "'report': for the whole report write '--format html' instead of '--layout rep" in line
    assert "choose from" not in line


@pytest.mark.parametrize(
    "words",
    [
        "demo --speed x",
        "replay C --speed x",
        "repeat C x",
        "report C --decimals x",
        "parse --gpus x",
    ],
)
def test_what_is_no_number_is_said_in_plain_words(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"'x' is no {'number' if '--speed' in words else 'whole number'}; see" in line


@pytest.mark.parametrize("command", ["completion", "import", "logs", "parse", "repeat", "replay"])
def test_what_is_to_be_named_is_asked_for_in_capitals(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--campaigns", str(tmp_path), command]) == 2
    asked = capsys.readouterr().err.partition("required: ")[2].partition(";")[0]
    names = [name for name in asked.split(", ") if not name.startswith("-")]
    assert names
    assert names == [name.upper() for name in names]
