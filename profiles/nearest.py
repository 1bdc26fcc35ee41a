"""What somebody who mistyped a name is likely to have meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like ``word``, without regard to case; None: none is."""
    import difflib  # noqa: PLC0415 (only a mistake needs it)

    names = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), names, n=1, cutoff=0.6)
    return names[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ ", did you mean 'node1'?", to stand behind what is wrong; empty where nothing is near."""
    near = nearest(word, known)
    return f", did you mean {near!r}?" if near is not None else ""
