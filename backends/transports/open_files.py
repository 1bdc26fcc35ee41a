"""How many files this process may have open: every connection is one, and so is every log."""

from __future__ import annotations

import errno
import re
import resource

ENOUGH = 4096
"""Login nodes often stop at 1,024, which the operator may raise; more than this nobody here needs,
and some programs that are started look at each of as many as there may be."""


def allow_enough() -> None:
    """As many as :data:`ENOUGH` where the operator may have them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def too_many(error: Exception) -> bool:
    """Whether that is what is wrong; of several errors asyncio gives all in one text."""
    named = re.findall(r"\[Errno (\d+)\]", str(error))
    return {getattr(error, "errno", None), *map(int, named)} & {errno.EMFILE, errno.ENFILE} != set()


def limit() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
