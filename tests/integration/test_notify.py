"""The command of [notify] hears everything once, although the program is killed again and again."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from backends.campaign.record.journal import read_events
from backends.campaign.record.state import fold
from backends.inventory.host_entry import Host
from backends.inventory.notify_settings import NotifySettings
from tests.support.campaigns import Bench
from tests.support.waiting import until

SOME_FAIL = "sys.exit(os.environ['DLPERF_RUN_ID'].rpartition('-a')[0][-1] in '24')"


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


def listen(bench: Bench, *keys: str) -> Path:
    """Where the command writes what it hears, a line each."""
    heard = bench.directory / "heard"
    words = ["sh", "-c", 'cat >> "$0"', str(heard)]
    lines = ["[notify]", f"command = {json.dumps(words)}", *keys]
    bench.inventory.write_text(bench.inventory.read_text() + "\n".join(["", *lines, ""]))
    return heard


def events_of(heard: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in heard.read_text().splitlines()]


def test_every_occasion_is_heard_once_although_who_tells_is_killed(bench: Bench) -> None:
    heard = listen(bench, 'on = ["end", "failure"]')
    dice = random.Random(7)
    words = bench.steady_words("1n1g", lines=3, every=0.05, after=SOME_FAIL)
    process = bench.spawn("run", *words, "--repeats", "5")
    deadline = time.monotonic() + 240
    for _ in range(6):
        try:
            process.communicate(timeout=dice.uniform(1, 6))
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        path = next(iter(bench.campaigns.glob("*/events.jsonl")), None)
        again = ("run", *words, "--repeats", "5") if path is None else None
        name = path.parent.name if path else ""
        process = bench.spawn(*(again or ("resume", name, "--take-over")))
    out, err = process.communicate(timeout=max(1.0, deadline - time.monotonic()))
    state = fold(read_events(bench.campaign / "events.jsonl"))
    assert state.finished, (out, err)
    ids = [event["id"].partition("/")[2] for event in events_of(heard)]
    expected = {f"failure:{run.run_id}" for run in state.latest_attempts() if run.reason}
    assert sorted(ids) == sorted({*expected, f"end:{len(state.runs)}"})
    assert len(expected) == 2


def test_without_notify_nothing_is_journaled(bench: Bench) -> None:
    process = bench.spawn("run", *bench.steady_words("1n1g", lines=3, every=0))
    process.communicate(timeout=120)
    assert b'"Told"' not in (bench.campaign / "events.jsonl").read_bytes()


async def test_a_retry_while_the_end_is_told_is_done_and_ends_anew(bench: Bench) -> None:
    heard, go_on = bench.directory / "heard", bench.directory / "go-on"
    script = f"cat >> {heard}; until [ -e {go_on} ]; do sleep 0.05; done"
    settings = NotifySettings(command=("sh", "-c", script), on=("end",))
    bench.known = replace(bench.known, notify=settings)
    fails_once = "sys.exit(os.environ['DLPERF_RUN_ID'].endswith('-a1'))"
    controller = await bench.start("1n1g", lines=3, every=0, after=fails_once)
    await until(lambda: heard.exists() and "end:1" in heard.read_text(), what="the end is told")
    controller.retry(next(iter(controller.state.runs)))
    go_on.touch()
    await controller.wait()
    ids = [event["id"].partition("/")[2] for event in events_of(heard)]
    assert ids == ["end:1", "end:2"]
    assert [str(run.state) for run in controller.state.runs.values()] == ["failed", "succeeded"]
