"""What is sent to a host and what is made of its answers, without any host."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost, checked_name
from backends.remote.wrapper_messages import (
    LeaseHeldError,
    RemoteError,
    RunPhase,
    RunSpec,
    StagedTree,
)
from backends.transports.login_shell import MARK, login_shell_command
from backends.transports.transport import Completed


class Scripted:
    """A transport that notes commands and gives prepared answers."""

    def __init__(self, *answers: Completed, work_dir: str = "~/w") -> None:
        self.host = Host("node1", work_dir=work_dir)
        self.answers = list(answers)
        self.commands: list[str] = []
        self.stdins: list[bytes] = []

    async def connect(self) -> None: ...

    async def close(self) -> None: ...

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        self.commands.append(command)
        self.stdins.append(stdin)
        return self.answers.pop(0)

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        done = await self.run(command)
        on_stdout(done.stdout)
        return Completed(done.exit_status, b"", done.stderr)


RUNNING = (
    b"@status phase=running pid=12 boot=b-1 same_boot=1 size=0 code=- started=10.5 ended=- "
    b"timed_out=0 leftovers=0 left=0 cancelled=0\n"
)
EXITED = RUNNING.replace(b"running", b"exited").replace(b"code=-", b"code=139")


def ok(stdout: bytes = b"", stderr: bytes = b"") -> Completed:
    return Completed(0, stdout, stderr)


MISSING = Completed(97, b"", b"")


async def test_the_wrapper_is_installed_when_a_host_lacks_it_and_the_command_repeated() -> None:
    transport = Scripted(MISSING, ok(), ok(RUNNING))
    status = await RemoteHost(transport).start(RunSpec("r", "true", lease="me"))
    assert status.phase is RunPhase.RUNNING
    first, install, again = transport.commands
    assert first == again
    assert transport.stdins[0] == transport.stdins[2] == b"true\n"
    assert b"dlperf-tui on a host" in transport.stdins[1]
    assert "mv -f" in install


async def test_what_the_rc_files_print_around_an_answer_does_not_matter() -> None:
    noisy = b"Welcome!\r\n@status phase=lies\n" + EXITED + b"bye\n"
    status = await RemoteHost(Scripted(ok(noisy))).status("r")
    assert (status.phase, status.exit_code, status.signal) == (RunPhase.EXITED, 139, 11)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage",
        b"@status phase=running",
        EXITED.replace(b"size=0", b"size=x"),
        EXITED.replace(b"exited", b"done"),
    ],
)
async def test_a_damaged_answer_is_an_error_that_names_the_host(answer: bytes) -> None:
    with pytest.raises(RemoteError, match="node1"):
        await RemoteHost(Scripted(ok(answer))).status("r")


async def test_a_failure_on_the_host_is_shown_clean_and_on_one_line() -> None:
    failed = Completed(
        70, b"", b"cat: write error: No space left\x1b[2J on device\nerror: cannot store it\n"
    )
    with pytest.raises(RemoteError) as error:
        await RemoteHost(Scripted(failed)).status("r")
    assert str(error.value).startswith("node1: cannot store it: cat: write error: No space left")
    assert "\x1b" not in str(error.value)


async def test_a_holders_note_is_hostile_text() -> None:
    held = Completed(
        75, b"@lease held since=100 run=r9 who=eve\x1b]52;c;aGk=\x07 [@click=x]\n", b"error: held"
    )
    with pytest.raises(LeaseHeldError) as error:
        await RemoteHost(Scripted(held)).start(RunSpec("r", "true", lease="me"))
    assert error.value.since == 100
    assert "\x1b" not in error.value.holder
    assert "\x07" not in error.value.holder
    assert error.value.holder.endswith("run r9")


async def test_staged_files_are_sent_when_the_host_asks_for_them() -> None:
    tree = StagedTree.of({"f": b"x"})
    asked = Completed(78, f"@stage {tree.digest}\n".encode(), b"")
    transport = Scripted(asked, ok(), ok(RUNNING))
    await RemoteHost(transport).start(RunSpec("r", "true", lease="me", stage=(tree,)))
    assert transport.stdins[1] == tree.archive


async def test_a_log_that_is_not_whole_yet_is_followed_on() -> None:
    status = EXITED.replace(b"size=0", b"size=6")
    transport = Scripted(ok(b"abc", status), ok(b"def", status))
    got = bytearray()
    await RemoteHost(transport).follow("r", 0, got.extend)
    assert bytes(got) == b"abcdef"
    assert transport.commands[0].endswith("follow node1 r 0")
    assert transport.commands[1].endswith("follow node1 r 3")


async def test_a_log_that_cannot_be_read_ends_in_an_error_not_in_a_loop() -> None:
    status = EXITED.replace(b"size=0", b"size=6")
    with pytest.raises(RemoteError, match="cannot be read"):
        await RemoteHost(Scripted(*[ok(b"", status)] * 50)).follow("r", 0, lambda chunk: None)


async def test_environment_and_work_directory_cannot_break_out_of_their_quotes() -> None:
    evil = "x'; touch /tmp/evil; '"
    transport = Scripted(ok(RUNNING), work_dir=f"~/{evil}")
    await RemoteHost(transport).start(
        RunSpec("r", "true", lease=evil, environment={"A": f"{evil}\n$(x)`y`"})
    )
    script = transport.stdins[0].decode()
    shown = subprocess.run(
        ["/bin/sh", "-c", f'{script} printf %s "$A"'], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"{evil}\n$(x)`y`"
    directory = transport.commands[0].split("cd -P -- ")[1].split(" 2>/dev/null")[0]
    shown = subprocess.run(
        ["/bin/sh", "-c", f"printf %s {directory}"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOME": "/home/me"},
    )
    assert shown.stdout.startswith(f"/home/me/{evil}/bin/")
    assert not Path("/tmp/evil").exists()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "-rf", "a b", "a\n", "ü", "a" * 200]
)
async def test_names_that_could_leave_their_directory_are_refused(name: str) -> None:
    transport = Scripted()
    remote = RemoteHost(transport)
    with pytest.raises(ValueError, match="not a run id"):
        await remote.start(RunSpec(name, "true", lease=""))
    for method in (remote.status, remote.cancel, remote.remove, remote.diagnose):
        with pytest.raises(ValueError, match="not a run id"):
            await method(name)
    with pytest.raises(ValueError, match="not a run id"):
        await remote.follow(name, 0, lambda chunk: None)
    assert transport.commands == []


async def test_an_environment_name_that_is_none_is_refused() -> None:
    for name in ("", "1A", "A-B", "A=B", "A;x"):
        with pytest.raises(ValueError, match="environment variable"):
            await RemoteHost(Scripted()).start(
                RunSpec("r", "true", lease="", environment={name: "x"})
            )


@given(st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}", fullmatch=True))
def test_a_checked_name_is_itself(name: str) -> None:
    assert checked_name(name, "run id") == name


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_any_command_survives_the_login_shell(command: str) -> None:
    line = login_shell_command("printf %s " + _quote(command))
    assert "\n" not in line
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, check=True, stdin=subprocess.DEVNULL
    )
    assert done.stdout == MARK + command.encode()
    assert done.stderr == MARK


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def test_a_staged_archive_holds_modes_and_no_owners(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o700)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").touch()
    tree = StagedTree.of({"d": tmp_path, "plain": b"text", "script": b"#!/bin/sh\n"})
    with tarfile.open(fileobj=BytesIO(tree.archive)) as archive:
        members = {member.name: member for member in archive}
    assert {name: member.mode for name, member in members.items()} == {
        "d/run.sh": 0o755,
        "plain": 0o644,
        "script": 0o755,
    }
    assert all(member.mtime == 0 and member.uid == 0 for member in members.values())


def test_the_wrapper_is_plain_posix_shell() -> None:
    script = Path(__file__).parents[3] / "backends" / "remote" / "host.sh"
    assert script.read_bytes().isascii()
    for shell in ("dash", "bash --posix", "busybox sh"):
        words = shell.split()
        if subprocess.run(["which", words[0]], capture_output=True, check=False).returncode == 0:
            subprocess.run([*words, "-n", str(script)], check=True)
