"""Text that others wrote (hosts, reasons, parameters, log lines) made safe for markdown and CSV.

Whatever comes in, it stays one cell, one line, one word of code; it never becomes a link, markup,
HTML or a spreadsheet formula, and no control character survives.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import quote

from profiles.cleantext import clean_text

# CommonMark lets a backslash stand before any ASCII punctuation; these are the ones that mean
# something inside a line on GitHub: spans, links, HTML, entities, table cells, strikethrough, math.
# A nodeset stays as it is copied, "gpu-[1-4]" too: it is a link only before what looks like its
# target, and a reference's definition only where nothing stands before it.
_INLINE = re.compile(r"(?<=[\w.-])\[[0-9][0-9,-]*\](?![(\[])|([\\`*\[\]<>&|~$])")
_UNDERSCORE = re.compile(r"(?<![^\W_])_")  # behind a word's letter it can only end what none begins
# "root@vm" is neither an e-mail address, which has a dot behind, nor a mention, which is a word's
# beginning.
_AUTOLINK = re.compile(r"(?i)(:)(//)|(www)(\.)|((?<![^\W_])@|@(?=\S*\.))")
# Would begin a list or a heading, or is all of a rule or of a line under a heading or a table's
# head; "12.5", "#nightly" and "-x" would not.
_LINE_START = re.compile(
    r"^(\d*)((?<=\d)[.)](?=\s|$)|(?<!\d)(?:#(?=#{0,5}(?:\s|$))|[+-](?=\s|$)|[=:-](?=[=:\s-]*$)))"
)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%?")
_FORMULA = tuple("=+-@＝＋－＠")


def one_line(text: str) -> str:
    """Display-safe, with every run of white space and line breaks as one space."""
    return " ".join(clean_text(" ".join(text.split())).split())


def md_text(text: str) -> str:
    """``text`` as literal words anywhere in markdown: at the start of a line, in a heading …"""
    line = _INLINE.sub(lambda found: f"\\{found[1]}" if found[1] else found[0], one_line(text))
    line = _UNDERSCORE.sub(r"\\_", line)
    line = _AUTOLINK.sub(_defuse, line)
    return _LINE_START.sub(r"\1\\\2", line)


def md_cell(text: str) -> str:
    """``text`` as a table cell, where a lone dash is no list."""
    return text if text == "-" else md_text(text)


def _defuse(match: re.Match[str]) -> str:
    """Breaks what GitHub would turn into a link by itself: a scheme, www., an e-mail address."""
    if match[1]:
        return r"\:\/\/"
    return rf"{match[3]}\." if match[3] else r"\@"


def md_code(text: str) -> str:
    """``text`` as inline code, its backticks and bars included. Empty text gives nothing."""
    line = one_line(text)
    if not line:
        return ""
    fence = "`" * (_longest_ticks(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    # In a table a bar ends the cell even inside code, and only there a backslash takes it back;
    # U+FF5C looks like one and is safe in both places.
    return f"{fence}{pad}{line.replace('|', '｜')}{pad}{fence}"


def md_block(text: str, language: str = "") -> str:
    """``text`` as a fenced block; its lines stay, its control characters do not."""
    lines = [clean_text(line.expandtabs()).rstrip() for line in text.splitlines()]
    body = "\n".join(lines)
    fence = "`" * max(3, _longest_ticks(body) + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def _longest_ticks(text: str) -> int:
    return max((len(ticks) for ticks in re.findall("`+", text)), default=0)


def md_link(text: str, path: str) -> str:
    """A link to a file below the report; only the words where ``path`` leads elsewhere."""
    target = PurePosixPath(path)
    if not path or target.is_absolute() or ".." in target.parts:
        return md_text(text)
    return f"[{md_text(text)}](./{quote(str(target), safe='/-._~=+,@')})"


def csv_cell(text: str) -> str:
    """``text`` that no spreadsheet takes for a formula; numbers and a lone dash stay as they are.

    OWASP, "CSV Injection": a leading = + - @ (or a control character before one) starts a formula,
    a leading apostrophe prevents it.
    """
    line = one_line(text)
    if line.startswith(_FORMULA) and line != "-" and not _NUMBER.fullmatch(line):
        return "'" + line
    return line
