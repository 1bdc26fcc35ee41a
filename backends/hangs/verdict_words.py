"""A diagnosis in words: one line for who looks, a few more for who has to act."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from backends.hangs.diagnosis import Confidence, Diagnosis, Finding, Lacking, Sign, Source, Suspect
from backends.hangs.evidence import Lack
from backends.inventory.nodesets import fold_nodeset
from profiles.cleantext import clean_text

_MOST_NAMED = 4
_FIRST = (  # of several signs the one that says where it is, then what is the matter
    Sign.BEHIND,
    Sign.AHEAD,
    Sign.OTHER_COLLECTIVE,
    Sign.NOT_STARTED,
    Sign.STOPPED,
    Sign.TRACED,
    Sign.GONE,
    Sign.RAS_DEAD,
    Sign.RAS_MISSING,
    Sign.GPU_LOST,
    Sign.XID,
    Sign.OUT_OF_MEMORY,
    Sign.UNINTERRUPTIBLE,
    Sign.HOST_SILENT,
    Sign.STACK_DIFFERS,
)
_SURELY = {
    Confidence.HIGH: "",
    Confidence.MEDIUM: "probably ",
    Confidence.LOW: "perhaps ",
    Confidence.NONE: "",
}


_PAST = {
    "is": "was",
    "are": "were",
    "has": "had",
    "have": "had",
    "does": "did",
    "gives": "gave",
    "keeps": "kept",
    "wait": "waited",
    "misses": "missed",
    "says": "said",
}
_BEFORE = ("others", "ranks", "rank", "nothing", "RAS", "GPU", "says it")
"""Words behind which one of these is a verb of ours, and no name in what a host said."""
_BEHIND = "|".join(["^", *(rf"(?<=\b{word} )" for word in _BEFORE)])
_VERB = re.compile(rf"(?:{_BEHIND})(?:{'|'.join(_PAST)})\b")


def verdict_line(found: Diagnosis, *, silent: bool = True, past: bool = False) -> str:
    """``rank 5 on node3 is in all_reduce #1482, all others in #1483: node3 GPU5; Xid 79 at
    02:13:07``. ``silent``: the run does not move, so that something keeps it. ``past``: it
    has ended since, or moves."""
    if not found.suspects:
        keeps = "which rank keeps the others could not be told"
        line = f"{keeps if silent else 'nothing is wrong to be seen'}{_waiting(found)}"
        return _in_the_past(line) if past else line
    named = [_accused(suspect, found, past=past) for suspect in found.suspects[:_MOST_NAMED]]
    more = len(found.suspects) - _MOST_NAMED
    line = " · ".join(named) + (f" · and {more} more" if more > 0 else "")
    return clean_text(_SURELY[found.confidence] + line)


def _waiting(found: Diagnosis) -> str:
    where = _collective(found.collective, found.number)
    if found.waiting:
        everybody = found.waiting == found.ranks
        who = f"all {found.ranks} ranks" if everybody else f"{found.waiting} of {found.ranks} ranks"
        return f": {who} wait" + (f" in {where}" if where else "")
    return f": the ranks are in {where}" if where else ""


def _accused(suspect: Suspect, found: Diagnosis, *, past: bool) -> str:
    findings = sorted(suspect.findings, key=_order)
    first, rest = findings[0], findings[1:]
    said = _said(first, found, alone=len(found.suspects) == 1)
    asides = [_aside(finding) for finding in rest]
    if past:
        said, *asides = map(_in_the_past, (said, *asides))
    line = f"{_who(suspect)} {said}"
    if suspect.device is not None:
        line += f": {clean_text(suspect.host)} GPU{suspect.device}"
    return "; ".join([line, *dict.fromkeys(asides)])


def _in_the_past(said: str) -> str:
    return _VERB.sub(lambda verb: _PAST[verb[0]], said)


def _order(finding: Finding) -> tuple[int, str]:
    known = _FIRST.index(finding.sign) if finding.sign in _FIRST else len(_FIRST)
    return known, finding.sign


def _who(suspect: Suspect) -> str:
    host = clean_text(suspect.host)
    if suspect.rank is None:
        process = f"process {suspect.pid} on " if suspect.pid is not None else ""
        return f"{process}{host}"
    return f"rank {suspect.rank} on {host}" if host else f"rank {suspect.rank}"


def _collective(name: str, number: int | None) -> str:
    if number is None:
        return name
    return f"{name or 'operation'} #{number}"


def _said(finding: Finding, found: Diagnosis, *, alone: bool) -> str:
    others = "all others" if alone else "others"
    here = _collective(finding.collective, finding.number)
    match finding.sign:
        case Sign.BEHIND | Sign.AHEAD:
            verb = "has come to" if finding.text in ("", "completed") else "is in"
            return f"{verb} {here}, {others} to #{finding.most}".replace(
                f"is in {here}, {others} to", f"is in {here}, {others} in"
            )
        case Sign.OTHER_COLLECTIVE:
            return f"is in {here}, {others} in {finding.text} #{finding.most}"
        case Sign.NOT_STARTED:
            return f"has not started {here}, {others} have"
    line = f"{_STATES.get(finding.sign, '')}"
    if finding.sign is Sign.XID:
        line = f"has {_aside(finding)}"
    if finding.sign is Sign.UNINTERRUPTIBLE and finding.text:
        line += f" ({clean_text(finding.text)})"
    if finding.sign is Sign.STACK_DIFFERS:
        line += f" but in {clean_text(finding.text)}"
    where = _collective(found.collective, found.number)
    if where and alone:
        line += f", {others} are in {where}"
    return line or _aside(finding)


_STATES = {
    Sign.STOPPED: "is stopped by a signal",
    Sign.TRACED: "is held by a debugger",
    Sign.GONE: "has no process any more",
    Sign.GPU_LOST: "has lost its GPU",
    Sign.OUT_OF_MEMORY: "was ended for want of memory",
    Sign.RAS_DEAD: "is dead, says NCCL's RAS",
    Sign.RAS_MISSING: "does not answer NCCL's RAS",
    Sign.UNINTERRUPTIBLE: "is in a wait that no ordinary signal interrupts",
    Sign.HOST_SILENT: "does not answer",
    Sign.NO_DUMP: "gives no flight recorder's dump",
    Sign.STACK_DIFFERS: "does not wait",
    Sign.IDLE_GPU: "has an idle GPU, those of the other ranks are busy",
    Sign.NVLINK: "has trouble with an NVLink",
    Sign.PCIE: "has PCIe errors",
    Sign.HUNG_TASK: "is reported as hung by the kernel",
    Sign.NETWORK: "has trouble with its network",
}


def _aside(finding: Finding) -> str:
    """As a remark: what comes after the first sign."""
    match finding.sign:
        case Sign.XID:
            said = f"Xid {finding.xid}"
        case Sign.BEHIND | Sign.AHEAD:
            said = f"at {_collective(finding.collective, finding.number)} of #{finding.most}"
        case Sign.STACK_DIFFERS:
            said = f"in {clean_text(finding.text)}"
        case _:
            said = _ASIDES.get(finding.sign) or _STATES.get(finding.sign, str(finding.sign))
    return f"{said}{_at(finding)}"


_ASIDES = {
    Sign.STOPPED: "stopped by a signal",
    Sign.RAS_MISSING: "NCCL's RAS misses it",
    Sign.RAS_DEAD: "NCCL's RAS says it is dead",
    Sign.GPU_LOST: "its GPU is lost",
    Sign.IDLE_GPU: "its GPU is idle, those of the other ranks are busy",
}


def _at(finding: Finding) -> str:
    if finding.at is None:
        return ""
    return f" at {datetime.fromtimestamp(finding.at).astimezone():%H:%M:%S}"


def evidence_lines(found: Diagnosis) -> list[str]:
    """The lines of the kernel's log that speak against somebody, and what could not be asked."""
    lines = [
        clean_text(finding.text)
        for suspect in found.suspects
        for finding in suspect.findings
        if finding.at is not None and finding.text
    ]
    return [*dict.fromkeys(lines), *lacking_lines(found.lacking)]


def lacking_lines(lacking: Sequence[Lacking]) -> list[str]:
    """``py-spy: not installed on node[1-4]``"""
    return [f"{_missed(one)} on {fold_nodeset(one.hosts)}" for one in lacking]


def _missed(one: Lacking) -> str:
    if one.source is Source.RAS and one.why is Lack.NOT_THERE:
        return "NCCL's own report (RAS, from NCCL 2.24 on): none"
    return f"{one.source}: {one.why}"
