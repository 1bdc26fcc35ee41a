"""Why a run waits, in words."""

from __future__ import annotations

from backends.engines.engine import HELD_BY, Waiting, WaitKind
from backends.inventory.nodesets import fold_nodeset
from profiles.durations import format_duration


def waiting_text(waiting: Waiting, now: float, *, brief: bool = False) -> str:
    """Why a run waits, in words: "waiting for node3: held by bob". ``brief``: without what is the
    same for every run that waits for that."""
    some = f"{'one' if waiting.nodes == 1 else waiting.nodes} of " if waiting.nodes else ""
    hosts = f"{some}{fold_nodeset(waiting.hosts)}"
    match waiting.kind:
        case WaitKind.UNUSABLE:
            return f"waiting for {hosts}{_unusable(waiting, brief=brief)}"
        case WaitKind.TOO_FEW:
            needs = f"{waiting.nodes} hosts with {waiting.gpus_per_node} devices"
            return f"needs {needs}, {waiting.known} can be used"
        case WaitKind.BUSY:
            away = f" ({fold_nodeset(waiting.away)} out of reach)" if waiting.away else ""
            return f"waiting for {hosts}{'' if brief else away + _held(waiting)}"
        case WaitKind.SETTLING:
            left_s = (waiting.expected_at or now) - now
            more = f", {format_duration(left_s)} more" if left_s > 0 else ""
            return "settling" if brief else f"settling{more}{_held(waiting)}"
        case WaitKind.BEHIND:
            return f"{_behind(waiting, hosts, brief=brief)}{'' if brief else _held(waiting)}"
        case WaitKind.QUEUED:
            why = f"queued: {waiting.detail}" if waiting.detail else "queued"
            why = f"to be cancelled, {why}" if waiting.ending else why
            at = None if waiting.ending else waiting.expected_at
            return why if at is None else f"{why}, expected in {format_duration(at - now)}"


def _unusable(waiting: Waiting, *, brief: bool) -> str:
    ours = fold_nodeset(waiting.busy)
    if brief:
        return f" and {ours}" * bool(ours)
    return f": {waiting.detail}" + f"; and for {ours}" * bool(ours)


def _held(waiting: Waiting) -> str:
    """Hosts that would do and answer, and why they cannot be used: "; node3 is held by bob"."""
    names: dict[str, list[str]] = {}
    for name, why in waiting.unusable:
        if name not in waiting.away:
            names.setdefault(why, []).append(name)
    parts = []
    for why, whose in names.items():
        is_held = f" {'is' if len(whose) == 1 else 'are'} " if why.startswith(HELD_BY) else ": "
        parts.append(f"; {fold_nodeset(whose)}{is_held}{why}")
    return "".join(parts)


def _behind(waiting: Waiting, hosts: str, *, brief: bool) -> str:
    if waiting.behind:
        what_for = f", which waits for {hosts}" if waiting.hosts and not brief else ""
        return f"behind {waiting.behind}{what_for}"
    turn = "waiting for its turn"
    return turn if brief else f"{turn}: of a round, what takes most host time goes first"
