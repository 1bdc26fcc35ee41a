"""The command line as other programs rely on it: documents, exit codes, one line for bad input."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RunSpec
from backends.transports.local import LocalTransport
from tests.support.program import run_program

SEED_004 = [
    (20, 288.088),
    (40, 385.628),
    (60, 386.264),
    (80, 385.723),
    (100, 384.622),
    (120, 385.367),
    (140, 384.704),
    (160, 384.927),
    (180, 384.109),
    (200, 384.517),
]
"""Iteration and samples/s of the log excerpt in OneFlow's report of August 2020."""


@dataclass
class CommandLine:
    """``dlperf-tui`` in a home of its own."""

    home: Path

    def __call__(
        self, *words: str | Path, code: int = 0, stdin: bytes = b"", within_s: float = 90
    ) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(self.home), "COLUMNS": "200"}
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            environment.pop(name, None)
        done = run_program(words, env=environment, input=stdin.decode(), timeout=within_s)
        assert done.returncode == code, f"{done.returncode}: {done.stdout}\n{done.stderr}"
        return done

    def document(self, *words: str | Path, code: int = 0) -> Any:
        return json.loads(self(*words, "--json", code=code).stdout)

    def complaint(self, *words: str | Path) -> str:
        """The one line that a wrong request gets; nothing on stdout, nothing started."""
        done = self(*words, code=2)
        lines = done.stderr.strip().splitlines()
        assert done.stdout == ""
        assert len(lines) == 1, done.stderr
        assert not (self.home / ".local").exists()
        return lines[0]


@pytest.fixture
def dlperf(tmp_path: Path) -> CommandLine:
    home = tmp_path / "home"
    home.mkdir()
    return CommandLine(home)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def short_profile(directory: Path, command: str, **extra: str) -> Path:
    """A profile of one case whose command is a single shell text."""
    launch = "\n".join(f'{key} = "{value}"' for key, value in extra.items())
    return write(
        directory / "short.toml",
        f"""
name = "short"
framework = "sh"
model = "short"
source = "test"
[matrix]
cases = ["1n1g"]
[launch]
launcher = "per_node"
command = '''sh -c "{command}"'''
{launch}
[measure]
reading = 'iter (?P<step>\\d+), samples/s: (?P<value>[\\d.]+)'
statistic = "mean"
""",
    )


def test_devices_of_hosts_without_gpus_are_not_called_gpus(dlperf: CommandLine) -> None:
    sizes = ("-c", "1n1g", "-c", "1n2g", "--set", "seconds=1")
    campaign = dlperf.document("run", "-p", "cpu-smoke", *sizes)["campaign"]
    for layout, lang in product(("speedup", "pivot", "compare", "airank"), ("en", "zh")):
        table = dlperf("report", campaign, "--layout", layout, "--lang", lang).stdout
        assert "GPU" not in table.upper(), table
        assert {"en": "device", "zh": "设备"}[lang] in table or layout == "airank", table
    log = next((dlperf.home / ".local/share/dlperf-tui/campaigns" / campaign).glob("logs/**/*.log"))
    parsed = dlperf("parse", "-p", "cpu-smoke", "--gpus", "2", log).stdout
    assert "; 2 devices)" in parsed


def test_a_campaign_runs_headless_and_says_so_in_one_document(dlperf: CommandLine) -> None:
    document = dlperf.document(
        "run", "--profile", "cpu-smoke", "--case", "1n1g", "--set", "seconds=2"
    )
    (run,) = document["runs"]
    (result,) = document["results"]
    assert run["state"] == "succeeded"
    assert run["throughput"] > 0
    assert set(run) >= {
        *("run_id", "profile", "case", "parameters", "repeat", "state", "throughput", "unit"),
        *("reason", "hosts", "log"),
    }
    assert set(result) >= {
        *("profile", "framework", "model", "case", "nodes", "gpus_per_node", "gpus"),
        *("parameters", "throughput", "mean", "min", "max", "cv", "speedup", "efficiency"),
        *("repeats", "succeeded", "flags"),
    }
    assert result["throughput"] == run["throughput"]
    campaign = dlperf.home / ".local/share/dlperf-tui/campaigns" / document["campaign"]
    names = {path.name for path in campaign.iterdir()}
    assert names >= {
        *("campaign.toml", "events.jsonl", "environment.json", "logs"),
        *("results.csv", "results.json", "report.md"),
    }
    assert (campaign / run["log"]).stat().st_size > 0

    assert dlperf.document("status", document["campaign"]) == document
    kept = json.loads((campaign / "results.json").read_text())
    assert kept["path"] == "."  # the file lies in it, wherever that is moved
    assert document == {**kept, "path": str(campaign)}
    report = dlperf("report", document["campaign"], "--format", "json").stdout
    assert json.loads(report)["path"] == str(campaign)
    assert "| 1 | 1 | 1 |" in dlperf("report", document["campaign"]).stdout
    assert f"| {document['campaign']} | finished | 1/1 |" in dlperf("status").stdout


def test_a_campaign_file_does_the_same_again(dlperf: CommandLine) -> None:
    first = dlperf.document("run", "-p", "cpu-smoke", "-c", "1n1g", "--set", "seconds=2")
    campaigns = dlperf.home / ".local/share/dlperf-tui/campaigns"
    again = dlperf.document("run", "--from", campaigns / first["campaign"] / "campaign.toml")
    assert again["campaign"] != first["campaign"]
    assert [run["case"] for run in again["runs"]] == [run["case"] for run in first["runs"]]


def test_parse_gives_the_mean_of_all_readings_but_the_first(
    dlperf: CommandLine, tmp_path: Path
) -> None:
    lines = [
        f"train: epoch 0, iter {step}, loss: 1.0, top_1: 0.0, top_k: 0.0, samples/s: {value}"
        for step, value in SEED_004
    ]
    log = write(tmp_path / "oneflow.log", "\n".join(lines) + "\n")
    (found,) = dlperf.document("parse", "--profile", "oneflow-resnet50", "--gpus", "1", log)
    rest = [value for _step, value in SEED_004[1:]]
    assert found["throughput"] == pytest.approx(sum(rest) / len(rest), abs=1e-9)
    assert set(found) == {
        *("path", "profile", "throughput", "unit", "readings", "window", "statistic"),
        *("scope", "gpus", "metrics", "warnings"),
    }
    assert (found["readings"], found["gpus"], found["warnings"]) == (10, 1, [])


def test_parse_of_a_log_without_readings_is_null_and_fails(
    dlperf: CommandLine, tmp_path: Path
) -> None:
    log = write(tmp_path / "empty.log", "nothing to see\n")
    (found,) = dlperf.document("parse", "-p", "oneflow-resnet50", "--gpus", "8", log, code=1)
    assert found["throughput"] is None
    assert found["warnings"]


STATES_ITSELF = """
name = "states-itself"
framework = "F"
model = "M"
unit = "tokens/s"
[matrix]
cases = ["1n8g"]
[launch]
launcher = "per_node"
command = "train"
[measure]
reading = 'step (?P<step>\\d+) (?P<value>[\\d.]+) ms'
kind = "step_time"
scale = 0.001
work = "global_batch * sequence_length"
required = "loss"
[measure.metrics.loss]
reading = 'loss (?P<value>\\S+)'
[measure.stated]
world_size = 'world (?P<value>\\d+)'
global_batch = 'batch (?P<value>\\d+)'
sequence_length = 'length (?P<value>\\d+)'
"""


def test_parse_takes_what_the_log_says_of_itself(dlperf: CommandLine, tmp_path: Path) -> None:
    profile, log = tmp_path / "states-itself.toml", tmp_path / "run.log"
    profile.write_text(STATES_ITSELF, encoding="utf-8")
    log.write_text("world 16\nbatch 64\nlength 1024\nstep 1 500 ms\nloss 3\n", encoding="utf-8")
    (found,) = dlperf.document("parse", "-p", str(profile), log)
    assert (found["gpus"], found["throughput"], found["warnings"]) == (16, 131072, [])
    assert found["metrics"]["tokens_per_s_per_gpu"] == 8192
    (found,) = dlperf.document("parse", "-p", str(profile), "--gpus", "8", log)
    assert found["gpus"] == 8
    assert any("world_size 16" in warning for warning in found["warnings"])
    log.write_text(log.read_text(encoding="utf-8").replace("loss", "lost"), encoding="utf-8")
    (found,) = dlperf.document("parse", "-p", str(profile), log, code=1)
    assert found["warnings"] == ["the log has no loss"]


def test_plan_shows_exact_commands_and_starts_nothing(dlperf: CommandLine) -> None:
    done = dlperf("plan", "-p", "cpu-smoke", "-c", "1n1g", "-r", "2")
    assert done.stdout.count("python3 cpu_smoke.py --nodes 1 --node-rank 0 --devices 1") == 2
    assert done.stdout.startswith("1/2  cpu-smoke 1n1g b32 #1\n")
    assert "\nRUN stands for the run's id, which it gets with its campaign\n" in done.stdout
    assert ", ≈ 20s by the profile's estimate, about 20 device-seconds\n" in done.stderr
    assert not (dlperf.home / ".local").exists()


def test_plan_and_run_go_by_what_was_measured_before(dlperf: CommandLine) -> None:
    begun = dlperf("run", "-p", "cpu-smoke", "-c", "1n1g")
    assert ", ≈ 10s by the profile's estimate, about 10 device-seconds\n" in begun.stderr
    both = ("-p", "cpu-smoke", "-c", "1n1g", "1n2g")
    totals = dlperf.document("plan", *both)["totals"]
    assert (totals["measured"], totals["expected_s"] < 20.0) == (1, True)
    said = dlperf("plan", *both).stderr
    assert "device-seconds, partly as measured\n" in said
    assert "by the profile's estimate" not in said
    again = dlperf("plan", "-p", "cpu-smoke", "-c", "1n1g").stderr
    assert "device-seconds, as measured\n" in again


def test_plan_shows_weak_and_strong_scaling_and_the_profiled_runs(dlperf: CommandLine) -> None:
    sizes = ("--set", "batch_size=32", "global_batch=128")
    plan = dlperf.document("plan", "-p", "cpu-smoke", "-c", "1n1g", *sizes, "--explain")
    assert [run["label"] for run in plan["runs"]] == [
        "cpu-smoke 1n1g b32 #1",
        "cpu-smoke 1n1g b128 global_batch=128 #1",
        "cpu-smoke 1n1g b32 profiled",
        "cpu-smoke 1n1g b128 global_batch=128 profiled",
    ]
    assert plan["stand_ins"] == {
        "RUN": "the run's id, which it gets with its campaign",
        "29500": "a free port, which is chosen when the run starts",
    }
    assert plan["totals"] == {
        "runs": 4,
        "profiled": 2,
        "expected_s": plan["expected_s"],
        "device_hours": pytest.approx(4 * 10 / 3600),
        "cost": None,
        "at_least": False,
        "measured": 0,
    }
    told = ["DLPERF_PROFILE=1 " in run["commands"][0] for run in plan["runs"]]
    assert told == [False, False, True, True]


def test_hosts_document_describes_this_machine(dlperf: CommandLine) -> None:
    (host,) = dlperf.document("hosts")
    assert host["state"] == "ready"
    assert host["cpus"] >= 1
    assert host["memory_mib"] > 0
    assert isinstance(host["gpus"], list)
    assert isinstance(host["links"], list)


def test_hosts_shows_who_has_a_host_and_since_when(dlperf: CommandLine, tmp_path: Path) -> None:
    host = Host("here", "local", work_dir=f"{tmp_path}/w", lease_dir=f"{tmp_path}/leases")
    inventory = write(
        tmp_path / "hosts.toml",
        f'[[hosts]]\nname = "here"\ntransport = "local"\nlease_dir = "{tmp_path}/leases"\n',
    )

    async def while_a_run_holds_it() -> Any:
        remote = RemoteHost(LocalTransport(host))
        await remote.start(RunSpec("r1", "sleep 600", lease="bob@login02 resnet"))
        try:
            held = await asyncio.to_thread(dlperf.document, "hosts", "--inventory", inventory)
            text = await asyncio.to_thread(dlperf, "hosts", "--inventory", inventory)
        finally:
            await remote.cancel("r1", grace_s=1)
        return held[0]["lease"], text.stdout

    before = int(time.time())
    assert dlperf.document("hosts", "--inventory", inventory)[0]["lease"] is None
    assert not (tmp_path / "leases").exists(), "looking makes nothing"
    lease, text = asyncio.run(while_a_run_holds_it())
    assert lease.keys() == {"holder", "since"}
    assert lease["holder"].startswith("bob@login02 resnet, run r1")
    assert before <= lease["since"] <= time.time()
    assert "held by bob@login02 resnet, run r1" in text
    assert dlperf.document("hosts", "--inventory", inventory)[0]["lease"] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a directory away")
def test_a_directory_that_is_somebody_elses_stops_before_anything_starts(
    dlperf: CommandLine, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 12345, -1)
    profile = short_profile(tmp_path, "true")
    campaigns = tmp_path / "campaigns"
    for key, says in (
        ("work_dir", f"work_dir {theirs}: {theirs} belongs to 12345; set another work_dir"),
        ("lease_dir", f"the lease_dir {theirs} is not safe: it belongs to 12345"),
    ):
        inventory = write(
            tmp_path / "hosts.toml",
            f'[[hosts]]\nname = "here"\ntransport = "local"\n{key} = "{theirs}"\n',
        )
        words = ("run", "-p", profile, "--inventory", inventory, "--campaigns", campaigns)
        assert says in dlperf(*words, code=2).stderr.splitlines()[-1]
    assert not campaigns.exists()
    assert list(theirs.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run"], "--profile"),
        (["run", "-p", "cpu-smok"], "did you mean cpu-smoke"),
        (["run", "-p", "missing.toml"], "missing.toml"),
        (["run", "-p", "cpu-smoke", "-c", "2x8"], "2x8"),
        (["run", "-p", "cpu-smoke", "-c", "1n64g"], "needs 64 devices per host"),
        (["run", "-p", "cpu-smoke", "--hosts", "nosuch"], "nosuch"),
        (["run", "-p", "cpu-smoke", "--set", "batch_size"], "NAME=VALUE"),
        (["run", "-p", "cpu-smoke", "--set", "batch_size=7"], "batch_size=7 is not a choice"),
        (["run", "-p", "cpu-smoke", "--set", "colour=red"], "colour"),
        (["run", "-p", "cpu-smoke", "-c", "1n2g", "--set", "global_batch=33"], "evenly among 2"),
        (["run", "-p", "cpu-smoke", "-c", "1n1g", "--set", "global_batch=33"], "batch_size=33"),
        (["run", "-p", "cpu-smoke", "--set", "global_batch=x"], "global_batch=x"),
        (["run", "-p", "cpu-smoke", "-r", "0"], "repeats"),
        (["plan", "-p", "cpu-smoke", "-r", "1000000000"], "repeats must be 1 to 1000"),
        (["run", "-p", "cpu-smoke", "--hosts", ""], "no host is named"),
        (["--readonly", "run", "-p", "cpu-smoke"], "--readonly"),
        (["--readonly", "sweep"], "--readonly"),
        (["report", "x", "--decimals", "500"], "--decimals"),
        (["parse", "-p", "cpu-smoke", "--gpus", "9" * 20, "/dev/null"], "--gpus"),
        (["parse", "-p", "cpu-smoke", "--gpus", "4", "--case", "1n8g", "/dev/null"], "give one"),
        (["parse", "-p", "cpu-smoke", "/"], "is a directory"),
        (["status", "/"], "events.jsonl"),
        (["run", "--from", "nothere.toml"], "nothere.toml"),
        (["run", "-p", "cpu-smoke", "--inventory", "nothere.toml"], "nothere.toml"),
        (["run", "-p", "cpu-smoke", "--profile-dir", "nothere"], "nothere"),
        (["plan", "-p", "oneflow-resnet50", "-c", "1n1g"], "--set data_root=…"),
        (["status", "nothere"], "no campaign 'nothere'"),
        (["resume", "nothere"], "no campaign 'nothere'"),
        (["cancel", "nothere"], "no campaign 'nothere'"),
        (["report", "nothere"], "no campaign 'nothere'"),
        (["compare", "nothere", "nothere"], "no campaign 'nothere'"),
        (["parse", "-p", "cpu-smoke", "nothere.log"], "nothere.log"),
        (["profiles", "show", "nothere"], "nothere"),
        (["profiles", "check", "nothere.toml"], "nothere.toml"),
        (["frobnicate"], "frobnicate"),
        (["run", "--frobnicate"], "--frobnicate"),
        ([], "terminal"),
    ],
)
def test_a_wrong_request_gets_one_line_and_exit_code_2(
    dlperf: CommandLine, words: Sequence[str], says: str
) -> None:
    assert says in dlperf.complaint(*words)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = ", "not valid TOML"),
        ('[[hosts]]\nname = "a"\ncolour = "red"\n', "colour"),
        ('[[hosts]]\nname = "../etc"\n', "../etc"),
        ('[[hosts]]\nname = "a"\n[[hosts]]\nname = "a"\n', "a"),
        ('[[hosts]]\nname = "n[1-3]"\naddress = "10.0.0.[1-2]"\n', "address"),
    ],
)
def test_a_wrong_inventory_names_file_and_key(
    dlperf: CommandLine, tmp_path: Path, text: str, says: str
) -> None:
    path = write(tmp_path / "hosts.toml", text)
    complaint = dlperf.complaint("hosts", "--inventory", path)
    assert "hosts.toml" in complaint
    assert says in complaint


def test_a_campaigns_directory_that_cannot_be_made_is_told_before_anything_starts(
    dlperf: CommandLine, tmp_path: Path
) -> None:
    file = write(tmp_path / "file", "")
    profile = short_profile(tmp_path, "true")
    complaint = dlperf("run", "-p", profile, "--campaigns", file / "campaigns", code=2)
    assert "cannot create a campaign" in complaint.stderr.splitlines()[-1]


def test_a_command_that_the_host_does_not_have_fails_with_the_reason(
    dlperf: CommandLine, tmp_path: Path
) -> None:
    profile = short_profile(tmp_path, "no-such-program --help")
    document = dlperf.document("run", "-p", profile, code=1)
    (run,) = document["runs"]
    assert run["state"] == "failed"
    assert run["throughput"] is None
    assert "not found" in run["reason"]


def test_a_run_whose_log_has_no_reading_fails_and_shows_its_last_lines(
    dlperf: CommandLine, tmp_path: Path
) -> None:
    profile = short_profile(tmp_path, "echo warming up; echo all done")
    done = dlperf("run", "-p", profile, code=1)
    assert "no line of the log matches" in done.stderr
    assert "all done" in done.stderr


def test_plan_shows_what_a_case_would_be_where_it_can_run(dlperf: CommandLine) -> None:
    done = dlperf(
        *("plan", "-p", "oneflow-resnet50", "-c", "2n8g"),
        *("--set", "benchmark_root=/opt/cnns", "data_root=/data/ofrecord"),
        code=2,
    )
    assert "cannot run here: needs 2 hosts, there is 1" in done.stdout
    assert done.stdout.count("--num_nodes=2 --gpu_num_per_node=8") == 2
    assert done.stdout.count("--node_ips=127.0.0.1,HOST2") == 2


def test_plan_takes_the_inventorys_word_for_hosts_that_cannot_be_reached(
    dlperf: CommandLine, tmp_path: Path
) -> None:
    """What two hosts that are off would be told: no other names than theirs."""
    inventory = write(
        tmp_path / "hosts.toml",
        '[[hosts]]\nname = "off[1-2]"\naddress = "127.0.0.[1-2]"\nport = 9\n'
        'train_address = "192.168.9.[2-3]"\ninterface = "ib0"\n'
        'environment = { NCCL_IB_GID_INDEX = "3" }\n',
    )
    done = dlperf(
        *("plan", "-p", "oneflow-resnet50", "-c", "2n8g", "--inventory", inventory),
        *("--set", "benchmark_root=/opt/cnns", "data_root=/data/ofrecord"),
        code=2,
    )
    assert "cannot run here: " in done.stdout
    assert done.stdout.count("--node_ips=192.168.9.2,192.168.9.3") == 2
    assert done.stdout.count("NCCL_SOCKET_IFNAME=ib0") == 2
    assert done.stdout.count("NCCL_IB_GID_INDEX=3") == 2
    assert "off1: " in done.stdout
    assert "node1" not in done.stdout


def test_a_campaign_file_brings_its_hosts_and_they_are_checked(
    dlperf: CommandLine, tmp_path: Path
) -> None:
    inventory = write(
        tmp_path / "hosts.toml", '[[hosts]]\nname = "elsewhere"\ntransport = "local"\n'
    )
    words = ("-p", "cpu-smoke", "-c", "1n1g", "--set", "seconds=2", "--hosts", "elsewhere")
    first = dlperf.document("run", *words, "--inventory", inventory)
    path = dlperf.home / ".local/share/dlperf-tui/campaigns" / first["campaign"] / "campaign.toml"
    assert "  elsewhere: " in dlperf("plan", "--from", path).stdout
    for wrong in ('work_dir = "$(touch x)"', 'address = "a b"', 'name = "../x"'):
        text = path.read_text().replace('name = "elsewhere"', f'name = "elsewhere", {wrong}')
        if wrong.startswith("name"):
            text = path.read_text().replace('name = "elsewhere"', wrong)
        hostile = write(tmp_path / "hostile.toml", text)
        done = dlperf("plan", "--from", hostile, code=2)
        assert "hosts: " in done.stderr


def test_a_damaged_journal_is_told(dlperf: CommandLine) -> None:
    first = dlperf.document("run", "-p", "cpu-smoke", "-c", "1n1g", "--set", "seconds=2")
    campaign = dlperf.home / ".local/share/dlperf-tui/campaigns" / first["campaign"]
    journal = campaign / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0], b"#garbage\n", *lines[2:]]))
    assert "1 line of the journal could not be read" in dlperf("status", first["campaign"]).stdout
    journal.write_bytes(b"".join([b"#garbage\n", *lines[1:]]))
    assert "has no beginning" in dlperf("status", first["campaign"], code=2).stderr


def test_a_terminal_in_ascii_gets_a_report_all_the_same(dlperf: CommandLine) -> None:
    os.environ["PYTHONIOENCODING"] = "ascii"
    try:
        done = dlperf("plan", "-p", "cpu-smoke", "-c", "1n1g")
    finally:
        del os.environ["PYTHONIOENCODING"]
    assert "cpu_smoke.py" in done.stdout


def test_a_journal_of_a_newer_version_is_refused_and_left_as_it_is(dlperf: CommandLine) -> None:
    campaign = dlperf.home / "newer"
    journal = write(campaign / "events.jsonl", '{"kind":"CampaignBegun","schema":7}\n{"torn')
    for command in ("status", "resume", "cancel", "report"):
        complaint = dlperf.complaint(command, campaign)
        assert "written by a newer dlperf-tui (its journal has schema 7" in complaint
    assert journal.read_text().endswith('{"torn')
    assert [path.name for path in campaign.iterdir()] == ["events.jsonl"]
    listed = dlperf.document("status", "--campaigns", dlperf.home)
    assert [(c["state"], "newer" in c["reason"]) for c in listed] == [("unreadable", True)]


FREE = """
name = "wide"
framework = "F"
model = "M"
[parameters]
a = { choices = [1], default = 1, free = true }
b = { choices = [1], default = 1, free = true }
[matrix]
cases = ["1n1g"]
[launch]
launcher = "per_node"
command = "true"
[measure]
reading = '(?P<value>\\d+)'
"""


def test_a_million_cases_are_refused(dlperf: CommandLine, tmp_path: Path) -> None:
    values = ",".join(map(str, range(1, 1001)))
    words = ("-p", write(tmp_path / "wide.toml", FREE), "--set", f"a={values}", f"b={values}")
    for command in ("plan", "run"):
        assert "1,000,000 cases of wide are more than" in dlperf.complaint(command, *words)


def test_very_many_runs_are_started_only_when_they_are_meant(
    dlperf: CommandLine, tmp_path: Path
) -> None:
    values = ",".join(map(str, range(1, 22)))
    words = ("-p", write(tmp_path / "wide.toml", FREE), "--set", f"a={values}", "-r", "1000")
    for more in ((), ("--json",)):
        told = dlperf("run", *words, *more, code=2)
        assert told.stdout == ""
        assert "21,000 runs are started only when they are meant; add --yes" in told.stderr
    if shutil.which("script") is None:
        pytest.skip("script is not installed")
    asked = [*map(shlex.quote, (sys.executable, "-m", "tui.cli", "run", *map(str, words)))]
    terminal = subprocess.run(
        ["script", "-qec", " ".join(asked), "/dev/null"],
        input=b"n\n",
        env={**os.environ, "HOME": str(dlperf.home)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert terminal.returncode == 2, terminal.stdout
    assert b"21 cases, 21000 runs on " in terminal.stdout
    assert b". Start them? [y/N]" in terminal.stdout
    assert not list(dlperf.home.glob(".local/share/dlperf-tui/campaigns/*"))
