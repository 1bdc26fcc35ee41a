"""All transports of a session: one per host, sharing jump hosts, keys and limits.

Importing this, and asking for a transport, loads no SSH library: that waits for the first login.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, cast

from backends.inventory.host_entry import Host
from backends.transports.credential import Credential
from backends.transports.open_files import allow_enough
from backends.transports.ssh import SshTransport
from backends.transports.ssh_settings import SshSettings
from backends.transports.transport import HostUnreachableError, Problem, Prompter, Transport

if TYPE_CHECKING:
    from backends.transports.ssh_session import Logins


class TransportPool:
    """Hands out the transport of each host.

    Parameters
    ----------
    hosts: the inventory's hosts; a jump host may be one of them, by name.
    prompter: who is asked for passphrases, one-time codes and unknown host keys; None: nobody.
    settings: timeouts and limits.
    """

    def __init__(
        self,
        hosts: Sequence[Host] = (),
        *,
        prompter: Prompter | None = None,
        settings: SshSettings | None = None,
    ) -> None:
        self._hosts = {host.name: host for host in hosts}
        self._prompter = prompter
        self.settings = settings or SshSettings()
        self._transports: dict[Host, Transport] = {}
        self._jumps: set[SshTransport] = set()
        self._logins: asyncio.Future[Logins] | None = None

    def get(self, host: Host | str) -> Transport:
        """The transport of a host, or of the host of that name (KeyError where there is none)."""
        return self._get(self._hosts[host] if isinstance(host, str) else host)

    def ask_again(self) -> None:
        """Forget which questions were answered with no: the next login asks them again."""
        if self._logins is not None and self._logins.done():
            self._logins.result().ask_again()

    def let_in_by(self) -> Mapping[str, Credential]:
        """By host: what the SSH login was made with that was made last."""
        if self._logins is None or not self._logins.done():
            return {}
        return self._logins.result().let_in_by

    async def close(self) -> None:
        """Close every connection. Detached runs go on."""
        transports, self._transports = list(self._transports.values()), {}
        # Jump hosts last: the others' connections run through theirs.
        through = {transport.host for transport in self._jumps}
        transports.sort(key=lambda transport: transport.host in through)
        for transport in transports:
            await transport.close()

    async def logins(self) -> Logins:
        """What all SSH logins share. The first call loads the SSH library, off the event loop."""
        if self._logins is None:
            self._logins = asyncio.ensure_future(asyncio.to_thread(self._load_logins))
        return await asyncio.shield(self._logins)

    def jump_transport(self, host: Host, jump: str) -> SshTransport:
        """The shared transport of a host's jump host: one of the inventory, or ``jump`` itself."""
        *before, last = jump.split(",")
        through = self._hosts.get(last) or _jump_host(host, last)
        if before:  # the way to the last of several
            through = replace(through, jump=",".join(before))
        seen = [host.name]
        following: Host | None = through
        while following is not None:
            seen.append(following.name)
            if following.name in seen[:-1]:
                raise HostUnreachableError(
                    host.name,
                    Problem.CONFIGURATION,
                    f"jump hosts form a circle: {' → '.join(seen)}",
                    remedy="correct jump in the inventory",
                )
            following = self._hosts.get(following.jump or "")
        transport = self._get(through)
        if not isinstance(transport, SshTransport):
            raise HostUnreachableError(
                host.name,
                Problem.CONFIGURATION,
                f"jump host {through.name} has the local transport",
                remedy="leave jump out, or give the jump host an SSH address",
            )
        self._jumps.add(transport)
        return transport

    def _get(self, host: Host) -> Transport:
        """The host's transport, from the file of that name, opened once."""
        transport = self._transports.get(host)
        if transport is None:
            file = import_module(f"backends.transports.{host.transport}")
            opened = cast(Callable[[Host, TransportPool], Transport], file.open_transport)
            transport = self._transports[host] = opened(host, self)
        return transport

    def _load_logins(self) -> Logins:
        from backends.transports.ssh_session import Logins  # noqa: PLC0415 (loads asyncssh: 250 ms)

        allow_enough()
        return Logins(self.settings, self._prompter)


def _jump_host(host: Host, jump: str) -> Host:
    """``[user@]address[:port]`` as a host; keys and files are those of the host behind it."""
    user, _, address = jump.rpartition("@")
    port = None
    if address.startswith("["):  # [IPv6] or [IPv6]:port
        address, _, rest = address[1:].partition("]")
        port = int(rest[1:]) if rest[1:].isdigit() else None
    elif address.count(":") == 1 and address.rpartition(":")[2].isdigit():
        address, _, number = address.partition(":")
        port = int(number)
    return Host(
        name=jump,
        address=address,
        port=port,
        user=user or None,
        identity=host.identity,
        known_hosts=host.known_hosts,
        ssh_config=host.ssh_config,
    )
