"""Results: what was measured, how it scales, and what to distrust; export."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget

from backends.campaign.folder.export_report import export
from backends.campaign.record.run_results import run_results
from backends.campaign.record.status_view import CampaignSnapshot
from backends.results.case_result import CaseResult
from backends.results.projection import Projection, project_group
from backends.results.publish import LAYOUTS
from backends.results.summary import Group, summarise
from profiles.errors import DlperfError
from tui.key_bindings import bindings
from tui.messages import Problem, Said
from tui.screens.dialogs import Answer, Choice, Dialog, Prompt
from tui.screens.page import Page
from tui.screens.result_text import (
    REPEAT_COLUMNS,
    case_key,
    case_label,
    case_text,
    group_label,
    repeat_rows,
    result_columns,
    result_rows,
)
from tui.session import Session
from tui.text import count, plain
from tui.typed_ahead import typed_ahead
from tui.widgets.chart import Chart
from tui.widgets.details import Details
from tui.widgets.filter_table import TablePanel, set_frame
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.scaling_plot import (
    Published,
    Quantity,
    curve,
    curve_title,
    measured,
    projected,
    published_as,
    published_throughputs,
    quantity_label,
    scaling_plot,
)

Beyond = tuple[Projection | None, Sequence[Published]]
"""What a group's curve is held against: itself farther out, and what others published."""


def _beyond(groups: Sequence[Group]) -> dict[int, Beyond]:
    return {id(group): (project_group(group), published_throughputs(group)) for group in groups}


class ResultsPage(Page):
    PANEL = "results"
    BINDINGS = bindings("results")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._groups: tuple[Group, ...] = ()
        self._beyond: Mapping[int, Beyond] = {}
        self._quantity = Quantity.SPEEDUP
        self._summarised: object = None
        self._view = "chart"

    def body(self) -> Iterable[Widget]:
        table = KeyedTable(result_columns(()), id="results")
        yield TablePanel(table, "Results", id="results-panel")
        with Horizontal(id="results-lower"):
            yield Chart(id="curve")
            yield Details("Case", id="case")

    def main_panel(self) -> TablePanel:
        return self.query_one("#results-panel", TablePanel)

    def pull(self) -> None:
        viewed = self.viewed
        self._summarise(viewed)
        panel = self.main_panel()
        panel.table.refill(result_rows(self._groups), result_columns(self._groups))
        panel.retitle(f"Results · {viewed.name}" if viewed else "Results", self._footer(viewed))
        panel.say_when_empty(
            "No case matches; Esc takes the filter away"
            if panel.filter_text
            else "Nothing has been measured yet. Start a campaign on page 2, or press O to look "
            "at a campaign of before."
        )
        self._show_selected()

    def _summarise(self, viewed: CampaignSnapshot | None) -> None:
        """The statistics, only when a run has ended since."""
        ended = None
        if viewed is not None:
            states = tuple((run.run_id, run.state) for run in viewed.runs)
            ended = (viewed.path, states)
        if ended != self._summarised:
            self._summarised = ended
            self._groups = summarise(run_results(viewed.state)) if viewed else ()
            self._beyond = {}
            self._project(self._groups)

    @work(exclusive=True, group="projection", description="project the scaling further out")
    async def _project(self, groups: tuple[Group, ...]) -> None:
        """Not on the loop: the first fit imports scipy."""
        self._beyond = await asyncio.to_thread(_beyond, groups)
        self._show_selected()

    def _show_curve(self, chart: Chart, group: Group, case: CaseResult) -> None:
        quantity = self._quantity
        farther, theirs = self._beyond.get(id(group), (None, ()))
        points = farther.points if farther else ()
        ordered = sorted(self._groups, key=lambda g: g is not group)
        chart.show(
            scaling_plot(
                [(group_label(g, self._groups), curve(g, quantity)) for g in ordered],
                projected(points[0], group, quantity) if points else None,
                width=chart.content_size.width,
                quantity=quantity,
                cursor=measured(case, group, quantity) if case.scales else None,
                published=published_as(quantity, theirs, group),
            )
        )
        set_frame(chart, curve_title(quantity, group.unit, self._groups))

    def _footer(self, viewed: CampaignSnapshot | None) -> str:
        if viewed is None or not self._groups:
            return ""
        units = {group.unit for group in self._groups}
        bases = {group.base for group in self._groups}
        parts = [f"{', '.join(sorted(units))}, median of the repeats"]
        if len(bases) == 1:
            parts.append(f"base {bases.pop()}")
        return " · ".join(parts)

    @property
    def selected(self) -> tuple[Group, CaseResult] | None:
        key = self.main_panel().table.current_key
        for group in self._groups:
            for case in group.cases:
                if case_key(group, case) == key:
                    return group, case
        return None

    @on(KeyedTable.Moved)
    def _show_selected(self) -> None:
        chart, details = self.query_one("#curve", Chart), self.query_one("#case", Details)
        both = self.has_class("-wide")
        selected = self.selected
        lower = self.query_one("#results-lower")
        lower.display = selected is not None
        chart.display = both or self._view == "chart"
        details.display = both or self._view == "case"
        if selected is None:
            return
        group, case = selected
        if chart.display:
            self._show_curve(chart, group, case)
        if details.display:
            rule = self.viewed.state.auto if self.viewed else None
            details.show(f"Case · {case_label(case)}", case_text(case, group, rule))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("open", "export"):
            return bool(self._groups)
        if action == "view":
            return bool(self._groups) and not self.has_class("-wide")
        if action == "quantity":
            return bool(self._groups) and (self.has_class("-wide") or self._view == "chart")
        return super().check_action(action, parameters)

    @property
    def labels_now(self) -> Mapping[str, str]:
        return {
            "view": "Case" if self._view == "chart" else "Curve",
            "quantity": quantity_label(self._quantity.next),
        }

    def action_view(self) -> None:
        self._view = "case" if self._view == "chart" else "chart"
        self.refresh_bindings()
        self._show_selected()
        self.call_after_refresh(self._show_selected)

    def action_quantity(self) -> None:
        self._quantity = self._quantity.next
        self.refresh_bindings()
        self._show_selected()

    def action_open(self) -> None:
        selected = self.selected
        if selected is not None:
            self.app.push_screen(Repeats(selected[1]))

    def action_export(self) -> None:
        if self.viewed is not None:
            chosen = partial(self._ask_where, self.viewed)
            self.app.push_screen(_what_to_export(self._groups), chosen)

    def _ask_where(self, viewed: CampaignSnapshot, chosen: str | None) -> None:
        if not chosen:
            return
        layout = None if chosen == REPORT else chosen
        proposed = str(_proposed(viewed.path, layout))
        prompt = Prompt(
            "Export", "Write it to this file:", value=proposed, lasting=True, meaning=_whole
        )

        def answered(answer: str | None) -> None:
            if answer:
                self._export_to(viewed, layout, answer)

        self.app.push_screen(prompt, answered)

    @work(exclusive=True, group="export", description="ask before writing over a file")
    async def _export_to(self, viewed: CampaignSnapshot, layout: str | None, answer: str) -> None:
        with typed_ahead(self).held():
            path, question = await asyncio.to_thread(_destination, answer)

            def answered(said: str | None) -> None:
                if said == "yes":
                    self._export(viewed, layout, path)

            if question is None or (layout is None and path == viewed.path / "report.md"):
                answered("yes")
            else:
                self.app.push_screen(question, answered)

    @work(exclusive=True, group="write", description="write the report, or one of its layouts")
    async def _export(self, viewed: CampaignSnapshot, layout: str | None, path: Path) -> None:
        try:
            await asyncio.to_thread(export, viewed.state, viewed.path, path, layout)
        except DlperfError as error:
            self.post_message(Problem(error))
        else:
            self.post_message(Said(f"report written to {path}"))


REPORT = "report"


def _what_to_export(groups: Sequence[Group]) -> Choice:
    """The whole report first, then by their numbers the layouts that have something to lay out."""
    layouts = enumerate((one for one in LAYOUTS.values() if one.fits(groups)), 1)
    return Choice(
        "Export",
        "Write what?",
        (
            Answer("r", "the report: environment, tables, figures, what to distrust", REPORT),
            *(Answer(str(n), f"{one.name}: {one.help}", one.name) for n, one in layouts),
        ),
    )


def _proposed(campaign: Path, layout: str | None) -> Path:
    if layout is None:
        return campaign / "report.md"
    return campaign / f"{layout}.{LAYOUTS[layout].formats[0]}"


def _whole(text: str) -> str:
    """The path that was typed, from the root on."""
    return str(Path(text).expanduser().absolute()) if text.strip() else "no file is named"


def _destination(text: str) -> tuple[Path, Choice | None]:
    """The path that was typed, and what is to be asked before anything is written there."""
    path = Path(text).expanduser()
    if path.exists():
        answers = (Answer("y", "write over it", "yes"), Answer("n", "leave it", "no"))
        return path, Choice("Export", f"{path} exists already.", answers)
    missing = [parent for parent in path.parents if not parent.exists()]
    if missing:
        answers = (Answer("y", "make it", "yes"), Answer("n", "write nothing", "no"))
        return path, Choice("Export", f"There is no directory {path.parent}.", answers)
    return path, None


class Repeats(Dialog[str]):
    """Every repeat of a case."""

    PANEL = "repeats"
    BINDINGS = bindings("repeats")

    def __init__(self, case: CaseResult) -> None:
        done = f"{case.succeeded} of {count(case.repeats, 'repeat')} succeeded"
        super().__init__(f"{plain(case_label(case))} · {done}")
        self._case = case

    def compose(self) -> ComposeResult:
        with self.box(wide=True):
            yield KeyedTable(REPEAT_COLUMNS)

    def on_mount(self) -> None:
        self.query_one(KeyedTable).focus()
        self.query_one(KeyedTable).refill(repeat_rows(self._case))
