"""Text that means harm, and what of it a terminal must never receive.

Every piece carries :data:`WORD`, so that a test can see that it was shown, and every control
sequence with numbers carries :data:`NUMBER`, so that it is told from the console's own.
"""

from __future__ import annotations

import base64
import re
from random import Random

WORD = "EVIL"
NUMBER = "7777"

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

PIECES = (
    WORD,
    f"\x1b[{NUMBER};{NUMBER}H{WORD}",
    f"\x1b[38;5;{NUMBER}m{WORD}\x1b[0;{NUMBER}m",
    f"\x1b[?{NUMBER}h\x1b[{NUMBER}J",
    f"\x1b]52;c;{WORD}\x07",
    f"\x1b]0;{WORD}\x1b\\",
    f"\x1b]8;;http://{WORD}\x1b\\link\x1b]8;;\x1b\\",
    f"\x1b]52;c;{WORD}",  # never ended
    f"\x1bP+q{WORD}\x1b\\",
    f"\x1b_G{WORD}\x1b\\",
    f"\x1b^{WORD}\x1b\\",
    f"\x1bX{WORD}\x1b\\",
    "\x1bc",
    "\x1b#8",
    "\x1b(0",
    "\x1b",
    "\x1b[",
    "\x1b\x1b[",
    f"\x1b\x9b]{NUMBER}m",
    f"\x9b{NUMBER}m",
    f"\x9d52;c;{WORD}\x9c",
    f"\x90{WORD}\x9c",
    "\x85\x84\x8d",
    f"[@click=app.quit]{WORD}[/]",
    f"[bold red]{WORD}[/bold red]",
    "[/nope]",
    "[/]",
    "[link=http://x]",
    f"[{WORD}",
    "\\[",
    "$WORD $(reboot) `id` {0} %s",
    "\x00",
    "\x07",
    "\x08\x08\x08",
    "\x0e\x0f",
    "\x7f",
    f"\r{WORD}",
    f"\n{WORD}",
    "\t",
    *BIDI,
    f"\u202e{WORD}\u202c",
    "\u2028\u2029",
    "\U000e0041\U000e007f",
    "\udc80\ud800",
    "e\u0301\u0301\u0301\u0301",
    "漢字かな",
    "👩‍👩‍👧",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
    "| a | b |",
)


def hostile_text(random: Random, *, longest: int = 12) -> str:
    """A few pieces in a row; now and then very many."""
    number = random.randint(1, longest) if random.random() < 0.95 else 2_000
    return WORD + "".join(random.choice(PIECES) for _ in range(number))


def hostile_log(random: Random, *, size: int = 200_000) -> bytes:
    """Lines of hostile text, progress bars, bytes that are no text, and a line that never ends."""
    lines: list[bytes] = []
    while sum(map(len, lines)) < size:
        kind = random.randrange(4)
        if kind == 0:
            lines.append(b"\r".join(b"%d%% %s" % (n, WORD.encode()) for n in range(0, 100, 7)))
        elif kind == 1:
            lines.append(WORD.encode() + random.randbytes(60))
        else:
            lines.append(hostile_text(random).encode("utf-8", "surrogatepass"))
    return b"\n".join(lines) + b"\n"


_TOKEN = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*.?|[^\x1b]+", re.DOTALL
)
_OWN = re.compile(r"\x1b\]22;[a-z-]*\x07")  # the shape of the pointer
_COPIED = re.compile(r"\x1b\]52;c;([A-Za-z0-9+/]+={0,2})\x07")  # what was asked for with y
_UNSAFE = re.compile(
    f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{BIDI}\u2028\u2029\ud800-\udfff\U000e0000-\U000e007f]"
)


def leaks(received: bytes) -> list[str]:
    """What came through of the harm: sequences that are not the console's own, and characters."""
    try:
        text = received.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"no UTF-8: {received[error.start - 20 : error.end + 20]!r}"]
    found = []
    for token in _TOKEN.findall(text):
        if not token.startswith("\x1b"):
            found += [f"{match!r} in {token[:80]!r}" for match in set(_UNSAFE.findall(token))]
        elif token[1:2] == "[":
            if NUMBER in token or len(token) < 3:
                found.append(repr(token))
        elif not (_OWN.fullmatch(token) or _is_harmless_copy(token)):
            found.append(repr(token[:80]))
    return found


def copies(received: bytes) -> int:
    """How often the console put harmless text into the clipboard."""
    tokens = _TOKEN.findall(received.decode("utf-8", "replace"))
    return sum(_is_harmless_copy(token) for token in tokens)


def _is_harmless_copy(token: str) -> bool:
    """Ours is base64 of text in which nothing is unsafe; of what is hostile it would not be."""
    match = _COPIED.fullmatch(token)
    if match is None:
        return False
    try:
        text = base64.b64decode(match.group(1), validate=True).decode("utf-8")
    except ValueError:
        return False
    return len(text) > len(WORD) and not _UNSAFE.search(text)
