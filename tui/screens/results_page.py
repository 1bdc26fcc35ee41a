"""Results: what was measured, how it scales, and what to distrust; export."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual import on, work
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget

from backends.campaign.record.run_results import run_results
from backends.campaign.record.status_view import CampaignSnapshot
from backends.results.busbw_curve import bandwidth_words, is_collective
from backends.results.case_result import CaseResult
from backends.results.projection import Projection, project_group
from backends.results.summary import Group, summarise
from profiles.format.case_labels import CaseLabels
from tui.ended_so_far import ended_so_far
from tui.key_bindings import bindings
from tui.row_order import AS_THE_CASES, OUT_OF_SIGHT
from tui.screens.campaign_text import none_shown
from tui.screens.page import Page
from tui.screens.possible_changes import last_attempt, possible_changes
from tui.screens.repeats import Repeats, repeats_text
from tui.screens.result_text import (
    BY_CASE,
    case_label,
    case_text,
    flags_below,
    group_label,
    labels_of,
    result_columns,
    result_rows,
    run_on_the_way,
    shared_reasons,
    shared_words,
    way_on,
)
from tui.screens.run_text import state_text
from tui.session import Session
from tui.text import plain
from tui.widgets.busbw_plot import busbw_plot
from tui.widgets.case_bars import case_bars, is_curve
from tui.widgets.chart import AXIS_ROWS, CURVE_ROWS, Chart, Plot, rows_of
from tui.widgets.details import Details
from tui.widgets.filter_table import TablePanel, set_frame
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.scaling_plot import (
    Published,
    Quantity,
    curve_name,
    curve_title,
    curves_beside,
    measured,
    projected,
    published_as,
    published_throughputs,
    quantity_label,
    scaling_plot,
    why_no_curve,
)

if TYPE_CHECKING:
    from tui.screens.export_sheet import Chosen

Beyond = tuple[Projection | None, Sequence[Published]]
"""What a group's curve is held against: itself farther out, and what others published."""


THREE = 160
"""Columns from which the repeats have a panel, too."""
LEAST_BELOW = 8
"""Lines from which they have one below a chart that needs no more of them."""
FRAME = 2
"""Lines of a panel's."""
TALL = 45
"""Lines of a terminal, of at least :data:`THREE` columns, from which every quantity has a curve."""
LEAST_HALF = 16
"""Lines that the curves side by side have at least, and what is below them, too."""
VIEWS = {"curve": "Curve", "case": "Case", "repeats": "Repeats"}
"""The panels below the list."""
OTHERS = ("curve-second", "curve-third")
"""Of the quantities that ``c`` did not choose."""


def _beyond(groups: Sequence[Group]) -> dict[int, Beyond]:
    return {id(group): (project_group(group), published_throughputs(group)) for group in groups}


class Curve(Chart, can_focus=False):
    """Alone on the page it has the keys: the list, which goes to the next case, is out of sight."""

    PANEL = "curve"
    BINDINGS = bindings("curve")

    class Step(Message):
        """To the next case, or to the one before."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def action_move(self, step: int) -> None:
        self.post_message(self.Step(step))


class ResultsPage(Page):
    PANEL = "results"
    BINDINGS = bindings("results")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._groups: tuple[Group, ...] = ()
        self._labels = CaseLabels()
        self._cases: Mapping[str, tuple[Group, CaseResult]] = {}
        self._beyond: Mapping[int, Beyond] = {}
        self._quantity = Quantity.SPEEDUP
        self._order = BY_CASE
        self._summarised: object = None
        self._view = "curve"  # or the case, where there is room for one
        self._alone = ""  # the view that has all of the page
        self._arranged = (False, False)  # whether repeats have a panel, and one below the curve
        self._repeats_shown: tuple[CaseResult, Group, int, Mapping[str, Text], str] | None = None
        self._export_chosen: Chosen | None = None

    def body(self) -> Iterable[Widget]:
        table = KeyedTable(result_columns((), self._labels), id="results")
        yield TablePanel(table, "Results", id="results-panel")
        with Horizontal(id="results-lower"):
            yield Curve(id="curve")
            yield from (Chart(id=name) for name in OTHERS)
            yield Details("Case", id="case")
            yield Details("Repeats", id="repeats")

    def main_panel(self) -> TablePanel:
        return self.query_one("#results-panel", TablePanel)

    def pull(self) -> None:
        viewed = self.viewed
        self._summarise(viewed)
        panel = self.main_panel()
        rows = result_rows(self._groups, self._labels, self._order)
        panel.table.forget()  # what is shown hangs on these rows and the width alone
        columns = result_columns(self._groups, self._labels, self._devices)
        panel.table.refill(rows, columns)
        panel.retitle(
            self._title(viewed), self._footer(viewed), name=viewed.called if viewed else ""
        )
        panel.say_when_empty(
            "No case matches; Esc takes the filter away"
            if panel.filter_text
            else self._why_none(viewed)
        )
        self._show_selected()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_selected)

    def _why_none(self, viewed: CampaignSnapshot | None) -> str:
        if viewed is not None:
            return f"{viewed.called} has no runs."
        return none_shown("Nothing has been measured yet.", self.session)

    def _summarise(self, viewed: CampaignSnapshot | None) -> None:
        """The statistics, only when a run has ended since."""
        ended = None if viewed is None else ended_so_far(viewed)
        if ended != self._summarised:
            self._summarised = ended
            self._groups = summarise(run_results(viewed.state)) if viewed else ()
            self._labels = labels_of(self._groups)
            self._cases = {c.as_case.key: (group, c) for group in self._groups for c in group.cases}
            self._beyond = {}
            self._project(self._groups)

    @property
    def _devices(self) -> str:
        """What a run will tell them to be, by its profile and by what the hosts have."""
        profiles = (self.session.workspace.catalog.find(group.profile) for group in self._groups)
        runs = (r for g in self._groups for c in g.cases for r in (*c.runs, *c.unended_runs))
        theirs = {host for run in runs for host in run.hosts}
        hosts = [h for h in self.session.hosts if h.facts and (h.name in theirs or not theirs)]
        gpus = bool(hosts) and all(host.facts and host.facts.gpus for host in hosts)
        on_cpus = any(profile is not None and profile.on_cpus for profile in profiles)
        return "GPUs" if gpus and not on_cpus else "Devices"

    @work(exclusive=True, group="projection", description="project the scaling further out")
    async def _project(self, groups: tuple[Group, ...]) -> None:
        """Not on the loop: the first fit imports scipy."""
        self._beyond = await asyncio.to_thread(_beyond, groups)
        if self.whole:  # else it is on its way out
            self._show_selected()

    def _show_curve(self, chart: Chart, group: Group, case: CaseResult) -> None:
        width = chart.content_size.width
        listed = self.has_class("-wide") and not self._alone  # with its flags
        called = case_label(case, self._groups, self._labels)
        marks = flags_below(case, self._groups, width - cell_len(f"{called}: "))
        marks = "" if listed or not marks else f"{called}: {marks}"
        marks = marks or called * bool(self._alone)
        if is_collective(group):
            self._show_plot(chart, busbw_plot(self._groups, case, width=width))
            set_frame(chart, "bus bandwidth in GB/s over the size of a message", marks)
            return
        if not is_curve(self._groups, group.unit):
            bars, room = self._bars(group.unit), self._room - FRAME
            plot = case_bars(bars, case, width=width, rows=room - AXIS_ROWS - 1)
            if (over := rows_of(plot, width, room) - room) > 0:  # its legend takes more than a line
                rows = room - AXIS_ROWS - 1 - over
                plot = case_bars(bars, case, width=width, rows=rows)
            self._show_plot(chart, plot)
            set_frame(chart, f"{plain(group.unit)} of each case", marks)
            return
        self._show_quantity(chart, group, case, self._quantity)
        set_frame(chart, curve_title(self._quantity, group.unit, self._groups, room=width), marks)

    def _show_quantity(
        self, chart: Chart, group: Group, case: CaseResult, quantity: Quantity
    ) -> None:
        width = chart.content_size.width
        named = [(group_label(g, self._groups, self._labels), g) for g in self._groups]
        farther, theirs = self._beyond.get(id(group), (None, ()))
        points = farther.points if farther else ()
        self._show_plot(
            chart,
            scaling_plot(
                curves_beside(group, named, quantity),
                projected(points[0], group, quantity) if points else None,
                width=width,
                quantity=quantity,
                cursor=measured(case, group, quantity) if case.scales else None,
                published=published_as(quantity, theirs, group),
                leading=self._groups.index(group),
                empty=why_no_curve(group, quantity),
                bases=[own.base_case.gpus for own in self._groups],
            ),
        )

    def _show_plot(self, chart: Chart, plot: Plot) -> None:
        chart.show(replace(plot, zoom="" if self._alone else "z"))

    def _has_all_curves(self, group: Group) -> bool:
        """Whether there is room for a curve of each quantity beside the others."""
        large = self.size.width >= THREE and self.size.height >= TALL and not self._alone
        return large and self._is_scaling(group) and self._room >= 2 * LEAST_HALF

    def _show_all_curves(self, group: Group, case: CaseResult) -> None:
        """The one that ``c`` chose, then the others."""
        quantity = self._quantity
        for name in ("curve", *OTHERS):
            chart = self.query_one(f"#{name}", Chart)
            self._show_quantity(chart, group, case, quantity)
            set_frame(chart, curve_name(quantity, group.unit, self._groups))
            quantity = quantity.next

    def _bars(self, unit: str) -> list[tuple[str, CaseResult, Published | None]]:
        """Every case in the unit, by the name that it has in the table."""
        found = []
        several = len({group.profile for group in self._groups}) > 1
        for group in (one for one in self._groups if one.unit == unit):
            theirs = {one.gpus: one for one in self._beyond.get(id(group), (None, ()))[1]}
            for case in group.cases:
                called = self._labels.label(case.as_case)
                name = f"{called} {plain(case.profile)}" if several else called
                found.append((name, case, theirs.get(case.gpus)))
        return found

    @property
    def _room(self) -> int:
        """Lines below the table."""
        return self.query_one("#results-lower").size.height

    def _title(self, viewed: CampaignSnapshot | None) -> str:
        """What all cases share stands here, and in no row."""
        if viewed is None:
            return "Results"
        shared = shared_words(self._groups, self._labels)
        return f"Results · {viewed.called}{f' · {shared}' * bool(shared)}"

    def _footer(self, viewed: CampaignSnapshot | None) -> str:
        if viewed is None or not self._groups:
            return ""
        units = {group.unit for group in self._groups}
        bases = {group.base for group in self._groups if group.scales}
        said = {bandwidth_words(g) for g in self._groups if is_collective(g)}
        parts = [words] if (words := self._order.words) else []
        parts.append(f"{', '.join([*sorted(said), *sorted(units)])}, median of the repeats")
        cases = [case for group in self._groups for case in group.cases]
        if profiled := sum(len(case.profiled_runs) for case in cases):
            parts.append(f"{sum(case.succeeded for case in cases)} counted, {profiled} profiled")
        parts += shared_reasons(self._groups)
        if len(bases) == 1:
            parts.append(f"base {bases.pop()}")
        return " · ".join(parts)

    @property
    def selected(self) -> tuple[Group, CaseResult] | None:
        key = self.main_panel().table.current_key
        return self._cases.get(key or "")

    @on(KeyedTable.Moved)
    def _show_selected(self) -> None:
        chart, details = self.query_one("#curve", Chart), self.query_one("#case", Details)
        repeats = self.query_one("#repeats", Details)
        selected = self.selected
        lower = self.query_one("#results-lower")
        lower.display = selected is not None
        if selected is None:
            self._show_all()
            return
        chart.display = self._shows("curve")
        details.display = self._shows("case")
        group, case = selected
        stacked, all_curves = False, self._has_all_curves(group)
        for name in OTHERS:
            self.query_one(f"#{name}").display = all_curves
        if all_curves:
            self._show_all_curves(group, case)
            lower.styles.grid_rows = f"{min(CURVE_ROWS + FRAME, self._room // 2)} 1fr"
        elif chart.display:
            self._show_curve(chart, group, case)
            needed = chart.rows_needed(self._room - FRAME) + FRAME
            stacked = self._room - needed >= LEAST_BELOW and not self._alone
            lower.styles.grid_rows = f"{needed} 1fr"
        lower.set_class(stacked, "-stacked")
        if lower.has_class("-all-curves") is not all_curves:
            lower.set_class(all_curves, "-all-curves")
            self.call_after_refresh(self._show_selected)  # each knows its width then
        beside = stacked or self.size.width >= THREE
        repeats.display = self._alone == "repeats" if self._alone else beside
        if (arranged := (repeats.display, stacked)) != self._arranged:
            self._arranged = arranged
            self.call_after_refresh(self._show_selected)  # it knows its width then
        if details.display:
            rule = self.viewed.state.auto if self.viewed else None
            called = case_label(case, self._groups, self._labels)
            watched = [host.name for host in self.session.hosts]
            text = case_text(case, group, rule, retriable=self._retriable, watched=watched)
            details.show(f"Case · {called}", text)
        width = repeats.content_size.width - 1  # beside the scrollbar
        if repeats.display and width > 0:
            several = len(self._groups) > 1
            whose = group_label(group, self._groups, self._labels) if several else ""
            shown = case, group, width, self._states_now(case), whose
            if shown != self._repeats_shown:  # each repeat of the group is drawn on a line
                self._repeats_shown = shown
                called = case_label(case, self._groups, self._labels)
                repeats.show(f"Repeats · {called}", repeats_text(*shown))

    @property
    def _retriable(self) -> bool:
        """What failed can be tried again on Runs, and one more repeat of each case be made."""
        return not self.session.readonly and "repeat" in possible_changes(self.viewed, None, ())

    @property
    def run_to_see(self) -> str:
        """The run on Runs that the panel of the case, in sight, sends to, by its id; or ""."""
        viewed, selected = self.viewed, self.selected if self.whole else None
        if viewed is None or selected is None or not self.query_one("#case").display:
            return ""
        case = selected[1]
        run_id = run_on_the_way(case) if way_on(case, retriable=self._retriable) else ""
        return last_attempt(viewed, run_id) if run_id in viewed.state.runs else ""

    def never(self, action: str) -> str:
        if action == "export" and self.session.playing is not None:
            return "not in a replay; dlperf-tui report writes what was recorded"
        return ""

    def not_now(self, action: str) -> str:
        if not self._groups:
            return "there is no result yet" if self.session.views else "no campaign is open"
        if action == "view" and self._both:
            return "curve and case are both in sight"
        if action == "quantity":
            if self._shows("curve"):
                return self._why_no_curve()
            hidden = VIEWS[self._alone or self._view].lower()
            return f"the {hidden} is in sight; v leads to the curve"
        if action in ("sort", "reverse") and self._alone:
            return OUT_OF_SIGHT
        return AS_THE_CASES if action == "reverse" else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        listed = bool(self._groups) and not self._alone
        able = {
            "reverse": listed and not self._order.given,
            "sort": listed,
            "view": bool(self._groups) and not self._both,
            "zoom": self.selected is not None,
            "quantity": bool(self._groups) and self._shows("curve") and self._scales,
        }
        if action in ("open", "export"):
            return bool(self._groups) and not self.never(action)
        return able[action] if action in able else super().check_action(action, parameters)

    @property
    def _both(self) -> bool:
        return self.has_class("-wide") and not self._alone

    def _shows(self, view: str) -> bool:
        """Of the curve and the case."""
        return self._both or view == (self._alone or self._view)

    @property
    def _scales(self) -> bool:
        """What is selected has a curve of speedup, of efficiency and of a device's share."""
        group = selected[0] if (selected := self.selected) else None
        return group is None or self._is_scaling(group)

    def _why_no_curve(self) -> str:
        group = selected[0] if (selected := self.selected) else None
        if group is not None and not group.scales:
            return "a bandwidth has no other curve"
        one = any(group.measured_cases for group in self._groups)
        return "cases that have a figure are of one size" if one else "no case has a figure"

    def _is_scaling(self, group: Group) -> bool:
        return group.scales and is_curve(self._groups, group.unit)

    @property
    def labels_now(self) -> Mapping[str, str]:
        views = [*VIEWS] if self._alone else ["curve", "case"]
        after = views[(views.index(self._alone or self._view) + 1) % len(views)]
        labels = {"view": VIEWS[after], "quantity": quantity_label(self._quantity.next)}
        alone = {"zoom": "All panels", "open": "Repeats in full"}  # beside the panel of all of them
        return {**labels, **(alone if self._alone else super().labels_now)}

    @property
    def urgent_now(self) -> Collection[str]:
        return ("zoom", "back") * bool(self._alone)

    def action_view(self) -> None:
        label = self.labels_now["view"]
        view = next(view for view, said in VIEWS.items() if said == label)
        if view != "repeats":
            self._view = view
        if self._alone:
            self._zoom(view)
        else:
            self._rearrange()

    def action_zoom(self) -> None:
        """The panel with the focus alone, from the list what is read below it; again: all."""
        focused = self.focused.id if self.focused is not None else None
        here = focused if focused in VIEWS else "curve" if self._both else self._view
        self._zoom("" if self._alone else str(here))

    @on(Curve.Step)
    def _move(self, step: Curve.Step) -> None:
        table = self.main_panel().table
        table.move_cursor(row=table.cursor_row + step.step)

    def _zoom(self, view: str) -> None:
        """``view``: has the page and the keys; empty: all panels, and the list has the keys."""
        self._alone = view
        self.main_panel().display = not view
        self.query_one(Curve).can_focus = bool(view)
        self._rearrange()
        self.set_focus(self.query_one(f"#{view}") if view else self.main_panel().table)
        if not view:
            for panel in self.query(Details):  # what matters most is at its top
                panel.scroll_home(animate=False)

    def _show_all(self) -> None:
        """Nothing is there to be alone."""
        if self._alone:
            self._zoom("")

    def _rearrange(self) -> None:
        self.refresh_bindings()
        self._show_selected()
        self.call_after_refresh(self._show_selected)  # what came into sight knows its width then

    def action_filter(self) -> None:
        if self._alone:
            self._zoom("")
        super().action_filter()

    def action_back(self) -> None:
        if self._alone:
            self._zoom("")
        else:
            super().action_back()

    def action_quantity(self) -> None:
        self._quantity = self._quantity.next
        self.refresh_bindings()
        self._show_selected()

    def action_sort(self) -> None:
        """By the next column in sight."""
        shown = self.main_panel().table.shown_columns
        for _ in self._order.sorts:
            self._order = self._order.next
            if self._order.by.casefold() in shown:
                break
        self.refresh_bindings()
        self.pull()

    def action_reverse(self) -> None:
        self._order = self._order.reversed
        self.pull()

    def action_open(self) -> None:
        if (selected := self.selected) is None:
            return
        key, viewed = selected[1].as_case.key, self.viewed

        def now() -> CaseResult | None:
            if self._groups_now(viewed) is None or key not in self._cases:
                return None
            return self._cases[key][1]

        several = len({group.profile for group in self._groups}) > 1
        dialog = Repeats(selected[1], several=several)
        dialog.renewed = now
        dialog.states = lambda: self._states_now(now())
        dialog.leads_to_runs = True
        self.app.push_screen(dialog, self._go_to_run)

    async def _go_to_run(self, run_id: str | None) -> None:
        if run_id:
            await self.app.run_action("page('runs')")
            self.session.run_to_see = run_id

    def _states_now(self, case: CaseResult | None) -> Mapping[str, Text]:
        """Of its repeats that have not ended, by run id."""
        viewed = self.session.viewed
        if viewed is None or case is None or not case.unended_runs:
            return {}
        among = {run.run_id for run in case.unended_runs}
        return {run.run_id: state_text(run) for run in viewed.runs if run.run_id in among}

    def action_export(self) -> None:
        if (viewed := self.viewed) is not None:
            from tui.screens.export_sheet import ExportSheet  # noqa: PLC0415 (seldom needed)

            sheet = ExportSheet(viewed, self._groups, self._export_chosen)
            sheet.renewed = lambda: self._groups_now(viewed)

            def left(_: None) -> None:
                self._export_chosen = sheet.chosen

            self.app.push_screen(sheet, left)

    def _groups_now(
        self, opened: CampaignSnapshot | None
    ) -> tuple[CampaignSnapshot, Sequence[Group]] | None:
        """For what lies over the page, which stands still behind it: of the campaign that it was
        opened of, the same groups while nothing has ended. None where another is looked at."""
        now = self.session.viewed
        if now is None or opened is None or now.identity != opened.identity:
            return None
        self._summarise(now)
        return now, self._groups
