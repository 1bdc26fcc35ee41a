"""Why runs wait."""

from __future__ import annotations

from backends.engines.engine import Waiting, WaitKind


def cannot_be_used(host: str, why: str) -> Waiting:
    return Waiting(WaitKind.UNUSABLE, (host,), why, unusable=((host, why),))
