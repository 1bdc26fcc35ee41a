"""Journals of every version that ever wrote one, and of versions that are still to come."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.journal import (
    Journal,
    JournalReader,
    NewerJournalError,
    check_campaign,
    read_events,
    write_now,
)
from backends.campaign.record.state import RunState, fold

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*/events.jsonl"))
KEPT = Path(__file__).parent / "journals"


@pytest.mark.parametrize("schema", range(1, ev.SCHEMA + 1))
def test_a_journal_of_every_schema_is_kept_and_read(schema: int) -> None:
    """A new schema comes with a journal of it in this directory."""
    events = list(read_events(KEPT / f"schema-{schema}.jsonl"))
    assert isinstance(events[0], ev.CampaignCreated)
    assert events[0].schema == schema
    assert not [event for event in events if isinstance(event, ev.LinesLost)]
    state = fold(events)
    assert state.finished
    assert {run.state for run in state.runs.values()} >= {RunState.SUCCEEDED}


def test_the_first_journal_says_what_it_said_then() -> None:
    state = fold(read_events(KEPT / "schema-1.jsonl"))
    runs = {run_id[9:]: run for run_id, run in state.runs.items()}
    assert {key: run.state.value for key, run in runs.items()} == {
        "0001-a1": "succeeded",
        "0002-a1": "failed",
        "0003-a1": "cancelled",
        "0004-a1": "succeeded",
        "0002-a2": "succeeded",
    }
    assert list(runs["0001-a1"].series.values) == [333.446, 3117.849, 3117.885, 3118.0]
    assert state.overridden == ("node1: load 9.9 on 8 CPUs",)


@pytest.mark.parametrize("schema", range(1, ev.SCHEMA + 1))
def test_a_journal_of_every_schema_gives_the_same_figures(schema: int) -> None:
    state = fold(read_events(KEPT / f"schema-{schema}.jsonl"))
    found = {
        run_id[9:]: (run.throughput, run.reading_count, run.warmup, run.last_throughput)
        for run_id, run in state.runs.items()
    }
    first = fold(read_events(KEPT / "schema-1.jsonl"))
    assert found == {
        run_id[9:]: (run.throughput, run.reading_count, run.warmup, run.last_throughput)
        for run_id, run in first.runs.items()
    }
    assert found["0001-a1"] == (3117.9, 4, 1, 3118.0)


@pytest.mark.parametrize("schema", range(1, ev.SCHEMA))
def test_an_older_version_refuses_what_this_one_has_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: int
) -> None:
    """It would take the lines that it does not know for damage."""
    path = tmp_path / "events.jsonl"
    shutil.copyfile(KEPT / f"schema-{schema}.jsonl", path)
    before = path.read_bytes()
    follower = JournalReader(path)
    known = follower.state()
    Journal(path).close()
    assert path.read_bytes() == before  # nothing was written, nothing has changed
    write_now(path, [ev.Noted(t=1.0, text="gone on with")])
    old, new = b'"schema":%d,' % schema, b'"schema":%d,' % ev.SCHEMA
    assert path.read_bytes().startswith(before.replace(old, new, 1))
    assert follower.state().runs == known.runs
    assert fold(read_events(path)).lost_lines == 0
    monkeypatch.setattr(journal, "SCHEMA", schema)
    with pytest.raises(NewerJournalError):
        list(read_events(path))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_no_line_of_a_committed_example_is_unreadable(path: Path) -> None:
    state = fold(read_events(path))
    assert state.lost_lines == 0
    assert not state.damage
    assert state.finished
    assert all(run.reading_count for run in state.runs.values())


def test_there_is_a_committed_example() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("schema", [ev.SCHEMA + 1, 99, 10**30])
def test_a_journal_of_a_newer_schema_is_refused_and_not_touched(
    tmp_path: Path, schema: int
) -> None:
    """What it has become then, a torn line at its end too, is that version's business."""
    path = tmp_path / "events.jsonl"
    first = {"kind": "CampaignBegun", "schema": schema, "version": "9.1", "what": {"else": []}}
    data = json.dumps(first).encode() + b'\n{"kind":"FromTheFuture","t":1}\n{"torn'
    path.write_bytes(data)
    for reading in (
        lambda: list(read_events(path)),
        lambda: list(read_events(path, readings=False)),
        lambda: JournalReader(path).state(),
        lambda: check_campaign(tmp_path),
        lambda: Journal(path),
    ):
        with pytest.raises(NewerJournalError, match=r"newer dlperf-tui 9\.1 ") as caught:
            reading()
        assert caught.value.exit_code == 2
    assert path.read_bytes() == data
