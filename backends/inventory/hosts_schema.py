"""What hosts.toml may say, key by key, and a mistake in it as a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from backends.inventory.host_entry import ENGINES, HOST_NAME, PULLS, QUEUES, TRANSPORTS
from backends.inventory.job_options import JobOptions
from backends.inventory.nodesets import expand_nodeset
from backends.inventory.notify_schema import Notify
from profiles.format.job_keys import JobKeys
from profiles.nearest import did_you_mean
from profiles.schema_mistakes import SchemaMistake, mistakes, shown

# One colon is a port; IPv6 addresses have at least two.
_ADDRESS = re.compile(r"(?!-)(?![^:]*:[^:]*$)[A-Za-z0-9._:%-]+", re.ASCII)

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

CONNECTION = ("user", "port", "identity", "jump")
"""How to log in, where an alias of the ssh config does not say it."""

ONLY_ON_A_HOST = ("name", "address", "train_address")


def _mistake(what: str, remedy: str, key: str = "") -> PydanticCustomError:
    context = {"what": what, "remedy": remedy, "key": key}
    return PydanticCustomError("mistake", "{what}; {remedy}", context)


def _expanded(allowed: re.Pattern[str], hint: str) -> Callable[[object], tuple[str, ...]]:
    """A nodeset as its names, each of which is ``allowed``."""

    def expand(value: object) -> tuple[str, ...]:
        if not isinstance(value, str) or not value.strip():
            raise _mistake(f"must be text in quotes, not {shown(value)}", f"give {hint}")
        try:
            names = expand_nodeset(value)
        except ValueError as error:
            raise _mistake(str(error), "write a nodeset like node[1-4]") from None
        for name in names:
            if not allowed.fullmatch(name):
                raise _mistake(f"{name!r} is not allowed", _mend_address(name, hint))
        return names

    return expand


def _mend_address(value: str, hint: str) -> str:
    if "@" in value:
        return 'put the part before @ into user = "…"'
    if re.fullmatch(r"[^:]+:\d+", value):
        return "put the part after : into port = …"
    return f"use {hint}"


def _assignments(value: object) -> tuple[str, ...]:
    """``{ NAME = "value" }``, or what this program writes: ``["NAME=value"]``."""
    if isinstance(value, list | tuple):
        value = dict(str(word).partition("=")[::2] for word in value)
    if not isinstance(value, dict):
        raise _mistake(f"must be a table, not {shown(value)}", 'write { NAME = "value" }')
    for name, text in value.items():
        if not _VARIABLE.fullmatch(name):
            raise _mistake(f"{name!r} is no variable", "use letters, digits and _")
        if not isinstance(text, str) or not text.isprintable():
            raise _mistake(f"{name} must be text in quotes, not {shown(text)}", 'write "3" for 3')
    return tuple(f"{name}={text}" for name, text in value.items())


def _none_if_empty(value: str) -> str | None:
    return value or None


def _write(names: Collection[str]) -> str:
    return f"write {' or '.join(map(repr, names))}"


def _one_of(names: Collection[str], what: str) -> AfterValidator:
    def known(name: str) -> str:
        if name not in names:
            raise _mistake(f"{name!r} is not {what}", _write(names))
        return name

    return AfterValidator(known)


_Transport = Annotated[str, _one_of(TRANSPORTS, "a transport")]
_Names = Annotated[
    tuple[str, ...], BeforeValidator(_expanded(HOST_NAME, "letters, digits, . _ and -"))
]
_Addresses = Annotated[
    tuple[str, ...], BeforeValidator(_expanded(_ADDRESS, "a host name or an IP address"))
]
_Login = Annotated[str, Field(pattern=r"\A(?!-)[^\s@:/\x00-\x1f\x7f]+\Z")]
_Path = Annotated[str, Field(pattern=r"\A[^\x00-\x1f\x7f]+\Z")]
# Empty on a host: no jump host, whatever the defaults say.
_Jump = Annotated[
    str, Field(pattern=r"\A(?:(?!-)(?:[^\s@,/]+@)?[^\s@,/]+)?\Z"), AfterValidator(_none_if_empty)
]
_Interface = Annotated[str, Field(pattern=r"\A[\^=]?[A-Za-z0-9._:@,-]+\Z")]
_Label = Annotated[str, Field(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9._-]*\Z")]
_WorkDir = Annotated[str, Field(pattern=r"\A(?:~(?:/[^\x00-\x1f\x7f]*)?|/[^\x00-\x1f\x7f]*)\Z")]
_Environment = Annotated[tuple[str, ...], BeforeValidator(_assignments)]
_Word = Annotated[str, Field(pattern=r"\A[^\x00-\x1f\x7f]+\Z")]
_LeaseDir = Annotated[str, Field(pattern=r"\A(?:/[^\x00-\x1f\x7f]+)?\Z")]


class Launching(BaseModel):
    """What the network of some hosts asks of whatever is started there."""

    # Lookaheads take Python's own engine; a number in quotes is no number.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, regex_engine="python-re")

    environment: _Environment | None = Field(default=None, description='write { NAME = "value" }')
    mpi_arguments: Annotated[tuple[_Word, ...], Field(strict=False)] | None = Field(
        default=None, description='write a list of words like ["-mca", "btl", "tcp,self"]'
    )


class Keys(Launching):
    """What every table about hosts may say. None: not said. A description mends a wrong value."""

    transport: _Transport | None = Field(default=None, description=_write(TRANSPORTS))
    port: int | None = Field(default=None, ge=1, le=65535, description="give 1 to 65535")
    user: _Login | None = Field(default=None, description="give a login name")
    identity: _Path | None = Field(default=None, description="give the path of a private key")
    known_hosts: _Path | None = Field(default=None, description="give a path")
    ssh_config: _Path | None = Field(default=None, description="give a path")
    jump: _Jump | None = Field(
        default=None, description="give one inventory host or [user@]address[:port]"
    )
    interface: _Interface | None = Field(
        default=None, description="give a network interface like ib0"
    )
    labels: Annotated[tuple[_Label, ...], Field(strict=False)] | None = Field(
        default=None, description='write words like ["v100", "rack1"]: letters, digits, . _ and -'
    )
    slots: int | None = Field(default=None, ge=1, le=4096, description="give 1 to 4096")
    work_dir: _WorkDir | None = Field(
        default=None, description="give an absolute path or one that starts with ~/"
    )
    lease_dir: _LeaseDir | None = Field(default=None, description="give an absolute path")
    price_per_hour: float | None = Field(
        default=None, ge=0, le=1e9, allow_inf_nan=False, description="give a price like 2.5"
    )
    pull: Literal["never", "missing"] | None = Field(
        default=None, description=f"write {' or '.join(map(repr, PULLS))}"
    )

    def said(self) -> dict[str, object]:
        """What is said, as fields of :class:`backends.inventory.host_entry.Host`."""
        said = self.model_dump(exclude_unset=True, exclude=set(ONLY_ON_A_HOST))
        if "labels" in said:
            said["labels"] = tuple(dict.fromkeys(said["labels"]))
        return said


class Defaults(Keys):
    """``[defaults]``: what holds for every host, and what concerns none."""

    share: Literal["private", "group"] = Field(
        default="private", description="write 'private' or 'group'"
    )
    engine: Annotated[str, _one_of(ENGINES, "an engine")] = Field(
        default="direct", description=_write(ENGINES)
    )

    def said(self) -> dict[str, object]:
        return {k: v for k, v in super().said().items() if k not in ("share", "engine")}


class Entry(Keys):
    """``[[hosts]]``: one host, or as many as its nodesets have names."""

    name: _Names
    address: _Addresses | None = None
    train_address: _Addresses | None = None

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        for key, addresses in (("address", self.address), ("train_address", self.train_address)):
            if addresses is not None and len(addresses) != len(self.name):
                raise _mistake(
                    f"{len(self.name)} names but {len(addresses)} addresses",
                    "give as many of each, like node[1-2] and 10.0.0.[1-2]",
                    key,
                )
        return self


class Slurm(JobKeys):
    """``[slurm]``, and ``[slurm.clusters.NAME]``."""

    allocation: Literal["run", "campaign"] = Field(
        default="run", description='write "run", a job for each, or "campaign", one for all'
    )
    nodes: int | None = Field(default=None, ge=1, description="give a number of nodes")
    clusters: dict[_Label, JobKeys] = Field(default_factory=dict)

    @property
    def options(self) -> JobOptions:
        return JobOptions(**self.model_dump(exclude={"clusters"}))

    def options_by_cluster(self) -> dict[str, JobOptions]:
        """Each over those of ``[slurm]``; the partition is called as it is, unless it says."""
        return {
            name: self.options.over({"partition": name, **keys.model_dump(exclude_unset=True)})
            for name, keys in self.clusters.items()
        }


class HostsFile(BaseModel):
    """All of hosts.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True, regex_engine="python-re")

    defaults: Defaults = Defaults()
    labels: dict[_Label, Launching] = Field(default_factory=dict)
    hosts: tuple[Entry, ...] = ()
    slurm: Slurm = Slurm()
    notify: Notify | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        queue = self.defaults.engine in QUEUES
        if not self.hosts and not queue:
            raise _mistake("lists no host", 'add [[hosts]] with name = "…"')
        if queue and sum(len(entry.name) for entry in self.hosts) > 1:
            raise _mistake(
                f"lists several hosts, and engine {self.defaults.engine!r} has its own",
                "name one, a login node, or none where this machine is one",
            )
        return self


class OneHost(Keys):
    """A host in a file that this program wrote."""

    name: str = Field(pattern=rf"\A(?:{HOST_NAME.pattern})\Z", description="use a name")
    address: str = Field(
        default="", pattern=rf"\A(?:{_ADDRESS.pattern})?\Z", description="use an address"
    )
    train_address: str = Field(
        default="", pattern=rf"\A(?:{_ADDRESS.pattern})?\Z", description="use an address"
    )


@dataclass(frozen=True, slots=True)
class Mistake:
    """``at``: the way to the table or the value, such as ``("hosts", 2, "port")``."""

    at: tuple[int | str, ...]
    what: str
    remedy: str


def first_mistake(error: ValidationError, document: object, table: type[Keys] = Entry) -> Mistake:
    """The mistake to tell first: in the first wrong table a key that does not exist, else a value.

    ``document``: what was checked. ``table``: what a host's table is; its descriptions say how a
    value is mended.
    """
    first = min(mistakes(error.errors(include_url=False), document), key=_order)
    if first.kind == "mistake":
        context = first.details[0]["ctx"]
        at = (*first.at, context["key"]) if context["key"] else first.at
        return Mistake(at, context["what"], context["remedy"])
    about_table = first.kind in ("extra_forbidden", "missing")
    return Mistake(first.at[:-1] if about_table else first.at, *_told(first, table))


def _order(mistake: SchemaMistake) -> tuple[int, bool]:
    at = mistake.at
    number = at[1] if len(at) > 1 and isinstance(at[1], int) else -1
    return number, mistake.kind != "extra_forbidden"


def _told(mistake: SchemaMistake, table: type[Keys]) -> tuple[str, str]:
    """What is wrong and how to mend it."""
    at, kind = mistake.at, mistake.kind
    key = next((str(part) for part in reversed(at) if isinstance(part, str)), "")
    if kind == "extra_forbidden":
        return _unknown(key, at, table)
    if kind == "missing":
        return f"has no {key}", f'add {key} = "node1"'
    if kind in _TABLES and key in _TABLES[kind]:
        return _TABLES[kind][key]
    of_table: dict[object, type[BaseModel]] = {
        "defaults": Defaults,
        "slurm": _slurm(at),
        "notify": Notify,
    }
    field = of_table.get(at[0], table).model_fields.get(key)
    remedy = (field.description if field else "") or ""
    value = shown(mistake.details[0]["input"])
    what = _WORDS[kind].format(value=value, key=key) if kind in _WORDS else mistake.what
    one_of_several = {"labels": "label ", "extra": "word "}.get(key, "") if at[-1] != key else ""
    return one_of_several + what, remedy


_TABLES = {
    "model_type": {
        "defaults": ("must be a table", "write [defaults] above it"),
        "hosts": ("hosts must be tables", "write [[hosts]] in double brackets"),
        "slurm": ("must be a table", "write [slurm] above it"),
        "notify": ("must be a table", "write [notify] above it"),
    },
    "tuple_type": {"hosts": ("hosts must be tables", "write [[hosts]] in double brackets")},
}
_WORDS = {
    "tuple_type": "must be a list of words, not {value}",
    "int_type": "must be a whole number without quotes, not {value}",
    "float_type": "must be a number without quotes, not {value}",
    "finite_number": "{value} is out of range",
    "greater_than_equal": "{value} is out of range",
    "less_than_equal": "{value} is out of range",
    "literal_error": "{value} is not allowed",
}
"""By pydantic's kinds of errors; the others as :mod:`profiles.schema_mistakes` tells them."""


def _slurm(at: Sequence[int | str]) -> type[BaseModel]:
    return JobKeys if tuple(at[:2]) == ("slurm", "clusters") else Slurm


def _unknown(key: str, at: Sequence[int | str], table: type[Keys]) -> tuple[str, str]:
    owner, known = "a host", tuple(Keys.model_fields)
    if at[0] == "labels":
        owner, known = "a label", tuple(Launching.model_fields)
    elif at[0] == "slurm" and len(at) > 1:
        of_one = at[1:2] == ("clusters",)
        owner, known = "a cluster" if of_one else "[slurm]", tuple(_slurm(at).model_fields)
    elif at[0] == "notify" and len(at) > 1:
        owner, known = "[notify]", tuple(Notify.model_fields)
    elif at[0] == "defaults":
        if key in ONLY_ON_A_HOST:
            return f"{key!r} cannot be a default", "move it to [[hosts]]"
        owner, known = "[defaults]", tuple(Defaults.model_fields)
    elif len(at) == 1 and table is Entry:
        owner, known = "the file", tuple(HostsFile.model_fields)
    else:
        known = (*ONLY_ON_A_HOST, *known)
    remedy = f"the keys of {owner} are {', '.join(known)}"
    return f"unknown key {key!r}{did_you_mean(key, known)}", remedy
