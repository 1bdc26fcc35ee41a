"""Cases whose repeats ran in several environments: which, and how many repeats in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction

from backends.hosts.fingerprint import (
    apart,
    devices_of,
    is_unknown,
    on_several_models,
    several,
    short_devices,
)
from backends.results.case_result import CaseResult
from backends.results.translations import Lang, pick
from profiles.counted import counted


def is_mixed(case: CaseResult) -> bool:
    """Its figure is of an environment that no run was in."""
    return several(case.fingerprints)


def mixed_models(case: CaseResult) -> bool:
    """Its repeats ran on GPUs, or CPUs, of several models: not all on the same."""
    return len({*_by_models(case.fingerprints).values()}) > 1


def unlike_devices(case: CaseResult) -> bool:
    """One of its repeats was on GPUs, or CPUs, of several models at once."""
    return any(map(on_several_models, case.fingerprints))


def counts_of(*sides: CaseResult, lang: Lang = "en") -> tuple[str, ...]:
    """How many repeats, ``2 on H200, 4 on V100-SXM2-16GB``, of each: by the model, or where that
    does not tell apart what is mixed, by what does."""
    texts = sorted({text for side in sides for text in side.fingerprints})
    called = _by_models(texts)
    if not all(mixed_models(side) for side in sides if is_mixed(side)):
        called = dict(zip(texts, apart(texts), strict=True))
    unknown = pick(lang, "not recorded", "未记录")
    return tuple(
        pick(lang, ", ", "，").join(
            _count(n, name, lang)
            for name, n in sorted(
                Counter(called.get(run.fingerprint, unknown) for run in side.measured_runs).items()
            )
        )
        for side in sides
    )


def _count(n: int, name: str, lang: Lang) -> str:
    grouped = f"({name})" if ", " in name else name
    return pick(lang, f"{n} on {grouped}", f"{name} 上 {n} 次")


def shares_of(base: CaseResult, case: CaseResult, lang: Lang = "en") -> str:
    """``repeats of the base: 2 on H200, 1 on V100-SXM2-16GB; here: 3 on H200 + V100-SXM2-16GB``"""
    there, here = counts_of(base, case, lang=lang)
    return pick(
        lang, f"repeats of the base: {there}; here: {here}", f"基准的重复：{there}；此处：{here}"
    )


def shares_changed(before: CaseResult, now: CaseResult) -> str:
    """``repeats of 1n1g: 2 on H200, 4 on V100-SXM2-16GB → 1 on H200, 5 on V100-SXM2-16GB``; empty
    where neither is mixed, or both are in the same shares."""
    if not any(map(is_mixed, (before, now))) or _shares(before) == _shares(now):
        return ""
    return f"repeats of {now.case}: {' → '.join(counts_of(before, now))}"


def no_verdict_words(cases: int) -> str:
    return f"No verdict on {counted(cases, 'case')} with repeats of several environments."


def _shares(case: CaseResult) -> dict[str, Fraction]:
    counts = Counter(run.fingerprint for run in case.measured_runs)
    return {text: Fraction(n, counts.total()) for text, n in counts.items()}


def environments_with_repeats(case: CaseResult) -> Iterator[tuple[str, list[int]]]:
    """Each fingerprint with the numbers of the repeats that ran there."""
    found: dict[str, list[int]] = {}
    for run in case.measured_runs:
        if run.fingerprint:
            found.setdefault(run.fingerprint, []).append(run.repeat)
    yield from ((text, sorted(repeats)) for text, repeats in found.items())


def _by_models(texts: Iterable[str]) -> dict[str, str]:
    """What each text has of devices, as lists call them."""
    return {
        text: short_devices(devices)
        for text in texts
        if not is_unknown(devices := devices_of(text))
    }
