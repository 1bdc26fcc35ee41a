"""Hosts to log in to: one real sshd per host on loopback, each with its own key and files.

Where sshd is not installed, asyncssh's own server takes its place (:mod:`.asyncssh_server`).
"""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import asyncssh
import pytest

from backends.inventory.host_entry import Host
from tests.support.processes import children, kill
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


def sshd_program() -> str | None:
    """The sshd of this machine, None where there is none, or :mod:`tests.without_tools` hides it.

    Often it lies where only root looks.
    """
    beyond = "" if os.environ.get("DLPERF_WITHOUT_TOOLS") else ":/usr/sbin:/usr/local/sbin"
    return shutil.which("sshd", path=os.environ.get("PATH", "") + beyond)


NEEDS_SSHD = pytest.mark.skipif(sshd_program() is None, reason="needs sshd, by options of its own")
MPIRUN_NEEDS_SSH = pytest.mark.skipif(
    shutil.which("ssh") is None, reason="mpirun reaches other nodes by ssh"
)


def free_port(address: str) -> int:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def make_key(path: Path, passphrase: str | None = None) -> asyncssh.SSHKey:
    """An ed25519 key pair at ``path`` and ``path``.pub."""
    key = asyncssh.generate_private_key("ssh-ed25519", comment=path.name)
    path.touch(mode=0o600)
    # Its passphrase is no secret: a guess at it need not take a second.
    path.write_bytes(
        key.export_private_key("openssh", passphrase, rounds=1, ignore_few_rounds=True)
    )
    path.with_name(f"{path.name}.pub").write_bytes(key.export_public_key("openssh"))
    return key


@dataclass
class ServedHost:
    """A host with a running SSH server. ``host`` is what the inventory would say of it."""

    host: Host
    directory: Path
    options: Sequence[str] = ()
    prefix: Sequence[str] = ()  # what the server runs inside of, for example ip netns exec …
    real: bool = True
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _log_before: int = field(default=0, repr=False)

    @property
    def address(self) -> str:
        return self.host.address

    @property
    def port(self) -> int:
        assert self.host.port is not None
        return self.host.port

    @property
    def home(self) -> Path:
        return self.directory / "home"

    @property
    def work_dir(self) -> Path:
        return Path(self.host.work_dir)

    @property
    def silent(self) -> Path:
        """While this file exists, asyncssh's server logs in and answers no command."""
        return self.directory / "silent"

    def start(self) -> None:
        if self.real:
            command = [str(sshd_program()), "-D", "-e", "-f", str(self._configuration())]
        else:
            key = str(self.directory / "host_key")
            authorized = str(self.directory / "authorized_keys")
            command = [sys.executable, "-m", "tests.support.asyncssh_server"]
            command += [self.address, str(self.port), key, authorized]
            command += [str(self.silent), str(self._max_sessions())]
        command = [*self.prefix, *command]
        self.home.mkdir(exist_ok=True)
        log_path = self.directory / "sshd.log"
        self._log_before = log_path.stat().st_size if log_path.exists() else 0
        with (self.directory / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={**os.environ, "HOME": str(self.home)},
            )
        wait_until(self._answers, what=f"sshd of {self.host.name}")

    def stop(self, *, sessions: bool = False) -> None:
        """End the server itself. Its open sessions go on, as with the real one, or end as well."""
        if self.process is not None:
            ended = children(self.process.pid) if sessions else []
            for pid in ended:
                kill(pid)
            self.process.terminate()
            self.process.wait(20)
            self.process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def new_host_key(self) -> None:
        """Install the host anew, as its clients see it."""
        (self.directory / "host_key").unlink()
        make_key(self.directory / "host_key")
        self.restart()

    def log(self) -> str:
        return (self.directory / "sshd.log").read_text("utf-8", "replace")

    def _configuration(self) -> Path:
        lines = [
            *self.options,  # first: sshd takes the first value of an option
            f"ListenAddress {self.address}",
            f"Port {self.port}",
            f"HostKey {self.directory / 'host_key'}",
            f"AuthorizedKeysFile {self.directory / 'authorized_keys'}",
            f"PidFile {self.directory / 'sshd.pid'}",
            "UsePAM no",
            "StrictModes no",
            "PasswordAuthentication no",
            "PermitRootLogin prohibit-password",
            "Subsystem sftp internal-sftp",
            "UseDNS no",
            # A home of its own: no rc files of whoever runs the tests.
            f"SetEnv HOME={self.home}",
        ]
        path = self.directory / "sshd_config"
        path.write_text("\n".join(lines) + "\n")
        return path

    def _max_sessions(self) -> int:
        """The one option of sshd's that asyncssh's server knows."""
        given = dict(option.split(" ", 1) for option in self.options)
        assert not given.keys() - {"MaxSessions"}, self.options
        return int(given.get("MaxSessions", 10))

    def _answers(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"sshd ended: {self.log()}")
        if self.real:  # a connection alone could be to somebody else, who took the port
            log = (self.directory / "sshd.log").read_bytes()
            return b"Server listening" in log[self._log_before :]
        try:
            with socket.create_connection((self.address, self.port), 1):
                return True
        except OSError:
            return False


class SshHosts:
    """Starts hosts, and ends them with :meth:`close`.

    Parameters
    ----------
    directory: everything of all hosts is kept below it.
    real: sshd; False: asyncssh's server; None: sshd where it is installed.
    """

    def __init__(self, directory: Path, *, real: bool | None = None) -> None:
        self.directory = directory
        self.real = sshd_program() is not None if real is None else real
        self.identity = directory / "id_ed25519"
        self.known_hosts = directory / "known_hosts"
        self.ssh_config = directory / "ssh_config"
        self.served: list[ServedHost] = []
        directory.mkdir(parents=True, exist_ok=True)
        make_key(self.identity)
        self.known_hosts.touch()
        self.ssh_config.touch()
        if self.real and os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)

    def __call__(self, count: int, *, options: Sequence[str] = ()) -> list[ServedHost]:
        """Start ``count`` more hosts: node1, node2 … on 127.0.0.11, 127.0.0.12 …"""
        return [self.add(options=options) for _ in range(count)]

    def add(
        self,
        *,
        options: Sequence[str] = (),
        name: str = "",
        address: str = "",
        port: int = 0,
        prefix: Sequence[str] = (),
        real: bool | None = None,
    ) -> ServedHost:
        """Start one host. ``options``: lines of sshd_config that come before the usual ones.

        ``real``: None: as the others.
        """
        number = len(self.served) + 1
        name = name or f"node{number}"
        address = address or f"127.0.0.{10 + number}"
        directory = self.directory / name
        directory.mkdir()
        host = Host(
            name=name,
            address=address,
            port=port or free_port(address),
            user=getpass.getuser(),
            identity=str(self.identity),
            known_hosts=str(self.known_hosts),
            ssh_config=str(self.ssh_config),
            work_dir=str(directory / "work"),
            lease_dir=str(self.directory / "leases"),
        )
        shutil.copy(f"{self.identity}.pub", directory / "authorized_keys")
        key = make_key(directory / "host_key")
        self._trust(host, key)
        served = ServedHost(host, directory, options=options, prefix=prefix)
        served.real = self.real if real is None else real
        self.served.append(served)
        served.start()
        return served

    def hosts(self) -> list[Host]:
        return [served.host for served in self.served]

    def close(self) -> None:
        for served in self.served:
            served.stop()

    def _trust(self, host: Host, key: asyncssh.SSHKey) -> None:
        line = key.export_public_key("openssh").decode().strip()
        with self.known_hosts.open("a", encoding="utf-8") as stream:
            name = host.address if host.port == 22 else f"[{host.address}]:{host.port}"
            stream.write(f"{name} {line}\n")


def renamed(host: Host, name: str) -> Host:
    """The same machine under another name."""
    return replace(host, name=name)
