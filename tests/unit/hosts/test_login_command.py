"""The ssh command that means the host that the inventory means."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host, Inventory
from backends.transports.login_command import login_command

NOBODY = Inventory(())


def test_what_the_inventory_says_is_said_to_ssh_and_the_rest_is_left_to_it() -> None:
    assert login_command(Host("node1"), NOBODY) == ("ssh", "--", "node1")
    host = Host(
        "node1",
        address="10.0.0.1",
        port=2222,
        user="bench",
        identity="~/.ssh/key",
        known_hosts="/etc/my hosts",
        ssh_config="/etc/ssh/other",
    )
    home = Path.home()
    assert login_command(host, NOBODY) == (
        *("ssh", "-F", "/etc/ssh/other", "-p", "2222", "-l", "bench", "-i", f"{home}/.ssh/key"),
        *("-o", 'UserKnownHostsFile="/etc/my hosts"', "--", "10.0.0.1"),
    )


def test_a_jump_host_of_the_inventory_is_reached_as_the_inventory_says() -> None:
    gateway = Host("gate", address="10.0.0.9", port=22022, identity="/keys/a%b")
    host = Host("node1", jump="gate")
    command = login_command(host, Inventory((host, gateway)))
    option = command[command.index("-o") + 1]
    name, _, value = option.partition("=")
    assert name == "ProxyCommand"
    assert shlex.split(value) == [
        *("ssh", "-p", "22022", "-i", "/keys/a%%b", "-W", "[%h]:%p", "--", "10.0.0.9")
    ]
    assert login_command(Host("n", jump="me@other:22"), NOBODY)[1:3] == ("-J", "me@other:22")
    assert "ProxyJump=none" in login_command(Host("n", jump=""), NOBODY)


def test_jump_hosts_in_a_circle_end() -> None:
    one, other = Host("one", jump="other"), Host("other", jump="one")
    assert login_command(one, Inventory((one, other)))[0] == "ssh"


def test_this_machine_is_its_login_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/zsh")
    assert login_command(Host("here", transport="local"), NOBODY) == ("/bin/zsh", "-l")
    monkeypatch.delenv("SHELL")
    assert Path(login_command(Host("here", transport="local"), NOBODY)[0]).is_absolute()
