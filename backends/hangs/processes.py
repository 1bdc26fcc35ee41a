"""The processes of a run, as ``diagnose.sh`` lists them."""

from __future__ import annotations

from collections.abc import Mapping

from backends.hangs.evidence import Process
from profiles.cleantext import clean_text

_STATES = frozenset("RSDTtZXIKWP")
_MOST = 4096


def read_processes(text: str) -> tuple[Process, ...]:
    """Lines that make no sense are left out."""
    found = (_process(line) for line in text.split("\n")[:_MOST])
    return tuple(process for process in found if process is not None)


def _process(line: str) -> Process | None:
    keys, tab, words = line.partition("\t")
    if not tab:
        return None
    told = dict(word.split("=", 1) for word in keys.split(" ") if "=" in word)
    pid, state = _whole(told, "pid"), told.get("state", "")
    if not pid or state not in _STATES:
        return None
    before = told.get("before", "")
    return Process(
        pid=pid,
        state=state,
        before=before if before in _STATES else state,
        parent=_whole(told, "parent") or 0,
        rank=_whole(told, "rank"),
        local_rank=_whole(told, "local"),
        cpu=_whole(told, "cpu") or 0,
        stuck=_whole(told, "stuck") or 0,
        wchan=clean_text(told.get("wchan", "").removeprefix("-"))[:64],
        command=clean_text(words).strip()[:200],
    )


def _whole(told: Mapping[str, str], key: str) -> int | None:
    text = told.get(key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None
