"""How bytes get to a host and back: the protocol that ``ssh`` and ``local`` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from backends.inventory.host_entry import Host
from profiles.errors import DlperfError


class Problem(StrEnum):
    """Why a host cannot be reached. The value is what the operator reads."""

    REFUSED = "connection refused"
    TIMEOUT = "connection timed out"
    SILENT = "no command is answered"
    UNRESOLVED = "host name not found"
    UNREACHABLE = "network unreachable"
    UNKNOWN_HOST_KEY = "unknown host key"
    CHANGED_HOST_KEY = "host key has CHANGED"
    NO_KEY_ACCEPTED = "no key accepted"
    CONFIGURATION = "ssh configuration"
    LOST = "connection lost"
    NO_STEP = "the job takes no step"
    JOB_ENDS = "its job is ending"
    ENDLESS = "a command's answer has no end"
    OTHER = "connection failed"

    @property
    def transient(self) -> bool:
        """Whether trying again later can help without somebody mending something."""
        return self not in (
            Problem.UNKNOWN_HOST_KEY,
            Problem.CHANGED_HOST_KEY,
            Problem.CONFIGURATION,
            Problem.ENDLESS,
        )


class HostUnreachableError(DlperfError):
    """A connection could not be made or was lost; carries a :class:`Problem`."""

    exit_code = 1

    def __init__(self, host: str, problem: Problem, detail: str = "", *, remedy: str = "") -> None:
        self.host = host
        self.problem = problem
        self.detail = detail
        what = f"{problem}: {detail}" if detail else str(problem)
        super().__init__(what, where=host, remedy=remedy)


MOST_BYTES = 128 * 2**20
"""Of what a command says in answer: none of ours takes as much, and a host may say anything."""


class Said:
    """What a command says on one of its streams."""

    def __init__(self, host: str) -> None:
        self._host = host
        self.content = bytearray()

    def take(self, data: bytes) -> None:
        """Raises HostUnreachableError where it is more than :data:`MOST_BYTES`."""
        if len(self.content) + len(data) > MOST_BYTES:
            raise HostUnreachableError(self._host, Problem.ENDLESS)
        self.content += data


@dataclass(frozen=True, slots=True)
class Completed:
    """What a remote command left: exit status (-signal if killed by one) and its two streams."""

    exit_status: int
    stdout: bytes
    stderr: bytes


class Prompter(Protocol):
    """Somebody who can be asked while a connection is made. Without one nothing is ever asked."""

    async def secret(self, host: str, prompt: str) -> str | None:
        """A passphrase, a password or a one-time code; None: not given."""

    async def trust_key(self, host: str, fingerprint: str, key_type: str) -> bool:
        """Whether to trust the key of a host that was never seen. Never asked for a changed key."""


class Transport(Protocol):
    """One host's bytes. Connects on first use, reconnects on the next use after a loss.

    Safe for concurrent use from one event loop: any number of callers, a bounded number of
    channels. Every method raises :class:`HostUnreachableError` when the host cannot be reached or
    the connection is lost before the command's end is known.
    """

    @property
    def host(self) -> Host: ...

    async def connect(self) -> None:
        """Make sure a live connection exists."""

    async def run(
        self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
    ) -> Completed:
        """Run ``command`` with the host's ``sh`` and wait for its end.

        ``timeout_s``: after it the command is abandoned and :class:`TimeoutError` is raised.
        """

    async def stream(
        self, command: str, on_stdout: Callable[[bytes], None], *, spare: bool = False
    ) -> Completed:
        """Run ``command``, hand every chunk of its stdout to ``on_stdout`` as it arrives.

        Returns at its end with stdout empty and stderr whole. Cancelling the task closes the
        channel, by which the command ends at the latest when it writes; it never ends a detached
        run. ``spare``: for what is not needed: where channels are few it is not begun, or ends when
        another command waits for one, with :class:`HostUnreachableError`.
        """

    async def close(self) -> None: ...
