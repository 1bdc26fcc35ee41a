"""What the operator reads of a doubt: the reason, and the command to look with."""

from __future__ import annotations

import shlex

from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.inventory.host_entry import Host


def cleanup_text(cleanup: Cleanup) -> str:
    """``nothing of the run is left on its hosts``, ``unverified: node1: …``; empty where nobody
    had to look."""
    if cleanup.doubts:
        return "unverified: " + "; ".join(doubt_text(doubt) for doubt in cleanup.doubts)
    return "nothing of the run is left on its hosts" if cleanup.looked else ""


def doubt_text(doubt: Doubt) -> str:
    """``node1: connection refused; …``"""
    where = f"{doubt.host}: " if doubt.host else ""
    return f"{where}{reason_text(doubt)}"


def reason_text(doubt: Doubt) -> str:
    match doubt.why:
        case Why.KILLED:
            text = "its supervisor was killed, so processes without our marker may be left"
        case Why.ORPHANS if doubt.detail:
            many = "process" if doubt.detail.isdigit() else "processes"
            text = f"{many} {doubt.detail} may be the run's, and nobody there can tell"
        case Why.ORPHANS:
            text = "processes without our marker may be left, and nobody there can tell"
        case Why.DEAF:
            many = "process does" if doubt.detail == "1" else "processes do"
            text = f"{doubt.detail or 'some'} {many} not end"
        case Why.NO_LOG:
            text = f"its log is not whole on this disk yet: {doubt.detail}"
        case Why.NOT_LOOKED:
            text = "it was not looked for"
        case Why.AWAY | Why.REFUSED | Why.OLD:
            text = doubt.detail
    return text


def command_text(doubt: Doubt, run_id: str, host: Host | None) -> str:
    """A command for a shell here that shows the processes which may be left of a run.

    ``host``: as the inventory describes it; None where it does not.
    """
    marked = f"grep -l DLPERF_RUN_ID={run_id} /proc/[0-9]*/environ 2>/dev/null"
    pids = doubt.detail if doubt.why in (Why.ORPHANS, Why.KILLED) else ""
    listed = f"ps -ww -o pid,ppid,user,lstart,args {f'-p {pids}' if pids else '-e'}"
    look = f"{marked}; {listed}"
    if host is not None and host.transport == "local":
        return look
    return f"{ssh_text(host, doubt.host)} {shlex.quote(look)}"


def ssh_text(host: Host | None, name: str) -> str:
    """``ssh -p 2222 bench@10.11.0.2``, with what the inventory adds to the ssh configuration."""
    if host is None:
        return f"ssh {shlex.quote(name)}"
    words = ["ssh"]
    for option, value in (
        ("-F", host.ssh_config),
        ("-p", host.port),
        ("-J", host.jump),
        ("-i", host.identity),
    ):
        words += [option, str(value)] if value else []
    if host.known_hosts:
        words += ["-o", f"UserKnownHostsFile={host.known_hosts}"]
    address = host.address or host.name
    words.append(f"{host.user}@{address}" if host.user else address)
    return shlex.join(words)
