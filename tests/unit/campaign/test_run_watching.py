"""Stalls, lost contact, verdicts: what is decided about a run while and after it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.cause import Cause
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.campaign.record.events import NOT_ASKED_SINCE
from backends.campaign.record.silence import SILENT_S
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import take
from backends.campaign.run.end_reason import (
    Ended,
    exit_reason,
    judge_allocation_end,
    judge_end,
    retry_delay_s,
)
from backends.campaign.run.host_part import FailureLog
from backends.campaign.run.postmortem import read_answer
from backends.campaign.run.reconnect import Contact
from backends.campaign.run.stall import LONGEST_LOOK_S, StallWatch
from backends.campaign.run.supervisor import RunSupervisor
from backends.engines.engine import AllocationEnd, EndKind
from backends.hangs.diagnosis import Confidence, Diagnosis, Finding, Sign, Suspect
from backends.remote.wrapper_messages import RunPhase, RunStatus
from backends.transports.transport import HostUnreachableError, Problem
from profiles.format.catalog import Catalog
from profiles.logs.failures import NODE_LOST, Failure
from tests.unit.campaign.strategies import planned
from tests.unit.campaign.test_campaign_state import assigned

A = "r-0001-a1"


def test_a_run_without_readings_stalls_after_the_limit() -> None:
    watch = StallWatch(30.0)
    watch.start(1000.0)
    assert not watch.stalled(1010.0, in_contact=True)
    watch.reading_came(1012.0)
    assert not watch.stalled(1025.0, in_contact=True)
    assert not watch.stalled(1040.0, in_contact=True)
    assert watch.stalled(1043.0, in_contact=True)


@given(
    st.lists(st.tuples(st.floats(0.1, 4.0), st.sampled_from(["look", "lost", "reading"]))),
    st.floats(20.0, 90.0),
)
def test_when_a_run_will_have_stalled_is_known_before_it_has(
    before: list[tuple[float, str]], limit_s: float
) -> None:
    watch, now = StallWatch(limit_s), 1000.0
    watch.start(now)
    for passed, what in before:
        now += passed
        if what == "reading":
            watch.reading_came(now)
        else:
            watch.stalled(now, in_contact=what == "look")
    told, begun = watch.over_at, now
    while not watch.over:
        now += watch.next_look_s
        watch.stalled(now, in_contact=True)
        assert watch.over_at == pytest.approx(told)
    assert now == pytest.approx(max(told, begun), abs=0.1)


def test_a_reading_between_two_looks_counts_from_when_it_came() -> None:
    watch = StallWatch(2.0)
    watch.start(0.0)
    watch.stalled(0.0, in_contact=True)
    watch.reading_came(1.9)
    assert not watch.stalled(2.0, in_contact=True)
    assert watch.quiet_s == pytest.approx(0.1)


def test_time_out_of_contact_is_no_stall() -> None:
    watch = StallWatch(30.0)
    watch.start(0.0)
    for now in range(5, 600, 5):
        assert not watch.stalled(float(now), in_contact=False)
    assert not watch.stalled(600.0, in_contact=True)


def test_quiet_from_before_a_lost_connection_is_forgotten() -> None:
    """Its last seconds were silent because the connection was dead already."""
    watch = StallWatch(20.0)
    watch.start(0.0)
    watch.stalled(10.0, in_contact=True)
    watch.stalled(19.9, in_contact=True)
    watch.stalled(24.0, in_contact=False)
    assert not watch.stalled(29.0, in_contact=True)


def test_a_closed_laptop_is_no_stall() -> None:
    watch = StallWatch(600.0)
    watch.start(0.0)
    assert not watch.stalled(8 * 3600.0, in_contact=True)
    assert watch.quiet_s == LONGEST_LOOK_S


@given(st.lists(st.tuples(st.floats(-100, 1e5), st.booleans()), max_size=30))
def test_a_jumping_clock_never_makes_quiet_negative(steps: list[tuple[float, bool]]) -> None:
    watch = StallWatch(60.0)
    now = 0.0
    watch.start(now)
    for step, contact in steps:
        now += step
        watch.stalled(now, in_contact=contact)
        assert watch.quiet_s >= 0.0
        assert 0.0 < watch.next_look_s <= 5.0


@given(st.floats(60.0, 3600.0), st.lists(st.floats(0.1, 5.0), max_size=20), st.floats(0.0, 4.9))
@example(600.0, [5.0, 5.0, 5.0, 4.0], 4.0)
def test_when_a_run_is_given_up_is_known_from_when_it_is_silent(
    limit_s: float, looks_s: list[float], since_look_s: float
) -> None:
    watch, now = StallWatch(limit_s), 0.0
    watch.start(now)
    for look_s in looks_s:
        now += look_s
        watch.stalled(now, in_contact=True)
    now += since_look_s
    of = SimpleNamespace(_watch=watch, _now=lambda: now, _clock=lambda: 1e6 + now)
    told = RunSupervisor.given_up_at.fget(of)  # type: ignore[attr-defined]
    assert told is not None or now <= SILENT_S
    assert told is None or told == pytest.approx(1e6 + limit_s, abs=1.0)


@given(
    every_s=st.floats(0.05, 4.0),
    count=st.integers(10, 300),
    read=st.floats(0.0, 1.0),
    sent=st.floats(0.0, 1.0),
    quiet_s=st.just(0.0) | st.floats(0.0, 100.0),
)
@example(every_s=0.3, count=60, read=0.5, sent=0.5, quiet_s=0.0)
def test_no_run_whose_log_flows_is_late_or_silent_however_late_its_log_is_read(
    every_s: float, count: int, read: float, sent: float, quiet_s: float
) -> None:
    """Of ``count`` readings a part is read, and a part of that sent; then none comes any more."""
    at = [100.0 + every_s * n for n in range(count + 1)]
    been_read = 10 + round(read * (count - 10))
    been_sent = 10 + round(sent * (been_read - 10))
    points = tuple((n, 9.0, t) for n, t in enumerate(at[:been_sent]))
    told = ev.ReadingsArrived(t=2.0, run_id=A, first=0, readings=points)
    events = [planned(A), assigned(A), ev.RunLaunched(t=2.0, run_id=A), told]
    host = SimpleNamespace(name="h1")
    of = SimpleNamespace(
        members=[host],
        _mirrors={"h1": SimpleNamespace(unread_since=at[been_read] if been_read < count else None)},
        feed=SimpleNamespace(untold_since=at[been_sent] if been_sent < been_read else None),
    )
    unread = RunSupervisor.unread_since.fget(of)  # type: ignore[attr-defined]
    now = at[count - 1] + quiet_s
    since = {} if unread is None else {A: unread}
    [run] = take(fold(events), Path("c"), now=now, unread=since).runs
    said = "no reading for" in run.state_text
    assert said == (been_sent == count and quiet_s > max(5.0, 3 * (every_s + 1e-6)))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sleeping moves the clock and takes no time."""
    clock = Clock()
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        clock.now += seconds
        await real_sleep(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return clock


def failing(times: int, problem: Problem = Problem.LOST) -> Callable[[], Awaitable[str]]:
    left = [times]

    async def attempt() -> str:
        if left[0] > 0:
            left[0] -= 1
            raise HostUnreachableError("a", problem)
        return "done"

    return attempt


async def test_contact_is_tried_again_until_it_is_back(no_waiting: Clock) -> None:
    told: list[tuple[bool, str]] = []
    contact = Contact("a", lambda lost, why: told.append((lost, why)), no_waiting, lambda: 0.5)
    assert await contact.persist(failing(5), 900.0) == "done"
    assert told == [(True, "connection lost"), (False, "")]
    assert not contact.lost


@pytest.mark.parametrize("fails", [0, 3])
async def test_a_host_that_was_lost_when_somebody_asked_last_is_told_to_be_back(
    no_waiting: Clock, fails: int
) -> None:
    """Else a campaign that is gone on with has it out of reach for as long as its run lasts."""
    told: list[tuple[bool, str]] = []
    contact = Contact(
        "a", lambda lost, why: told.append((lost, why)), no_waiting, lambda: 0.5, lost=True
    )
    assert contact.lost
    await contact.persist(failing(fails), 900.0)
    again = [(True, "connection lost"), (False, "")]
    assert told == (again if fails else [(False, NOT_ASKED_SINCE)])


async def test_a_host_away_for_too_long_is_given_up(no_waiting: Clock) -> None:
    contact = Contact("a", lambda _lost, _why: None, no_waiting, lambda: 0.5)
    with pytest.raises(HostUnreachableError):
        await contact.persist(failing(10_000), 60.0)
    assert 60.0 <= no_waiting.now < 70.0


async def test_what_waiting_cannot_mend_is_told_at_once(no_waiting: Clock) -> None:
    contact = Contact("a", lambda _lost, _why: None, no_waiting, lambda: 0.5)
    with pytest.raises(HostUnreachableError):
        await contact.persist(failing(1, Problem.CHANGED_HOST_KEY), 900.0)
    assert no_waiting.now == 0.0


async def test_sleep_of_the_laptop_does_not_use_up_the_limit(no_waiting: Clock) -> None:
    contact = Contact("a", lambda _lost, _why: None, no_waiting, lambda: 0.5)
    attempts = failing(6)

    async def attempt() -> str:
        no_waiting.now += 3600.0
        return await attempts()

    assert await contact.persist(attempt, 900.0) == "done"


async def test_no_answer_counts_as_lost(no_waiting: Clock) -> None:
    told: list[str] = []
    contact = Contact("a", lambda _lost, why: told.append(why), no_waiting, lambda: 0.5)
    answers = iter([TimeoutError(), None])

    async def attempt() -> None:
        if (answer := next(answers)) is not None:
            raise answer

    await contact.persist(attempt, 900.0)
    assert told == ["connection timed out", ""]


def status(**values: object) -> RunStatus:
    return RunStatus(phase=RunPhase.EXITED, **values)  # type: ignore[arg-type]


def test_a_good_end_is_no_reason() -> None:
    assert judge_end("a", status(exit_code=0), "1h") is None


def test_a_reboot_is_told_from_a_killed_supervisor() -> None:
    rebooted = judge_end("a", RunStatus(RunPhase.LOST, same_boot=False), "1h")
    killed = judge_end("a", RunStatus(RunPhase.LOST, same_boot=True), "1h")
    assert rebooted is not None
    assert killed is not None
    assert (rebooted.reason, rebooted.retry) == ("a: the host rebooted", "later")
    assert killed.reason == "a: its supervisor was killed"


@pytest.mark.parametrize(
    ("code", "reason", "retry"),
    [
        (1, "exit status 1", "never"),
        (126, "command cannot be executed on the host", "never"),
        (127, "command not found on the host", "never"),
        (132, "killed by signal 4 (illegal instruction)", "never"),
        (137, "killed by signal 9 (SIGKILL)", "later"),
        (139, "killed by signal 11 (segmentation fault)", "later"),
    ],
)
def test_exit_statuses_have_names(code: int, reason: str, retry: str) -> None:
    assert exit_reason(code) == (reason, retry)


OOM = Failure("out of GPU memory", "CUDA out of memory", "never")
LOST = Failure("a node was lost", "lost node 1", "later")


def test_a_named_failure_explains_an_exit_status_the_failing_hosts_own_first() -> None:
    ended = Ended(reason="b: exit status 1", category=Cause.EXIT, exit_status=1, host="b")
    found = ended.explained([("a", [LOST]), ("b", [OOM])])
    assert (found.reason, found.host, found.retry) == ("out of GPU memory", "b", "never")
    assert found.evidence == ("CUDA out of memory",)
    assert ended.explained([("a", [LOST]), ("b", [])]).reason == "a node was lost"


def test_what_a_killed_rank_did_to_the_others_is_not_the_reason() -> None:
    ended = Ended(
        reason="b: killed by signal 9 (SIGKILL)", category=Cause.EXIT, exit_status=137, host="b"
    )
    found = ended.explained([("a", [LOST])])
    assert found.reason == "b: killed by signal 9 (SIGKILL)"
    assert found.evidence == ("lost node 1",)
    assert ended.explained([("b", [OOM])]).reason == "out of GPU memory"


@pytest.mark.parametrize("category", [Cause.TIMEOUT, Cause.REBOOTED, Cause.LOST, Cause.STALLED])
def test_consequences_in_other_logs_do_not_hide_the_cause(category: Cause) -> None:
    ended = Ended(reason="the cause", category=category, host="b", retry="later")
    found = ended.explained([("a", [LOST]), ("b", [OOM])])
    assert (found.reason, found.retry) == ("the cause", "later")
    assert found.evidence


KINDS: dict[str, tuple[RunStatus, list[Failure]]] = {
    "well": (status(exit_code=0), []),
    "killed": (status(exit_code=137), []),
    "rebooted": (RunStatus(RunPhase.LOST, same_boot=False, cancelled=True), []),
    "out of GPU memory": (status(exit_code=1), [OOM]),
    "exit status": (status(exit_code=3), []),
    "ended by us": (status(exit_code=143, cancelled=True), []),
    "NCCL": (status(exit_code=134), [Failure("NCCL failed", "NCCL WARN", "now")]),
    "lost": (status(exit_code=1), [replace(LOST, node=9)]),  # a node that is none of them
}
BY_ITSELF = ("killed", "rebooted")
OWN = (*BY_ITSELF, "out of GPU memory")


@given(st.lists(st.tuples(st.sampled_from(list(KINDS)), st.integers(1, 5)), min_size=2), st.data())
def test_of_several_hosts_the_one_that_ended_by_itself_is_named(
    parts: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Whoever was seen to end first."""
    ends = [
        (f"h{n}", replace(KINDS[kind][0], ended_at=None if kind == "rebooted" else float(at)))
        for n, (kind, at) in enumerate(parts)
    ]
    logs = [(f"h{n}", KINDS[kind][1]) for n, (kind, _) in enumerate(parts)]
    noticed = [e for e in (judge_end(h, s, "1h") for h, s in ends) if e is not None]
    noticed = [e for e in noticed if e.category is Cause.EXIT and e.exit_status != 143]
    assume(noticed)
    seen = data.draw(st.sampled_from(noticed))
    names = [host for host, _ in ends]
    told = seen.traced(ends, logs, "1h").explained(logs).named_by_host(names, logs)
    kinds = {f"h{n}": kind for n, (kind, _) in enumerate(parts)}
    assert kinds.get(told.host) not in ("well", "ended by us", "lost")
    assert (told.host == "") == (told.reason == LOST.reason)
    for wanted in (BY_ITSELF, OWN):
        if not set(wanted).isdisjoint(kinds.values()):
            assert kinds[told.host] in wanted
            assert not told.vague
    when = {h: s.ended_at for h, s in ends if kinds[h] == kinds.get(told.host) and s.ended_at}
    assert told.vague or not when or when[told.host] == min(when.values())
    if kinds.get(told.host) == "killed":
        assert told.reason == f"{told.host}: killed by signal 9 (SIGKILL)"


def test_who_only_tells_what_befell_another_node_is_not_named() -> None:
    ended = Ended(reason="a: exit status 1", category=Cause.EXIT, exit_status=1, host="a")
    killed = Failure("a device process was killed", "device 1 of node 1", "later", node=1)
    ends = [("a", status(exit_code=1, ended_at=1.0)), ("b", status(exit_code=1, ended_at=2.0))]
    logs = [("a", [killed]), ("b", [killed])]
    told = ended.traced(ends, logs, "1h").explained(logs).named_by_host(["a", "b"], logs)
    assert (told.host, told.reason) == ("b", "b: a device process was killed")
    assert told.retry == "later"


def test_of_a_launcher_that_speaks_for_all_hosts_none_is_named_for_what_it_noticed() -> None:
    ended = Ended(reason="a: exit status 1", category=Cause.EXIT, exit_status=1, host="a")
    logs = [("a", [replace(LOST, node=1)]), ("b", [])]
    told = ended.traced([("a", status(exit_code=1, ended_at=1.0))], logs, "1h").explained(logs)
    assert (told.host, told.reason, told.vague) == ("", LOST.reason, True)


@pytest.mark.parametrize("vague", [True, False])
def test_a_host_that_is_away_is_named_where_all_others_saw_that_one_was_lost(vague: bool) -> None:
    cleanup = Cleanup(True, (Doubt("b", Why.AWAY, "connection timed out"),))
    seen = Ended(reason="another node was lost", category=Cause.NAMED, vague=vague, cleanup=cleanup)
    told = seen.but_for_who_is_away().named_by_host(["a", "b"], [])
    named = ("b: connection timed out; another node was lost", "b")
    assert (told.reason, told.host) == (named if vague else ("another node was lost", ""))


@given(
    nodes=st.lists(st.none() | st.integers(0, 4), min_size=3, max_size=3),
    reason=st.sampled_from([NODE_LOST, "exit status 1"]),
    confidence=st.sampled_from(list(Confidence)),
)
def test_who_stood_out_when_the_hosts_were_asked_is_told_with_a_vague_end(
    nodes: list[int | None], reason: str, confidence: Confidence
) -> None:
    """As its cause where the logs name that node and no other as lost, but for those that had lost
    one themselves."""
    stopped = Suspect("b", rank=1, findings=(Finding(Sign.STOPPED),))
    vague = Ended(reason=reason, category=Cause.NAMED, vague=True)
    seen = [replace(LOST, reason=NODE_LOST, node=node) for node in nodes]
    logs = [(host, [failure]) for host, failure in zip("abc", seen, strict=True)]
    told = vague.suspecting(Diagnosis((stopped,), confidence), logs)
    surely = confidence in (Confidence.HIGH, Confidence.MEDIUM)
    assert told.host == "b" * surely
    followed = {n for n, node in enumerate(nodes) if node is not None and node != n}
    known = surely and reason == NODE_LOST and {*nodes} - {None} - followed == {1}
    effect = ", so the others lost its node" if known else f"; {reason}"
    assert told.reason.endswith(f"rank 1 on b was stopped by a signal{effect}")


def test_retry_classes_have_delays() -> None:
    assert retry_delay_s("now") == 0.0
    assert (retry_delay_s("later") or 0.0) > 0.0
    assert retry_delay_s("never") is None


def test_failures_are_found_in_any_chunking() -> None:
    profile = Catalog.load((), None).get("cpu-smoke")
    log = b"start\nRuntimeError: CUDA out of memory. Tried\r\nend without newline: No such file"
    for size in (1, 7, len(log)):
        scanner = FailureLog(profile)
        for start in range(0, len(log), size):
            scanner.take(log[start : start + size])
        assert scanner.failures[0].reason == "out of GPU memory"


def test_a_driver_error_counts_only_when_it_is_as_new_as_the_run() -> None:
    answer = "@free 900000\n@up 5000.00\n[ 4990.123] NVRM: Xid (PCI:0000:3b:00): 79, GPU fell off\n"
    reason, evidence = read_answer(answer, run_s=60.0)
    assert reason == "GPU driver error (Xid)"
    assert "79" in evidence[0]
    assert read_answer(answer, run_s=5.0) == ("", ())


def test_a_full_disk_is_a_reason() -> None:
    assert read_answer("@free 12\n@up 1.0\n", 1.0)[0] == "disk full"
    assert read_answer("@free 12000\n@up 1.0\n", 1.0) == ("", ())
    assert read_answer("garbage", 1.0) == ("", ())


def test_every_end_of_an_allocation_is_a_cause_with_words_and_a_retry() -> None:
    for kind in EndKind:
        ended = judge_allocation_end(AllocationEnd("r-1", kind, host="a"))
        assert ended.category is Cause(kind)
        assert ended.reason.startswith("a: the ")
        assert ended.retry in ("now", "later", "never")


def test_a_failure_that_a_log_names_is_a_cause_of_its_own_whatever_it_is_called() -> None:
    ended = Ended(reason="b: exit status 1", category=Cause.EXIT, exit_status=1, host="b")
    named = ended.explained([("b", [Failure("out of GPU memory", "line", "never")])])
    assert (named.category, named.reason) == (Cause.NAMED, "out of GPU memory")
