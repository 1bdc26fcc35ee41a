"""What an SSH login asks, in the console."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from textual.widgets import Input

from tests.console.conftest import LARGE, console, screen_text, shows, until
from tests.console.fakes import FakeWorkspace
from tests.console.test_hostile import HOSTILE, unsafe
from tests.console.test_keys import drawn
from tui.screens.dialogs import Answer, Choice, Prompt
from tui.screens.help import help_of
from tui.screens.login_questions import ConsolePrompter

PRINT = "SHA256:3q2+7w8f"


async def test_a_secret_is_asked_for_unseen_while_the_console_goes_on(
    workspace: FakeWorkspace,
) -> None:
    prompter = ConsolePrompter()
    async with console(workspace, LARGE, prompter=prompter) as (app, pilot):
        asking = asyncio.create_task(prompter.secret("node1", "Passphrase for ~/.ssh/id"))
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        assert "node1 asks:" in screen_text(app)
        assert "Passphrase for ~/.ssh/id" in screen_text(app)
        await pilot.press(*"open sesame".replace(" ", "-"))
        assert app.screen.query_one(Input).value == "open-sesame"
        assert "sesame" not in screen_text(app)
        await pilot.press("enter")
        assert await asking == "open-sesame"
        await until(pilot, lambda: not isinstance(app.screen, Prompt))


async def test_escape_is_not_given_and_no(workspace: FakeWorkspace) -> None:
    prompter = ConsolePrompter()
    async with console(workspace, prompter=prompter) as (app, pilot):
        asking = asyncio.create_task(prompter.secret("node1", "Password"))
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        await pilot.press("escape")
        assert await asking is None
        trusting = asyncio.create_task(prompter.trust_key("node1", PRINT, "ssh-ed25519"))
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("escape")
        assert await trusting is False


@pytest.mark.parametrize(("key", "trusted"), [("t", True), ("n", False), ("enter", False)])
async def test_an_unknown_key_is_trusted_only_on_the_explicit_word(
    workspace: FakeWorkspace, key: str, trusted: bool
) -> None:
    prompter = ConsolePrompter()
    async with console(workspace, prompter=prompter) as (app, pilot):
        trusting = asyncio.create_task(prompter.trust_key("node1", PRINT, "ssh-ed25519"))
        await until(pilot, partial(shows, app, PRINT))
        assert "ssh-ed25519" in screen_text(app)
        await pilot.press(key)
        assert await trusting is trusted


async def test_questions_come_one_at_a_time(workspace: FakeWorkspace) -> None:
    prompter = ConsolePrompter()
    async with console(workspace, prompter=prompter) as (app, pilot):
        asking = [asyncio.create_task(prompter.secret(f"node{n}", "One-time code")) for n in (1, 2)]
        for name, code in (("node1", "111"), ("node2", "222")):
            await until(pilot, partial(shows, app, f"{name} asks:"))
            assert len(app.screen_stack) == 2
            await pilot.press(*code, "enter")
        assert await asyncio.gather(*asking) == ["111", "222"]


async def test_a_question_that_nobody_waits_for_goes_away_even_from_below(
    workspace: FakeWorkspace,
) -> None:
    prompter = ConsolePrompter()
    async with console(workspace, prompter=prompter) as (app, pilot):
        asking = asyncio.create_task(prompter.secret("node1", "Password"))
        await until(pilot, lambda: isinstance(app.screen, Prompt))
        question = Choice("On top", "of it", ())
        app.push_screen(question)
        await until(pilot, lambda: app.screen is question)
        asking.cancel()
        await asyncio.wait([asking])
        await pilot.pause()
        assert app.screen is question
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)


@pytest.mark.parametrize("text", HOSTILE)
async def test_prompts_and_keys_are_shown_as_they_are(workspace: FakeWorkspace, text: str) -> None:
    prompter = ConsolePrompter()
    async with console(workspace, LARGE, prompter=prompter) as (app, pilot):
        asking = asyncio.create_task(prompter.secret(text, text))
        await until(pilot, partial(shows, app, "asks:"))
        assert not unsafe(screen_text(app))
        await pilot.press("escape")
        assert await asking is None
        trusting = asyncio.create_task(prompter.trust_key(text, text, text))
        await until(pilot, partial(shows, app, "was never seen before"))
        assert not unsafe(screen_text(app))
        await pilot.press("escape")
        assert await trusting is False


async def test_where_only_a_queues_programs_are_its_hosts_are_offered_in_clean_lines(
    workspace: FakeWorkspace,
) -> None:
    workspace.offered = "slurm"
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "There is no inventory and no GPU here, but the programs of Slurm." in screen_text(
            app
        )
        assert "\N{REPLACEMENT CHARACTER}" not in screen_text(app)
        await pilot.press("y")
        await until(pilot, lambda: workspace.engines == ["slurm"])


async def test_who_would_rather_use_this_machine_is_not_asked_again(
    workspace: FakeWorkspace,
) -> None:
    workspace.offered = "slurm"
    async with console(workspace, LARGE) as (app, pilot):
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("n")
        await until(pilot, lambda: not isinstance(app.screen, Choice))
        before = len(workspace.probed)
        app.probe_all()
        await until(pilot, lambda: len(workspace.probed) > before)
        await pilot.pause()
        assert not isinstance(app.screen, Choice)
        assert workspace.engines == []


ANSWERS = (Answer("b", "leave it", "1"), Answer("q", "end it", "2"), Answer("C", "both", "3"))


@pytest.mark.parametrize("count", range(len(ANSWERS) + 1))
async def test_the_help_of_a_question_has_the_keys_of_its_answers_and_none_twice(
    workspace: FakeWorkspace, count: int
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        app.push_screen(Choice("Quit", "What is to become of it?", ANSWERS[:count]))
        await until(pilot, lambda: isinstance(app.screen, Choice) and app.screen.here)
        words = [line.split() for line in drawn(help_of(app.screen), 120).splitlines()]
        for answer in ANSWERS[:count]:
            assert [answer.key, *answer.label.split()] in words
        assert ["Esc", "q", "Back:", "change", "nothing"] in words or count > 1
        assert (["Esc", "Back:", "change", "nothing"] in words) == (count > 1)
