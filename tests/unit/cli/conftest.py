"""The command line in a home of its own, and campaigns whose journals are written by hand."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from backends.campaign.record import events as ev
from backends.campaign.record.codec import encode
from backends.campaign.record.lock import Holder, Role
from tests.unit.cli.four_hosts import four_hosts
from tui.cli import main

ROOT = Path(__file__).parents[3]
BEGUN = 1_700_000_000.0


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a markdown table, without its heading."""
        lines = [line for line in self.out.splitlines() if line.startswith("|")]
        cells = (re.split(r"(?<!\\)\|", line)[1:-1] for line in lines[2:])
        return [[re.sub(r"\\(\W)", r"\1", cell.strip()) for cell in row] for row in cells]


@dataclass(frozen=True)
class Cli:
    """``dlperf-tui WORDS`` in this process."""

    campaigns: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: object, code: int = 0) -> Answer:
        found = main([*map(str, words), "--campaigns", str(self.campaigns)])
        said = self.capsys.readouterr()
        assert found == code, f"{found}: {said.out}\n{said.err}"
        return Answer(found, said.out, said.err)

    def document(self, *words: object, code: int = 0) -> Any:
        return json.loads(self(*words, "--json", code=code).out)

    def complaint(self, *words: object) -> str:
        """The one line of a wrong request."""
        answer = self(*words, code=2)
        assert answer.out == ""
        [line] = answer.err.splitlines()
        return line


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return Cli(tmp_path / "campaigns", capsys)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command line finds of hosts, by the inventories of :mod:`four_hosts`."""
    four_hosts(monkeypatch)


def planned(run_id: str, repeat: int = 1) -> ev.RunPlanned:
    return ev.RunPlanned(
        t=BEGUN,
        run_id=run_id,
        profile="cpu-smoke",
        framework="F",
        model="M",
        unit="images/s",
        nodes=1,
        gpus_per_node=1,
        parameters={},
        repeat=repeat,
    )


def assigned(run_id: str, *hosts: str, log: str = "") -> ev.RunAssigned:
    return ev.RunAssigned(
        t=BEGUN + 1,
        run_id=run_id,
        hosts=hosts or ("node1",),
        commands=("x",),
        port=1,
        log=log or f"logs/{run_id}.log",
    )


def succeeded(run_id: str, throughput: float = 100.0) -> ev.RunSucceeded:
    return ev.RunSucceeded(
        t=BEGUN + 9,
        run_id=run_id,
        throughput=throughput,
        readings=9,
        used=8,
        window="all",
        statistic="mean",
    )


FINISHED = ev.CampaignFinished(t=BEGUN + 10)


@pytest.fixture
def campaign(cli: Cli) -> Callable[..., Path]:
    """A campaign of these events; ``age_s``: how long ago it began."""

    def make(name: str, *events: ev.Event, age_s: float = 0.0, simulated: bool = False) -> Path:
        path = cli.campaigns / name
        path.mkdir(parents=True)
        begun = ev.CampaignCreated(t=time.time() - age_s, campaign=name, simulated=simulated)
        append(path, begun, *events)
        return path

    return make


def append(path: Path, *events: ev.Event) -> None:
    with (path / "events.jsonl").open("ab") as file:
        file.write(b"".join(map(encode, events)))


def hold(path: Path, *, age_s: float = 0.0, role: Role = Role.CONSOLE) -> None:
    """As a console on another machine does."""
    holder = Holder(user="bob", host="elsewhere", pid=3, start_ticks=4, nonce="n", role=role)
    lock = path / "writer.lock"
    lock.write_text(json.dumps({key: getattr(holder, key) for key in holder.__slots__}))
    sign = time.time() - age_s
    os.utime(lock, (sign, sign))


class OnTerminal:
    """The program on a terminal of its own."""

    def __init__(self, words: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self._outside, inside = pty.openpty()
        os.set_blocking(self._outside, False)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tui.cli", *words],
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)
        self.shown = b""

    def shows(self, text: bytes) -> bool:
        try:
            while data := os.read(self._outside, 65536):
                self.shown += data
        except OSError:  # nothing more now, or for good
            pass
        return text in self.shown

    def type(self, text: bytes) -> None:
        os.write(self._outside, text)

    def end(self, within_s: float = 30) -> int:
        code = self.process.wait(within_s)
        self.shows(b"")
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        os.close(self._outside)


@pytest.fixture
def terminal(cli: Cli) -> Iterator[Callable[..., OnTerminal]]:
    opened: list[OnTerminal] = []

    def start(*words: object, **environment: str) -> OnTerminal:
        texts = (*map(str, words), "--campaigns", str(cli.campaigns))
        opened.append(OnTerminal(texts, environment))
        return opened[-1]

    yield start
    for one in opened:
        one.close()
