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
from tui.cli import main

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
