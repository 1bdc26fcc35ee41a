"""What a host itself can tell about a run that failed there: a full disk, GPU driver errors."""

from __future__ import annotations

import re
from dataclasses import replace
from shlex import quote

from backends.campaign.record.cause import Cause
from backends.campaign.run.end_reason import Ended
from backends.campaign.run.host_part import Member
from backends.transports.transport import HostUnreachableError, Transport
from profiles.cleantext import clean_line

FULL_BELOW_KIB = 1024
_XID = re.compile(r"\[\s*(?P<at>\d+\.\d+)\].*NVRM: Xid .*")

_SCRIPT = """
df -Pk -- {work_dir} 2>/dev/null | awk 'NR == 2 {{ print "@free " $4 }}'
read -r up _ </proc/uptime && echo "@up $up"
dmesg 2>/dev/null | grep -F 'NVRM: Xid' | tail -n 20
"""


async def ask_host(transport: Transport, run_s: float) -> tuple[str, tuple[str, ...]]:
    """A reason (or ``""``) and the evidence for it.

    Parameters
    ----------
    run_s: how long ago the run started; older driver errors are not its own.
    """
    work_dir = transport.host.work_dir
    home = "~/" if work_dir.startswith("~/") else ""
    script = _SCRIPT.format(work_dir=home + quote(work_dir.removeprefix("~/")))
    try:
        done = await transport.run(script, timeout_s=10.0)
    except (HostUnreachableError, TimeoutError):
        return "", ()
    return read_answer(done.stdout.decode("utf-8", "replace"), run_s)


def read_answer(text: str, run_s: float) -> tuple[str, tuple[str, ...]]:
    """The reason and its evidence in what the host said. Pure."""
    free = re.search(r"^@free (\d+)$", text, re.MULTILINE)
    up = re.search(r"^@up ([\d.]+)$", text, re.MULTILINE)
    since = float(up[1]) - run_s if up else 0.0
    errors = [m for line in text.splitlines() if (m := _XID.match(line)) is not None]
    xids = [error[0] for error in errors if float(error["at"]) >= since]
    if xids:
        return "GPU driver error (Xid)", tuple(clean_line(line.encode()) for line in xids[:3])
    if free and int(free[1]) < FULL_BELOW_KIB:
        return "disk full", (f"{free[1]} KiB are free where its work directory is",)
    return "", ()


async def explained_by_host(ended: Ended, member: Member, run_s: float) -> Ended:
    """An exit status without an explanation may have one outside of the log.

    ``run_s``: how long the run has lasted.
    """
    reason, evidence = await ask_host(member.remote.transport, run_s)
    if not reason:
        return replace(ended, evidence=ended.evidence or await member.log.last_lines())
    told = f"{member.name}: {reason}"
    return replace(ended, reason=told, category=Cause.NAMED, evidence=evidence)
