"""How much GPU time runs took, and the words for that of a plan and of a campaign alike."""

from __future__ import annotations

from collections.abc import Iterable

from backends.hosts.fingerprint import has_gpus
from backends.results.numbers import readable, significant
from backends.results.run_result import RunResult
from backends.results.translations import Lang, pick


def gpu_seconds(runs: Iterable[RunResult]) -> float | None:
    """Seconds from start to end × GPUs, over all attempts that started and ended, however they did.

    CPU slots are no GPUs: 0.0 where there was nothing else. None where that is not known: of runs
    that were not made here, and where of one nobody knows what its devices are. One of which
    no environment is recorded, as older journals have none of a cancelled run, has the devices of
    its profile's others.
    """
    runs = tuple(runs)
    if any(run.imported for run in runs):
        return None
    kinds: dict[str, set[bool]] = {}
    for run in runs:
        if run.fingerprint:
            kinds.setdefault(run.profile, set()).add(has_gpus(run.fingerprint))
    total = 0.0
    for run in runs:
        if not run.ended or run.started_at is None or run.ended_at is None:
            continue
        of_profile = kinds.get(run.profile, set())
        own = {has_gpus(run.fingerprint)} if run.fingerprint else of_profile
        if len(own) != 1:
            return None
        total += max(0.0, run.ended_at - run.started_at) * run.gpus * own.pop()
    return total


def gpu_time_used(runs: Iterable[RunResult], lang: Lang = "en") -> str:
    """``12.5 GPU-hours``; "" where there are none, or nobody knows."""
    seconds = gpu_seconds(runs)
    return device_time(seconds / 3600, "GPU", lang) if seconds else ""


def device_time(hours: float, device: str, lang: Lang = "en") -> str:
    """``2.5 GPU-hours``, in the unit that gives a figure to read: 30 s are no 0.0083 hours."""
    units = (
        ("hour", "小时", hours, readable),
        ("minute", "分钟", hours * 60, _two),
        ("second", "秒", hours * 3600, _two),
    )
    unit, in_chinese, value, written = next((one for one in units if one[2] >= 1), units[-1])
    said = written(value)
    plural = "" if said == "1" else "s"
    return pick(lang, f"{said} {device}-{unit}{plural}", f"{said} {device}{in_chinese}")


def _two(value: float) -> str:
    return significant(value, 2)
