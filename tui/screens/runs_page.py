"""Runs: every run of the campaign, samples/s as it happens, the log, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textual import on, work
from textual.widget import Widget

from backends.campaign.folder.paths import log_of
from backends.campaign.record.state import RunState
from backends.campaign.record.status_view import (
    CampaignSnapshot,
    RunView,
)
from backends.keeper.request import Verb
from profiles.errors import DlperfError
from tui.key_bindings import bindings
from tui.messages import Problem, Said
from tui.screens.dialogs import Prompt
from tui.screens.page import Page
from tui.screens.possible_changes import (
    CHANGES,
    RETRIABLE,
    cancel_all_question,
    cancel_question,
    change,
    change_labels,
    possible_changes,
)
from tui.screens.run_text import (
    COLUMNS,
    RunRows,
    details_text,
    no_log,
    rows_signature,
    shown_series,
    summary,
)
from tui.session import Session
from tui.text import plain
from tui.widgets.chart import Chart
from tui.widgets.details import Details
from tui.widgets.filter_table import TablePanel, set_frame
from tui.widgets.keyed_table import KeyedTable
from tui.widgets.log_panel import LogPanel
from tui.widgets.meters import LABEL_WIDTH
from tui.widgets.plot_data import throughput_plot
from tui.widgets.telemetry_panel import TelemetryPanel

CHART_S = 1.0
"""A curve of minutes is drawn less often than rows are: nobody sees the difference."""


class _Able(NamedTuple):
    """What decides which keys work; ``hosts``: how many the run under the cursor has, if any."""

    changes: frozenset[str] = frozenset()
    hosts: int | None = None
    zoomed: str = ""
    auto: bool = True
    metered: bool = False
    labels: tuple[tuple[str, str], ...] = ()


class RunsPage(Page):
    PANEL = "runs"
    BINDINGS = bindings("runs")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._view = ""
        self._host = 0
        self._able = _Able()
        self._zoomed = ""
        self._shown: object = None
        self._drawn: object = None  # what the chart is of
        self._rows = RunRows()
        self._auto = True  # the cursor goes with what is at work, until it is moved by hand
        self._steered: str | None = None
        self._of: Path | None = None

    def body(self) -> Iterable[Widget]:
        yield TablePanel(KeyedTable(COLUMNS, id="runs"), "Runs", id="runs-panel")
        yield Chart(id="chart")
        yield TelemetryPanel()
        yield Details("Details")
        yield LogPanel()

    def main_panel(self) -> TablePanel:
        return self.query_one("#runs-panel", TablePanel)

    # What is shown -----------------------------------------------------------------------------

    @property
    def selected(self) -> RunView | None:
        viewed = self.viewed
        key = self.main_panel().table.current_key
        if viewed is None:
            return None
        return next((run for run in viewed.runs if run.run_id == key), None)

    def pull(self) -> None:
        viewed = self.viewed
        panel = self.main_panel()
        shown = rows_signature(viewed)
        if shown != self._shown:
            self._shown = shown
            panel.table.refill(self._rows(viewed) if viewed else [])
            self._steer(viewed)
        counts = summary(viewed, leaving=self.session.leaving)
        panel.retitle(f"Runs · {viewed.name}" if viewed else "Runs", counts)
        panel.say_when_empty(
            "No run matches; Esc takes the filter away"
            if panel.filter_text
            else "Nothing has been started yet. Mark cases on page 2 and press Enter there, or "
            "press O to look at a campaign of before."
        )
        self._show_selected()

    def _steer(self, viewed: CampaignSnapshot | None) -> None:
        """Put the cursor on a run at work when the one under it has ended."""
        path = viewed.path if viewed else None
        if path != self._of:
            self._of, self._auto, self._steered = path, True, None
        run = self.selected
        if self._steered is None and run is not None:
            self._steered = run.run_id
        if viewed is None or not self._auto or (run is not None and run.state.active):
            return
        at_work = next((r.run_id for r in viewed.runs if r.state.active), None)
        if at_work is not None:
            self._steered = at_work
            self.main_panel().table.select(at_work)

    @on(KeyedTable.Moved)
    def _moved(self, event: KeyedTable.Moved) -> None:
        if self._steered is not None and event.key != self._steered:
            self._auto = False
        self._host = 0
        self._show_selected()

    def _show_selected(self) -> None:
        viewed, run = self.viewed, self.selected
        self._arrange(run)
        able = self._abilities(viewed, run)
        if able != self._able:
            self._able = able
            self.refresh_bindings()
        if viewed is None or run is None:
            return
        chart, meters = self.query_one(Chart), self.query_one(TelemetryPanel)
        self._follow_telemetry(meters, viewed, run)
        beat = viewed.revision if run.elapsed_s is None else int(run.elapsed_s / CHART_S)
        room = (chart.content_size, chart.display, meters.display)
        drawn = (viewed.path, run.run_id, run.state, beat, room)
        if drawn != self._drawn:
            self._drawn = drawn
            self._draw(chart, meters, viewed, run)
        details = self.query_one(Details)
        if details.display:
            fixed = self.session.readonly or (viewed.read_only and viewed.kept_by is None)
            text = details_text(run, viewed.state, read_only=fixed)
            details.show(plain(run.label), text)
        log = self.query_one(LogPanel)
        if log.display:
            host = run.hosts[self._host % len(run.hosts)] if run.hosts else ""
            log.show(
                log_of(run, host),
                f"Log · {run.label} · {host}" if host else f"Log · {run.label}",
                empty=no_log(run),
                ended=run.state.ended,
            )

    def _draw(
        self, chart: Chart, meters: TelemetryPanel, viewed: CampaignSnapshot, run: RunView
    ) -> None:
        if not (chart.display or meters.display):
            return
        series = shown_series(viewed, run)
        plot = throughput_plot(series, run.run_id, width=chart.content_size.width)
        if meters.display:
            plot = replace(plot, label_width=LABEL_WIDTH - 1)
        chart.show(plot)
        set_frame(chart, f"{plain(run.unit)} over time")
        if meters.display:
            waits = (0.0, max(10.0, run.elapsed_s or 0.0))
            meters.align(*(chart.axis if plot.lines else (LABEL_WIDTH, waits)))

    def _follow_telemetry(
        self, meters: TelemetryPanel, viewed: CampaignSnapshot, run: RunView
    ) -> None:
        record = viewed.state.runs[run.run_id]
        first = tuple(range(run.case.gpus_per_node))  # as journals of old versions mean it
        meters.follow(
            viewed.path,
            run.run_id,
            {host: record.devices.get(host, first) for host in run.hosts},
            record.started_at or 0.0,
            {h.name: h.facts for h in self.session.hosts if h.facts is not None},
        )

    def _arrange(self, run: RunView | None) -> None:
        """Which panels there is room for: all but one where it is short, chosen by ``v``."""
        failed = run is not None and run.state is RunState.FAILED
        upper = self._view if self._view in ("chart", "details") else ""
        upper = upper or ("details" if failed else "chart")
        shown = {upper, "log"} if self.has_class("-tall") else {self._view or upper}
        metered = self.query_one(TelemetryPanel).known
        if metered and self.has_class("-tall") and upper == "chart":
            shown.add("telemetry")
        if run is None:
            shown = set()
        if self._zoomed:
            shown = {self._zoomed}
        for name in ("chart", "telemetry", "details", "log"):
            self.query_one(f"#{name}").display = name in shown
        self.set_class(self._zoomed == "runs-panel", "-zoomed")
        self.main_panel().display = self._zoomed in ("", "runs-panel")

    # Keys --------------------------------------------------------------------------------------

    def _abilities(self, viewed: CampaignSnapshot | None, run: RunView | None) -> _Able:
        metered = self.query_one(TelemetryPanel).display
        hosts = len(run.hosts) if run is not None else None
        readonly = self.session.readonly
        changes = frozenset[str]() if readonly else possible_changes(viewed, run)
        labels = change_labels(viewed, run) | {
            "view": self._next_view().capitalize(),
            "zoom": "All panels" if self._zoomed else "Zoom",
        }
        return _Able(changes, hosts, self._zoomed, self._auto, metered, tuple(labels.items()))

    @property
    def labels_now(self) -> Mapping[str, str]:
        return dict(self._able.labels)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        changes, hosts = self._able.changes, self._able.hosts
        if action in ("retry", "pause", "pause_all", "repeat") and not self.sight.seen:
            return False
        if action in CHANGES:
            return action in changes
        if action in ("next_log", "follow"):  # of a run that waits there is nothing to follow
            return hosts is not None and hosts > (action == "next_log")
        if action in ("view", "zoom", "copy", "open", "meters"):
            apt = action != "meters" or self.query_one(TelemetryPanel).display
            apt = apt and not (action == "open" and isinstance(self.focused, LogPanel))
            return hosts is not None and apt
        if action == "back" and (self._zoomed or not self._auto):
            return True
        return super().check_action(action, parameters)

    def action_cancel_run(self) -> None:
        viewed, run = self.viewed, self.selected
        if viewed is None or run is None:
            return
        if run.state.ended:
            self.post_message(Said(f"{run.label} has ended; there is nothing to cancel"))
            return
        cancel = partial(self._change, Verb.CANCEL, [run.run_id], of=viewed.path)
        self.app.push_screen(cancel_question(viewed, run), partial(self._if_yes, cancel))

    def _if_yes(self, act: Callable[[], object], said: str | None) -> None:
        if said == "yes":
            act()

    def action_cancel_all(self) -> None:
        if (viewed := self.viewed) is None:
            return
        if viewed.done == viewed.total:
            self.post_message(Said("every run has ended; there is nothing to cancel"))
            return
        cancel = partial(self._change, Verb.CANCEL, of=viewed.path)
        self.app.push_screen(cancel_all_question(viewed), partial(self._if_yes, cancel))

    def action_retry(self) -> None:
        if (run := self.selected) is None:
            return
        if run.state not in RETRIABLE:
            self.post_message(Said(f"{run.label} is {run.state}; only failed runs are retried"))
            return
        self._change(Verb.RETRY, [run.run_id])

    def action_diagnose(self) -> None:
        run, controller = self.selected, self.session.controller
        if run is not None and controller is not None and controller.diagnose(run.run_id):
            self._view = "details"  # where the answer will stand
            self.post_message(Said("its hosts are asked; their answer may take half a minute"))
            self.tick()

    def action_pause(self) -> None:
        """Leave the run out; the same key lets it start again."""
        if (run := self.selected) is not None:
            self._change(Verb.UNPAUSE if run.paused else Verb.PAUSE, [run.run_id])

    def action_pause_all(self) -> None:
        """All that has not started; where nothing is left to pause, let all of it start."""
        if (viewed := self.viewed) is not None:
            waiting = [run for run in viewed.runs if run.state.waits]
            pause = not all(run.paused for run in waiting)
            chosen = [run.run_id for run in waiting if run.paused is not pause]
            self._change(Verb.PAUSE if pause else Verb.UNPAUSE, chosen)

    def action_repeat(self) -> None:
        if any(worker.group == "ask" and worker.is_running for worker in self.workers):
            self.post_message(Said("what was asked for before is not answered yet"))
            return
        self._change(Verb.REPEAT)

    def _change(
        self, verb: Verb, run_ids: Sequence[str] | None = None, *, of: Path | None = None
    ) -> None:
        """By the campaign at work here, or by whoever is at work on the one that is looked at.

        ``run_ids``: None: all, where that can be meant. ``of``: the campaign that was asked about.
        """
        if of is not None and of != self.session.viewed_path:
            self.post_message(Said("another campaign is shown now; nothing was changed"))
        elif self.session.opened is not None:
            self._ask(verb, run_ids)
        elif self.session.controller is not None:
            try:
                said = change(self.session.controller, verb, run_ids)
            except DlperfError as error:
                self.post_message(Problem(error))
                return
            if said:
                self.post_message(Said(said))
            self.tick()

    @work(group="ask", description="ask whoever is at work on the campaign")
    async def _ask(self, verb: Verb, run_ids: Sequence[str] | None) -> None:
        repeats = int(verb is Verb.REPEAT)
        self.post_message(Said("asking whoever goes on with it …"))
        try:
            answer = await self.session.ask(verb, run_ids, repeats=repeats)
        except DlperfError as error:
            self.post_message(Problem(error))
        else:
            self.post_message(Said(answer))

    def _next_view(self) -> str:
        """The next of what the lower part can show."""
        metered = ("telemetry",) if self.query_one(TelemetryPanel).known else ()
        between = () if self.has_class("-tall") else (*metered, "log")
        views = ("chart", *between, "details")
        now = next((v for v in views if self.query_one(f"#{v}").display), views[0])
        return str(views[(views.index(now) + 1) % len(views)])

    def action_view(self) -> None:
        self._view, self._zoomed = self._next_view(), ""
        self._show_selected()
        self.call_after_refresh(self._show_selected)

    def action_open(self) -> None:
        """Enter: read the log."""
        if not self.has_class("-tall"):
            self._view = "log"
        self._show_selected()
        self.query_one(LogPanel).focus()

    def action_back(self) -> None:
        self._zoomed = ""
        self._auto = True
        self._show_selected()
        super().action_back()

    def action_follow(self) -> None:
        log = self.query_one(LogPanel)
        if not log.display:
            self.action_open()
        else:
            log.toggle_follow()

    @on(LogPanel.Asked)
    def _ask_what_to_look_for(self, event: LogPanel.Asked) -> None:
        log = self.query_one(LogPanel)
        words = "Show the next line of the log that has these words:"

        def answered(words: str | None) -> None:
            if words:
                log.search(words)

        self.app.push_screen(Prompt("Search", words, value=event.before), answered)

    def action_next_log(self) -> None:
        self._host += 1
        if not self.has_class("-tall"):
            self._view = "log"
        self._show_selected()

    def action_zoom(self) -> None:
        """The focused panel alone; again: all."""
        if self._zoomed:
            self._zoomed = ""
        else:
            focused = self.focused
            chain = focused.ancestors_with_self if focused else []
            names = [node.id or "" for node in chain]
            self._zoomed = next((n for n in ("log", "details") if n in names), "runs-panel")
        self._show_selected()
        self.call_after_refresh(self._show_selected)

    def action_meters(self) -> None:
        self.query_one(TelemetryPanel).next_figure()

    def action_copy(self) -> None:
        run = self.selected
        if run is not None:
            lines = [*run.commands, str(run.log or "")]
            self.app.copy_to_clipboard("\n".join(plain(line) for line in lines if line))
            self.post_message(Said("copied the commands and the log's path"))
