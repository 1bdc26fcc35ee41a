"""Before a host's first run: is everything in place, idle, healthy and alike?

One exec per host probes it, one checks what the profiles need there; for cases with several nodes
connections between the hosts are really made. Nothing is changed on any host.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from shlex import quote

from backends.hosts.foreseen import facts_for, foreseen, images_of, in_order, untroubled
from backends.hosts.host_facts import HostFacts, HostSnapshot
from backends.hosts.needs import BINDING, FETCHING, Need, Planned, needs_of
from backends.hosts.placement import Placement
from backends.hosts.preflight_finding import Finding, Level
from backends.hosts.probe import Transports, probe
from backends.hosts.reach import reach
from backends.inventory.host_entry import Host
from backends.remote.installation import part
from backends.transports.transport import HostUnreachableError, Transport
from profiles.cleantext import clean_text

CHECK_SCRIPT = part("trust.sh") + (Path(__file__).parent / "preflight.sh").read_bytes()
CHECK_TIMEOUT_S = 60.0


async def preflight(
    transports: Transports,
    hosts: Sequence[Host],
    cases: Sequence[Planned],
    snapshots: Iterable[HostSnapshot] | None = None,
    *,
    placement: Placement = Placement.FIRST,
    person: str = "",
    before: Sequence[Finding] = (),
    clock: Callable[[], float] = time.time,
    token: str | None = None,
) -> tuple[Finding, ...]:
    """Findings about ``hosts`` for ``cases``, host by host, the most serious first.

    A host without any warning has one finding that says what it is. A host that cannot be reached
    is a stop; nothing here raises for it.

    Parameters
    ----------
    snapshots: fresh probes; None: probe now. person: who asks, as the leases of his runs name him,
    "alice@login01". before: what was found of them already, in another way.
    token: for :func:`~backends.hosts.reach.reach`.

    Raises
    ------
    ProfileError: a command names a placeholder that does not exist.
    """
    if snapshots is None:
        snapshots = await asyncio.gather(*(probe(transports.get(host), clock) for host in hosts))
    by_name = {snapshot.name: snapshot for snapshot in snapshots}
    asked = (by_name[host.name] for host in hosts if host.name in by_name)
    facts = facts_for(cases, asked)
    known = [host for host in hosts if host.name in facts]
    needs = needs_of(cases, [(host, bool(facts[host.name].gpus)) for host in known])
    if placement is Placement.LINKED:
        needs = {name: (*own, BINDING) for name, own in needs.items()}
    nodes = max((planned.case.nodes for planned in cases), default=1)

    findings = [_away(host, by_name.get(host.name)) for host in hosts if host not in known]
    checks = await asyncio.gather(
        *(_checked(transports.get(host), needs[host.name]) for host in known)
    )
    findings += [finding for found, _ in checks for finding in found]
    findings += before
    # Whoever did not answer just now would only be waited for again.
    answering = [host for host, (_, answered) in zip(known, checks, strict=True) if answered]
    capacities = [by_name[host.name].capacity for host in known]
    findings += foreseen(facts, cases, capacities=capacities, placement=placement, person=person)
    for host in known:
        findings += tuple(_untold(host, facts[host.name], findings))
    if nodes > 1 and len(answering) > 1:
        findings += await reach(
            transports.get, answering, token=secrets.token_hex(8) if token is None else token
        )
    findings += untroubled(facts, findings)
    return in_order(findings, [host.name for host in hosts])


async def _checked(transport: Transport, needs: Sequence[Need]) -> tuple[tuple[Finding, ...], bool]:
    """What :func:`check_needs` finds, and whether the host could be asked."""
    try:
        return await check_needs(transport, needs), True
    except HostUnreachableError as error:
        what, remedy = clean_text(error.what), clean_text(error.remedy)
        return (Finding(transport.host.name, Level.STOP, what, remedy),), False


async def check_needs(transport: Transport, needs: Sequence[Need]) -> tuple[Finding, ...]:
    """What of ``needs`` is not in place on one host, and whether its work directory is usable.

    Raises
    ------
    HostUnreachableError: it cannot be asked.
    """
    host = transport.host
    words = [host.work_dir, *(word for need in needs for word in (need.kind, need.value))]
    command = "sh -s -- " + " ".join(map(quote, words))
    try:
        completed = await transport.run(command, stdin=CHECK_SCRIPT, timeout_s=CHECK_TIMEOUT_S)
    except TimeoutError:
        what = f"preflight took longer than {CHECK_TIMEOUT_S:g} s"
        return (Finding(host.name, Level.STOP, what, "look for a hung file system or container"),)
    # What a login shell says before the first marker is dropped.
    answers = completed.stdout.decode("utf-8", "replace").split("@@dlperf:check\n")[1:]
    results = [clean_text(answer.split("\n", 1)[0].strip()[:200]) for answer in answers]
    if len(results) != len(needs) + 1:
        what = "preflight did not come to its end"
        return (Finding(host.name, Level.STOP, what, "try again, or look at its login shell"),)
    findings = []
    if results[0] != "ok":
        what = f"work_dir {host.work_dir}: {results[0] or 'cannot be checked'}"
        findings.append(
            Finding(host.name, Level.STOP, what, "set another work_dir in the inventory")
        )
    for need, result in zip(needs, results[1:], strict=True):
        if result != "ok":
            what, remedy = need.said(result), need.remedy(result)
            bearing = need.bearing(host.name)
            findings.append(Finding(host.name, need.level, what, remedy, bearing=bearing))
    return tuple(findings)


def _untold(host: Host, facts: HostFacts, found: Sequence[Finding]) -> Iterable[Finding]:
    """Images that are there, of which nobody could say which ones; one that is fetched is told of
    when it is there, and one of which something was ``found`` is told of already."""
    known = images_of(facts)
    for one in facts.software if host.pull == "never" else ():
        runtime, _, image = one.where.partition(" ")
        mine = (one.kind, one.name) == ("image", "id") and runtime in FETCHING
        if (
            mine
            and image not in known
            and not any(image in finding.what for finding in found if finding.host == host.name)
        ):
            what = f"image {image}: which one it is could not be read"
            remedy = f"results will not say it; try there: {runtime} image inspect {quote(image)}"
            yield Finding(host.name, Level.WARN, what, remedy, harmless=True)


def _away(host: Host, snapshot: HostSnapshot | None) -> Finding:
    if snapshot is None:
        return Finding(host.name, Level.STOP, "was not probed", "probe the hosts first")
    return Finding(host.name, Level.STOP, snapshot.reason, snapshot.remedy)
