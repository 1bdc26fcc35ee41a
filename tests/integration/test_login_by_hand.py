"""The command with which the console opens ssh to a host leads where its own connections lead."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest

from backends.inventory.host_entry import Inventory
from backends.transports.login_command import login_command
from tests.support.sshd import SshHosts

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh")


def test_ssh_logs_in_with_the_inventorys_key_and_through_its_jump_host(
    ssh_hosts: SshHosts,
) -> None:
    gateway = ssh_hosts.add(name="gateway")
    [node] = ssh_hosts(1)
    behind = replace(node.host, jump="gateway")
    inventory = Inventory((gateway.host, behind))
    for host in (gateway.host, behind):
        said = subprocess.run(
            [*login_command(host, inventory), "echo", host.name],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
        assert said.stdout.decode().strip() == host.name, said.stderr.decode()
    assert gateway.log().count("Accepted publickey") == 2
