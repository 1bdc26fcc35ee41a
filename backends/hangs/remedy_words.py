"""What to do about a run that did not move, by what its hosts said of it."""

from __future__ import annotations

from backends.hangs.diagnosis import Diagnosis, Sign, Suspect
from profiles.cleantext import clean_text

NOBODY_NAMED = "try it again on other hosts; where it stalls there too, it is not the hosts"

_GO_ON = "let {who} on {host} go on: somebody stopped it, or holds it"
_REMEDIES = (  # of several signs the one that helps most surely
    (
        (Sign.XID, Sign.GPU_LOST, Sign.NVLINK, Sign.PCIE),
        "leave {host} out, and have {gpu} looked at",
    ),
    ((Sign.OUT_OF_MEMORY,), "give {host} more memory to spare: a smaller batch, fewer loaders"),
    ((Sign.STOPPED, Sign.TRACED), _GO_ON),
    (
        (Sign.UNINTERRUPTIBLE, Sign.HUNG_TASK),
        "look at the file systems and drivers of {host}: {who} waits for one",
    ),
    ((Sign.HOST_SILENT,), "log in to {host}: it did not answer"),
    ((Sign.NETWORK,), "look at the network ports of {host}"),
    ((Sign.GONE, Sign.RAS_DEAD), "look in the log for why {who} ended on {host}"),
)
_WAS_STOPPED = "find out who stopped {who} on {host}, or held it"
_OF_THE_PROGRAM = "look at what {who} did on {host} while the others waited for it"


def remedy_line(found: Diagnosis | None, *, over: bool = False) -> str:
    """One line, of the likeliest suspect; ``found``: None where nobody was asked. ``over``: the run
    has ended, and its processes with it."""
    if found is None or not found.suspects:
        return NOBODY_NAMED
    first = found.suspects[0]
    words = next(
        (words for signs, words in _REMEDIES if first.signs.intersection(signs)), _OF_THE_PROGRAM
    )
    gpu = "its GPUs" if first.device is None else f"GPU{first.device}"
    if words is _GO_ON and over:
        words = _WAS_STOPPED
    if words is _GO_ON and Sign.STOPPED in first.signs and first.pid is not None:
        words = f"{{who}} on {{host}} was stopped; this lets it go on there: kill -CONT {first.pid}"
    return words.format(host=clean_text(first.host) or "its host", who=_who(first), gpu=gpu)


def _who(suspect: Suspect) -> str:
    if suspect.rank is not None:
        return f"rank {suspect.rank}"
    return "a process of it" if suspect.pid is None else f"process {suspect.pid}"
