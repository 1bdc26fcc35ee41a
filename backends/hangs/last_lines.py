"""The last line that each rank has printed, where a launcher says which rank printed what."""

from __future__ import annotations

import re

from profiles.cleantext import ESCAPE_BYTES, clean_line

_PREFIX = re.compile(
    rb"\[\d{1,9},(?P<mpirun>\d{1,7})\]<std(?:out|err)>:? ?"
    rb"|\[(?:default|rank)(?P<torchrun>\d{1,7})\]:? ?"
    rb"|^(?P<srun>\d{1,7}): "
)


def last_lines_of_ranks(log: bytes) -> dict[int, str]:
    """By rank as the launcher counts them, safe to show: those of ``mpirun --tag-output``,
    ``torchrun --tee`` (local ranks), ``srun --label``, and what PyTorch itself writes."""
    found: dict[int, str] = {}
    for line in ESCAPE_BYTES.sub(b"", log).replace(b"\r", b"\n").split(b"\n"):
        prefix = _PREFIX.match(line)
        if prefix is not None and line[prefix.end() :].strip():
            rank = next(group for group in prefix.groups() if group is not None)
            found[int(rank)] = clean_line(line[prefix.end() :])
    return dict(sorted(found.items()))
