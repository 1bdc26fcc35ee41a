"""SSH as an operator meets it: keys, jump hosts, limits, losses, and messages that help."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from backends.inventory.host_entry import Host
from backends.transports import channel_limit, ssh
from backends.transports.channel_limit import NoChannelError
from backends.transports.pool import TransportPool
from backends.transports.ssh import SshTransport
from backends.transports.ssh_settings import SshSettings
from backends.transports.transport import HostUnreachableError, Problem
from tests.support.sshd import ServedHost, SshHosts, free_port, make_key
from tests.support.waiting import until

IMPATIENT = SshSettings(connect_timeout_s=0.5, login_timeout_s=2)


class Operator:
    """Answers questions as told, and remembers what was asked."""

    def __init__(self, *secrets: str | None, trust: bool = False) -> None:
        self.secrets = list(secrets)
        self.trust = trust
        self.asked: list[tuple[str, ...]] = []

    async def secret(self, host: str, prompt: str) -> str | None:
        self.asked.append((host, prompt))
        return self.secrets.pop(0) if self.secrets else None

    async def trust_key(self, host: str, fingerprint: str, key_type: str) -> bool:
        self.asked.append((host, fingerprint, key_type))
        return self.trust


async def problem_of(pool: TransportPool, host: Host) -> HostUnreachableError:
    with pytest.raises(HostUnreachableError) as caught:
        await pool.get(host).connect()
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.fixture
async def node(ssh_hosts: SshHosts) -> ServedHost:
    return ssh_hosts(1)[0]


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The operator's own agent and keys stay out of this."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()


# --- who they are -------------------------------------------------------------------------------


async def test_an_unknown_host_key_is_refused_with_its_fingerprint(
    node: ServedHost, ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    ssh_hosts.known_hosts.write_text("")
    error = await problem_of(pool, node.host)
    key = asyncssh.read_public_key(node.directory / "host_key.pub")
    assert error.problem is Problem.UNKNOWN_HOST_KEY
    assert key.get_fingerprint() in str(error)
    assert "ssh-keyscan" in error.remedy


async def test_a_changed_host_key_is_told_apart_and_never_offered_for_trust(
    node: ServedHost, ssh_hosts: SshHosts
) -> None:
    node.new_host_key()
    before = ssh_hosts.known_hosts.read_text()
    operator = Operator(trust=True)
    pool = TransportPool(prompter=operator)
    error = await problem_of(pool, node.host)
    key = asyncssh.read_public_key(node.directory / "host_key.pub")
    assert error.problem is Problem.CHANGED_HOST_KEY
    assert key.get_fingerprint() in str(error)
    assert "ssh-keygen" in error.remedy
    assert "-R" in error.remedy
    assert operator.asked == []
    assert ssh_hosts.known_hosts.read_text() == before


async def test_a_host_that_dropped_its_known_key_type_counts_as_changed(
    node: ServedHost, ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key("openssh")
    ssh_hosts.known_hosts.write_text(f"[{node.address}]:{node.port} {other.decode()}")
    error = await problem_of(pool, node.host)
    assert error.problem is Problem.CHANGED_HOST_KEY
    assert "ecdsa-sha2-nistp256" in str(error)


async def test_a_revoked_host_key_is_never_trusted(node: ServedHost, ssh_hosts: SshHosts) -> None:
    line = ssh_hosts.known_hosts.read_text()
    ssh_hosts.known_hosts.write_text(f"@revoked {line}")
    error = await problem_of(TransportPool(prompter=Operator(trust=True)), node.host)
    assert error.problem is Problem.CHANGED_HOST_KEY
    assert "revoked" in str(error)


async def test_an_unknown_key_is_added_on_the_operators_word_and_only_then(
    node: ServedHost, ssh_hosts: SshHosts
) -> None:
    ssh_hosts.known_hosts.write_text("# mine, without a newline at the end")
    refusing = Operator(trust=False)
    pool = TransportPool(prompter=refusing)
    assert (await problem_of(pool, node.host)).problem is Problem.UNKNOWN_HOST_KEY
    await problem_of(pool, node.host)
    assert len(refusing.asked) == 1, "a no is remembered"
    pool.ask_again()
    await problem_of(pool, node.host)
    assert len(refusing.asked) == 2

    trusting = Operator(trust=True)
    pool = TransportPool(prompter=trusting)
    assert (await pool.get(node.host).run("echo in")).stdout == b"in\n"
    await pool.close()
    key = asyncssh.read_public_key(node.directory / "host_key.pub")
    assert trusting.asked == [("node1", key.get_fingerprint(), "ssh-ed25519")]
    assert ssh_hosts.known_hosts.read_text().startswith("# mine, without a newline at the end\n[")
    await TransportPool().get(node.host).connect()


async def test_known_hosts_that_keep_nothing_are_asked_about_once(node: ServedHost) -> None:
    operator = Operator(trust=True)
    host = replace(node.host, known_hosts="/dev/null")
    async with asyncio.timeout(20):
        error = await problem_of(TransportPool(prompter=operator), host)
    assert error.problem is Problem.UNKNOWN_HOST_KEY
    assert "/dev/null" in str(error)
    assert len(operator.asked) == 1


async def test_a_new_known_hosts_file_is_private(node: ServedHost, tmp_path: Path) -> None:
    file = tmp_path / "new" / "known_hosts"
    host = replace(node.host, known_hosts=str(file))
    await TransportPool(prompter=Operator(trust=True)).get(host).connect()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


# --- who we are ---------------------------------------------------------------------------------


async def test_a_key_that_is_not_accepted_names_the_user_and_the_way_out(
    node: ServedHost, tmp_path: Path, pool: TransportPool
) -> None:
    make_key(tmp_path / "stranger")
    error = await problem_of(pool, replace(node.host, identity=str(tmp_path / "stranger")))
    assert error.problem is Problem.NO_KEY_ACCEPTED
    assert str(node.host.user) in str(error)
    assert f"ssh-copy-id -p {node.port}" in error.remedy


async def test_an_identity_that_is_missing_or_no_key_is_a_configuration_problem(
    node: ServedHost, tmp_path: Path, pool: TransportPool
) -> None:
    missing = await problem_of(pool, replace(node.host, identity=str(tmp_path / "missing")))
    assert missing.problem is Problem.CONFIGURATION
    assert str(tmp_path / "missing") in str(missing)
    (tmp_path / "text").write_text("hello")
    wrong = await problem_of(pool, replace(node.host, identity=str(tmp_path / "text")))
    assert wrong.problem is Problem.CONFIGURATION


async def test_a_passphrase_is_asked_for_once_for_all_hosts(
    ssh_hosts: SshHosts, tmp_path: Path
) -> None:
    served = ssh_hosts(3)
    make_key(tmp_path / "locked", "sesame")
    public = (tmp_path / "locked.pub").read_bytes()
    hosts = []
    for node in served:
        (node.directory / "authorized_keys").write_bytes(public)
        hosts.append(replace(node.host, identity=str(tmp_path / "locked")))
    operator = Operator("wrong", "sesame")
    pool = TransportPool(prompter=operator)
    await asyncio.gather(*(pool.get(host).connect() for host in hosts))
    await pool.close()
    assert len(operator.asked) == 2
    assert str(tmp_path / "locked") in operator.asked[0][1]


async def test_without_anybody_to_ask_a_locked_key_points_to_the_agent(
    node: ServedHost, tmp_path: Path, pool: TransportPool
) -> None:
    make_key(tmp_path / "locked", "sesame")
    error = await problem_of(pool, replace(node.host, identity=str(tmp_path / "locked")))
    assert error.problem is Problem.NO_KEY_ACCEPTED
    assert error.remedy == f"ssh-add {tmp_path / 'locked'}"


async def test_the_agent_holds_a_locked_key(
    node: ServedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: TransportPool
) -> None:
    if shutil.which("ssh-agent") is None:
        pytest.skip("ssh-agent is not installed")
    agent = await asyncio.create_subprocess_exec(
        "ssh-agent", "-D", "-a", str(tmp_path / "agent"), stdout=asyncio.subprocess.DEVNULL
    )
    try:
        await until((tmp_path / "agent").exists)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
        key = make_key(tmp_path / "locked", "sesame")
        (node.directory / "authorized_keys").write_bytes(key.export_public_key("openssh"))
        async with asyncssh.connect_agent(str(tmp_path / "agent")) as keys:
            for number in range(8):  # more than a server looks at
                await keys.add_keys([make_key(tmp_path / f"other{number}")])
            await keys.add_keys([key])
        await pool.get(replace(node.host, identity=str(tmp_path / "locked"))).connect()
    finally:
        agent.terminate()
        await agent.wait()


async def test_an_agent_that_is_gone_does_not_stop_a_login(
    node: ServedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: TransportPool
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "nobody"))
    await pool.get(node.host).connect()


async def test_questions_of_the_server_reach_the_operator_and_stop_the_clock(
    ssh_hosts: SshHosts,
) -> None:
    class TwoFactors(asyncssh.SSHServer):
        def kbdint_auth_supported(self) -> bool:
            return True

        def begin_auth(self, username: str) -> bool:
            return True

        def get_kbdint_challenge(
            self, username: str, lang: str, submethods: str
        ) -> tuple[str, str, str, list[tuple[str, bool]]]:
            return "", "Second \x1b[31mfactor", "", [("Code: ", False)]

        def validate_kbdint_response(self, username: str, responses: list[str]) -> bool:
            return responses == ["123456"]

    async def session(process: asyncssh.SSHServerProcess[bytes]) -> None:
        process.stdout.write(b"\x1edlperf\x1e\nwelcome\n")
        process.exit(0)

    key = asyncssh.generate_private_key("ssh-ed25519")
    port = free_port("127.0.0.1")
    server = await asyncssh.listen(
        "127.0.0.1",
        port,
        server_factory=TwoFactors,
        server_host_keys=[key],
        process_factory=session,
        encoding=None,
    )
    ssh_hosts.known_hosts.write_text(
        f"[127.0.0.1]:{port} {key.export_public_key('openssh').decode()}"
    )
    host = Host(
        name="two",
        address="127.0.0.1",
        port=port,
        user="me",
        known_hosts=str(ssh_hosts.known_hosts),
        ssh_config=str(ssh_hosts.ssh_config),
    )

    class Slow(Operator):
        async def secret(self, host: str, prompt: str) -> str | None:
            await asyncio.sleep(
                IMPATIENT.connect_timeout_s + 0.2
            )  # longer than a silent server may
            return await super().secret(host, prompt)

    operator = Slow("123456")
    pool = TransportPool(
        prompter=operator, settings=replace(IMPATIENT, login_timeout_s=0.5, handshakes=1)
    )
    assert (await pool.get(host).run("x")).stdout == b"welcome\n"
    await pool.close()
    ((asked, prompt),) = operator.asked
    assert asked == "two"
    assert "Code:" in prompt
    assert "\x1b" not in prompt

    refused = await problem_of(TransportPool(), host)
    assert refused.problem is Problem.NO_KEY_ACCEPTED
    server.close()


# --- the ssh configuration ----------------------------------------------------------------------


@pytest.mark.parametrize("null", ["/dev/null", "~/empty"])
async def test_dev_null_is_an_ssh_configuration_that_says_nothing(
    null: str, node: ServedHost, tmp_path: Path, pool: TransportPool
) -> None:
    ours = tmp_path / "home" / ".ssh" / "config"
    ours.parent.mkdir()
    ours.write_text("Host *\n  Port 1\n  ProxyJump nobody@127.0.0.1:1\n")
    (tmp_path / "home" / "empty").symlink_to("/dev/null")
    host = replace(node.host, ssh_config=null)
    assert (await pool.get(host).run("echo in")).stdout == b"in\n"


@pytest.mark.parametrize("path", ["missing", "."])
async def test_an_ssh_configuration_that_is_no_file_is_named(
    path: str, node: ServedHost, tmp_path: Path, pool: TransportPool
) -> None:
    error = await problem_of(pool, replace(node.host, ssh_config=str(tmp_path / path)))
    assert error.problem is Problem.CONFIGURATION
    assert str(tmp_path / path) in str(error)


async def test_an_alias_of_the_ssh_configuration_is_completed_by_it(
    node: ServedHost, ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    ssh_hosts.ssh_config.write_text(
        f"Host bench\n  HostName {node.address}\n  Port {node.port}\n"
        f"  IdentityFile {ssh_hosts.identity}\n  UserKnownHostsFile {ssh_hosts.known_hosts}\n"
    )
    host = Host(name="bench", ssh_config=str(ssh_hosts.ssh_config))
    assert (await pool.get(host).run("echo hi")).stdout == b"hi\n"


async def test_a_comment_behind_an_option_is_shown_with_file_and_line(
    node: ServedHost, ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    ssh_hosts.ssh_config.write_text("Host *\n  Port 22 # the usual one\n")
    error = await problem_of(pool, node.host)
    assert error.problem is Problem.CONFIGURATION
    assert f"{ssh_hosts.ssh_config} line 2" in str(error)
    assert "comments" in error.remedy


async def test_switching_host_key_checks_off_in_the_configuration_changes_nothing(
    node: ServedHost, ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    ssh_hosts.ssh_config.write_text(
        "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile none\n"
    )
    error = await problem_of(pool, replace(node.host, known_hosts=None))
    assert error.problem is Problem.UNKNOWN_HOST_KEY


# --- the way there ------------------------------------------------------------------------------


async def test_refused_unresolved_and_silent_hosts_say_so(tmp_path: Path) -> None:
    pool = TransportPool(settings=IMPATIENT)
    refused = Host(name="a", address="127.0.0.1", port=free_port("127.0.0.1"))
    error = await problem_of(pool, refused)
    assert (error.problem, error.detail) == (Problem.REFUSED, f"127.0.0.1:{refused.port}")
    unknown = Host(name="b", address="no-such-host.invalid")
    error = await problem_of(pool, unknown)
    assert (error.problem, error.detail) == (Problem.UNRESOLVED, "no-such-host.invalid")

    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silence, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    silent = await problem_of(pool, Host(name="c", address="127.0.0.1", port=port))
    assert silent.problem is Problem.TIMEOUT
    assert "not logged in" in str(silent)
    server.close()


async def test_a_jump_host_is_logged_in_to_once_for_all_behind_it(
    ssh_hosts: SshHosts,
) -> None:
    jump = ssh_hosts.add(name="gateway")
    behind = [replace(node.host, jump="gateway") for node in ssh_hosts(4)]
    pool = TransportPool([*ssh_hosts.hosts()[:1], *behind])
    done = await asyncio.gather(*(pool.get(host).run("echo $SSH_CONNECTION") for host in behind))
    assert all(answer.stdout.startswith(b"127.0.0.") for answer in done)
    assert jump.log().count("Accepted publickey") == 1
    await pool.close()


async def test_a_jump_host_outside_the_inventory_and_a_chain_of_them(
    ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    first, second, last = ssh_hosts(3)
    one = f"{first.host.user}@{first.address}:{first.port}"
    two = f"{second.address}:{second.port}"
    assert (await pool.get(replace(last.host, jump=one)).run("echo 1")).stdout == b"1\n"
    chain = replace(last.host, name="chained", jump=f"{one},{two}")
    assert (await pool.get(chain).run("echo 2")).stdout == b"2\n"
    assert first.log().count("Accepted publickey") == 1  # for the last and for the second


async def test_proxyjump_of_the_configuration_uses_the_shared_connection(
    ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    jump, *behind = ssh_hosts(3)
    ssh_hosts.ssh_config.write_text(
        f"Host gate\n  HostName {jump.address}\n  Port {jump.port}\n"
        "Host 127.0.0.12 127.0.0.13\n  ProxyJump gate\n"
    )
    await asyncio.gather(*(pool.get(node.host).connect() for node in behind))
    assert jump.log().count("Accepted publickey") == 1


async def test_what_is_wrong_with_a_jump_host_is_said_of_it(
    node: ServedHost, ssh_hosts: SshHosts
) -> None:
    gone = Host(name="gateway", address="127.0.0.1", port=free_port("127.0.0.1"))
    behind = replace(node.host, jump="gateway")
    error = await problem_of(TransportPool([gone, behind]), behind)
    assert error.problem is Problem.REFUSED
    assert "jump host gateway" in str(error)

    jump = ssh_hosts.add(name="works")
    dead = replace(node.host, port=free_port(node.address), jump="works")
    error = await problem_of(TransportPool([jump.host, dead]), dead)
    assert error.problem is Problem.REFUSED
    assert error.detail == f"{node.address}:{dead.port} from works"

    a, b = replace(node.host, name="a", jump="b"), replace(node.host, name="b", jump="a")
    error = await problem_of(TransportPool([a, b]), a)
    assert error.problem is Problem.CONFIGURATION
    assert "circle" in str(error)


async def test_thirty_hosts_behind_one_jump_host_with_an_sshd_as_installed(
    ssh_hosts: SshHosts,
) -> None:
    jump = ssh_hosts.add(name="gateway")
    (node,) = ssh_hosts(1)
    behind = [replace(node.host, name=f"n{i}", jump="gateway") for i in range(30)]
    pool = TransportPool([jump.host, *behind])
    done = await asyncio.gather(*(pool.get(host).run("echo in") for host in behind))
    assert [answer.stdout for answer in done] == [b"in\n"] * 30
    await pool.close()


async def test_a_server_that_allows_two_sessions_still_runs_ten_commands(
    ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    (node,) = ssh_hosts(1, options=["MaxSessions 2"])
    commands = (pool.get(node.host).run(f"sleep 0.05; echo {n}") for n in range(10))
    done = await asyncio.gather(*commands)
    assert [answer.stdout for answer in done] == [b"%d\n" % n for n in range(10)]


@pytest.mark.parametrize(("refusals", "answered"), [(1, True), (4, True), (100, False)])
async def test_a_server_that_has_not_noticed_the_end_of_a_session_is_given_a_moment(
    ssh_hosts: SshHosts,
    pool: TransportPool,
    monkeypatch: pytest.MonkeyPatch,
    refusals: int,
    answered: bool,
) -> None:
    (node,) = ssh_hosts(1)
    logins = await pool.logins()
    execute = type(logins).execute
    left = iter(range(refusals))

    async def refused_at_first(*given: object) -> tuple[int, bytes]:
        if next(left, None) is not None:
            raise NoChannelError("open failed")
        return await execute(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(type(logins), "execute", refused_at_first)
    if answered:
        assert (await pool.get(node.host).run("echo 1")).stdout == b"1\n"
    else:
        with pytest.raises(HostUnreachableError, match="no session: open failed"):
            await pool.get(node.host).run("echo 1")


async def test_a_refusal_is_forgotten_after_a_while(
    ssh_hosts: SshHosts, pool: TransportPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was in the way may be gone: a command that takes long holds up nobody for ever."""
    monkeypatch.setattr(channel_limit, "LEARNED_FOR_S", 0.5)
    monkeypatch.setattr(ssh, "_UNTIL_NOTICED_S", ())
    (node,) = ssh_hosts(1)
    logins = await pool.logins()
    execute = type(logins).execute
    refused = iter([NoChannelError("open failed")])
    transport = pool.get(node.host)
    long = asyncio.create_task(transport.run("sleep 20"))
    await asyncio.sleep(0.5)

    async def refused_once(*given: object) -> tuple[int, bytes]:
        if (error := next(refused, None)) is not None:
            raise error
        return await execute(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(type(logins), "execute", refused_once)
    async with asyncio.timeout(10):
        assert (await transport.run("echo 1")).stdout == b"1\n"
    assert not long.done()
    long.cancel()


@pytest.mark.parametrize(("sessions", "begins"), [(1, False), (2, True), (3, True)])
async def test_what_is_spare_gives_way(ssh_hosts: SshHosts, sessions: int, begins: bool) -> None:
    """Beside it as many commands run as if it were not there, and it never takes the last."""
    pool = TransportPool(settings=SshSettings(channels=sessions))
    (node,) = ssh_hosts(1, options=[f"MaxSessions {sessions}"])
    transport = pool.get(node.host)
    told = bytearray()
    ticks = "while echo tick; do sleep 0.1; done"
    spare = asyncio.create_task(transport.stream(ticks, told.extend, spare=True))
    await asyncio.sleep(1)
    assert bool(told) is begins
    assert spare.done() is not begins
    async with asyncio.timeout(15):
        await asyncio.gather(*(transport.run("sleep 0.5") for _ in range(sessions)))
    with pytest.raises(HostUnreachableError, match="no session"):
        await spare
    assert (await transport.run("echo 1")).stdout == b"1\n"
    await pool.close()


# --- losses -------------------------------------------------------------------------------------


class Proxy:
    """A wire that can be cut: TCP to a host, through this process."""

    def __init__(self, host: Host) -> None:
        self._to = host
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.silent = False
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> Host:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return replace(self._to, address="127.0.0.1", port=self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        there, back = await asyncio.open_connection(self._to.address, self._to.port)
        self._writers += [writer, back]
        await asyncio.gather(self._copy(reader, back), self._copy(there, writer))

    async def _copy(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if not self.silent:
                to.write(data)

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def stop(self) -> None:
        self._server.close()
        self.cut()


@pytest.fixture
async def wire(node: ServedHost, ssh_hosts: SshHosts) -> AsyncIterator[Proxy]:
    proxy = Proxy(node.host)
    yield proxy
    proxy.stop()


async def through(wire: Proxy, ssh_hosts: SshHosts) -> Host:
    host = await wire.start()
    old = ssh_hosts.known_hosts.read_text().split(" ", 1)[1]
    ssh_hosts.known_hosts.write_text(f"[{host.address}]:{host.port} {old}")
    return host


async def test_a_cut_connection_fails_what_runs_and_the_next_use_connects_again(
    wire: Proxy, ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    transport = pool.get(await through(wire, ssh_hosts))
    got = bytearray()
    running = [
        asyncio.create_task(transport.stream("echo up; sleep 20", got.extend)),
        asyncio.create_task(transport.run("sleep 20")),
    ]
    await until(lambda: got)
    wire.cut()
    for task in running:
        with pytest.raises(HostUnreachableError) as lost:
            await task
        assert lost.value.problem is Problem.LOST
    done = await asyncio.gather(*(transport.run("echo again") for _ in range(5)))
    assert [answer.stdout for answer in done] == [b"again\n"] * 5
    assert wire.connections == 2, "five callers shared one attempt"


async def test_a_dead_network_is_noticed_by_the_keepalive(wire: Proxy, ssh_hosts: SshHosts) -> None:
    pool = TransportPool(settings=SshSettings(keepalive_interval_s=0.2, keepalive_count=2))
    transport = pool.get(await through(wire, ssh_hosts))
    await transport.connect()
    wire.silent = True
    with pytest.raises(HostUnreachableError) as lost:
        async with asyncio.timeout(5):
            await transport.run("echo never")
    assert lost.value.problem is Problem.LOST
    await pool.close()


async def test_a_host_that_logs_in_and_answers_nothing_is_given_up(ssh_hosts: SshHosts) -> None:
    silent = ssh_hosts.add(real=False)
    silent.silent.touch()
    pool = TransportPool(settings=SshSettings(answer_timeout_s=0.5))
    transport = pool.get(silent.host)
    got = bytearray()
    for asked in (transport.run("echo never"), transport.stream("echo never", got.extend)):
        with pytest.raises(HostUnreachableError) as caught:
            await asked
        assert caught.value.problem is Problem.SILENT
        assert "ssh node1 true" in caught.value.remedy
    silent.silent.unlink()
    # Once it has begun, a command takes the time that it takes.
    assert (await transport.run("sleep 1; echo now")).stdout == b"now\n"
    assert not got
    await pool.close()


async def test_a_caller_that_gives_up_leaves_the_login_to_the_others(
    wire: Proxy, ssh_hosts: SshHosts, pool: TransportPool
) -> None:
    transport = pool.get(await through(wire, ssh_hosts))
    hasty = asyncio.create_task(transport.run("echo 1"))
    patient = asyncio.create_task(transport.run("echo 2"))
    await until(lambda: wire.connections)
    hasty.cancel()
    assert (await patient).stdout == b"2\n"
    assert wire.connections == 1


async def test_a_closed_pool_does_not_come_back(node: ServedHost) -> None:
    pool = TransportPool()
    transport = pool.get(node.host)
    login = asyncio.create_task(transport.connect())
    await asyncio.sleep(0)
    await pool.close()
    with pytest.raises((HostUnreachableError, asyncio.CancelledError)):
        await login
    with pytest.raises(HostUnreachableError):
        await transport.connect()


# --- what the account's shell does ---------------------------------------------------------------


async def test_what_rc_files_print_is_no_part_of_the_output(
    node: ServedHost, tmp_path: Path, pool: TransportPool
) -> None:
    key = node.directory / "authorized_keys"
    wrapped = tmp_path / "shell"
    wrapped.write_text(
        '#!/bin/sh\necho "Welcome to the cluster!"\necho oops >&2\n'
        'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    wrapped.chmod(0o755)
    key.write_text(f'command="{wrapped}" {key.read_text()}')
    done = await pool.get(node.host).run("echo out; echo err >&2")
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")


async def test_an_account_without_a_shell_says_what_it_answered(
    node: ServedHost, pool: TransportPool
) -> None:
    key = node.directory / "authorized_keys"
    key.write_text(f'command="echo This account is \\033[31mdisabled" {key.read_text()}')
    with pytest.raises(HostUnreachableError, match="This account is"):
        await pool.get(node.host).run("true")


@pytest.mark.parametrize("shell", ["bash", "dash", "tcsh", "csh", "fish", "zsh", "busybox"])
async def test_any_login_shell_hands_the_command_on_unchanged(
    shell: str, node: ServedHost, pool: TransportPool
) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    run = f"{program} sh" if shell == "busybox" else program
    key = node.directory / "authorized_keys"
    key.write_text(f'command="{run} -c \\"$SSH_ORIGINAL_COMMAND\\"" {key.read_text()}')
    text = 'it\'s "quoted" \\n \\\\ ! $HOME `x`\n\ttab % %s ü \\0041'
    done = await pool.get(node.host).run(f"cat <<'END'\n{text}\nEND\n")
    assert done.stdout.decode() == text + "\n"


def test_a_transport_is_one_object_per_host(node: ServedHost) -> None:
    pool = TransportPool([node.host])
    assert pool.get("node1") is pool.get(node.host)
    assert isinstance(pool.get("node1"), SshTransport)
    assert os.environ["HOME"] != "/root"
