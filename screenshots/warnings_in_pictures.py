"""A picture with a warning in it that its page does not speak of says more than was meant."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CELL = 12.2
"""Width of a character in Textual's SVG."""

_TEXT = re.compile(r'<text [^>]*\bx="([\d. ]+)"[^>]*\by="([\d.]+)"[^>]*>([^<]*)</text>')
_WARNING = re.compile(r"▲ +(?:[\d ]+· )?(?:[A-D] )?(.*?)(?: {2,}|[│╭╮╰╯─]|$)")
"""Compare says first of which campaigns, by their numbers; a reason of a grade, of which."""


def rows(svg: str) -> list[str]:
    """What the picture shows, line by line."""
    lines: dict[float, dict[int, str]] = defaultdict(dict)
    for places, y, body in _TEXT.findall(svg):
        text = html.unescape(body).replace("\xa0", " ")
        for place, character in zip(places.split(), text, strict=False):
            lines[float(y)][round(float(place) / CELL)] = character
    return [
        "".join(cells.get(column, " ") for column in range(max(cells, default=0) + 1))
        for _, cells in sorted(lines.items())
    ]


def warnings_in(svg: str) -> list[str]:
    """The first line of each warning that the picture shows."""
    found = (text for row in rows(svg) for text in _WARNING.findall(row))
    return list(dict.fromkeys(text.strip(" …") for text in found if text.strip(" …")))


def pages_of(name: str) -> dict[Path, str]:
    """The pages that show or link the picture, with their text."""
    texts = {page: page.read_text() for page in (ROOT / "README.md", *ROOT.glob("docs/*.md"))}
    return {page: text for page, text in texts.items() if f"screenshots/{name}.png" in text}


def unmentioned(name: str, svg: str) -> list[str]:
    """Warnings in the picture that a page with it does not mention: each by what it says before
    its first colon or comma, or how many more there are, in any case."""
    pages = [" ".join(text.split()).casefold() for text in pages_of(name).values()]
    heads = {text: re.split(r"[:;,]| \+\d", text)[0].casefold() for text in warnings_in(svg)}
    return [text for text, head in heads.items() if any(head not in page for page in pages)]
