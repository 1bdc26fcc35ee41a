"""What ``py-spy dump`` prints of a process, and whether a stack is inside of a collective."""

from __future__ import annotations

import re

from backends.hangs.evidence import Lack, Stack

_THREAD = re.compile(r'^Thread \S{1,32} \([a-z+]{1,16}\)(?:: "(.{0,200})")?$')
_FRAME = re.compile(r"^ {4}(\S.{0,200}?) \((.{1,400}?)(?::(\d{1,9}))?\)$")
_MOST_FRAMES = 200

COLLECTIVES = {
    "all_reduce": "all_reduce",
    "allreduce": "all_reduce",
    "all_gather": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all": "all_to_all",
    "all_to_all_single": "all_to_all",
    "broadcast": "broadcast",
    "barrier": "barrier",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "send": "send",
    "recv": "recv",
    "isend": "send",
    "irecv": "recv",
}
_OF_COLLECTIVES = ("torch/distributed/", "mpi4py", "horovod", "cpu_smoke.py", "cupy/nccl")
_WAITING = {
    "synchronize",
    "_engine_run_backward",
    "item",
    "wait",
    "elapsed_time",
    "clip_grad_norm_",
}
_OF_LIBRARIES = re.compile(
    r"(?:.*/)?(?:(?:torch(?!/utils/data/)|paddle(?!/io/)|horovod|mpi4py|cupy)/|cpu_smoke\.py)"
)
"""Files whose functions of these names wait for a device or for other ranks; in others, as in a
DataLoader's, a rank waits for its own processes and threads."""


def read_stack(pid: int, text: str, status: int | None) -> Stack | Lack:
    """The main thread of a dump; why there is none."""
    if status == 127:
        return Lack.NOT_INSTALLED
    stack = _main_thread(pid, text)
    if stack is not None:
        return stack
    refusals = ("permission denied", "ptrace", "operation not permitted")
    if any(words in text.lower() for words in refusals):
        return Lack.FORBIDDEN
    return Lack.SILENT if status in (None, 124, 137) else Lack.UNREADABLE


def _main_thread(pid: int, text: str) -> Stack | None:
    """The thread that is called MainThread, or else the last: py-spy prints it at the end."""
    found: Stack | None = None
    name, functions, places = "", list[str](), list[str]()

    def close() -> Stack | None:
        return Stack(pid, tuple(functions), tuple(places)) if functions else None

    for line in text.splitlines():
        if thread := _THREAD.match(line):
            if name == "MainThread":
                return close()
            found = close() or found
            name, functions, places = thread[1] or "", [], []
        elif (frame := _FRAME.match(line)) and len(functions) < _MOST_FRAMES:
            functions.append(frame[1])
            places.append(f"{frame[2]}:{frame[3]}" if frame[3] else frame[2])
    return close() or found


def collective_of(stack: Stack) -> str:
    """The collective that the stack is in; empty where it is in none."""
    for function, place in zip(stack.functions, stack.places, strict=True):
        name = COLLECTIVES.get(function)
        if name and any(part in place for part in _OF_COLLECTIVES):
            return name
    return ""


def waits(stack: Stack) -> bool:
    """Whether it is where a rank waits for the others: in a collective, for the device, or in the
    backward pass, which exchanges gradients."""
    return bool(collective_of(stack)) or any(
        function in _WAITING and _OF_LIBRARIES.match(place)
        for function, place in zip(stack.functions, stack.places, strict=True)
    )
