"""What is left of an ssh configuration for one host says the same of it as all of it."""

from __future__ import annotations

from pathlib import Path

import asyncssh
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backends.inventory.host_entry import Host
from backends.transports import ssh_target
from backends.transports.ssh_config import about
from backends.transports.ssh_target import resolve

HOSTS = ("node1", "node2", "Node2", "node10", "n.o-d:e", "other", "a b")
HEADS = (
    *("Host node1", "host node2 node10", "Host=node1", "Host = node2", "\tHOST  node10  "),
    *("Host Node2", "Host n.o-d:e", "Host node*", "Host node? !node2", "Host *"),
    *("Host node1,node2", '"Host" node1', "\\Host node2"),
    *('Host "node1"', 'Host "a b"', "Host node1 # first", "Hostname node1", "Host", "Host !node1"),
    *("Match host node1", "match originalhost node2 user me", "Match all"),
    *("Match final host node1", "Match user me"),
)  # fmt: skip
LINES = (
    "  User me",
    "  User=you",
    "Port 7",
    "  ProxyJump gate",
    "",
    "# Host node1",
    "  Ciphers x",
    'Po"rt" 8',
)


def whole(path: Path, name: str) -> object:
    try:
        return asyncssh.SSHClientConnectionOptions(
            host=name, config=[str(path)], client_keys=None, known_hosts=b""
        ).config._options
    except (asyncssh.ConfigParseError, ValueError) as error:
        return type(error)


def in_part(path: Path, name: str) -> object:
    with about(path, name) as part:
        return whole(part, name)


@example(["Host other", "Port 1", '"Host" node1', "Port 7"], "node1")
@given(st.lists(st.sampled_from(HEADS + LINES), max_size=12), st.sampled_from(HOSTS))
def test_it_says_the_same_as_all_of_it(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], name: str
) -> None:
    path = tmp_path_factory.mktemp("ssh") / "config"
    path.write_text("\n".join(lines))
    everything = whole(path, name)
    if not isinstance(everything, type):  # what is wrong with other hosts' blocks is theirs
        assert in_part(path, name) == everything


def thousand(path: Path) -> None:
    path.write_text(
        "".join(f"Host node{n:04}\n  HostName 10.1.{n // 250}.{n % 250}\n" for n in range(1000))
        + "Host *\n  User bench\n"
    )


def test_a_thousand_others_are_left_out_and_the_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config"
    thousand(path)
    before = path.read_text()
    with about(path, "node0500") as part:
        assert part.read_text().split("\n")[:2] == ["Host node0500", "  HostName 10.1.2.0"]
        assert len(part.read_text()) < 100
    assert not part.exists()
    assert path.read_text() == before


def test_a_file_about_everybody_is_read_itself(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("Host *\n  User bench\n")
    with about(path, "node1") as part:
        assert part == path


def test_a_login_parses_it_once_but_where_the_name_is_completed_first(tmp_path: Path) -> None:
    path = tmp_path / "config"
    thousand(path)
    host = Host("node0007", address="node0007", ssh_config=str(path))
    target = resolve(host)
    assert (target.address, target.user) == ("10.1.0.7", "bench")
    assert target.parsed is not None
    for again in ("Match final\n  User last\n", "Host *\n  CanonicalizeHostname yes\n"):
        thousand(path)
        path.write_text(again + path.read_text())
        assert resolve(host).parsed is None


def test_a_mistake_is_told_with_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config"
    path.write_text("Host other\n  User me\nHost node1\n  Port 22 # the usual one\n")
    with pytest.raises(asyncssh.ConfigParseError, match=f"{path} line 4"):
        ssh_target.resolve(Host("node1", address="node1", ssh_config=str(path)))
