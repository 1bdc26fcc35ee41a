"""``init`` against real SSH servers: from the ssh config to an inventory that works."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.program import run_program
from tests.support.sshd import ServedHost, SshHosts
from tests.support.waiting import wait_until
from tests.unit.cli.conftest import OnTerminal

ROOT = Path(__file__).parents[2]


class Home:
    """An operator's home with an ssh config of three files."""

    def __init__(self, path: Path, hosts: SshHosts) -> None:
        self.path = path
        self._hosts = hosts
        self.inventory = path / ".config/dlperf-tui/hosts.toml"
        (path / ".ssh").mkdir(parents=True)

    def config(self, text: str, *served: ServedHost) -> None:
        entries = "".join(
            f"Host {one.host.name}\n  HostName {one.address}\n  Port {one.port}\n" for one in served
        )
        common = (
            f"Host *\n  User {served[0].host.user}\n  IdentityFile {self._hosts.identity}\n"
            f"  UserKnownHostsFile {self._hosts.known_hosts}\n"
            if served
            else ""
        )
        (self.path / ".ssh/config").write_text(f"{text}{entries}{common}")

    @property
    def environment(self) -> dict[str, str]:
        found = {**os.environ, "HOME": str(self.path)}
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "SSH_AUTH_SOCK"):
            found.pop(name, None)
        return found

    def __call__(self, *words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = run_program(words, env=self.environment, timeout=90)
        assert done.returncode == code, f"{done.returncode}: {done.stdout}\n{done.stderr}"
        return done


@pytest.fixture
def home(ssh_hosts: SshHosts, tmp_path: Path) -> Home:
    return Home(tmp_path / "home", ssh_hosts)


def test_the_hosts_of_the_ssh_config_become_an_inventory_that_works(
    home: Home, ssh_hosts: SshHosts
) -> None:
    first, second, third = ssh_hosts(3)
    (home.path / ".ssh/more").write_text(
        f"Host node3\n  HostName {third.address}\n  Port {third.port}\n  ProxyJump node1\n"
    )
    wildcards = "Host *.example.com !x\n  User nobody\nHost off\n  HostName 127.0.0.1\n  Port 9\n"
    home.config(f"Include more\n{wildcards}", first, second)
    seen = home("init", code=2)
    assert 'name = "node[1-3]"' in seen.stdout, "what would be written is there to look at"
    assert "nothing written without a look; add --yes" in seen.stderr.splitlines()[-1]
    assert not home.inventory.exists()
    done = home("init", "--yes", code=1)
    assert seen.stdout.endswith(home.inventory.read_text())
    assert "looking at 4 hosts of ~/.ssh/config" in done.stderr
    assert f"written: {home.inventory}; the console opens on it: dlperf-tui\n" in done.stderr
    text = home.inventory.read_text()
    assert 'name = "node[1-3]"' in text
    assert "#   off: " in text
    assert f'train_address = "{first.address},' in text or 'train_address = "127.' in text
    for word in ("\naddress", "jump =", "example.com"):
        assert word not in text.replace("# Address", "")
    found = home("hosts")
    assert [line.split(" | ")[0:2] for line in found.stdout.splitlines()[2:]] == [
        ["| node1", "ready"],
        ["| node2", "ready"],
        ["| node3", "ready"],
    ]
    assert third.log().count("Accepted publickey") or not third.real
    refused = home("init", "--yes", code=2).stderr
    assert "already" in refused, "never over one that is there"
    assert home.inventory.read_text() == text
    other = home.path / "other.toml"
    words = refused.strip().replace("FILE", str(other)).partition("dlperf-tui init ")[2].split()
    done = home("init", *words, "--yes", code=1)
    assert (
        f"written: {other}; the console opens on it: dlperf-tui --inventory {other}" in done.stderr
    )
    assert other.read_text() == text


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        (None, ["--yes"], "~/.ssh/config: names no host: there is no such file; add 'Host node1'"),
        ("Host *\n  User x\n", ["--yes"], "~/.ssh/config: names no host; add"),
        ("Host a\n", ["--yes", "--hosts", "b"], "unknown host 'b'"),
        ("Host a\n", ["--yes", "--hosts", ""], "no host is named"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    home: Home, text: str | None, words: list[str], says: str
) -> None:
    if text is not None:
        home.config(text)
    done = home("init", *words, code=2)
    [line] = done.stderr.splitlines()
    assert says in line
    assert not home.inventory.parent.exists()
    assert "--readonly" in home("--readonly", "init", code=2).stderr


def test_where_no_host_can_be_reached_nothing_is_written(home: Home) -> None:
    home.config("Host off\n  HostName 127.0.0.1\n  Port 9\n")
    done = home("init", "--yes", code=1)
    assert f"no host could be reached; nothing written to {home.inventory}" in done.stderr
    assert not home.inventory.parent.exists()


def test_one_that_is_there_is_replaced_only_after_a_question_and_kept(
    home: Home, ssh_hosts: SshHosts
) -> None:
    home.config("", *ssh_hosts(1))
    home.inventory.parent.mkdir(parents=True)
    home.inventory.write_text("mine\n")

    def asked(typed: bytes) -> int:
        shown = OnTerminal(("init", "--yes"), home.environment)
        try:
            wait_until(lambda: shown.shows(b"Replace it?"))
            shown.type(typed)
            return shown.end()
        finally:
            shown.close()

    assert asked(b"n\n") == 2
    assert home.inventory.read_text() == "mine\n"
    assert asked(b"y\n") == 0
    assert 'name = "node1"' in home.inventory.read_text()
    assert home.inventory.with_name("hosts.toml.kept-1").read_text() == "mine\n"
