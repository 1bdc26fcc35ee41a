"""What stands beside the pages' names for a while."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.notifications import Notification, Notifications
from textual.widgets._toast import Toast

from profiles.errors import DlperfError
from tests.console.conftest import console, until
from tests.console.fakes import FakeWorkspace
from tui.app import DlperfApp
from tui.messages import MOST_AT_ONCE, Problem, Said, let_pass, make_room

SAID = st.builds(
    Notification,
    message=st.sampled_from(["a", "b", "c", "d"]),
    title=st.sampled_from(["", "node1"]),
    severity=st.sampled_from(["information", "warning", "error"]),
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
        assert sum(one.severity == "information" for one in now) <= 1
    let_pass(shown)
    assert all(one.severity != "information" for one in shown)


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
        await until(pilot, lambda: len(app.screen.query(Toast)) == 1)
