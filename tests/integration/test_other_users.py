"""Other users of the same host: what they prepared is not trusted, and leases hold between them."""

from __future__ import annotations

import asyncio
import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.installation import wrapper
from backends.remote.wrapper_messages import (
    LeaseHeldError,
    RemoteError,
    RunPhase,
    RunSpec,
    StagedTree,
)
from tests.support.leases import lease_holder
from tests.support.processes import alive, kill
from tests.support.users import Accounts, Machine, User, user_on, why_not
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "possible")

HOST = Host("m", "local", work_dir="~/work", lease_dir="")


@pytest.fixture(scope="module")
def accounts() -> Iterator[tuple[Accounts, pwd.struct_passwd, pwd.struct_passwd]]:
    found = Accounts()
    yield found, found.add("alice"), found.add("mallory")
    found.close()


@pytest.fixture
def machine() -> Iterator[Machine]:
    found = Machine()
    yield found
    found.close()


@pytest.fixture
def alice(
    machine: Machine, accounts: tuple[Accounts, pwd.struct_passwd, pwd.struct_passwd]
) -> User:
    return user_on(machine, accounts[1])


@pytest.fixture
def mallory(
    machine: Machine, accounts: tuple[Accounts, pwd.struct_passwd, pwd.struct_passwd]
) -> User:
    return user_on(machine, accounts[2])


@pytest.fixture
def shared(
    accounts: tuple[Accounts, pwd.struct_passwd, pwd.struct_passwd], tmp_path: Path
) -> Iterator[Path]:
    """A directory where everybody may make files, as /tmp is."""
    directory = accounts[0].place / tmp_path.name
    directory.mkdir()
    directory.chmod(0o1777)
    yield directory
    shutil.rmtree(directory)


class Consoles:
    """Consoles of several users; what they started is ended with the test."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._started: list[tuple[RemoteHost, str]] = []
        self._work_dir = f"~/work-{secrets.token_hex(4)}"

    def of(self, user: User, host: Host = HOST, **environment: str) -> RemoteHost:
        if host.work_dir == HOST.work_dir:
            host = replace(host, work_dir=self._work_dir)
        return RemoteHost(user.transport(host, environment))

    async def start(self, remote: RemoteHost, run_id: str, script: str = "sleep 600") -> None:
        run = RunSpec(run_id, script, lease=f"somebody@login01 {run_id}", grace_s=1)
        self._started.append((remote, run_id))
        await remote.start(run)

    async def end(self) -> None:
        for remote, run_id in self._started:
            try:
                await remote.cancel(run_id, grace_s=0.2)
            except RemoteError:
                continue  # it never started


@pytest.fixture
async def consoles(machine: Machine) -> AsyncIterator[Consoles]:
    found = Consoles(machine)
    yield found
    await found.end()


def busybox(directory: Path, *more: str) -> str:
    """A PATH without GNU tools and without flock; ``more``: programs that are there as well."""
    program = shutil.which("busybox")
    if program is None:
        pytest.skip("busybox is not installed")
    tools = directory / "tools"
    tools.mkdir(exist_ok=True)
    subprocess.run([program, "--install", "-s", str(tools)], check=True)
    (tools / "flock").unlink(missing_ok=True)
    for name in more:
        (tools / name).symlink_to(f"/usr/bin/{name}")
    return str(tools)


PATHS = ("flock", "only python3", "neither")


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, shared: Path) -> str:
    """What the host has to lock with."""
    if request.param == "flock":
        return "/usr/sbin:/usr/bin:/sbin:/bin"
    return busybox(shared, *(["python3"] if "python3" in request.param else []))


# --- the lease ------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["the machine itself", "a lease_dir"])
async def test_a_host_is_one_users_at_a_time(
    consoles: Consoles, alice: User, mallory: User, shared: Path, path: str, place: str
) -> None:
    host = HOST if place == "the machine itself" else replace(HOST, lease_dir=f"{shared}/leases")
    one, two = (consoles.of(user, host, PATH=path) for user in (alice, mallory))
    root_user = User("root", Path("/root"), consoles.machine)
    root = consoles.of(root_user, replace(host, work_dir=f"{shared}/root"), PATH=path)
    for first, second, owner in ((one, two, alice), (two, one, mallory), (root, one, None)):
        await consoles.start(first, "first")
        for other in {second, root} - {first}:
            with pytest.raises(LeaseHeldError, match="run first") as held:
                await consoles.start(other, "second")
            assert held.value.lease.owner == (owner.name if owner else "root")
        await first.cancel("first", grace_s=1)
        # Where nobody adopts orphans, others of root's here may look like its run's.
        await first.remove("first", verified=first is root)
        assert await lease_holder(second) == ""


async def test_of_many_users_that_race_exactly_one_gets_the_host(
    consoles: Consoles, alice: User, mallory: User, path: str
) -> None:
    remotes = [
        consoles.of(user, replace(HOST, work_dir=f"~/{secrets.token_hex(4)}"), PATH=path)
        for user in (alice, mallory)
        for _ in range(2)
    ]
    await asyncio.gather(*(remote.free_port() for remote in remotes))
    for attempt in range(3):
        answers = await asyncio.gather(
            *(
                consoles.start(remote, f"race{attempt}-{number}")
                for number, remote in enumerate(remotes)
            ),
            return_exceptions=True,
        )
        won = [number for number, answer in enumerate(answers) if answer is None]
        assert len(won) == 1, answers
        assert sum(isinstance(answer, LeaseHeldError) for answer in answers) == 3
        await remotes[won[0]].cancel(f"race{attempt}-{won[0]}", grace_s=1)


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [
        *((path, "*.lock") for path in PATHS),
        *(pytest.param(path, "*", marks=pytest.mark.faults) for path in PATHS[:2]),
        (PATHS[2], "*"),
    ],
    indirect=["path"],
)
async def test_a_cleaner_of_tmp_does_not_make_room_for_a_second_run(
    consoles: Consoles, alice: User, mallory: User, shared: Path, path: str, cleaned: str
) -> None:
    """The lock file, or all that is in the lease_dir, is removed or replaced under a live run."""
    leases = shared / "leases"
    host = replace(HOST, lease_dir=str(leases))
    one, two = consoles.of(alice, host, PATH=path), consoles.of(mallory, host, PATH=path)
    await consoles.start(one, "first")
    for file in leases.glob(cleaned):
        file.unlink()
    for _ in range(2):
        with pytest.raises(LeaseHeldError, match="run first") as held:
            await consoles.start(two, "second")
        assert held.value.lease.owner == alice.name
    assert "run first" in await lease_holder(two)
    await one.cancel("first", grace_s=1)
    await consoles.start(two, "second")


async def test_a_lease_without_a_lease_dir_is_in_no_file(
    consoles: Consoles, alice: User, mallory: User, path: str
) -> None:
    """There is nothing to prepare, to replace, or to age: all files may go."""
    one, two = consoles.of(alice, PATH=path), consoles.of(mallory, PATH=path)
    await consoles.start(one, "first")
    for note in Path("/tmp").glob(f"dlperf-tui.{consoles.machine.key}*"):
        note.unlink()
    with pytest.raises(LeaseHeldError, match="run first"):
        await consoles.start(two, "second")
    await one.cancel("first", grace_s=1)
    await consoles.start(two, "second")


async def test_nothing_that_lies_in_tmp_hinders_a_lease(
    consoles: Consoles, alice: User, mallory: User
) -> None:
    prepared = f"/tmp/dlperf-tui.{consoles.machine.key}"
    mallory.does(f": >{prepared}.lock; chmod 0 {prepared}.lock; mkdir {prepared} {prepared}.note")
    one = consoles.of(alice)
    try:
        await consoles.start(one, "first")
        assert "run first" in await lease_holder(one)
    finally:
        mallory.does(f"rm -r {prepared} {prepared}.lock {prepared}.note")


async def test_the_processes_of_a_run_whose_supervisor_was_killed_still_hold_the_host(
    consoles: Consoles, alice: User, mallory: User, shared: Path
) -> None:
    one, two = consoles.of(alice), consoles.of(mallory)
    await consoles.start(one, "first", f"echo $$ >{shared}/pid; exec sleep 600")
    await until((shared / "pid").exists)
    supervisor = (await one.status("first")).pid
    assert supervisor
    kill(supervisor)
    await until(lambda: not alive(supervisor))
    with pytest.raises(LeaseHeldError, match="run first") as held:
        await consoles.start(two, "second")
    assert held.value.lease.owner == alice.name
    kill(int((shared / "pid").read_text()))


async def test_a_forged_holder_is_told_by_the_owner_of_its_note(
    consoles: Consoles, alice: User, mallory: User
) -> None:
    note = f"/tmp/dlperf-tui.{consoles.machine.key}.note.0000000000"
    says = "4102444800 big-run - 1:1 root@login01 very important"
    mallory.does(f"umask 022; echo '{says}' >{note}")
    bystander = mallory.begins("exec 9</proc/self/ns/net; flock 9; exec sleep 600")
    one = consoles.of(alice)
    try:

        async def held() -> bool:
            return await lease_holder(one) != ""

        await until(held)
        with pytest.raises(LeaseHeldError) as error:
            await consoles.start(one, "first")
    finally:
        bystander.kill()
        bystander.wait()
    text = str(error.value)
    assert f"(user {mallory.name})" in text
    assert f"{note} belongs to {mallory.name}: ask them" in text
    # A note alone is only words.
    await consoles.start(one, "first")


@pytest.mark.parametrize("lease_dir", [False, True])
async def test_a_bystander_that_holds_the_lock_is_named(
    consoles: Consoles, alice: User, mallory: User, shared: Path, lease_dir: bool
) -> None:
    host, lock = HOST, "/proc/self/ns/net"
    if lease_dir:
        host = replace(HOST, lease_dir=str(shared))
        lock = f"{shared}/{consoles.machine.key}.lock"
        mallory.does(f": >{lock}")
    program = f"import fcntl, time; f = open('{lock}'); fcntl.flock(f, 2); time.sleep(600)"
    bystander = mallory.begins(f'exec /usr/bin/python3 -c "{program}"')
    one = consoles.of(alice, host)
    try:

        async def held() -> bool:
            return "no run of ours" in await lease_holder(one)

        await until(held)
        with pytest.raises(LeaseHeldError) as error:
            await consoles.start(one, "first")
    finally:
        bystander.kill()
        bystander.wait()
    assert f"process {bystander.pid} (python3)" in str(error.value)
    assert f"/proc/{bystander.pid} belongs to {mallory.name}: ask them" in str(error.value)
    assert mallory.name in error.value.lease.explained, "what waits says so, too"


async def refused(consoles: Consoles, remote: RemoteHost, run_id: str = "first") -> str:
    """The one line that a start is refused with."""
    async with asyncio.timeout(30):
        with pytest.raises(RemoteError) as error:
            await consoles.start(remote, run_id)
    assert not isinstance(error.value, LeaseHeldError)
    assert "\n" not in str(error.value)
    assert (await remote.status(run_id)).phase is RunPhase.ABSENT
    return str(error.value)


async def test_a_lease_dir_that_is_a_symlink_is_refused(
    consoles: Consoles, alice: User, mallory: User, shared: Path
) -> None:
    target = alice.home / "precious"
    alice.does(f"mkdir {target}; chmod 755 {target}")
    mallory.does(f"ln -s {target} {shared}/leases")
    one = consoles.of(alice, replace(HOST, lease_dir=f"{shared}/leases"))
    assert f"{shared}/leases is no directory, it belongs to {mallory.name}" in await refused(
        consoles, one
    )
    assert list(target.iterdir()) == []
    target.rmdir()


async def test_a_lease_dir_where_everybody_removes_everybodys_files_is_refused(
    consoles: Consoles, alice: User, mallory: User, shared: Path
) -> None:
    mallory.does(f"mkdir {shared}/leases; chmod 777 {shared}/leases")
    one = consoles.of(alice, replace(HOST, lease_dir=f"{shared}/leases"))
    said = await refused(consoles, one)
    assert f"it belongs to {mallory.name} with mode drwxrwxrwx" in said
    assert list((shared / "leases").iterdir()) == []


@pytest.mark.parametrize("kind", ["symlink", "dangling", "directory", "pipe", "locked away"])
async def test_what_lies_in_place_of_the_lock_is_neither_followed_nor_waited_for(
    consoles: Consoles, alice: User, mallory: User, shared: Path, kind: str
) -> None:
    lock = shared / f"{consoles.machine.key}.lock"
    victim = alice.home / "victim"
    alice.does(f"echo mine >{victim}")
    mallory.does(
        {
            "symlink": f"ln -s {victim} {lock}",
            "dangling": f"ln -s {alice.home}/made {lock}",
            "directory": f"mkdir {lock}",
            "pipe": f"mkfifo {lock}",
            "locked away": f": >{lock}; chmod 0 {lock}",
        }[kind]
    )
    one = consoles.of(alice, replace(HOST, lease_dir=str(shared)))
    said = await refused(consoles, one)
    assert f"cannot open {lock}, it belongs to {mallory.name}" in said
    assert victim.read_text() == "mine\n"
    assert not (alice.home / "made").exists()


@pytest.mark.parametrize("kind", ["pipe", "endless", "unreadable", "binary", "symlink"])
async def test_notes_that_are_none_are_passed_over(
    consoles: Consoles, alice: User, mallory: User, kind: str
) -> None:
    note = f"/tmp/dlperf-tui.{consoles.machine.key}.note.0000000001"
    mallory.does(
        {
            "pipe": f"mkfifo {note}",
            "endless": f"umask 022; head -c 3000000 /dev/zero | tr '\\0' x >{note}",
            "unreadable": f"umask 077; echo 1 2 3 4 5 >{note}",
            "binary": f"umask 022; head -c 3000 /dev/urandom >{note}",
            "symlink": f"ln -s /dev/zero {note}",
        }[kind]
    )
    one = consoles.of(alice)
    try:
        async with asyncio.timeout(20):
            assert await lease_holder(one) == ""
            await consoles.start(one, "first")
            assert "run first" in await lease_holder(one)
    finally:
        mallory.does(f"rm -f {note}")


# --- the work directory ---------------------------------------------------------------------------


def planted(user: User, work: Path, evidence: Path) -> None:
    """A wrapper of somebody else's, where ours would be."""
    directory = work / wrapper().directory
    user.does(
        f"umask 022; mkdir -p {directory}; echo 'touch {evidence}' >{directory}/host.sh;"
        f"chmod 755 {directory}/host.sh"
    )


async def test_a_work_dir_that_somebody_prepared_is_not_executed_from(
    consoles: Consoles, alice: User, mallory: User, shared: Path
) -> None:
    evidence = shared / "executed"
    work = shared / "work"
    planted(mallory, work, evidence)
    mallory.does(f"chmod 777 {work} {work}/bin")
    one = consoles.of(alice, replace(HOST, work_dir=str(work)))
    with pytest.raises(RemoteError) as error:
        await consoles.start(one, "first")
    assert f"{work} belongs to {mallory.name}" in str(error.value)
    assert "set work_dir" in str(error.value)
    assert not evidence.exists()
    assert sorted(path.name for path in work.iterdir()) == ["bin"]


async def test_a_work_dir_that_is_somebodys_symlink_is_not_followed(
    consoles: Consoles, alice: User, mallory: User, shared: Path
) -> None:
    target = alice.home / "own"
    alice.does(f"mkdir {target}")
    mallory.does(f"ln -s {target} {shared}/work")
    one = consoles.of(alice, replace(HOST, work_dir=f"{shared}/work"))
    with pytest.raises(RemoteError, match=f"{shared}/work belongs to {mallory.name}"):
        await one.free_port()
    assert list(target.iterdir()) == []
    # Her own link is hers to make.
    alice.does(f"ln -s {target} {shared}/hers")
    await consoles.of(alice, replace(HOST, work_dir=f"{shared}/hers")).free_port()
    assert (target / wrapper().directory / "host.sh").exists()


async def test_a_directory_above_that_others_can_write_to_is_refused(
    consoles: Consoles, alice: User, shared: Path
) -> None:
    above = shared / "above"
    alice.does(f"mkdir {above}; chmod 777 {above}")
    one = consoles.of(alice, replace(HOST, work_dir=f"{above}/work"))
    with pytest.raises(RemoteError, match=f"{above} can be written by others"):
        await one.free_port()
    assert list(above.iterdir()) == []
    alice.does(f"chmod 755 {above}")
    await one.free_port()
    alice.does(f"chmod 777 {above}")
    with pytest.raises(RemoteError, match=f"{above} can be written by others"):
        await one.free_port()


async def test_a_group_of_ones_own_is_trusted_and_no_other(
    consoles: Consoles, alice: User, shared: Path
) -> None:
    above = shared / "above"
    alice.does(f"mkdir {above}; chmod 775 {above}")
    one = consoles.of(alice, replace(HOST, work_dir=f"{above}/work"))
    await one.free_port()
    os.chown(above, -1, 100)  # "users"
    with pytest.raises(RemoteError, match=f"{above} can be written by others"):
        await one.free_port()


@pytest.mark.parametrize("whose", ["ours", "theirs", "a symlink to theirs"])
async def test_a_wrapper_that_is_not_ours_byte_for_byte_is_replaced_not_executed(
    consoles: Consoles, alice: User, mallory: User, shared: Path, whose: str
) -> None:
    work, evidence = shared / "work", shared / "executed"
    one = consoles.of(alice, replace(HOST, work_dir=str(work)))
    await one.free_port()
    script = work / wrapper().directory / "host.sh"
    script.unlink()
    mallory.does(f"umask 022; echo 'touch {evidence}' >{shared}/theirs")
    if whose == "ours":
        script.write_bytes(wrapper().text.replace(b"umask 077", b"umask 000"))
    elif whose == "theirs":
        script.write_bytes(wrapper().text)  # its owner may change it at any moment
        shutil.chown(script, mallory.name)
    else:
        script.symlink_to(shared / "theirs")
    if whose != "theirs":
        os.lchown(script, alice.home.stat().st_uid, -1)
    await one.free_port()
    assert script.read_bytes() == wrapper().text
    assert script.owner() == alice.name
    assert not script.is_symlink()
    assert not evidence.exists()
    assert "touch" in (shared / "theirs").read_text()


@pytest.mark.parametrize("name", ["runs", "runs/first.m", "stage"])
async def test_what_others_left_in_a_work_dir_that_was_open_once_is_refused(
    consoles: Consoles, alice: User, mallory: User, shared: Path, name: str
) -> None:
    work, target = shared / "work", shared / "target"
    one = consoles.of(alice, replace(HOST, work_dir=str(work)))
    await one.free_port()
    mallory.does(f"mkdir {target}; chmod 777 {target}")
    (work / name).parent.mkdir(exist_ok=True)
    shutil.chown((work / name).parent, alice.name)
    (work / name).symlink_to(target)
    os.lchown(work / name, target.stat().st_uid, -1)
    tree = StagedTree.of({"f": b"x"})
    with pytest.raises(RemoteError, match=f"{work}/{name} belongs to {mallory.name}"):
        await one.start(RunSpec("first", "true", lease="me", stage=(tree,)))
    assert list(target.iterdir()) == []
