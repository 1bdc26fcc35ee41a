"""``dlperf-tui`` as a process of its own that need not import anything: forked off one that has.

It is killed, read and waited for like any other, at a fraction of the CPU time. What it cannot show
is how Python starts and what each command imports: ``tests/unit/cli`` has that, as have the keepers
that campaigns start themselves.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import runpy
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "tui.cli")
NEEDED = (
    *("backends.campaign.controller", "backends.campaign_start", "backends.engines.direct"),
    *("backends.results.publish", "backends.transports.local", "backends.transports.ssh"),
    *("backends.use_cases", "pandas", "tui.plan_words", "tui.timeline_text"),
    *(f"tui.cli.{name}" for name in ("cancel", "resume", "run", "report", "status", "sweep")),
)
_STATUS = struct.Struct("i")
_ASKING = threading.Lock()


class Program(subprocess.Popen[str]):
    """``Program(["status", "--json"], stdout=PIPE)``: a Popen of the program with these words."""

    def __init__(self, words: Sequence[object], **options: Any) -> None:
        options = {"stdin": subprocess.DEVNULL, "text": True, **options}
        super().__init__([*COMMAND, *map(str, words)], **options)

    def _execute_child(self, args: Sequence[str], *options: Any) -> None:
        _, before, _, passed, cwd, env, _, _, shell, *pipes = options[:15]
        *others, umask, session, group = options[16:]
        env = os.environ if env is None else env
        assert not any((before, passed, shell, session)), "none of these is passed on"
        assert {*others, group} == {None, -1}, "nor are these"
        assert _of_python(env) == _of_python(os.environ), "Python reads these when it starts"
        asked = {
            "words": args[len(COMMAND) :],
            "cwd": os.fspath(cwd or Path.cwd()),
            "env": dict(env),
            "umask": umask,
        }
        streams = [own if pipes[at] < 0 else pipes[at] for own, at in enumerate((0, 3, 5))]
        self._ended, tells = os.pipe()
        with _ASKING:
            forker, asks = _forker()
            socket.send_fds(asks, [json.dumps(asked).encode()], [*streams, tells])
            answer = asks.recv(32)
            assert answer, forker.communicate()
            self.pid = int(answer)
        os.close(tells)
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """Who is its parent tells how it ended."""
        if wait_flags & os.WNOHANG and not select.select([self._ended], [], [], 0)[0]:
            return 0, 0
        status = os.read(self._ended, _STATUS.size)
        os.close(self._ended)
        return self.pid, _STATUS.unpack(status)[0]

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        with self._waitpid_lock:
            if self.returncode is None:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
        return self.returncode


def run_program(
    words: Sequence[object], *, timeout: float, input: str | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """What the program says with these words, to its end: as subprocess.run."""
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    if input is not None:
        pipes["stdin"] = subprocess.PIPE
    with Program(words, **{**pipes, **options}) as process:
        try:
            out, err = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    begin = ("PYTHON", "LANG", "LC_")
    return {name: value for name, value in environment.items() if name.startswith(begin)}


@functools.cache
def _forker() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The one of this process, which ends with it."""
    own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        forker = subprocess.Popen(
            [sys.executable, "-m", "tests.support.program", str(its.fileno())],
            cwd=ROOT,
            pass_fds=[its.fileno()],
            stdin=subprocess.PIPE,  # of each stream Python remembers that it is no file
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    return forker, own


def _become(asks: socket.socket) -> list[str]:
    """Fork for each that is asked for; returns in the new process, with the words for it."""
    for name in NEEDED:
        importlib.import_module(name)
    importlib.import_module("profiles.format.catalog").Catalog.load()
    gc.freeze()
    while True:
        message, streams, _, _ = socket.recv_fds(asks, 1 << 20, 4)
        if not message:
            sys.exit()
        if os.fork() == 0:
            break
        for fd in streams:
            os.close(fd)
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    program = os.fork()
    if program:
        asks.send(str(program).encode())
        asks.close()
        for fd in streams[:3]:
            os.close(fd)
        os.write(streams[3], _STATUS.pack(os.waitpid(program, 0)[1]))
        os._exit(0)
    for own, fd in enumerate(streams[:3]):
        os.dup2(fd, own)
    os.closerange(3, max(asks.fileno(), *streams) + 1)
    asks.detach()
    asked = json.loads(message)
    os.chdir(asked["cwd"])
    if asked["umask"] >= 0:
        os.umask(asked["umask"])
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    sys.path[0] = asked["cwd"]
    return list(asked["words"])


if __name__ == "__main__":
    sys.argv[1:] = _become(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("tui.cli", run_name="__main__", alter_sys=True)
