from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from textual.command import CommandList

from backends.campaign.record.events import Noted
from backends.campaign.record.state import apply
from profiles.counted import counted
from tests.console.conftest import (
    HUGE,
    LARGE,
    SMALL,
    begin,
    console,
    screen_text,
    settled,
    shows,
    tick,
    until,
)
from tests.console.fakes import FakeWorkspace
from tui.cli.console import parting_words
from tui.command_palette import NOT_NOW, ActionsProvider, rank
from tui.kept_words import titled
from tui.key_bindings import PAGES, PANELS
from tui.key_types import Key
from tui.program_name import called_again, called_as
from tui.screens.campaign_list import CampaignList
from tui.screens.dialogs import Choice, Help, Reading
from tui.screens.help import BESIDE, WORDS
from tui.screens.page import Page
from tui.screens.quit_question import detached_words, quit_question
from tui.text import SMALL_WORDS
from tui.widgets.keybar import KeyBar, _width, offered
from tui.widgets.keyed_table import KeyedTable

EVERY_KEY = tuple({key: None for panel in PANELS.values() for key in panel.keys if key.palette})


async def test_digits_switch_pages_and_every_page_says_what_to_do_when_empty(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        for key, page, hint in (
            ("2", "matrix", "cpu-smoke"),
            ("3", "runs", "Mark cases on page 2"),
            ("4", "results", "Nothing has been measured yet"),
            ("1", "hosts", "node1"),
        ):
            await pilot.press(key)
            assert app.current_mode == page
            await until(pilot, partial(shows, app, hint))


@pytest.mark.parametrize("first", PAGES)
@pytest.mark.parametrize("then", PAGES)
async def test_a_page_may_be_left_before_it_is_there(
    workspace: FakeWorkspace, first: str, then: str
) -> None:
    """As where a replay that has been opened comes to the front when another page is asked for."""
    async with console(workspace) as (app, pilot):
        await pilot.press("1" if then != "hosts" else "2")
        app.action_page(first)
        app.action_page(then)
        await settled(app)
        assert app.current_mode == then


async def test_a_click_on_a_tab_opens_its_page(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.click("Tabs", offset=(13, 0))
        await until(pilot, lambda: app.current_mode == "matrix")


@pytest.mark.parametrize("key", ["1", "2", "3", "4"])
async def test_at_80_columns_the_footer_holds_what_fits_and_help_at_its_end(
    workspace: FakeWorkspace, key: str
) -> None:
    async with console(workspace, SMALL) as (app, pilot):
        begin(app, workspace)
        await pilot.press(key)
        await pilot.pause()
        chosen = app.screen.query_one(KeyBar).chosen()
        assert len(chosen) >= 5
        assert chosen[-1].action == "help"
        room = 80 - sum(map(_width, chosen))
        assert room >= 0
        left_out = [key for key in offered(app.screen) if key not in chosen]
        assert not [key for key in left_out if _width(key) <= room]


async def test_the_header_tells_hosts_campaign_progress_and_eta(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        workspace.clock.tick(60)
        tick(app)
        await pilot.pause()
        first = screen_text(app).splitlines()[0]
        assert "dlperf-tui · on login01 · 4 hosts 32 GPUs" in first
        assert "2026-11-21-resnet50 · 3/8 runs · ETA" in first


@pytest.mark.parametrize("page", PAGES)
async def test_a_page_that_is_first_painted_says_nothing_false(
    workspace: FakeWorkspace, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the machine is so busy that it is painted long before it is filled."""
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        workspace.clock.tick(60)
        app.action_page("runs" if page == "hosts" else "hosts")
        await pilot.pause()
        monkeypatch.setattr(Page, "tick", lambda self: None)
        app.remove_mode(page)
        app.add_mode(page, partial(app.new_page, page))
        app.action_page(page)
        await pilot.pause()
        shown = screen_text(app)
        assert "4 hosts 32 GPUs" in shown.splitlines()[0]
        assert "2026-11-21-resnet50 · 3/8 runs" in shown.splitlines()[0]
        assert "no data" not in shown


async def test_a_console_that_only_looks_says_so(workspace: FakeWorkspace) -> None:
    async with console(workspace, readonly=True) as (app, pilot):
        for key in "1234":
            await pilot.press(key)
            await until(pilot, lambda: "no campaign · read-only" in screen_text(app))


async def test_quit_without_a_campaign_leaves_at_once(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("q")
        await until(pilot, lambda: workspace.closed)
    assert app.return_code == 0


async def test_quit_after_a_campaign_says_where_its_files_are_and_how_to_come_back(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace, ("1n1g",), repeats=1)
        workspace.clock.tick(3600)
        assert controller.snapshot().finished
        await pilot.press("q")
        await until(pilot, lambda: workspace.closed)
    told = app.return_value or ""
    assert told.startswith("2026-11-21-resnet50: 1/1 runs")
    assert re.fullmatch(r"1n1g b128 fp32  [\d.,]+ images/s  grade [A-D]", told.splitlines()[1])
    assert "\nLook at it with O in:\n  dlperf-tui\nor print it with:\n  dlperf-tui report" in told
    assert told.endswith(f"dlperf-tui report {controller.path}"), "once, and nothing behind it"
    assert told.count(str(controller.path)) == 1
    lines = parting_words(told, 30).splitlines()
    assert " ".join(" ".join(lines).split()) == " ".join(told.split())
    commands = [line for line in told.splitlines() if line.startswith("  ")]
    assert {*commands} <= {*lines}, "whole, to be copied"
    assert all(len(line) <= 30 or line in commands for line in lines)


@pytest.mark.parametrize(
    ("called", "told"),
    [
        (["/bin/dlperf-tui"], "dlperf-tui"),
        (["/bin/dlperf-tui", "--campaigns", "/a b", "--inventory", "h.toml"],
         "dlperf-tui --campaigns '/a b' --inventory h.toml"),
        (["/usr/bin/pytest", "-q"], "dlperf-tui"),
    ],
)  # fmt: skip
def test_how_to_come_back_has_the_options_of_now(
    monkeypatch: pytest.MonkeyPatch, called: list[str], told: str
) -> None:
    monkeypatch.setattr("sys.argv", called)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    assert called_again() == told


@pytest.mark.parametrize("joined", [False, True])
def test_how_to_come_back_is_so_from_any_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, joined: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("h.toml", "demo"):
        (tmp_path / name).touch()
    words = ["--inventory=h.toml"] if joined else ["--inventory", "h.toml"]
    monkeypatch.setattr("sys.argv", ["/bin/dlperf-tui", *words, "--campaigns", "none", "demo"])
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    given = f"--inventory{'=' if joined else ' '}{tmp_path}/h.toml"
    assert called_again() == f"dlperf-tui {given} --campaigns none demo"


async def test_to_quit_a_demo_costs_only_what_is_at_work(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, _):
        shown = begin(app, workspace).snapshot()
    for active, said, other in (
        (2, "quit: a later demo begins 2 runs at work anew", "failed"),
        (0, "quit: 8 runs wait for a later demo", "failed"),
    ):
        question = quit_question(replace(shown, active=active), {}, simulated=True)
        told = " ".join([str(question.text), *(one.label for one in question._answers)])
        assert said in told
        assert other not in told
    one = replace(shown, done=shown.total - 1, active=0)
    question = quit_question(one, {}, simulated=True)
    assert "1 run waits for a later demo" in question._answers[0].label
    assert question.text.plain.endswith("goes on with it.")
    assert f"1 run still to end, {one.eta_text}" in question.text.plain


@pytest.mark.parametrize(
    ("active", "anew"),
    [(0, "."), (1, " · 1 at work begins anew."), (2, " · 2 at work begin anew.")],
)
async def test_what_is_left_of_a_demo_says_how_far_it_is_and_what_begins_anew(
    workspace: FakeWorkspace, active: int, anew: str
) -> None:
    async with console(workspace) as (app, _):
        shown = begin(app, workspace).snapshot()
    demo = replace(shown, active=active, simulated=True)
    assert "ETA" in titled(demo)
    assert "ETA" not in detached_words(demo), "nobody goes on"
    assert detached_words(demo).splitlines()[0] == f"{titled(demo, goes_on=False)}{anew}"


@pytest.mark.parametrize("active", [0, 1, 2])
@pytest.mark.parametrize("left", [0, 1, 2])
async def test_the_question_to_quit_says_nothing_of_runs_that_there_are_not(
    workspace: FakeWorkspace, active: int, left: int
) -> None:
    async with console(workspace) as (app, _):
        shown = begin(app, workspace).snapshot()
    question = quit_question(replace(shown, active=active, done=shown.total - active - left), {})
    [detach] = [one.label for one in question._answers if one.value == "detach"]
    assert "nobody" in detach
    assert ("collects" in detach) == bool(active)
    assert "After d the campaign waits for a console or 'resume'" in question.text.plain
    live = replace(shown, active=active, done=shown.total - active - left)
    said = detached_words(live).splitlines()[0]
    assert (f"{counted(active, 'run')} still at work" in said) == bool(active)
    assert (f"nobody starts the {counted(left, 'run')} to come" in said) == bool(left)
    told = " ".join([str(question.text), *(one.label for one in question._answers)])
    if active + left:
        assert ("at work" in told) == (active > 0)
        assert ("to come" in told) == ("starts " in told) == (left > 0)
        assert ("other" in told) == (min(active, left) > 0)


async def test_quit_with_a_campaign_asks_and_detaching_says_that_runs_go_on(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        workspace.clock.tick(10)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        assert "3 runs at work and 5 to come" in screen_text(app)
        await pilot.press("d")
        await until(pilot, lambda: workspace.closed)
        assert controller.detached
        assert not controller.cancelled
    told = app.return_value or ""
    said = "3 runs still at work on the hosts; nobody starts the 5 runs to come"
    assert f"2026-11-21-resnet50: {said}." in told
    assert f"dlperf-tui resume {controller.path}" in told


@pytest.mark.parametrize(
    ("called", "found", "said"),
    [
        (".venv/bin/dlperf-tui", None, ".venv/bin/dlperf-tui"),
        ("/a b/dlperf-tui", None, "'/a b/dlperf-tui'"),
        (".venv/bin/dlperf-tui", "/usr/bin/dlperf-tui", "dlperf-tui"),
        ("/usr/lib/pytest.py", None, "dlperf-tui"),
    ],
)
def test_commands_that_are_proposed_are_some_that_the_shell_finds(
    monkeypatch: pytest.MonkeyPatch, called: str, found: str | None, said: str
) -> None:
    monkeypatch.setattr("sys.argv", [called])
    monkeypatch.setattr("shutil.which", lambda _: found)
    assert called_as() == said


@pytest.mark.parametrize("answer", ["d", "enter", "down enter", "s"])
async def test_a_question_to_quit_is_of_the_campaign_as_it_is_and_so_are_the_last_words(
    workspace: FakeWorkspace, answer: str
) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        workspace.clock.tick(10)
        await pilot.press("q")
        await until(pilot, partial(shows, app, "3 runs at work and 5 to come"))
        while not controller.snapshot().finished:
            now = controller.snapshot()
            left = now.total - now.done - now.active
            at_work = f"{counted(now.active, 'run')} at work" if now.active else ""
            to_come = f"{left if at_work else counted(left, 'run')} to come" if left else ""
            works = f"has {' and '.join(filter(None, (at_work, to_come)))}"
            await until(pilot, partial(shows, app, works))
            workspace.clock.tick(20)
        await until(pilot, partial(shows, app, "has finished: nothing of it is left to do"))
        assert "keeper" not in screen_text(app)
        assert "Quit" in screen_text(app)
        await settled(app)
        await pilot.press(*answer.split())
        if answer in ("s", "down enter"):
            await until(pilot, lambda: not isinstance(app.screen, Choice))
            assert not workspace.closed
            return
        await until(pilot, lambda: workspace.closed)
    assert (app.return_value or "").startswith("2026-11-21-resnet50: 8/8 runs")


async def test_quit_can_be_answered_with_stay_or_with_cancel_all(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("s")
        await until(pilot, lambda: not isinstance(app.screen, Choice))
        assert not controller.cancelled
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: controller.cancelled)
        assert len(controller.cancelled) == 8
        assert not workspace.closed


async def test_question_mark_explains_the_focused_panel(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Reading))
        shown = screen_text(app)
        assert PANELS["hosts"].about[:40] in shown
        assert "ask every host again" in shown
        await pilot.press("escape", "tab")
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Reading))
        assert "Links between devices" in screen_text(app)


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_help_of_results_explains_every_sign_of_the_table_and_of_a_case(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        await pilot.press("4", "question_mark")
        await until(pilot, lambda: isinstance(app.screen, Reading))
        seen = screen_text(app)
        for _ in range(9):
            await pilot.press("pagedown")
            seen += screen_text(app)
        for sign in ("n: ", "CV: ", "Flags: ", "w: ", "rule, ", "steady, ", "lost to, "):
            assert sign in " ".join(seen.replace("│", " ").split()), sign


@pytest.mark.parametrize("size", [SMALL, LARGE, (200, 60)])
@pytest.mark.parametrize("page", ["1", "2", "3", "4"])
async def test_help_has_the_words_of_a_page_beside_its_keys_or_one_key_away_from_them(
    workspace: FakeWorkspace, page: str, size: tuple[int, int]
) -> None:
    async with console(workspace, size) as (app, pilot):
        begin(app, workspace)
        await pilot.press(page, "question_mark")
        await until(pilot, lambda: isinstance(app.screen, Help))

        if size[0] >= BESIDE:
            lines = [line.partition("│  ")[2] for line in screen_text(app).splitlines()]
            (line,) = [line for line in lines if WORDS in line]
            assert re.search(rf"\w+  +{WORDS}", line), line
        if "Tab → " not in screen_text(app):
            assert "more line" not in screen_text(app)
            return
        await until(pilot, partial(shows, app, " · 1 of "))
        (count,) = map(int, re.findall(r" · 1 of (\d+): ", screen_text(app)))
        seen = []
        for number in (*range(2, count + 1), 1):
            (to,) = re.findall(r"[^⇧]Tab → (.+?)  ", screen_text(app))
            await pilot.press("tab")
            await until(pilot, partial(shows, app, f" · {number} of {count}: {to} "))
            lines = screen_text(app).splitlines()[2:]
            assert any(re.search(rf"[│ ]  {to}(:|  )", line) for line in lines), to
            seen.append(to)
        assert WORDS in seen
        for to in reversed([seen[-1], *seen[:-1]]):
            await pilot.press("shift+tab")
            await until(pilot, partial(shows, app, f": {to} "))


def test_help_of_compare_explains_the_signs_of_its_rows() -> None:
    assert "n: " in PANELS["compare"].about
    assert "w: " in PANELS["compare"].about


async def test_the_palette_offers_only_actions_that_are_possible_now(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, (120, 60)) as (app, pilot):
        await pilot.press("3", "ctrl+p")
        await until(pilot, lambda: "Matrix" in screen_text(app))
        assert "Cancel all" not in screen_text(app)
        await pilot.press("escape")
        begin(app, workspace)
        workspace.clock.tick(10)
        tick(app)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: "Cancel all" in screen_text(app))
        assert "Retry" not in screen_text(app)


async def test_the_palette_says_what_a_key_does_as_it_is_written_as_far_as_its_line_has_room(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, (120, 60)) as (app, pilot):
        await pilot.press("ctrl+p", *"matrixexplain")
        await until(pilot, lambda: "Matrix: Explain  " in screen_text(app))
        line = app.screen.query_one(CommandList).get_option_at_index(0).prompt
        assert "\n" not in str(line)
        assert "Explain  changes the plan: one more run of each case" in screen_text(app)


@pytest.mark.parametrize("query", ["comp", "compare", "comparecampaigns"])
async def test_the_palette_compares_from_anywhere_and_names_come_before_descriptions(
    workspace: FakeWorkspace, query: str
) -> None:
    async with console(workspace, (120, 60)) as (app, pilot):
        await pilot.press("ctrl+p", *query)
        await until(pilot, lambda: "compare campaigns" in screen_text(app))
        assert "Quit" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))


async def test_what_lists_campaigns_stands_in_the_palette_once(workspace: FakeWorkspace) -> None:
    async with console(workspace, (120, 60)) as (app, _):
        actions = [key.action for key, *_ in ActionsProvider(app.screen)._actions()]
        assert actions.count("campaigns") == 1


async def test_the_palette_finds_what_writes_a_report(workspace: FakeWorkspace) -> None:
    async with console(workspace, (120, 60)) as (app, pilot):
        begin(app, workspace)
        await pilot.press("ctrl+p", *"report")
        await until(pilot, lambda: "Results: Export  " in screen_text(app))


async def test_the_palette_finds_the_replay_and_says_what_it_looked_through(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("4", "ctrl+p", *"repl")
        await until(pilot, lambda: "resume or replay" in screen_text(app))
        await pilot.press(*"qqqq")
        await until(pilot, lambda: "Nothing has these words" in screen_text(app))


def test_who_types_a_name_has_it_before_all_that_are_not_called_so() -> None:
    for wanted in EVERY_KEY:
        query = wanted.label[:4].strip()
        ranks = {key: rank(query, key.label, key.help) for key in EVERY_KEY}
        called = {key for key in EVERY_KEY if query.lower() in key.label.lower()}
        best_of_others = max(x for key, x in ranks.items() if key not in called)
        assert ranks[wanted] > best_of_others, query


@pytest.mark.parametrize("word", sorted(SMALL_WORDS))
def test_a_word_that_nearly_all_descriptions_have_finds_names_alone(word: str) -> None:
    for key in EVERY_KEY:
        found = rank(word, key.label, key.help)
        assert not 0 < found < 1000, key


LETTERS = st.text("abce ", min_size=1)


@given(LETTERS.filter(str.strip), LETTERS, LETTERS)
@example("prech", "Matrix: One repeat fewer of each case", "")
@example("comp", "Quit", "leaves the campaign to a keeper")
def test_letters_here_and_there_are_no_match(query: str, name: str, about: str) -> None:
    for text, found in ((name, rank(query, name, "")), (about, rank(query, "", about))):
        words = re.findall(r"\w+", text.lower())
        pieces = ("".join(words), "".join(word[0] for word in words))
        wanted = query.lower().split()
        assert found == 0 or all(any(one in piece for piece in pieces) for one in wanted)


def test_a_name_that_begins_so_comes_before_one_of_which_a_later_word_does() -> None:
    names = ["Retry", "Matrix: Retry", "One more repeat of each case", "Compare", "Quit"]
    found = [rank("re", name, "resume it") for name in names]
    assert found == sorted(found, reverse=True)
    assert len({*found}) == 4


@given(st.sampled_from(EVERY_KEY), st.data())
def test_a_piece_of_a_name_and_its_initials_find_it(key: Key, data: st.DataObject) -> None:
    name = key.named or key.label
    at = data.draw(st.integers(0, len(name) - 1))
    piece = name[at : data.draw(st.integers(at + 2, max(at + 2, len(name))))]
    initials = "".join(word[0] for word in re.findall(r"\w+", name))
    for query in (piece, initials):
        assert len(query.strip()) < 2 or rank(query, f"Matrix: {name}  (x)", "") > 0


async def test_the_palette_lists_what_is_called_so_alone_and_says_why_it_is_not_possible_now(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        await pilot.press("3", "home", "ctrl+p", *"retr")
        reason = "not now: nothing to retry: the run"
        await until(pilot, partial(shows, app, reason))
        shown = screen_text(app)
        assert "Retry  " in shown
        assert "Repeats" not in shown, "has these letters somewhere"
        await pilot.press("enter")
        await until(pilot, partial(shows, app, "t Retry: nothing to retry: the run"))
        await pilot.press("ctrl+p", *"rtry")
        await until(pilot, partial(shows, app, "Nothing has these words"))


@pytest.mark.parametrize("key", "123")
@pytest.mark.parametrize(("simulated", "reason"), [(True, "not in a demo, whose"), (False, "")])
async def test_the_palette_says_of_a_key_that_this_console_never_does_why(
    workspace: FakeWorkspace, key: str, simulated: bool, reason: str
) -> None:
    workspace.simulated = simulated
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press(key, "ctrl+p")
        await until(pilot, lambda: shows(app, "Results"))
        assert not simulated or not shows(app, "Precheck")
        await pilot.press(*"prech")
        await until(pilot, lambda: shows(app, f"Precheck  {reason}"))
        found = [str(one.prompt) for one in app.screen.query_one(CommandList).options]
        assert len([line for line in found if not line.startswith("help of ")]) == 1
        assert not shows(app, "not now: not")


@pytest.mark.parametrize("seen", [False, True])
async def test_the_palette_says_why_what_another_page_does_is_not_possible_now(
    workspace: FakeWorkspace, seen: bool
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        if seen:
            begin(app, workspace)
            workspace.clock.tick(3600)
            await pilot.press("3")
            await until(pilot, lambda: shows(app, "8/8"))
            tick(app)
        await pilot.press("1", "ctrl+p", *"diag")
        reason = "the run has succeeded" if seen else "no campaign is open"
        await until(pilot, lambda: shows(app, f"Runs: Diagnose  not now: {reason}"))
        await pilot.press("enter")
        await until(pilot, lambda: shows(app, f"d Runs: Diagnose: {reason}"))
        assert app.current_mode == "hosts"


async def test_the_palette_lists_what_is_possible_before_what_is_not(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        begin(app, workspace)
        workspace.clock.tick(10)
        await pilot.press("4", "3", "1")
        provider = ActionsProvider(app.screen)
        for query in ("re", "s", "st", "run", "window"):
            hits = [hit async for hit in provider.search(query)]
            ordered = sorted(hits, key=lambda hit: -hit.score)
            refused = [NOT_NOW in str(hit.match_display) for hit in ordered]
            assert refused == sorted(refused), query
            assert len(hits) > refused.count(True) > 0 or query != "re"


async def test_the_palette_runs_what_is_chosen(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        await pilot.press("ctrl+p", *"results")
        await until(pilot, lambda: "throughput, speedup and grades" in screen_text(app))
        assert "Results: " not in screen_text(app), "there is no campaign"
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "results")


async def test_the_palette_offers_what_other_pages_do_and_does_it_there(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, (120, 60)) as (app, pilot):
        await pilot.press("ctrl+p", *"export")
        await until(pilot, lambda: shows(app, "Results: Export  not now: no campaign is open"))
        await pilot.press("escape")
        begin(app, workspace)
        workspace.clock.tick(600)
        tick(app)
        await pilot.press("ctrl+p", *"everylayout")
        await until(pilot, lambda: "Results: Export  " in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "Export ·" in screen_text(app))
        assert app.current_mode == "results"


async def test_the_palette_offers_what_the_pages_other_panels_do(workspace: FakeWorkspace) -> None:
    async with console(workspace, (120, 60)) as (app, pilot):
        begin(app, workspace)
        workspace.clock.tick(30)
        tick(app)
        await pilot.press("3", "ctrl+p", *"logsearch")
        await until(pilot, lambda: "Log: Search  " in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "Show the next line of the log" in screen_text(app))


async def test_notes_of_the_engine_are_seen_on_every_page_and_listed(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        controller.note("disk full: the journal waits for space", "error")
        for key in "1234":
            await pilot.press(key)
            tick(app)
            await pilot.pause()
            assert "▲ disk full" in screen_text(app)
        await pilot.press("N")
        await until(pilot, lambda: isinstance(app.screen, Reading))
        assert re.search("error +disk full: the journal waits for space", screen_text(app))


async def test_notes_that_come_while_they_are_read_are_there(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        await pilot.press("N")
        await until(pilot, lambda: isinstance(app.screen, Reading))
        assert "disk full" not in screen_text(app)
        controller.note("disk full: the journal waits for space", "error")
        await until(pilot, lambda: "disk full" in screen_text(app))
        app.notify("something was said")
        await until(pilot, lambda: "said here" in screen_text(app))


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("until_then", ["read", "over"])
async def test_what_it_began_without_is_said_until_it_was_read_or_it_is_over_and_graver_notes_stay(
    workspace: FakeWorkspace, until_then: str, *, forced: bool
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        controller = begin(app, workspace)
        why = ("v100b: 3 uncorrected memory errors",)
        began = f"{'Forced in spite of:' if forced else 'It began without'} {why[0]}"
        known = {"overridden": why} if forced else {"left_out": why}
        said = f"{'▲' if forced else '·'} {began}"
        controller.state = replace(controller.state, **known)
        await pilot.press("3")
        tick(app)
        await until(pilot, lambda: f"{said}{' · N' * (not forced)}" in screen_text(app))
        if until_then == "read":
            await pilot.press("N")
            await until(pilot, lambda: isinstance(app.screen, Reading))
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, Reading))
        else:
            workspace.clock.tick(9000)
        tick(app)
        await until(pilot, lambda: said not in screen_text(app))
        await pilot.press("N")
        await until(pilot, lambda: began in screen_text(app))
        await pilot.press("escape")
        controller.note("the journal waits for space", "warn")
        for _ in range(2):
            await until(pilot, lambda: "▲ the journal waits" in screen_text(app))
            await pilot.press("N", "escape")
            tick(app)


@pytest.mark.parametrize("finished", [False, True])
async def test_that_nobody_watched_it_is_said_until_it_was_read_whether_it_is_over_or_not(
    workspace: FakeWorkspace, *, finished: bool
) -> None:
    async with console(workspace, HUGE) as (app, pilot):
        controller = begin(app, workspace)
        event = Noted(t=workspace.clock(), text="Nobody watched it for 25s", of_results=True)
        controller.state = apply(controller.state, event)
        workspace.clock.tick(9000 * finished)
        for page in "34":
            await pilot.press(page)
            tick(app)
            await until(pilot, lambda: "▲ Nobody watched it for 25s" in screen_text(app))
        await pilot.press("N", "escape")
        for page in "34":
            await pilot.press(page)
            tick(app)
            await until(pilot, lambda: "▲ Nobody watched it" not in screen_text(app))


async def test_where_something_else_is_planned_only_what_is_grave_is_noted(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace) as (app, pilot):
        controller = begin(app, workspace)
        for words, level in (("disk full", "error"), ("forced past node2", "warn")):
            controller.note(words, level)
        for key in "1234":
            await pilot.press(key)
            tick(app)
            await pilot.pause()
            assert ("▲ forced past node2 · N: 1 more" in screen_text(app)) is (key in "34")
            assert ("▲ disk full · N: 1 more" in screen_text(app)) is (key in "12")


async def test_a_simulated_campaign_says_so_on_every_page(workspace: FakeWorkspace) -> None:
    workspace.simulated = True
    async with console(workspace) as (app, pilot):
        begin(app, workspace)
        for key in "1234":
            await pilot.press(key)
            tick(app)
            await pilot.pause()
            assert "SIMULATED" in screen_text(app).splitlines()[0]


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_what_is_simulated_has_the_word_and_real_hosts_have_not(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    """A simulated campaign among real hosts, and a measured one among hosts that are simulated."""
    for made_up in (True, False):
        workspace.simulated = made_up
        async with console(workspace, size) as (app, pilot):
            begin(app, workspace)
            workspace.simulated = not made_up
            for key in "1234":
                await pilot.press(key)
                tick(app)
                await pilot.pause()
                first = screen_text(app).splitlines()[0]
                assert first.startswith(" dlperf-tui  SIMULATED ") is not made_up
                assert (" SIMULATED  2026-11-21-resnet50 · 0/" in first) is made_up
                assert ("2026-11-21-resnet50 · measured · 0/" in first) is not made_up


async def test_tables_move_with_arrows_and_with_hjkl(workspace: FakeWorkspace) -> None:
    async with console(workspace) as (app, pilot):
        table = app.screen.query_one(KeyedTable)
        await pilot.press("j", "down")
        assert table.current_key == "node3"
        await pilot.press("k", "up")
        assert table.current_key == "node1"
        await pilot.press("G")
        assert table.current_key == "node4"
