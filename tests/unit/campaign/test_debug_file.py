"""The log of what the engine did: bounded, private, never in the way, and nobody else's."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from backends import debug
from backends.campaign.folder import debug_log
from backends.campaign.folder.debug_log import DebugLog
from tests.support.waiting import wait_until


def opened(directory: Path) -> DebugLog:
    log = DebugLog(directory)
    log.open()
    return log


def text_of(directory: Path) -> str:
    return (directory / "debug.log").read_text(encoding="utf-8")


def test_every_line_is_there_in_order_and_the_file_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        log = opened(tmp_path)
        for number in range(500):
            log.logger.debug("line %d", number)
        log.close()
    finally:
        os.umask(before)
    lines = text_of(tmp_path).splitlines()
    assert [line.split(" line ")[1] for line in lines] == [str(number) for number in range(500)]
    assert stat.S_IMODE((tmp_path / "debug.log").stat().st_mode) == 0o600
    log.close()
    log.open()
    log.logger.info("again")
    log.close()
    assert text_of(tmp_path).splitlines()[-1].endswith("INFO    again")


def test_a_traceback_is_kept_and_nothing_that_a_terminal_would_obey(tmp_path: Path) -> None:
    log = opened(tmp_path)
    try:
        raise ValueError("\x1b]52;c;EVIL\x07 of\na host")
    except ValueError:
        log.logger.exception("survived %s", "\x1b[2J")
    log.close()
    text = text_of(tmp_path)
    assert "\x1b" not in text
    assert "test_debug_file.py" in text
    assert "ValueError" in text
    assert all(line.startswith("    ") for line in text.splitlines()[1:])


def test_it_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug_log, "MOST_BYTES", 10_000)
    log = opened(tmp_path)
    log.logger.info("%s", "token" * 1_000_000)
    log.close()
    assert 30_000 < (tmp_path / "debug.log").stat().st_size < 40_000
    log.open()
    for number in range(2000):
        log.logger.info("%d %s", number, "x" * 100)
        if number % 100 == 0:
            wait_until(log._lines.empty)
    log.close()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["debug.log", "debug.log.1", "debug.log.2", "debug.log.3"]
    assert all(path.stat().st_size <= 10_000 for path in tmp_path.iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert " 1999 " in text_of(tmp_path)


def test_a_disk_that_stalls_costs_lines_and_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "debug.log")  # whoever opens it for writing waits for a reader
    monkeypatch.setattr(debug_log, "_WAITING", 10)
    monkeypatch.setattr(debug_log, "_CLOSE_S", 0.1)
    log = opened(tmp_path)
    for number in range(100):
        log.logger.info("line %d", number)
    log.close()
    reader = os.open(tmp_path / "debug.log", os.O_RDONLY)
    try:
        assert os.read(reader, 10)
    finally:
        os.close(reader)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("theirs")
    (tmp_path / "debug.log").symlink_to(tmp_path / "elsewhere")
    log = opened(tmp_path)
    log.logger.info("ours")
    log.close()
    assert (tmp_path / "elsewhere").read_text() == "theirs"


async def test_each_campaign_has_its_own(tmp_path: Path) -> None:
    directories = [tmp_path / "a", tmp_path / "b"]
    logs = []
    for directory in directories:
        directory.mkdir()
        logs.append(opened(directory))

    async def work(log: DebugLog, name: str) -> None:
        debug.log_to(log.logger)
        await asyncio.gather(*(asyncio.create_task(say(f"{name}{n}")) for n in range(3)))

    async def say(text: str) -> None:
        await asyncio.sleep(0)
        debug.log().info(text)

    async with asyncio.TaskGroup() as tasks:
        for log, name in zip(logs, "ab", strict=True):
            tasks.create_task(work(log, name))
    for log in logs:
        log.close()
    for directory, name in zip(directories, "ab", strict=True):
        said = {line.rsplit(" ", 1)[1] for line in text_of(directory).splitlines()}
        assert said == {f"{name}{n}" for n in range(3)}
    assert debug.log() is logging.getLogger("dlperf")


def test_nothing_of_it_reaches_the_program_that_uses_us(tmp_path: Path) -> None:
    program = (
        "import logging, sys\n"
        "before = (logging.root.handlers[:], logging.root.level, logging.raiseExceptions)\n"
        "from pathlib import Path\n"
        "from backends import campaign_start, debug, use_cases\n"
        "from backends.campaign.folder.debug_log import DebugLog\n"
        "debug.log().warning('to nobody')\n"
        f"log = DebugLog(Path({str(tmp_path)!r}))\n"
        "log.open()\n"
        "logging.basicConfig(level=logging.DEBUG) if len(sys.argv) > 1 else None\n"
        "log.logger.error('to the file')\n"
        "log.close()\n"
        "after = (logging.root.handlers[:], logging.root.level, logging.raiseExceptions)\n"
        "assert len(sys.argv) > 1 or before == after\n"
    )
    for more in ((), ("configured",)):
        done = subprocess.run(
            [sys.executable, "-c", program, *more], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert text_of(tmp_path).count("to the file") == 2


@pytest.mark.parametrize(
    "said",
    [
        "HF_TOKEN=s3cretvalue python train.py",
        "{'WANDB_API_KEY': 's3cret value', 'LANG': 'C'}",
        'export DB_PASSWORD="s3cret value"',
        "train.py --auth-token s3cretvalue --steps 5",
        "fatal: cannot reach https://me:s3cretvalue@git.example/x",
        "Authorization: Bearer s3cretvalue",
        "-----BEGIN OPENSSH PRIVATE KEY-----\ns3cret\nvalue\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\ns3cret, and torn",
        "the answer was from-s3cret-environment.",
    ],
)
def test_a_secret_that_somebody_quotes_is_blotted_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """In a line, in an error, and in the traceback of one."""
    monkeypatch.setenv("OUR_SECRET", "from-s3cret-environment")
    log = opened(tmp_path)
    log.logger.info("node1: %s", said)
    try:
        raise ValueError(said)
    except ValueError:
        log.logger.exception("survived")
    log.close()
    text = text_of(tmp_path)
    assert "s3cret" not in text
    assert text.count("***") >= 2
    assert "ValueError" in text


@pytest.mark.parametrize(
    "said",
    [
        "node1: the passphrase of /home/me/.ssh/id_ed25519 is asked for",
        "node1 asks: Password for me:",
        "RunPlanned run_id=0123-a2 attempt=2 next_id=0004 not_before=17.5",
        "tokens/s 1234 at step 20",
    ],
)
def test_what_is_no_secret_stays(said: str) -> None:
    assert debug.without_secrets(said) == said
