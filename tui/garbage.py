"""What Python's garbage collector looks through, and how often; and what it could never take."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper
from time import monotonic

from textual._styles_cache import StylesCache

SELDOM = (700, 10, 1000)
"""A hundred times as seldom as usual all there is is looked through: with 64 runs at work that
takes up to half a second, in the middle of a key. What is young is, as often as usual."""
PAUSE_S = 2.0
"""Nobody has typed for so long: then it is looked through, unless it was a short while ago."""
AGAIN_S = 30.0


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


def let_go_of_closed_screens() -> None:
    """Textual remembers a thousand answers of a method by the object that was asked, and with each
    of these all that its widget had painted: a megabyte of every dialog. Its answer does not depend
    on the object; so it is asked of the class, as the name of its first parameter has it."""
    remembers = vars(StylesCache)["get_inner_outer"]
    if isinstance(remembers, _lru_cache_wrapper):
        StylesCache.get_inner_outer = classmethod(remembers)  # type: ignore[method-assign,assignment,arg-type]


class Sweep:
    """Looks through all there is while nobody types."""

    def __init__(self) -> None:
        self._swept = monotonic()

    def in_pause(self, over_for: Callable[[float], bool]) -> None:
        """``over_for``: whether nobody has typed for so many seconds."""
        if monotonic() - self._swept >= AGAIN_S and over_for(PAUSE_S):
            gc.collect()
            self._swept = monotonic()
