"""hosts.toml: read, checked, and its entries expanded into hosts.

Every complaint names the file, the line of the entry, the key, and what to write instead.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any  # what TOML may hold is only known after the check

from pydantic import ValidationError

from backends.file_modes import Share
from backends.inventory.aliases import aliased_hosts, read_ssh_aliases
from backends.inventory.host_entry import QUEUES, Host, Inventory, InventoryError, this_machine
from backends.inventory.hosts_schema import CONNECTION, Entry, HostsFile, Launching, first_mistake
from profiles.schema_mistakes import read_toml


def read_hosts_file(path: Path, ssh_config: Path) -> Inventory:
    """The inventory in ``path``; ``ssh_config`` is where aliases stand, unless the file says.

    Raises
    ------
    InventoryError: it is missing, malformed, or contradicts itself.
    """
    return _HostsFile(path).inventory(ssh_config)


class _HostsFile:
    """One reading of one file, so that every complaint can say where."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entry_lines: list[int] = []

    def inventory(self, ssh_config: Path) -> Inventory:
        document = self._parse()
        try:
            checked = HostsFile.model_validate(document)
        except ValidationError as error:
            mistake = first_mistake(error, document)
            where = self._where(mistake.at, document)
            raise InventoryError(mistake.what, where=where, remedy=mistake.remedy) from None
        shared = checked.defaults.said()
        if checked.defaults.ssh_config:
            ssh_config = Path(checked.defaults.ssh_config).expanduser()
        aliases = frozenset(read_ssh_aliases(ssh_config))
        hosts: dict[str, Host] = {}
        entry_of: dict[str, int] = {}
        for number, entry in enumerate(checked.hosts):
            for host in _hosts_of(entry, shared, checked.labels, aliases):
                if host.name in hosts:
                    raise InventoryError(
                        f"host {host.name!r} is listed twice",
                        where=self._where(("hosts", number), document),
                        remedy=f"it already stands in entry {entry_of[host.name] + 1}; "
                        "remove one of them",
                    )
                hosts[host.name] = host
                entry_of[host.name] = number
        self._refuse_jump_loops(hosts)
        listed = tuple(hosts.values())
        share = Share(checked.defaults.share)
        if checked.defaults.engine in QUEUES:
            login = listed[0] if listed else _here(shared)
            engine, options = checked.defaults.engine, checked.slurm.options
            found = Inventory((), self._path, (), share, engine, login, options)
        else:
            extra = aliased_hosts(ssh_config, shared, listed)
            found = Inventory(listed, self._path, extra, share, job_options=checked.slurm.options)
        notify = None if checked.notify is None else checked.notify.settings
        return replace(found, clusters=checked.slurm.options_by_cluster(), notify=notify)

    def _parse(self) -> dict[str, Any]:
        try:
            text = self._path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError as error:
            raise self._wrong(
                "no such file", remedy="create it, or leave --inventory out for this machine alone"
            ) from error
        except UnicodeDecodeError as error:
            raise self._wrong("is not UTF-8 text", remedy="save it as UTF-8") from error
        except OSError as error:
            raise self._wrong(f"cannot be read: {error.strerror}") from error
        self._entry_lines = [
            number
            for number, line in enumerate(text.splitlines(), 1)
            if re.match(r"\s*\[\[\s*hosts\s*\]\]", line)
        ]
        try:
            return read_toml(text)
        except tomllib.TOMLDecodeError as error:
            match = re.search(r"\(at line (\d+), column \d+\)", str(error))
            line = f":{match[1]}" if match else ""
            what = re.sub(r" \(at .*\)$", "", str(error))
            raise InventoryError(
                f"not valid TOML: {what}",
                where=f"{self._path}{line}",
                remedy='every line is key = value, text stands in "quotes"',
            ) from error

    def _where(self, at: Sequence[int | str], document: Mapping[str, Any]) -> str:
        """The file, the table and the key that ``at`` leads to."""
        where, rest = str(self._path), tuple(at)
        if rest[:2] == ("slurm", "clusters") and len(rest) > 2:
            where, rest = f"{where}, [slurm.clusters.{rest[2]}]", rest[3:]
        elif rest[:1] in (("defaults",), ("slurm",), ("notify",)):
            where, rest = f"{where}, [{rest[0]}]", rest[1:]
        elif rest[:1] == ("labels",) and len(rest) > 1:
            where, rest = f"{where}, [labels.{rest[1]}]", rest[2:]
        elif rest[:1] == ("hosts",) and len(rest) > 1 and isinstance(rest[1], int):
            where, rest = self._entry_where(rest[1], document["hosts"][rest[1]]), rest[2:]
        else:
            return where
        return f"{where}, key {rest[0]!r}" if rest else where

    def _entry_where(self, number: int, entry: object) -> str:
        line = f":{self._entry_lines[number]}" if number < len(self._entry_lines) else ""
        name = entry.get("name") if isinstance(entry, dict) else None
        title = f" {name!r}" if isinstance(name, str) else ""
        return f"{self._path}{line}, [[hosts]] entry {number + 1}{title}"

    def _refuse_jump_loops(self, hosts: Mapping[str, Host]) -> None:
        for host in hosts.values():
            way = [host.name]
            following: Host | None = host
            while following is not None and following.jump:
                way.append(following.jump)
                if following.jump in way[:-1]:
                    raise self._wrong(
                        f"the jump hosts go in a circle: {' → '.join(way)}",
                        remedy=f'set jump = "" on the host that is reached directly ({way[-1]!r}?)',
                    )
                following = hosts.get(following.jump)

    def _wrong(self, what: str, remedy: str = "") -> InventoryError:
        return InventoryError(what, where=str(self._path), remedy=remedy)


def _here(shared: Mapping[str, Any]) -> Host:
    said = {key: value for key, value in shared.items() if key not in CONNECTION}
    return replace(this_machine(), **{**said, "transport": "local"})


def _hosts_of(
    entry: Entry,
    shared: Mapping[str, Any],
    labels: Mapping[str, Launching],
    aliases: frozenset[str],
) -> tuple[Host, ...]:
    hosts = []
    said: Mapping[str, Any] = {**shared, **entry.said()}
    of_labels = [
        labels[name].model_dump(exclude_unset=True)
        for name in said.get("labels", ())
        if name in labels
    ]
    for index, name in enumerate(entry.name):
        inherited = dict(shared)
        if entry.address is None and name in aliases:
            for key in CONNECTION:
                inherited.pop(key, None)
        if inherited.get("jump") == name:
            del inherited["jump"]  # the default jump host is reached directly
        given = {**inherited, **entry.said(), "name": name}
        given |= _launching([shared, *of_labels, entry.said()])
        if entry.address is not None:
            given["address"] = entry.address[index]
        elif given.get("transport", "ssh") == "ssh":
            given["address"] = name
        if entry.train_address is not None:
            given["train_address"] = entry.train_address[index]
        hosts.append(Host(**given))
    return tuple(hosts)


def _launching(levels: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Variables of all levels, the nearest value of each; the nearest arguments as a whole."""
    said: dict[str, Any] = {}
    variables = [word for level in levels for word in level.get("environment", ())]
    if variables:
        named = {word.partition("=")[0]: word for word in variables}
        said["environment"] = tuple(named.values())
    for level in levels:
        if "mpi_arguments" in level:
            said["mpi_arguments"] = tuple(level["mpi_arguments"])
    return said
