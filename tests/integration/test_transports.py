"""What every transport promises, on this machine and over a real SSH server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from backends.inventory.host_entry import Host
from backends.transports.local import LocalTransport
from backends.transports.pool import TransportPool
from backends.transports.transport import HostUnreachableError, Problem, Transport
from tests.support.processes import alive
from tests.support.sshd import SshHosts
from tests.support.waiting import until


@pytest.fixture(params=["local", "sshd", "asyncssh's server"])
async def transport(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, local_host: Host
) -> AsyncIterator[Transport]:
    if request.param == "local":
        yield LocalTransport(local_host)
        return
    hosts = SshHosts(tmp_path_factory.mktemp("ssh"), real=request.param == "sshd")
    try:
        hosts(1)
    except FileNotFoundError:
        pytest.skip("sshd is not installed")
    pool = TransportPool(hosts.hosts())
    yield pool.get("node1")
    await pool.close()
    hosts.close()


async def test_a_command_gives_its_status_and_both_streams(transport: Transport) -> None:
    done = await transport.run("echo out; echo err >&2; exit 3")
    assert (done.exit_status, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


async def test_stdin_arrives_byte_for_byte(transport: Transport) -> None:
    data = bytes(range(256)) * 4096
    done = await transport.run("cat", stdin=data)
    assert done.stdout == data


async def test_a_command_arrives_unchanged_whatever_it_holds(transport: Transport) -> None:
    text = 'it\'s "quoted" \\n \\\\ ! $HOME `x`\n\ttab % %s ü \\0041'
    done = await transport.run(f"cat <<'END'\n{text}\nEND\n")
    assert done.stdout.decode() == text + "\n"


async def test_a_command_that_a_signal_ends_has_its_negative_number(transport: Transport) -> None:
    assert (await transport.run("kill -9 $$")).exit_status == -9
    assert (await transport.run("kill -TERM $$")).exit_status == -15


async def test_a_command_that_takes_too_long_is_given_up_and_ended(transport: Transport) -> None:
    pids: list[int] = []
    with pytest.raises(TimeoutError):
        await transport.run("exec sleep 20", timeout_s=0.3)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await transport.stream(
                "echo $$; while echo .; do sleep 0.05; done",
                lambda chunk: pids.extend(int(word) for word in chunk.split() if word.isdigit()),
            )
    await until(lambda: pids and not alive(pids[0]), what="the streaming command ends")
    assert (await transport.run("echo still here")).stdout == b"still here\n"


async def test_a_stream_hands_over_bytes_as_they_come(transport: Transport) -> None:
    got = bytearray()
    arrived = asyncio.Event()

    def take(chunk: bytes) -> None:
        got.extend(chunk)
        arrived.set()

    streaming = asyncio.create_task(transport.stream("echo first; sleep 20; echo last", take))
    async with asyncio.timeout(10):
        await arrived.wait()
    assert got == b"first\n"
    streaming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await streaming


async def test_megabytes_stream_without_loss(transport: Transport) -> None:
    got = bytearray()
    done = await transport.stream("seq 1 1000000; echo end >&2; exit 4", got.extend)
    assert bytes(got) == b"".join(b"%d\n" % n for n in range(1, 1_000_001))
    assert (done.exit_status, done.stdout, done.stderr) == (4, b"", b"end\n")


async def test_an_error_of_the_receiver_reaches_the_caller(transport: Transport) -> None:
    def full(chunk: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        await transport.stream("echo x; sleep 20", full)
    assert (await transport.run("true")).exit_status == 0


async def test_forty_commands_at_once_share_the_channels(transport: Transport) -> None:
    done = await asyncio.gather(*(transport.run(f"echo {n}") for n in range(40)))
    assert [answer.stdout for answer in done] == [b"%d\n" % n for n in range(40)]


def test_the_pool_loads_no_ssh_library_before_the_first_login() -> None:
    program = (
        "import sys, asyncio\n"
        "from backends.transports.pool import TransportPool\n"
        "from backends.inventory.host_entry import Host\n"
        "async def main(): TransportPool([Host('a')]).get('a')\n"
        "asyncio.run(main())\n"
        "sys.exit('asyncssh' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


async def test_a_local_command_does_not_see_the_consoles_own_ssh_session(local_host: Host) -> None:
    transport = LocalTransport(
        local_host, environment={"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22", "A": "b"}
    )
    assert (await transport.run("echo $SSH_CONNECTION$A")).stdout == b"b\n"


async def test_a_command_that_does_not_read_its_stdin_still_gives_its_status(
    transport: Transport,
) -> None:
    answers = await asyncio.gather(
        *(transport.run("echo no; exit 7", stdin=b"x" * 300_000) for _ in range(12))
    )
    assert {(done.exit_status, done.stdout) for done in answers} == {(7, b"no\n")}


@pytest.mark.parametrize("stream", ["", ">&2"])
async def test_an_answer_without_end_is_cut_off_and_told(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    """A host may say anything; what it says is held only so far, and the command is ended."""
    monkeypatch.setattr("backends.transports.transport.MOST_BYTES", 2**20)
    with pytest.raises(HostUnreachableError) as error:
        async with asyncio.timeout(30):
            await transport.run(f"exec yes {stream}")
    assert error.value.problem is Problem.ENDLESS
    assert not error.value.problem.transient
    whole = 2**20 - 1000
    done = await transport.run(f"head -c {whole} /dev/zero {stream}")
    assert len(done.stdout + done.stderr) == whole


async def test_what_is_handed_on_as_it_comes_may_be_as_long_as_it_likes(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.transports.transport.MOST_BYTES", 2**16)
    count = 0

    def take(data: bytes) -> None:
        nonlocal count
        count += len(data)

    await transport.stream("head -c 1000000 /dev/zero", take)
    assert count == 1_000_000
