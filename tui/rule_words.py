"""What a measuring rule makes of the readings that count, see docs/statistics.md."""

from __future__ import annotations

from collections.abc import Mapping

from profiles.format.measure_section import Rule, Window

RULES: Mapping[str, str] = {
    "elapsed": "all samples over all the time between readings",
    "mean": "of what the readings say",
    "median": "of what the readings say",
    "harmonic_mean": "of what the readings say",
    "trimmed_mean": "of what the readings say, without the largest and the smallest",
    "last": "of what the readings say",
}
"""By the name of the statistic."""


def measure_words(rule: Rule, *, window: bool = False) -> str:
    """ "mean: of what the readings say"; with the ``window`` also of which readings."""
    if window and rule.summary:
        return "the figure that the log sums up"
    told = f"{rule.statistic.replace('_', ' ')}: {RULES[rule.statistic]}"
    return f"{told}, {_window_words(rule.window)}" if window else told


def _window_words(window: Window) -> str:
    if window.last is not None:
        return f"the last {window.last}"
    if window.by_step:
        begin = "" if window.from_step is None else f" from step {window.from_step:.12g}"
        end = "" if window.to_step is None else f" to step {window.to_step:.12g}"
        return f"those{begin}{end}"
    ends = [f"the first {window.skip}"] * (window.skip > 0)
    ends += [f"the last {window.drop}"] * (window.drop > 0)
    return f"without {' and '.join(ends)}" if ends else "all of them"
