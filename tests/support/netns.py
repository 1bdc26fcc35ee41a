"""Hosts as network namespaces: own network, own processes, own boot id, and a wire to cut.

Needs root and iproute2. Every host is a namespace with sshd, joined to a bridge that this machine
has an address on. Nothing outside of the bridge and the namespaces is touched.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path

from backends.inventory.host_entry import Host
from tests.support.processes import kill
from tests.support.sshd import ServedHost, SshHosts, sshd_program
from tests.support.unique import NUMBER

_TOOLS = ("ip", "unshare", "iptables", "mount")


def why_not() -> str:
    """Why there can be no such hosts here; empty when there can."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing or sshd_program() is None:
        return f"not installed: {', '.join(missing) or 'sshd'}"
    # Namespaces may be forbidden although we are root, in a container.
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return "" if probe.returncode == 0 else "network namespaces are not permitted"


class NamespaceHosts:
    """``count`` hosts on a network of their own.

    Parameters
    ----------
    directory: everything of all hosts is kept below it.
    options: lines for every sshd_config.
    """

    def __init__(self, directory: Path, count: int, *, options: Sequence[str] = ()) -> None:
        self._tag = f"dl{secrets.token_hex(3)}"  # an old namespace may take a moment to be gone
        self._bridge = f"{self._tag}br"
        self._network = f"10.213.{NUMBER % 250}"
        self._ssh = SshHosts(directory, real=True)
        self.served: list[ServedHost] = []
        _ip("link", "add", self._bridge, "type", "bridge")
        try:
            _ip("addr", "add", f"{self._network}.254/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
            for number in range(1, count + 1):
                self._add(number, options)
        except BaseException:
            self.close()
            raise

    def hosts(self) -> list[Host]:
        """What the inventory says: node1, node2 …"""
        return [served.host for served in self.served]

    def cut(self, number: int) -> None:
        """Pull the cable of node ``number``: nothing answers, nothing is refused."""
        _ip("link", "set", self._wire(number), "down")

    def mend(self, number: int) -> None:
        """Put the cable back, and let all packets through."""
        _ip("link", "set", self._wire(number), "up")
        self._in(number, "iptables", "-F")

    def blackhole(self, number: int) -> None:
        """Drop every packet to and from the host; the link stays up."""
        self._in(number, "iptables", "-A", "INPUT", "-j", "DROP")
        self._in(number, "iptables", "-A", "OUTPUT", "-j", "DROP")

    def reset(self, number: int) -> None:
        """Answer every TCP packet with RST."""
        reject = ("-A", "INPUT", "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset")
        self._in(number, "iptables", *reject)

    def crash(self, number: int) -> None:
        """End all processes of the host at once, as a power failure does."""
        served = self.served[number - 1]
        if served.process is not None:
            # The child of unshare is the first process of its namespace: the others die with it.
            kill(served.process.pid)
            served.process.wait(20)
            served.process = None

    def boot(self, number: int) -> None:
        """Start the host again, with a new boot id."""
        served = self.served[number - 1]
        (served.directory / "boot_id").write_text(f"{uuid.uuid4()}\n")
        served.start()

    def execute(self, number: int, *command: str) -> None:
        """Run a command in the network of node ``number``."""
        self._in(number, *command)

    def close(self) -> None:
        for number in range(1, len(self.served) + 1):
            self.crash(number)
        for number in range(1, len(self.served) + 1):
            subprocess.run(["ip", "netns", "del", self._name(number)], check=False)
        subprocess.run(["ip", "link", "del", self._bridge], check=False)

    def _add(self, number: int, options: Sequence[str]) -> None:
        name, wire = self._name(number), self._wire(number)
        _ip("netns", "add", name)
        _ip("link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", wire, "master", self._bridge, "up")
        address = f"{self._network}.{number}"
        _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        _ip("-n", name, "link", "set", "eth0", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        boot_id = self._ssh.directory / f"node{number}" / "boot_id"
        inside = (
            f"cat {boot_id} >/dev/null 2>&1 || "
            f"{{ mkdir -p {boot_id.parent} && echo first-boot-{number} >{boot_id}; }}; "
            f'mount --bind {boot_id} /proc/sys/kernel/random/boot_id && exec "$@"'
        )
        prefix = ["ip", "netns", "exec", name]
        prefix += ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        prefix += ["sh", "-c", inside, "host"]
        served = self._ssh.add(
            name=f"node{number}", address=address, port=22, options=options, prefix=prefix
        )
        self.served.append(served)

    def _in(self, number: int, *command: str) -> None:
        subprocess.run(["ip", "netns", "exec", self._name(number), *command], check=True)

    def _name(self, number: int) -> str:
        return f"{self._tag}n{number}"

    def _wire(self, number: int) -> str:
        return f"{self._tag}v{number}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
