"""Logging in to a host with asyncssh, and telling why it failed."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from random import uniform

import asyncssh

from backends import debug
from backends.inventory.host_entry import Host
from backends.transports import open_files
from backends.transports.credential import Credential
from backends.transports.login_limit import LOGGING_IN_S, LoginLimit
from backends.transports.ssh_channel import execute
from backends.transports.ssh_errors import (
    host_key_problem,
    login_problem,
    too_many_files,
)
from backends.transports.ssh_keys import Identities, KnownHosts
from backends.transports.ssh_settings import SshSettings
from backends.transports.ssh_target import Target, resolve
from backends.transports.transport import HostUnreachableError, Problem, Prompter
from backends.transports.turns import Turn
from profiles.cleantext import clean_text

Connection = asyncssh.SSHClientConnection

# asyncssh's default, chacha20, costs twice as much per line of log.
_CIPHERS = "^aes128-gcm@openssh.com"
_QUESTION_ROUNDS = 3
# An sshd that has too many logins in progress drops some (MaxStartups): they are made again, each
# at a time of its own.
_LOGIN_RETRIES_S = (0.2, 0.5, 1.0, 2.0, 4.0)
_RETRY_VARIES = (0.5, 1.5)
_RETRIES_BEFORE_KEYS = len(_LOGIN_RETRIES_S) - 2


class Logins:
    """Makes connections; one object per pool, so that files are read and questions asked once."""

    def __init__(self, settings: SshSettings, prompter: Prompter | None) -> None:
        self._settings = settings
        self._prompter = prompter
        self._identities = Identities(prompter)
        self._known_hosts = KnownHosts()
        self._limit = LoginLimit(settings.handshakes, settings.handshakes_at_one_server)
        self._asking = asyncio.Lock()
        self._refused_keys: set[tuple[str, str]] = set()
        self.let_in_by: dict[str, Credential] = {}
        """By host: what the login was made with that was made last."""

    def ask_again(self) -> None:
        self._identities.ask_again()
        self._refused_keys.clear()

    async def target(self, host: Host) -> Target:
        """The host as the ssh configuration completes it. Raises HostUnreachableError."""
        try:
            return await asyncio.to_thread(resolve, host)
        except (asyncssh.Error, ValueError, OSError) as error:
            raise login_problem(host, error) from error

    async def open(self, target: Target, through: Connection | None) -> Connection:
        """Log in. ``through``: a jump host's connection. Raises HostUnreachableError."""
        host = target.host
        retries = list(_LOGIN_RETRIES_S)
        while True:
            client = _Client(host)
            try:
                return await self._log_in(target, through, client)
            except asyncssh.HostKeyNotVerifiable as error:
                await self._host_key(target, client, error)
            except asyncssh.PermissionDenied as error:
                unlocked = await self._identities.unlock_one(target.identities, host.name)
                if not unlocked and (self._prompter is None or client.question is not None):
                    locked = self._identities.locked(target.identities)
                    raise login_problem(host, error, target=target, locked=locked) from error
            except (asyncssh.ConnectionLost, ConnectionResetError) as error:
                if not retries or not client.reached:
                    raise login_problem(host, error, target=target) from error
                varied = uniform(*_RETRY_VARIES)  # noqa: S311 (nobody gains by foreseeing it)
                await asyncio.sleep(retries.pop(0) * varied)
                # sshd also just hangs up when it has no key of a type that known_hosts has.
                if len(retries) == _RETRIES_BEFORE_KEYS and (
                    gone := await self._key_type_gone(target, through)
                ):
                    raise gone from error
            except asyncssh.KeyExchangeFailed as error:  # what other servers say of that
                gone = await self._key_type_gone(target, through)
                raise gone or login_problem(host, error, target=target) from error
            except TimeoutError as error:
                after = self._settings.login_timeout_s if client.reached else None
                raise login_problem(host, error, target=target, login_timeout_s=after) from error
            except (asyncssh.Error, OSError, ValueError) as error:
                raise login_problem(host, error, target=target) from error

    async def _log_in(
        self, target: Target, through: Connection | None, client: _Client
    ) -> Connection:
        keys = await self._identities.load(target.identities)
        known = await asyncio.to_thread(self._known_hosts.load, target.known_hosts)
        settings = self._settings
        async with self._limit.one(target.server) as turn:
            if open_files.none_to_spare():
                raise too_many_files(target.host)
            async with asyncio.timeout(settings.connect_timeout_s) as limit:
                prompter = self._prompter
                # Passphrases come first: a key spares the operator the server's questions.
                if prompter is not None and not self._identities.askable(target.identities):
                    client.question = lambda: self._question(prompter, limit, turn)
                client.on_reached = lambda: self._reached(limit, turn)
                signed: list[asyncssh.SSHKeyPair] = []
                for pair in keys:
                    vars(pair)["sign"] = partial(_note_signing, pair, pair.sign, signed)
                connection = await asyncssh.connect(
                    target.host.address or target.host.name,
                    target.port,
                    username=target.user,
                    options=target.parsed,
                    config=list(target.config) if target.parsed is None else None,
                    tunnel=through,
                    proxy_command=target.proxy_command if through is None else None,
                    client_factory=lambda: client,
                    known_hosts=known,
                    client_keys=keys,
                    agent_identities=_agent_identities(target, keys),
                    encryption_algs=_CIPHERS if target.ciphers is None else target.ciphers,
                    password_auth=client.question is not None,
                    kbdint_auth=client.question is not None,
                    keepalive_interval=settings.keepalive_interval_s,
                    keepalive_count_max=settings.keepalive_count,
                    connect_timeout=None,
                    login_timeout=0,  # ours above: a question to the operator stops the clock
                )
        self.let_in_by[target.host.name] = self._let_in_by(client, signed)
        return connection

    def _let_in_by(self, client: _Client, signed: Sequence[asyncssh.SSHKeyPair]) -> Credential:
        if client.answered or self._identities.any_unlocked(signed):
            return Credential.HAND
        if signed:  # a key is made to sign only once the server takes it
            return Credential.FILE
        return Credential.AGENT if os.environ.get("SSH_AUTH_SOCK") else Credential.TICKET

    def _reached(self, limit: asyncio.Timeout, turn: Turn) -> None:
        now = asyncio.get_running_loop().time()
        limit.reschedule(now + self._settings.login_timeout_s)
        turn.last(LOGGING_IN_S)

    @asynccontextmanager
    async def _question(
        self, prompter: Prompter, limit: asyncio.Timeout, turn: Turn
    ) -> AsyncIterator[Prompter]:
        """While the operator thinks, no clock runs and others may log in. One at a time."""
        limit.reschedule(None)
        turn.give_back()
        try:
            async with self._asking:
                yield prompter
        finally:
            await turn.take(LOGGING_IN_S)
            self._reached(limit, turn)

    async def _host_key(
        self, target: Target, client: _Client, error: asyncssh.HostKeyNotVerifiable
    ) -> None:
        """Ask whether to trust an unknown key. Returns when it is trusted now, else raises."""
        key = client.offered
        if key is None:
            raise login_problem(target.host, error) from error
        known = await asyncio.to_thread(
            self._known_hosts.look_up,
            target.known_hosts,
            target.known_as,
            client.peer_address,
            target.port,
            key,
        )
        problem = host_key_problem(target, key, known)
        if problem.problem is Problem.CHANGED_HOST_KEY or self._prompter is None:
            raise problem from error
        fingerprint = key.get_fingerprint()
        refused = (target.host.name, fingerprint)
        debug.log().info("%s: is its key %s trusted?", target.host.name, fingerprint)
        async with self._asking:
            trusted = refused not in self._refused_keys and await self._prompter.trust_key(
                target.host.name, fingerprint, key.get_algorithm()
            )
        if not trusted:
            self._refused_keys.add(refused)
            raise problem from error
        try:
            self._known_hosts.add(target.known_hosts[0], target.known_as, target.port, key)
        except OSError as failure:
            raise HostUnreachableError(
                target.host.name,
                Problem.UNKNOWN_HOST_KEY,
                f"cannot write {target.known_hosts[0]}: {failure.strerror}",
            ) from failure
        known = await asyncio.to_thread(
            self._known_hosts.look_up, target.known_hosts, target.known_as, "", target.port
        )
        if not known.types:  # else the question would come again and again
            raise HostUnreachableError(
                target.host.name,
                Problem.UNKNOWN_HOST_KEY,
                f"{target.known_hosts[0]} keeps no key",
                remedy="set known_hosts to a file in the inventory",
            ) from error

    async def _key_type_gone(
        self, target: Target, through: Connection | None
    ) -> HostUnreachableError | None:
        """The problem, if the host has a key but none of the types that known_hosts has of it."""
        known = self._known_hosts.look_up(
            target.known_hosts, target.known_as, target.address, target.port
        )
        if not known.types or await self._offered(target, through, known.algorithms):
            return None
        key = await self._offered(target, through, ())
        return None if key is None else host_key_problem(target, key, known)

    async def _offered(
        self, target: Target, through: Connection | None, algorithms: Sequence[str]
    ) -> asyncssh.SSHKey | None:
        """The host key of one of these algorithms, for messages only."""
        with contextlib.suppress(asyncssh.Error, OSError, ValueError, TimeoutError):
            async with (
                self._limit.one(target.server),
                asyncio.timeout(self._settings.connect_timeout_s),
            ):
                return await asyncssh.get_server_host_key(
                    target.host.address or target.host.name,
                    target.port,
                    tunnel=through,
                    config=list(target.config),
                    server_host_key_algs=list(algorithms) or "default",
                )
        return None

    async def execute(
        self,
        connection: Connection,
        host: str,
        line: str,
        on_stdout: Callable[[bytes], None],
        stdin: bytes,
    ) -> tuple[int, bytes]:
        """See :func:`backends.transports.ssh_channel.execute`."""
        limit_s = self._settings.answer_timeout_s
        return await execute(connection, host, line, on_stdout, stdin, limit_s)


def _note_signing(
    pair: asyncssh.SSHKeyPair,
    sign: Callable[[bytes], bytes],
    signed: list[asyncssh.SSHKeyPair],
    data: bytes,
) -> bytes:
    signed.append(pair)
    return sign(data)


def _agent_identities(
    target: Target, keys: Sequence[asyncssh.SSHKeyPair]
) -> Sequence[bytes] | None:
    """Which of the agent's keys to show: only the named ones where a key is named.

    A server closes the connection after a few keys that it does not know.
    """
    if not target.identities_only:
        return None
    named = [key.public_data for key in keys]
    for file in target.identities:
        with contextlib.suppress(OSError, asyncssh.KeyImportError):
            named.append(asyncssh.read_public_key(f"{file}.pub").public_data)
    return named or None


class _Client(asyncssh.SSHClient):
    """Notes what happens during a login, and hands questions on to the operator."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.offered: asyncssh.SSHKey | None = None
        self.peer_address = ""
        self.reached = False
        self.answered = False
        self.on_reached: Callable[[], None] = lambda: None
        # None: nobody is asked during this login.
        self.question: Callable[[], AbstractAsyncContextManager[Prompter]] | None = None
        self._rounds = _QUESTION_ROUNDS

    def connection_made(self, conn: Connection) -> None:
        self.reached = True
        self.on_reached()

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        self.offered = key
        self.peer_address = addr
        return False

    def kbdint_auth_requested(self) -> str | None:
        return self._next_round()

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> Sequence[str] | None:
        answers = []
        for prompt, _echo in prompts:
            answer = await self._ask(" ".join(part for part in (instructions, prompt) if part))
            if answer is None:
                return None
            answers.append(answer)
        return answers

    async def password_auth_requested(self) -> str | None:
        return None if self._next_round() is None else await self._ask("Password")

    def _next_round(self) -> str | None:
        # asyncssh would try again for as long as the server lets it, asked or not.
        if self.question is None or self._rounds == 0:
            return None
        self._rounds -= 1
        return ""

    async def _ask(self, prompt: str) -> str | None:
        if self.question is None:
            return None
        words = clean_text(prompt).strip()
        debug.log().info("%s asks: %s", self._host.name, words)
        async with self.question() as prompter:
            answer = await prompter.secret(self._host.name, words)
        if answer is None:
            self._rounds = 0
        self.answered = self.answered or answer is not None
        return answer
