"""Whether what is started outlives its login, as the files of systemd say."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.keeper.credentials import by_hand, what_may_expire
from backends.keeper.survival import survival
from backends.transports.credential import Credential


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine whose systemd is at work."""
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    (tmp_path / "etc/systemd").mkdir(parents=True)
    return tmp_path


def configured(root: Path, text: str, name: str = "etc/systemd/logind.conf") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def lingering(root: Path, *, program: bool = True, manager: bool = True) -> dict[str, str]:
    """The environment of alice, who may linger."""
    linger = root / "var/lib/systemd/linger"
    linger.mkdir(parents=True)
    (linger / "alice").touch()
    runtime, programs = root / "run/user/1", root / "bin"
    programs.mkdir()
    if manager:
        (runtime / "systemd").mkdir(parents=True)
        (runtime / "systemd/private").touch()
    if program:
        (programs / "systemd-run").write_text("#!/bin/sh\n")
        (programs / "systemd-run").chmod(0o755)
    return {"XDG_RUNTIME_DIR": str(runtime), "PATH": str(programs)}


def test_without_systemd_there_is_nothing_to_be_said(tmp_path: Path) -> None:
    configured(tmp_path, "[Login]\nKillUserProcesses=yes\n")
    assert survival("alice", {}, "c", tmp_path) == survival("alice", {}, "c", tmp_path / "none")
    assert survival("alice", {}, "c", tmp_path).warning == ""


def test_who_lingers_has_it_in_a_scope_of_the_users_own_manager(root: Path) -> None:
    environ = lingering(root)
    configured(root, "[Login]\nKillUserProcesses=yes\n")
    how = survival("alice", environ, "smoke", root)
    assert how.prefix[0] == f"{root}/bin/systemd-run"
    assert {"--user", "--scope"} < set(how.prefix)
    assert how.prefix[-1] == "--"
    assert how.warning == ""


@pytest.mark.parametrize("missing", ["program", "manager"])
def test_without_a_manager_it_is_a_plain_daemon(root: Path, missing: str) -> None:
    environ = lingering(root, **{missing: False})
    assert survival("alice", environ, "smoke", root).prefix == ()
    configured(root, "[Login]\nKillUserProcesses=yes\n")
    assert "KillUserProcesses" in survival("alice", environ, "smoke", root).warning


@pytest.mark.parametrize(
    ("files", "user", "kills"),
    [
        ({}, "alice", False),
        ({"etc/systemd/logind.conf": "KillUserProcesses=yes"}, "alice", True),
        ({"etc/systemd/logind.conf": "#KillUserProcesses=yes"}, "alice", False),
        ({"etc/systemd/logind.conf": "KillUserProcesses=yes"}, "root", False),
        (
            {"etc/systemd/logind.conf": "KillUserProcesses=yes\nKillExcludeUsers=root alice"},
            "alice",
            False,
        ),
        (
            {"etc/systemd/logind.conf": "KillUserProcesses=yes\nKillOnlyUsers=bob"},
            "alice",
            False,
        ),
        (
            {
                "etc/systemd/logind.conf": "KillUserProcesses=no",
                "etc/systemd/logind.conf.d/site.conf": "KillUserProcesses=1",
            },
            "alice",
            True,
        ),
        (
            {
                "usr/lib/systemd/logind.conf.d/a.conf": "KillUserProcesses=yes",
                "etc/systemd/logind.conf.d/b.conf": "KillUserProcesses=no",
            },
            "alice",
            False,
        ),
        ({"etc/systemd/logind.conf": "\x00=broken\n[["}, "alice", False),
    ],
)
def test_whether_a_logout_ends_it_is_what_logind_is_told(
    root: Path, files: dict[str, str], user: str, kills: bool
) -> None:
    for name, text in files.items():
        configured(root, f"[Login]\n{text}\n", name)
    warning = survival(user, {}, "smoke", root).warning
    assert bool(warning) is kills
    if kills:
        assert "loginctl enable-linger" in warning
        assert "sbatch --wrap" in warning


LET_IN = {
    "node1": Credential.FILE,
    "node2": Credential.AGENT,
    "node3": Credential.AGENT,
    "node4": Credential.HAND,
    "node5": Credential.TICKET,
    "other": Credential.HAND,
}
HOSTS = [f"node{number}" for number in range(1, 7)]


def test_only_the_campaigns_hosts_and_only_what_somebody_answered_is_by_hand() -> None:
    assert by_hand(LET_IN, HOSTS) == "node4"
    assert by_hand({}, HOSTS) == ""


def test_what_cannot_be_made_again_is_said_by_its_kind() -> None:
    agent, ticket = what_may_expire(LET_IN, HOSTS, {"SSH_AUTH_SOCK": "/run/user/1/agent"})
    assert agent.startswith("node[2-3]: the login is made with a key of the ssh agent")
    assert "/run/user/1/agent" in agent
    assert "forwarded" not in agent
    assert ticket.startswith("node5: ")
    assert "Kerberos" in ticket
    assert what_may_expire({"node1": Credential.FILE}, HOSTS, {}) == []


def test_an_agent_that_is_forwarded_goes_with_the_login() -> None:
    environ = {"SSH_AUTH_SOCK": "/tmp/ssh-Ab12/agent.77", "SSH_CONNECTION": "1 2 3 4"}
    [agent, _] = what_may_expire(LET_IN, HOSTS, environ)
    assert "goes with your login" in agent
