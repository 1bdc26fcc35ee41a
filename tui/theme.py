"""The console's colours: one small palette, dark, whose nearest of 16 colours stay apart.

Colour repeats what a symbol or a word says already; it never says anything alone.
"""

from __future__ import annotations

from textual.theme import Theme

BACKGROUND = "#0f1318"
RAISED = "#1a2028"
LINE = "#313a45"
TEXT = "#d5dbe4"
MUTED = "#84909e"
ACCENT = "#5aa9ff"
GOOD = "#6fcf78"
WARN = "#e8b84a"
BAD = "#ef6f76"
VIOLET = "#c084fc"
CYAN = "#48cfc8"
CURSOR = "#26384d"

SERIES = (ACCENT, GOOD, WARN, VIOLET, CYAN, BAD)

LINK_COLOURS = {"NV": GOOD, "PIX": ACCENT, "PXB": ACCENT, "PHB": WARN, "NODE": WARN, "SYS": BAD}


def link_colour(link: str) -> str:
    """The colour of a link class as ``nvidia-smi topo -m`` prints it (NV2, PIX, …)."""
    if link.startswith("NV"):
        return LINK_COLOURS["NV"]
    return LINK_COLOURS.get(link, MUTED)


THEME = Theme(
    name="dlperf",
    primary=ACCENT,
    secondary=MUTED,
    accent=ACCENT,
    success=GOOD,
    warning=WARN,
    error=BAD,
    foreground=TEXT,
    background=BACKGROUND,
    surface=BACKGROUND,
    panel=RAISED,
    dark=True,
    variables={
        "line": LINE,
        "muted": MUTED,
        "cursor": CURSOR,
        "block-cursor-background": CURSOR,
        "block-cursor-foreground": TEXT,
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": RAISED,
        "block-cursor-blurred-foreground": TEXT,
        "block-cursor-blurred-text-style": "none",
        "block-hover-background": RAISED,
        "input-cursor-background": TEXT,
        "input-cursor-foreground": BACKGROUND,
        "input-selection-background": f"{ACCENT} 35%",
        "scrollbar": LINE,
        "scrollbar-hover": MUTED,
        "scrollbar-active": ACCENT,
        "scrollbar-background": BACKGROUND,
        "scrollbar-background-hover": BACKGROUND,
        "scrollbar-background-active": BACKGROUND,
        "scrollbar-corner-color": BACKGROUND,
        "footer-background": RAISED,
        "footer-foreground": MUTED,
        "footer-key-foreground": ACCENT,
        "footer-key-background": RAISED,
        "footer-description-foreground": TEXT,
        "footer-description-background": RAISED,
        "border": LINE,
        "border-blurred": LINE,
    },
)
