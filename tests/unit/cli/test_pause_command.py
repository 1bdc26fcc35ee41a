"""``pause`` of a campaign that nobody is at work on, and where older requests lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from backends.keeper.request import Answer, Request, Verb, new_id
from backends.keeper.spool import Spool
from tests.unit.cli.conftest import Cli, planned


def test_a_disk_that_is_full_while_older_requests_are_answered_is_one_line(
    cli: Cli, campaign: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = campaign("open", planned("a"))
    spool = Spool(path)
    spool.make()
    spool.put(Request(new_id(), "a", Verb.UNPAUSE, None))

    def full(self: Spool, answer: Answer) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Spool, "reply", full)
    said = cli.complaint("pause", "open")
    assert "cannot answer what was asked of it: No space left on device" in said
    assert not (path / "writer.lock").exists()
