"""A transport that runs commands with this machine's own sh, and one that answers as told."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from backends.transports.local import LocalTransport
from backends.transports.transport import Completed


class ShellTransport(LocalTransport):
    """This machine, with an environment of the test's own; remembers the commands."""

    def __init__(self, host: Host, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(host, environment={**os.environ, **(environment or {})})
        self.commands: list[str] = []

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        self.commands.append(command)
        return await super().run(command, stdin=stdin, timeout_s=timeout_s)


class AnsweringTransport(ShellTransport):
    """Gives each answer in turn; an exception is raised, the last answer repeats."""

    def __init__(self, host: Host, *answers: Completed | BaseException) -> None:
        super().__init__(host)
        self.answers = list(answers)

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        self.commands.append(command)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def shell() -> type[ShellTransport]:
    return ShellTransport


@pytest.fixture
def answering() -> type[AnsweringTransport]:
    return AnsweringTransport


@pytest.fixture
def captures() -> Path:
    """A directory with what nvidia-smi printed on a real 8 × H200 host."""
    directory = os.environ.get("DLPERF_H200_CAPTURES")
    if not directory:
        pytest.skip("DLPERF_H200_CAPTURES does not name a directory of captures")
    return Path(directory)


@pytest.fixture
def tools(tmp_path: Path) -> Callable[[str, str], Path]:
    """Puts a shell script into a directory that is made for PATH; returns the directory."""
    directory = tmp_path / "tools"
    directory.mkdir()

    def add(name: str, body: str) -> Path:
        path = directory / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return directory

    return add
