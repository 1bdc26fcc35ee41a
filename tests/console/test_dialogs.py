"""What every dialog does, whatever it asks or says."""

from __future__ import annotations

import re
from random import Random

import pytest
from rich.text import Text
from textual._styles_cache import StylesCache
from textual.widgets import Input

from tests.console.conftest import HUGE, LARGE, SMALL, console, screen_text, settled, until
from tests.console.fakes import FakeFinding, FakeWorkspace
from tests.console.test_matrix import open_matrix
from tui.app import DlperfApp
from tui.screens.dialogs import Answer, Answers, Choice, Pages, Reading
from tui.screens.dry_run import Commands

SIZES = [(80, 24), (120, 40), (200, 60), (44, 12)]


def below(app: DlperfApp) -> int:
    """Lines that the frame says are below; 0 where it says nothing."""
    found = re.search(r"(\d+) more lines?: ↓", screen_text(app))
    return int(found.group(1)) if found else 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(3))
async def test_a_text_that_is_longer_than_its_dialog_says_by_how_much(
    workspace: FakeWorkspace, size: tuple[int, int], seed: int
) -> None:
    random = Random(f"{size} {seed}")
    lines = [f"<{number}>" for number in range(random.randint(1, 2 * size[1]))]
    async with console(workspace, size) as (app, pilot):
        app.push_screen(Reading("Title" * random.randint(1, 20), Text("\n".join(lines))))
        await settled(app)
        at = 0
        for key in [*random.choices(("j", "k", "pagedown", "pageup", "G", "g"), k=8), "G", "g"]:
            await pilot.press(key)
            await settled(app)
            seen = [line for line in lines if line in screen_text(app)]
            assert seen
            assert below(app) == len(lines) - 1 - lines.index(seen[-1])
            first = lines.index(seen[0])
            moved = {"j": 1, "k": -1}.get(key, 0)
            if moved and (0 <= at + moved <= len(lines) - len(seen)):
                assert first == at + moved
            at = first
        await pilot.resize_terminal(size[0], size[1] + 5)
        await settled(app)
        seen = [line for line in lines if line in screen_text(app)]
        assert below(app) == len(lines) - 1 - lines.index(seen[-1])


async def test_the_answer_that_enter_takes_has_a_mark_whatever_was_moved_or_asked_anew(
    workspace: FakeWorkspace,
) -> None:
    answers = [Answer(key, f"<{key}>", key, destroys=key == "a") for key in "abc"]

    def marked() -> list[str]:
        return re.findall(r"▸.*<(.)>", screen_text(app))

    async with console(workspace) as (app, pilot):
        question = Choice("Title", "?", answers)
        app.push_screen(question)
        await settled(app)
        assert marked() == ["b"]
        for key in "jjkkkj":
            await pilot.press(key)
            await settled(app)
            at = question.query_one(Answers).highlighted
            assert at is not None
            assert marked() == [answers[at].key]
        question.renewed = lambda: Choice("Title", "??", answers[1:])
        question.renew()
        await settled(app)
        assert marked() == ["b"]


async def test_help_over_a_start_that_is_stopped_says_which_keys_do_nothing_now(
    workspace: FakeWorkspace,
) -> None:
    workspace.findings = (FakeFinding("stop", "no license", "ask for one", ""),)
    async with console(workspace, (120, 60)) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("enter")
        await settled(app)
        assert isinstance(app.screen.query_one(Pages), Pages)
        await pilot.press("question_mark")
        await settled(app)
        helped = screen_text(app)
        first = [helped.index(words) for words in ("although preflight", "start the campaign")]
        reasons = [helped.index(f"Not now: {why}") for why in ("preflight says stop", "what stops")]
        assert first[0] < reasons[0] < first[1] < reasons[1] < helped.index("start without what")


@pytest.mark.parametrize("size", SIZES[:3])
async def test_a_dry_run_says_how_many_lines_are_below(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await open_matrix(app, pilot)
        await pilot.press("d")
        await settled(app)
        area = app.screen.query_one(Commands)
        for key in ("j", "pagedown", "G", "g"):
            await pilot.press(key)
            await settled(app)
            seen = area.scroll_offset.y + area.size.height
            assert below(app) == area.wrapped_document.height - seen
            if key == "G":
                assert below(app) == 0


@pytest.mark.parametrize("keys", ["G", "gGG", "jjG"])
@pytest.mark.parametrize("leave", ["escape", "q"])
async def test_a_dialog_that_is_closed_while_it_scrolls_takes_nothing_with_it(
    workspace: FakeWorkspace, keys: str, leave: str
) -> None:
    async with console(workspace, (80, 24)) as (app, pilot):
        for page in "1234":
            await pilot.press(page, "question_mark")
            await settled(app)
            pages = app.screen.query_one(Pages)
            for key in keys:
                await pilot.press(key)
            await pilot.press(leave)
            await until(pilot, lambda: not pages.is_attached)  # noqa: B023
            pages.scroll_y = 1  # as the animation of the scroll does once more
            await settled(app)
            assert app.is_running


@pytest.mark.parametrize("opener", ["p", "s", "o", "b", "d", "enter", "O"])
async def test_q_closes_what_lies_over_the_page_and_is_a_letter_where_text_is_typed(
    workspace: FakeWorkspace, opener: str
) -> None:
    async with console(workspace, (120, 40)) as (app, pilot):
        page = await open_matrix(app, pilot)
        await pilot.press(opener)
        await until(pilot, lambda: app.screen is not page)
        await settled(app)
        await pilot.press("q")
        await until(pilot, lambda: app.screen is page)
        if opener in "po":
            await pilot.press(opener, "i", "q")
            await settled(app)
            assert app.screen.query_one(Input).value == "q"


@pytest.mark.parametrize("own", [True, False], ids=["an answer", "none"])
async def test_q_leaves_a_question_unless_it_is_one_of_its_answers(
    workspace: FakeWorkspace, own: bool
) -> None:
    told: list[str | None] = []
    async with console(workspace) as (app, pilot):
        answers = [Answer("y", "yes", "yes"), *[Answer("q", "quit", "quit")] * own]
        app.push_screen(Choice("Title", "Text", answers), told.append)
        await settled(app)
        await pilot.press("q")
        await until(pilot, lambda: bool(told))
    assert told == ["quit" if own else None]


async def test_nothing_that_a_closed_dialog_has_painted_is_kept(workspace: FakeWorkspace) -> None:
    """Textual kept it by what it remembers of a method's answers, a megabyte a dialog."""

    def remembered() -> int:
        return StylesCache.get_inner_outer.cache_info().currsize  # type: ignore[attr-defined]

    async with console(workspace, LARGE) as (_, pilot):
        for opens in ("question_mark", "ctrl+p", "O"):
            await pilot.press(opens, "escape")
            once = remembered()
            await pilot.press(*(opens, "escape") * 3)
            assert remembered() == once, opens


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_words_are_found_in_what_is_read(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    """Each line that has them comes into sight, in turn and round the end."""

    async with console(workspace, size) as (app, pilot):
        await pilot.press("3", "question_mark", "slash", *"mean", "enter")
        dialog = app.screen
        assert isinstance(dialog, Reading)
        having = [line for line, text in enumerate(dialog.lines()) if "mean" in text.casefold()]
        assert len(having) > 1
        for number in [*range(len(having)), 0]:
            await until(
                pilot, lambda at=number: f"· mean · {at + 1} of {len(having)}" in screen_text(app)
            )
            assert dialog.line_now() == having[number]
            assert dialog.lines()[having[number]].strip() in screen_text(app)
            await pilot.press("n")
        await pilot.press("slash", *"nowhere", "enter")
        await until(pilot, lambda: "nothing has: nowhere (looked in all of " in screen_text(app))


async def test_space_and_b_turn_the_pages_of_what_is_read(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("3", "?")
        await until(pilot, lambda: isinstance(app.screen, Reading))
        pages = app.screen.query_one(Pages)
        seen = []
        for key in ("pagedown", "pageup", "space", "b"):
            await pilot.press(key)
            seen.append(pages.scroll_y)
        assert seen[:2] == seen[2:]
        assert seen[0] > seen[1] == 0
