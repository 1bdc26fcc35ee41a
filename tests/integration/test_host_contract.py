"""One contract, two hosts: what the real wrapper does, the simulated host does too."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from backends.hangs.processes import read_processes
from backends.hangs.sections import split
from backends.remote.wrapper_messages import (
    LeaseHeldError,
    LogDigest,
    LogNotKeptError,
    LogShorterError,
    RemoteError,
    RunPhase,
    RunStatus,
    StagedTree,
)
from backends.simulated.fake_run import FOREVER, Child, Output, Workload
from backends.transports.transport import Transport
from tests.support.leases import lease_holder
from tests.support.players import Player, RealPlayer, SimulatedPlayer
from tests.support.waiting import until


def player_on(kind: str, directory: Path, **tools: bool) -> Player:
    return RealPlayer(directory, **tools) if kind == "real" else SimulatedPlayer(**tools)


@pytest.fixture(params=["real", "simulated"])
async def player(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Player]:
    found = player_on(request.param, tmp_path)
    yield found
    await found.close()


@pytest.fixture(params=["real", "simulated"])
async def without_python(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Player]:
    found = player_on(request.param, tmp_path, python=False)
    yield found
    await found.close()


@pytest.fixture(params=["real", "simulated"])
async def bare(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Player]:
    """Neither python3 nor flock."""
    found = player_on(request.param, tmp_path, python=False, flock=False)
    yield found
    await found.close()


def says(*lines: tuple[float, bytes]) -> Output:
    return lambda: iter(lines)


def digest_of(log: bytes) -> LogDigest:
    return LogDigest(len(log), hashlib.sha256(log).hexdigest())


SLEEPS = Workload(output=says((0.0, b"up\n")), ends_after_s=FOREVER)


async def follow(player: Player, run_id: str, offset: int = 0) -> tuple[RunStatus, bytes]:
    got = bytearray()
    async with asyncio.timeout(30):
        status = await player.remote.follow(run_id, offset, got.extend)
    return status, bytes(got)


async def running(player: Player, run_id: str, workload: Workload, **more: object) -> None:
    """Start it and wait until all of its processes are there."""
    await player.start(run_id, workload, **more)
    await until(lambda: player.living(run_id) == 1 + len(workload.children))
    size = sum(len(data) for at, data in workload.output() if at == 0.0)

    async def printed() -> bool:
        return (await player.remote.status(run_id)).size >= size

    await until(printed)


# Start and follow ---------------------------------------------------------------------------------


async def test_a_run_goes_from_start_to_its_last_byte(player: Player) -> None:
    output = says((0.0, b"one\r\n"), (0.3, b"\x1b[31m\xff two\n"), (0.4, b"end"))
    workload = Workload(output=output, ends_after_s=0.5, exit_status=3)
    status = await player.start("first", workload)
    assert status.phase is RunPhase.RUNNING
    assert status.same_boot
    assert status.pid
    ended, log = await follow(player, "first")
    assert log == b"one\r\n\x1b[31m\xff two\nend"
    assert (ended.phase, ended.exit_code, ended.size) == (RunPhase.EXITED, 3, len(log))
    assert (ended.timed_out, ended.leftovers, ended.left, ended.cancelled) == (False, 0, 0, False)
    assert ended.started_at is not None
    assert ended.ended_at is not None
    assert 0.3 < ended.ended_at - ended.started_at < 20
    assert await player.remote.status("first") == ended
    assert await player.remote.digest("first") == digest_of(log)
    assert await player.remote.digest("first", 4) == digest_of(log[:4])
    with pytest.raises(LogShorterError):
        await player.remote.digest("first", len(log) + 1)
    for offset in (0, 4, len(log)):
        assert (await follow(player, "first", offset))[1] == log[offset:]
    with pytest.raises(RemoteError, match="shorter than"):
        await follow(player, "first", len(log) + 1)


async def test_a_follower_gets_bytes_while_they_are_written(player: Player) -> None:
    workload = Workload(output=says((0.0, b"one\n"), (1.5, b"two\n")), ends_after_s=1.6)
    await player.start("live", workload)
    got = bytearray()
    following = asyncio.create_task(player.remote.follow("live", 0, got.extend))
    await until(lambda: bytes(got) == b"one\n")
    assert (await player.remote.status("live")).phase is RunPhase.RUNNING
    assert (await following).exit_code == 0
    assert bytes(got) == b"one\ntwo\n"


async def test_nobody_knows_a_run_that_never_was(player: Player) -> None:
    remote = player.remote
    status = await remote.status("nobody")
    assert (status.phase, status.same_boot, status.size) == (RunPhase.ABSENT, True, 0)
    assert status.boot_id
    with pytest.raises(RemoteError, match="no run nobody"):
        await follow(player, "nobody")
    report = await remote.cancel("nobody")
    assert (report.killed, report.left) == (0, 0)
    assert await remote.digest("nobody") is None
    await remote.remove("nobody")
    assert await remote.sweep() == ()


# Exactly once -------------------------------------------------------------------------------------


async def test_a_start_that_is_sent_again_finds_the_first(player: Player) -> None:
    first = await player.start("once", SLEEPS)
    await until(lambda: player.executions("once") == 1)
    again = await player.start("once", SLEEPS)
    assert (again.pid, again.started_at) == (first.pid, first.started_at)
    await player.remote.cancel("once")
    late = await player.start("once", SLEEPS)
    assert (late.phase, late.pid) == (RunPhase.EXITED, first.pid)
    assert player.executions("once") == 1


@pytest.mark.parametrize("lease", ["alice", ""])
async def test_starts_that_race_start_once(player: Player, lease: str) -> None:
    await player.remote.free_port()
    answers = await asyncio.gather(*(player.start("race", SLEEPS, lease=lease) for _ in range(5)))
    assert {answer.phase for answer in answers} == {RunPhase.RUNNING}
    assert len({answer.pid for answer in answers}) == 1
    await until(lambda: player.executions("race") == 1)


class Mirror:
    """A transport that keeps what was sent, to let it arrive once more, and late."""

    def __init__(self, below: Transport) -> None:
        self._below = below
        self.host = below.host
        self.starts: list[tuple[str, bytes]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._below, name)

    async def run(self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None):
        if " start " in command.rpartition("exec sh ")[2]:
            self.starts.append((command, stdin))
        return await self._below.run(command, stdin=stdin, timeout_s=timeout_s)

    async def all_again(self) -> list[int]:
        """The exit statuses of all starts, now that they arrive once more."""
        sent = self.starts
        return [(await self._below.run(text, stdin=stdin)).exit_status for text, stdin in sent]


@pytest.fixture
async def mirror(player: Player) -> Mirror:
    await player.remote.free_port()
    found = Mirror(player.remote.transport)
    player.remote.transport = found
    return found


@pytest.mark.parametrize("lease", ["alice", ""])
async def test_a_start_that_arrives_when_its_run_was_removed_starts_nothing(
    player: Player, mirror: Mirror, lease: str
) -> None:
    await player.start("late", Workload(output=says((0.0, b"up\n"))), lease=lease)
    await follow(player, "late")
    assert await mirror.all_again() == [0, 0], "it is answered as long as the run is known"
    await player.remote.remove("late", digest_of(b"up\n"))
    ticket_asked_for, started = await mirror.all_again()
    assert (ticket_asked_for, started) == (80, 70)
    await asyncio.sleep(0.3)
    assert player.executions("late") == 1
    (found,) = await player.remote.sweep()  # the late question left a ticket that nobody has
    assert (found.phase, found.size) == (RunPhase.ABSENT, 0)
    await player.remote.remove("late")
    assert await player.remote.sweep() == ()


async def test_a_start_that_arrives_after_the_cancel_starts_nothing_whenever_that_is(
    player: Player, mirror: Mirror
) -> None:
    asked = ("start", "never", "6", "-", "100", "", "", "", "")
    done = await player.remote.transport.run(player.remote._command(*asked, "-"))
    ticket = done.stdout.decode().split()[1]
    report = await player.remote.cancel("never")
    assert (report.killed, report.left, report.phase) == (0, 0, RunPhase.ABSENT)
    words = (*asked, ticket)
    command = player.remote._command(*words)
    await player.remote.transport.run(command, stdin=b"false\n")
    await asyncio.sleep(0.3)
    assert player.executions("never") == 0
    await player.remote.discard("never")
    assert (await player.remote.transport.run(command, stdin=b"false\n")).exit_status == 70
    assert player.executions("never") == 0


async def test_a_start_that_arrives_after_the_host_was_given_to_another_starts_nothing(
    player: Player, mirror: Mirror
) -> None:
    """The caller was told that it is held, and has gone elsewhere."""
    await running(player, "other", SLEEPS, lease="bob")
    mirror.starts.clear()
    with pytest.raises(LeaseHeldError):
        await player.start("mine", SLEEPS)
    await player.remote.cancel("other")
    assert (await mirror.all_again())[1] == 70
    await asyncio.sleep(0.3)
    assert player.executions("mine") == 0


async def test_files_are_stored_once_and_asked_for_when_they_are_missing(player: Player) -> None:
    tree = StagedTree.of({"a/b.txt": b"content"})
    await player.start("staged", Workload(), stage=(tree,))
    assert (await follow(player, "staged"))[0].exit_code == 0
    await player.start("again", Workload(), stage=(tree,))
    assert (await follow(player, "again"))[0].exit_code == 0


# The lease ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("flock", [True, False])
async def test_a_host_is_one_runs_at_a_time(
    request: pytest.FixtureRequest, tmp_path: Path, flock: bool
) -> None:
    for kind in ("real", "simulated"):
        directory = tmp_path / kind
        directory.mkdir()
        player = player_on(kind, directory, flock=flock)
        try:
            await _lease(player)
        finally:
            await player.close()


async def _lease(player: Player) -> None:
    assert await lease_holder(player.remote) == ""
    await running(player, "mine", SLEEPS, lease="alice@login01, campaign x")
    with pytest.raises(LeaseHeldError) as held:
        await player.start("yours", Workload(), lease="bob")
    assert held.value.holder == "alice@login01, campaign x, run mine"
    assert held.value.since
    assert await lease_holder(player.remote) == "alice@login01, campaign x, run mine"
    assert (await player.remote.status("yours")).phase is RunPhase.ABSENT
    assert [x.run_id for x in await player.remote.sweep()] == ["mine"]
    await player.start("unleased", Workload(), lease="")
    await player.remote.cancel("mine")
    assert await lease_holder(player.remote) == ""
    await player.start("yours", Workload(), lease="bob")
    assert (await follow(player, "yours"))[0].exit_code == 0


SHARED = (("real", True), ("simulated", True), ("simulated", False))
BARE = pytest.param(("real", False), marks=pytest.mark.faults)


@pytest.fixture(params=[("real", False), *SHARED])
async def shared(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Player]:
    """With and without flock."""
    kind, flock = request.param
    found = player_on(kind, tmp_path, flock=flock)
    yield found
    await found.close()


async def refused(player: Player, run_id: str, *, group: str, devices: tuple[int, ...] = ()) -> str:
    """Who holds the host against it."""
    with pytest.raises(LeaseHeldError) as held:
        await player.start(run_id, SLEEPS, group=group, devices=devices)
    assert (await player.remote.status(run_id)).phase is RunPhase.ABSENT
    return held.value.holder


@pytest.mark.parametrize("shared", [*SHARED, BARE], indirect=True)
async def test_runs_of_one_group_share_a_host_on_devices_of_their_own(shared: Player) -> None:
    player, remote = shared, shared.remote
    await running(player, "first", SLEEPS, group="ours", devices=(0, 1))
    await running(player, "second", SLEEPS, group="ours", devices=(12,))
    assert (
        await refused(player, "third", group="ours", devices=(2, 12)) == "alice@login01, run second"
    )
    for group, devices in (("theirs", (3,)), ("", ())):
        assert (await refused(player, "third", group=group, devices=devices))[:24] in (
            "alice@login01, run first",
            "alice@login01, run secon",
        )
    assert await lease_holder(remote)
    assert await lease_holder(remote, "theirs")
    assert await lease_holder(remote, "ours") == ""
    assert (await remote.cancel("first")).left == 0
    assert player.living("second") == 1
    assert await lease_holder(remote) == "alice@login01, run second", "one end frees its own part"
    assert (
        await refused(player, "third", group="theirs", devices=(0,)) == "alice@login01, run second"
    )
    await running(player, "third", SLEEPS, group="ours", devices=(1, 2))
    await remote.cancel("second")
    await remote.cancel("third")
    assert await lease_holder(remote) == ""
    await running(player, "alone", SLEEPS, group="theirs", devices=(0,))
    assert await refused(player, "late", group="ours", devices=(5,)) == "alice@login01, run alone"


@pytest.mark.parametrize("shared", [*SHARED, BARE], indirect=True)
async def test_all_of_a_group_that_start_at_once_come_in(shared: Player) -> None:
    await shared.remote.free_port()
    names = [f"run{number}" for number in range(8)]
    answers = await asyncio.gather(
        *(
            shared.start(name, SLEEPS, group="ours", devices=(number,))
            for number, name in enumerate(names)
        )
    )
    assert {answer.phase for answer in answers} == {RunPhase.RUNNING}
    await until(lambda: all(shared.executions(name) == 1 for name in names))


@pytest.mark.parametrize("shared", [*SHARED, BARE], indirect=True)
async def test_of_two_groups_that_race_only_one_comes_in(shared: Player) -> None:
    await shared.remote.free_port()

    async def start(group: str, device: int, number: int) -> str:
        try:
            run_id = f"{group}{device}-{number}"
            await shared.start(run_id, SLEEPS, group=group, devices=(device,))
        except LeaseHeldError:
            return ""
        return group

    for number in range(3):
        began = await asyncio.gather(
            *(start(group, device, number) for device in range(3) for group in ("ours", "theirs"))
        )
        assert {*began} - {""} in ({"ours"}, {"theirs"}), began
        for device in range(3):
            for group in ("ours", "theirs"):
                await shared.remote.cancel(f"{group}{device}-{number}")
        assert await lease_holder(shared.remote) == ""


async def test_nobody_shares_a_host_with_what_a_run_has_left(shared: Player) -> None:
    player, remote = shared, shared.remote
    await running(player, "killed", SLEEPS, group="ours", devices=(0,))
    await running(player, "beside", SLEEPS, group="ours", devices=(1,))
    await player.kill_supervisor("killed")

    async def hers() -> bool:
        return "run killed" in await lease_holder(remote, "ours")

    await until(hers)
    assert "run killed" in await refused(player, "next", group="ours", devices=(2,))
    assert player.living("beside") == 1
    await remote.cancel("killed")
    await player.start("next", SLEEPS, group="ours", devices=(2,))
    assert player.living("beside") == 1


# The end ------------------------------------------------------------------------------------------


async def test_a_run_that_takes_too_long_is_ended_there(player: Player) -> None:
    workload = Workload(ends_after_s=FOREVER, on_term_s=0.3, on_term_output=b"saved\n")
    await player.start("long", workload, timeout_s=0.5)
    status, log = await follow(player, "long")
    assert (status.timed_out, status.exit_code, status.cancelled) == (True, 143, False)
    assert (status.leftovers, status.left) == (0, 0)
    assert log == b"saved\n"


async def test_a_cancelled_run_has_its_grace_and_its_last_words(player: Player) -> None:
    workload = Workload(
        ends_after_s=FOREVER, on_term_s=0.5, on_term_output=b"saved\n", on_term_status=7
    )
    await running(player, "graceful", workload)
    report = await player.remote.cancel("graceful", grace_s=5)
    assert (report.killed, report.left) == (1, 0)
    status, log = await follow(player, "graceful")
    assert (status.exit_code, status.cancelled, log) == (7, True, b"saved\n")
    assert player.living("graceful") == 0


async def test_what_a_handler_of_term_starts_has_the_grace_too(player: Player) -> None:
    saves = {"on_term_child_s": 1.0, "on_term_output": b"saved\n", "on_term_status": 7}
    workload = Workload(ends_after_s=FOREVER, **saves)  # type: ignore[arg-type]
    await running(player, "saves", workload)
    assert (await player.remote.cancel("saves", grace_s=20)).left == 0
    status, log = await follow(player, "saves")
    assert (status.exit_code, status.leftovers, log) == (7, 0, b"saved\n")
    await player.start("slow", replace(workload, on_term_child_s=60.0), timeout_s=0.5, grace_s=0.5)
    status, log = await follow(player, "slow")
    assert (status.timed_out, status.left, log) == (True, 0, b"")
    assert player.living("slow") == 0


async def test_who_is_deaf_to_term_is_killed_after_the_grace(player: Player) -> None:
    await running(player, "deaf", Workload(ends_after_s=FOREVER, on_term_s=None))
    report = await player.remote.cancel("deaf", grace_s=0.3)
    assert (report.killed, report.left) == (1, 0)
    status = await player.remote.status("deaf")
    assert (status.signal, status.cancelled) == (9, True)


async def test_what_a_run_leaves_behind_is_ended_and_counted(player: Player) -> None:
    children = (Child(), Child(on_term_s=None), Child(marked=False, hides=True))
    await player.start("leaves", Workload(ends_after_s=0.5, children=children), grace_s=0.5)
    status, _ = await follow(player, "leaves")
    assert (status.exit_code, status.leftovers, status.left) == (0, 3, 0)
    assert player.living("leaves") == 0
    assert await lease_holder(player.remote) == ""


async def test_children_that_are_just_ending_are_no_leftovers(player: Player) -> None:
    workload = Workload(ends_after_s=0.4, children=(Child(lives_s=0.5),))
    await player.start("ending", workload)
    assert (await follow(player, "ending"))[0].leftovers == 0


@pytest.mark.parametrize("marked", [True, False])
async def test_children_that_hide_are_found_on_a_host_with_python(
    player: Player, marked: bool
) -> None:
    children = (Child(marked=marked, hides=True), Child(marked=marked))
    await running(player, "hides", Workload(ends_after_s=FOREVER, children=children))
    report = await player.remote.cancel("hides", grace_s=1)
    assert (report.killed, report.left) == (3, 0)
    assert player.living("hides") == 0


async def test_without_python_nobody_can_tell_what_a_cancelled_run_left(
    without_python: Player,
) -> None:
    player = without_python
    children = (Child(marked=False, hides=True), Child(hides=True))
    await running(player, "hidden", Workload(ends_after_s=FOREVER, children=children))
    report = await player.remote.cancel("hidden", grace_s=1)
    assert (report.killed, report.left) == (2, None)
    assert player.living("hidden") == 1
    assert await lease_holder(player.remote) != "", "it holds the host as long as it lives"


async def test_without_python_and_flock_a_run_ends_like_any_other(bare: Player) -> None:
    await running(bare, "plain", SLEEPS)
    with pytest.raises(LeaseHeldError):
        await bare.start("other", Workload())
    assert (await bare.remote.cancel("plain")).left == 0
    assert await lease_holder(bare.remote) == ""


@pytest.mark.faults
@pytest.mark.parametrize("flock", [True, False])
async def test_without_python_what_hid_is_unverified_until_it_is_gone(
    tmp_path: Path, flock: bool
) -> None:
    """Also at a normal end; and the next run does not start beside it."""
    for kind in ("real", "simulated"):
        (tmp_path / kind).mkdir()
        player = player_on(kind, tmp_path / kind, python=False, flock=flock)
        try:
            await _hidden(player)
        finally:
            await player.close()


async def _hidden(player: Player) -> None:
    child = Child(marked=False, hides=True, holds_lease=False)
    workload = Workload(output=says((0.0, b"up\n")), ends_after_s=1.0, children=(child, Child()))
    await running(player, "hidden", workload)
    status, _ = await follow(player, "hidden")
    assert (status.exit_code, status.leftovers, status.left) == (0, 1, 0)
    assert len(status.orphans or ()) == 1
    assert player.living("hidden") == 1
    assert "run hidden" in await lease_holder(player.remote)
    with pytest.raises(LeaseHeldError, match="may have left processes, run hidden"):
        await player.start("next", Workload())
    with pytest.raises(RemoteError, match="may have left processes"):
        await player.remote.remove("hidden", digest_of(b"up\n"))
    report = await player.remote.cancel("hidden", grace_s=0.1)
    assert (report.killed, report.left, report.orphans) == (0, None, status.orphans)
    (found,) = await player.remote.sweep()
    assert (found.processes, found.orphans) == (0, status.orphans)
    player.end_by_hand("hidden")

    async def verified() -> bool:
        return (await player.remote.cancel("hidden", grace_s=0.1)).left == 0

    await until(verified)
    await player.start("next", Workload())
    await player.remote.remove("hidden", digest_of(b"up\n"))


async def test_a_killed_supervisors_hidden_children_have_the_host(bare: Player) -> None:
    child = Child(marked=False, hides=True, holds_lease=False)
    await running(bare, "lost", Workload(ends_after_s=FOREVER, children=(child,)))
    await bare.kill_supervisor("lost")

    async def is_lost() -> bool:
        return (await bare.remote.status("lost")).phase is RunPhase.LOST

    await until(is_lost)
    report = await bare.remote.cancel("lost", grace_s=0.5)
    assert (report.left, len(report.orphans or ())) == (None, 1)
    with pytest.raises(LeaseHeldError, match="run lost"):
        await bare.start("next", Workload())
    bare.end_by_hand("lost")
    await until(lambda: bare.living("lost") == 0)
    await bare.start("next", Workload())


async def test_a_supervisor_that_was_killed_leaves_an_unverified_run(player: Player) -> None:
    await running(player, "lost", SLEEPS)
    await player.kill_supervisor("lost")

    async def is_lost() -> bool:
        return (await player.remote.status("lost")).phase is RunPhase.LOST

    await until(is_lost)
    status = await player.remote.status("lost")
    assert (status.same_boot, status.exit_code, status.cancelled) == (True, None, False)
    assert await lease_holder(player.remote) != ""
    report = await player.remote.cancel("lost", grace_s=1)
    assert report.left is None
    assert player.living("lost") == 0
    assert await lease_holder(player.remote) == ""
    assert (await follow(player, "lost"))[1] == b"up\n"
    assert (await player.remote.status("lost")).cancelled
    with pytest.raises(LogNotKeptError):
        await player.remote.remove("lost")
    await player.remote.remove("lost", digest_of(b"up\n"))
    assert await player.remote.sweep() == ()


# Files --------------------------------------------------------------------------------------------


async def test_only_what_has_ended_is_removed(player: Player) -> None:
    await running(player, "busy", SLEEPS)
    with pytest.raises(RemoteError, match="has not ended"):
        await player.remote.remove("busy")
    (found,) = await player.remote.sweep()
    assert (found.run_id, found.phase, found.processes) == ("busy", RunPhase.RUNNING, 1)
    assert found.who == "alice@login01"
    await player.remote.cancel("busy")
    (found,) = await player.remote.sweep()
    assert (found.phase, found.processes, found.size) == (RunPhase.EXITED, 0, 3)
    for kept in (None, digest_of(b"u"), digest_of(b"down\n"), digest_of(b"ip\n")):
        with pytest.raises(LogNotKeptError, match="not kept elsewhere"):
            await player.remote.remove("busy", kept)
    assert (await follow(player, "busy"))[1] == b"up\n", "a log that is kept nowhere stays"
    await player.remote.remove("busy", digest_of(b"up\n"))
    assert await player.remote.sweep() == ()
    assert (await player.remote.status("busy")).phase is RunPhase.ABSENT


async def test_what_a_run_does_can_be_asked(player: Player) -> None:
    await running(player, "seen", SLEEPS)
    answer = await player.remote.diagnose("seen")
    assert answer.startswith(b"@diagnosis running 3\n")
    told = {section.name: section for section in split(answer)}
    assert {"kernel", "lines", "processes", "uptime"} <= set(told)
    assert told["lines"].content == b"up\n"
    assert float(told["uptime"].text.split()[0]) > 0
    states = {process.state for process in read_processes(told["processes"].text)}
    assert states
    assert states <= set("RSD")


async def test_a_free_port_lies_below_those_of_outgoing_connections(player: Player) -> None:
    assert 1024 < await player.remote.free_port() < 65536


# The very words -----------------------------------------------------------------------------------


async def answers(player: Player) -> list[tuple[str, int, str]]:
    """Verb, exit status and both streams of every short verb, in every phase of a run."""
    remote, found, tickets = player.remote, [], []
    host = remote.transport.host

    async def ask(*words: str, stdin: bytes = b"") -> None:
        done = await remote.transport.run(remote._command(*words), stdin=stdin)
        said = (done.stdout + done.stderr).decode().replace(host.name, "HOST")
        said = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "BOOT", said)
        said = re.sub(r"[0-9a-f]{64}", "SHA256", said)
        said = re.sub(r"\d+\.\d{9}", "TIME", said)
        said = re.sub(r"quiet=\d+", "quiet=S", said)
        tickets.extend(re.findall(r"^@ticket (\S+)$", said, re.MULTILINE))
        said = re.sub(r"^@ticket \S+", "@ticket", said, flags=re.MULTILINE)
        said = re.sub(r"@claim owner=\S+ path=\S+", "@claim", said)
        found.append((words[0], done.exit_status, re.sub(r"(pid=|port |since=)\d+", r"\1N", said)))

    async def ask_all() -> None:
        for verb in ("status", "digest", "remove"):
            await ask(verb, "words")
        await ask("sweep")
        await ask("lease", host.lease_dir)
        await ask("lease", host.lease_dir, "g")

    await remote.free_port()
    await ask_all()
    await ask("port")
    await ask("follow", "words", "0")
    await ask("cancel", "words", "100")
    await ask("stage", "abc", "5", stdin=b"1234")
    await running(player, "words", SLEEPS, timeout_s=100)
    await ask_all()
    start = ("6", "-", "100", host.lease_dir)

    async def ask_to_start(run_id: str, *words: str) -> None:
        await ask("start", run_id, *words, "-", stdin=b"false\n")
        ticket = tickets[-1] if found[-1][1] == 80 else "-"
        await ask("start", run_id, *words, ticket, stdin=b"false\n")

    await ask_to_start("other", *start, "bob", "", "")
    await ask_to_start("other", *start, "bob", "g 0", "")
    await ask("start", "other", *start, "bob", "", "", "-", "missing", stdin=b"false\n")
    await ask_to_start("other", "7", *start[1:], "", "", "")
    await ask_to_start("words", *start, "", "", "")
    await ask("start", "words", *start, "", "", "", "never", stdin=b"false\n")
    await ask("start", "other", *start, "", "", "", "never", stdin=b"false\n")
    await ask("start", "other", *start, "", "", "", "-", stdin=b"false\n")
    await ask_all()
    await ask("cancel", "other", "100")
    await ask("digest", "other")
    await ask("remove", "other")
    await ask("cancel", "words", "500")
    await ask("follow", "words", "1")
    await ask("follow", "words", "9")
    await ask("cancel", "words", "100")
    await ask_all()
    await ask("digest", "words", "2")
    await ask("digest", "words", "4")
    await ask("remove", "words", "3", "0" * 64)
    await ask("remove", "words", "discard")
    await ask("status", "words")
    await ask("bogus")
    return found


async def test_every_answer_reads_the_same(tmp_path: Path) -> None:
    real, simulated = RealPlayer(tmp_path), SimulatedPlayer()
    try:
        expected = await answers(real)
        assert await answers(simulated) == expected
        assert len(expected) > 20
    finally:
        await real.close()
        await simulated.close()
