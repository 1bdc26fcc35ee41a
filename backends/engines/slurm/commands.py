"""Slurm's own programs, run on the login node: this machine, or one reached by a transport.

Every call has a time limit, since with ``slurmctld`` down the programs hang. What the operator's
environment says to them (``SQUEUE_FORMAT``, ``SBATCH_PARTITION``, the ``SLURM_JOB_ID`` of a job
that the console runs in) does not count: what is to hold stands in the arguments. Only where Slurm
itself is configured (``SLURM_CONF``) is left as it is.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any  # what JSON may hold is looked at by its readers

from backends.inventory.host_entry import HOST_NAME
from backends.inventory.nodesets import expand_nodeset
from backends.transports.transport import Completed, Transport
from profiles.cleantext import clean_text
from profiles.errors import DlperfError

READ_TIMEOUT_S = 15.0
CHANGE_TIMEOUT_S = 60.0
"""Of sbatch, scancel and the like: a busy controller takes them late, and they are made once."""

SEPARATOR = "\x1f"
"""Between the columns of text that we ask for: no name and no reason has one."""

KNOWN_PARSERS = range(38, 42)
"""Versions v0.0.38 … v0.0.41 of Slurm's JSON; another one's text is read instead."""

_READERS = ("sinfo", "squeue", "scontrol", "sacct", "sacctmgr", "id")
_CLEAN = (
    "for v in $(env | sed -n 's/^\\(S[A-Z]*_[A-Za-z0-9_]*\\)=.*/\\1/p'); do case $v in "
    "SLURM_CONF|SLURM_CONF_SERVER) ;; "
    "SLURM*|SQUEUE_*|SINFO_*|SCONTROL_*|SACCT_*|SBATCH_*|SCANCEL_*|SRUN_*|SALLOC_*) unset $v;; "
    "esac; done; "
)
_TIMES = "SLURM_TIME_FORMAT=%s "  # seconds since the epoch: no time zone to guess
_SAYS = re.compile(r"^[\w-]+(?: error)?: (?:(?:error|fatal|warning): )?", re.ASCII)
_DOWN = (
    "unable to contact slurm controller",
    "socket timed out",
    "connection refused",
    "connect failure",
    "zero bytes were transmitted",
    "backup controller is in standby",
)
_NO_SUCH_OPTION = ("unrecognized option", "invalid option", "unable to load", "plugin")


class SlurmError(DlperfError):
    """Slurm did not do what it was asked. ``where`` is the login node."""


class SlurmMissingError(SlurmError):
    """The program is not there, or knows of no Slurm."""


class ControllerDownError(SlurmError):
    """``slurmctld`` does not answer: later it may, and nothing is known of what was asked."""


class RefusedError(SlurmError):
    """Slurm said no. ``words``: its own, on one line."""

    def __init__(self, words: str, *, where: str, program: str) -> None:
        self.words = words
        super().__init__(f"{program}: {words}", where=where)


@dataclass(frozen=True, slots=True)
class Document:
    """What a program printed as JSON. ``parser``: 40 is v0.0.40."""

    parser: int
    content: Mapping[str, Any]


class SlurmCommands:
    """Slurm's programs on one login node.

    Parameters
    ----------
    transport: to the login node.
    offers_json: False: read text also where the programs offer JSON.
    """

    def __init__(self, transport: Transport, *, offers_json: bool = True) -> None:
        self._transport = transport
        self._offers_json = offers_json
        self._without_json: set[str] = set()

    @property
    def login_node(self) -> str:
        return self._transport.host.name

    async def run(
        self, program: str, *arguments: str, stdin: bytes = b"", timeout_s: float | None = None
    ) -> str:
        """What it prints to stdout. ``timeout_s``: None: as long as its kind may take.

        Raises
        ------
        SlurmError: one of the three kinds above.
        HostUnreachableError: the login node cannot be reached.
        """
        reads = program in _READERS
        times = _TIMES if reads else ""
        command = f"{_CLEAN}{times}exec {shlex.join((program, *arguments))}"
        limit_s = timeout_s or (READ_TIMEOUT_S if reads else CHANGE_TIMEOUT_S)
        try:
            done = await self._transport.run(command, stdin=stdin, timeout_s=limit_s)
        except TimeoutError:
            raise self._down(f"{program} got no answer within {limit_s:g} s") from None
        if done.exit_status != 0:
            raise self._failed(program, done)
        return done.stdout.decode("utf-8", "replace")

    async def document(self, program: str, *arguments: str) -> Document | None:
        """The same as JSON; None: this one prints none, or none of a version that is known.

        Each program is asked for it once more only when it had it before.
        """
        if not self._offers_json or program in self._without_json:
            return None
        found = await self._document(program, *arguments)
        if found is None or found.parser not in KNOWN_PARSERS:
            self._without_json.add(program)
            return None
        return found

    async def _document(self, program: str, *arguments: str) -> Document | None:
        try:
            text = await self.run(program, "--json", *arguments)
        except RefusedError as error:
            if any(words in error.words.lower() for words in _NO_SUCH_OPTION):
                return None
            raise
        return parse_document(text)

    def _failed(self, program: str, done: Completed) -> SlurmError:
        words = said(done.stderr or done.stdout) or f"exit status {done.exit_status}"
        if done.exit_status == 127:
            return SlurmMissingError(
                f"has no {program}",
                where=self.login_node,
                remedy="name a login node of the cluster, or put Slurm's programs on its PATH",
            )
        if "configuration source" in words:
            return SlurmMissingError(
                f"{program} finds no configuration of Slurm: {words}",
                where=self.login_node,
                remedy="set SLURM_CONF, or name a login node of the cluster",
            )
        if any(known in words.lower() for known in _DOWN):
            return self._down(words)
        return RefusedError(words, where=self.login_node, program=program)

    def _down(self, words: str) -> ControllerDownError:
        return ControllerDownError(
            f"Slurm's controller does not answer: {words}",
            where=self.login_node,
            remedy="try again when slurmctld is back (scontrol ping tells)",
        )


def said(output: bytes) -> str:
    """Slurm's words without the program's name before each of them, on one line."""
    lines = (line.strip() for line in output.decode("utf-8", "replace").splitlines())
    words = [_SAYS.sub("", line).strip() for line in lines if line]
    return clean_text("; ".join(dict.fromkeys(word for word in words if word)), cap=500)


def parse_document(text: str) -> Document | None:
    """None where it is no JSON of Slurm's that declares its version."""
    try:
        content = json.loads(text)
        plugin = content["meta"]["plugin"]
        declared = str(plugin.get("data_parser") or plugin["type"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    version = re.search(r"v0\.0\.(\d+)", declared)
    return Document(int(version[1]), content) if version else None


def number(value: object) -> int | None:
    """A number of any version: 5, or from v0.0.39 on ``{set, infinite, number}``; None: not set."""
    if isinstance(value, Mapping):
        usable = value.get("set") and not value.get("infinite")
        return number(value.get("number")) if usable else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def rows(text: str, columns: int) -> list[list[str]]:
    """Lines of ``--Format=A:\\x1f,B:\\x1f``; those that do not have as many columns are dropped."""
    found = [line.split(SEPARATOR)[:-1] for line in text.splitlines()]
    return [[cell.strip() for cell in row] for row in found if len(row) == columns]


def columns(*names: str) -> str:
    """The argument of ``--Format`` for them, cut nowhere."""
    return ",".join(f"{name}:{SEPARATOR}" for name in names)


def is_number(text: str) -> bool:
    """Of no sign and no more digits than any of Slurm's has."""
    return text.isascii() and text.isdigit() and len(text) < 20


def node_names(nodelist: str) -> tuple[str, ...]:
    """``node[1-2]``; none of what Slurm writes where there are none, and none that are no names:
    they become words of commands, and paths."""
    if nodelist in ("", "(null)", "None assigned"):
        return ()
    try:
        names = expand_nodeset(nodelist)
    except ValueError:
        return ()
    return tuple(name for name in names if HOST_NAME.fullmatch(name))
