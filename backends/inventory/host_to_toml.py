"""Hosts as the tables of a campaign's files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any  # the kinds of TOML and JSON

from backends.inventory.host_entry import Host


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
    ValueError: a key is unknown, or its value is not allowed.
    """
    from pydantic import ValidationError  # noqa: PLC0415 (takes a tenth of a second)

    from backends.inventory.hosts_schema import OneHost, first_mistake  # noqa: PLC0415

    try:
        checked = OneHost.model_validate(table)
    except ValidationError as error:
        mistake = first_mistake(error, table, OneHost)
        where = "".join(f"{key}: " for key in mistake.at)
        remedy = f"; {mistake.remedy}" if mistake.remedy else ""
        raise ValueError(f"{where}{mistake.what}{remedy}") from None
    said: dict[str, Any] = checked.model_dump(exclude_unset=True)
    return Host(**said)
