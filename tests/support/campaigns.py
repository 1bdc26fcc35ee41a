"""Campaigns for tests: a workload whose every byte is known, consoles, looking for leftovers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import tomli_w

from backends.campaign.controller import CampaignController
from backends.campaign.plan.selection import Selection
from backends.campaign.record.lock import Role
from backends.campaign.record.state import CampaignState, RunRecord
from backends.inventory.host_entry import Host, Inventory
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.support.program import COMMAND, Program
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]

STEADY = """
import os, sys, time
lines, every, copies, after = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:]
name = os.environ["DLPERF_RUN_ID"] + "." + os.environ["DLPERF_HOST"]
copy = open(os.path.join(copies, name), "ab")
def say(text):
    for out in (sys.stdout.buffer, copy):
        out.write(text)
        out.flush()
say(b"\\x1b[31mstart\\x1b[0m \\xff\\xfe [/b] \\r")
for i in range(lines):
    say(b"iter %d, loss: 1.0, samples/s: %d.5\\n" % (i, 100 + i))
    time.sleep(every)
say(b"end without a newline")
exec(" ".join(after))
"""

PROFILE = """
name = "steady"
framework = "test"
model = "steady"
source = "tests"
[settings.lines]
description = "how many"
default = "20"
[settings.every]
description = "seconds between lines"
default = "0.05"
[settings.copies]
description = "where each run keeps a copy of what it prints"
[settings.after]
description = "Python to execute at the end"
default = "pass"
[matrix]
cases = ["1n1g"]
[launch]
launcher = "per_node"
stage = ["steady.py"]
command = "{python} steady.py {{lines}} {{every}} {{copies}} {{after}}"
timeout = "60s"
stall_timeout = "20s"
lost_limit = "30s"
expected = "2s"
{launch}
[measure]
reading = 'iter (?P<step>\\d+), .*samples/s: (?P<value>[\\d.]+)'
window = {{ skip = 1 }}
statistic = "mean"
"""


class Bench:
    """A directory with profiles, copies of what runs printed, campaigns, and an inventory."""

    def __init__(self, directory: Path, hosts: Sequence[Host]) -> None:
        self.directory = directory
        self.hosts = tuple(hosts)
        self._known: Inventory | None = None
        self.campaigns = directory / "campaigns"
        self.copies = directory / "copies"
        self.profiles = directory / "profiles"
        self.inventory = directory / "hosts.toml"
        self.copies.mkdir()
        self.profiles.mkdir()
        (self.profiles / "steady.py").write_text(STEADY)
        self.profile()
        self.inventory.write_text(tomli_w.dumps({"hosts": [_table(host) for host in hosts]}))
        self.workspaces: list[Workspace] = []
        self._catalogs: dict[object, Catalog] = {}

    def profile(self, launch: str = "", name: str = "steady", **replaced: str) -> str:
        """Write a variant of the steady profile; ``replaced``: lines of it by their key."""
        text = PROFILE.format(python=sys.executable, launch=launch).replace(
            '"steady"', f'"{name}"', 1
        )
        for key, value in replaced.items():
            lines = [
                f"{key} = {value}" if x.startswith(f"{key} = ") else x for x in text.split("\n")
            ]
            text = "\n".join(lines)
        (self.profiles / f"{name}.toml").write_text(text)
        return name

    @property
    def known(self) -> Inventory:
        """What a workspace begins with: the hosts, unless it was given something else."""
        return self._known or Inventory(self.hosts)

    @known.setter
    def known(self, inventory: Inventory) -> None:
        self._known = inventory

    def workspace(
        self, clock: Callable[[], float] = time.time, role: Role = Role.CONSOLE
    ) -> Workspace:
        """A console's engine, as a new process of the operator would have it."""
        workspace = Workspace(
            self.known,
            self._catalog(),
            self.campaigns,
            profile_dirs=[self.profiles],
            clock=clock,
            role=role,
        )
        self.workspaces.append(workspace)
        return workspace

    def _catalog(self) -> Catalog:
        """Read again where a profile was written since."""
        files = [(path, path.stat().st_mtime_ns) for path in sorted(self.profiles.glob("*.toml"))]
        key = tuple(files)
        if key not in self._catalogs:
            self._catalogs = {key: Catalog.load([self.profiles], None)}
        return self._catalogs[key]

    async def close(self) -> None:
        for workspace in self.workspaces:
            await workspace.close()

    async def start(
        self,
        *cases: str,
        profile: str = "steady",
        repeats: int = 1,
        hosts: str = "",
        pack: bool = False,
        workspace: Workspace | None = None,
        **values: object,
    ) -> CampaignController:
        workspace = workspace or self.workspace()
        if not profile.endswith("cpu-smoke"):
            values = {"copies": self.copies, **values}
        selection = Selection(
            profiles=(profile,),
            cases=cases,
            values={key: (str(value),) for key, value in values.items()},
            repeats=repeats,
            hosts=hosts,
            pack=pack,
        )
        await workspace.cluster.probe()
        return await workspace.start(workspace.plan(selection))

    def words(self, *words: str) -> list[str]:
        """Of a command, with this bench's inventory, profiles and campaigns."""
        return [
            *words,
            *("--inventory", str(self.inventory), "--campaigns", str(self.campaigns)),
            *("--profile-dir", str(self.profiles)),
        ]

    def command(self, *words: str) -> list[str]:
        return [*COMMAND, *self.words(*words)]

    def spawn(self, *words: str) -> subprocess.Popen[str]:
        return Program(self.words(*words), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def until_there(self, path: Path) -> str:
        """``after`` of a steady run that ends when there is such a file."""
        assert "," not in str(path)  # which --set takes for further values
        return f"while not os.path.exists({str(path)!r}): time.sleep(0.05)"

    def steady_words(self, *cases: str, **values: object) -> list[str]:
        values = {"copies": self.copies, **values}
        given = [f"{key}={value}" for key, value in values.items()]
        return ["-p", "steady", "--case", *cases, "--set", *given]

    @property
    def campaign(self) -> Path:
        """The only one there is."""
        [path] = [p for p in self.campaigns.iterdir() if (p / "events.jsonl").exists()]
        return path

    def logs_are_exact(self, state: CampaignState, path: Path, *, deferred: bool = False) -> int:
        """How many logs there are of runs that succeeded; each equals what its host printed.

        ``deferred``: hosts were raced for, so a run may have printed something on one of them
        before it was taken back; that is no part of its log.
        """
        count = 0
        for run in state.runs.values():
            if run.throughput is None:
                continue
            for rank, host in enumerate(run.hosts):
                local = path / run.log if rank == 0 else path / f"{run.log[:-4]}.{host}.log"
                copy = self.copies / f"{run.run_id}.{host}"
                if deferred:
                    assert copy.read_bytes().endswith(local.read_bytes()), (local, copy)
                    assert local.stat().st_size > 0
                else:
                    assert sha256(local) == sha256(copy), (local, copy)
                count += 1
        return count

    def nothing_is_left(self) -> None:
        """No process and no files of any run on any host."""
        for host in self.hosts:
            runs = Path(host.work_dir) / "runs"
            found = sorted(path.name for path in runs.iterdir()) if runs.is_dir() else []
            assert not found, f"{host.name}: {found}"
        left = {pid: run for pid, run in marked().items() if (self.copies / run).exists()}
        assert not left, left
        assert not list(run_processes(self.directory))


def _table(host: Host) -> dict[str, object]:
    found = {f.name: getattr(host, f.name) for f in fields(Host)}
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in found.items()
        if value not in (None, "", ())
    }


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def environments() -> Iterable[tuple[int, Mapping[str, str]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            pairs = (word.decode("utf-8", "replace").partition("=") for word in words)
            yield int(entry.name), {name: value for name, _, value in pairs}


def marked() -> dict[int, str]:
    """Run ids by the pids that carry them."""
    return {
        pid: environment["DLPERF_RUN_ID"]
        for pid, environment in environments()
        if environment.get("DLPERF_RUN_ID")  # empty: a test of the shell alone
    }


def run_processes(directory: Path) -> Iterable[int]:
    """Processes whose working directory lies below ``directory``."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                where = str((entry / "cwd").readlink())
            except OSError:
                continue
            if where.startswith(f"{directory}/") and "/runs/" in where:
                yield int(entry.name)


def only_run(state: CampaignState) -> RunRecord:
    [run] = state.runs.values()
    return run


async def until_running(controller: CampaignController, count: int = 1, readings: int = 1) -> None:
    """Until so many runs have so many readings each."""

    def enough() -> bool:
        runs = controller.state.runs.values()
        return sum(r.state == "running" and r.reading_count >= readings for r in runs) >= count

    await until(enough, what=f"{count} runs with {readings} readings")


async def finish(controller: CampaignController, within_s: float = 120.0) -> CampaignState:
    async with asyncio.timeout(within_s):
        await controller.wait()
    return controller.state


def read_json(text: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(text)
    return found


def kill_hard(process: subprocess.Popen[str]) -> None:
    """As a crash or the power would: no handler runs."""
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
