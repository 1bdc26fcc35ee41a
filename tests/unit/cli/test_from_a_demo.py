"""``--from`` with a campaign whose hosts were made up."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from backends.campaign.plan.campaign_request import Request, write_request
from backends.campaign.plan.selection import REQUEST_NAME, Selection
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, Journal
from backends.use_cases import default_campaigns_dir
from tui.cli import main
from tui.cli.arguments import build_parser
from tui.cli.shared.options import open_workspace
from tui.leaving import finished_words
from tui.screens.quit_question import detached_words

SETTINGS = ("benchmark_root", "data_root")


def campaign(path: Path, *, simulated: bool) -> Path:
    path.mkdir()
    write_request(path / REQUEST_NAME, Request(Selection(profiles=("oneflow-resnet50",)), ()))
    with closing(Journal(path / FILE_NAME)) as journal:
        journal.append(ev.CampaignCreated(t=1.0, campaign=path.name, simulated=simulated))
        asyncio.run(journal.commit())
    return path


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize("given", ["", REQUEST_NAME])
def test_what_was_simulated_is_done_again_in_a_demo_and_no_setting_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, given: str
) -> None:
    path = campaign(tmp_path / "night", simulated=True) / given
    assert main([command, "--from", str(path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "SIMULATED" in line
    assert "'dlperf-tui demo'" in line
    assert not any(setting in line for setting in SETTINGS)


def test_who_has_hosts_for_it_and_who_measured_it_is_asked_for_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = tmp_path / "hosts.toml"
    hosts.write_text('[[hosts]]\nname = "here"\ntransport = "local"\n')
    words = ["--inventory", str(hosts), "plan", "--from"]
    simulated = campaign(tmp_path / "simulated", simulated=True)
    measured = campaign(tmp_path / "measured", simulated=False)
    for more in ([str(simulated), "--hosts", "here"], [str(measured)]):
        assert main([*words, *more]) == 2
        assert all(setting in capsys.readouterr().err for setting in SETTINGS[:1])


@pytest.mark.parametrize("simulated", [True, False])
@pytest.mark.parametrize("usual", [True, False])
def test_status_says_how_what_was_left_goes_on_wherever_it_lies(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    simulated: bool,
    usual: bool,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    directory = default_campaigns_dir() if usual else tmp_path / "other"
    directory.mkdir(parents=True)
    path = campaign(directory / "night", simulated=simulated)
    main(["--campaigns", str(directory), "status", "night"])
    demo = "dlperf-tui demo" + f" --campaigns {directory}" * (not usual)
    resume = f"dlperf-tui resume {'night' if usual else path}"
    said = " ".join(capsys.readouterr().err.split())
    assert f"go on with it{' in: ' + demo if simulated else ': ' + resume}" in said
    main(["--campaigns", str(directory), "status"])
    of_all = " ".join(capsys.readouterr().err.split())
    assert (f"go on with it: {resume}" in of_all) is not simulated
    assert (" --campaigns " in said.partition("go on with it in")[2]) is (simulated and not usual)
    if simulated:
        parsed = build_parser().parse_args(["--campaigns", str(directory), "status"])
        left = open_workspace(parsed).load(path)
        for told in (detached_words(left), finished_words(left)):
            assert f"  {demo}" in told.splitlines(), "the console says the same command"
        monkeypatch.setattr("sys.argv", ["dlperf-tui", "demo", "--speed", "20"])
        assert f"  {demo} --speed 20" in finished_words(left).splitlines()
        assert f"else O, then r, in:\n  {demo} --speed 20" in detached_words(left)
        assert main(["--campaigns", str(directory), "resume", "night"]) == 2
        assert f"dlperf-tui demo --campaigns {directory}\n" in capsys.readouterr().err
