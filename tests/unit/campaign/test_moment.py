"""Who looks on sees why runs wait and what starts are at, as whoever is at work does."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.campaign_views import CampaignViews
from backends.campaign.folder.moment import (
    MOMENT,
    NOTHING,
    Moment,
    MomentReader,
    forget_moment,
    write_moment,
)
from backends.campaign.folder.raw_logs import LogChecks
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, write_now
from backends.campaign.record.lock import CampaignLock, Holder, Role
from backends.campaign.record.run_view import TAKEN_UP
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import CampaignSnapshot, take
from backends.demo import open_demo
from backends.engines.engine import Waiting, WaitKind
from profiles.cleantext import LINE_CAP, clean_text
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned

NO_CHECKS = LogChecks(lambda _: None)
KEEPER = Holder("alice", "login02", 4711, 1, "n", Role.KEEPER)
A, B = "r-0001-a1", "r-0002-a1"
WAITS = st.builds(
    Waiting,
    st.sampled_from(WaitKind),
    st.lists(st.text("ab1é"), max_size=3).map(tuple),
    st.text("ab1é ,"),
    st.integers(0, 99),
    st.integers(0, 99),
    st.integers(0, 99),
    st.none() | st.floats(0, 1e10),
    st.booleans(),
)


@given(
    st.dictionaries(st.text(), WAITS),
    st.dictionaries(st.text(), st.sampled_from(["a", "b"])),
    st.none() | st.floats(0, 1e10),
    st.dictionaries(st.text(), st.floats(0, 1e10)),
    st.dictionaries(st.text(), st.floats(0, 1e10)),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    waiting: dict[str, Waiting],
    starting: dict[str, str],
    at: float | None,
    given_up: dict[str, float],
    unread: dict[str, float],
) -> None:
    campaign = tmp_path_factory.mktemp("c")
    reader = MomentReader(campaign)
    assert reader.read() == NOTHING
    write_moment(campaign, Moment(waiting, starting, at, given_up, unread))
    assert reader.read() == Moment(waiting, starting, at, given_up, unread)
    forget_moment(campaign)
    assert reader.read() == NOTHING


def written(**waiting: object) -> bytes:
    """Of A, which waits; ``nan`` and ``inf`` as JSON is read by some."""
    why = {"kind": "queued", **waiting}
    return json.dumps({"waiting": [{"runs": [A], "why": why}], "starting": {}}).encode()


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -float("inf"), -1.0, 1e300, 1e12])
def test_a_time_that_no_clock_tells_tells_nothing(tmp_path: Path, at: float) -> None:
    (tmp_path / MOMENT).parent.mkdir()
    (tmp_path / MOMENT).write_bytes(written(expected_at=1e9))
    assert MomentReader(tmp_path).read() != NOTHING
    given_up = json.dumps({"waiting": [], "starting": {}, "given_up": {A: at}}).encode()
    written_7 = written(expected_at=7).replace(b" 7", b" 1e999")
    unread = given_up.replace(b"given_up", b"unread")
    for data in (written(expected_at=at), written_7, given_up, unread):
        (tmp_path / MOMENT).write_bytes(data)
        assert MomentReader(tmp_path).read() == NOTHING


HOSTILE = st.text(max_size=9) | st.sampled_from(
    ["node[0-99999999]", "9" * 5000, "x", "\x1b]52;c;eA==\x07", "y" * 100_000]
)


@given(
    st.sampled_from(WaitKind),
    st.lists(HOSTILE, max_size=3),
    HOSTILE,
    st.floats() | st.integers() | st.none(),
    HOSTILE,
)
@settings(deadline=None)
def test_whatever_a_moment_says_is_shown_on_lines_that_are_safe(
    tmp_path_factory: pytest.TempPathFactory,
    kind: WaitKind,
    hosts: list[str],
    detail: str,
    at: float | None,
    words: str,
) -> None:
    campaign = tmp_path_factory.mktemp("c")
    write_now(
        campaign / FILE_NAME,
        [ev.CampaignCreated(t=0.0, campaign="c"), planned(A), planned(B), assigned(A)],
    )
    waiting = Waiting(kind, tuple(hosts), detail, expected_at=at, away=tuple(hosts))
    unusable = tuple((host, detail) for host in hosts)
    waiting = replace(waiting, unusable=unusable, busy=tuple(hosts))
    write_moment(campaign, Moment({B: waiting}, {A: words}))
    views = CampaignViews(lambda: 5.0, lambda state, *_: state, lambda _: KEEPER, NO_CHECKS)
    for run in views.load(campaign).runs:
        assert clean_text(run.state_text) == run.state_text
        assert len(run.state_text) < 6 * LINE_CAP


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"waiting": 3}', b"\0" * 99, b"[" * 100_000, b"x" * (2 << 20)]
)
def test_what_is_no_moment_tells_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / MOMENT).parent.mkdir()
    (tmp_path / MOMENT).write_bytes(data)
    assert MomentReader(tmp_path).read() == NOTHING


def test_a_pipe_or_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    place = tmp_path / MOMENT
    place.parent.mkdir()
    os.mkfifo(place)
    assert MomentReader(tmp_path).read() == NOTHING
    place.unlink()
    place.symlink_to("/etc/passwd")
    assert MomentReader(tmp_path).read() == NOTHING


def test_who_follows_a_keeper_is_told_the_same_as_the_keeper(tmp_path: Path) -> None:
    events = [ev.CampaignCreated(t=0.0, campaign="c"), planned(A), planned(B), assigned(A)]
    write_now(tmp_path / FILE_NAME, events)
    moment = Moment({B: Waiting(WaitKind.BUSY, ("h1", "h2"))}, {A: "copying files to h1"})
    write_moment(tmp_path, moment)
    own = take(fold(events), tmp_path, now=5.0, waiting=moment.waiting, starting=moment.starting)
    at_work: list[Holder | None] = [KEEPER]
    views = CampaignViews(lambda: 5.0, lambda state, *_: state, lambda _: at_work[0], NO_CHECKS)
    followed = views.load(tmp_path)
    assert [run.state_text for run in followed.runs] == [run.state_text for run in own.runs]
    assert [run.state_text for run in own.runs] == [
        "starting, copying files to h1",
        "waiting for h[1-2]",
    ]
    write_moment(tmp_path, Moment({B: Waiting(WaitKind.SETTLING)}, {}))
    assert views.load(tmp_path).runs[1].state_text == "settling"
    at_work[0] = None
    assert views.load(tmp_path).runs[1].state_text == "planned", "nobody is there to wait"


@given(st.floats(0, 100), st.integers(1, 9))
def test_who_looks_on_by_a_clock_that_is_behind_sees_how_far_it_has_come(
    tmp_path_factory: pytest.TempPathFactory, behind_s: float, count: int
) -> None:
    campaign = tmp_path_factory.mktemp("c")
    launched = ev.RunLaunched(t=1000.0, run_id=A)
    rows = tuple((float(n), 10.0, 1000.0 + 5 * n) for n in range(1, count + 1))
    arrived = ev.ReadingsArrived(t=1000.0, run_id=A, first=0, readings=rows, warmup=0)
    begun = ev.CampaignCreated(t=0.0, campaign="c")
    given = replace(assigned(A), t=1000.0)
    events = [begun, planned(A, expected_s=60.0), given, launched, arrived]
    write_now(campaign / FILE_NAME, events)

    def seen(now: float) -> tuple[float | None, float | None]:
        [run] = (
            CampaignViews(lambda: now, lambda state, *_: state, lambda _: KEEPER, NO_CHECKS)
            .load(campaign)
            .runs
        )
        return run.elapsed_s, run.progress

    reached = 1000.0 + 5 * count
    assert seen(reached - behind_s) == seen(reached)
    elapsed, progress = seen(reached)
    assert elapsed == 5.0 * count
    assert progress
    assert seen(reached + 1.0)[0] == elapsed + 1.0


@given(passed=st.floats(0.0, 4000.0))
def test_a_run_that_is_taken_up_again_is_neither_overdue_nor_silent(passed: float) -> None:
    """It may have ended while nobody was there: its hosts are asked."""
    begun = [ev.CampaignCreated(t=0.0, campaign="c"), replace(planned(A), expected_s=10.0)]
    begun += [assigned(A), ev.RunLaunched(t=1.0, run_id=A)]
    now = 1.0 + passed
    told, untold = (
        take(fold(begun), Path("c"), now=now, starting=starting) for starting in ({}, {A: TAKEN_UP})
    )
    assert (told.no_eta == "a run is overdue") == told.runs[0].outlived
    assert not untold.runs[0].outlived
    assert untold.runs[0].silent_s is None
    assert untold.no_eta == ""
    assert untold.runs[0].state_text == "running, being taken up again"


@given(st.booleans(), st.floats(0, 1e6))
def test_what_was_measured_goes_by_this_machines_clock_and_what_is_simulated_by_its_own(
    tmp_path_factory: pytest.TempPathFactory, simulated: bool, ahead_s: float
) -> None:
    """A demo that has got ahead of the time finds no real run silent, late or over."""
    campaign = tmp_path_factory.mktemp("c")
    events = [
        ev.CampaignCreated(t=1000.0, campaign="c", simulated=simulated),
        *(planned(A, expected_s=60.0), replace(assigned(A), t=1000.0)),
        ev.RunLaunched(t=1000.0, run_id=A),
    ]
    write_now(campaign / FILE_NAME, events)
    ours, theirs = 1004.0, 1004.0 + ahead_s

    def views(clock: float, real: float | None = None) -> CampaignSnapshot:
        return CampaignViews(
            lambda: clock,
            lambda state, *_: state,
            lambda _: KEEPER,
            NO_CHECKS,
            None if real is None else lambda: real,
        ).load(campaign)

    seen = views(theirs, ours)
    assert seen.runs == views(theirs if simulated else ours).runs
    [run] = seen.runs
    assert run.elapsed_s == pytest.approx(4.0 + ahead_s * simulated)


async def test_a_demo_looks_at_a_real_campaign_by_the_time_of_this_machine(tmp_path: Path) -> None:
    now = time.time()
    events = [
        ev.CampaignCreated(t=now - 4.0, campaign="c"),
        *(planned(A, expected_s=60.0), replace(assigned(A), t=now - 4.0)),
        ev.RunLaunched(t=now - 4.0, run_id=A),
    ]
    (tmp_path / "c").mkdir()
    write_now(tmp_path / "c" / FILE_NAME, events)
    CampaignLock(tmp_path / "c").acquire()
    demo = open_demo(tmp_path, 20.0, now + 1800.0)
    [run] = demo.load(tmp_path / "c").runs
    assert run.elapsed_s is not None
    assert 4.0 <= run.elapsed_s < 600.0
    await demo.close()
