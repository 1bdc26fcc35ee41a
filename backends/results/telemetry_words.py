"""What the machines did while a case was measured, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from backends.results.grade import MOST_THROTTLED
from backends.results.numbers import percent, significant, trimmed
from backends.results.run_result import RunResult
from backends.results.telemetry_figures import (
    AT_ITS_LIMIT,
    POWER_CAPPED,
    UNEVEN_LOAD,
    Disturbed,
    Throttled,
    Trouble,
    counted_word,
    cpus_busy,
    joules_per_sample,
    known_of,
    of_gpus,
    typical,
    unplaced,
    unwatched,
    watched_s,
)
from backends.results.translations import Lang, pick

_ZH_REASONS = {
    "power cap": "功耗上限",
    "sync boost": "同步加速",
    "software thermal slowdown": "软件温控降频",
    "hardware thermal slowdown": "硬件温控降频",
    "hardware slowdown": "硬件降频",
    "power brake": "外部功耗制动",
    "application clocks setting": "应用频率设置",
    "display clock setting": "显示频率设置",
}


def reason_text(reason: str, lang: Lang = "en") -> str:
    """Why a GPU is throttled or at its limit: ``power cap``."""
    return pick(lang, reason, _ZH_REASONS.get(reason, reason))


def throttled_line(found: Throttled, lang: Lang = "en") -> str:
    """``repeat 3: GPU5 of node2 was throttled for 25.8% of the 120 s that it was watched (software
    thermal slowdown)``; held at its limit, where that is one that was set: its power cap."""
    gpu, of = found.gpu, significant(found.gpu.seconds)
    held = found.reason in AT_ITS_LIMIT  # nothing is wrong with it
    limits = [POWER_CAPPED] if held else MOST_THROTTLED.values()
    share = percent(found.share, beyond=limits)
    which = f"repeat {found.run.repeat}", f"第 {found.run.repeat} 次重复"
    if found.repeats > 1:
        seen = (" that were watched", "有监测的 ") if found.unwatched else ("", "")
        which = (
            f"{found.repeats} of {found.of} repeats{seen[0]}, most of all {which[0]}",
            f"{seen[1]}{found.of} 次重复中的 {found.repeats} 次，尤其是{which[1]}",
        )
    was = "was throttled", "被降频"
    if held:
        was = "was held at its limit", "达到上限"
    return pick(
        lang,
        f"{which[0]}: GPU{gpu.gpu} of {gpu.host} {was[0]} for {share} of the {of} s "
        f"that it was watched ({found.reason})",
        f"{which[1]}：{gpu.host} 的 GPU{gpu.gpu} 在有监测的 {of} 秒中有 {share} 的时间{was[1]}"
        f"（{reason_text(found.reason, 'zh')}）",
    )


def disturbed_line(found: Disturbed, lang: Lang = "en") -> str:
    """``repeat 2: another process was on GPU3 of node1``; ``2 of 5 repeats, most in repeat 4: …``
    where that was so in several."""
    en, zh = _SENTENCES[found.trouble](found)
    if found.repeats > 1:
        several = f"{found.repeats} of {found.of} repeats, most in repeat {found.run.repeat}"
        several_zh = f"{found.of} 次重复中的 {found.repeats} 次，以第 {found.run.repeat} 次最甚"
        return pick(lang, f"{several}: {en}", f"{several_zh}：{zh}")
    return pick(lang, f"repeat {found.run.repeat}: {en}", f"第 {found.run.repeat} 次重复：{zh}")


def coinciding(run: RunResult, number: int, lang: Lang = "en") -> str:
    """What a GPU did just while the run was slower; empty where none did anything of note.

    ``number``: of the disturbance among the run's.
    """
    seen = run.telemetry.meanwhile if run.telemetry else ()
    found = [one for one in seen if one.disturbance == number]
    if not found:
        return ""
    worst = max(found, key=lambda one: (one.throttled_s, -one.clock_change))
    name = f"GPU{worst.gpu} of {worst.host}", f"{worst.host} 的 GPU{worst.gpu}"
    if (reason := worst.throttled_by) != "":
        seconds, zh = trimmed(worst.throttled_s, 0), reason_text(reason, "zh")
        return pick(
            lang,
            f"; meanwhile {name[0]} was throttled for {seconds} s ({reason})",
            f"；其间 {name[1]} 被降频 {seconds} 秒（{zh}）",
        )
    less = percent(-worst.clock_change)
    return pick(
        lang,
        f"; meanwhile the SM clock of {name[0]} was lower by {less}",
        f"；其间 {name[1]} 的SM频率低 {less}",
    )


WATCHED = "watched"
"""The line of :func:`usual_lines` that is there where some runs were not."""


WHOLE_HOST = "{} busy, others' work on the host included"
"""No sample tells a run's own share of its host's CPUs."""


def usual_lines(runs: Sequence[RunResult]) -> tuple[tuple[str, str], ...]:
    """What the machines did, medians over the runs: ``("GPUs", "98% busy, 641 W each, SM clock 1755
    MHz")``, energy, CPUs, ``98% busy (of 2 of 4 repeats)`` where not all that were watched have
    one; what nobody watched is left out."""
    counted = counted_word(run.unit for run in runs)
    whole, share = partial(trimmed, decimals=0), partial(percent, decimals=0)
    energy = partial(significant, zeros=True)
    lines = (
        ("GPUs", "{}% busy", of_gpus(lambda gpu: gpu.utilization_mean), whole),
        ("GPUs", "{} W each", of_gpus(lambda gpu: gpu.power_w_mean), whole),
        ("GPUs", "SM clock {} MHz", of_gpus(lambda gpu: gpu.sm_clock_mhz_mean), whole),
        ("energy", f"{{}} J per {counted}", joules_per_sample, energy),
        ("CPUs", WHOLE_HOST, cpus_busy, share),
    )
    said: dict[str, dict[int, list[str]]] = {}
    for name, words, figure, text in lines:
        if (value := typical(runs, figure)) is not None:
            known = said.setdefault(name, {}).setdefault(known_of(runs, figure), [])
            known.append(words.format(text(value)))
    told = [(name, _of_how_many(known, len(runs))) for name, known in said.items()]
    watched = [(WATCHED, watched_words(runs))] * bool(told and any(map(unwatched, runs)))
    return (*told, *watched)


def _of_how_many(known: Mapping[int, Sequence[str]], of: int) -> str:
    """``98% busy, 641 W each (of 2 of 4 repeats)``. ``known``: words by how many repeats they are
    of; 0: of all that were watched."""
    return ", ".join(
        ", ".join(words) + f" (of {n} of {of} repeats)" * bool(n) for n, words in known.items()
    )


def watched_words(runs: Sequence[RunResult]) -> str:
    """``2 of 3 repeats``"""
    return f"{len(runs) - sum(map(unwatched, runs))} of {len(runs)} repeats"


def watched_brief(run: RunResult) -> str:
    """How little of a run's machines is known; empty where it is enough."""
    if run.measured is None or not unwatched(run):
        return ""
    if unplaced(run):
        return "its log came in one burst: what its machines did is not known"
    if not (seen := watched_s(run)):
        return "not watched"
    watched, trained = (significant(s, zeros=True) for s in (seen, run.trained_s))
    return f"watched for {watched} s of {trained} s"


def _other_processes(found: Disturbed) -> tuple[str, str]:
    count, where = int(found.amount), f"GPU{found.gpu} of {found.host}"
    what = "another process was" if count == 1 else f"{count} other processes were"
    return f"{what} on {where}", f"{found.host} 的 GPU{found.gpu} 上有 {count} 个其他进程"


def _swapped(found: Disturbed) -> tuple[str, str]:
    mib = f"{trimmed(found.amount / 1024, 0)} MiB"
    return f"{found.host} swapped {mib}", f"{found.host} 发生交换 {mib}"


def _memory_errors(found: Disturbed) -> tuple[str, str]:
    count, where = int(found.amount), f"GPU{found.gpu} of {found.host}"
    return (
        f"{where} had {count} memory errors that could not be corrected",
        f"{found.host} 的 GPU{found.gpu} 出现 {count} 个不可纠正的显存错误",
    )


def _uneven_load(found: Disturbed) -> tuple[str, str]:
    more = percent(found.amount, beyond=[UNEVEN_LOAD])
    return (
        f"the CPUs of {found.host} were busier by {more} of their time than the repeats' median",
        f"{found.host} 的CPU忙碌时间比各次重复的中位数多 {more}",
    )


_SENTENCES = {
    Trouble.OTHER_PROCESSES: _other_processes,
    Trouble.SWAPPED: _swapped,
    Trouble.MEMORY_ERRORS: _memory_errors,
    Trouble.UNEVEN_LOAD: _uneven_load,
}
