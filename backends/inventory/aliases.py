"""The names that ``~/.ssh/config`` gives to hosts, for selecting and suggesting them.

Only names are read here. What they stand for (addresses, keys, jump hosts) is read by the ssh
transport when it connects. Format: ssh_config(5).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any  # fields of Host

from backends.inventory.host_entry import HOST_NAME, Host

_LINE = re.compile(r"\s*(?P<keyword>[A-Za-z]+)(?:\s*=\s*|\s+)(?P<value>.+)")
_SAID_BY_SSH_CONFIG = ("user", "port", "identity", "jump", "transport", "labels")
_MAX_DEPTH = 16  # OpenSSH's own limit for nested Include


def read_ssh_aliases(path: Path) -> tuple[str, ...]:
    """Names after ``Host`` without wildcards, in the order of the file, ``Include`` followed.

    A file that is missing or unreadable has no aliases.
    """
    return tuple(dict.fromkeys(_names(path, path.parent, 0)))


def aliased_hosts(
    ssh_config: Path, shared: Mapping[str, Any], listed: Sequence[Host]
) -> tuple[Host, ...]:
    """Hosts for the aliases that are not ``listed``. How to connect is the ssh config's to say, so
    that of the ``shared`` defaults those for the connection do not apply to them."""
    kept = {key: value for key, value in shared.items() if key not in _SAID_BY_SSH_CONFIG}
    names = [name for name in read_ssh_aliases(ssh_config) if HOST_NAME.fullmatch(name)]
    taken = {host.name for host in listed}
    return tuple(Host(name=name, address=name, **kept) for name in names if name not in taken)


def _names(path: Path, base: Path, depth: int) -> Iterator[str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        keyword, value = match["keyword"].lower(), match["value"]
        if keyword == "host":
            yield from (word for word in _words(value) if not set(word) & set("*?!"))
        elif keyword == "include" and depth < _MAX_DEPTH:
            for pattern in _words(value):
                for included in _included(pattern, base):
                    yield from _names(included, base, depth + 1)


def _included(pattern: str, base: Path) -> list[Path]:
    path = Path(pattern).expanduser()
    if not path.is_absolute():
        path = base / path
    anchor = Path(path.anchor)
    try:
        return sorted(anchor.glob(str(path.relative_to(anchor))))
    except (OSError, ValueError, NotImplementedError):
        return []


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value, comments=True)
    except ValueError:  # an unclosed quote: OpenSSH refuses the file, the transport will say so
        return value.split()
