"""What a value in hosts.toml may be, key by key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any  # what TOML may hold is only known after the check

# Host names become file names and words of commands.
NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._-]{0,119}", re.ASCII)
_LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*", re.ASCII)
# One colon is a port; IPv6 addresses have at least two.
ADDRESS = re.compile(r"(?!-)(?![^:]*:[^:]*$)[A-Za-z0-9._:%-]+", re.ASCII)
_USER = re.compile(r"(?!-)[^\s@:/\x00-\x1f\x7f]+")
_JUMP = re.compile(r"(?!-)(?:[^\s@,/]+@)?[^\s@,/]+")
_INTERFACE = re.compile(r"[\^=]?[A-Za-z0-9._:@,-]+", re.ASCII)
_WORK_DIR = re.compile(r"~(?:/[^\x00-\x1f\x7f]*)?|/[^\x00-\x1f\x7f]*")

CONNECTION = ("user", "port", "identity", "jump")
ONLY_ON_A_HOST = ("name", "address", "train_address")


def _text(pattern: re.Pattern[str], remedy: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise TypeError(f"must be text in quotes, not {value!r}")
        if not pattern.fullmatch(value):
            raise ValueError(f"{value!r} is not allowed; {remedy}")
        return value

    return check


def _number(lowest: int, highest: int) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"must be a whole number without quotes, not {value!r}")
        if not lowest <= value <= highest:
            raise ValueError(f"{value} is out of range; give {lowest} to {highest}")
        return value

    return check


def _transport(value: Any) -> Any:
    if value not in ("ssh", "local"):
        raise ValueError(f"{value!r} is not a transport; write 'ssh' or 'local'")
    return value


def _labels(value: Any) -> Any:
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise TypeError(f'must be a list like ["v100", "rack1"], not {value!r}')
    for label in value:
        if not _LABEL.fullmatch(label):
            raise ValueError(f"label {label!r} is not allowed; use letters, digits, . _ and -")
    return tuple(dict.fromkeys(value))


def _jump(value: Any) -> Any:
    if value == "":  # on a host: no jump host, whatever the defaults say
        return None
    return _text(_JUMP, "give one inventory host or [user@]address[:port]")(value)


_PATH = re.compile(r"[^\x00-\x1f\x7f]+")
CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "transport": _transport,
    "port": _number(1, 65535),
    "user": _text(_USER, "give a login name"),
    "identity": _text(_PATH, "give the path of a private key"),
    "known_hosts": _text(_PATH, "give a path"),
    "ssh_config": _text(_PATH, "give a path"),
    "jump": _jump,
    "interface": _text(_INTERFACE, "give a network interface like ib0"),
    "labels": _labels,
    "slots": _number(1, 4096),
    "lease_dir": _text(re.compile(r"(?:/[^\x00-\x1f\x7f]+)?"), "give an absolute path"),
    "work_dir": _text(_WORK_DIR, "give an absolute path or one that starts with ~/"),
}


def mend_address(value: str, hint: str) -> str:
    if "@" in value:
        return 'put the part before @ into user = "…"'
    if re.fullmatch(r"[^:]+:\d+", value):
        return "put the part after : into port = …"
    return f"use {hint}"
