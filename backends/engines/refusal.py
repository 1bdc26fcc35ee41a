"""Why a queue would never start a job, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """``words``: the queue's own. ``key``: of what it was asked for and does not have, such as an
    account; empty: it is something else; ``known``: what there is of those, as far as it tells."""

    words: str
    key: str = ""
    known: tuple[str, ...] = ()
