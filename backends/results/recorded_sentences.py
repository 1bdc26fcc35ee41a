"""Sentences of ours that a campaign has recorded in English, in the language of a report."""

from __future__ import annotations

import re

from backends.results.translations import Lang

_ONE_MACHINE = re.compile(r"(?P<hosts>.+) are the same machine")
_DIFFER = re.compile(r"the hosts of this run differ: (?P<how>.+)")
_SENTENCES = (
    (_ONE_MACHINE, "{hosts} 是同一台机器"),
    (_DIFFER, "该运行的各主机不同：{how}"),
)


def translated(text: str, lang: Lang) -> str:
    """As it was recorded where that is no sentence known here; names and versions stay."""
    if lang == "en":
        return text
    for sentence, words in _SENTENCES:
        if (found := sentence.fullmatch(text)) is not None:
            return words.format(**found.groupdict())
    return text
