"""A dump of PyTorch's flight recorder: the last collective of a rank.

A dump is a pickle, which can hold anything. It is read by the unpickler that is written in Python,
which is told to find no class, so that nothing is called, and knows no more opcodes than a dump
needs; what needs more is no dump.

Source: PyTorch, torch/csrc/distributed/c10d/FlightRecorder (version 2.x).
"""

from __future__ import annotations

import io
import json
import pickle
from typing import Any, ClassVar  # what a pickle may hold

from backends.hangs.evidence import Collective, Lack

MOST_BYTES = 2 << 20
"""Of one dump: that unpickler takes some seconds for as much."""
MOST_BYTES_OF_ALL = 4 << 20
"""Of all that are read for one diagnosis."""
_STATES = ("scheduled", "started", "completed")


def _set(found: object, items: list[Any]) -> None:
    if type(found) is not dict or any(type(key) is not str for key in items[::2]):
        raise pickle.UnpicklingError("a dump's keys are strings")
    found.update(zip(items[::2], items[1::2], strict=True))


def _set_item(reader: Any) -> None:  # typeshed leaves out an unpickler's stack
    value, key = reader.stack.pop(), reader.stack.pop()
    _set(reader.stack[-1], [key, value])


def _set_items(reader: Any) -> None:
    items = reader.pop_mark()
    _set(reader.stack[-1], items)


_LEFT_OUT = b"pd\x8f\x90\x91\x96"
"""What PyTorch does not write, and a few bytes make endless: sets and keys of any kind, since a
tuple can take for ever to hash, or more stack than there is; PUT and DICT, by numbers of one hash;
BYTEARRAY8, which gets as much memory as it asks for."""


class _PlainUnpickler(pickle._Unpickler):  # its memo is a dict: no index makes it large
    dispatch: ClassVar[dict[int, Any]] = {
        **{
            code: load for code, load in pickle._Unpickler.dispatch.items() if code not in _LEFT_OUT
        },
        pickle.SETITEM[0]: _set_item,
        pickle.SETITEMS[0]: _set_items,
    }

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} in a dump")


def read_flight(
    content: bytes, status: int | None, most_bytes: int = MOST_BYTES
) -> Collective | Lack:
    """The last collective of the default process group in a dump; why there is none."""
    if status == 5 or len(content) > most_bytes:
        return Lack.TOO_LARGE
    if status == 6 or not content:
        return Lack.NOT_THERE
    if status is None:
        return Lack.SILENT
    dump = _loaded(content)
    entries = dump.get("entries") if isinstance(dump, dict) else None
    if not isinstance(entries, list):
        return Lack.UNREADABLE
    found = [one for entry in entries if (one := _collective(entry)) is not None]
    if not found:
        return Lack.UNREADABLE if entries else Lack.NOT_THERE
    groups: dict[object, list[Collective]] = {}
    for group, collective in found:
        groups.setdefault(group, []).append(collective)
    # Of the default group, which all ranks are in; it is the one that is named "0".
    chosen = groups.get("0") or max(groups.values(), key=len)
    return max(chosen, key=lambda collective: collective.number)


def _loaded(content: bytes) -> object:
    if content[:1] in (b"{", b"["):
        try:
            value: object = json.loads(content)
        except (ValueError, RecursionError):
            return None
        return value
    try:
        value = _PlainUnpickler(io.BytesIO(content)).load()
    except Exception:  # a pickle's opcodes fail with whatever they like
        return None
    return value


def _collective(entry: object) -> tuple[object, Collective] | None:
    if not isinstance(entry, dict):
        return None
    number, name, state = (
        entry.get("collective_seq_id"),
        entry.get("profiling_name"),
        entry.get("state"),
    )
    if type(number) is not int or not 0 < number < 1 << 53:  # 0 is what point-to-point has
        return None
    if type(name) is not str or state not in _STATES or entry.get("is_p2p") is True:
        return None
    group = entry.get("process_group")
    which = group[0] if isinstance(group, list | tuple) and group else group
    short = name[-200:].rpartition(":")[2][:40]  # the same megabyte may stand in every entry
    safe = "".join(c for c in short if c.isascii() and (c.isalnum() or c in "_-"))
    return (which if isinstance(which, str) else ""), Collective(safe, number, str(state))
