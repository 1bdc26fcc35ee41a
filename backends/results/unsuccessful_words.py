"""What became of repeats that have no figure."""

from __future__ import annotations

from backends.results.case_result import CaseResult


def unsuccessful_line(case: CaseResult) -> tuple[str, str]:
    """A word for each kind of them: in English and in Chinese."""
    lost = case.lost_runs
    never = sum(run.never_begun for run in lost)
    cancelled = sum(run.state == "cancelled" and not run.never_begun for run in lost)
    kinds = [
        (len(lost) - never - cancelled, "did not succeed", "did not succeed", "未成功"),
        (cancelled, "was cancelled", "were cancelled", "已取消"),
        (never, "was never started", "were never started", "从未启动"),
    ]
    told = [kind for kind in kinds if kind[0]]
    said = [f"{k} {one if k == 1 else more}" for k, one, more, _ in told]
    first = f"{told[0][0]} of {case.wanted} repeats {said[0].partition(' ')[2]}"
    said_zh = "、".join(f"{k} 次{zh}" for k, _, _, zh in told)
    counts = "it counts" if len(lost) == 1 else "they count"
    return (
        f"{', '.join([first, *said[1:]])}; {counts} for nothing",
        f"{case.wanted} 次重复中有 {said_zh}，不计入统计",
    )
