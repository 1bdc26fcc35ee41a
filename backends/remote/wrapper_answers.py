"""The wrapper's answers, read: lines that begin with "@", and its own words where it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from backends.remote.wrapper_messages import RemoteError, RunPhase, RunStatus
from backends.transports.transport import Completed
from profiles.cleantext import clean_text

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def rest_of_line(output: bytes, start: str) -> str:
    """What follows ``start`` on the last line of a wrapper's output that begins with it."""
    for line in reversed(output.decode("utf-8", "replace").splitlines()):
        if line.startswith(start):
            return line.removeprefix(start)
    return ""


def fields_of(output: bytes, start: str, host: str) -> Mapping[str, str]:
    fields = dict(re.findall(r"(\w+)=(\S+)", rest_of_line(output, start)))
    if not fields:
        raise RemoteError("the host gave no answer that we understand", where=host)
    return fields


def time_of(text: str) -> float | None:
    # Where date knows no %N the text ends in a letter.
    match = _NUMBER.match(text)
    return float(match[0]) if match else None


def orphans_of(answer: Mapping[str, str]) -> tuple[int, ...] | None:
    """The pids in ``orphans=``; None: the host cannot tell."""
    text = answer.get("orphans", "-")
    if text == "?":
        return None
    return tuple(int(one.partition(":")[0]) for one in text.split(",") if one != "-")


def status_of(output: bytes, host: str) -> RunStatus:
    answer = fields_of(output, "@status ", host)
    try:
        return RunStatus(
            phase=RunPhase(answer["phase"]),
            pid=None if answer["pid"] == "-" else int(answer["pid"]),
            boot_id=answer["boot"],
            same_boot=answer["same_boot"] == "1",
            size=int(answer["size"]),
            exit_code=None if answer["code"] == "-" else int(answer["code"]),
            started_at=time_of(answer["started"]),
            ended_at=time_of(answer["ended"]),
            timed_out=answer["timed_out"] == "1",
            leftovers=int(answer["leftovers"]),
            left=int(answer["left"]),
            cancelled=answer["cancelled"] == "1",
            orphans=orphans_of(answer),
            oom_kills=int(answer.get("oom", "0")),
            quiet_s=time_of(answer.get("quiet", "-")),
        )
    except (KeyError, ValueError) as error:
        raise RemoteError("the record of the run is damaged", where=host) from error


def message_of(done: Completed) -> str:
    """The wrapper's own words, else the last line of stderr."""
    lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    ours = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    others = [line for line in lines if not line.startswith("error: ")]
    said = [*ours[-1:], *others[-1:]] if ours else others[-1:]
    return clean_text(": ".join(said))[:1000]
