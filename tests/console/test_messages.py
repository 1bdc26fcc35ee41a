"""What stands beside the pages' names for a while."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.notifications import Notification, Notifications

from backends.campaign.folder.tags_and_note import About, write_about
from profiles.errors import DlperfError
from tests.console.conftest import LARGE, SMALL, begin, console, screen_text, until
from tests.console.fakes import FakeWorkspace
from tui.app import DlperfApp
from tui.messages import MOST_AT_ONCE, Problem, Said, let_pass, make_room
from tui.refused_keys import BEHIND
from tui.widgets.told import told_text

SEVERITIES = st.sampled_from(["information", "warning", "error"])
SAID = st.builds(
    Notification,
    message=st.sampled_from(["a", "b", "c", "d"]),
    title=st.sampled_from(["", "Export"]),
    severity=SEVERITIES,
    timeout=st.just(900.0),
)


@given(st.lists(SAID, max_size=12))
def test_one_word_of_the_last_action_and_a_few_problems_each_once(said: list[Notification]) -> None:
    shown = Notifications()
    for new in said:
        make_room(shown, new)
        shown.add(new)
        now = list(shown)
        assert now[-1] is new
        assert len(now) <= MOST_AT_ONCE
        assert len({(one.title, one.message) for one in now}) == len(now)
        assert sum(one.severity == "information" and not one.title for one in now) <= 1
    let_pass(shown)
    assert all(one.severity != "information" or one.title for one in shown)


@given(
    st.lists(
        st.builds(
            Notification,
            st.text("ab ", min_size=1, max_size=300).filter(str.strip),
            severity=SEVERITIES,
        ),
        max_size=4,
    ),
    st.integers(1, 90),
    st.integers(1, 2),
)
def test_words_that_pass_keep_to_their_lines_and_problems_are_whole(
    said: list[Notification], width: int, lines: int
) -> None:
    told = told_text(said, width, lines).plain.splitlines()
    assert all(cell_len(line) <= width for line in told)
    grave = [one for one in said if one.severity != "information"]
    below = told_text(grave, width, lines).plain.splitlines()
    assert told[len(told) - len(below) :] == below
    assert len(told) - len(below) <= lines
    assert "".join("".join(below).split()) == "".join("".join(one.message.split()) for one in grave)


def told(app: DlperfApp) -> list[str]:
    return [one.message for one in app._notifications]


@pytest.mark.usefixtures("said_for_longer")
async def test_what_is_said_of_a_page_goes_with_it_and_a_problem_stays(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("2")
        app.screen.post_message(Said("one"))
        app.screen.post_message(Said("two"))
        await until(pilot, lambda: told(app) == ["two"])
        for _ in range(2):
            app.screen.post_message(Problem(DlperfError("no answer", where="node1")))
        await until(pilot, lambda: told(app) == ["two", "no answer"])
        await pilot.press("1")
        await until(pilot, lambda: told(app) == ["no answer"])
        await until(pilot, lambda: "no answer" in screen_text(app))


LONG = "six more are marked; " + " ".join(f"word{number}" for number in range(60))


@pytest.mark.usefixtures("said_for_longer")
@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_words_of_a_page_stand_beside_its_names_and_on_the_edge_below(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: "reading past results" not in screen_text(app))
        before = screen_text(app).splitlines()
        for words in ("begun", LONG, "done"):
            app.screen.post_message(Said(words))
            await until(pilot, lambda words=words: words[:20] in screen_text(app))
            now = screen_text(app).splitlines()
            differs = [
                at for at, pair in enumerate(zip(before, now, strict=True)) if len(set(pair)) > 1
            ]
            assert differs == ([1, 2] if words is LONG else [1])
            names = before[1].index("Results") + len("Results ")
            assert all(now[at][:names].rstrip() == before[at][:names].rstrip() for at in differs)


@pytest.mark.usefixtures("said_for_longer")
@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_words_go_with_the_dialog_that_comes_or_leaves_and_a_problem_stands_once(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: "reading past results" not in screen_text(app))
        app.screen.post_message(Said("six marked"))
        app.screen.post_message(Problem(DlperfError("no answer")))
        await until(pilot, lambda: "no answer" in screen_text(app))
        assert "six marked" in screen_text(app)
        await pilot.press("question_mark")
        await until(pilot, lambda: "no answer" in screen_text(app))
        assert screen_text(app).count("no answer") == 1
        assert "six marked" not in screen_text(app)
        shown = screen_text(app).splitlines()
        await pilot.press("N")
        await until(pilot, lambda: BEHIND in screen_text(app))
        assert screen_text(app).splitlines()[:-2] == shown[:-2], "only the last lines"
        await pilot.press("escape")
        await until(pilot, lambda: BEHIND not in screen_text(app))
        assert screen_text(app).count("no answer") == 1


@pytest.mark.usefixtures("said_for_longer")
async def test_notes_have_what_was_cut_beside_the_pages_names_and_what_the_operator_noted(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        path = app.session.viewed_path
        assert path is not None
        path.mkdir(parents=True, exist_ok=True)
        write_about(path, About(note="on the old switch"))
        await pilot.press("2")
        app.screen.post_message(Said(LONG))
        await until(pilot, lambda: "six more" in screen_text(app))
        assert "word59" not in screen_text(app)
        await pilot.press("N")
        await until(pilot, lambda: "word59" in screen_text(app))
        assert "your note  on the old switch" in screen_text(app)


async def test_ctrl_p_in_a_dialog_says_why_it_does_nothing(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("question_mark")
        dialog = app.screen
        await pilot.press("ctrl+p")
        await until(pilot, lambda: f"Palette: {BEHIND}" in screen_text(app))
        assert app.screen is dialog


@given(st.integers(30, 120), st.integers(0, 120))
def test_a_message_of_a_file_ends_with_its_name(width: int, deep: int) -> None:
    path = f"/home/{'d' * deep}/speedup.md"
    said = Notification(f"written to {path}", title="Export")
    shown = told_text([said], width, 1).plain
    assert shown.endswith("/speedup.md")
    assert set(shown.split()[:-1]) <= {"Export:", "written", "to"}, "words are whole"
    assert cell_len(shown) <= width
