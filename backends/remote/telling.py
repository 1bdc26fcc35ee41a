"""What was asked of a host and what came back, for the debug log: never what it was fed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from backends import debug
from backends.transports.transport import Completed


@contextmanager
def told(
    host: str, words: Sequence[str], stdin: bytes = b""
) -> Iterator[Callable[[Completed], None]]:
    """Around one call of the wrapper; it yields what to hand the answer to."""
    answers: list[Completed] = []
    began = time.monotonic()
    problem = "given up"
    try:
        yield answers.append
        problem = "no answer"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise
    finally:
        if answers:
            done = answers[-1]
            problem = f"status {done.exit_status}, {len(done.stdout)} + {len(done.stderr)} bytes"
        fed = f" with {len(stdin)} bytes" if stdin else ""
        took_ms = 1000 * (time.monotonic() - began)
        debug.log().info("%s: %s%s: %s, %.0f ms", host, " ".join(words), fed, problem, took_ms)
