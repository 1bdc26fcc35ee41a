"""The journal on disk: any cut, any content, a full disk, another writer."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import UNKNOWN, Cleanup, Doubt, Why
from backends.campaign.record.codec import decode, encode, merged, schema_of
from backends.campaign.record.journal import (
    Journal,
    JournalError,
    JournalReader,
    LostJournalError,
    check_campaign,
    cut_torn_tail,
    read_events,
)
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import apply, fold
from backends.campaign.record.status_view import take
from backends.results.campaign_report import ReportContext, render_report
from backends.results.result_files import write_results
from backends.results.results_json import document, to_json
from backends.results.summary import summarise
from tests.unit.campaign.strategies import RUN_IDS, events, journals, on_their_way, planned, sampled

quickly = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])

EXAMPLE: list[ev.Event] = [
    ev.CampaignCreated(t=1.0, campaign="2026-11-21-ünï", forced=True, overridden=("a: b",)),
    planned(RUN_IDS[0]),
    ev.RunAssigned(t=2.0, run_id=RUN_IDS[0], hosts=("a",), commands=("x",), port=0, log="l"),
    ev.ReadingsArrived(t=2.5, run_id=RUN_IDS[0], first=0, readings=((None, 1.5, 2.5),)),
    ev.RunFailed(t=3.0, run_id=RUN_IDS[0], reason="naïve", evidence=("a\nb", '"')),
    ev.CampaignFinished(t=4.0),
]


@given(events)
def test_an_event_survives_the_journal(event: ev.Event) -> None:
    assert decode(encode(event)) == event
    assert encode(event).count(b"\n") == 1


@given(st.text(alphabet=st.characters(codec=None), max_size=20))
def test_any_text_can_be_written_down(text: str) -> None:
    event = ev.Noted(t=1.0, text=text)
    assert decode(encode(event)) == event


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([10**17, -(10**400), 2**63]),
        st.floats(),
        st.text(st.characters(codec=None), max_size=5),
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(st.binary(max_size=60))
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b"[" * 100_000 + b"]" * 100_000)
@example(b'{"kind":"Noted","t":' + b"9" * 5000 + b',"text":""}')
@example(b'{"kind":"Noted","t":1e999,"text":""}')
@example(b'{"kind":"Noted","kind":"Noted","t":1,"t":NaN,"text":""}')
@example(b'{"kind":"Noted","t":1,"text":"' + b"x" * 10_000_000)
@example(b'{"kind":"Noted","t":1,"text":"\xff"}')
@example(b'{"kind":["Noted"],"t":1,"text":""}')
@example(
    b'{"kind":"ReadingsArrived","t":1,"run_id":"r-0001-a1","first":0,"readings":["1","2","3"]}'
)
@example(b'{"kind":"ReadingsArrived","t":1,"run_id":"r-0001-a1","first":0,"readings":5}')
def test_any_bytes_are_a_damaged_line_at_worst(line: bytes) -> None:
    decode(line)
    schema_of(line)


@given(events, st.data(), json_values)
@settings(max_examples=400)
def test_a_value_that_cannot_be_harms_nothing(
    event: ev.Event, data: st.DataObject, value: object
) -> None:
    """Whatever a line of a right kind holds: it is damaged, or its campaign can be shown."""
    record = json.loads(encode(event))
    key = data.draw(st.sampled_from(sorted(record)))
    if isinstance(record[key], list) and record[key] and data.draw(st.booleans()):
        record[key][data.draw(st.integers(0, len(record[key]) - 1))] = value
    else:
        record[key] = value
    found = decode(json.dumps(record).encode())
    if found is not None:
        encode(found)
    begun = [ev.CampaignCreated(t=1.0, campaign="c"), *on_their_way]
    state = fold([*begun, *([found] if found else [])])
    snapshot = take(state, Path("c"), now=2e9)
    assert snapshot.summary
    runs = run_results(state)
    groups = summarise(runs)
    to_json(document("c", runs, groups))
    render_report(ReportContext("c"), runs, groups)
    time.gmtime(state.created_at or 0.0)


def test_a_line_that_nests_without_end_costs_one_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [encode(event) for event in EXAMPLE]
    path.write_bytes(b"".join([*lines[:3], b"[" * 100_000 + b"\n", *lines[3:]]))
    state = fold(read_events(path))
    assert state.lost_lines == 1
    assert state.runs == fold(EXAMPLE).runs


def test_text_that_is_no_unicode_is_reported_all_the_same(tmp_path: Path) -> None:
    failed = ev.RunFailed(
        t=3.0, run_id=RUN_IDS[0], reason="no file caf\udce9", evidence=("\ud800",)
    )
    state = fold([planned(RUN_IDS[0]), failed])
    write_results(tmp_path, ReportContext("c"), run_results(state))
    assert json.loads((tmp_path / "results.json").read_text())["runs"][0]["state"] == "failed"
    assert "no file caf" in (tmp_path / "report.md").read_text()


def test_a_log_is_never_written_outside_of_the_campaign() -> None:
    """A journal may be somebody else's; what it names is opened for writing."""
    for log in ("/etc/passwd", "../../x.log", "logs/../../x", "a\0b"):
        event = replace(EXAMPLE[2], log=log)  # type: ignore[call-arg]  # a RunAssigned
        assert decode(encode(event)) is None


@given(journals)
@quickly
def test_damaged_lines_between_others_are_counted(journal: list[ev.Event]) -> None:
    damaged = [b"{torn\n", b"[1\n", b"2]\n", b'{"kind":"FromTheFuture","t":1}\n']
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "events.jsonl"
        path.write_bytes(b"".join([*map(encode, journal), *damaged]))
        assert list(read_events(path)) == [*journal, ev.LinesLost(t=0.0, lines=4)]


@given(journals)
def test_merging_readings_changes_no_state(journal: list[ev.Event]) -> None:
    assert fold(merged(journal)) == fold(journal)


def test_a_journal_cut_at_any_byte_is_a_shorter_journal(tmp_path: Path) -> None:
    data = b"".join(map(encode, EXAMPLE))
    whole = [0]
    for event in EXAMPLE:
        whole.append(whole[-1] + len(encode(event)))
    path = tmp_path / "events.jsonl"
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        kept = sum(end <= cut for end in whole) - 1
        assert list(read_events(path)) == EXAMPLE[:kept]
        cut_torn_tail(path)
        assert path.read_bytes() == data[: whole[kept]]


async def test_the_writer_goes_on_behind_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(encode(EXAMPLE[0]) + b'{"kind":"RunPl')
    journal = Journal(path)
    journal.append(EXAMPLE[1])
    assert await journal.commit()
    journal.close()
    assert list(read_events(path)) == EXAMPLE[:2]


async def test_a_torn_line_longer_than_any_buffer_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(encode(EXAMPLE[0]) + b"x" * 200_000)
    Journal(path).close()
    assert path.read_bytes() == encode(EXAMPLE[0])


async def test_readings_of_a_batch_become_one_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    journal = Journal(path)
    for first in range(5):
        journal.append(sampled("a", first, 1))
    journal.append(sampled("a", 5, 4, 2))
    await journal.commit()
    journal.close()
    assert list(read_events(path)) == [sampled("a", 0, 9, 2)]


async def test_a_full_disk_keeps_events_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    journal = Journal(path)
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if len(data) > 10:
            return write(fd, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    journal.append(EXAMPLE[0])
    assert await journal.commit()
    monkeypatch.setattr(os, "write", full)
    journal.append(EXAMPLE[1])
    assert not await journal.commit()
    assert "No space left" in journal.problem
    assert path.read_bytes() == encode(EXAMPLE[0])
    journal.append(EXAMPLE[2])
    monkeypatch.setattr(os, "write", write)
    assert await journal.commit()
    assert not journal.problem
    journal.close()
    assert list(read_events(path)) == EXAMPLE[:3]


async def test_a_journal_that_belongs_to_another_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    ours = [True]
    journal = Journal(path, owned=lambda: ours[0])
    journal.append(EXAMPLE[0])
    await journal.commit()
    ours[0] = False
    journal.append(EXAMPLE[1])
    with pytest.raises(LostJournalError):
        await journal.commit()
    journal.close()
    assert list(read_events(path)) == EXAMPLE[:1]


def test_a_reader_follows_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    reader = JournalReader(path)
    with pytest.raises(JournalError, match="not a campaign"):
        reader.state()
    data = b"".join(map(encode, EXAMPLE))
    for cut in (0, 3, 100, 101, len(data) - 1, len(data)):
        path.write_bytes(data[:cut])
        assert reader.state() == fold(read_events(path))
    path.write_bytes(data[:100])  # what was torn was cut off
    assert reader.state() == fold(read_events(path))


def test_what_is_no_campaign_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(JournalError) as caught:
        check_campaign(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}: this is not a campaign")
    assert caught.value.exit_code == 2


def test_a_summary_need_not_read_the_readings(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(map(encode, EXAMPLE)))
    found = list(read_events(path, readings=False))
    assert found == [event for event in EXAMPLE if not isinstance(event, ev.ReadingsArrived)]


async def test_a_journal_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot write the journal"):
        Journal(tmp_path / "nowhere" / "events.jsonl")


async def test_a_commit_that_is_cancelled_loses_nothing(tmp_path: Path) -> None:
    """Detaching cancels whatever commits at that moment; its events are on disk or still queued."""
    started, go_on = threading.Event(), threading.Event()

    def owned() -> bool:
        started.set()
        go_on.wait(10)
        return True

    journal = Journal(tmp_path / "events.jsonl", owned=owned)
    journal.append(ev.CampaignCreated(t=1.0, campaign="c"))
    first = asyncio.create_task(journal.commit())
    await asyncio.to_thread(started.wait, 10)
    journal.append(ev.Noted(t=2.0, text="queued behind it"))
    second = asyncio.create_task(journal.commit())
    await asyncio.sleep(0)
    for task in (first, second):
        task.cancel()
    go_on.set()
    await asyncio.gather(first, second, return_exceptions=True)
    assert await journal.commit()
    journal.close()
    kinds = [type(event).__name__ for event in read_events(tmp_path / "events.jsonl")]
    assert kinds == ["CampaignCreated", "Noted"]


async def test_a_commit_that_is_cancelled_on_a_full_disk_keeps_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go_on = threading.Event(), threading.Event()
    journal = Journal(tmp_path / "events.jsonl")
    write = journal._write

    def full(batch: object, durable: bool) -> None:
        started.set()
        go_on.wait(10)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journal, "_write", full)
    journal.append(ev.CampaignCreated(t=1.0, campaign="c"))
    task = asyncio.create_task(journal.commit())
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    go_on.set()
    await asyncio.gather(task, return_exceptions=True)
    monkeypatch.setattr(journal, "_write", write)
    assert await journal.commit()
    journal.close()
    assert len(list(read_events(tmp_path / "events.jsonl"))) == 1


@pytest.mark.parametrize(
    ("words", "cleanup"),
    [
        ("", UNKNOWN),
        ("0 left", Cleanup(looked=True)),
        ("3 left", Cleanup(True, (Doubt("a", Why.DEAF, "3"), Doubt("b", Why.DEAF, "3")))),
        (
            "unverified: a: connection lost",
            Cleanup(
                True,
                tuple(Doubt(host, Why.OLD, "a: connection lost") for host in ("a", "b")),
            ),
        ),
    ],
)
def test_what_an_old_journal_says_of_leftovers_in_words_is_understood(
    words: str, cleanup: Cleanup
) -> None:
    lines = [
        b'{"kind":"RunAssigned","t":1,"run_id":"%s","hosts":["a","b"],"commands":["x","y"],'
        b'"port":0,"log":"l"}' % RUN_IDS[0].encode(),
        b'{"kind":"RunFailed","t":2,"run_id":"%s","reason":"r","clean":"%s"}'
        % (RUN_IDS[0].encode(), words.encode()),
    ]
    read = [event for line in lines if (event := decode(line)) is not None]
    state = fold([planned(RUN_IDS[0]), *read])
    assert state.runs[RUN_IDS[0]].cleanup == cleanup
    for host in ("a", "b"):
        state = apply(state, ev.HostVerified(t=3.0, run_id=RUN_IDS[0], host=host))
    assert not state.runs[RUN_IDS[0]].cleanup.doubts
