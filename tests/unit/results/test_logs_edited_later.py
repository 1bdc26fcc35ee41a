"""A log that is changed after its run has ended is told wherever its figure is."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backends.campaign.folder import raw_logs
from backends.campaign.folder.export_report import Export, exported
from backends.campaign.folder.log_stamps import stamps_of
from backends.campaign.folder.paths import host_log_path
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.codec import decode, encode
from backends.campaign.record.events import RunSucceeded
from backends.use_cases import Workspace
from tui.cli import main

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "h200-x2-auto"
OTHER = "other"
ON_BOTH = b'"hosts":["vm"]', b'"hosts":["vm","other"]'
LINE = re.compile(rb"(?m)^(.*samples/s: )(\d)")


def appended(log: Path) -> None:
    """What the window takes in: as many readings again, at ten times the speed."""
    data = log.read_bytes()
    log.write_bytes(data + LINE.sub(rb"\g<1>9\2", data))


def cut(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:200])


def faster(log: Path) -> None:
    log.write_bytes(LINE.sub(rb"\g<1>9\2", log.read_bytes()))


def as_long(log: Path) -> None:
    """Byte for byte as long as it was."""
    log.write_bytes(LINE.sub(_with_another_digit, log.read_bytes()))


def _with_another_digit(line: re.Match[bytes]) -> bytes:
    return line[1] + (b"8" if line[2] == b"9" else b"9")


def touched(log: Path) -> None:
    os.utime(log, (1, 1))


def copied(log: Path) -> None:
    data = log.read_bytes()
    log.unlink()
    log.write_bytes(data)


def commented(log: Path) -> None:
    log.write_bytes(log.read_bytes() + b"a line that no pattern knows\n")


def untouched(_log: Path) -> None:
    pass


FALSE: dict[str, tuple[Callable[[Path], None], str]] = {
    "appended to": (appended, "gives "),
    "cut": (cut, "gives nothing"),
    "changed": (faster, "gives "),
    "changed, as long as before": (as_long, "gives "),
    "removed": (Path.unlink, "missing; "),
}
TRUE = {"touched": touched, "copied": copied, "commented": commented, "untouched": untouched}
NOTED = "was changed after its run"


@contextlib.contextmanager
def campaign(*, stamped: bool) -> Iterator[Path]:
    """One whose logs are older than its runs' ends, as they are where they were measured."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        shutil.copytree(EXAMPLE, path)
        ended = {run.log: run.ended_at or 0.0 for run in read_campaign(path).runs.values()}
        for log, end in ended.items():
            if (path / log).is_file():
                os.utime(path / log, (end - 1, end - 1))
        journal = path / "events.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(_stamped(line, path) if stamped else line for line in lines))
        yield path


def _stamped(line: bytes, path: Path) -> bytes:
    event = decode(line)
    if not isinstance(event, RunSucceeded):
        return line
    logs = [path / event.log, path / host_log_path(event.log, OTHER)]
    return encode(replace(event, log_stamps=stamps_of(filter(Path.is_file, logs))))


@contextlib.contextmanager
def on_two_hosts(*, stamped: bool) -> Iterator[Path]:
    """The same, as if each run had been on another host, too."""
    with campaign(stamped=False) as path:
        journal = path / "events.jsonl"
        for run in read_campaign(path).runs.values():
            if run.log and (path / run.log).is_file():
                shutil.copy2(path / run.log, path / host_log_path(run.log, OTHER))
        lines = journal.read_bytes().replace(*ON_BOTH).splitlines(keepends=True)
        journal.write_bytes(b"".join(_stamped(line, path) if stamped else line for line in lines))
        yield path


def said(*words: str | Path, code: int = 0) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main([*map(str, words)]) == code
    return out.getvalue(), err.getvalue()


@settings(max_examples=12, deadline=None)
@given(data=st.data(), stamped=st.booleans())
def test_each_log_that_does_not_give_its_figure_is_named_and_no_other(data, stamped: bool):
    with campaign(stamped=stamped) as path:
        runs = [run for run in read_campaign(path).runs.values() if run.throughput]
        deeds = data.draw(
            st.lists(
                st.sampled_from([*FALSE, *TRUE]), min_size=len(runs[:3]), max_size=len(runs[:3])
            )
        )
        for run, deed in zip(runs, deeds, strict=False):
            (TRUE[deed] if deed in TRUE else FALSE[deed][0])(path / run.log)
        out, err = said("report", path, "--format", "json")
        warned = [line for line in err.splitlines() if line.startswith("warning: ")]
        false = [(run, deed) for run, deed in zip(runs, deeds, strict=False) if deed in FALSE]
        assert len(warned) == len(false)
        for run, deed in false:
            [line] = [line for line in warned if run.log in line]
            assert f"{run.log}: {FALSE[deed][1]}" in line
            assert f"the campaign has {run.throughput:.2f} images/s" in line
        flagged = {
            case["case"] for case in json.loads(out)["results"] if "log_changed" in case["flags"]
        }
        assert flagged == {run.case.tag for run, _ in false}
        snapshot = Workspace.open().load(path)
        told = " ".join(text for _, _, text in snapshot.notes)
        for run, deed in zip(runs, deeds, strict=False):
            known = deed in FALSE or (stamped and deed == "commented")
            assert (run.log in told) is known


@pytest.mark.parametrize("deed", FALSE)
def test_a_figure_that_its_log_does_not_give_is_no_better_than_c(deed: str):
    with campaign(stamped=True) as path:
        run = next(run for run in read_campaign(path).runs.values() if run.throughput)
        FALSE[deed][0](path / run.log)
        document = json.loads(said("report", path, "--format", "json")[0])
        [case] = [case for case in document["results"] if case["case"] == run.case.tag]
        assert case["grade"] in "CD"
        html = path.parent / "r.html"
        said("report", path, "--format", "html", "-o", html)
        assert "the campaign has" in html.read_text()
        assert run.log in said("compare", path, path)[1]
        _, told = said("report", path, "--bundle", path.parent / "b.tar.zst", code=1)
        assert "cite:" not in told
        assert "not to be cited: its logs do not give 1 figure" in told


def test_many_that_are_missing_are_one_line():
    with campaign(stamped=True) as path:
        shutil.rmtree(path / "logs")
        _, told = said("report", path)
        assert told.count("logs of its figures missing: ") == told.count("warning: ") == 1


@pytest.mark.parametrize("stamped", [True, False])
def test_a_log_that_is_as_it_was_is_not_read(monkeypatch: pytest.MonkeyPatch, stamped: bool):
    def read(*_: object) -> str:
        raise AssertionError("it was read")

    with campaign(stamped=stamped) as path:
        monkeypatch.setattr(raw_logs, "_why_not", read)
        monkeypatch.setattr("backends.campaign.folder.log_stamps._stamp", read)
        said("report", path)


DEEDS: dict[str, Callable[[Path], None]] = {
    "removed": Path.unlink,
    "commented": commented,
    "touched": touched,
    "untouched": untouched,
}
LINK = re.compile(r"\]\(\./(logs/[^)]*)\)")


FOUR_DEEDS = st.lists(st.sampled_from([*DEEDS]), min_size=4, max_size=4)


@settings(max_examples=8, deadline=None)
@example(done=["commented"] * 4, stamped=True)
@example(done=["removed"] * 4, stamped=True)
@given(done=FOUR_DEEDS, stamped=st.booleans())
def test_a_log_of_any_host_is_told_where_it_is_lost_or_changed(done: list[str], stamped: bool):
    with on_two_hosts(stamped=stamped) as path:
        runs = [run for run in read_campaign(path).runs.values() if run.throughput][:2]
        logs = [log for run in runs for log in (run.log, host_log_path(run.log, OTHER))]
        deeds = dict(zip(logs, done, strict=True))
        for log, deed in deeds.items():
            DEEDS[deed](path / log)
        lost = {log for log in logs if deeds[log] == "removed"}
        noted = {log for log in logs if deeds[log] == "commented"} if stamped else set()
        short = [r for r in runs if {r.log, host_log_path(r.log, OTHER)} & lost]

        out, err = said("report", path, "--format", "json")
        lines = err.splitlines()
        warned = [line for line in lines if line.startswith("warning: ")]
        changed = [line for line in lines if "changed after" in line]
        assert_names(warned, lost, ": missing; ")
        assert_names(changed, noted, f": {NOTED}")
        assert all(line.startswith("note: ") for line in changed)
        flags = {case["case"]: case["flags"] for case in json.loads(out)["results"]}
        flagged = {case for case, own in flags.items() if "log_changed" in own}
        assert flagged == {run.case.tag for run in short}

        _, told = said("status", path)
        own = [line for line in told.splitlines() if "/logs" in line or ": logs/" in line]
        assert own == [*changed, *warned]

        bundle = path.parent / "b.tar.zst"
        out, err = said("report", path, "--bundle", bundle, code=1 if short else 0)
        assert ("cite: " in out + err) is not bool(short)
        assert_names([one for one in err.splitlines() if "missing" in one], lost, ": missing; ")
        unpacked = path.parent / "again"
        said("import", bundle, "-o", unpacked)
        report = (unpacked / "report.md").read_text()
        assert not [link for link in LINK.findall(report) if not (unpacked / link).is_file()]
        begin = report.partition("\n## ")[0].splitlines()
        begin = [one for one in begin if not one.startswith("> - ")]  # what the grade is held by
        assert_names([one for one in begin if "missing" in one[:99]], lost, ": missing; ")
        assert_names([one for one in begin if "changed after" in one], noted, f": {NOTED}")


def assert_names(lines: list[str], logs: set[str], words: str) -> None:
    """A line of each, and of no other; many in one."""
    if len(logs) > 3:
        assert len(lines) == 1
        assert lines[0].partition(" log")[0].split()[-1] == str(len(logs))
        return
    assert len(lines) == len(logs)
    assert all(any(f"{log}{words}" in line for line in lines) for log in logs)


def test_many_that_were_changed_are_one_note():
    with campaign(stamped=True) as path:
        runs = [run for run in read_campaign(path).runs.values() if run.throughput]
        for run in runs[:4]:
            commented(path / run.log)
        _, told = said("report", path)
        assert "note: c: 4 logs were changed after their runs; they still give the figures" in told
        assert told.count(NOTED) == 0


def test_a_log_that_is_lost_beside_an_imported_one_is_counted():
    with campaign(stamped=True) as path:
        run = next(run for run in read_campaign(path).runs.values() if run.throughput)
        logs = [path / run.log, path / host_log_path(run.log, OTHER)]
        shutil.copy2(*logs)
        imported = replace(run, hosts=(), log_stamps=stamps_of(logs))
        state = read_campaign(path)
        state = replace(state, runs={run.run_id: imported})
        checks = raw_logs.LogChecks(lambda _: None)
        assert not checks.doubts(state, path)
        logs[1].unlink()
        [doubt] = checks.doubts(state, path)
        assert doubt.why.startswith("1 log of its other hosts missing; the campaign has ")
        assert doubt.weight is raw_logs.Weight.GRAVE


@settings(max_examples=8, deadline=None)
@given(gone=st.sets(st.integers(0, 2), max_size=2), beside=st.booleans())
def test_what_is_said_of_one_of_several_logs_is_of_its_run(gone: set[int], beside: bool):
    """It has not given the figure alone, and may be empty."""
    with on_two_hosts(stamped=True) as path:
        runs = [run for run in read_campaign(path).runs.values() if run.throughput][:3]
        for place, run in enumerate(runs):
            log = path / (host_log_path(run.log, OTHER) if beside else run.log)
            if place in gone:
                log.unlink()
            elif beside:
                log.write_bytes(b"")
        _, told = said("report", path)
        lines = [line for line in told.splitlines() if ": logs/" in line]
        assert not [line for line in lines if line.endswith(" of it") or "it still" in line]
        if gone:
            assert " of its run" in told
        if beside:
            assert "was changed after its run, whose logs still give the figure" in told


@settings(max_examples=8, deadline=None)
@given(gone=st.sets(st.integers(0, 3)), format=st.sampled_from(["md", "csv", "json"]))
def test_tables_link_to_the_logs_that_are_there_and_to_no_other(gone: set[int], format: str):
    with campaign(stamped=True) as path:
        runs = [run for run in read_campaign(path).runs.values() if run.throughput]
        logs = [run.log for run in runs if not run.profiled]
        whole, _ = said("report", path, "--layout", "pivot", "--format", format)
        lost = {log for place, log in enumerate(logs) if place in gone}
        for log in lost:
            (path / log).unlink()
        left, _ = said("report", path, "--layout", "pivot", "--format", format)
        exported_to = exported(Workspace.open().state(path), path, Export("pivot", format), path)
        for text in (left, exported_to):
            named = {log for log in logs if log in text}
            had = {log for log in logs if log in whole}
            assert named == (had if format == "json" else had - lost)
