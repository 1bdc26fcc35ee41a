"""What Python's garbage collector looks through, and how often."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (700, 10, 100)
"""Ten times as seldom as usual all there is is looked through: with 64 runs at work that takes
0.1 s, and was every other second in the middle of a key. What is young is, as often as usual."""


@contextmanager
def imports_left_out() -> Iterator[None]:
    """What is imported meanwhile stays, and is much to look through: it is never."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*SELDOM)
        gc.enable()
