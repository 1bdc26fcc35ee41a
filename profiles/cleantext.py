"""The one function that makes text from a host safe to display.

What a host prints is hostile until it went through here: escape sequences could move the cursor or
write the clipboard, a carriage return hides what stands before it, bidirectional controls reorder
what the reader sees. Raw files keep every byte; screens, reports and messages never see them.

Escape sequences are removed, and every other character that a terminal would act on becomes U+FFFD,
so that nothing can disappear without a trace and no two halves can join into a word that the host
did not print. Sequences: ECMA-48 §5.4 (CSI), §5.6 (OSC and other strings), §5.3 (single escapes).
"""

from __future__ import annotations

import re

LINE_CAP = 4096
"""Characters of a line that are shown; the rest is counted as ``… +N bytes``."""

_ESCAPES = (
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|[\]PX^_][^\x07\x1b\r\n]*(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC up to BEL or ST
    r"|[ -/]*[0-Z\\^_`a-~]"  # single escapes; "[" and "]" only when complete, above
    r"|)"  # what is left of a broken one
)
ESCAPE = re.compile(_ESCAPES)
ESCAPE_BYTES = re.compile(_ESCAPES.encode())

_REPLACED = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f"  # C0 but tab, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u2028\u2029\ufff9-\ufffb\U000e0000-\U000e007f"  # separators, annotations, tags
    "\ud800-\udfff]+"  # lone surrogates cannot be encoded
)
_BREAKS = re.compile(rb"[\r\n]")


def clean_text(text: str, *, cap: int | None = None) -> str:
    """Display-safe text of one line; a run of unsafe characters becomes one U+FFFD.

    ``cap``: characters to keep; what is longer ends in ``… +N bytes``, N in UTF-8.
    """
    if text.isascii() and text.isprintable():
        safe = text
    else:
        safe = _REPLACED.sub("\ufffd", ESCAPE.sub("", text).replace("\t", " "))
    return _capped(safe, 0, cap) if cap is not None else safe


def clean_line(raw: bytes, *, cap: int = LINE_CAP) -> str:
    """Display-safe text of one line of output, as a terminal would have left it.

    Line ends are dropped; of a line that was overwritten with carriage returns the last part that
    is not blank is kept. Invalid UTF-8 becomes U+FFFD. Longer lines are cut at ``cap`` characters
    and end in ``… +N bytes``, where N counts what is not shown.
    """
    # The cut comes first: the cost of a line has a bound, however long it is. Four bytes are the
    # longest character, and escapes do not count against the reader.
    parts = [part for part in _BREAKS.split(raw) if part.strip()]
    if not parts:
        return ""
    last = parts[-1]
    head = last[: 8 * cap + 64]
    text = clean_text(head.decode("utf-8", "replace"))
    return _capped(text, len(last) - len(head), cap)


def _capped(text: str, unseen: int, cap: int) -> str:
    if len(text) <= cap and not unseen:
        return text
    hidden = unseen + len(text[cap:].encode())
    return f"{text[:cap]}… +{hidden} bytes"


class LineCleaner:
    """Bytes in any chunking to display-safe lines; memory stays flat without line ends.

    A carriage return overwrites the line, as on a terminal: only what is left at the newline
    becomes a line. ``feed`` and ``finish`` together give the same lines for every chunking.
    """

    def __init__(self, *, cap: int = LINE_CAP) -> None:
        self._cap = cap
        self._keep = 8 * cap + 64
        self._line = bytearray()  # what stands since the last break, at most _keep bytes
        self._unseen = 0  # bytes of it beyond that
        self._shown = b""  # last part before a carriage return that was not blank
        self._shown_unseen = 0
        self._open = False

    def feed(self, data: bytes) -> list[str]:
        """The lines that ``data`` completes."""
        lines: list[str] = []
        start = 0
        for match in _BREAKS.finditer(data):
            self._extend(data[start : match.start()])
            start = match.end()
            if match.group() == b"\n":
                lines.append(self._take())
            else:
                self._overwrite()
        self._extend(data[start:])
        return lines

    def finish(self) -> list[str]:
        """The last line, if it had no newline."""
        return [self._take()] if self._open else []

    def _extend(self, data: bytes) -> None:
        if data:
            self._open = True
            room = self._keep - len(self._line)
            self._line += data[:room]
            self._unseen += max(0, len(data) - room)

    def _overwrite(self) -> None:
        self._open = True
        if self._line.strip() or self._unseen:
            self._shown, self._shown_unseen = bytes(self._line), self._unseen
        self._line.clear()
        self._unseen = 0

    def _take(self) -> str:
        self._overwrite()
        text = clean_text(self._shown.decode("utf-8", "replace"))
        line = _capped(text, self._shown_unseen, self._cap)
        self._shown, self._shown_unseen, self._open = b"", 0, False
        return line
