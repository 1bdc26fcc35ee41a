"""What a campaign's debug log tells, and what it must never tell."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends import debug
from backends.campaign.folder.debug_log import DebugLog
from backends.campaign.run.supervisor import RunSupervisor
from backends.inventory.host_entry import Host
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RunSpec
from backends.transports.local import LocalTransport
from backends.transports.pool import TransportPool
from backends.transports.transport import HostUnreachableError
from tests.support.campaigns import Bench, finish, only_run
from tests.support.sshd import free_port, make_key


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


def told(directory: Path) -> str:
    return (directory / "debug.log").read_text(encoding="utf-8")


async def test_a_campaign_tells_its_commands_and_decisions(bench: Bench) -> None:
    after = "import os; print('RuntimeError: Address already in use'); sys.exit(1)"
    controller = await bench.start(lines=3, after=after)
    await finish(controller)
    text = told(controller.path)
    [name] = [host.name for host in bench.hosts]
    first, second = controller.state.runs
    for line in (
        f"RunAssigned run_id={first} hosts=('{name}',)",
        f"{name}: start {first} ",
        f"{name}: follow {first} 0: status 0",
        f"RunFailed run_id={first} host={name} reason=port in use",
        f"RunPlanned run_id={second} attempt=2 retry_of={first}",
        "CampaignFinished",
    ):
        assert line in text, line
    assert "steady.py" not in text, "commands may hold what is secret"
    assert stat.S_IMODE((controller.path / "debug.log").stat().st_mode) == 0o600


async def test_a_mistake_of_ours_leaves_its_traceback(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def mistaken(self: RunSupervisor) -> None:
        raise ZeroDivisionError("never to be seen")

    monkeypatch.setattr(RunSupervisor, "execute", mistaken)
    controller = await bench.start()
    run = only_run(await finish(controller))
    assert run.reason == "internal error: ZeroDivisionError: never to be seen"
    text = told(controller.path)
    assert "Traceback (most recent call last)" in text
    assert "in mistaken" in text


async def test_who_only_looks_writes_nothing(bench: Bench) -> None:
    controller = await bench.start(lines=3)
    await finish(controller)
    before = told(controller.path)
    bench.workspace().load(controller.path)
    assert told(controller.path) == before
    (controller.path / "debug.log").unlink()
    bench.workspace().load(controller.path)
    assert not (controller.path / "debug.log").exists()


async def test_what_a_command_is_fed_is_not_told(tmp_path: Path, local_host: Host) -> None:
    log = DebugLog(tmp_path)
    log.open()
    debug.log_to(log.logger)
    remote = RemoteHost(LocalTransport(local_host))
    spec = RunSpec(
        run_id="r-1",
        script="echo s3cret-word\n",
        environment={"TOKEN": "s3cret-token"},
        lease="me",
    )
    await remote.start(spec)
    await remote.follow("r-1", 0, lambda data: None)
    log.close()
    assert "start r-1" in told(tmp_path)
    assert "s3cret" not in told(tmp_path)


class Operator:
    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    async def secret(self, host: str, prompt: str) -> str | None:
        return self.answers.pop(0) if self.answers else None

    async def trust_key(self, host: str, fingerprint: str, key_type: str) -> bool:
        return False


SECRETS = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r\0", exclude_categories=("Cs",)),
    min_size=8,
    max_size=20,
).filter(lambda text: len(set(text)) > 4)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(passphrase=SECRETS, wrong=SECRETS, code=SECRETS, right=st.booleans())
def test_what_a_login_was_answered_is_never_told(
    tmp_path: Path, passphrase: str, wrong: str, code: str, right: bool
) -> None:
    """Passphrases, right and wrong, and one-time codes, accepted and refused."""
    for file in tmp_path.glob("*"):
        file.unlink()
    log = DebugLog(tmp_path)
    log.open()
    asyncio.run(_log_in(tmp_path, log, passphrase, wrong, code, right=right))
    log.close()
    text = told(tmp_path)
    assert "the passphrase of" in text
    assert "two asks: Second factor Code:" in text
    assert ("logged in" in text) == right
    for secret in (passphrase, wrong, code):
        assert secret not in text
        assert repr(secret)[1:-1] not in text


async def _log_in(
    directory: Path, log: DebugLog, passphrase: str, wrong: str, code: str, *, right: bool
) -> None:
    class TwoFactors(asyncssh.SSHServer):
        def begin_auth(self, username: str) -> bool:
            return True

        def kbdint_auth_supported(self) -> bool:
            return True

        def get_kbdint_challenge(
            self, username: str, lang: str, submethods: str
        ) -> tuple[str, str, str, list[tuple[str, bool]]]:
            return "", "Second factor", "", [("Code: ", False)]

        def validate_kbdint_response(self, username: str, responses: list[str]) -> bool:
            return right

    debug.log_to(log.logger)
    key = asyncssh.generate_private_key("ssh-ed25519")
    port = free_port("127.0.0.1")
    server = await asyncssh.listen(
        "127.0.0.1", port, server_factory=TwoFactors, server_host_keys=[key]
    )
    known = directory / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {key.export_public_key('openssh').decode()}")
    make_key(directory / "locked", passphrase)
    host = Host(
        name="two",
        address="127.0.0.1",
        port=port,
        user="me",
        identity=str(directory / "locked"),
        known_hosts=str(known),
        ssh_config="/dev/null",
    )
    pool = TransportPool(prompter=Operator(wrong, passphrase, code, code, code))
    try:
        await pool.get(replace(host)).connect()
    except HostUnreachableError:
        assert not right
    await pool.close()
    server.close()
    await server.wait_closed()
