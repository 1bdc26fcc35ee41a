"""Why a run failed, told from its log: named patterns and the line that is the evidence.

Failures are looked for in the first ``HEAD`` and the last ``TAIL`` bytes of a log: what stops a run
at once stands at the front, what ends a long one stands at the end.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from profiles.cleantext import ESCAPE_BYTES, clean_line
from profiles.format.profile import Profile
from profiles.format.regex.line_pattern import line_pattern
from profiles.format.regex.match_with_re2 import finder
from profiles.logs.lines import lines_with
from profiles.logs.literals import required_literals

Retry = Literal["never", "now", "later"]

HEAD = 1 << 20
TAIL = 1 << 20


@dataclass(frozen=True, slots=True)
class Failure:
    """``retry``: whether another attempt makes sense at all, at once, or only after a while.
    ``node``: that it befell, by its place among the run's hosts; None: the line does not say."""

    reason: str
    evidence_line: str
    retry: Retry = "never"
    node: int | None = None


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """One of ``hints`` is in every line that the pattern finds; none: every line is tried.

    ``remedy``: what helps most often; empty where that is not known.
    """

    reason: str
    pattern: str
    hints: tuple[bytes, ...]
    retry: Retry
    remedy: str = ""


def _known(reason: str, *patterns: str, retry: Retry = "never", remedy: str = "") -> KnownFailure:
    hints = tuple(literals[0] for literals in map(required_literals, patterns) if literals)
    complete = hints if len(hints) == len(patterns) else ()
    return KnownFailure(reason, "|".join(patterns), complete, retry, remedy)


# torchrun's, srun --label's and mpirun --tag-output's.
_OF_A_RANK = r"^(?:\[(?:rank|default)\d+\]: ?| {0,5}\d{1,6}: |\[\d+,\d+\]<std(?:out|err)>: ?)?"

_NODE = re.compile(r"[0-9]{1,9}")

OUT_OF_GPU_MEMORY = "out of GPU memory"
NCCL_FAILED = "NCCL failed"
UNREACHABLE = "another host could not be reached"
PYTHON_EXCEPTION = "Python exception"
NODE_LOST = "another node was lost"
"""By profiles whose program tells which."""
UNSPECIFIC = frozenset({NCCL_FAILED, UNREACHABLE, PYTHON_EXCEPTION})
"""What a host's log also says where it only noticed that another one is gone."""

BUILT_IN: tuple[KnownFailure, ...] = (
    _known(
        OUT_OF_GPU_MEMORY,
        r"CUDA(?: error:)? out of memory",
        r"CUDA_ERROR_OUT_OF_MEMORY",
        r"RESOURCE_EXHAUSTED",
        r"ResourceExhaustedError",
        r"Out of memory error on GPU",
        r"cudaErrorMemoryAllocation",
        r"cudaMalloc failed: out of memory",
        r"torch\.OutOfMemoryError",
        remedy="take a smaller batch, or see with nvidia-smi who else uses the GPU",
    ),
    _known(
        "shared memory too small",
        r"insufficient shared memory",
        r"unable to (?:write to|open|resize) file </torch_",
        r"Bus error",
        remedy="give the container the host's /dev/shm (--ipc=host), or a larger shm_size",
    ),
    _known(
        "out of host memory",
        r"MemoryError",
        r"Cannot allocate memory",
        r"Out of memory: Kill",
        r"oom-kill",
        r"std::bad_alloc",
        remedy="use fewer data workers per GPU, or a host with more memory",
    ),
    _known(
        "driver or GPU does not fit the framework",
        r"no kernel image is available",
        r"CUDA driver version is insufficient",
        r"no CUDA-capable device",
        r"forward compatibility was attempted",
        remedy="take a build of the framework for this driver and GPU",
    ),
    _known(
        NCCL_FAILED,
        r"ncclInternalError",
        r"ncclSystemError",
        r"ncclUnhandledCudaError",
        r"ncclRemoteError",
        r"ncclInvalidUsage",
        r"NCCL error",
        r"NCCL WARN",
        r"Watchdog caught collective operation timeout",
        retry="now",
    ),
    _known("port in use", r"Address already in use", r"EADDRINUSE", retry="now"),
    _known(
        UNREACHABLE,
        r"Connection refused",
        r"Connection timed out",
        r"No route to host",
        r"Network is unreachable",
        r"Could not resolve hostname",
        r"Name or service not known",
        retry="later",
        remedy="see that the hosts reach each other: train_address and interface in the inventory",
    ),
    _known(
        "Python module missing",
        r"ModuleNotFoundError",
        r"No module named",
        remedy="install it for the Python that the command runs, or name another in the settings",
    ),
    _known(
        "shared library missing",
        r"error while loading shared libraries",
        r"ImportError: .*cannot open shared object file",
        r"version `\S+' not found",
    ),
    _known(
        "disk full",
        r"No space left on device",
        r"Disk quota exceeded",
        remedy="make room on the host, or give it a work_dir on another file system",
    ),
    _known("permission denied", r"[Pp]ermission denied"),
    _known(
        "command not found",
        r"command not found",
        r"(?:^|: )\S+: not found$",
        r"executable file not found",
        r"not recognized as an internal or external command",
    ),
    _known(
        "container image missing",
        r"Unable to find image",
        r"manifest unknown",
        r"pull access denied",
        r"No such image",
        r": image not known$",
        r"pyxis: failed to import docker image",
        remedy="pull the image on the host, or correct its name in the settings",
    ),
    _known("illegal instruction", r"Illegal instruction"),
    _known(
        "segmentation fault", r"[Ss]egmentation fault", r"\bSIGSEGV\b", r"signal 11\b", retry="now"
    ),
    _known(
        "command line not understood",
        r"unrecognized arguments",
        r"the following arguments are required",
        r"invalid choice: ",
    ),
    _known("file missing", r"FileNotFoundError", r"No such file or directory", r"can't open file"),
    _known("killed", r"(?:^|\s)Killed\s*$", r"\bSIGKILL\b", r"signal 9\b", retry="later"),
    _known(
        PYTHON_EXCEPTION,
        rf"{_OF_A_RANK}[A-Za-z_][\w.]*Error(?:: .*)?$",
        rf"{_OF_A_RANK}[A-Za-z_][\w.]*Exception(?:: .*)?$",
    ),
)
"""In order of precedence: a specific reason stands before what it also looks like."""

_8 = r"(?:[Ff]loat8|(?:MX|mx)?(?:fp8|FP8))"
_SAYING_FP8 = (
    rf"(?<![Nn]o )(?<!ithout ){_8}(?: (?!not\b)[A-Za-z0-9]{{1,20}}){{0,4}}"
    r" (?:active|enabled|training|precision|autocast)\b(?! ?(?:[:=]|is\b|not\b|disabled|off\b))",
    r"\bto (?:MX)?Float8\w{0,20}Linear",
    r"\b(?:[Pp]recision|[Qq]uantization|[Mm]ixed_precision|converters)[\"']? {0,4}[:=] {0,4}"
    rf"[\[\"']{{0,4}}\w{{0,40}}{_8}",
    rf"\b(?:use_|enable_)?{_8}(?:_enabled|_training|_linear|_format|_recipe_name)?[\"']? {{0,4}}"
    r"(?:[:=]|\.{3,60}) {0,4}[\"']?(?:[Tt]rue|hybrid|HYBRID|e4m3|E4M3)\b",
    rf"--{_8}-(?:format[ =](?:hybrid|e4m3)|hybrid|e4m3)",
    rf"% {_8} MFU",
)
IN_FP8 = KnownFailure("FP8", "|".join(_SAYING_FP8), (b"loat8", b"fp8", b"FP8"), "never")
"""What trainers say where they compute in FP8. Their settings alone, which all print, say nothing:
the names of FP8's stand there too where it is off."""

SIMULATED_LOG = "SIMULATED: no hardware was measured"
"""How the first line of a log begins that a simulated host has printed."""
SIMULATED = KnownFailure("SIMULATED", f"^{SIMULATED_LOG}", (SIMULATED_LOG.encode(),), "never")

REMEDIES = {known.reason: known.remedy for known in BUILT_IN if known.remedy}
"""What helps most often, by the reason of a failure."""


def without_host(reason: str) -> str:
    """A failure's reason as the log names it, without the host that it befell."""
    return reason.rpartition(": ")[2]


def from_profile(profile: Profile) -> tuple[KnownFailure, ...]:
    """The profile's own failures, as patterns to look for before the built-in ones."""
    return tuple(
        _known(failure.reason, failure.pattern, retry=failure.retry)
        for failure in profile.measure.failure
    )


class FailureScanner:
    """Keeps the first and the last part of a log, and searches them when it is asked."""

    def __init__(
        self, known: Sequence[KnownFailure], *, head: int = HEAD, tail: int = TAIL
    ) -> None:
        self._known = known
        self._head = bytearray()
        self._head_left = head
        self._tail_limit = tail
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._answer: tuple[Failure, ...] | None = None

    def feed(self, block: bytes) -> None:
        """Take complete lines, ended by newlines."""
        self._answer = None
        if self._head_left > 0:
            end = len(block)
            if end > self._head_left:
                end = block.find(b"\n", self._head_left - 1) + 1 or len(block)
            self._head += block[:end]
            self._head_left -= end
            block = block[end:]
        if block:
            kept = block[-self._tail_limit - 1 :]  # one byte more: does a line start there?
            self._tail.append(kept)
            self._tail_bytes += len(kept)
            while self._tail_bytes - len(self._tail[0]) > self._tail_limit:
                self._tail_bytes -= len(self._tail.popleft())

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The first evidence of each known failure, in their order of precedence."""
        if self._answer is None:
            parts = self._parts()
            known = self._known if self._has_hints(parts) else ()
            found = (_first(one, parts) for one in known)
            self._answer = tuple(failure for failure in found if failure is not None)
        return self._answer

    def has(self, known: KnownFailure) -> bool:
        """Whether a line of what was kept is one of these."""
        return _first(known, self._parts()) is not None

    @property
    def kept(self) -> bytes:
        """The log's beginning and end."""
        return b"".join(self._parts())

    def _parts(self) -> tuple[bytes, bytes]:
        tail = b"".join(self._tail)
        if len(tail) > self._tail_limit:
            tail = tail[tail.find(b"\n", len(tail) - self._tail_limit - 1) + 1 :]
        return ESCAPE_BYTES.sub(b"", self._head), ESCAPE_BYTES.sub(b"", tail)

    def _has_hints(self, parts: Sequence[bytes]) -> bool:
        """False where none of the failures can be in any part, as in most logs."""
        if not all(known.hints for known in self._known):
            return True
        hints = tuple(sorted({hint for known in self._known for hint in known.hints}))
        return any(map(finder(hints), parts))


def _first(known: KnownFailure, parts: Sequence[bytes]) -> Failure | None:
    for part in parts:
        evidence = _evidence(known, part)
        if evidence is not None:
            line, node = evidence
            return Failure(known.reason, line, known.retry, node)
    return None


def _evidence(known: KnownFailure, block: bytes) -> tuple[str, int | None] | None:
    """The first line that shows it, and the node that the pattern's group of that name reads."""
    pattern = line_pattern(known.pattern)
    group = pattern.groupindex.get("node")
    first: tuple[int, str, int | None] | None = None
    for hint in known.hints or (None,):
        limit = len(block) if first is None else first[0]
        for start, line in lines_with(block[:limit] if first else block, hint):
            if found := pattern.search(line.decode("utf-8", "replace")):
                node = found.group(group) if group else None
                told = int(node) if node and _NODE.fullmatch(node) else None
                first = (start, clean_line(line), told)
                break
    return None if first is None else first[1:]
