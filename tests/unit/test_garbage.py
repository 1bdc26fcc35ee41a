"""Garbage is looked for while nobody types, and not again at once."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import cast

import pytest

from tui import garbage
from tui.app import DlperfApp
from tui.console_fault import run_to_end
from tui.garbage import AGAIN_S, PAUSE_S, Sweep


class Ring:
    """Only the collector ends it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def never_by_itself() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("never_by_itself")
def test_garbage_goes_in_a_pause_of_the_keys_and_at_most_so_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, last_key = 1000.0, 1000.0
    monkeypatch.setattr(garbage, "monotonic", lambda: now)
    sweep = Sweep()

    def over_for(seconds: float) -> bool:
        return now - last_key >= seconds

    def swept() -> bool:
        ring = weakref.ref(Ring())
        sweep.in_pause(over_for)
        return ring() is None

    assert not swept()
    now = last_key = now + AGAIN_S  # a key is typed just now
    assert not swept()
    now += PAUSE_S
    assert swept()
    assert not swept()
    now += AGAIN_S
    assert swept()


class _Closed:
    fault = None

    async def run_async(self) -> str:
        return "said at its end"


async def test_when_the_console_has_ended_nothing_is_left_to_look_through() -> None:
    """Else the prompt comes a tenth of a second late, and what is typed until then is echoed."""
    assert await run_to_end(cast(DlperfApp, _Closed())) == "said at its end"
    assert len(gc.get_objects()) < gc.get_freeze_count() / 10
