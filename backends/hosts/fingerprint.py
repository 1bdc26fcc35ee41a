"""Fingerprints of environments: their text, and what differs between them.

A text is ``PLATFORM; KEY: VALUE; KEY: VALUE…``, such as ``H200, driver 580, Debian; ECC: on;
python: torch 2.11.0``. A key that one of two texts does not have is not known there, and makes no
difference: a tool did not answer, or an older version wrote the text, the platform alone. Of a
platform that is a GPU model alone, as a log states it, the rest is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from profiles.gpu_models import gpu_model, short_model

UNKNOWN = "unknown"
_PLATFORM = ""  # its key
PLATFORM_FIELDS = ("GPU model", "CPU", "system", "platform")
VERSIONS = ("driver", "CUDA")
"""Of the platform's fields those that have their names in its text; the others have none."""
_AND = " + "
"""Between what one run has of several hosts, or a host of several GPUs."""
OR = " / "
"""Between what several environments have; a comma is between the fields of one."""
_KERNEL = re.compile(r"\d+\.\d[^,]*\Z")
_PACKAGE = re.compile(r"[A-Za-z_]\S* \d")
_BETWEEN = re.compile(r"; (?=[A-Za-z_][\w -]*: )", re.ASCII)


def fingerprint_text(platform: str, parts: Mapping[str, str]) -> str:
    """What is unknown, or empty, is left out. Semicolons of a host's own become commas."""
    known = [f"{key}: {value}" for key, value in parts.items() if not is_unknown(value)]
    return "; ".join(text.replace(";", ",") for text in (platform, *known))


def devices_of(text: str) -> str:
    """The GPU model that a fingerprint begins with, or the CPU; ``A + B`` of several, on one host
    or on several."""
    platforms = _parts(text)[_PLATFORM].split(_AND)
    return _AND.join(dict.fromkeys(platform.partition(", ")[0] for platform in platforms))


def devices_of_several(texts: Iterable[str]) -> str:
    """The same of the runs behind one figure: ``A / B`` where no run had both."""
    return OR.join(dict.fromkeys(devices_of(text) for text in sorted(texts)))


def short_devices(devices: str) -> str:
    """Either as lists have it, each model once."""
    models = (
        _AND.join(dict.fromkeys(map(short_model, own.split(_AND)))) for own in devices.split(OR)
    )
    return OR.join(dict.fromkeys(models))


def on_several_models(text: str) -> bool:
    """Whether one run, or one host, had devices of several models."""
    return _AND in short_devices(devices_of(text))


def driver_of(text: str) -> str:
    """``driver 580.159.04``; empty where none is told."""
    parts = _parts(text)[_PLATFORM].split(", ")
    return next((part for part in parts if part.startswith("driver ")), "")


def models_and_drivers(text: str) -> set[tuple[str, str]]:
    """The GPU models of a fingerprint, or its CPUs, each with its driver: ``driver 580.1``, empty
    where none is told."""
    platforms = _parts(text)[_PLATFORM].split(_AND)
    return {(one.partition(", ")[0], driver_of(one)) for one in platforms}


def has_gpus(text: str) -> bool:
    """Whether a probed host's fingerprint is of one with GPUs: they come with a driver."""
    return bool(driver_of(text))


def devices_alone(gpu: str) -> str:
    """The text of an environment of which the GPU model is known and nothing else; empty where
    ``gpu`` is no model that a result could be equal to another in."""
    model = gpu_model(gpu)
    return model.name if model else ""


def tells_devices_alone(text: str) -> bool:
    """Whether an environment's text says which GPU it was, and no more."""
    return gpu_model(text) is not None


def is_unknown(value: str) -> bool:
    return not value or value.startswith(UNKNOWN)


def joined(texts: Iterable[str], between: str = _AND) -> str:
    """One for several hosts, or with ``OR`` between them for several runs, where each value of each
    key is there once: ``on + off``.

    What one of them does not know is left out.
    """
    all_parts = [_parts(text) for text in sorted(set(texts))]
    shared = [key for key in all_parts[0] if all(key in p for p in all_parts)] if all_parts else []
    values = {key: _once(between.join(p[key] for p in all_parts), between) for key in shared}
    return fingerprint_text(values.pop(_PLATFORM, ""), values)


def _once(value: str, between: str = _AND) -> str:
    """Of several hosts' values each where it is first."""
    return between.join(dict.fromkeys(value.split(between)))


def several(texts: Iterable[str]) -> bool:
    """Whether two of them are known to be of different environments."""
    return bool(_differing([_parts(text) for text in set(texts)]))


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that environments say of themselves. ``key``: empty for the platform. ``values``:
    of each of them, ``unknown`` where it does not say. ``differs``: two of them are known to."""

    key: str
    values: tuple[str, ...]
    differs: bool


def has_no_packages(key: str, value: str) -> bool:
    """An interpreter that was looked into, and has no framework, has ``none`` in a fingerprint."""
    return value == "none" and not key.endswith(" changes")


def of_packages(part: Part) -> bool:
    """What the interpreter of a program has: ``torch 2.11.0, …``, or none."""
    key = part.key
    return bool(key) and any(has_no_packages(key, v) or _PACKAGE.match(v) for v in part.values)


def side_by_side(texts: Sequence[str]) -> tuple[Part, ...]:
    """All that any of the texts says, the platform first."""
    all_parts = [_parts(text) for text in texts]
    differing = _differing(all_parts)
    keys = dict.fromkeys(key for parts in all_parts for key in parts)
    return tuple(
        Part(key, tuple(parts.get(key) or UNKNOWN for parts in all_parts), key in differing)
        for key in keys
    )


def apart(texts: Sequence[str]) -> tuple[str, ...]:
    """Of each text what differs between them; ``unknown`` where it does not say."""
    fields = _all_fields(texts)
    found = [
        key
        for key in dict.fromkeys(key for text in texts for key in fields[text])
        if len({fields[text][key] for text in texts if key in fields[text]}) > 1
    ]
    return tuple(
        ", ".join(field_text(key, fields[text].get(key, UNKNOWN)) for key in found)
        for text in texts
    )


def field_text(key: str, value: str) -> str:
    """As a fingerprint has it: what begins one has no name."""
    if key in PLATFORM_FIELDS:
        return value
    return f"{key} {value}" if key in VERSIONS else f"{key}: {value}"


def fields_apart(*sides: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By name what is known to differ between any of the texts, with the values of each side:
    ``A / B`` of several texts, ``A + B`` of the hosts of one. ``GPU model`` (or ``CPU``),
    ``driver``, ``CUDA`` and ``system`` are the platform's, which is one field where none of these
    differs."""
    each = [[*side] for side in sides]
    fields = _all_fields([text for side in each for text in side])
    found = {}
    for key in dict.fromkeys(key for own in fields.values() for key in own):
        values = [
            dict.fromkeys(fields[text][key] for text in side if key in fields[text])
            for side in each
        ]
        if all(values) and len({value for own in values for value in own}) > 1:
            found[key] = tuple(OR.join(own) for own in values)
    return found


def _all_fields(texts: Sequence[str]) -> dict[str, dict[str, str]]:
    """By text its parts, with the platform's fields in the place of the platform."""
    all_parts = {text: _parts(text) for text in texts}
    gpus = any(has_gpus(text) or tells_devices_alone(text) for text in texts)
    devices = "GPU model" if gpus else "CPU"
    fields = {text: _platform_fields(parts, devices) for text, parts in all_parts.items()}
    others = {
        text: {key: value for key, value in parts.items() if value and key != _PLATFORM}
        for text, parts in all_parts.items()
    }
    # Which host has which driver: what is paired otherwise is in no field by itself.
    if _PLATFORM in _differing([*all_parts.values()]) and not _any_differs(fields.values()):
        fields = {
            text: {"platform": parts[_PLATFORM]} if parts[_PLATFORM] else {}
            for text, parts in all_parts.items()
        }
    return {text: fields[text] | others[text] for text in all_parts}


def _any_differs(fields: Iterable[Mapping[str, str]]) -> bool:
    values: dict[str, set[str]] = {}
    for own in fields:
        for key, value in own.items():
            values.setdefault(key, set()).add(value)
    return any(len(own) > 1 for own in values.values())


def _platform_fields(parts: Mapping[str, str], devices: str) -> dict[str, str]:
    """``A + B`` of several hosts."""
    found: dict[str, dict[str, None]] = {}
    for platform in filter(None, parts[_PLATFORM].split(_AND)):
        name, *rest = platform.split(", ")
        own = {devices: short_model(name)}
        for key in VERSIONS:
            if rest and rest[0].startswith(f"{key} "):
                own[key] = rest.pop(0).removeprefix(f"{key} ")
        for key, value in (own | ({"system": ", ".join(rest)} if rest else {})).items():
            found.setdefault(key, {})[value] = None
    return {key: _AND.join(values) for key, values in found.items()}


def changes_text(before: Iterable[str], now: Iterable[str]) -> str:
    """``driver 550.1 → 580.1, kernel 6.1.0 → 6.8.0, python: torch 2.10 → torch 2.11``: of what
    differs between the texts of two figures, without what both have in it."""
    found = fields_apart(sorted(before), sorted(now))
    return ", ".join(_change(key, ours, theirs) for key, (ours, theirs) in unlike(found).items())


def unlike(found: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Of :func:`fields_apart` of two sides without what both had in the same several ways; all,
    where nothing else differs."""
    left = {key: own for key, own in found.items() if len({*map(_ways, own)}) > 1}
    return left or dict(found)


def _ways(value: str) -> frozenset[str]:
    return frozenset(value.split(OR))


def _change(key: str, before: str, now: str) -> str:
    ours, theirs = before, now
    if not any(sign in before + now for sign in (_AND, OR)):  # else commas also part hosts
        sides = before.split(", "), now.split(", ")
        ours = ", ".join(part for part in sides[0] if part not in sides[1]) or "–"
        theirs = ", ".join(part for part in sides[1] if part not in sides[0]) or "–"
    kernel = key == "system" and all(map(_KERNEL.match, (ours, theirs)))
    if kernel or key in VERSIONS:
        return f"{'kernel' if kernel else key} {ours} → {theirs}"
    return f"{'' if key in PLATFORM_FIELDS else f'{key}: '}{ours} → {theirs}"


def not_known(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Of each text the keys that another one has and it has not; ``platform`` for the beginning."""
    parts = [part for part in side_by_side(texts) if not part.differs]
    return tuple(
        tuple(part.key or "platform" for part in parts if _lacks(part, place))
        for place in range(len(texts))
    )


def _lacks(part: Part, place: int) -> bool:
    value = part.values[place]
    alike = len(set(part.values)) == 1
    devices = part.key == _PLATFORM and tells_devices_alone(value)
    return value == UNKNOWN or (devices and not alike)


def _differing(all_parts: Sequence[Mapping[str, str]]) -> list[str]:
    keys: dict[str, None] = {}
    for one, other in combinations(all_parts, 2):
        keys.update(dict.fromkeys(k for k in one if k in other and _differ(k, one[k], other[k])))
    return list(keys)


def _differ(key: str, one: str, other: str) -> bool:
    if not (one and other):  # a text that says nothing at all
        return False
    if key == _PLATFORM and (tells_devices_alone(one) or tells_devices_alone(other)):
        one, other = map(devices_of, (one, other))
    return one != other


def _parts(text: str) -> dict[str, str]:
    platform, *parts = _BETWEEN.split(text)
    pairs = (part.partition(": ") for part in parts)
    found = {_PLATFORM: platform, **{key: value for key, _, value in pairs}}
    return {key: _once(value) for key, value in found.items()}  # older versions repeat them
