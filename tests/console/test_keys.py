"""Help, footer and palette are data; these tests hold the data and the bindings together."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise, permutations, product

import pytest
from rich.console import Console, RenderableType
from rich.style import Style
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.widgets import Input

import tui.screens
import tui.widgets
from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_view import COLLECTING, NOT_COLLECTED, TAKEN_UP
from backends.campaign.record.waiting_words import waiting_text
from backends.engines.engine import Waiting, WaitKind
from backends.hosts.same_machine import are_one
from backends.results.gpu_time import device_time
from profiles.counted import counted
from profiles.format.launch_section import LAUNCHERS
from tests.console.conftest import LARGE, begin, console, screen_text, shows, until
from tests.console.fakes import FakeWorkspace
from tui.app import DlperfApp
from tui.dialog_keys import DIALOGS
from tui.key_bindings import OF_REPLAYS, PAGES, PANELS, key_name
from tui.key_types import Key
from tui.refused_keys import around, enabled, idle, never, without_it
from tui.replaying import ReplayApp
from tui.screens import campaign_text, result_text
from tui.screens.help import HEADING, WORDS, AllNotes, all_notes, help_text, notes_text
from tui.text import run_state
from tui.theme import ACCENT, BAD, MUTED, WARN
from tui.widgets.chart import CURSOR
from tui.widgets.keybar import panel_of
from tui.widgets.keyed_table import Column
from tui.widgets.meters import sparkline


def panel_classes() -> Iterator[type[DOMNode]]:
    """Every class of the console that names a panel."""
    yield DlperfApp
    yield ReplayApp
    for package in (tui.screens, tui.widgets):
        for info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            for value in vars(module).values():
                if (
                    isinstance(value, type)
                    and issubclass(value, DOMNode)
                    and value.__module__ == module.__name__
                    and str(getattr(value, "PANEL", ""))
                ):
                    yield value


CLASSES = tuple(panel_classes())


def own_bindings(cls: type[DOMNode]) -> dict[str, Binding]:
    """By key, what pressing it does in a widget of this class, Textual's own included."""
    return {key: found[0] for key, found in cls._merge_bindings().key_to_bindings.items()}


def documented(cls: type[DOMNode]) -> dict[str, Key]:
    panels = [str(vars(c).get("PANEL", "")) for c in cls.__mro__]
    return {
        name: key
        for panel in panels
        if panel in PANELS
        for key in PANELS[panel].keys
        for name in key.keys.split(",")
    }


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_every_documented_key_is_bound_to_an_action_that_exists(cls: type[DOMNode]) -> None:
    bound = own_bindings(cls)
    for key in PANELS[cls.PANEL].keys:  # type: ignore[attr-defined]
        for name in key.keys.split(","):
            if name in ("ctrl+p",):
                continue
            assert name in bound, f"{cls.__name__}: {name} is documented but not bound"
            assert bound[name].action == key.action
        namespace, _, action = key.action.rpartition(".")
        owner: type[DOMNode] = App if namespace == "app" else cls
        method = f"action_{action.partition('(')[0]}"
        assert hasattr(owner, method), f"{cls.__name__} has no {method}"


TEXTUAL_OWN = {
    "ctrl+q": "quits, as everywhere in Textual",
    "ctrl+c": "copies a selection, else says how to quit",
    "super+c": "copies a selection",
    "ctrl+pageup": "scrolls sideways by a page",
    "ctrl+pagedown": "scrolls sideways by a page",
    "tab": "moves the focus",
    "shift+tab": "moves the focus",
    "escape": "leaves",
    "ctrl+p": "the palette",
}


def words_of_states() -> Iterator[str]:
    """That State and Progress of a run begin with."""
    for state, *how in (*product(RunState, (False, True)), (RunState.CANCELLED, True, False)):
        yield run_state(state, paused=how[0], begun=how[-1]).plain[2:]
    for over in (COLLECTING, NOT_COLLECTED.partition(",")[0]):
        yield run_state(RunState.RUNNING, over=over).plain[2:]
    yield run_state(RunState.RUNNING, silent=True).plain[2:]
    yield run_state(RunState.RUNNING, warming=True).plain[2:]
    yield NOT_COLLECTED.partition(", ")[2]
    yield TAKEN_UP
    for kind, hosts in product(WaitKind, ((), ("node1",))):
        waiting = Waiting(kind, hosts, nodes=2)
        yield re.split("[,:]| 2| node| of", waiting_text(waiting, 0.0, brief=True))[0]


@pytest.mark.parametrize("word", dict.fromkeys(words_of_states()))
def test_the_help_of_runs_has_every_word_of_their_states(word: str) -> None:
    assert word in drawn(help_text(("runs", "table", "app")), 4000)


@pytest.mark.parametrize("panel", ["hosts", "matrix", "runs", "compare"])
def test_the_help_has_each_term_on_a_line_of_its_own_below_the_heading_of_its_panel(
    panel: str,
) -> None:
    """No heading without a term; two lines of a small terminal have room for each."""
    first, *lines = PANELS[panel].about.splitlines()
    assert first.endswith(".")
    headings = [line for line in lines if HEADING.fullmatch(line)]
    assert lines[0] in headings
    for line, after in pairwise([*lines, headings[0]]):
        assert line in headings or re.fullmatch(r".+?: .+\.", line), line
        assert len(line) <= 2 * 72
        assert not (line in headings and after in headings)


@pytest.mark.parametrize("panel", ["hosts", "matrix", "runs", "results", "compare"])
def test_a_term_stands_out_from_the_words_about_it(panel: str) -> None:
    console = Console(color_system="truecolor", width=400)
    accent = Style.parse(ACCENT)
    drawn_lines = console.render_lines(help_text((panel,)), pad=False)
    coloured = {"".join(one.text for one in line if one.style == accent) for line in drawn_lines}
    _, *lines = PANELS[panel].about.splitlines()
    assert coloured >= {line.partition(": ")[0] for line in lines if ": " in line}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_every_bound_key_is_documented(cls: type[DOMNode]) -> None:
    known = documented(cls)
    if issubclass(cls, Input):  # what edits a line does so everywhere
        known |= dict.fromkeys(own_bindings(Input), next(iter(known.values())))
    for name, binding in own_bindings(cls).items():
        if name not in TEXTUAL_OWN:
            assert name in known, f"{cls.__name__}: {name} → {binding.action} has no help"


def test_every_panel_belongs_to_a_class() -> None:
    assert set(PANELS) == {cls.PANEL for cls in CLASSES}  # type: ignore[attr-defined]


@pytest.mark.parametrize("panel", PANELS)
def test_within_a_panel_no_key_has_two_meanings(panel: str) -> None:
    names = [name for key in PANELS[panel].keys for name in key.keys.split(",")]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("inner", "page"),
    [
        ("table", "hosts"),
        ("detail", "hosts"),
        ("grid", "matrix"),
        ("profiles", "matrix"),
        ("table", "matrix"),
        ("table", "runs"),
        ("log", "runs"),
        ("scroll", "runs"),
        ("table", "results"),
        ("scroll", "results"),
        ("curve", "results"),
    ],
)
def test_no_panel_hides_a_key_of_its_page_or_of_the_app(inner: str, page: str) -> None:
    """What the footer of the page promises must work wherever the focus is. In the log, ``/`` and
    ``N`` search as in every pager, and the footer says so there; in details Space goes on by a page
    and marks no run."""
    taken = {name for key in PANELS[inner].keys for name in key.keys.split(",")}
    outer = {n for key in (*PANELS[page].keys, *PANELS["app"].keys) for n in key.keys.split(",")}
    hidden = {("log", "runs"): {"slash", "N"}, ("scroll", "runs"): {"space"}}
    assert taken & outer == hidden.get((inner, page), set())


def test_page_keys_do_not_hide_those_of_the_app() -> None:
    app = {name for key in PANELS["app"].keys for name in key.keys.split(",")}
    for page in ("hosts", "matrix", "runs", "results"):
        names = {name for key in PANELS[page].keys for name in key.keys.split(",")}
        assert app.isdisjoint(names), page


def drawn(text: RenderableType, width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as shown:
        console.print(text)
    return shown.get()


@pytest.mark.parametrize("page", ["hosts", "matrix", "runs", "results"])
def test_words_of_the_help_that_go_on_in_a_next_line_stay_in_their_column(page: str) -> None:
    lines = drawn(help_text((page, "table", "app")), 44).splitlines()
    words = {key_name(key): key.explained for panel in (page, "app") for key in PANELS[panel].keys}
    wrapped = 0
    for number, line in enumerate(lines):
        keys, _, said = line.strip().partition("  ")
        if words.get(keys, "").split()[: len(said.split())] != said.split() or not said:
            continue
        column = line.index(said.strip())
        rest = " ".join(said.split())
        for line_after in lines[number + 1 :]:
            if rest == words[keys]:
                break
            wrapped += 1
            assert line_after[:column].isspace(), line_after
            rest += f" {line_after.strip()}"
    assert wrapped


def test_notes_that_go_on_in_a_next_line_stay_in_their_column() -> None:
    notes = [(5.0, "warn", "a long story of what was seen " * 5), (7.0, "error", "short")]
    _, last, first, *rest = drawn(notes_text(notes, 0.0), 70).splitlines()
    assert last.split() == ["+7s", "error", "short"]
    column = first.index("a long story")
    assert len(rest) >= 2
    assert all(line[:column].isspace() and line[column].isalpha() for line in rest)


@pytest.mark.parametrize(
    "notes",
    list(permutations([(5.0, "warn", "old"), (None, "warn", "gone"), (7.0, "warn", "new")])),
)
def test_a_note_of_which_nobody_knows_since_when_it_is_so_stands_first_and_has_no_time(
    notes: Sequence[tuple[float | None, str, str]],
) -> None:
    now, gone, then, *lines = drawn(notes_text(notes, 0.0), 70).splitlines()
    assert (now.strip(), then.strip()) == ("so now", "the campaign, the last first")
    assert gone.split() == ["warn", "gone"]
    timed = [words for at, _, words in reversed(notes) if at is not None]
    assert [line.split()[1:] for line in lines] == [["warn", words] for words in timed]
    assert {line.index("warn") for line in lines} == {gone.index("warn")}


@pytest.mark.parametrize("notes", [None, (), ((7.0, "warn", "seen"),)])
@pytest.mark.parametrize("own", ["", "mine"])
def test_what_was_said_stands_behind_notes_and_before_the_word_that_there_are_none(
    notes: tuple[tuple[float, str, str], ...] | None, own: str
) -> None:
    told = drawn(
        all_notes(AllNotes(notes, 0.0, own, ((61.0, "before", "error"), (75.0, "last", "")))), 70
    )
    assert told.index("said here") < told.index("  last") < told.index("  before")
    assert re.search(r"\n  \d\d:\d1:15  last *\n  \d\d:\d1:01  before", told)
    if notes or own:
        assert told.index("seen" if notes else "mine") < told.index("said here")
    else:
        assert told.lstrip().startswith("said here")
        assert told.split("before", 1)[1].strip()


@pytest.mark.parametrize(
    ("notes", "own", "said"),
    [
        (None, "", "No campaign is open"),
        ((), "", "No notes of the engine for this campaign"),
        ((), "mine", "your note mine"),
        (((7.0, "warn", "seen"),), "mine", "+7s warn seen"),
    ],
)
def test_notes_say_that_there_are_none_only_where_there_are_none(
    notes: tuple[tuple[float, str, str], ...] | None, own: str, said: str
) -> None:
    told = " ".join(drawn(all_notes(AllNotes(notes, 0.0, own, ())), 70).split())
    assert said in told
    assert ("No notes" in told) == (notes == () and not own)


def test_a_key_that_did_nothing_is_fainter_than_what_was_done_and_a_problem_is_coloured() -> None:
    said = (
        (1.0, "refused", ""),
        (2.0, "written", "information"),
        (3.0, "no room", "error"),
        (4.0, "hot", "warning"),
    )
    console = Console(color_system="truecolor")
    styles = {
        segment.text.strip(): segment.style
        for segment in console.render(all_notes(AllNotes((), None, "own", said)))
    }
    faint = Style.parse(MUTED)
    assert styles["refused"] == faint
    assert styles["written"] != faint
    assert (styles["no room"], styles["hot"]) == (Style.parse(BAD), Style.parse(WARN))


def test_what_was_said_and_goes_on_in_a_next_line_stays_in_its_column() -> None:
    said = (
        (5.0, "a long story of what was said " * 5, "information"),
        (7.0, "short\n→ mend it", "information"),
    )
    _, last, remedy, first, *rest = (
        drawn(all_notes(AllNotes(((1.0, "warn", "seen"),), 0.0, "", said)), 70)
        .split("said here", 1)[1]
        .splitlines()
    )
    column = first.index("a long story")
    assert [last.index("short"), remedy.index("→ mend it")] == [column, column]
    assert len(rest) >= 2
    assert all(line[:column].isspace() and line[column].isalpha() for line in rest if line.strip())


def test_help_shows_every_key_of_its_panels() -> None:
    text = drawn(help_text(("runs", "table", "app")), 400)
    for panel in ("runs", "table", "app"):
        for key in PANELS[panel].keys:
            assert f"{key_name(key)} " in text
            assert key.help in text
            assert not key.footer or key.label.casefold() in text.casefold(), "for who looks for it"


@pytest.mark.parametrize("panel", ["runs", "log", "detail", "matrix", "results"])
def test_help_has_what_only_moves_after_all_that_acts(panel: str) -> None:
    lines = drawn(help_text((panel, "table", "app")), 400).partition(WORDS)[0].splitlines()
    keys = [line for line in lines if line.startswith("  ")]
    moving = [
        line.split()[0] in ("↓", "↑", "←", "→", "Home", "End", "PgUp", "PgDn") for line in keys
    ]
    assert any(moving)
    assert moving == sorted(moving)


def test_every_key_has_a_label_and_help_without_a_full_stop() -> None:
    for panel in PANELS.values():
        for key in panel.keys:
            assert key.label, key
            assert key.help, key
            assert not key.help.endswith("."), key


@pytest.mark.parametrize("kind", ["demo", "readonly", "usual"])
async def test_a_key_of_the_help_acts_or_says_in_one_line_why_not_and_no_other_is_in_the_help(
    workspace: FakeWorkspace, kind: str
) -> None:
    workspace.simulated = kind == "demo"
    async with console(workspace, LARGE, readonly=kind == "readonly") as (app, pilot):
        for number, page in enumerate(PAGES, 1):
            await pilot.press(str(number))
            helped = drawn(help_text((page,), partial(never, app.screen), idle(app.screen)), 400)
            for key in PANELS[page].keys:
                name = key.action.partition("(")[0]
                left_out = bool(never(app.screen, name))
                assert (f"  {key_name(key)} " in helped and key.help in helped) != left_out
                if not key.palette or enabled(app.screen, key):
                    assert not left_out
                    assert key.help in helped.partition("\nNot now")[0]
                    continue
                why = idle(app.screen)[page, key.action]
                later = helped.partition(f"Not now: {why}\n" if why else "Not now\n")[2]
                assert (key.help in later) != left_out
                app.clear_notifications()
                await pilot.press(key.keys.split(",")[0])
                said = [one.message for one in app._notifications]
                assert len(said) == 1, (page, key)
                assert said[0].startswith(f"{key_name(key)} "), said
                assert ": " in said[0], said
                await pilot.press(key.keys.split(",")[0])
                assert len(app._notifications) == 1, "and not twice"


async def test_a_key_of_the_page_behind_says_that_the_dialog_in_front_has_none(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("question_mark")
        for key in ("1", "R", "O"):
            app.clear_notifications()
            await pilot.press(key)
            [said] = [one.message for one in app._notifications]
            assert said.endswith(f": {without_it(app.screen)}")
        app.clear_notifications()
        for key in ("5", "down", "left"):
            await pilot.press(key)
        assert not list(app._notifications)


@pytest.mark.parametrize("over", ["O", "question_mark", "N"])
async def test_a_dialog_lets_no_key_of_any_page_pass_without_a_word(
    workspace: FakeWorkspace, over: str
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        for number in range(1, len(PAGES) + 1):
            await pilot.press(str(number), over)
            dialog = app.screen
            own = {
                name
                for node in around(dialog)
                for key in getattr(PANELS.get(panel_of(node)), "keys", ())
                for name in key.keys.split(",")
            }
            for page in PAGES:
                for key in PANELS[page].keys:
                    pressed = key.keys.split(",")[0]
                    if pressed in {*own, *app.active_bindings} or key.action in ("back", "leave"):
                        continue
                    app.clear_notifications()
                    await pilot.press(pressed)
                    assert app.screen is dialog
                    assert len(app._notifications) == 1, (number, page, key)
            await pilot.press("escape")


async def test_a_key_of_other_pages_says_whose_it_is_and_one_of_other_programs_why_not(
    workspace: FakeWorkspace,
) -> None:
    told: set[str] = set()
    async with console(workspace, LARGE) as (app, pilot):
        for number, page in enumerate(PAGES, 1):
            await pilot.press(str(number))
            own = set(app.active_bindings)
            own |= {pressed for key in PANELS[page].keys for pressed in key.keys.split(",")}
            for other in PAGES:
                for key in PANELS[other].keys:
                    pressed = key.keys.split(",")[0]
                    if pressed in own or key.action in ("back", "leave"):
                        continue
                    app.clear_notifications()
                    await pilot.press(pressed)
                    [said] = [one.message for one in app._notifications]
                    assert said.startswith(f"{key_name(key)}: "), said
                    assert f"{key.label} on " in said or "a key of " in said
                    assert PAGES[other].label in said
                    told.add(page)
            app.clear_notifications()
            await pilot.press("ctrl+z")
            assert "q leaves" in screen_text(app)
            for key in OF_REPLAYS:
                if not any(
                    key.keys in one.keys.split(",") for p in PAGES for one in PANELS[p].keys
                ):
                    await pilot.press(key.keys)
                    assert f"it is {key.label} in a replay" in screen_text(app)
    assert told == set(PAGES)


async def test_a_console_that_only_looks_points_to_no_key_that_changes_something(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE, readonly=True) as (app, pilot):
        await pilot.press("1", "x", "c", "t")
        assert not list(app._notifications)


async def test_no_case_runs_less_than_once_and_the_key_says_so(workspace: FakeWorkspace) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("2")
        while enabled(
            app.screen, fewer := next(k for k in PANELS["matrix"].keys if k.keys == "minus")
        ):
            await pilot.press(fewer.keys)
        app.clear_notifications()
        await pilot.press("minus")
        [said] = [one.message for one in app._notifications]
        assert said.endswith("each case runs once at least")


async def test_who_types_control_c_is_told_the_key_that_the_bar_shows(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("ctrl+c")
        await until(pilot, partial(shows, app, "q quits"))
        assert "ctrl+q" not in screen_text(app)


async def test_a_key_of_this_page_that_has_nothing_to_do_points_to_no_page(
    workspace: FakeWorkspace,
) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        begin(app, workspace)
        for keys in (("1", "z", "enter"), ("3", "enter", "enter")):
            app.clear_notifications()
            await pilot.press(*keys)
            said = [one.message for one in app._notifications]
            assert not [words for words in said if " on Hosts" in words], keys


@pytest.mark.parametrize("panel", ["results", "compare"])
def test_the_help_explains_the_sign_of_the_cursor_where_there_are_curves(panel: str) -> None:
    assert f"{CURSOR} in a curve: the case under the cursor." in PANELS[panel].about


@pytest.mark.parametrize(
    ("columns", "about"),
    [
        (campaign_text.COLUMNS, PANELS["campaigns"].about),
        (result_text._COLUMNS, PANELS["results"].about),
    ],
    ids=["campaigns", "results"],
)
def test_the_help_explains_the_letters_of_grades_where_a_column_has_them(
    columns: Sequence[Column], about: str
) -> None:
    assert "Gr" in {column.label for column in columns}
    assert "Gr: the grade, what " in about
    assert "D is a number, no more" in about


@pytest.mark.parametrize(
    ("panel", "words"),
    [
        ("hosts", (counted(1, "slot"), are_one(("a", "b")), sparkline([9.0], 1.0))),
        ("matrix", (*LAUNCHERS, device_time(2 / 3600, "device").partition(" ")[2])),
        ("runs", (sparkline([9.0], 1.0),)),
    ],
)
def test_the_help_has_the_words_of_its_page_that_no_key_explains(
    panel: str, words: tuple[str, ...]
) -> None:
    about = PANELS[panel].about
    assert not [word for word in words if word.removeprefix("1 ") not in about]


@pytest.mark.parametrize("moving", ["scroll", "table", "filter", "entry"])
@pytest.mark.parametrize("dialog", DIALOGS)
@pytest.mark.parametrize("never", [False, True])
def test_no_key_is_twice_in_the_help_of_a_dialog(dialog: str, moving: str, never: bool) -> None:
    """Whatever in it has the focus; a key that the dialog takes is none for moving about."""
    first = (moving, dialog) if moving in ("filter", "entry") else (dialog, moving)
    missing = DIALOGS[dialog].keys[0].action if never else ""
    text = drawn(help_text(first, lambda action: action == missing), 400)
    lines = [line[2:].rstrip() for line in text.splitlines() if line.startswith("  ")]
    rows = [line.split("  ")[0] for line in lines if "  " in line]  # others go on from above
    listed = [word for row in rows for word in row.split() if word != "or"]
    assert sorted(set(listed)) == sorted(listed)


def test_a_prechecks_own_key_is_not_listed_for_moving() -> None:
    text = drawn(help_text(("precheck", "scroll")), 400)
    assert "what the last one found" in text
    assert "  →  " in text
    assert "→ l" not in text
