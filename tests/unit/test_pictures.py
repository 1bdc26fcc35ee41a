"""No picture of the documentation shows a warning that the page with it does not speak of."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PICTURES = Path(__file__).parents[2] / "screenshots"


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    path = PICTURES / "warnings_in_pictures.py"
    spec = importlib.util.spec_from_file_location("warnings_in_pictures", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
