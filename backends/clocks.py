"""What time it is: the calendar may be set while a campaign runs, so nothing waits by it."""

from __future__ import annotations

import asyncio


def loop_time() -> float:
    """Seconds on the running event loop's clock, which nobody sets and which never jumps."""
    return asyncio.get_running_loop().time()
