"""Why a change of figures is not that of what was changed: such a verdict has another word."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import product

from backends.hosts.fingerprint import devices_of, is_unknown, several
from backends.results.case_result import CaseResult
from backends.results.findings import Grade
from profiles.gpu_models import gpu_model

FASTER, SLOWER = "faster", "slower"


class Doubt(StrEnum):
    """What else may be why one figure is faster than the other."""

    GRADE = "grade"  # one of them is a number, no more
    RULE = "rule"  # of measuring: another statistic, or another window
    HOSTS = "hosts"  # none of one side was on the other
    DEVICES = "devices"  # of another model
    ENVIRONMENT = "environment"  # the same hosts and devices, as far as that is known
    MIXED = "mixed"  # repeats of one figure come from several environments


_WHY = {
    Doubt.GRADE: "grade D",
    Doubt.RULE: "another rule",
    Doubt.HOSTS: "other hosts",
    Doubt.DEVICES: "other devices",
    Doubt.MIXED: "mixed environments",
}


def doubts_between(ours: CaseResult, theirs: CaseResult) -> Iterable[Doubt]:
    """What their environments and grades give; who knows of the hosts adds these."""
    if Grade.D in (ours.grade, theirs.grade):
        yield Doubt.GRADE
    if by_other_rules(ours, theirs):
        yield Doubt.RULE
    if other := doubt_of_environments(ours.fingerprints, theirs.fingerprints):
        yield other


def by_other_rules(ours: CaseResult, theirs: CaseResult) -> bool:
    """Both were measured by rules that are known, and by other ones."""
    return bool(ours.rules and theirs.rules) and ours.rules != theirs.rules


def pairs_apart(ours: frozenset[str], theirs: frozenset[str]) -> list[tuple[str, str]]:
    """Fingerprints of either side that are known to be of different environments."""
    if ours == theirs:
        return []
    return [pair for pair in product(sorted(ours), sorted(theirs)) if several(pair)]


def environment_doubt(ours: frozenset[str], theirs: frozenset[str]) -> Doubt | None:
    """Whether devices, or else anything of the environments, are known to differ."""
    pairs = pairs_apart(ours, theirs)
    devices = (tuple(_called(devices_of(text)) for text in pair) for pair in pairs)
    if any(one != other and not (is_unknown(one) or is_unknown(other)) for one, other in devices):
        return Doubt.DEVICES
    return Doubt.ENVIRONMENT if pairs else None


def doubt_of_environments(ours: frozenset[str], theirs: frozenset[str]) -> Doubt | None:
    """The same, and first whether one figure is of several environments: of such two even the same
    environments may have other shares."""
    if several(ours) or several(theirs):
        return Doubt.MIXED
    return environment_doubt(ours, theirs)


def _called(devices: str) -> str:
    """One name for a GPU model that an older driver calls otherwise."""
    model = gpu_model(devices)
    return model.name if model else devices


def in_order(doubts: Iterable[Doubt]) -> tuple[Doubt, ...]:
    found = {*doubts}
    return tuple(doubt for doubt in Doubt if doubt in found)


def why_doubted(doubts: Iterable[Doubt]) -> str:
    """``grade D, other hosts``: why the figures do not judge the change; empty where they do."""
    return ", ".join(_WHY[doubt] for doubt in doubts if doubt in _WHY)


def doubted_words(change: str, doubts: Iterable[Doubt], *, brief: bool = False) -> str:
    """``faster, in doubt: grade D``, or ``slower, in another environment``. ``brief``, where the
    rest stands elsewhere: ``in doubt``, ``slower``."""
    why = why_doubted(doubts)
    if brief:
        return "in doubt" if why else change
    return f"{change}, in doubt: {why}" if why else f"{change}, in another environment"
