"""What the inventory and the ssh configuration together say of a host."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from backends.inventory.host_entry import Host
from backends.transports.ssh_config import about
from backends.transports.ssh_keys import DEFAULT_IDENTITIES, GLOBAL_KNOWN_HOSTS


@dataclass(frozen=True, slots=True)
class Target:
    """A host as the ssh configuration completes it."""

    host: Host
    address: str
    port: int
    user: str
    known_as: str  # the name to look up in known_hosts
    config: tuple[str, ...]
    known_hosts: tuple[Path, ...]  # trusted keys are added to the first
    identities: tuple[Path, ...]
    identities_only: bool
    jump: str | None
    proxy_command: tuple[str, ...] | None
    ciphers: str | None  # None: as configured
    parsed: (
        asyncssh.SSHClientConnectionOptions | None
    )  # None: a login parses the configuration again

    @property
    def server(self) -> tuple[object, ...]:
        """Whose logins are limited together: a ProxyCommand's gateway sees all that go through."""
        if self.proxy_command is not None:
            return ("ProxyCommand",)
        return (self.host.jump or self.jump, self.address, self.port)


def resolve(host: Host) -> Target:
    """Complete a host by its ssh configuration. Blocking: reads files, may run ``Match exec``.

    Raises asyncssh.ConfigParseError, ValueError or OSError.
    """
    path = Path(host.ssh_config or "~/.ssh/config").expanduser()
    nothing = path.resolve() == Path(os.devnull)  # as in ssh -F /dev/null
    if host.ssh_config and not path.is_file() and not nothing:
        raise FileNotFoundError(2, "no such ssh configuration", str(path))
    config = (str(path),) if os.access(path, os.R_OK) and not nothing else ()
    options = _about(host, path) if config else _options(host, [])
    given = options.config
    # These are looked at once more, when the host's name is known in full.
    again = given.has_match_final() or options.canonicalize_hostname
    if host.identity:
        identities = [Path(host.identity).expanduser()]
    else:
        named = [Path(file).expanduser() for file in _texts(given.get("IdentityFile"))]
        usual = [Path("~/.ssh").expanduser() / file for file in DEFAULT_IDENTITIES]
        identities = [file for file in named or usual if file.is_file()]
    own = [host.known_hosts] if host.known_hosts else _texts(given.get("UserKnownHostsFile"))
    shared = _texts(given.get("GlobalKnownHostsFile")) or GLOBAL_KNOWN_HOSTS
    files = [*(own or ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")), *shared]
    jump = options.tunnel if isinstance(options.tunnel, str) else None
    ciphers = given.get("Ciphers")
    return Target(
        host=host,
        address=options.host,
        port=options.port,
        user=options.username,
        known_as=options.host_key_alias or options.host,
        config=config,
        known_hosts=tuple(Path(file).expanduser() for file in files if file != "none"),
        identities=tuple(identities),
        identities_only=bool(host.identity or given.get("IdentitiesOnly")),
        jump=jump if jump and jump.lower() != "none" else None,
        proxy_command=None if jump else tuple(options.proxy_command or ()) or None,
        ciphers=str(ciphers) if ciphers else None,
        parsed=None if again else options,
    )


def _about(host: Host, path: Path) -> asyncssh.SSHClientConnectionOptions:
    try:
        with about(path, host.address or host.name) as part:
            return _options(host, [str(part)])
    except asyncssh.ConfigParseError:
        return _options(host, [str(path)])  # says in which line


def _options(host: Host, config: list[str]) -> asyncssh.SSHClientConnectionOptions:
    return asyncssh.SSHClientConnectionOptions(
        host=host.address or host.name,
        port=host.port or (),
        username=host.user or (),
        config=config,
        client_keys=None,
        known_hosts=b"",
    )


def _texts(value: object) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return [str(value)] if value else []
