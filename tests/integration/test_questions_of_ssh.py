"""Logins that ask, from the screen or the terminal to a real SSH server and back."""

from __future__ import annotations

import asyncio
import io
import os
import termios
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import asyncssh
import pytest

from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.host_entry import Host, Inventory
from backends.transports.pool import TransportPool
from backends.transports.transport import HostUnreachableError, Problem
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.console.conftest import LARGE, console, screen_text, shows, until
from tests.support.sshd import SshHosts, make_key
from tui.cli.shared.ssh_prompt import TerminalPrompter
from tui.screens.dialogs import Choice, Prompt
from tui.screens.login_questions import ConsolePrompter

SECRET = "open-sesame-7163"


def workspace_of(hosts: tuple[Host, ...], campaigns: Path, prompter: ConsolePrompter) -> Workspace:
    inventory = Inventory(hosts, Path("hosts.toml"))
    return Workspace(inventory, Catalog({}, {}), campaigns, prompter=prompter)


def state_of(workspace: Workspace, name: str) -> HostSnapshot:
    return next(s for s in workspace.cluster.snapshots() if s.name == name)


async def test_a_locked_key_is_unlocked_from_the_console_while_others_are_probed(
    ssh_hosts: SshHosts, tmp_path: Path
) -> None:
    first, second = ssh_hosts(2)
    make_key(tmp_path / "locked", SECRET)
    (first.directory / "authorized_keys").write_bytes((tmp_path / "locked.pub").read_bytes())
    locked = replace(first.host, identity=str(tmp_path / "locked"))
    prompter = ConsolePrompter()
    workspace = workspace_of((locked, second.host), tmp_path / "campaigns", prompter)
    async with console(workspace, LARGE, prompter=prompter) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        await until(pilot, partial(shows, app, "Passphrase for"))
        await until(pilot, lambda: state_of(workspace, "node2").state is HostState.READY)
        await pilot.press("escape")
        await until(pilot, lambda: state_of(workspace, "node1").state is HostState.UNREACHABLE)

        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        await pilot.press(*SECRET, "enter")
        await until(pilot, lambda: state_of(workspace, "node1").state is HostState.READY)
        assert SECRET not in screen_text(app)
        await app.session.close()
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and SECRET in p.read_text("latin-1")]


async def test_an_unknown_key_is_trusted_from_the_console_on_the_explicit_word(
    ssh_hosts: SshHosts, tmp_path: Path
) -> None:
    (node,) = ssh_hosts(1)
    ssh_hosts.known_hosts.write_text("# mine\n")
    key = asyncssh.read_public_key(node.directory / "host_key.pub")
    prompter = ConsolePrompter()
    workspace = workspace_of((node.host,), tmp_path / "campaigns", prompter)
    async with console(workspace, LARGE, prompter=prompter) as (app, pilot):
        await until(pilot, partial(shows, app, key.get_fingerprint()))
        assert "ssh-ed25519" in screen_text(app)
        await pilot.press("enter")  # what is taken without a thought is no
        await until(pilot, lambda: state_of(workspace, "node1").state is HostState.UNREACHABLE)
        assert ssh_hosts.known_hosts.read_text() == "# mine\n"

        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("t")
        await until(pilot, lambda: state_of(workspace, "node1").state is HostState.READY)
        await app.session.close()
    added = ssh_hosts.known_hosts.read_text().removeprefix("# mine\n")
    assert added.split()[:2] == [f"[{node.address}]:{node.port}", "ssh-ed25519"]


async def test_a_changed_key_is_refused_without_a_question(
    ssh_hosts: SshHosts, tmp_path: Path
) -> None:
    (node,) = ssh_hosts(1)
    node.new_host_key()
    before = ssh_hosts.known_hosts.read_text()
    prompter = ConsolePrompter()
    workspace = workspace_of((node.host,), tmp_path / "campaigns", prompter)
    async with console(workspace, LARGE, prompter=prompter) as (app, pilot):
        await until(pilot, lambda: state_of(workspace, "node1").state is HostState.UNREACHABLE)
        await until(pilot, partial(shows, app, "host key has CHANGED"))
        assert len(app.screen_stack) == 1
        await app.session.close()
    assert ssh_hosts.known_hosts.read_text() == before


class Terminal:
    """The two ends of a pseudo-terminal; what the program writes is kept apart."""

    def __init__(self) -> None:
        self.outside, self.inside = os.openpty()
        self.said = io.StringIO()

    def type(self, text: str) -> None:
        os.write(self.outside, text.encode())

    @property
    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.inside)[3] & termios.ECHO)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    made = Terminal()
    monkeypatch.setattr(os, "tcgetpgrp", lambda _fd: os.getpgrp())  # as if started there
    yield made
    os.close(made.outside)
    os.close(made.inside)


async def until_said(terminal: Terminal, words: str) -> None:
    async with asyncio.timeout(20):
        while words not in terminal.said.getvalue():
            await asyncio.sleep(0.01)


async def test_at_a_terminal_secrets_are_typed_unseen_one_question_at_a_time(
    ssh_hosts: SshHosts, tmp_path: Path, terminal: Terminal
) -> None:
    hosts = []
    for served in ssh_hosts(2):
        identity = tmp_path / f"locked-{served.host.name}"
        make_key(identity, f"{SECRET}-{served.host.name}")
        public = identity.with_name(f"{identity.name}.pub")
        (served.directory / "authorized_keys").write_bytes(public.read_bytes())
        hosts.append(replace(served.host, identity=str(identity)))
    pool = TransportPool(prompter=TerminalPrompter(terminal.inside, terminal.said))
    logins = asyncio.gather(*(pool.get(host).connect() for host in hosts))
    asked: list[str] = []
    for number in (1, 2):
        await until_said(terminal, "Passphrase")
        said = terminal.said.getvalue()
        assert said.count("Passphrase") == 1
        name = said.split(":")[0]
        asked.append(name)
        assert not terminal.echoes
        terminal.said.truncate(0)
        terminal.said.seek(0)
        terminal.type(f"{SECRET}-{name}\n")
        assert number == len(asked)
    await logins
    await pool.close()
    assert sorted(asked) == ["node1", "node2"]
    assert terminal.echoes
    assert SECRET not in terminal.said.getvalue()


@pytest.mark.parametrize(("typed", "trusted"), [("yes\n", True), ("y\n", False), ("\x04", False)])
async def test_at_a_terminal_trust_takes_the_whole_word(
    ssh_hosts: SshHosts, terminal: Terminal, typed: str, trusted: bool
) -> None:
    (node,) = ssh_hosts(1)
    ssh_hosts.known_hosts.write_text("")
    pool = TransportPool(prompter=TerminalPrompter(terminal.inside, terminal.said))
    login = asyncio.create_task(pool.get(node.host).connect())
    await until_said(terminal, "Type yes, or no")
    key = asyncssh.read_public_key(node.directory / "host_key.pub")
    assert key.get_fingerprint() in terminal.said.getvalue()
    terminal.type(typed)
    if trusted:
        await login
    else:
        with pytest.raises(HostUnreachableError) as caught:
            await login
        assert caught.value.problem is Problem.UNKNOWN_HOST_KEY
    await pool.close()
    assert bool(ssh_hosts.known_hosts.read_text()) is trusted


async def test_an_interrupted_question_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    prompter = TerminalPrompter(terminal.inside, terminal.said)
    asking = asyncio.create_task(prompter.secret("node1", "Password:"))
    await until_said(terminal, "node1: Password: ")
    assert not terminal.echoes
    asking.cancel()
    await asyncio.wait([asking])
    assert terminal.echoes
