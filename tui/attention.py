"""A terminal asks for its operator's attention: a bell, and a note of its desktop where it has one.

The one place where such sequences are made. Their words are cleaned here, whoever they come from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from profiles.cleantext import clean_text

if TYPE_CHECKING:
    from backends.inventory.notify_settings import Terminals

BELL = "\a"
LONGEST = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_OSC9 = ("iTerm.app", "WezTerm", "ghostty", "WarpTerminal")
_OSC777 = ("foot", "rxvt")


def attention(text: str, how: Terminals, environ: Mapping[str, str]) -> str:
    """What is written to the terminal: a bell, and OSC 9 or OSC 777 where it is known to take one.

    ``how``: auto: by what the environment says of the terminal. Through tmux the sequence goes in
    its envelope, which tmux hands on where ``allow-passthrough`` is on, and drops elsewhere.
    """
    if how == "off":
        return ""
    kind = _kind(environ) if how == "auto" else how
    words = _CONTROL.sub("", " ".join(clean_text(text).split()))[:LONGEST]
    if kind == "osc9":
        sequence = f"\x1b]9;{words}\a"
    elif kind == "osc777":
        sequence = f"\x1b]777;notify;dlperf-tui;{words.replace(';', ',')}\a"
    else:
        return BELL
    if environ.get("TMUX"):
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        sequence = f"\x1bPtmux;{doubled}\x1b\\"
    return BELL + sequence


def _kind(environ: Mapping[str, str]) -> str:
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    if program in _OSC9 or term.startswith("xterm-kitty") or environ.get("WT_SESSION"):
        return "osc9"
    return "osc777" if term.startswith(_OSC777) else "bell"


class Rung:
    """Which of a campaign's occasions the terminal was rung for: those since ``since``, once each.

    ``how``, ``environ``: as of :func:`attention`. ``since``: seconds since the epoch.
    """

    def __init__(self, how: Terminals, environ: Mapping[str, str], since: float) -> None:
        self._how = how
        self._environ = environ
        self._since = since
        self._known: set[str] = set()

    def new(self, campaign: str, told: Mapping[str, tuple[float, str, str]]) -> str:
        """What is to be written now; of many at once the last one, and how many there were."""
        fresh = {
            f"{campaign}/{key}": text
            for key, (t, _, text) in told.items()
            if t >= self._since and f"{campaign}/{key}" not in self._known
        }
        if not fresh:
            return ""
        self._known |= fresh.keys()
        *before, last = fresh.values()
        more = f" (and {len(before)} more)" if before else ""
        return attention(f"{last}{more}", self._how, self._environ)
