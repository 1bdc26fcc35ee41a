"""A campaign that nobody goes on with, of real hosts or of a demo: no command shows it as if it was
at work, and what is proposed is what works."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.campaign.folder.adopt import placed
from backends.campaign.folder.directory_identity import check_place, place_of
from backends.campaign.record import events as ev
from backends.use_cases import Workspace
from tests.unit.cli.conftest import BEGUN, FINISHED, Cli, append, assigned, planned, succeeded
from tests.unit.cli.test_campaigns_command import AWAY
from tui.cli import main
from tui.cli.arguments import build_parser
from tui.cli.shared.options import open_workspace

Campaign = Callable[..., Path]

COMMAND = re.compile(r"dlperf-tui ((?:[^\s;,']|'[^']*')+(?: (?:[^\s;,']|'[^']*')+)*)")
"""As a shell has it, up to what the sentence says further."""
READ = (
    ("status",),
    ("status", "CAMPAIGN"),
    ("status", "CAMPAIGN", "--line"),
    ("status", "CAMPAIGN", "--watch"),
    ("status", "--watch"),
    ("logs", "CAMPAIGN"),
    ("logs", "CAMPAIGN", "-f"),
    ("logs", "CAMPAIGN", "a", "-f"),
    ("campaigns", "ls"),
    ("report", "CAMPAIGN"),
    ("history", "CAMPAIGN"),
)
CHANGE = (
    ("pause",),
    ("unpause",),
    ("cancel",),
    ("retry",),
    ("repeat", "1"),
    ("resume",),
    ("resume", "--detach"),
)
AT_WORK = re.compile(r"#\d+ (?:starting|running|cancelling)(?! when)\b|more at work|\bETA\b")


def check_works(workspace: Workspace, words: list[str], path: Path) -> None:
    """Raise where the command refuses; one that names no campaign is about that of ``path``."""
    arguments = build_parser().parse_args(words)
    if arguments.command == "demo":
        state = workspace.state(path)
        where = arguments.campaigns or workspace.campaigns_dir
        assert Path(where).expanduser() == path.parent
        assert state.simulated
        assert not state.finished
        check_place(path, state)
        return
    found = workspace.find_campaign(arguments.campaign)
    if arguments.command == "resume":
        state = workspace.state(found)
        workspace._starter.refuse_other_world(found, state)
        if not arguments.adopt:
            check_place(found, state)


def proposed(said: str) -> list[list[str]]:
    lines = [line for line in said.splitlines() if not line.startswith("or by cron")]
    found = [shlex.split(one) for line in lines for one in COMMAND.findall(line)]
    return [words for words in found if words[0] in ("demo", "resume", "logs", "unpause")]


def left(campaign: Campaign, *, simulated: bool, copy: bool) -> Path:
    path = campaign("night", planned("a"), planned("b", 2), planned("c", 3), simulated=simulated)
    begun = [assigned("a"), assigned("b", "node2"), ev.RunLaunched(t=BEGUN + 2, run_id="a")]
    (path / "logs").mkdir()
    (path / "logs" / "a.log").write_text("of a\n")
    append(path, placed(place_of(path), BEGUN), *begun)
    if copy:
        shutil.copytree(path, path.with_name("copy"))
        return path.with_name("copy")
    return path


@pytest.mark.parametrize("words", READ, ids=" ".join)
@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("usual", [False, True])
def test_it_is_not_shown_as_if_it_was_at_work_and_what_is_proposed_works(
    cli: Cli,
    campaign: Campaign,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    simulated: bool,
    copy: bool,
    usual: bool,
) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    for module in ("tui.cli.shared.watching", "tui.cli.logs"):
        monkeypatch.setattr(f"{module}.time.sleep", interrupted)
    if usual:
        monkeypatch.setattr("backends.use_cases.default_campaigns_dir", lambda: cli.campaigns)
    path = left(campaign, simulated=simulated, copy=copy)
    given = [path.name if word == "CAMPAIGN" else word for word in words]
    waits = {"--watch", "-f"} & {*words}
    answer = cli(*given, code=3 if waits else 0)
    said = f"{answer.out}\n{answer.err}"
    assert not AT_WORK.search(said), said
    arguments = build_parser().parse_args(["--campaigns", str(cli.campaigns), "status"])
    workspace = open_workspace(arguments)
    for command in proposed(said):
        check_works(workspace, command, path)
    if "logs" in words and waits:
        assert bool(proposed(said)) is not (simulated and copy)


@pytest.mark.parametrize("words", CHANGE, ids=" ".join)
@pytest.mark.parametrize("end", ["finished", "ended", "left"])
@pytest.mark.parametrize("copy", [False, True])
def test_of_a_demo_that_was_left_a_command_says_what_goes_on_or_that_nothing_is_left(
    cli: Cli, campaign: Campaign, words: tuple[str, ...], end: str, copy: bool
) -> None:
    path = left(campaign, simulated=True, copy=copy)
    failed = ev.RunFailed(t=BEGUN + 3, run_id="c", reason="its demo was left", cleanup=AWAY)
    if end != "left":
        append(path, succeeded("a"), succeeded("b"), failed, *[FINISHED] * (end == "finished"))
    before = (path / "events.jsonl").read_bytes()
    verb, *more = words
    main([verb, path.name, *more, "--campaigns", str(cli.campaigns)])
    [said] = cli.capsys.readouterr().err.splitlines()
    assert (path / "events.jsonl").read_bytes() == before
    arguments = build_parser().parse_args(["--campaigns", str(cli.campaigns), "status"])
    if "go on with it in" in said:
        [command] = proposed(said)
        check_works(open_workspace(arguments), command, path)
    nothing = {
        "pause": "no run is left to start",
        "unpause": "no run is paused",
        "cancel": "nothing to cancel",
    }
    if end != "left" and verb in nothing and not copy:
        assert nothing[verb] in said
    if end == "finished" and not copy:
        assert any(word in said for word in ("nothing", "no run")), said
