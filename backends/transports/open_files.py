"""How many files this process may have open: every connection is one, and so is every log."""

from __future__ import annotations

import os
import resource

ENOUGH = 4096
"""Login nodes often stop at 1,024, which the operator may raise; more than this nobody here needs,
and some programs that are started look at each of as many as there may be."""
SPARE = 64
"""For logins in progress, logs and all else: without them errors would be about anything."""


def allow_enough() -> None:
    """As many as :data:`ENOUGH` where the operator may have them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def limit() -> int | None:
    """None: there is none."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def none_to_spare() -> bool:
    most = limit()
    return most is not None and len(os.listdir("/dev/fd")) > most - SPARE  # noqa: PTH208 (no Paths)
