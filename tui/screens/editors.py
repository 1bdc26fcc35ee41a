"""Dialogs of the matrix: parameter values, settings, hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from rich.cells import cell_len
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Input, Static

from backends.hosts.foreseen import same_machines
from backends.hosts.host_facts import HostSnapshot
from backends.inventory.host_entry import select
from profiles.errors import DlperfError
from profiles.format.site_settings import needs_value
from profiles.scalars import scalar_text
from tui.hosts_now import HostsNow
from tui.key_bindings import bindings
from tui.matrix_marks import Marks
from tui.screens.dialogs import Dialog, Prompt, entry
from tui.screens.front_screen import REFRESH_S
from tui.screens.hosts_page import note
from tui.session import Session
from tui.text import age_text, cell, host_state, join, plain, problem
from tui.theme import GOOD, MUTED, WARN
from tui.widgets.keyed_table import Column, KeyedTable, Row, current_key

if TYPE_CHECKING:
    from backends.precheck.judged import Judged

Result = TypeVar("Result")
DEFAULT = " (default)"
MOST_VALUE = 32


class MarkTable(KeyedTable):
    """Rows to be marked; the dialog around it holds the marks."""


class MarkList(Dialog[Result], Generic[Result]):
    """Mark some of many, or write instead; the result is what the subclass makes of the marks."""

    PANEL = "marklist"
    BINDINGS = bindings("marklist")
    AHEAD = Dialog.AHEAD | {"mark", "all", "none", "write", "accept"}
    WRITE_HINT = ""

    def __init__(self, title: str, words: str, columns: Sequence[Column]) -> None:
        super().__init__(title)
        self._words = words
        self._columns = (Column("mark", " ", 3), *columns)
        self.marked: set[str] = set()

    def entries(self) -> Iterable[tuple[str, tuple[Text, ...]]]:
        """(key, cells) of every row."""
        raise NotImplementedError

    def written(self, text: str) -> None:
        """Take what was typed into the marks; raises DlperfError for what cannot be taken."""
        raise NotImplementedError

    def outcome(self) -> Result:
        """The result of these marks; raises DlperfError for what cannot be taken."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        with self.box(wide=True):
            yield Static(Text(self._words, MUTED), classes="message", markup=False)
            yield MarkTable(self._columns)
            yield entry(placeholder=self.WRITE_HINT)
            yield Static("", classes="problem", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).display = False
        self.query_one(".problem").display = False
        self.query_one(MarkTable).focus()
        self.fill()

    def fill(self) -> None:
        self.query_one(MarkTable).refill(
            [
                Row(
                    key,
                    (
                        cell("[x]", GOOD) if key in self.marked else cell("[ ]", MUTED),
                        *cells,
                    ),
                )
                for key, cells in self.entries()
            ]
        )

        self.refresh_bindings()

    def able(self, action: str) -> bool:
        if action == "all":
            return any(key not in self.marked for key, _ in self.entries())
        return bool(self.marked) if action == "none" else True

    def not_now(self, action: str) -> str:
        return {"all": "all are marked", "none": "none is marked"}.get(action, "")

    def _say(self, error: DlperfError | None) -> None:
        line = self.query_one(".problem", Static)
        line.display = error is not None
        if error is not None:
            line.update(problem(error))

    def action_mark(self) -> None:
        key = self.query_one(MarkTable).current_key
        if key is not None:
            self.marked ^= {key}
            self.fill()

    def action_all(self) -> None:
        self.marked = {key for key, _ in self.entries()}
        self.fill()

    def action_none(self) -> None:
        self.marked = set()
        self.fill()

    def action_leave(self) -> None:
        line = self.query_one(Input)
        if line.has_focus:
            line.display = False
            self._say(None)
            self.query_one(MarkTable).focus()
        else:
            super().action_leave()

    def action_write(self) -> None:
        line = self.query_one(Input)
        line.display = True
        line.focus()

    @on(Input.Changed)
    def _written_on(self) -> None:
        self._say(None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        try:
            self.written(event.value)
        except DlperfError as error:
            self._say(error)
            return
        self._say(None)
        event.input.value = ""
        event.input.display = False
        self.fill()
        self.query_one(MarkTable).focus()

    def action_accept(self) -> None:
        try:
            result = self.outcome()
        except DlperfError as error:
            self._say(error)
            return
        self.finish(result)


class ParameterEditor(MarkList[Marks]):
    """Which values of each parameter are columns."""

    WRITE_HINT = "values of the selected parameter, or of any: name=value,value"

    def __init__(self, marks: Marks) -> None:
        super().__init__(
            f"Parameters · {marks.profile.name}",
            "Marked values are columns of the grid; every combination is one column.",
            (
                Column("name", "Parameter", max([9, *map(cell_len, marks.profile.parameters)])),
                Column("value", "Value", _widest_value(marks)),
                Column("about", "", None),
            ),
        )
        self._marks = marks
        self._values: dict[str, dict[str, None]] = {}
        for name, parameter in marks.profile.parameters.items():
            shown = [scalar_text(value) for value in marks.shown[name]]
            self._values[name] = dict.fromkeys([*parameter.choice_texts, *shown])
            self.marked |= {f"{name}={text}" for text in shown}

    def entries(self) -> Iterable[tuple[str, tuple[Text, ...]]]:
        for name, texts in self._values.items():
            parameter = self._marks.profile.parameters[name]
            default = scalar_text(parameter.default)
            for number, text in enumerate(texts):
                about = parameter.description if number == 0 else ""
                value = f"{text}{DEFAULT}" if text == default else text
                first = cell(name if number == 0 else "", "bold")
                yield f"{name}={text}", (first, cell(value), cell(about, MUTED))

    def written(self, text: str) -> None:
        """``name=value,value``, or values alone of the parameter under the cursor."""
        name, given, values = (part.strip() for part in text.partition("="))
        if not given and name not in self._values and (key := current_key(self)) is not None:
            name, values = key.partition("=")[0], name
        if name not in self._values:
            raise DlperfError(
                f"{self._marks.profile.name} has no parameter {name!r}",
                remedy=f"it has {', '.join(self._values)}",
            )
        known = self._marks.profile.parameters[name].by_text
        parts = [part.strip() for part in values.split(",")]
        texts = [text for part in parts for text in ([part] if part in known else part.split())]
        self._marks.with_values(name, texts)
        for value in texts:
            self._values[name][value] = None
            self.marked.add(f"{name}={value}")

    def outcome(self) -> Marks:
        marks = self._marks
        chosen = {
            name: [text for text in texts if f"{name}={text}" in self.marked]
            for name, texts in self._values.items()
        }
        # What becomes fewer first: the grid has its limit on the way, too.
        for name in sorted(chosen, key=lambda name: len(chosen[name]) - len(marks.shown[name])):
            marks = marks.with_values(name, chosen[name])
        return marks


def _widest_value(marks: Marks) -> int:
    """Of the values that the editor begins with, with room for what they mean."""
    named = [
        f"{scalar_text(parameter.default)}{DEFAULT}"
        for parameter in marks.profile.parameters.values()
    ]
    texts = [t for p in marks.profile.parameters.values() for t in p.choice_texts]
    shown = [scalar_text(value) for values in marks.shown.values() for value in values]
    return min(MOST_VALUE, max(map(cell_len, [*named, *texts, *shown])))


class HostPicker(MarkList[str]):
    """Which hosts may be used; the result is a nodeset, empty for all."""

    WRITE_HINT = "a nodeset, such as node[1-4],node7"

    def __init__(self, session: Session, hosts_now: HostsNow, chosen: str) -> None:
        self._session = session
        self._hosts_now = hosts_now
        self._snapshots = hosts_now.of(session.viewed)
        self._judged: Mapping[str, Judged] = {}
        told = {host.name: host.facts for host in self._snapshots if host.facts is not None}
        ones = (f" {plain(one.what)}: use one alone." for one in same_machines(told))
        super().__init__(
            "Hosts to use",
            f"Runs are placed on the marked hosts only.{''.join(ones)}",
            (
                Column("state", "State", 13),
                Column("name", "Host", 12, most=16),
                Column("about", "Remarks", None),
                Column("age", "Asked", 10, right=True, still=True),
            ),
        )
        names = {host.name for host in self._snapshots}
        self.marked = set(chosen.split(",")) & names if chosen else names

    def on_mount(self) -> None:
        self.set_interval(REFRESH_S, self.tick)
        self.read_judgements()

    @work(exclusive=True, group="judgements", description="read what prechecks say of hosts")
    async def read_judgements(self) -> None:
        self._judged = await self._session.judgements()
        if self.here and self._judged:
            self.fill()

    def tick(self) -> None:
        """As they are by now: they are asked again meanwhile."""
        before = tuple(self.entries())
        self._snapshots = self._hosts_now.of(self._session.viewed)
        if self.here and tuple(self.entries()) != before:
            self.fill()

    def entries(self) -> Iterable[tuple[str, tuple[Text, ...]]]:
        for host in self._snapshots:
            passed = self._hosts_now.age_s(host)
            old = "–" if passed is None else age_text(passed)
            old += " ago" * (old not in ("–", "now"))
            yield (
                host.name,
                (
                    host_state(host),
                    cell(host.name, "bold"),
                    self._remarks(host),
                    cell(old, MUTED, right=True),
                ),
            )

    def _remarks(self, host: HostSnapshot) -> Text:
        """As on Hosts, and what a precheck found, which comes first where it names the host."""
        told = note(host)
        if (judged := self._judged.get(host.name)) is None:
            return told
        found = (f"precheck: {judged.ranked.verdict}", WARN if judged.named else MUTED)
        return join([found, told] if judged.named else [told, found], " · ")

    def written(self, text: str) -> None:
        inventory = self._session.workspace.cluster.inventory
        self.marked = {host.name for host in select(inventory, text)}

    def outcome(self) -> str:
        names = [host.name for host in self._snapshots if host.name in self.marked]
        if not names:
            raise DlperfError("no host is marked", remedy="mark at least one")
        return "" if len(names) == len(self._snapshots) else ",".join(names)


class SettingsEditor(Dialog[Marks]):
    """The profile's settings with their values; those that must be given are said to be missing."""

    PANEL = "settings"
    BINDINGS = bindings("settings")
    AHEAD = Dialog.AHEAD | {"edit"}

    def __init__(self, marks: Marks) -> None:
        super().__init__(f"Settings · {marks.profile.name}")
        self._marks = marks
        self._given = dict(marks.settings)

    def compose(self) -> ComposeResult:
        with self.box():
            yield Static("", classes="message", markup=False)
            yield KeyedTable((Column("name", "Setting", 18), Column("value", "Value", None)))

    def on_mount(self) -> None:
        self.query_one(KeyedTable).focus()
        self._fill()

    def _fill(self) -> None:
        rows = []
        for name, setting in self._marks.profile.settings.items():
            if name in self._given:
                value = cell(self._given[name])
            elif needs_value(self._marks.profile, name):
                value = cell("▲ must be given", WARN)
            else:
                value = cell(f"{setting.default or 'empty'} (default)", MUTED)
            rows.append(Row(name, (cell(name, "bold"), value)))
        self.query_one(KeyedTable).refill(rows)
        self._describe()

    @on(KeyedTable.Moved)
    def _describe(self) -> None:
        key = self.query_one(KeyedTable).current_key
        words = Text("This profile has no settings.", MUTED)
        if key is not None:
            setting = self._marks.profile.settings[key]
            asked = setting.check != "none"
            check = f" (preflight, on every host: {setting.check})" if asked else ""
            words = Text(f"{plain(setting.description)}{check}", MUTED)
        self.query_one(".message", Static).update(words)
        self.refresh_bindings()

    def able(self, action: str) -> bool:
        key = current_key(self)
        if action == "edit":
            return key is not None
        return key in self._given if action == "reset" else True

    def not_now(self, action: str) -> str:
        if current_key(self) is None:
            return "this profile has no settings"
        return "it has the profile's default" if action == "reset" else ""

    def action_edit(self) -> None:
        key = self.query_one(KeyedTable).current_key
        if key is None:
            return
        setting = self._marks.profile.settings[key]
        prompt = Prompt(key, setting.description, value=self._given.get(key, setting.default or ""))
        self.app.push_screen(prompt, partial(self._set, key))

    def _set(self, key: str, value: str | None) -> None:
        if value is not None:
            if value:
                self._given[key] = value
            else:
                self._given.pop(key, None)
            self._fill()

    def action_reset(self) -> None:
        key = self.query_one(KeyedTable).current_key
        if key is not None:
            self._given.pop(key, None)
            self._fill()

    def action_leave(self) -> None:
        self.finish(replace(self._marks, settings=self._given))
