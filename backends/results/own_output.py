"""Whether a file that is in the way is a report that was written before, by how it begins."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from backends.results.translations import LANGUAGES, Words, words

LOOKED_AT = 1 << 16

_BEGINNINGS = re.compile(
    r"### .*\n(?:.*\n)*?\| :?---"  # a title of the third level, and a table somewhere below it
    r"|\{\s*\"campaign\": "  # the document of results.json
    r"|\{\s*\"[^\"]+\": \{\s*\"[^\"]+\": \{\s*\"average_speed\": "  # dlperf-json
    r"|<!DOCTYPE html>\n<html [^>]*>\n<head>\n<meta charset=\"utf-8\">\n"
    r"<meta http-equiv=\"Content-Security-Policy\""
    r"|<\?xml [^>]*>\s*<testsuite "
    r"|<\?xml [^>]*>\s*<!DOCTYPE svg (?:.*\n)*?\s*<dc:title>dlperf-tui</dc:title>"
)
_END = re.compile(r"(Written by|由) dlperf-tui \S+( 生成。)?\s*\Z")  # of the whole report


def is_own_output(path: Path) -> bool:
    """Whether the regular file holds nothing, or looks like what ``report`` and ``compare`` write
    (markdown, CSV, JSON, HTML, JUnit, SVG, in any language), which may be written again. Blocking.

    Raises
    ------
    OSError: it cannot be read.
    """
    with path.open("rb") as file:
        begins = file.read(LOOKED_AT).decode("utf-8", "replace")
        file.seek(max(0, path.stat().st_size - LOOKED_AT))
        ends = file.read(LOOKED_AT).decode("utf-8", "replace")
    own = _BEGINNINGS.match(begins) or _END.search(ends) or _is_own_csv(begins)
    return not begins or bool(own)


def _is_own_csv(text: str) -> bool:
    headings = next(csv.reader(text.splitlines()[:1]), [])
    first = next(filter(None, headings), None)
    return len(headings) > 1 and first in _FIRST_HEADINGS


def _headings(w: Words) -> tuple[str, ...]:
    """What a column may be called that stands first, where it is not the usual one, too."""
    return (
        *(w.nodes, w.gpus_per_node, w.gpus, w.batch, w.memory, w.stated_memory, w.throughput),
        w.speedup,
        *(w.speedup_interval, w.efficiency, w.efficiency_interval, w.cv, w.count),
        *(w.oneflow_gpus_per_node, w.oneflow_memory, w.oneflow_throughput, w.oneflow_speedup),
        *(w.cards, w.compare_gpus, w.time_to_train),
    )


_FIRST_HEADINGS = frozenset(
    ("campaign", "profile", "table", "size", "大小", "system", "系统")
).union(*(_headings(words(lang)) for lang in LANGUAGES))
