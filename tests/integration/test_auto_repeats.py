"""Repeats until it is known, through the command line, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.program import Program, run_program

PROFILE = """
name = "scatter"
framework = "sh"
model = "scatter"
[matrix]
cases = ["1n1g", "1n2g"]
[launch]
launcher = "per_node"
command = '''sh -c "for i in 1 2 3; do echo iter $i, samples/s: $((1000 + SIGN * REPEAT)); done"'''
[measure]
reading = 'iter (?P<step>\\d+), samples/s: (?P<value>[\\d.]+)'
statistic = "mean"
"""
INVENTORY = '[[hosts]]\nname = "here"\ntransport = "local"\nslots = 2\n'


@pytest.fixture
def dlperf(tmp_path: Path):
    (tmp_path / "scatter.toml").write_text(
        PROFILE.replace("SIGN", "{gpus}").replace("REPEAT", "({repeat} % 2 * 2 - 1)"),
        encoding="utf-8",
    )
    leases = f'lease_dir = "{tmp_path}/leases"\n'  # other tests may have this machine
    (tmp_path / "hosts.toml").write_text(INVENTORY + leases, encoding="utf-8")

    def dlperf(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(tmp_path)}
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            environment.pop(name, None)
        done = run_program(words, env=environment, timeout=120)
        assert done.returncode == code, f"{done.returncode}: {done.stdout}\n{done.stderr}"
        return done

    def select(*words: str, command: str = "run") -> tuple[str, ...]:
        files = ("-p", str(tmp_path / "scatter.toml"), "--inventory", str(tmp_path / "hosts.toml"))
        return (command, *files, *words)

    dlperf.select = select  # type: ignore[attr-defined]
    return dlperf


def test_repeats_stop_where_the_interval_is_narrow_and_go_on_where_it_is_not(dlperf):
    """The repeats alternate: of one device by 0.1%, of two by 0.2%."""
    words = dlperf.select("-r", "auto:0.15%", "--max-repeats", "11", "--json")
    document = json.loads(dlperf(*words).stdout)
    one, two = document["results"]
    assert (one["succeeded"], one["stopped"]) == (8, "reached")
    assert (two["succeeded"], two["stopped"]) == (11, "max_repeats")
    assert one["half_width"] <= 0.0015 < two["half_width"]
    campaign = Path(document["path"])
    report = (campaign / "report.md").read_text(encoding="utf-8")
    assert "- 1n1g: 8 repeats, ±0.10% of the median; the interval is as narrow as asked" in report
    assert "- 1n2g: 11 repeats, ±0.20% of the median; no more repeats were allowed" in report
    asked = (campaign / "campaign.toml").read_text(encoding="utf-8")
    assert 'repeats = "auto:0.15%"' in asked
    assert "max_repeats = 11" in asked
    # And again, from what was asked.
    again = dlperf("plan", "--from", str(campaign))
    assert "interval of the throughput is within ±0.15%: 6 to 11 of each case" in again.stderr, (
        again.stderr
    )


def test_plan_says_how_it_goes_on(dlperf):
    done = dlperf(*dlperf.select("-r", "auto:2%:speedup", "--budget", "2h", command="plan"))
    assert (
        "repeats go on until the 95% interval of the speedup is within ±2%: 6 to 50 of each case, "
        "within 2h00m of GPU time" in done.stderr
    )
    assert done.stdout.count("#6") == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-r", "often"), "'often' is no number of repeats"),
        (("-r", "auto:0%"), "out of range"),
        (("-r", "5", "--budget", "2h"), "--budget"),
        (("--max-repeats", "9"), "add --repeats auto"),
        (("-r", "auto", "--max-repeats", "5"), "max_repeats must be 6 to 1000"),
        (("-r", "auto", "--budget", "lots"), "not a duration"),
    ],
)
def test_wrong_repeats_are_one_line_and_start_nothing(dlperf, words: tuple[str, ...], says: str):
    done = dlperf(*dlperf.select(*words), code=2)
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_campaign_that_was_killed_between_two_looks_goes_on_by_its_rule(dlperf, tmp_path: Path):
    """kill -9 while further repeats are under way; the rule is not given again."""
    words = dlperf.select("-r", "auto:0.15%", "--max-repeats", "11", "--name", "killed")
    home = {**os.environ, "HOME": str(tmp_path)}
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        home.pop(name, None)
    campaigns = tmp_path / ".local/share/dlperf-tui/campaigns"
    running = Program(words, env=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 100
        while _ended(campaigns) < 13:  # of the first look's 12 none is left
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        running.kill()
        running.wait()
    (campaign,) = campaigns.iterdir()
    document = json.loads(dlperf("resume", str(campaign), "--json").stdout)
    assert [(r["succeeded"], r["stopped"]) for r in document["results"]] == [
        (8, "reached"),
        (11, "max_repeats"),
    ]


def _ended(campaigns: Path) -> int:
    return sum(
        journal.read_bytes().count(b'"RunSucceeded"')
        for journal in campaigns.glob("*/events.jsonl")
    )
