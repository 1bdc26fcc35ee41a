"""Patterns that backtracking would never be done with, from the command line to a live run."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench
from tests.support.waiting import wait_until

NESTED = "'iter (?:[a-z]+)+, .*samples/s: (?P<value>(?:\\d+|[\\d.]+)*)$'"
KILLER = "iter " + "a" * 50_000 + " samples/s: " + "1" * 10_000 + "?"

PROFILE = f"""
name = "nested"
framework = "test"
model = "nested"
[settings.copies]
description = "not used"
default = "x"
[matrix]
cases = ["1n1g"]
[launch]
launcher = "per_node"
stage = ["wicked.py"]
command = "python3 wicked.py"
timeout = "120s"
[measure]
reading = {NESTED}
statistic = "mean"
"""
WICKED = """
import sys, time
killer = "iter " + "a" * 50_000 + " samples/s: " + "1" * 10_000 + "?"
for step in range(int(sys.argv[1]) if sys.argv[1:] else 40):
    print(killer, flush=True)
    print("iter a, samples/s: 7.5", flush=True)
    time.sleep(0.1)
"""


@pytest.fixture
async def nested(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path, [local_host])
    (bench.profiles / "nested.toml").write_text(PROFILE)
    (bench.profiles / "wicked.py").write_text(WICKED)
    yield bench
    await bench.close()


def call(bench: Bench, *words: str, within_s: float = 60) -> tuple[int, str, str]:
    process = bench.spawn(*words)
    try:
        out, err = process.communicate(timeout=within_s)
    finally:
        process.kill()
    return process.returncode, out, err


def test_a_log_is_parsed_and_the_check_names_the_part(nested: Bench, tmp_path: Path) -> None:
    log = tmp_path / "killer.log"
    log.write_text(f"{KILLER}\n" * 20 + "iter ab, at last, samples/s: 12.5\n")
    code, out, err = call(nested, "parse", "-p", "nested", "--json", str(log))
    assert (code, json.loads(out)[0]["throughput"]) == (0, 12.5), err
    code, out, err = call(nested, "profiles", "check", "nested")
    assert code == 0, err
    assert "measure.reading: nested quantifier (?:[a-z]+)+: " in out


def test_a_pattern_that_nothing_can_bound_is_refused_in_one_line(nested: Bench) -> None:
    file = nested.profiles / "nested.toml"
    file.write_text(PROFILE.replace("(?:[a-z]+)+,", "(?:[a-z]+)+(?=,)"))
    code, out, err = call(nested, "plan", "-p", str(file))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "nested.toml:" in err
    assert "nested quantifier (?:[a-z]+)+" in err
    assert "a lookaround (?=…)" in err


def test_a_live_run_is_measured_and_left_and_taken_up_again(nested: Bench) -> None:
    process = nested.spawn("run", "-p", "nested")
    try:
        wait_until(lambda: list(nested.campaigns.glob("*/logs/**/*.log")))
        [log] = nested.campaigns.glob("*/logs/**/*.log")
        wait_until(lambda: log.stat().st_size > 200_000)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 3, err
    assert time.monotonic() - asked < 30, "whatever the log holds, Ctrl-C is heard"
    code, out, err = call(nested, "resume", str(nested.campaign), "--json")
    assert code == 0, err
    [run] = json.loads(out)["runs"]
    assert (run["state"], run["throughput"]) == ("succeeded", 7.5)
    nested.nothing_is_left()
