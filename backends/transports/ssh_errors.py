"""What an operator reads when a host cannot be reached, and what they can do about it."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import asyncssh

from backends.inventory.host_entry import Host
from backends.transports import open_files
from backends.transports.ssh_keys import HostKeys
from backends.transports.ssh_target import Target
from backends.transports.transport import HostUnreachableError, Problem
from profiles.cleantext import clean_text

_BY_ERRNO = {
    errno.ECONNREFUSED: Problem.REFUSED,
    errno.ETIMEDOUT: Problem.TIMEOUT,
    errno.EHOSTUNREACH: Problem.UNREACHABLE,
    errno.ENETUNREACH: Problem.UNREACHABLE,
    errno.ECONNRESET: Problem.LOST,
    errno.EPIPE: Problem.LOST,
}
# What sshd on a jump host says of a connection that it could not make.
_BY_TEXT = {
    "connection refused": Problem.REFUSED,
    "timed out": Problem.TIMEOUT,
    "no route to host": Problem.UNREACHABLE,
    "network is unreachable": Problem.UNREACHABLE,
    "name or service not known": Problem.UNRESOLVED,
    "name resolution": Problem.UNRESOLVED,
    "unknown host": Problem.UNRESOLVED,
}
_REMEDIES = {
    Problem.REFUSED: "check that sshd runs there and that address and port are right",
    Problem.TIMEOUT: "check that the host is up and that no firewall is in between",
    Problem.UNRESOLVED: "check the spelling, or set address in the inventory",
    Problem.UNREACHABLE: "check the network and the address",
    Problem.LOST: "try again; if it stays so, look at sshd's log on the host: "
    "others may log in at the same time, more than its MaxStartups",
}


def login_problem(
    host: Host,
    error: Exception,
    *,
    target: Target | None = None,
    locked: Sequence[Path] = (),
    login_timeout_s: float | None = None,
) -> HostUnreachableError:
    """Why a login failed. ``target``: None where what is configured gives none; ``locked``:
    identities whose passphrase nobody gave."""
    said = _said(error)
    name = getattr(error, "filename", None)
    if isinstance(error, asyncssh.PermissionDenied) or "Too many authentication" in said:
        return _not_accepted(host, said, target.user if target else "", locked)
    problem, detail, remedy = Problem.CONFIGURATION, said, "correct it in the inventory"
    if isinstance(error, asyncssh.ConfigParseError):
        remedy = "correct that line"
        if "Extra data" in said:
            remedy = "put comments of the ssh configuration on lines of their own"
    elif isinstance(error, asyncssh.KeyImportError):
        detail = f"identity: {said}"
        remedy = "set identity to a private key in OpenSSH or PEM format"
    elif isinstance(error, asyncssh.HostKeyNotVerifiable):
        problem = Problem.UNKNOWN_HOST_KEY
        remedy = "see to the host's certificate, or add its key to known_hosts"
    elif isinstance(error, TimeoutError) and login_timeout_s is not None:
        problem = Problem.TIMEOUT
        detail = f"connected, but not logged in after {login_timeout_s:g} s"
        remedy = "the host may be overloaded; look at its load and sshd's log"
    elif isinstance(error, OSError) and name:
        detail = f"{error.strerror}: {name}"
    elif not isinstance(error, ValueError):
        problem = _network_problem(error, said)
        remedy = _REMEDIES.get(problem, "")
        if problem is Problem.LOST:
            detail = "the server closed the connection during the login"
        elif problem is not Problem.OTHER:
            detail = _tried(target, problem) if target else ""
    return HostUnreachableError(host.name, problem, detail, remedy=remedy)


def _tried(target: Target, problem: Problem) -> str:
    """ "10.0.0.1:22 from gateway", or the name that nobody knows."""
    jump = target.host.jump or target.jump
    behind = f" from {jump}" if jump else ""
    if problem is Problem.UNRESOLVED:
        return f"{target.address}{behind}"
    address = f"[{target.address}]" if ":" in target.address else target.address
    return f"{address}:{target.port}{behind}"


def too_many_files(host: Host) -> HostUnreachableError:
    """There is none to spare for one more connection."""
    return HostUnreachableError(
        host.name,
        Problem.OTHER,
        f"this machine lets a program open {open_files.limit()} files, and every connection is one",
        remedy=f"ulimit -n {open_files.ENOUGH}, or ask the administrator for a higher limit",
    )


def host_key_problem(target: Target, key: asyncssh.SSHKey, known: HostKeys) -> HostUnreachableError:
    """The key that a host showed is not one that we trust: unknown, changed or revoked."""
    offered = f"{key.get_algorithm()} {key.get_fingerprint()}"
    host, port = target.known_as, target.port
    file = quote(str(target.known_hosts[0])) if target.known_hosts else "known_hosts"
    at = host if port == asyncssh.DEFAULT_PORT else f"[{host}]:{port}"
    if known.revoked:
        return HostUnreachableError(
            target.host.name,
            Problem.CHANGED_HOST_KEY,
            f"it shows {offered}, which known_hosts lists as revoked",
            remedy="ask the administrator; do not connect",
        )
    if known.types:
        return HostUnreachableError(
            target.host.name,
            Problem.CHANGED_HOST_KEY,
            f"it shows {offered}, known_hosts has another {' and '.join(known.types)} key: "
            "somebody may be listening in, or the host was installed anew",
            remedy="ask its administrator for the fingerprint; if it is the new one: "
            f"ssh-keygen -f {file} -R {quote(at)}",
        )
    return HostUnreachableError(
        target.host.name,
        Problem.UNKNOWN_HOST_KEY,
        offered,
        remedy="compare the fingerprint with the host's, then: "
        f"ssh-keyscan -p {port} {quote(target.address)} >> {file}",
    )


def loss(host: str, error: Exception | None) -> HostUnreachableError:
    """A connection that was there ended before the command did."""
    detail = _said(error) if error is not None else "the server closed the session"
    return HostUnreachableError(host, Problem.LOST, detail)


def silence(host: str, limit_s: float) -> HostUnreachableError:
    """The login succeeded, and then no command began."""
    return HostUnreachableError(
        host,
        Problem.SILENT,
        f"logged in, but nothing came within {limit_s:g} s",
        remedy="look at its load, its home directory and the account's rc files: "
        f"ssh {quote(host)} true",
    )


def login_shell_problem(host: str, status: int, output: bytes) -> HostUnreachableError:
    """The login succeeded, but the account's shell did not run our command."""
    lines = [line for line in clean_lines(output) if line]
    said = f": {lines[-1]}" if lines else f" (status {status})"
    return HostUnreachableError(
        host,
        Problem.OTHER,
        f"the login shell runs no commands{said}",
        remedy="check the account's shell and its rc files on the host",
    )


def clean_lines(output: bytes) -> list[str]:
    return [clean_text(line).strip() for line in output.decode("utf-8", "replace").splitlines()]


def _not_accepted(host: Host, said: str, user: str, locked: Sequence[Path]) -> HostUnreachableError:
    if "Too many authentication" in said:
        return HostUnreachableError(
            host.name,
            Problem.NO_KEY_ACCEPTED,
            "the server got more keys than it looks at",
            remedy="set identity in the inventory, so that only that key is shown",
        )
    if locked:
        files = ", ".join(str(file) for file in locked)
        return HostUnreachableError(
            host.name,
            Problem.NO_KEY_ACCEPTED,
            f"{files} needs its passphrase",
            remedy=f"ssh-add {quote(str(locked[0]))}",
        )
    address = host.address or host.name
    port = f"-p {host.port} " if host.port else ""
    return HostUnreachableError(
        host.name,
        Problem.NO_KEY_ACCEPTED,
        f"for user {user}" if user else "",
        remedy=f"ssh-copy-id {port}{quote(f'{user}@{address}' if user else address)}, "
        "or set user or identity in the inventory",
    )


def _network_problem(error: Exception, said: str) -> Problem:
    if isinstance(error, asyncssh.ConnectionLost):
        return Problem.LOST
    if isinstance(error, TimeoutError):
        return Problem.TIMEOUT
    if isinstance(error, socket.gaierror):
        return Problem.UNRESOLVED
    # Where a name has several addresses asyncio gives all their errors in one text, and a jump host
    # may say no more than that either.
    own = [error.errno] if isinstance(error, OSError) else []
    for number in (*own, *(int(number) for number in re.findall(r"\[Errno (\d+)\]", said))):
        if number in _BY_ERRNO:
            return _BY_ERRNO[number]
    text = said.lower()
    return next((problem for part, problem in _BY_TEXT.items() if part in text), Problem.OTHER)


def _said(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return clean_text(str(reason or error)).strip()[:300]
