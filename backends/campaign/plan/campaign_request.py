"""``campaign.toml``: what was asked, for ``run --from`` to do again and ``resume`` to go on."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import BaseModel, ConfigDict, ValidationError

from backends.campaign.plan.selection import ATTEMPTS, REQUEST_NAME, Selection
from backends.hosts.placement import Placement
from backends.inventory.host_entry import Host
from backends.inventory.host_to_toml import host_of, host_table
from backends.inventory.queue import Queue, queue_of, queue_table
from backends.results.auto_repeats import AutoRepeats, limited, parse_repeats
from backends.results.result_files import write_in_campaign
from profiles.errors import SelectionError
from profiles.format.validators import key_text
from profiles.schema_mistakes import mistakes, read_toml


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    profiles: tuple[str, ...]
    cases: tuple[str, ...] = ()
    picked: tuple[str, ...] = ()
    repeats: int | str | Mapping[str, int] | None = None
    max_repeats: int | None = None
    budget: str | None = None
    hosts: str = ""
    name: str = ""
    attempts: int = ATTEMPTS
    explain: bool = False
    placement: Placement = Placement.FIRST
    pack: bool = False
    values: Mapping[str, tuple[str, ...] | str | int | float] = {}


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    campaign: _Asked
    profile_dirs: tuple[str, ...] = ()
    forced: bool = False
    hosts: tuple[dict[str, Any], ...] = ()  # Host's own fields
    queue: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """The selection, and the hosts as the inventory described them then; ``queue``: that gives
    them."""

    selection: Selection
    hosts: tuple[Host, ...]
    profile_dirs: tuple[str, ...] = ()
    forced: bool = False
    queue: Queue | None = None


def write_request(path: Path, request: Request) -> None:
    selection = request.selection
    asked: dict[str, Any] = {"profiles": list(selection.profiles)}
    asked |= {key: value for key, value in _said(selection).items() if value}
    document: dict[str, Any] = {"campaign": asked}
    if request.profile_dirs:
        document["profile_dirs"] = list(request.profile_dirs)
    if request.forced:
        document["forced"] = True
    document |= {"queue": queue_table(request.queue)} if request.queue else {}
    document["hosts"] = [host_table(host) for host in request.hosts]
    text = "# What was asked. Do it again: dlperf-tui run --from campaign.toml\n\n"
    write_in_campaign(path, text + tomli_w.dumps(document))  # runs that go on are found by it


def _said(selection: Selection) -> Mapping[str, Any]:
    """What differs from what would be anyway; the rest is empty."""
    rule, placement, repeats = selection.auto, selection.placement, selection.repeats
    repeats = dict(repeats) if isinstance(repeats, Mapping) else repeats
    budget = rule.budget_gpu_s if rule is not None else None
    return {
        "name": selection.name,
        "cases": list(selection.cases),
        "picked": list(selection.picked),
        "repeats": repeats if rule is None else str(rule),
        "max_repeats": rule and rule.max_repeats,
        "budget": "" if budget is None else f"{budget:g}s",
        "attempts": selection.attempts if selection.attempts != ATTEMPTS else None,
        "explain": selection.explain,
        "placement": "" if placement is Placement.FIRST else str(placement),
        "pack": selection.pack,
        "hosts": selection.hosts,
        "values": {key: list(values) for key, values in selection.values.items()},
    }


def read_request(path: Path) -> Request:
    """Read a campaign.toml, or the one in a campaign directory.

    Raises
    ------
    SelectionError: it is missing, not TOML, or does not say what to run.
    """
    file = path / REQUEST_NAME if path.is_dir() else path
    try:
        data = read_toml(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SelectionError(
            "no such file", where=str(file), remedy="give a campaign.toml or a campaign directory"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SelectionError(f"cannot be read: {error}", where=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        raise SelectionError(f"not valid TOML: {error}", where=str(file)) from None
    try:
        parsed = _File.model_validate(data)
        hosts = tuple(host_of(table) for table in parsed.hosts)
        queue = None if parsed.queue is None else queue_of(parsed.queue)
    except ValidationError as error:
        first = mistakes(error.errors(include_url=False), data)[0]
        raise SelectionError(
            first.what,
            where=f"{file}: {key_text(first.at)}",
            remedy="is it a campaign.toml? 'dlperf-tui run' writes one",
        ) from None
    except (LookupError, TypeError, ValueError) as error:
        raise SelectionError(
            f"hosts: {error}", where=str(file), remedy="correct the entry, as in the inventory"
        ) from None
    asked = parsed.campaign
    repeats, auto = _repeats(asked, str(file))
    selection = Selection(
        profiles=asked.profiles,
        cases=asked.cases,
        values={key: _texts(value) for key, value in asked.values.items()},
        repeats=repeats,
        auto=auto,
        hosts=asked.hosts,
        picked=asked.picked,
        name=asked.name,
        attempts=asked.attempts,
        explain=asked.explain,
        placement=asked.placement,
        pack=asked.pack,
    )
    return Request(selection, hosts, parsed.profile_dirs, parsed.forced, queue)


def _repeats(
    asked: _Asked, where: str
) -> tuple[int | Mapping[str, int] | None, AutoRepeats | None]:
    """A number, or one by profile, or the rule with its limits, which a number has not."""
    try:
        repeats = parse_repeats(asked.repeats) if isinstance(asked.repeats, str) else asked.repeats
        if isinstance(repeats, AutoRepeats):
            return None, limited(repeats, asked.max_repeats, asked.budget)
    except SelectionError as error:
        raise SelectionError(error.what, where=where, remedy=error.remedy) from None
    if asked.max_repeats is not None or asked.budget is not None:
        raise SelectionError(
            "max_repeats and budget are limits of repeats that go on until it is known",
            where=where,
            remedy='add repeats = "auto"',
        )
    return repeats, None


def _texts(value: Sequence[str] | str | int | float) -> tuple[str, ...]:
    return (str(value),) if isinstance(value, str | int | float) else tuple(value)
