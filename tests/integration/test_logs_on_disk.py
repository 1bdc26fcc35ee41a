"""What counts is the file on disk: whatever somebody does to a live log, all of it ends up here."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backends.campaign.controller import CampaignController
from backends.campaign.record.state import CampaignState, RunState
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import LogDigest
from backends.transports.transport import HostUnreachableError, Problem
from profiles.errors import DlperfError
from tests.support.campaigns import Bench, finish, only_run, until_running
from tests.support.waiting import until
from tui.log_look import AGAIN_S, LogLook
from tui.session import Session


def removed(log: Path) -> None:
    log.unlink()


def edited(log: Path) -> None:
    """As ``sed -i`` does: another file takes the name."""
    subprocess.run(["sed", "-i", "s/samples/simples/", str(log)], check=True)


def truncated(log: Path) -> None:
    log.write_bytes(b"")


def cut(log: Path) -> None:
    with log.open("rb+") as file:
        file.truncate(30)


def appended_to(log: Path) -> None:
    with log.open("ab") as file:
        file.write(b"iter 9000, loss: 1.0, samples/s: 99999999\n" * 40)


def overwritten(log: Path) -> None:
    """In place and without changing its size, as a file system does after the power failed."""
    with log.open("rb+") as file:
        file.seek(8)
        file.write(bytes(16))


def replaced_by_a_directory(log: Path) -> None:
    log.unlink()
    log.mkdir()
    (log / "notes").write_text("mine")


def replaced_by_a_link(log: Path) -> None:
    target = log.with_name("precious")
    target.write_text("precious")
    log.unlink()
    log.symlink_to(target)


def replaced_by_a_pipe(log: Path) -> None:
    log.unlink()
    subprocess.run(["mkfifo", str(log)], check=True)


DEEDS = [
    removed,
    edited,
    truncated,
    cut,
    appended_to,
    overwritten,
    replaced_by_a_directory,
    replaced_by_a_link,
    replaced_by_a_pipe,
]
ENDS = {"succeeds": "pass", "fails": "sys.exit(3)", "is cancelled": "time.sleep(600)"}


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


async def started(bench: Bench, how: str) -> tuple[CampaignController, Path]:
    controller = await bench.start(lines=40, after=ENDS[how])
    await until_running(controller, readings=5)
    return controller, controller.path / only_run(controller.state).log


def whole(bench: Bench, state: CampaignState, log: Path, how: str) -> None:
    run = only_run(state)
    expected = {
        "succeeds": RunState.SUCCEEDED,
        "fails": RunState.FAILED,
        "is cancelled": RunState.CANCELLED,
    }
    assert run.state is expected[how], run.reason
    copy = bench.copies / f"{run.run_id}.{run.hosts[0]}"
    assert not log.is_symlink()
    assert log.read_bytes() == copy.read_bytes()
    assert any(log.name in text and "fetched again" in text for _, _, text in state.notes)
    assert [("fetched again" in text) for text in run.warnings] == [True]
    assert run.log_changed == run.warnings
    assert run.reading_count == 40
    assert list(run.series.values) == [100.5 + i for i in range(40)]
    if how == "succeeds":
        assert run.throughput == pytest.approx(120.5)
    bench.nothing_is_left()


async def ended_by(controller: CampaignController, bench: Bench, how: str) -> CampaignState:
    if how == "is cancelled":
        [copy] = bench.copies.iterdir()
        await until(lambda: copy.read_bytes().endswith(b"without a newline"))
        controller.cancel_all()
    return await finish(controller)


@pytest.mark.parametrize(
    ("deed", "how"),
    [  # each deed before one of the ends; before the others among the long ones
        pytest.param(
            deed, how, marks=() if (number + other) % len(ENDS) == 0 else pytest.mark.faults
        )
        for number, deed in enumerate(DEEDS)
        for other, how in enumerate(ENDS)
    ],
)
async def test_a_live_log_that_somebody_touches_is_whole_in_the_end(
    bench: Bench, deed: Callable[[Path], None], how: str
) -> None:
    controller, log = await started(bench, how)
    deed(log)
    whole(bench, await ended_by(controller, bench, how), log, how)
    if deed is replaced_by_a_directory:
        assert (log.with_name(f"{log.name}.kept-1") / "notes").read_text() == "mine"
    if deed is replaced_by_a_link:
        assert log.with_name("precious").read_text() == "precious"


@pytest.mark.parametrize("deed", DEEDS)
async def test_a_log_that_somebody_touches_while_nobody_looks_is_whole_in_the_end(
    bench: Bench, deed: Callable[[Path], None]
) -> None:
    """And no reading counts that the host never printed."""
    controller, log = await started(bench, "succeeds")
    await controller.detach()
    deed(log)
    again = await bench.workspace().resume(controller.path)
    state = await finish(again)
    if deed in (removed, truncated, cut):  # what is missing is simply fetched
        run = only_run(state)
        assert log.read_bytes() == (bench.copies / f"{run.run_id}.{run.hosts[0]}").read_bytes()
        assert run.reading_count == 40
        bench.nothing_is_left()
    elif deed in (edited, appended_to, overwritten):
        whole(bench, state, log, "succeeds")
    else:
        assert any("is kept as" in text for _, _, text in state.notes)
        run = only_run(state)
        assert log.read_bytes() == (bench.copies / f"{run.run_id}.{run.hosts[0]}").read_bytes()
        bench.nothing_is_left()


async def test_a_log_that_is_deleted_after_the_end_is_fetched_before_the_hosts_is_removed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(*_: object) -> None:
        return None

    with monkeypatch.context() as patch:
        patch.setattr("backends.campaign.run.cleanup.tidy_up", killed)
        controller = await bench.start(lines=10)
        state = await finish(controller)
    log = controller.path / only_run(state).log
    held = log.read_bytes()
    log.unlink()
    await finish(await bench.workspace().resume(controller.path))
    assert log.read_bytes() == held
    bench.nothing_is_left()


@pytest.mark.parametrize(
    ("deed", "moment"),
    [
        *((deed, "after") for deed in DEEDS),
        (overwritten, "before"),
        (removed, "after, and the answer is lost"),
    ],
)
async def test_what_is_done_to_a_log_while_the_host_removes_its_own_is_undone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, deed: Callable[[Path], None], moment: str
) -> None:
    """Then the file here is the only one there is."""
    really = RemoteHost.remove
    found: list[Path] = []

    async def remove(self: RemoteHost, run_id: str, *proof: LogDigest | None, **more: bool) -> None:
        [log] = bench.campaign.rglob("*_1.log")
        once, found[:] = not found, [log]
        if once and moment == "before":
            deed(log)
        await really(self, run_id, *proof, **more)
        if once and moment != "before":
            deed(log)
        if once and moment == "after, and the answer is lost":
            raise HostUnreachableError(bench.hosts[0].name, Problem.LOST)

    monkeypatch.setattr(RemoteHost, "remove", remove)
    state = await finish(await bench.start(lines=5))
    run, [log] = only_run(state), found
    assert run.state is RunState.SUCCEEDED
    assert not log.is_symlink()
    assert log.read_bytes() == (bench.copies / f"{run.run_id}.{run.hosts[0]}").read_bytes()
    assert any(f"{log.name} changed while" in text for _, _, text in state.notes)
    assert log.with_name(f"{log.name}.kept-1").exists() == (deed is not removed)
    bench.nothing_is_left()


async def test_a_log_that_is_cut_while_the_disk_is_full_counts_no_reading_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.campaign.run.mirror.DISK_RETRY_S", 0.2)
    controller = await bench.start(lines=60)
    await until_running(controller, readings=5)
    log = controller.path / only_run(controller.state).log
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if os.fstat(fd).st_ino == log.stat().st_ino:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        await until(lambda: any("cannot write" in text for _, _, text in controller.state.notes))
        cut(log)
    state = await finish(controller)
    run = only_run(state)
    assert log.read_bytes() == (bench.copies / f"{run.run_id}.{run.hosts[0]}").read_bytes()
    assert run.throughput == pytest.approx(sum(100.5 + i for i in range(1, 60)) / 59)
    assert run.reading_count == 60
    bench.nothing_is_left()


class Gate(ThreadPoolExecutor):
    """The threads of a file system that answers only while it is open."""

    def __init__(self, workers: int, **more: object) -> None:
        super().__init__(workers)
        self.answers = threading.Event()
        self.answers.set()
        gates.append(self)

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]  # the base's own
        def when_open():  # type: ignore[no-untyped-def]
            self.answers.wait()
            return fn(*args, **kwargs)

        return super().submit(when_open)


gates: list[Gate] = []


async def test_a_disk_that_does_not_answer_freezes_neither_heartbeat_nor_screen(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is not taken for a run that has stalled."""
    monkeypatch.setattr("backends.campaign.run.factory.ThreadPoolExecutor", Gate)
    monkeypatch.setattr("backends.campaign.controller.HEARTBEAT_S", 0.2)
    bench.profile(stall_timeout='"3s"')
    controller = await bench.start(lines=100, every=0.1)
    await until_running(controller, readings=5)
    gates[-1].answers.clear()
    signs = set()
    slowest = 0.0
    began = before = time.monotonic()
    while before - began < 8:
        await asyncio.sleep(0.01)
        assert controller.snapshot().active == 1
        signs.add((controller.path / "writer.lock").stat().st_mtime)
        now = time.monotonic()
        before, slowest = now, max(slowest, now - before)
    gates[-1].answers.set()
    assert slowest < 1.0, "nothing waits for the disk"
    assert len(signs) > 10, "the heartbeat goes on"
    state = await finish(controller)
    assert only_run(state).reason == ""
    assert any("the disk does not answer" in text for _, _, text in state.notes)
    assert bench.logs_are_exact(state, controller.path) == 1
    bench.nothing_is_left()


async def test_who_reads_the_results_is_told_that_the_log_on_the_host_was_cut(bench: Bench) -> None:
    controller, log = await started(bench, "succeeds")
    [there] = Path(bench.hosts[0].work_dir).glob("runs/*/output.log")
    truncated(there)
    state = await finish(controller)
    [told] = only_run(state).warnings
    assert f"kept as {log.name}.kept-1" in told
    assert told in (controller.path / "report.md").read_text()
    assert json.dumps(told) in (controller.path / "results.json").read_text()


async def test_the_console_that_ran_a_campaign_says_of_a_log_changed_since_what_others_say(
    bench: Bench,
) -> None:
    """And that it was renamed."""
    workspace, clock = bench.workspace(), [0.0]
    session = Session(workspace)
    session._log_look = LogLook(workspace, lambda: clock[0])
    controller = session.controller = await bench.start(workspace=workspace)
    await finish(controller)
    await controller.wait()
    await session.refresh()
    truncated(controller.path / only_run(controller.state).log)
    clock[0] += AGAIN_S
    await session.refresh()
    shown, opened = session.viewed, bench.workspace().load(controller.path)
    assert shown is not None
    assert only_run(shown.state).log_differs
    assert (shown.state.runs, shown.notes) == (opened.state.runs, opened.notes)
    controller.path.rename(controller.path.with_name("renamed"))
    with pytest.raises(DlperfError, match="it was moved"):
        await session.refresh()
    assert session.viewed is None
