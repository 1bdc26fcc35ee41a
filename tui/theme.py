"""The console's colours: one small palette, dark and light, whose nearest of 16 colours stay apart.

Colour repeats what a symbol or a word says already; it never says anything alone. Words are written
in the colours of the dark palette; :data:`LIGHTENED` says what each is in the light one.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import Theme

BACKGROUND = "#0f1318"
RAISED = "#1a2028"
LINE = "#313a45"
TEXT = "#d5dbe4"
MUTED = "#8e99a6"
ACCENT = "#5aa9ff"
GOOD = "#6fcf78"
WARN = "#e8b84a"
BAD = "#ef6f76"
VIOLET = "#c084fc"
CYAN = "#48cfc8"
CURSOR = "#1f3145"

LIGHTENED = {
    BACKGROUND: "#fbfcfe",
    RAISED: "#eef2f7",
    LINE: "#c3ccd7",
    TEXT: "#1d2530",
    MUTED: "#525b69",
    ACCENT: "#0a56bb",
    GOOD: "#0e6920",
    WARN: "#7e5100",
    BAD: "#af2028",
    VIOLET: "#8b1f9b",
    CYAN: "#007a7a",
    CURSOR: "#c0d4ee",
}

SERIES = (ACCENT, GOOD, WARN, VIOLET, CYAN, BAD)

LINK_COLOURS = {"NV": GOOD, "PIX": ACCENT, "PXB": ACCENT, "PHB": WARN, "NODE": WARN, "SYS": BAD}


def link_colour(link: str) -> str:
    """The colour of a link class as ``nvidia-smi topo -m`` prints it (NV2, PIX, …)."""
    if link.startswith("NV"):
        return LINK_COLOURS["NV"]
    return LINK_COLOURS.get(link, MUTED)


def _theme(name: str, colours: Mapping[str, str], *, dark: bool) -> Theme:
    return Theme(
        name=name,
        primary=colours[ACCENT],
        secondary=colours[MUTED],
        accent=colours[ACCENT],
        success=colours[GOOD],
        warning=colours[WARN],
        error=colours[BAD],
        foreground=colours[TEXT],
        background=colours[BACKGROUND],
        surface=colours[BACKGROUND],
        panel=colours[RAISED],
        dark=dark,
        variables={
            "line": colours[LINE],
            "muted": colours[MUTED],
            "cursor": colours[CURSOR],
            "block-cursor-background": colours[CURSOR],
            "block-cursor-foreground": colours[TEXT],
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-background": colours[RAISED],
            "block-cursor-blurred-foreground": colours[TEXT],
            "block-cursor-blurred-text-style": "none",
            "block-hover-background": colours[RAISED],
            "input-cursor-background": colours[TEXT],
            "input-cursor-foreground": colours[BACKGROUND],
            "input-selection-background": f"{colours[ACCENT]} 35%",
            "scrollbar": colours[LINE],
            "scrollbar-hover": colours[MUTED],
            "scrollbar-active": colours[ACCENT],
            "scrollbar-background": colours[BACKGROUND],
            "scrollbar-background-hover": colours[BACKGROUND],
            "scrollbar-background-active": colours[BACKGROUND],
            "scrollbar-corner-color": colours[BACKGROUND],
            "footer-background": colours[RAISED],
            "footer-foreground": colours[MUTED],
            "footer-key-foreground": colours[ACCENT],
            "footer-key-background": colours[RAISED],
            "footer-description-foreground": colours[TEXT],
            "footer-description-background": colours[RAISED],
            "border": colours[LINE],
            "border-blurred": colours[LINE],
        },
    )


DARK = _theme("dlperf", {colour: colour for colour in LIGHTENED}, dark=True)
LIGHT = _theme("dlperf-light", LIGHTENED, dark=False)


def begun_with(environment: Mapping[str, str], kept: str = "") -> Theme:
    """``DLPERF_THEME`` dark or light; without it, what was ``kept``; without that, light where the
    terminal says that it is (``COLORFGBG``, whose last number is the background's)."""
    asked = environment.get("DLPERF_THEME", "")
    if asked not in ("dark", "light"):
        asked = kept
    if asked not in ("dark", "light"):
        background = environment.get("COLORFGBG", "").rpartition(";")[2]
        asked = "light" if background in ("7", "15") else "dark"
    return LIGHT if asked == "light" else DARK
