"""The environment of a campaign, from the tools of real hosts to its report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from backends.campaign.record.journal import read_events
from backends.campaign.record.state import fold
from backends.engines import direct
from backends.hosts.host_facts import Sought
from backends.hosts.probe import probe
from backends.transports.pool import TransportPool
from tests.support.campaigns import Bench, finish, until_running
from tests.support.sshd import ServedHost, SshHosts, sshd_program
from tests.support.waiting import until

HEADER = """\
index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], memory.used [MiB], \
utilization.gpu [%], power.draw [W], power.limit [W], temperature.gpu, clocks.current.sm [MHz], \
ecc.errors.uncorrected.volatile.total, ecc.mode.current, persistence_mode, \
clocks.applications.graphics [MHz], clocks.applications.memory [MHz], mig.mode.current, \
clocks_event_reasons.active
"""
H100 = """\
0, NVIDIA H100 80GB HBM3, GPU-aa, 00000000:00:06.0, 580.159.04, 81559 MiB, 0 MiB, 0 %, 113.00 W, \
700.00 W, 34, 375 MHz, 0, Enabled, Enabled, 1980 MHz, 2619 MHz, Disabled, 0x0000000000000001
"""
SMI = """\
case "$*" in
--query-gpu*,ecc.mode.current,*) cat "$0.csv" ;;
--query-compute-apps*) echo 'gpu_uuid, pid, used_gpu_memory [MiB], process_name' ;;
--query-gpu* | topo*) ;;
*) echo '| NVIDIA-SMI 580.159.04    Driver Version: 580.159.04    CUDA Version: 13.0     |' ;;
esac
"""
DOCKER = f"""\
echo id=sha256:{"1" * 64}
echo NCCL_VERSION=2.19.3-1
"""


@dataclass
class Equipped:
    """A host of a bench, with tools of its own in front of this machine's."""

    served: ServedHost
    directory: Path

    def tool(self, name: str, body: str) -> None:
        path = self.directory / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def gpus(self, rows: str = H100) -> None:
        self.tool("nvidia-smi", SMI)
        (self.directory / "nvidia-smi.csv").write_text(HEADER + rows)


def git(checkout: Path, *words: str) -> str:
    """Runs git there, as somebody; what it says."""
    command = ["git", "-C", str(checkout), "-c", "user.name=x", "-c", "user.email=x@x", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def committed(checkout: Path, text: str) -> str:
    """Commits the file of a checkout, which is made where it is not there; the revision."""
    checkout.mkdir(exist_ok=True)
    git(checkout, "init", "-q")
    (checkout / "train.cfg").write_text(text)
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "x")
    return git(checkout, "rev-parse", "HEAD")


@pytest.fixture
def equipped(tmp_path: Path, ssh_hosts: SshHosts) -> Iterator[list[Equipped]]:
    """Two sshd hosts with one H100 each, and one package of a framework."""
    if sshd_program() is None or shutil.which("git") is None:
        pytest.skip("needs sshd and git")
    (tmp_path / "packages" / "torch-2.11.0.dist-info").mkdir(parents=True)
    found = []
    for number in (1, 2):
        directory = tmp_path / f"tools{number}"
        directory.mkdir()
        given = {
            "HOME": tmp_path,
            "PATH": f"{directory}:{os.environ['PATH']}",
            "PYTHONPATH": tmp_path / "packages",
        }
        option = " ".join(f'"{name}={value}"' for name, value in given.items())
        found.append(Equipped(ssh_hosts(1, options=[f"SetEnv {option}"])[0], directory))
        found[-1].gpus()
    return found


def words_for(bench: Bench, checkout: Path) -> list[str]:
    """Of the steady profile in a checkout."""
    program = bench.profiles / "steady.py"
    bench.profile(
        launch=f'workdir = "{checkout}"',
        command=f'"{sys.executable} {program} {{lines}} {{every}} {{copies}} {{after}}"',
    )
    return bench.steady_words("1n1g", lines=5)


def dlperf(bench: Bench, *words: str, code: int = 0) -> str:
    process = bench.spawn(*words)
    out, err = process.communicate(timeout=90)
    assert process.returncode == code, f"{process.returncode}: {out}\n{err}"
    return out


async def test_what_is_sought_is_found_through_sshd(
    equipped: list[Equipped], tmp_path: Path
) -> None:
    first, second = equipped
    first.tool("docker", DOCKER)
    second.tool("docker", "trap '' TERM; sleep 60")
    second.tool("git", 'echo "fatal: detected dubious ownership in repository" >&2; exit 128')
    revision = committed(tmp_path / "checkout", "a")
    sought = (
        Sought("image", "docker x", "image"),
        Sought("python", sys.executable, "python"),
        Sought("git", str(tmp_path / "checkout"), "checkout"),
    )
    pool = TransportPool([one.served.host for one in equipped])
    known, silent = [
        (await probe(pool.get(one.served.host), sought=sought)).facts for one in equipped
    ]
    await pool.close()
    assert known is not None
    assert silent is not None
    found = {one.name: one.version for one in known.software if one.kind != "python"}
    assert found == {
        "id": f"sha256:{'1' * 64}",
        "NCCL_VERSION": "2.19.3-1",
        "revision": revision,
        "changes": "none",
    }
    assert ("torch", "2.11.0") in [(one.name, one.version) for one in known.software]
    unknown = [(one.kind, one.version) for one in silent.software if one.kind != "python"]
    assert unknown == [("image", "unknown"), ("git", "unknown")]
    assert silent.gpu_problem == ""


def test_an_environment_is_in_hosts_the_campaign_its_report_and_comparisons(
    equipped: list[Equipped], tmp_path: Path
) -> None:
    bench = Bench(tmp_path, [one.served.host for one in equipped])
    checkout = tmp_path / "checkout"
    revision = committed(checkout, "a")
    words = words_for(bench, checkout)

    hosts = json.loads(dlperf(bench, "hosts", "--json"))
    gpu = hosts[0]["gpus"][0]
    assert (gpu["power_limit_w"], gpu["persistence"], gpu["ecc_enabled"]) == (700.0, True, True)
    assert (gpu["mig_enabled"], gpu["application_clocks_mhz"]) == (False, [1980, 2619])

    before = json.loads(dlperf(bench, "run", *words, "--hosts", "node1", "--json"))["campaign"]
    path = bench.campaigns / before
    host = json.loads((path / "environment.json").read_text())["hosts"][0]
    assert host["gpu_settings"] == {
        "power limit": "700 W",
        "application clocks": "1980/2619 MHz",
        "persistence": "on",
        "ECC": "on",
        "MIG": "off",
    }
    said = [(one["kind"], one["name"], one["version"]) for one in host["software"]]
    assert ("git", "revision", revision) in said
    assert ("python", "torch", "2.11.0") in said
    report = dlperf(bench, "report", before, "--layout", "speedup") + (
        path / "report.md"
    ).read_text().replace("\\", "")
    assert "power limit 700 W, application clocks 1980/2619 MHz, persistence on" in report
    assert f"{checkout}: revision {revision}" in report

    changed = committed(checkout, "b")
    equipped[0].gpus(H100.replace("700.00 W", "500.00 W"))
    after = json.loads(dlperf(bench, "run", *words, "--hosts", "node1", "--json"))["campaign"]
    told = dlperf(bench, "compare", before, after).replace("\\", "")
    assert f"Baseline: power limit: 700 W, workdir: {revision[:12]}." in told
    assert f"Candidate: power limit: 500 W, workdir: {changed[:12]}." in told
    assert "The environments differ" not in dlperf(bench, "compare", before, before)


async def test_what_was_recorded_at_first_stays_where_hosts_changed_or_are_out_of_reach(
    equipped: list[Equipped], tmp_path: Path
) -> None:
    bench = Bench(tmp_path, [one.served.host for one in equipped])
    controller = await bench.start("1n1g", lines=3)
    await finish(controller)
    record = controller.path / "environment.json"
    first = record.read_text()
    equipped[0].gpus(H100.replace("580.159.04", "590.1"))
    equipped[1].served.stop()

    again = await bench.workspace().resume(controller.path)
    again.repeat(1)
    await finish(again)
    assert record.read_text() == first
    report = (controller.path / "report.md").read_text().replace("\\", "")
    assert "different environments" in report
    await bench.close()


async def test_a_run_on_a_host_that_is_away_at_resume_has_the_environment_that_was_recorded(
    equipped: list[Equipped], tmp_path: Path
) -> None:
    bench = Bench(tmp_path, [one.served.host for one in equipped])
    there = tmp_path / "go"
    controller = await bench.start("1n1g", repeats=3, lines=3, after=bench.until_there(there))
    await until_running(controller, count=2)
    await controller.detach()
    await bench.close()
    away = equipped[1].served
    away.stop(sessions=True)

    console = bench.spawn("resume", bench.campaign.name, "--json")
    told = "node2 is out of reach: what runs there has its environment as it was recorded 2"
    await until(lambda: told in (bench.campaign / "events.jsonl").read_text(), what="the note")
    away.start()
    there.touch()
    _, err = console.communicate(timeout=90)
    assert console.returncode == 0, err
    runs = fold(read_events(bench.campaign / "events.jsonl")).runs.values()
    assert {host for run in runs for host in run.hosts} == {"node1", "node2"}
    hosts = json.loads((bench.campaign / "environment.json").read_text())["hosts"]
    recorded = {host["name"]: host["fingerprint"] for host in hosts}
    assert [run.fingerprint for run in runs] == [recorded[run.hosts[0]] for run in runs]
    report = (bench.campaign / "report.md").read_text().replace("\\", "")
    assert "#1 on node1, beside runs on node2" in report, "which are one machine"


async def test_a_host_that_was_away_at_first_is_recorded_when_it_is_back(
    equipped: list[Equipped], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "REPROBE_EVERY_S", 0.2)
    bench = Bench(tmp_path, [one.served.host for one in equipped])
    late, there = equipped[1].served, tmp_path / "go"
    late.stop()
    controller = await bench.start("1n1g", repeats=2, lines=3, after=bench.until_there(there))
    await until_running(controller)
    late.start()
    await until_running(controller, count=2)
    record = controller.path / "environment.json"
    await until(lambda: "recorded_at" in json.loads(record.read_text())["hosts"][1])
    first, second = json.loads(record.read_text())["hosts"]
    assert "recorded_at" not in first
    await controller.detach()
    await bench.close()
    late.stop(sessions=True)

    again = await bench.workspace().resume(controller.path)
    late.start()
    there.touch()
    state = await finish(again)
    on_late = [run for run in state.runs.values() if run.hosts == ("node2",)]
    assert [run.fingerprint for run in on_late] == [second["fingerprint"]]
    await bench.close()


def test_hosts_of_a_run_that_are_set_otherwise_are_noted_and_unknown_ones_are_not(
    equipped: list[Equipped], tmp_path: Path
) -> None:
    bench = Bench(tmp_path, [one.served.host for one in equipped])
    _, second = equipped
    second.gpus(H100.replace("700.00 W", "[N/A]"))
    words = bench.steady_words("2n1g", lines=5)
    (run,) = json.loads(dlperf(bench, "run", *words, "--json"))["runs"]
    assert not [text for text in run["warnings"] if "differ" in text]
    second.gpus(H100.replace("0, Enabled,", "0, Disabled,"))
    document = json.loads(dlperf(bench, "run", *words, "--json"))
    assert document["runs"][0]["warnings"] == [
        "the hosts of this run differ: node2: ECC: off; node1: ECC: on"
    ]
