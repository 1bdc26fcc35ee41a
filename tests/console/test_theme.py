from __future__ import annotations

from rich.color import Color, ColorSystem

from tui import theme


def nearest_of_16(colour: str) -> int | None:
    return Color.parse(colour).downgrade(ColorSystem.STANDARD).number


def test_the_colours_stay_apart_in_a_terminal_of_16() -> None:
    meaning = (theme.TEXT, theme.MUTED, theme.ACCENT, theme.GOOD, theme.WARN, theme.BAD)
    assert len({nearest_of_16(colour) for colour in meaning}) == len(meaning)
    assert len({nearest_of_16(colour) for colour in theme.SERIES}) == len(theme.SERIES)


def test_the_cursor_is_seen_in_a_terminal_of_16() -> None:
    assert nearest_of_16(theme.CURSOR) != nearest_of_16(theme.BACKGROUND)


def test_links_are_coloured_by_class() -> None:
    assert theme.link_colour("NV18") == theme.GOOD
    assert theme.link_colour("SYS") == theme.BAD
    assert theme.link_colour("X") == theme.MUTED
