"""Who resumes a campaign whose program was killed has it said with the results."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backends.campaign.record import journal
from backends.campaign.record.journal import last_time
from backends.campaign.record.lock import FILE_NAME
from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench
from tests.support.processes import kill
from tests.support.waiting import until


@pytest.fixture
def bench(tmp_path: Path, local_host: Host) -> Bench:
    return Bench(tmp_path, [local_host])


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "ended"])
async def test_when_nobody_watched_is_said_where_the_program_was_killed(
    bench: Bench, killed: bool
) -> None:
    console = bench.spawn("run", *bench.steady_words("1n1g", lines=20))
    work = Path(bench.hosts[0].work_dir)
    await until(lambda: any(work.glob("runs/*/supervisor")))
    if killed:
        kill(console.pid)
    console.wait()
    lock = bench.campaign / FILE_NAME
    if killed:  # as where more has happened since it gave a sign of itself
        os.utime(lock, (lock.stat().st_mtime - 60,) * 2)
    last = last_time(bench.campaign / journal.FILE_NAME)
    assert last is not None
    resumed = bench.spawn("resume", str(bench.campaign))
    _, err = resumed.communicate(timeout=60)
    assert resumed.returncode == 0, err
    notes = json.loads((bench.campaign / "results.json").read_text()).get("notes", [])
    report = (bench.campaign / "report.md").read_text()
    for text in (report, *(note["text"] for note in notes)):
        assert (f"(pid {console.pid}) was killed or lost" in text) == killed
    assert len(notes) == killed
    began = f"; from {datetime.fromtimestamp(last, UTC):%Y-%m-%d %H:%M:%S} to "
    assert all(began in note["text"] for note in notes)
