"""The demo without the console: all of it as scripted, and SIMULATED wherever any of it shows."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from backends.campaign.folder.directory_identity import place_of
from backends.campaign.record.journal import read_events
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, RunRecord, RunState, fold
from backends.demo import HOSTS, not_as_scripted
from backends.hangs.diagnosis import Source
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.results.publish import LAYOUTS, publish
from profiles.errors import SelectionError
from tests.support.waiting import wait_until
from tui.cli import main
from tui.cli.demo import FASTEST

TWO_MINUTES, MARGIN_S = 120.0, 30.0
COMMAND = (sys.executable, "-m", "tui.cli")


@dataclass(frozen=True)
class Demo:
    code: int
    out: str
    err: str
    campaign: Path

    @property
    def state(self) -> CampaignState:
        return fold(read_events(self.campaign / "events.jsonl"))

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        return tuple(self.state.runs.values())


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Demo:
    """Once, as its operator types it, whichever workers test it; of each a copy of its own."""
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "shared-demo"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            run_demo(shared)
    ended = json.loads((shared / "ended.json").read_text())
    [campaign] = (shared / "campaigns").iterdir()
    copy = tmp_path_factory.mktemp("demo") / "campaigns" / campaign.name
    shutil.copytree(campaign, copy)
    journal = copy / "events.jsonl"  # it takes itself for the campaign
    inodes = (place_of(directory).inodes for directory in (campaign, copy))
    journal.write_text(journal.read_text().replace(*inodes))
    return Demo(**ended, campaign=copy)


def run_demo(directory: Path) -> None:
    """``directory`` is there when all of it is."""
    unfinished = directory.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    done = subprocess.run(
        [*COMMAND, "--campaigns", str(unfinished / "campaigns"), "demo", "--headless"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    ended = {"code": done.returncode, "out": done.stdout, "err": done.stderr}
    (unfinished / "ended.json").write_text(json.dumps(ended))
    unfinished.rename(directory)


def test_it_runs_as_scripted_in_two_minutes_and_prints_its_table(demo: Demo) -> None:
    assert demo.code == 0, demo.err
    assert "not as scripted" not in demo.err
    began, ended = demo.state.created_at, max(run.ended_at or 0.0 for run in demo.runs)
    assert began is not None
    # At 60 times the speed; a machine that is busy with other things takes longer.
    assert (ended - began) / FASTEST < TWO_MINUTES - MARGIN_S
    for framework in ("OneFlow", "PaddlePaddle", "NGC TensorFlow", "NGC PyTorch"):
        assert framework in demo.out
    assert "SIMULATED" in demo.out
    assert not_as_scripted(demo.state, _hosts()) == ()


def test_each_misfortune_is_found_and_named(demo: Demo) -> None:
    state = demo.state
    reasons = {r.reason: r for r in state.runs.values() if r.state is RunState.FAILED}
    assert set(reasons) == {
        "out of GPU memory",
        next(r for r in reasons if r.startswith("stalled at step")),
    }
    full = reasons["out of GPU memory"]
    assert full.framework == "PaddlePaddle"
    assert any("Cannot allocate" in line for line in full.evidence)
    [stalled] = [run for reason, run in reasons.items() if reason.startswith("stalled")]
    assert (stalled.framework, stalled.category) == ("NGC PyTorch", "stalled")
    found = stalled.diagnosis  # its hosts were asked before it was ended
    assert found is not None
    [hangs] = found.suspects
    assert hangs.rank == stalled.nodes * stalled.gpus_per_node * 5 // 8
    assert hangs.host == stalled.hosts[hangs.rank // stalled.gpus_per_node]
    assert hangs.device == hangs.rank % stalled.gpus_per_node
    assert "SIMULATED" in (demo.campaign / next(iter(found.files))).read_text()
    assert {lacking.source for lacking in found.lacking} == {Source.RAS}  # NCCL of 2020 had none
    report = (demo.campaign / "report.md").read_text()
    assert re.search(r"was throttled for [\d.]+% of the \d+ s that it was watched \(soft", report)
    slowed = [
        (run.framework, gpu.throttled_s)
        for run in state.runs.values()
        if run.telemetry is not None
        for gpu in run.telemetry.gpus
        if any((gpu.throttled_s or {}).values())
    ]
    assert [framework for framework, _ in slowed] == ["NGC TensorFlow"]
    assert re.search(r"speed changes by -1\d.*meanwhile GPU\d of sim\d was throttled", report)


def test_telemetry_and_figures_go_together(demo: Demo) -> None:
    """Host and login node have one clock: what GPUs did is known of all of the time of training."""
    for run in demo.state.runs.values():
        if run.state is not RunState.SUCCEEDED:
            continue
        assert run.telemetry is not None
        assert len(run.telemetry.gpus) == run.nodes * run.gpus_per_node, run.run_id
        for gpu in run.telemetry.gpus:
            assert gpu.utilization_mean == pytest.approx(97.0), "and of no other time"


def test_a_campaign_that_went_otherwise_is_not_as_scripted(demo: Demo) -> None:
    state, hosts = demo.state, _hosts()

    def without(**changes: Any) -> CampaignState:
        failed = next(i for i, r in state.runs.items() if r.state is RunState.FAILED)
        runs = {**state.runs, failed: replace(state.runs[failed], **changes)}
        return replace(state, runs=runs)

    assert not_as_scripted(without(state=RunState.SUCCEEDED), hosts)
    assert not_as_scripted(without(category="exit"), hosts)
    assert not_as_scripted(replace(state, simulated=False), hosts)
    assert not_as_scripted(state, [replace(host, state=HostState.READY) for host in hosts])
    calm = {i: replace(run, telemetry=None) for i, run in state.runs.items()}
    assert not_as_scripted(replace(state, runs=calm), hosts)


def _hosts() -> list[HostSnapshot]:
    degraded = HostState.DEGRADED
    states = [degraded if host is HOSTS[-1] else HostState.READY for host in HOSTS]
    return [HostSnapshot(h.name, h.address, s) for h, s in zip(HOSTS, states, strict=True)]


# SIMULATED ---------------------------------------------------------------------------------------


def test_every_file_of_the_campaign_says_so(demo: Demo) -> None:
    told = 0
    for path in sorted(demo.campaign.rglob("*")):
        if path.is_file() and path.name not in ("debug.log", "debug.log.1"):
            if path.is_relative_to(demo.campaign / "frozen") or path.name == "campaign.toml":
                continue  # what was asked
            if "diagnosis" in str(path.relative_to(demo.campaign)):
                continue  # what the hosts said of a hang, byte for byte, and what it comes to
            assert says_so(path.read_text("utf-8", "replace")), path
            told += 1
    assert told > 100


def test_nothing_of_it_has_changed_and_what_has_is_told(
    demo: Demo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its profiles are those of the bundle with what the hosts have in place."""
    copy = tmp_path / demo.campaign.name
    shutil.copytree(demo.campaign, copy)
    for command in ("report", "status"):
        main([command, str(copy)])
        assert "changed since" not in "".join(capsys.readouterr())
    with (copy / "campaign.toml").open("a") as file:
        file.write("# changed")
    main(["report", str(copy)])
    assert "changed since the campaign began: campaign.toml;" in capsys.readouterr().err


def says_so(text: str) -> bool:
    return bool(re.search(r"SIMULATED|\"?simulated\"?\s*[:=]\s*true", text))


def _layouts() -> Iterator[tuple[str, str, str]]:
    for layout in LAYOUTS.values():
        for form in layout.formats:
            for lang in ("en", "zh"):
                yield layout.name, form, lang


@pytest.mark.parametrize(("layout", "form", "lang"), _layouts())
def test_every_layout_says_so_in_every_format_and_language(
    demo: Demo, capsys: pytest.CaptureFixture[str], layout: str, form: str, lang: str
) -> None:
    runs = run_results(demo.state)
    if layout in ("llm", "collectives", "mlperf"):  # of which there is nothing here
        with pytest.raises(SelectionError):
            publish("", runs, layout=layout)
        return
    words = ("report", demo.campaign, "--layout", layout, "--format", form, "--lang", lang)
    assert main([*map(str, words)]) == 0
    said = capsys.readouterr().out
    for block in filter(None, re.split(r"\n(?=### |\{)", said) if form == "md" else [said]):
        assert says_so(block), (layout, form, block)
    if form == "csv":
        headings, *rows = [line for line in said.splitlines() if line]
        assert all(says_so(row) or row.startswith(headings[:5]) for row in rows)


OF_A_CAMPAIGN: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "html": lambda path: ("report", path, "--format", "html"),
    "junit": lambda path: ("report", path, "--format", "junit"),
    "status": lambda path: ("status", path),
    "status json": lambda path: ("status", path, "--json"),
    "status line": lambda path: ("status", path, "--line"),
    "status watch": lambda path: ("status", path, "--watch"),
    "status of all": lambda path: ("status", "--campaigns", path.parent),
    "status of all json": lambda path: ("status", "--json", "--campaigns", path.parent),
    "campaigns": lambda path: ("campaigns", "ls", "--campaigns", path.parent),
    "campaigns json": lambda path: ("campaigns", "ls", "--json", "--campaigns", path.parent),
    "compare": lambda path: ("compare", path, path),
    "compare json": lambda path: ("compare", path, path, "--json"),
    "history": lambda path: ("history", path),
    "history json": lambda path: ("history", path, "--json"),
    "log": lambda path: ("logs", path, "0001-a1"),
}


@pytest.mark.parametrize("name", OF_A_CAMPAIGN)
def test_every_command_says_so_of_a_campaign_that_was_renamed(
    demo: Demo, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """And of a bundle of it, on any machine."""
    renamed = tmp_path / "campaigns" / "of-last-night"
    shutil.copytree(demo.campaign, renamed)
    main([*map(str, OF_A_CAMPAIGN[name](renamed))])
    said = capsys.readouterr()
    assert says_so(said.out.replace(demo.campaign.name, "")), said


def test_junit_of_a_comparison_and_pictures_say_so(
    demo: Demo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "suite.xml"
    main(["compare", str(demo.campaign), str(demo.campaign), "--junit", str(suite)])
    assert "SIMULATED" in suite.read_text()
    report = tmp_path / "report.md"
    main(["report", str(demo.campaign), "--figures", "-o", str(report)])
    pictures = list(tmp_path.rglob("*.svg"))
    assert pictures
    for picture in pictures:
        assert "SIMULATED" in picture.read_text(), picture


def test_a_bundle_says_so(demo: Demo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = tmp_path / "nightly.tar.zst"
    assert main(["report", str(demo.campaign), "--bundle", str(bundle)]) == 0
    assert "SIMULATED" in capsys.readouterr().out  # what it is cited as
    assert main(["report", str(bundle)]) == 0
    assert "SIMULATED" in capsys.readouterr().out
    unpacked = tmp_path / "unpacked"
    assert main(["import", str(bundle), "-o", str(unpacked)]) == 0
    assert fold(read_events(unpacked / "events.jsonl")).simulated


def test_logs_say_so_to_who_reads_them_alone(
    demo: Demo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = demo.campaign / "logs"
    alone = next(path for path in sorted(logs.rglob("*.log")) if "oneflow" in str(path).lower())
    words = ["parse", "-p", "oneflow-resnet50", str(alone)]
    assert main(words) == 0
    assert "SIMULATED" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert says_so(capsys.readouterr().out)
    imported = tmp_path / "imported"
    words = ["import", "-p", "oneflow-resnet50", str(alone.parents[1]), "-o", str(imported)]
    assert main(words) == 0
    assert fold(read_events(imported / "events.jsonl")).simulated


# Nobody goes on with it on real hosts ------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [("resume",), ("repeat", "2"), ("retry",), ("cancel",), ("keep",), ("resume", "--detach")],
    ids=" ".join,
)
def test_real_hosts_get_nothing_of_it(
    demo: Demo, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    verb, *rest = words
    journal = demo.campaign / "events.jsonl"
    whole = before = journal.read_bytes()
    if verb != "repeat":  # one that has something left to do
        lines = whole.splitlines(keepends=True)
        before = b"".join(lines[: len(lines) // 2])
    try:
        journal.write_bytes(before)
        code = main([verb, str(demo.campaign), *rest])
        after = journal.read_bytes()
    finally:
        journal.write_bytes(whole)
    said = capsys.readouterr()
    assert code == 2, said
    [line] = said.err.splitlines()
    assert "this campaign is SIMULATED" in line
    assert "dlperf-tui demo" in line
    assert after == before


def test_others_ask_the_one_at_work_and_one_that_is_interrupted_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaigns = tmp_path / "campaigns"
    command = [*COMMAND, "--campaigns", str(campaigns), "demo", "--headless"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        # Until the hosts' time is minutes ahead of that of who asks.
        wait_until(lambda: _journal(campaigns).count(b"RunSucceeded") > 1)
        [campaign] = campaigns.iterdir()
        assert main(["pause", str(campaign)]) == 0
        assert "runs paused" in capsys.readouterr().err
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 3, (out, err)
    assert "dlperf-tui demo" in err
    assert "resume" not in err
    assert "SIMULATED" in campaign.name


def _journal(campaigns: Path) -> bytes:
    return b"".join(path.read_bytes() for path in campaigns.glob("*/events.jsonl"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--speed", "0.5"), "0.5 is no speed from 1 to 60"),
        (("--speed", "61"), "61 is no speed"),
        (("--speed", "nan"), "nan is no speed"),
        (("--json",), "add --headless"),
        (("--headless", "--inventory", "hosts.toml"), "--inventory: the demo has hosts"),
    ],
)
def test_a_wrong_request_is_one_line_and_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    campaigns = tmp_path / "campaigns"
    assert main(["demo", "--campaigns", str(campaigns), *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line
    assert not campaigns.exists()


def test_as_a_document_it_is_the_campaigns(tmp_path: Path, demo: Demo) -> None:
    results = json.loads((demo.campaign / "results.json").read_text())
    assert len(results["runs"]) == 48
    assert len(results["results"]) == 16
    assert all(result["grade"] == "D" for result in results["results"])
