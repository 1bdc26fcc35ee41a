"""The names of the logs that this program writes: of a case, and back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from profiles.format.case import GLOBAL_BATCH, Case
from profiles.scalars import scalar_text

if TYPE_CHECKING:  # a third of a second, for who only wants a safe name
    from profiles.format.profile import Parameter, Profile

_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
_NO_PRECISION = "fp32"
_IN_FRONT = ("batch_size", "precision")
PROFILED = "profiled"


def safe_name(text: str, fallback: str = "x") -> str:
    """A single path component out of any text: no separators, no leading dot, never empty."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = _UNSAFE.sub("-", plain.strip()).strip("-.").replace("..", ".")
    return name[:80] or fallback


def log_path(
    profile: Profile,
    case: Case,
    repeat: int,
    attempt: int,
    taken: Container[str] = (),
    *,
    profiled: bool = False,
) -> str:
    """``logs/<framework>/<model>/<tag>/<model>_b<batch>_<precision>_<repeat>.log``.

    Parameters that are not at the profile's default follow the precision; a retry ends in ``-a2``,
    so that the failed attempt's log stays; a profiled run has no number. Where two profiles share
    framework and model, the one that finds its name ``taken`` puts its own name in front.
    """
    model = safe_name(profile.model.lower())
    parts = [model]
    if case.batch_size is not None:
        parts.append(f"b{case.batch_size}")
    parts.append(safe_name(case.precision or _NO_PRECISION))
    parts += [f"{safe_name(k)}-{safe_name(str(v))}" for k, v in _others(profile, case).items()]
    number = PROFILED if profiled else str(repeat)
    parts.append(f"{number}-a{attempt}" if attempt > 1 else number)
    folder = PurePosixPath("logs", safe_name(profile.framework.lower()), model, case.tag)
    path = str(folder / ("_".join(parts) + ".log"))
    if path in taken:
        path = str(folder / ("_".join([safe_name(profile.name), *parts]) + ".log"))
    return path


def _others(profile: Profile, case: Case) -> Mapping[str, object]:
    return {
        name: value
        for name, value in sorted(case.parameters.items())
        if name not in _IN_FRONT
        and (name not in profile.parameters or profile.parameters[name].default != value)
    }


@dataclass(frozen=True)
class OwnLogName:
    """What such a name says. ``values``: as texts by parameter, and by :data:`GLOBAL_BATCH`; one
    that it does not hold was at its default then. ``repeat``: None of a profiled run."""

    nodes: int
    gpus_per_node: int
    values: Mapping[str, str]
    repeat: int | None
    attempt: int


def read_own_name(profile: Profile, path: str) -> OwnLogName | None:
    """None: this program writes no such name for a case of the profile."""
    parts = path.rsplit("/", 2)
    tag = re.fullmatch(r"(\d{1,5})n(\d{1,3})g", parts[-2], re.ASCII) if len(parts) > 1 else None
    model = safe_name(profile.model.lower())
    name = parts[-1].removeprefix(f"{safe_name(profile.name)}_{model}_")
    name = name if name != parts[-1] else parts[-1].removeprefix(f"{model}_")
    found = re.fullmatch(_pattern(profile), name, re.ASCII) if name != parts[-1] else None
    if tag is None or found is None:
        return None
    names = [*_IN_FRONT, *_ordered(profile)]
    texts = {name: found.group(f"p{number}") for number, name in enumerate(names)}
    values = {
        name: _value(profile.parameters.get(name), text) for name, text in texts.items() if text
    }
    number = found.group("repeat")
    return OwnLogName(
        nodes=int(tag[1]),
        gpus_per_node=int(tag[2]),
        values=values,
        repeat=None if number == PROFILED else int(number),
        attempt=int(found.group("attempt") or 1),
    )


def _pattern(profile: Profile) -> str:
    """Of the name behind the model."""
    return "".join(_parts(profile))


def _parts(profile: Profile) -> Iterator[str]:
    batch, precision = (profile.parameters.get(name) for name in _IN_FRONT)
    is_count = batch is not None and type(batch.default) is int
    yield r"b(?P<p0>\d{1,9})_" if is_count else "(?P<p0>(?!))?"
    yield f"(?P<p1>{_texts(precision)})" if precision else f"(?P<p1>(?!))?{_NO_PRECISION}"
    for number, name in enumerate(_ordered(profile), start=len(_IN_FRONT)):
        texts = _texts(profile.parameters.get(name))
        yield f"(?:_{re.escape(safe_name(name))}-(?P<p{number}>{texts}))?"
    yield rf"_(?P<repeat>[1-9]\d{{0,5}}|{PROFILED})(?:-a(?P<attempt>[1-9]\d{{0,5}}))?\.log"


def _ordered(profile: Profile) -> list[str]:
    names = {*profile.parameters, GLOBAL_BATCH}
    return sorted(names - set(_IN_FRONT))


def _texts(parameter: Parameter | None) -> str:
    """A pattern of a value's text; ``parameter``: None of the global batch."""
    if parameter is None:
        return r"\d{1,12}"
    known = [re.escape(safe_name(str(choice))) for choice in parameter.choices]
    if isinstance(parameter.default, str) and parameter.free:
        known.append(r"[A-Za-z0-9._+-]{1,80}?")
    elif not isinstance(parameter.default, str | bool):
        known.append(r"-?[\d.e+-]{1,40}")  # numbers were run, whatever the choices are now
    return "|".join(sorted(known, key=len, reverse=True))


def _value(parameter: Parameter | None, text: str) -> str:
    """The choice that is written so, as its text."""
    for choice in parameter.choices if parameter else ():
        if safe_name(str(choice)) == text:
            return scalar_text(choice)
    return text
