"""Images that are not on a host are fetched before the first run, where the operator allows it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from shlex import quote

from backends.hosts.needs import FETCHING, Planned, needs_of
from backends.hosts.preflight_finding import Say
from backends.hosts.probe import Transports
from backends.inventory.host_entry import Host
from backends.transports.transport import HostUnreachableError, Transport
from profiles.cleantext import clean_line


async def pull_images(
    transports: Transports, hosts: Sequence[Host], cases: Sequence[Planned], say: Say
) -> tuple[str, ...]:
    """Names of the hosts to which something was fetched; each host's lines go to ``say``.

    What cannot be fetched is missing afterwards, which preflight finds. There is no limit of time.

    Raises
    ------
    ProfileError: a command names a placeholder that does not exist.
    """
    allowed = [host for host in hosts if host.pull == "missing"]
    needs = needs_of(cases, [(host, True) for host in allowed])
    wanted = {
        name: [need.value for need in own if need.kind == "image" and _pullable(need.value)]
        for name, own in needs.items()
    }
    fetched = await asyncio.gather(
        *(_pull(transports.get(host), wanted[host.name], say) for host in allowed)
    )
    return tuple(host.name for host, any_ in zip(allowed, fetched, strict=True) if any_)


def _pullable(value: str) -> bool:
    return value.partition(" ")[0] in FETCHING


async def _pull(transport: Transport, images: Sequence[str], say: Say) -> bool:
    """Whether anything had to be fetched."""
    lines = _Lines(f"{transport.host.name}: ", say)
    for value in images:
        runtime, _, image = value.partition(" ")
        command = (
            f"{runtime} image inspect {quote(image)} >/dev/null 2>&1 || "
            f"exec {runtime} pull {quote(image)} 2>&1"
        )
        try:
            await transport.stream(command, lines.take)
        except HostUnreachableError as error:
            say(f"{transport.host.name}: {error.what}")
            break
        lines.end()
    return lines.any


class _Lines:
    """Whole lines of what comes in pieces."""

    def __init__(self, prefix: str, say: Say) -> None:
        self._prefix = prefix
        self._say = say
        self._rest = b""
        self.any = False

    def take(self, chunk: bytes) -> None:
        self.any = True
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            self._tell(line)

    def end(self) -> None:
        self._tell(self._rest)
        self._rest = b""

    def _tell(self, line: bytes) -> None:
        if text := clean_line(line):
            self._say(self._prefix + text)
