"""Hosts as the tables of a campaign's files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any  # the kinds of TOML and JSON

from backends.inventory.hosts import Host
from backends.inventory.keys import ADDRESS, CHECKS, NAME


def host_table(host: Host, *, whole: bool = False) -> dict[str, Any]:
    """What differs from the defaults, with ``whole`` all; the values are TOML's own kinds."""
    table: dict[str, Any] = {}
    for field in fields(Host):
        value = getattr(host, field.name)
        told = whole or field.name == "name" or value != field.default
        if told and value is not None:
            table[field.name] = list(value) if isinstance(value, tuple) else value
    return table


def host_of(table: Mapping[str, Any]) -> Host:
    """Checked like an entry of the inventory: its values reach commands and paths.

    Raises
    ------
    TypeError, ValueError: a key is unknown, or its value is not allowed.
    """
    name = table.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not allowed as a host's name")
    for key in ("address", "train_address"):
        if table.get(key) and not ADDRESS.fullmatch(str(table[key])):
            raise ValueError(f"{key} {table[key]!r} of {name} is not allowed")
    for key, check in CHECKS.items():
        if key in table:
            check(table[key])
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    return Host(**values)
