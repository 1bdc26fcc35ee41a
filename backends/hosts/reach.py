"""Whether the hosts of a multi-node case reach each other, as their ranks will: really tried.

Every host opens a TCP port for a moment and every host, itself included, connects to all of them at
their training addresses. A token tells whether the right machine answered.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from backends.hosts.preflight_finding import Bearing, Finding, Level
from backends.inventory.host_entry import Host, train_address_of
from backends.inventory.nodesets import fold_nodeset
from backends.transports.transport import HostUnreachableError, Transport
from profiles.cleantext import clean_text

_PROGRAM = (Path(__file__).parent / "reach_program.py").read_text(encoding="utf-8")

CONNECT_TIMEOUT_S = 3.0
LISTEN_S = 20.0  # a listener that nobody ends is gone after this
_START_TIMEOUT_S = 10.0

# Without python3 a host can still connect, if it has bash. One line per peer, as the program does.
_BASH = r"""
seconds=$1; shift
while [ $# -ge 4 ]; do
    said=$(timeout "$seconds" bash -c \
        'exec 3<>"/dev/tcp/$0/$1" && read -r line <&3 && echo "$line"' "$2" "$3" 2>/dev/null)
    status=$?
    if [ "$said" = "$4" ]; then result=ok
    elif [ $status = 124 ]; then result=timeout
    elif [ -n "$said" ]; then result="wrong machine"
    else result="connection failed"; fi
    printf '%s\t%s\n' "$1" "$result"; shift 4
done
"""

_SAID = {
    "unresolved": "host name not found",
    "timeout": "connection timed out",
    "refused": "connection refused",
    "wrong machine": "another machine answers there",
}


@dataclass(frozen=True, slots=True)
class _Listener:
    host: Host
    address: str
    port: int
    token: str


async def reach(
    transport_of: Callable[[Host], Transport], hosts: Sequence[Host], *, token: str
) -> tuple[Finding, ...]:
    """Findings about the ways between ``hosts``, both directions of each pair and each to itself.

    ``token``: any text without spaces that is new each time, so that a stale listener is told
    apart from a host.
    """
    ports: dict[str, asyncio.Future[int | str]] = {}
    async with asyncio.TaskGroup() as group:
        tasks = []
        for host in hosts:
            ports[host.name] = asyncio.get_running_loop().create_future()
            listening = _listen(
                transport_of(host), f"{token}-{host.name}", len(hosts), ports[host.name]
            )
            tasks.append(group.create_task(listening))
        try:
            answers = {name: await port for name, port in ports.items()}
            listeners = [
                _Listener(host, train_address_of(host), port, f"{token}-{host.name}")
                for host in hosts
                if isinstance(port := answers[host.name], int)
            ]
            reports = await asyncio.gather(
                *(_connect(transport_of(host), listeners) for host in hosts)
            )
        finally:
            for task in tasks:
                task.cancel()
    problems = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
    by_host = dict(zip((host.name for host in hosts), reports, strict=True))
    return reach_findings(listeners, by_host, problems)


def reach_findings(
    listeners: Sequence[_Listener],
    reports: Mapping[str, Mapping[str, str] | str],
    problems: Mapping[str, str],
) -> tuple[Finding, ...]:
    """One finding per host that some cannot reach, and per reason; one "ok" when all is well.

    ``reports``: by connecting host what happened by target, or why it could not try at all;
    ``problems``: why a host could not listen.
    """
    untold = [(name, f"how the others reach it: {problem}") for name, problem in problems.items()]
    untold += [
        (name, f"what it reaches: {said}") for name, said in reports.items() if type(said) is str
    ]
    findings = []
    for name, what in untold:
        others = tuple(other for other in reports if other != name)
        about = Bearing(hosts=((name,), others))
        said = f"cannot check {what}"
        findings.append(Finding(name, Level.WARN, said, _PYTHON, bearing=about))
    for target in listeners:
        failed: dict[str, list[str]] = {}
        for name, report in reports.items():
            if not isinstance(report, str):
                result = report.get(target.host.name, "no report")
                if result != "ok":
                    failed.setdefault(result, []).append(name)
        for result, failing in failed.items():
            itself = failing == [target.host.name]
            who = "it cannot reach itself" if itself else f"{fold_nodeset(failing)} cannot reach it"
            findings.append(
                Finding(
                    target.host.name,
                    Level.STOP,
                    f"{who} at {target.address}: {_SAID.get(result, result)}",
                    _remedy(target, result),
                )
            )
    if not findings:
        names = fold_nodeset(target.host.name for target in listeners)
        findings.append(Finding("", Level.OK, f"{names} reach each other over TCP"))
    return tuple(findings)


_PYTHON = "install python3 there, or make sure by hand that ranks can connect"


def _remedy(target: _Listener, result: str) -> str:
    own = "" if target.host.train_address else ", by default the address for SSH"
    give = f"set train_address of {target.host.name} in the inventory{own}"
    if result == "unresolved":
        return f"{give} to an IP address"
    if result == "wrong machine" or target.address.startswith("127."):
        return f"{give} to one that leads to it from every host"
    return f"{give}, or open its TCP ports (all above 1023) to the other hosts in the firewall"


async def _listen(
    transport: Transport, token: str, count: int, port: asyncio.Future[int | str]
) -> None:
    said = bytearray()

    def on_stdout(data: bytes) -> None:
        said.extend(data[:200])
        match = re.match(rb"port (\d{1,5})\n", bytes(said[:200]))
        if match and not port.done():
            port.set_result(int(match[1]))

    def give_up(reason: str) -> None:
        if not port.done():
            port.set_result(reason)

    command = f"exec python3 -c {quote(_PROGRAM)} listen {quote(token)} {LISTEN_S:g} {count}"
    patience = asyncio.get_running_loop().call_later(
        _START_TIMEOUT_S, give_up, "no answer within 10 s"
    )
    try:
        completed = await transport.stream(command, on_stdout)
        give_up(_last_line(completed.stderr) or f"exit status {completed.exit_status}")
    except HostUnreachableError as error:
        give_up(error.what)
    finally:
        patience.cancel()
        give_up("cancelled")


async def _connect(transport: Transport, listeners: Sequence[_Listener]) -> Mapping[str, str] | str:
    words = [f"{CONNECT_TIMEOUT_S:g}"]
    for target in listeners:
        words += [target.host.name, target.address, str(target.port), target.token]
    arguments = " ".join(map(quote, words))
    command = (
        f"command -v python3 >/dev/null && exec python3 -c {quote(_PROGRAM)} connect {arguments}; "
        f"command -v bash >/dev/null || {{ echo 'python3 and bash are missing' >&2; exit 1; }}; "
        f"exec sh -c {quote(_BASH)} sh {arguments}"
    )
    # The bash way tries one after the other.
    timeout_s = _START_TIMEOUT_S + CONNECT_TIMEOUT_S * max(1, len(listeners))
    try:
        completed = await transport.run(command, timeout_s=timeout_s)
    except HostUnreachableError as error:
        return clean_text(error.what)
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    lines = completed.stdout.decode("utf-8", "replace").splitlines()
    report = dict(line.split("\t", 1) for line in lines if "\t" in line)
    if not report and listeners:
        return _last_line(completed.stderr) or f"exit status {completed.exit_status}"
    return {name: clean_text(result[:200]) for name, result in report.items()}


def _last_line(stream: bytes) -> str:
    lines = stream.decode("utf-8", "replace").strip().splitlines()
    return clean_text(lines[-1][:200]) if lines else ""
