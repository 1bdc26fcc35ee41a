"""Starting a keeper: a process of its own, that outlives the terminal and says whether it begins.

It tells through a pipe, once: that it has begun, or in one line why not. Whoever starts it waits
for that, and what it says afterwards is in ``keeper.log`` and in the campaign.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.campaign.folder.paths import KEEPER_LOG
from backends.campaign.folder.regular_file import open_regular, open_to_read
from backends.keeper.survival import survival
from profiles.cleantext import clean_text
from profiles.errors import DlperfError

PATIENCE_S = 60.0
MOST_LOG = 256 * 1024
_MOST_TOLD = 64 * 1024
_PROGRAM = Path(__file__).parents[2]


class KeeperError(DlperfError):
    """The keeper did not begin; ``exit_code``: what it would have exited with itself."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "", code: int = 2) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.exit_code = code

    @property
    def nothing_started(self) -> bool:
        """It has ended, and not in the middle of its work."""
        return self.exit_code == 2


@dataclass(frozen=True, slots=True)
class Begun:
    """``notes``: what the operator must know: of its hosts, or that it may end with the login."""

    pid: int
    notes: tuple[str, ...] = ()


async def start_keeper(
    command: Sequence[str],
    campaign: Path,
    environ: Mapping[str, str],
) -> Begun:
    """Start it and wait until it has begun.

    ``command``: of the keeper, to which the descriptor that it tells through is added.

    Raises
    ------
    KeeperError: why it did not begin.
    """
    how = await asyncio.to_thread(survival, getpass.getuser(), environ, campaign.name, Path("/"))
    notes = [how.warning] if how.warning else []
    told = await _spawn([*how.prefix, *command], campaign, environ)
    if told is None and how.prefix:  # there is no such manager, whatever it looked like
        told = await _spawn(command, campaign, environ)
    if told is None:
        raise KeeperError(
            "the keeper ended before it began",
            where=str(campaign / KEEPER_LOG),
            remedy="its last lines say why; 'dlperf-tui resume' goes on in this terminal",
        )
    if "error" in told:
        code = told.get("code")
        raise KeeperError(_line(told["error"]), code=code if type(code) is int else 2)
    said = told.get("notes")
    notes += [_line(text) for text in said] if isinstance(said, list) else []
    pid = told.get("pid")
    return Begun(pid if type(pid) is int else 0, tuple(notes))


def last_words(campaign: Path) -> str:
    """The last line of ``keeper.log``, cleaned and cut; "" where there is none. Blocking."""
    if (fd := open_to_read(campaign / KEEPER_LOG)) is None:
        return ""
    with os.fdopen(fd, "rb") as log:
        log.seek(max(0, os.fstat(fd).st_size - _MOST_TOLD))
        lines = map(_line, log.read().decode(errors="replace").splitlines())
        return next(filter(None, reversed([*lines])), "")


async def _spawn(
    command: Sequence[str], campaign: Path, environ: Mapping[str, str]
) -> dict[str, Any] | None:
    """What it told; None: it ended without a word."""
    process, reading = await asyncio.to_thread(_start, command, campaign, environ)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        try:
            async with asyncio.timeout(PATIENCE_S):
                data = await _all_of(pipe.fileno())
        except TimeoutError:
            raise KeeperError(
                f"the keeper (pid {process.pid}) gives no sign",
                where=str(campaign / KEEPER_LOG),
                remedy="'dlperf-tui status' tells whether it goes on",
                code=1,
            ) from None
    try:
        told = json.loads(data)
    except ValueError:
        await asyncio.to_thread(process.wait)
        return None
    if isinstance(told, dict) and "error" in told:
        await asyncio.to_thread(process.wait)
    else:
        process.returncode = 0  # it is on its own from here: nobody waits for its end
    return told if isinstance(told, dict) else None


def _start(
    command: Sequence[str], campaign: Path, environ: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int]:
    """The process, and the descriptor on which it tells. Blocking."""
    reading, writing = os.pipe()
    try:
        log = open_log(campaign)
        try:
            process = subprocess.Popen(
                [*command, "--tell", str(writing)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=_PROGRAM,  # it needs that for as long as it lives, and no other directory
                env=dict(environ),
                pass_fds=(writing,),
                start_new_session=True,
            )
        finally:
            os.close(log)
    except BaseException as error:
        os.close(reading)
        if not isinstance(error, OSError):
            raise
        raise KeeperError(
            f"cannot start a keeper: {error.strerror}", where=str(error.filename or command[0])
        ) from error
    finally:
        os.close(writing)
    return process, reading


async def _all_of(fd: int) -> bytes:
    """What is written until the other end is closed."""
    os.set_blocking(fd, False)
    loop = asyncio.get_running_loop()
    data = b""
    while len(data) < _MOST_TOLD:
        came = asyncio.Event()
        loop.add_reader(fd, came.set)
        try:
            await came.wait()
        finally:
            loop.remove_reader(fd)
        if not (more := os.read(fd, _MOST_TOLD)):
            break
        data += more
    return data


class Teller:
    """As the keeper, to whoever has started it, who may be gone: once, then the descriptor is
    closed."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    def tell(self, document: Mapping[str, object]) -> None:
        fd, self._fd = self._fd, None
        if fd is None:
            return
        try:
            os.write(fd, json.dumps(document).encode())
        except OSError:
            pass
        finally:
            os.close(fd)


def open_log(campaign: Path) -> int:
    """A descriptor of ``keeper.log`` to append with; what was too long is beside it as ``.1``.

    Raises OSError; KeeperError where something else is in its place.
    """
    path = campaign / KEEPER_LOG
    if path.is_file() and not path.is_symlink() and path.stat().st_size > MOST_LOG:
        path.rename(path.with_name(f"{KEEPER_LOG}.1"))
    fd = open_regular(path)
    if fd is None:
        raise KeeperError("is no regular file", where=str(path), remedy="remove it")
    return fd


def limit_log(campaign: Path) -> None:
    """As the keeper: begin another ``keeper.log`` when this one is too long. Raises OSError."""
    if os.fstat(2).st_size > MOST_LOG:
        fd = open_log(campaign)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        os.close(fd)


def _line(text: object) -> str:
    return " ".join(clean_text(str(text)).split())
