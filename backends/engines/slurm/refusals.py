"""What of what a job asks for is not there, by the words in which Slurm refuses it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from backends.engines.refusal import Refusal
from backends.engines.slurm.commands import SlurmCommands, SlurmError
from backends.transports.transport import HostUnreachableError
from profiles.cleantext import clean_text

_KEYS = {
    "invalid account": "account",
    "invalid qos": "qos",
    "reservation is invalid": "reservation",
    "invalid reservation": "reservation",
    "invalid partition": "partition",
}
"""By slurm_strerror(3), as of 20.11 to 24.05."""
_MOST = 20


async def refusal(words: str, commands: SlurmCommands) -> Refusal:
    """``words``: of sbatch. What there is instead is asked for, and nothing is said where nobody
    knows."""
    key = next((key for some, key in _KEYS.items() if some in words.lower()), "")
    known: Collection[str] = ()
    with contextlib.suppress(SlurmError, HostUnreachableError):
        known = await _known(key, commands)
    names = sorted(clean_text(name) for name in known if name)
    more = (f"{len(names) - _MOST} more",) if len(names) > _MOST else ()
    return Refusal(words, key, (*names[:_MOST], *more))


async def _known(key: str, commands: SlurmCommands) -> Collection[str]:
    if key == "reservation":
        told = await commands.run("scontrol", "--oneliner", "show", "reservation")
        fields = (dict(w.partition("=")[::2] for w in line.split()) for line in told.splitlines())
        return {field.get("ReservationName", "") for field in fields}
    if key == "partition":
        told = await commands.run("sinfo", "--all", "--noheader", "--format=%R")
        return set(told.split())
    if key in ("account", "qos"):
        user = (await commands.run("id", "-un")).strip()
        words = ("--noheader", "--parsable2", "show", "associations", f"user={user}")
        told = await commands.run("sacctmgr", *words, f"format={key}")
        return {name for line in told.splitlines() for name in line.split(",")}
    return ()
