"""What the pictures of the documentation show, and that each is named by a page and there."""

from __future__ import annotations

import importlib.util
import io
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "screenshots"
FILM_COLUMNS = 100


FILM = PICTURES / "demo.gif"
CELL, LEFT, TOP, ROW = 12.2, 9.0, 41.0, 24.4
"""Of Textual's SVG: a character's width, where the terminal begins, and the height of a line."""


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    return loaded("warnings_in_pictures")


@pytest.fixture(scope="module")
def film(pictures: ModuleType) -> ModuleType:
    return loaded("film")


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PICTURES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # film.py imports the other by its name
    spec.loader.exec_module(module)
    return module


def test_each_picture_is_named_by_a_page_and_each_that_is_named_is_there() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(r"screenshots/([\w.-]+\.(?:png|gif|svg))", page.read_text("utf-8"))
    }
    drawn = {path.name for path in PICTURES.iterdir() if path.suffix in (".png", ".gif")}
    assert named == drawn
    svg = {path.stem for path in PICTURES.glob("*.svg")}
    assert svg == {path.stem for path in PICTURES.glob("*.png")}


def test_a_picture_with_a_link_has_words_for_who_cannot_see_it() -> None:
    for page in (ROOT / "README.md", *ROOT.glob("docs/*.md")):
        for words in re.findall(r"!\[([^\]]*)\]\([^)]*screenshots/", page.read_text("utf-8")):
            assert len(words.split()) >= 5, (page, words)


def test_every_frame_of_the_film_says_simulated_and_has_no_rubbish(film: ModuleType) -> None:
    assert FILM.stat().st_size < film.MOST_BYTES
    words = film.words_of(FILM)
    with Image.open(FILM) as shown:
        assert shown.n_frames == len(words)
        zoom = shown.width / (FILM_COLUMNS * CELL + 2 * LEFT)
        seconds, marks = 0.0, set()
        for number, said in enumerate(words):
            assert film.wrong_in(said) == "", number
            [row] = [row for row in said.splitlines() if "dlperf-tui  SIMULATED" in row]
            left = (LEFT + CELL * row.index(film.MARK)) * zoom
            shown.seek(number)
            seconds += shown.info["duration"] / 1000
            box = (left, TOP * zoom, left + CELL * len(film.MARK) * zoom, (TOP + ROW) * zoom)
            mark = shown.convert("RGB").crop(tuple(map(round, box)))
            marks.add(mark.tobytes())
            assert len(mark.getcolors() or range(99)) > 2, "letters on their ground"
    assert len(marks) == 1, "the same in each"
    assert 20 <= seconds <= 40


def test_a_frame_that_does_not_say_so_or_has_escapes_is_refused(film: ModuleType) -> None:
    def refused(words: str) -> str:
        with pytest.raises(ValueError, match="a frame of the film") as error:
            film.frame(drawn(words), b"", 1.0)
        return str(error.value)

    assert film.frame(drawn("SIMULATED · 4 hosts"), b"", 1.0).words == "SIMULATED · 4 hosts"
    assert "does not say SIMULATED" in refused("4 hosts")
    for rubbish in ("\x1b", "\x9b", "\N{REPLACEMENT CHARACTER}", "\u202e", "\ue0b0"):
        assert "a frame of the film has" in refused(f"SIMULATED {rubbish}[31m")


def test_a_film_beyond_its_bound_is_not_written(
    film: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = io.BytesIO()
    Image.effect_noise((64, 64), 64).save(drawing, "PNG")
    frames = [film.Frame(drawing.getvalue(), "SIMULATED", 1.0)]
    path = tmp_path / "film.gif"
    size = film.write_film(frames, path)
    assert path.stat().st_size == size
    before = path.read_bytes()
    monkeypatch.setattr(film, "MOST_BYTES", size - 1)
    with pytest.raises(ValueError, match="the film has"):
        film.write_film(frames, path)
    assert path.read_bytes() == before


def drawn(*lines: str) -> str:
    """As a picture has them, every character at its column."""
    return "".join(
        f'<text class="r" x="{" ".join(str(12.2 * n) for n in range(len(line)))}" '
        f'y="{20 * row}">{line}</text>'
        for row, line in enumerate(lines, 1)
    )


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_shows_no_warning_that_its_page_does_not_mention(
    pictures: ModuleType, path: Path
) -> None:
    assert pictures.unmentioned(path.stem, path.read_text(encoding="utf-8")) == []


def test_a_warning_that_the_page_does_not_mention_is_found(
    pictures: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "54 lines of the journal could not be read: runs may be missing"
    picture = drawn("Runs", f"▲ {said}  SIMULATED")
    assert pictures.warnings_in(picture) == [said]
    assert pictures.unmentioned("results-h200", picture) == [said]
    page = {Path("page.md"): "Here 54 lines of the\njournal could not be read, on purpose."}
    monkeypatch.setattr(pictures, "pages_of", lambda name: page)
    assert pictures.unmentioned("results-h200", picture) == []


def test_of_panels_side_by_side_each_warning_is_one(pictures: ModuleType) -> None:
    assert pictures.warnings_in(drawn("│▲ one│▲ two: three  │")) == ["one", "two: three"]


@pytest.mark.parametrize("of", ["", "1 2 · ", "B ", "1 · D "])
def test_a_warning_is_known_without_the_campaigns_and_the_grade_that_it_is_of(
    pictures: ModuleType, of: str
) -> None:
    assert pictures.warnings_in(drawn(f"│▲ {of}3 repeats: few │")) == ["3 repeats: few"]
