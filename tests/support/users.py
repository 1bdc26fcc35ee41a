"""Real other users of this machine, and what they do on a host. Needs root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from backends.inventory.host_entry import Host
from backends.transports.local import LocalTransport
from backends.transports.transport import Completed
from tests.support.unique import NUMBER
from tests.support.waiting import wait_until

_TOOLS = ("useradd", "userdel", "setpriv", "unshare", "nsenter")


def why_not() -> str:
    """Why there can be no such users here; empty when there can."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return "" if probe.returncode == 0 else "network namespaces are not permitted"


@dataclass(frozen=True)
class User:
    """An account. ``words``: what makes a command this user's."""

    name: str
    home: Path
    machine: Machine
    words: tuple[str, ...] = ()

    @property
    def prefix(self) -> tuple[str, ...]:
        return *self.machine.prefix, *self.words

    def does(self, script: str) -> str:
        """Run a shell script as this user; its output."""
        words = [*self.prefix, "/bin/sh", "-c", script]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/")
        return done.stdout.strip()

    def begins(self, script: str) -> subprocess.Popen[bytes]:
        """Start a shell script as this user, for the caller to end."""
        words = [*self.prefix, "/bin/sh", "-c", script]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, cwd="/")

    def transport(self, host: Host, environment: Mapping[str, str] | None = None) -> LocalTransport:
        """The machine as this user reaches it."""
        return AsUser(self.prefix, host, environment)


class Machine:
    """A network namespace: for leases, a machine of its own."""

    def __init__(self) -> None:
        ours = Path("/proc/self/ns/net").readlink()
        self._process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self._namespace = Path(f"/proc/{self._process.pid}/ns/net")
        wait_until(lambda: self._namespace.readlink() != ours)

    @property
    def prefix(self) -> tuple[str, ...]:
        return "nsenter", f"--net={self._namespace}"

    @property
    def key(self) -> str:
        """How a lease calls it."""
        return self._namespace.readlink().name.removeprefix("net:[").removesuffix("]")

    def close(self) -> None:
        for left in Path("/tmp").glob(f"dlperf-tui.{self.key}*"):
            left.unlink()
        self._process.kill()
        self._process.wait()


class Accounts:
    """Users, made for a test. ``place``: all of them can reach it, only root can write to it."""

    def __init__(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="dlperf-neighbours-", dir="/tmp"))
        self.place.chmod(0o755)
        self._names: list[str] = []

    def add(self, name: str) -> pwd.struct_passwd:
        name = f"{name}{NUMBER}"
        home = self.place / name
        subprocess.run(["useradd", "-m", "-d", str(home), "-s", "/bin/sh", name], check=True)
        home.chmod(0o755)
        self._names.append(name)
        return pwd.getpwnam(name)

    def close(self) -> None:
        for name in self._names:
            subprocess.run(["userdel", name], check=False, capture_output=True)
        shutil.rmtree(self.place, ignore_errors=True)


def user_on(machine: Machine, account: pwd.struct_passwd) -> User:
    ids = (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--init-groups")
    words = ("setpriv", *ids, "env", f"HOME={account.pw_dir}")
    return User(account.pw_name, Path(account.pw_dir), machine, words)


class AsUser(LocalTransport):
    """This machine, as another user of it. ``prefix``: what makes a command this user's."""

    def __init__(
        self, prefix: Sequence[str], host: Host, environment: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(host)
        given = [f"{name}={value}" for name, value in (environment or {}).items()]
        self._prefix = " ".join(map(quote, [*prefix, "env", *given]))

    def _theirs(self, command: str) -> str:
        return f"exec {self._prefix} /bin/sh -c {quote(command)}"

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        return await super().run(self._theirs(command), stdin=stdin, timeout_s=timeout_s)

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        return await super().stream(self._theirs(command), on_stdout, spare=spare)
