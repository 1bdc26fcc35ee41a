from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.color import Color, ColorSystem

from tests.console.conftest import LARGE, begin, console, shows, type_ahead, until
from tests.console.fakes import FakeWorkspace
from tui import theme
from tui.app import DlperfApp

PALETTES = {"dark": {colour: colour for colour in theme.LIGHTENED}, "light": theme.LIGHTENED}
MEANING = (theme.TEXT, theme.MUTED, theme.ACCENT, theme.GOOD, theme.WARN, theme.BAD)
both = pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)


def nearest_of_16(colour: str) -> int | None:
    return Color.parse(colour).downgrade(ColorSystem.STANDARD).number


@both
@pytest.mark.parametrize("colours", [MEANING, theme.SERIES], ids=["meaning", "series"])
def test_the_colours_stay_apart_in_a_terminal_of_16(
    palette: dict[str, str], colours: Sequence[str]
) -> None:
    assert len({nearest_of_16(palette[colour]) for colour in colours}) == len(colours)


@both
def test_the_cursor_is_seen_in_a_terminal_of_16(palette: dict[str, str]) -> None:
    assert nearest_of_16(palette[theme.CURSOR]) != nearest_of_16(palette[theme.BACKGROUND])


@both
@pytest.mark.parametrize("ground", [theme.BACKGROUND, theme.RAISED, theme.CURSOR])
def test_words_can_be_read(palette: dict[str, str], ground: str) -> None:
    for colour in (*MEANING, *theme.SERIES):
        # What WCAG asks of words; of bold ones, as below the cursor are, 3.0: no cyan that a
        # terminal of 16 colours tells from grey has more on any light cursor that it shows.
        rare = (colour, ground) == (theme.CYAN, theme.CURSOR) and palette is theme.LIGHTENED
        least = 3.0 if rare else 4.5
        assert contrast(palette[colour], palette[ground]) >= least, colour


def contrast(one: str, other: str) -> float:
    """By WCAG 2: 1 … 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    triplet = Color.parse(colour).triplet
    assert triplet is not None
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in triplet.normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({}, "dlperf"),
        ({"COLORFGBG": "15;0"}, "dlperf"),
        ({"COLORFGBG": "0;15"}, "dlperf-light"),
        ({"COLORFGBG": "0;default;15"}, "dlperf-light"),
        ({"COLORFGBG": "0;15", "DLPERF_THEME": "dark"}, "dlperf"),
        ({"DLPERF_THEME": "light"}, "dlperf-light"),
        ({"DLPERF_THEME": "pink"}, "dlperf"),
    ],
)
def test_the_terminal_or_the_operator_says_which(environment: dict[str, str], name: str) -> None:
    assert theme.begun_with(environment).name == name


@pytest.mark.parametrize(
    ("kept", "environment", "light"),
    [
        ("light", {}, True),
        ("dark", {"COLORFGBG": "0;15"}, False),
        ("light", {"DLPERF_THEME": "dark"}, False),
        ("pink", {"COLORFGBG": "0;15"}, True),
        (None, {}, False),
    ],
)
async def test_the_next_console_has_the_colours_that_were_chosen_last(
    workspace: FakeWorkspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: str | None,
    environment: dict[str, str],
    light: bool,
) -> None:
    for name in ("DLPERF_THEME", "COLORFGBG"):
        monkeypatch.delenv(name, raising=False)
        if name in environment:
            monkeypatch.setenv(name, environment[name])
    file = tmp_path / "state" / "theme"
    if kept is not None:
        file.parent.mkdir()
        file.write_text(kept)
    app = DlperfApp(workspace, theme_file=file)
    assert (app.theme == "dlperf-light") is light
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("T")
    assert file.read_text() == ("dark\n" if light else "light\n")
    monkeypatch.delenv("DLPERF_THEME", raising=False)
    assert (DlperfApp(workspace, theme_file=file).theme == "dlperf-light") is not light


async def test_colours_that_cannot_be_kept_are_those_of_this_console(
    workspace: FakeWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    app = DlperfApp(workspace, theme_file=tmp_path / "file" / "theme")
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("T")
        assert app.theme == "dlperf-light"


async def test_nothing_dark_is_left_in_the_light_theme(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await until(pilot, lambda: workspace.probed)
        await pilot.press("T")
        assert shows(app, "light colours")
        await pilot.press("T")
        assert shows(app, "dark colours")
        dark = app.export_screenshot()
        await pilot.press("T")
        light = app.export_screenshot().lower()
        assert not [colour for colour in theme.LIGHTENED if colour in light]
        await pilot.press("T")
        assert app.export_screenshot() == dark


async def test_a_page_that_was_behind_has_the_colours_of_the_new_theme(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: shows(app, "no result yet") and not shows(app, "reading past"))
        dark = app.export_screenshot()
        await pilot.press("1", "T", "2")
        light = app.export_screenshot().lower()
        assert not [colour for colour in theme.LIGHTENED if colour in light]
        await pilot.press("1", "T", "2")
        assert app.export_screenshot() == dark


def test_links_are_coloured_by_class() -> None:
    assert theme.link_colour("NV18") == theme.GOOD
    assert theme.link_colour("SYS") == theme.BAD
    assert theme.link_colour("X") == theme.MUTED


@pytest.mark.parametrize("light", [False, True])
async def test_without_colours_not_one_cell_has_any_and_the_cursor_still_shows(
    workspace: FakeWorkspace, monkeypatch: pytest.MonkeyPatch, light: bool
) -> None:
    """Greys are colours, too."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("DLPERF_THEME", "light" if light else "dark")
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        for keys in ("1", "2", "3", "4", "1?", "2c", "2o", "1O", "3c", "q"):
            await type_ahead(app, pilot, *(key if key != "?" else "question_mark" for key in keys))
            strips = app.screen._compositor.render_strips()
            styles = {segment.style for strip in strips for segment in strip if segment.style}
            assert {(style.color, style.bgcolor) for style in styles} == {(None, None)}, keys
            if len(keys) == 1 and keys != "q":
                assert any(style.reverse for style in styles), keys
            await type_ahead(app, pilot, "escape")
