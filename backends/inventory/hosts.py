"""The hosts an operator may use: hosts.toml, ssh aliases, nodesets; without one, this machine."""

from __future__ import annotations

import difflib
import fnmatch
import re
import socket
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from backends.inventory.aliases import read_ssh_aliases
from backends.inventory.keys import ADDRESS, CHECKS, CONNECTION, NAME, ONLY_ON_A_HOST, mend_address
from backends.inventory.nodesets import expand_nodeset, fold_nodeset, split_top_level
from profiles.errors import DlperfError, SelectionError


class InventoryError(DlperfError):
    """The inventory file is missing, malformed, or contradicts itself."""


@dataclass(frozen=True, slots=True)
class Host:
    """A machine reached by one transport.

    ``address`` is what SSH connects to (or an alias of the ssh config), ``train_address`` what the
    other hosts' ranks connect to. ``slots``: devices to use where there is no GPU; None: its CPUs.
    ``jump``: name of another inventory host or ``[user@]address[:port]``. Paths may start with ~;
    ``identity``, ``known_hosts`` and ``ssh_config`` are on this machine, ``work_dir`` and
    ``lease_dir`` on the host; without a ``lease_dir`` the lease lies in no directory.
    """

    name: str
    transport: Literal["ssh", "local"] = "ssh"
    address: str = ""
    port: int | None = None
    user: str | None = None
    identity: str | None = None
    known_hosts: str | None = None
    ssh_config: str | None = None
    jump: str | None = None
    train_address: str = ""
    interface: str | None = None
    labels: tuple[str, ...] = ()
    slots: int | None = None
    work_dir: str = "~/.cache/dlperf-tui"
    lease_dir: str = ""


_REACHED = ("transport", "address", "port", "user", "identity", "known_hosts", "ssh_config", "jump")


def reached_as(host: Host, today: Host) -> Host:
    """The host as it was, reached as it is ``today``: keys and addresses change, but what a run
    left in its ``work_dir`` is where it was."""
    return replace(host, **{key: getattr(today, key) for key in _REACHED})


@dataclass(frozen=True, slots=True)
class Inventory:
    """Hosts in the order of the file. ``path`` is None for the built-in inventory (this machine).

    ``aliases``: names of the ssh config that the file does not list; they can be selected too.
    """

    hosts: tuple[Host, ...]
    path: Path | None = None
    aliases: tuple[Host, ...] = ()

    def get(self, name: str) -> Host | None:
        """The host (or ssh alias) of that name, None where there is none."""
        return next((host for host in (*self.hosts, *self.aliases) if host.name == name), None)


def listed_address(host: Host) -> str:
    """The address as a table shows it: ``10.11.0.2``, ``127.0.0.1:2222``, ``local``."""
    if host.transport == "local":
        return "local"
    address = host.address or host.name
    if host.port in (None, 22):
        return address
    return f"[{address}]:{host.port}" if ":" in address else f"{address}:{host.port}"


def train_address_of(host: Host) -> str:
    """What the ranks of other hosts connect to: train_address, else address, else the name.

    A local host without either is 127.0.0.1, which only hosts of the same machine can reach.
    """
    if host.transport == "local":
        return host.train_address or host.address or "127.0.0.1"
    return host.train_address or host.address or host.name


def default_inventory_path() -> Path:
    """``$XDG_CONFIG_HOME/dlperf-tui/hosts.toml``, by default below ``~/.config``."""
    from platformdirs.unix import Unix  # noqa: PLC0415 (the XDG rule on every system)

    return Unix("dlperf-tui").user_config_path / "hosts.toml"


def load_inventory(
    path: Path | None = None,
    *,
    default_path: Path | None = None,
    ssh_config: Path | None = None,
    hostname: str | None = None,
) -> Inventory:
    """Read the inventory, or make up the one of this machine alone.

    Parameters
    ----------
    path: what ``--inventory`` names; it must exist.
    default_path: read when ``path`` is None and it exists; None: :func:`default_inventory_path`.
    ssh_config: where the operator's ssh aliases stand; None: ``~/.ssh/config``.
    hostname: this machine's name; None: ask the system.

    Raises InventoryError, which names the file, the entry, the key and the remedy.
    """
    default_path = default_path or default_inventory_path()
    ssh_config = ssh_config or Path("~/.ssh/config").expanduser()
    if path is None and not default_path.exists():
        this_machine = Host(name=_short_name(hostname), transport="local")
        return Inventory((this_machine,), None, _aliases(ssh_config, {}, (this_machine,)))
    return _InventoryFile(path or default_path, ssh_config).read()


def select(inventory: Inventory, nodeset: str | None) -> tuple[Host, ...]:
    """Hosts in the order of mention, each once; None selects all hosts of the inventory.

    ``nodeset``: names and ranges (``node[1-2],login``), labels (``@v100``; ``@*`` is every host),
    wildcards (``node*``); ``!`` takes away what follows it (``@v100!node3``).

    Raises SelectionError for unknown names and labels and for a selection that comes out empty.
    """
    if nodeset is None:
        return inventory.hosts
    chosen: dict[str, Host] = {}
    for separator, piece in split_top_level(nodeset, ",!"):
        if not piece:
            if separator == "" and nodeset.lstrip().startswith("!"):
                chosen.update((host.name, host) for host in inventory.hosts)
                continue
            raise SelectionError(
                f"empty name in {nodeset!r}",
                where="hosts",
                remedy="write names like node[1-2],login or a label like @v100",
            )
        found = _select_piece(inventory, piece)
        if separator == "!":
            for host in found:
                chosen.pop(host.name, None)
        else:
            chosen.update((host.name, host) for host in found if host.name not in chosen)
    if not chosen:
        raise SelectionError(
            f"{nodeset!r} leaves no host", where="hosts", remedy=_known_hosts(inventory)
        )
    return tuple(chosen.values())


def _select_piece(inventory: Inventory, piece: str) -> Sequence[Host]:
    if piece.startswith("@"):
        label = piece[1:]
        found = [host for host in inventory.hosts if label == "*" or label in host.labels]
        if not found:
            labels = sorted({label for host in inventory.hosts for label in host.labels})
            raise SelectionError(
                f"no host has the label {label!r}",
                where="hosts",
                remedy=f"known labels: {', '.join(labels)}" if labels else "no host has labels",
            )
        return found
    if "*" in piece or "?" in piece:
        found = [host for host in inventory.hosts if fnmatch.fnmatchcase(host.name, piece)]
        if not found:
            raise SelectionError(
                f"no host matches {piece!r}", where="hosts", remedy=_known_hosts(inventory)
            )
        return found
    try:
        names = expand_nodeset(piece)
    except ValueError as error:
        raise SelectionError(
            str(error), where="hosts", remedy="write names like node[1-2],login"
        ) from error
    return [_named(inventory, name) for name in names]


def _named(inventory: Inventory, name: str) -> Host:
    host = inventory.get(name)
    if host is None:
        known = [host.name for host in (*inventory.hosts, *inventory.aliases)]
        raise SelectionError(
            f"unknown host {name!r}{_did_you_mean(name, known)}",
            where="hosts",
            remedy=_known_hosts(inventory),
        )
    return host


def _known_hosts(inventory: Inventory) -> str:
    names = [host.name for host in inventory.hosts]
    source = f" (from {inventory.path})" if inventory.path else ""
    return f"known hosts: {fold_nodeset(names)}{source}"


def _did_you_mean(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f", did you mean {near[0]!r}?" if near else ""


def _short_name(hostname: str | None) -> str:
    name = (socket.gethostname() if hostname is None else hostname).split(".")[0]
    return name if NAME.fullmatch(name) else "localhost"


def _aliases(
    ssh_config: Path, shared: Mapping[str, Any], listed: Sequence[Host]
) -> tuple[Host, ...]:
    """Hosts for the ssh config's aliases. How to connect is the ssh config's to say, so that the
    file's defaults for user, port, identity and jump do not apply to them."""
    kept = {key: value for key, value in shared.items() if key not in (*CONNECTION, "transport")}
    kept.pop("labels", None)
    names = [name for name in read_ssh_aliases(ssh_config) if NAME.fullmatch(name)]
    taken = {host.name for host in listed}
    return tuple(Host(name=name, address=name, **kept) for name in names if name not in taken)


_HOST_KEYS = tuple(field.name for field in fields(Host))
_DEFAULT_KEYS = tuple(key for key in _HOST_KEYS if key not in ONLY_ON_A_HOST)


class _InventoryFile:
    """One reading of one hosts.toml, so that every complaint can say where."""

    def __init__(self, path: Path, ssh_config: Path) -> None:
        self._path = path
        self._ssh_config = ssh_config
        self._entry_lines: list[int] = []

    def read(self) -> Inventory:
        document = self._parse()
        self._refuse_unknown(document, ("defaults", "hosts"), "the file", self._path_text())
        defaults = document.get("defaults", {})
        entries = document.get("hosts", [])
        if not isinstance(defaults, dict):
            raise self._wrong("[defaults] must be a table", remedy="write [defaults] above it")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._wrong("hosts must be tables", remedy="write [[hosts]] in double brackets")
        if not entries:
            raise self._wrong("lists no host", remedy='add [[hosts]] with name = "…"')
        shared = self._checked(defaults, _DEFAULT_KEYS, f"{self._path_text()}, [defaults]")
        aliases = frozenset(read_ssh_aliases(self._ssh_config_of(shared)))
        hosts: list[Host] = []
        seen: dict[str, str] = {}
        for number, entry in enumerate(entries):
            where = self._entry_where(number, entry)
            for host in self._hosts_of(entry, where, shared, aliases):
                if host.name in seen:
                    raise InventoryError(
                        f"host {host.name!r} is listed twice",
                        where=where,
                        remedy=f"it already stands in {seen[host.name]}; remove one of them",
                    )
                seen[host.name] = f"entry {number + 1}"
                hosts.append(host)
        self._refuse_jump_loops(hosts)
        extra = _aliases(self._ssh_config_of(shared), shared, hosts)
        return Inventory(tuple(hosts), self._path, extra)

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
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            match = re.search(r"\(at line (\d+), column \d+\)", str(error))
            line = f":{match[1]}" if match else ""
            what = re.sub(r" \(at .*\)$", "", str(error))
            raise InventoryError(
                f"not valid TOML: {what}",
                where=f"{self._path}{line}",
                remedy='every line is key = value, text stands in "quotes"',
            ) from error

    def _hosts_of(
        self,
        entry: Mapping[str, Any],
        where: str,
        shared: Mapping[str, Any],
        aliases: frozenset[str],
    ) -> Sequence[Host]:
        checked = self._checked(entry, _HOST_KEYS, where)
        if "name" not in entry:
            raise InventoryError("has no name", where=where, remedy='add name = "node1"')
        names = self._expanded(entry, "name", where, NAME, "letters, digits, . _ and -")
        by_key = {
            key: self._expanded(entry, key, where, ADDRESS, "a host name or an IP address")
            for key in ("address", "train_address")
            if key in entry
        }
        for key, values in by_key.items():
            if len(values) != len(names):
                raise InventoryError(
                    f"{len(names)} names but {len(values)} addresses",
                    where=f"{where}, key {key!r}",
                    remedy=f"{entry['name']!r} needs as many of each, like node[1-2] and "
                    "10.0.0.[1-2]",
                )
        hosts = []
        for index, name in enumerate(names):
            inherited = dict(shared)
            if "address" not in by_key and name in aliases:
                for key in CONNECTION:
                    inherited.pop(key, None)
            if inherited.get("jump") == name:
                del inherited["jump"]  # the default jump host is reached directly
            given = {**inherited, **checked, "name": name}
            given.update((key, values[index]) for key, values in by_key.items())
            if given.get("transport", "ssh") == "ssh":
                given.setdefault("address", name)
            hosts.append(Host(**given))
        return hosts

    def _expanded(
        self, entry: Mapping[str, Any], key: str, where: str, allowed: re.Pattern[str], hint: str
    ) -> Sequence[str]:
        where = f"{where}, key {key!r}"
        text = entry[key]
        if not isinstance(text, str) or not text.strip():
            raise InventoryError(
                f"must be text in quotes, not {text!r}", where=where, remedy=f"give {hint}"
            )
        try:
            values = expand_nodeset(text)
        except ValueError as error:
            raise InventoryError(
                str(error), where=where, remedy="write a nodeset like node[1-4]"
            ) from error
        for value in values:
            if not allowed.fullmatch(value):
                raise InventoryError(
                    f"{value!r} is not allowed", where=where, remedy=mend_address(value, hint)
                )
        return values

    def _checked(
        self, table: Mapping[str, Any], known: Sequence[str], where: str
    ) -> dict[str, Any]:
        if known is _DEFAULT_KEYS:
            for key in ONLY_ON_A_HOST:
                if key in table:
                    raise InventoryError(
                        f"{key!r} cannot be a default", where=where, remedy="move it to [[hosts]]"
                    )
        self._refuse_unknown(table, known, "a host", where)
        checked = {}
        for key, value in table.items():
            if key in CHECKS:
                try:
                    checked[key] = CHECKS[key](value)
                except (TypeError, ValueError) as error:
                    what, _, remedy = str(error).partition("; ")
                    raise InventoryError(
                        what, where=f"{where}, key {key!r}", remedy=remedy
                    ) from error
        return checked

    def _refuse_unknown(
        self, table: Mapping[str, Any], known: Sequence[str], owner: str, where: str
    ) -> None:
        for key in table:
            if key not in known:
                raise InventoryError(
                    f"unknown key {key!r}{_did_you_mean(key, known)}",
                    where=where,
                    remedy=f"the keys of {owner} are {', '.join(known)}",
                )

    def _refuse_jump_loops(self, hosts: Sequence[Host]) -> None:
        by_name = {host.name: host for host in hosts}
        for host in hosts:
            way = [host.name]
            following: Host | None = host
            while following is not None and following.jump:
                way.append(following.jump)
                if following.jump in way[:-1]:
                    raise self._wrong(
                        f"the jump hosts go in a circle: {' → '.join(way)}",
                        remedy=f'set jump = "" on the host that is reached directly ({way[-1]!r}?)',
                    )
                following = by_name.get(following.jump)

    def _ssh_config_of(self, shared: Mapping[str, Any]) -> Path:
        own = shared.get("ssh_config")
        return Path(own).expanduser() if own else self._ssh_config

    def _entry_where(self, number: int, entry: Mapping[str, Any]) -> str:
        line = ""
        if number < len(self._entry_lines):
            line = f":{self._entry_lines[number]}"
        name = entry.get("name")
        title = f" {name!r}" if isinstance(name, str) else ""
        return f"{self._path}{line}, [[hosts]] entry {number + 1}{title}"

    def _path_text(self) -> str:
        return str(self._path)

    def _wrong(self, what: str, remedy: str = "") -> InventoryError:
        return InventoryError(what, where=self._path_text(), remedy=remedy)
