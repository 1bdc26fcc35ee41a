"""A rank that all others wait for is named while the run is at work, and in what is left of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench, finish, only_run
from tests.support.waiting import until

RANKS = """
[ranks]
reading = 'own: rank (?P<rank>\\d+), step \\d+, ms: (?P<value>[\\d.]+)'
example = "own: rank 1, step 20, ms: 61.204"
scale = 0.001
"""
TELLING = (
    "[(say(b'own: rank %d, step %d, ms: %.3f"
    "\\n' % (r, s, 100 + r + (25 if r == 2 else 0))),"
    " time.sleep(0.01)) for s in range(12) for r in range(4)]; say(b'iter 99, samples/s: 1.5"
    "\\n'); time.sleep({rest})"
)


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [replace(local_host, slots=4)])
    found.profile(name="ranks")
    path = found.profiles / "ranks.toml"
    path.write_text(path.read_text() + RANKS)
    yield found
    await found.close()


async def test_a_slow_rank_is_named_while_the_run_is_at_work(bench: Bench) -> None:
    controller = await bench.start("1n4g", profile="ranks", lines=2, after=TELLING.format(rest=3))

    def named() -> bool:
        texts = [run.state_text for run in controller.snapshot().runs]
        return any(" slow on " in text for text in texts)

    await until(named)
    [view] = controller.snapshot().runs
    assert view.state_text == f"running, rank 2 26% slow on {bench.hosts[0].name}"
    run = only_run(await finish(controller))
    assert run.slow_ranks is not None
    [slow] = run.slow_ranks
    assert (slow.rank, slow.host, slow.device, slow.until) == (2, bench.hosts[0].name, None, None)
    assert slow.excess == pytest.approx(127 / 101 - 1, abs=0.02)
    assert run.started_at is not None
    assert run.started_at <= slow.since <= (run.ended_at or 0)


def test_the_command_line_tells_who_was_slow_in_json_and_in_the_report(bench: Bench) -> None:
    given = {"lines": 2, "after": TELLING.format(rest=0), "copies": bench.copies}
    words = [f"{key}={value}" for key, value in given.items()]
    process = bench.spawn("run", "-p", "ranks", "--case", "1n4g", "--json", "--set", *words)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    [run] = json.loads(out)["runs"]
    [slow] = run["slow_ranks"]
    assert (slow["rank"], slow["host"]) == (2, bench.hosts[0].name)
    assert set(slow) == {
        *("rank", "host", "device", "excess", "own_s", "usual_s", "since", "until", "between_s"),
        *("others", "steps"),
    }
    report = (bench.campaign / "report.md").read_text()
    assert f"1n4g #1: rank 2 on {bench.hosts[0].name}: own time" in report
