"""Text for the clipboard: the terminal is asked to take it (OSC 52), and never says whether it
did."""

from __future__ import annotations

from typing import Any

from textual.app import App

from profiles.cleantext import clean_text

MOST_COPIED = 75_000
"""Bytes that terminals can be expected to take for the clipboard (xterm takes no more)."""


def safe_text(text: str) -> str:
    """What is written, so that it does nothing where it is pasted."""
    return "\n".join(map(clean_text, text.split("\n")))


def hand_over(app: App[Any], text: str) -> str:
    """And what to say of it."""
    safe = safe_text(text)
    size = len(safe.encode())
    app.copy_to_clipboard(safe)
    said = f"handed to the terminal for its clipboard, {size:,} bytes"
    if size * 4 // 3 > MOST_COPIED:
        said += "; many terminals take no more than 56,000: write it to a file"
    return said
