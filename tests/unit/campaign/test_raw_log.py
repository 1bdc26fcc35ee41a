"""The local raw log: written in a thread, in order, and never in anybody's way."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import tempfile
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.calls_in_turn import Strand
from backends.campaign.folder.raw_log_writer import BACKLOG, BLOCK, RawLog
from backends.remote.wrapper_messages import LogDigest
from tests.support.waiting import until


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[RawLog]:
    found = RawLog(tmp_path / "logs" / "a.log")
    await found.open()
    yield found
    await found.close()


def digest_of(data: bytes) -> LogDigest:
    return LogDigest(len(data), hashlib.sha256(data).hexdigest())


async def test_bytes_arrive_in_order_and_are_handed_on_once_they_are_in_the_file(
    tmp_path: Path,
) -> None:
    log = RawLog(tmp_path / "a.log")
    seen = bytearray()

    def written(data: bytes) -> None:
        seen.extend(data)
        assert log.path.read_bytes() == bytes(seen)

    assert await log.open(written) == ""
    for number in range(500):
        log.append(b"%d\n" % number)
    assert log.offset == sum(len(b"%d\n" % n) for n in range(500))
    await log.drained()
    assert bytes(seen) == log.path.read_bytes() == b"".join(b"%d\n" % n for n in range(500))
    assert log.size == log.offset == len(seen)
    assert await log.digest() == digest_of(bytes(seen))
    await log.close()
    log.append(b"late")
    assert log.path.read_bytes() == bytes(seen)


async def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"from before\n")
    log = RawLog(path)
    assert await log.open() == ""
    replayed = bytearray()
    assert await log.replay(replayed.extend) == digest_of(b"from before\n")
    log.append(b"more\n")
    await log.drained()
    assert bytes(replayed) == b"from before\n"
    assert path.read_bytes() == b"from before\nmore\n"
    await log.close()


async def test_a_full_disk_stops_the_log_at_what_fitted(
    log: RawLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if log.path.stat().st_size + len(data) <= 4:
            return write(fd, data)
        if room := 4 - log.path.stat().st_size:
            return write(fd, data[:room])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    log.append(b"123456")
    log.append(b"789")
    await log.drained()
    assert log.problem == "No space left on device"
    assert log.held_up
    assert (log.size, log.offset, log.path.read_bytes()) == (4, 4, b"1234")
    log.append(b"dropped")
    await log.drained()
    monkeypatch.setattr(os, "write", write)
    await log.reopen()
    assert not log.problem
    log.append(b"56789")
    await log.drained()
    assert log.path.read_bytes() == b"123456789"


async def test_beginning_anew_keeps_what_was_there(log: RawLog) -> None:
    for number in (1, 2, 3):
        log.append(b"%d" % number)
        await log.drained()
        assert await log.restart() == f"a.log.kept-{number}"
        assert (log.size, log.offset, log.path.read_bytes()) == (0, 0, b"")
    assert await log.restart() == "", "there is nothing to keep"
    assert [log.path.with_name(f"a.log.kept-{n}").read_bytes() for n in (1, 2, 3)] == [
        b"1",
        b"2",
        b"3",
    ]


async def test_what_is_no_file_is_set_aside_and_never_written_to(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    path = tmp_path / "a.log"
    path.symlink_to(target)
    for number, put in enumerate(
        (lambda: path.symlink_to(target), path.mkdir, lambda: os.mkfifo(path)), 1
    ):
        if number > 1:
            path.unlink()
            put()
        log = RawLog(path)
        assert await log.open() == f"a.log.kept-{number}"
        log.append(b"ours")
        await log.drained()
        assert path.read_bytes() == b"ours"
        await log.close()
    assert target.read_bytes() == b"precious"


async def test_the_digest_is_that_of_the_file_at_the_path(log: RawLog, tmp_path: Path) -> None:
    log.append(b"ours")
    await log.drained()
    log.path.rename(tmp_path / "elsewhere")
    assert await log.digest() is None
    log.path.write_bytes(b"theirs")
    assert await log.digest() == digest_of(b"theirs")
    log.path.unlink()
    log.path.symlink_to(tmp_path / "elsewhere")
    assert await log.digest() is None


async def test_a_mistake_in_a_parser_goes_to_who_appends(tmp_path: Path) -> None:
    log = RawLog(tmp_path / "a.log")

    def broken(_data: bytes) -> None:
        raise ZeroDivisionError

    await log.open(broken)
    log.append(b"x")
    with pytest.raises(ZeroDivisionError):
        await log.drained()
    with pytest.raises(ZeroDivisionError):
        log.append(b"y")
    await log.close()


async def test_a_disk_that_does_not_answer_stops_nobody(tmp_path: Path) -> None:
    """Its writes hang; the loop turns, what comes is bounded, and closing does not wait for it."""
    executor = ThreadPoolExecutor(1)
    log = RawLog(tmp_path / "a.log", executor)
    await log.open()
    answers = threading.Event()
    executor.submit(answers.wait)
    before = asyncio.get_running_loop().time()
    log.append(b"x" * 1000)
    for _ in range(BACKLOG // 1000 + 1):
        if not log.crowded:
            log.append(b"y" * 1000)
    assert log.crowded
    assert asyncio.get_running_loop().time() - before < 1.0
    assert log.offset <= BACKLOG + 1000
    assert log.size == 0
    await until(lambda: log.held_up)
    await log.close()
    answers.set()
    executor.shutdown()
    assert log.path.read_bytes() == b"x" * 1000, "what was under way when it closed is there"


async def test_what_comes_in_quick_succession_is_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: sizes.append(len(data)) or write(fd, data))
    log = RawLog(tmp_path / "a.log", collect_s=3600)
    await log.open()
    log.append(b"first\n")
    await until(lambda: log.size == 6, what="a first line, which waits for nothing")
    for _ in range(100):
        log.append(b"more\n")
        await asyncio.sleep(0)
    assert (log.size, log.offset) == (6, 506)
    await log.drained()
    assert log.path.read_bytes() == b"first\n" + b"more\n" * 100
    assert sizes == [6, 500]
    log.append(b"x" * BLOCK)
    await until(lambda: log.size == 506 + BLOCK, what="what is too much to wait")
    log.append(b"last, without a newline")
    assert log.size < log.offset
    await log.close()
    assert log.path.read_bytes().endswith(b"xlast, without a newline")


async def test_what_waits_is_written_when_its_time_has_come(tmp_path: Path) -> None:
    log = RawLog(tmp_path / "a.log", collect_s=0.05)
    await log.open()
    for number in range(3):
        log.append(b"%d" % number)
        log.append(b"%d" % number)
        await until(lambda size=2 * (number + 1): log.size == size)  # type: ignore[misc]
    await log.close()
    assert log.path.read_bytes() == b"001122"


async def test_a_log_that_begins_anew_forgets_what_waits(tmp_path: Path) -> None:
    log = RawLog(tmp_path / "a.log", collect_s=3600)
    await log.open()
    log.append(b"written")
    await until(lambda: log.size == 7)
    log.append(b"waits")
    assert await log.restart() == "a.log.kept-1"
    assert (log.size, log.offset) == (0, 0)
    log.append(b"new")
    await log.drained()
    await log.close()
    assert log.path.read_bytes() == b"new"
    assert log.path.with_name("a.log.kept-1").read_bytes() == b"written"


STEPS = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=2000),
        st.sampled_from(["turn", "wait", "drain", "settle"]),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.sampled_from([0.0, 0.002, 3600.0]), st.booleans())
def test_at_any_moment_the_file_is_how_what_came_begins_and_what_is_read_is_in_it(
    steps: list[bytes | str], collect_s: float, cancelled: bool
) -> None:
    """Whoever is killed there goes on at its last byte; who closes has written all."""

    async def follow(path: Path) -> None:
        log = RawLog(path, collect_s=collect_s)
        came, read = bytearray(), bytearray()

        def on_written(data: bytes) -> None:
            read.extend(data)
            assert bytes(came).startswith(path.read_bytes())
            assert path.read_bytes() == bytes(read)

        await log.open(on_written)
        for step in steps:
            match step:
                case bytes():
                    came.extend(step)
                    log.append(step)
                case "turn":
                    await asyncio.sleep(0)
                case "wait":
                    await asyncio.sleep(0.003)
                case "drain":
                    await log.drained()
                    assert bytes(read) == bytes(came)
                case _:
                    await log.settle()
                    assert path.read_bytes() == bytes(came)
            assert bytes(came).startswith(path.read_bytes())
            assert path.read_bytes().startswith(bytes(read))
            assert log.offset == len(came)
        closing = asyncio.create_task(log.close())
        if cancelled:
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            assert bytes(came).startswith(path.read_bytes())
            return
        await closing
        assert path.read_bytes() == bytes(read) == bytes(came)

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(follow(Path(directory) / "a.log"))


async def test_calls_never_overlap_whoever_stops_waiting_for_them() -> None:
    strand = Strand(None)
    order: list[int] = []
    at_work: list[int] = []

    def call(number: int) -> int:
        assert not at_work
        at_work.append(number)
        threading.Event().wait(0.01)
        order.append(at_work.pop())
        return number

    calls = [strand.call(lambda n=n: call(n)) for n in range(10)]  # type: ignore[misc]
    calls[0].cancel()
    calls[4].cancel()
    assert await calls[9] == 9
    assert order == list(range(10))
    failed = strand.call(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        await failed
    assert await strand.call(lambda: 5) == 5
    assert strand.busy_s == 0.0
