"""The answer of a host that was asked what a run does: pieces of evidence, byte for byte.

Each piece says how many bytes it has before they come, so that nothing in one can pass for another:
a log may hold any line. See ``backends/remote/diagnose.sh``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADER = re.compile(rb"@section ([a-z-]{1,32}) ([A-Za-z0-9_-]{1,32}) (-|\d{1,3}) (\d{1,9})\n")
_BEGIN = re.compile(rb"@diagnosis [a-z]{1,16} (\d{1,18}|-)\n")
MOST_SECTIONS = 1024


@dataclass(frozen=True, slots=True)
class Section:
    """One piece of evidence.

    ``name``: what told; ``argument``: of which process or rank, "-" for the host; ``status``: its
    exit status, None where it had not ended when the host's limit was over.
    """

    name: str
    argument: str
    status: int | None
    content: bytes = field(repr=False)

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    @property
    def number(self) -> int | None:
        """The argument where it is one."""
        return int(self.argument) if self.argument.isdecimal() else None


def split(answer: bytes) -> tuple[Section, ...]:
    """All pieces up to the first that is not whole; what no host of ours said gives none."""
    begin = _BEGIN.match(answer)
    sections: list[Section] = []
    position = begin.end() if begin else len(answer)
    while len(sections) < MOST_SECTIONS and (header := _HEADER.match(answer, position)):
        end = header.end() + int(header[4])
        if answer[end : end + 1] != b"\n":
            break
        status = None if header[3] == b"-" else int(header[3])
        name, argument = header[1].decode(), header[2].decode()
        sections.append(Section(name, argument, status, answer[header.end() : end]))
        position = end + 1
    return tuple(sections)
