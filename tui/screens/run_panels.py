"""The panels of one run, below the list: its curve, what its GPUs do meanwhile, its log, itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from backends.campaign.folder.paths import log_of
from backends.campaign.record.cause import Cause
from backends.campaign.record.run_record import LEFT, RunRecord
from backends.campaign.record.run_view import ChartSeries, RunView, chart_series
from backends.campaign.record.run_window import (
    RunWindow,
    came_at_once,
    run_window,
    summed_up,
    window_bounds,
)
from backends.campaign.record.state import RunState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.engines.engine import WaitKind
from backends.hosts.fingerprint import has_gpus
from backends.hosts.host_facts import HostFacts
from profiles.durations import parse_duration
from profiles.errors import DlperfError
from tui.messages import NoMore, Said
from tui.screens.dialogs import Prompt
from tui.screens.possible_changes import way_on
from tui.screens.run_details import details_text, throttled_words, verdict_of
from tui.screens.run_text import (
    latest_figures,
    named_series,
    no_chart,
    no_log,
    said_of,
    shown_series,
)
from tui.screens.schedule_text import Schedule, is_over
from tui.session import Session
from tui.text import begun_in, plain, ranges
from tui.theme import BAD, MUTED
from tui.timeline_text import MOST_NAME
from tui.widgets.chart import Chart
from tui.widgets.details import Details
from tui.widgets.filter_table import set_frame
from tui.widgets.log_panel import LogPanel
from tui.widgets.log_readings import LogReadings
from tui.widgets.meters import LABEL_WIDTH
from tui.widgets.shown_text import ShownText
from tui.widgets.telemetry_panel import Counted, TelemetryPanel
from tui.widgets.throughput_plot import (
    jitter_text,
    readings_looked_at,
    throughput_plot,
    window_plot,
)

if TYPE_CHECKING:
    from backends.campaign.folder.raw_logs import Profiles
    from profiles.format.profile import Profile

BRIEF = 10
"""Lines, with which a schedule leaves room for a log below it."""
FRAME = 2
"""Lines of a panel's."""
REASON_LINES, REASON_EDGES = 3, 2
"""Why a run failed has so many lines above the chart; columns beside them, as in the styles."""
METERS_ZOOMED = 0.7
"""How much of the page they have at most below a chart that is zoomed, as in the styles."""
HOSTS_ASKED = "its hosts are asked, which may take half a minute"
ASKED_AGAIN = "its hosts are asked again; what they said before stands there until then"
CHART_S = 1.0
"""A curve of minutes is drawn less often than rows are: nobody sees the difference."""
FEW_READINGS = 30
"""The run's own curve of fewer is drawn with each of them: the legend's figure has its point. Of 64
at work some reading comes at any moment: the others' are drawn once a second."""


class RunPanels(Vertical):
    """Shows one run at a time, in as many panels as there is room for: ``tall``, or one alone."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="run-panels")
        self._session = session
        self.view = ""
        """What the upper panel is to be, or the only one; "": what the run calls for."""
        self.view_before = ""
        """What that was before the schedule."""
        self.alone = ""
        """The panel that has all the room; "": none."""
        self.in_window = False
        """The chart is of the run's window alone, where that is known."""
        self.near = False
        """The schedule is of the time around the run under the cursor."""
        self.tall = False
        self.low = False
        """There is room for the list, or for one panel that was asked for below it."""
        self.broad = False
        """There is room for the details at the right of list and panels."""
        self.chart = Chart(id="chart")
        self.meters = TelemetryPanel(self._telemetry_came)
        self.reason = ShownText(id="reason")
        """Why the run failed, where neither its row nor its details have it whole, and what its
        hosts said of it."""
        self.details = Details("Details")
        self.beside = Details("Details", id="beside")
        """The same at the right of all else, where the page has put it."""
        self.schedule = Details("Schedule", id="schedule")
        self.log_panel = LogPanel()
        self._timetable = Schedule()
        self._below = "chart"  # what stands below the list first, where nothing is alone
        self._host = 0
        self._read_of: object = None  # what the log's readings are of
        self._readings: LogReadings | None = None
        self._profiles: tuple[object, Profiles] | None = None  # of which campaign, as it began
        self._begun_with: dict[str, Profile | None] = {}  # by name
        self._asks_why: tuple[str, float | None, str] | None = None  # of whom, told when, as said
        self._drawn: object = None  # what the chart is of, and of which second of its run
        self._drawn_s = 0.0
        self._told: object = None  # what the details are of
        self._tells_of: tuple[CampaignSnapshot, RunView, str] | None = None  # in sight
        self._scheduled: object = None  # what the schedule is of
        self._hosts_of: object = None
        self._hosts: Mapping[str, HostFacts] = {}  # of that campaign, as they were

    def compose(self) -> ComposeResult:
        yield self.reason
        yield self.chart
        yield self.meters
        yield self.details
        yield self.schedule
        yield self.log_panel

    def show(
        self,
        viewed: CampaignSnapshot | None,
        run: RunView | None,
        names: Mapping[str, str],
        *,
        cut: bool = False,
    ) -> None:
        """``names``: of the campaign's runs, by their ids, as the list has them. ``cut``: the run's
        row has no room for the reason."""
        called = names[run.run_id] if run is not None else ""
        if viewed is not None:
            self._look_for_answer(viewed)
        if viewed is not None and run is not None:
            self._follow_telemetry(viewed, run, called)
        # Hosts that settle do so for seconds: the chart stays.
        rests = run is not None and run.waiting is WaitKind.SETTLING
        self._arrange(run, idle=viewed is None or not (viewed.active or rests))
        if viewed is None or run is None:
            return
        failed = run.state is RunState.FAILED
        reason = plain(run.reason) * (cut and failed)
        rows_left = self.tall or not self.schedule.display  # its legend needs all others
        stuck = rows_left and (failed or run.silent_s is not None)
        verdict = verdict_of(run, viewed.state.runs[run.run_id]) if stuck else ""
        told = self.told_in_sight or self.alone
        self.reason.display = bool(reason or verdict) and not told
        if self.reason.display:
            said = filter(None, (Text(reason, BAD), Text(f"◆ {verdict}" * bool(verdict))))
            room = self.size.width - REASON_EDGES
            self.reason.show(begun_in(Text("\n").join(said), self.app.console, room, REASON_LINES))
        if self.chart.display or self.meters.display:
            self._show_chart(viewed, run, names)
        self.meters.asked = self.told_in_sight
        self._tells_of = (viewed, run, called) if self.told_in_sight else None
        self._telemetry_came()
        if self.schedule.display:
            self._show_schedule(viewed, run, names)
        if self.log_panel.display:
            host = run.hosts[self._host % len(run.hosts)] if run.hosts else ""
            self.log_panel.show(
                log_of(run, host),
                f"Log · {called} · {host}" if host else f"Log · {called}",
                none=no_log(run),
                empty=no_log(run, there=True),
                ended=run.state.ended,
                most_ranks=run.case.nodes * run.case.gpus_per_node,
                readings=self._readings_of(viewed, run, host),
            )

    def _readings_of(self, viewed: CampaignSnapshot, run: RunView, host: str) -> LogReadings | None:
        """That its log has, by its profile; anew where others count by now."""
        record = viewed.state.runs[run.run_id]
        first, used = window_bounds(record)
        until = None if used is None or first + used >= run.readings else first + used
        window = (first, until, run.readings > first) if record.window_known else None
        failed = _why_none_counts(run)
        of = (run.run_id, host, window, summed_up(record), failed)
        if of != self._read_of:
            self._read_of, self._readings = of, None
            if host in run.hosts[:1]:
                self._readings = LogReadings(
                    partial(self._profile_of, viewed, run),
                    run.case,
                    window[:2] if window is not None else None,
                    summed_up=summed_up(record),
                    failed=failed,
                )
        return self._readings

    def _profile_of(self, viewed: CampaignSnapshot, run: RunView) -> Profile | None:
        """That the campaign began with, else the one of today. Blocking."""
        from backends.campaign.folder.raw_logs import Profiles  # noqa: PLC0415 (in a thread)

        of = viewed.identity, viewed.state.frozen
        if self._profiles is None or self._profiles[0] != of:
            today = self._session.workspace.catalog.find
            self._profiles = of, Profiles(viewed.path, viewed.state.frozen, today)
        return self._profiles[1].of(run.profile)[0]

    def _profiles_of(self, viewed: CampaignSnapshot) -> dict[str, Profile | None]:
        """By name, as :meth:`_profile_of`. Blocking."""
        one_of_each = {run.profile: run for run in viewed.runs}
        return {name: self._profile_of(viewed, run) for name, run in one_of_each.items()}

    def _stall_limit(self, run: RunView) -> float | None:
        """Seconds without a reading after which it is ended; None where its profile is not
        known."""
        profile = self._begun_with.get(run.profile)
        with suppress(DlperfError):
            if profile is not None:
                return parse_duration(profile.launch_for(run.case).stall_timeout)
        return None

    def first_host(self) -> None:
        """Of another run, the log of its rank 0 is shown first."""
        self._host = 0

    def next_host(self) -> None:
        self._host += 1

    def asks_why(self, record: RunRecord, called: str) -> None:
        """Its hosts are asked why it does not move; that is said until their answer is there."""
        said = f"{called}: {HOSTS_ASKED if record.diagnosed_at is None else ASKED_AGAIN}"
        self._asks_why = record.run_id, record.diagnosed_at, said
        self.app.post_message(Said(said))

    def _look_for_answer(self, viewed: CampaignSnapshot) -> None:
        if self._asks_why is None:
            return
        run_id, asked_at, said = self._asks_why
        record = viewed.state.runs.get(run_id)
        if record is None or record.state.ended or record.diagnosed_at != asked_at:
            self._asks_why = None
            for panel in (self.details, self.beside):  # what they said stands above all else
                panel.scroll_home(animate=False)
            self.app.post_message(NoMore(said))

    @property
    def told_in_sight(self) -> bool:
        """All about the run can be read, at the right or below the list."""
        return self.details.display or self.beside.display

    @property
    def all_in_sight(self) -> bool:
        """No panel takes the place of another."""
        return self.beside.display and self.chart.display

    @property
    def only_window(self) -> bool:
        """What is in sight of chart and telemetry is of the window alone."""
        return self.in_window and (self.chart.display or self.meters.display)

    @property
    def window_label(self) -> str:
        """What W does."""
        if self.schedule.display:
            return "All times" if self.near else "Nearer"
        return "Whole run" if self.only_window else "Window"

    @property
    def may_be_near(self) -> bool:
        return self._timetable.may_be_near

    def toggle_window(self) -> None:
        """A chart of the window alone, in sight; or one of all of the run. Of a schedule the time
        around the run under the cursor, or all."""
        if self.schedule.display:
            self.near = not self.near
            self._scheduled = None
            return
        self.in_window = not self.only_window
        self.view, self.alone = "chart", self.alone and "chart"

    def next_figure(self) -> None:
        """The telemetry comes into sight; where it is, the next of its figures."""
        if self.meters.display:
            self.meters.next_figure()
        else:  # it stands below the chart where there is room for both
            self.view = "chart" if self.tall else "telemetry"
            self.alone = self.view if self.alone == "chart" else ""

    def toggle_schedule(self) -> None:
        """The schedule, or what was there before."""
        if self.schedule.display:
            self.view = self.view_before
        else:
            if self.view != "schedule":  # out of sight behind what is zoomed
                self.view_before = self.view
            self.view = "schedule"
        self.alone = ""

    def toggle_zoom(self, focused: Widget | None) -> None:
        """The panel around the focus alone; from the list, what stands below it first; or all."""
        names = [node.id or "" for node in (focused.ancestors_with_self if focused else [])]
        names += ["details"] if "beside" in names else []
        panels = [n for n in ("log", "details", "schedule") if n in names]
        self.alone = "" if self.alone else next(iter(panels), self._below)

    @property
    def brief(self) -> bool:
        """They need little room: the list may have more of it."""
        return self.schedule.display and self._timetable.own_lines <= BRIEF

    @property
    def next_view(self) -> str:
        """The next of what can be shown here."""
        metered = ("telemetry",) if self.meters.known else ()
        between = ("log",) * bool(self.alone) if self.tall else (*metered, "log")
        views = ("chart", *between, "details")
        if self.schedule.display or (self.broad and not self.alone):
            return "chart"
        in_sight = {panel.id for panel in self.children if panel.display}
        now = next((view for view in views if view in in_sight), views[0])
        return str(views[(views.index(now) + 1) % len(views)])

    def _arrange(self, run: RunView | None, *, idle: bool) -> None:
        """Which panels there is room for: all but one where it is short, chosen by ``v``. ``idle``:
        nothing is at work, so that a run which waits has no curve to show, but a reason."""
        failed = run is not None and run.state is RunState.FAILED
        told = failed or (idle and run is not None and run.state.waits)
        beside = self.broad and run is not None and not self.alone
        upper = self.view if self.view in ("chart", "details", "schedule") else ""
        upper = upper or ("details" if told else "chart")
        if beside and upper == "details":
            upper = "chart"
        if not self.alone:
            self._below = upper if self.tall else self.view or upper
        shown = {upper, "log"} if self.tall else {self.view or upper}
        metered = self.meters.known or (self.meters.reading and self.meters.display)
        if metered and self.tall and upper == "chart":
            shown.add("telemetry")
        if run is None or (self.low and not self.view):
            shown = set()
        if self.alone == "telemetry" and self.tall:  # as the terminal has grown
            self.alone = "chart"
        if self.alone:
            below = {"telemetry"} if self.alone == "chart" and self.tall and metered else set()
            shown = {self.alone, *below}
        for panel in (self.chart, self.meters, self.details, self.schedule, self.log_panel):
            panel.display = panel.id in shown
        self.beside.display = beside
        self.schedule.keys = "Tab Tab" if beside else "Tab"  # the one at the right comes first
        no_curve = run is not None and run.state.ended and not run.readings
        self.chart.set_class(beside and no_curve, "-bare")
        unread = run is not None and run.state.waits and self.chart.display
        self.log_panel.set_class(unread and not self.log_panel.has_focus, "-bare")
        self.display = bool(shown)
        self.set_class(bool(self.alone), "-zoomed")
        share = METERS_ZOOMED if self.tall else 1.0
        zoomed = self.alone in ("chart", "telemetry")
        self.meters.show_every(max(1, int(self.size.height * share) - FRAME) if zoomed else 0)

    def _show_chart(self, viewed: CampaignSnapshot, run: RunView, names: Mapping[str, str]) -> None:
        chart, meters = self.chart, self.meters
        at_s = run.elapsed_s
        goes_on = at_s is not None and self._session.playing is None  # a replay may stand still
        beat = None if goes_on else (viewed.revision, at_s)
        room = (chart.content_size, chart.display, meters.display)
        alone = self.in_window and has_window(viewed, run)
        beside = () if run.state.ended else tuple(one.run_id for one in viewed.series)
        few = (min(run.readings, FEW_READINGS), beside)
        drawn = (viewed.path, run.run_id, run.state, beat, room, alone, few)
        fresh = not goes_on or 0.0 <= (at_s or 0.0) - self._drawn_s < CHART_S
        latest = latest_figures(viewed)
        if drawn == self._drawn and fresh:
            chart.say(latest)
            return
        self._drawn, self._drawn_s = drawn, at_s or 0.0
        record = viewed.state.runs[run.run_id]
        own = chart_series(record)
        window = run_window(record, own.points)
        width = chart.content_size.width
        if alone:
            (shown,) = named_series([own], names)
            said = latest.get(run.run_id, "")
            plot = window_plot(shown, width=width, window=window, latest=said)
            over, units = _of_window(run, window), [run.unit]
        else:
            series = named_series(shown_series(viewed, run), names)
            over = "by number of reading" if own.by_number else "over time"
            broke_off = run.state in (RunState.FAILED, RunState.CANCELLED)
            to_now = broke_off or run.state.active
            silent = [one for one in viewed.runs if one.state.active and one.silent_s is not None]
            if record.category == Cause.STALLED:
                silent.append(run)
            ends = [run] * to_now + silent * (not run.state.ended)
            until_s = max((one.elapsed_s or 0.0 for one in ends), default=0.0)
            others = any(one.begun for one in series if one.run_id != run.run_id)
            over += f" of all {'that were ' * viewed.deserted}at work" * others
            units = units_of(series, run.run_id)
            plot = throughput_plot(
                series,
                run.run_id,
                width=width,
                window=window,
                until_s=until_s,
                empty=no_chart(run),
                latest=latest,
                silent={one.run_id for one in silent},
            )
            over += f" · {names[run.run_id]}" * (not plot.lines)
        if meters.display:
            plot = replace(plot, label_width=LABEL_WIDTH - 1)
        chart.show(plot)
        said = jitter_text(window, at_work=run.state.active) if own.points else ""
        set_frame(chart, chart_title(record, over, units), Text(said, MUTED))
        if meters.display:
            waits = (0.0, max(10.0, run.elapsed_s or 0.0))
            aligned = plot.lines and not own.by_number
            aligned = aligned and (chart.display or alone or run.state.ended)
            axis = chart.axis if aligned else (LABEL_WIDTH, waits)
            ended = run.state.ended
            meters.align(*axis, *(counted_times(record, run.elapsed_s or 0.0) if ended else ()))

    def _show_schedule(
        self, viewed: CampaignSnapshot, run: RunView, names: Mapping[str, str]
    ) -> None:
        self._read_hosts_of(viewed)
        now = self._session.workspace.cluster.now()
        width = self.schedule.content_size.width - 1  # beside the scrollbar
        second = 0 if is_over(viewed) else int(now)
        whole = self.size.height - self.reason.outer_size.height * self.reason.display
        whole = whole if self.alone or not self.tall else self.size.height * 66 // 100
        rows = whole - FRAME
        told = (viewed.identity, viewed.revision, run.run_id, second, width, rows, len(self._hosts))
        if told != self._scheduled and width > MOST_NAME:
            self._scheduled = told
            text = self._timetable.lines(
                viewed,
                run,
                width,
                now,
                tuple(self._hosts),
                called=names,
                rows=rows,
                whole=None if self.alone else ": z",
                near=self.near,
                stall_limit=self._stall_limit,
            )
            of = "around the run" if self.near and self.may_be_near else "hosts over time"
            self.schedule.show(f"Schedule · {of}", text)

    def _telemetry_came(self) -> None:
        """Telemetry and details have one sample."""
        if self._tells_of is not None:
            self._show_details(*self._tells_of)

    def _show_details(self, viewed: CampaignSnapshot, run: RunView, called: str) -> None:
        fixed = self._session.readonly or viewed.unattended
        clock = int(run.elapsed_s or 0)
        self._read_hosts_of(viewed)
        at_work = run.state.active and not (run.over or run.out_of_reach or viewed.deserted)
        now = self.meters.newest() if at_work else ""
        panel = self.beside if self.beside.display else self.details
        of = (viewed.identity, viewed.revision, run.run_id, run.state_text)
        at_s = self._session.workspace.cluster.now()
        expected = self._timetable.expects(viewed, run, at_s, tuple(self._hosts))
        told = (panel, *of, clock, fixed, now, expected)
        if told != self._told:
            self._told = told
            at = "then" if viewed.replayed else "now"
            text = details_text(
                run,
                viewed.state,
                called=called,
                read_only=fixed,
                way_on=way_on(viewed, run, readonly=self._session.readonly),
                hosts=self._hosts,
                now=now,
                at=at,
                expected=expected,
                asks=not fixed,
                log=self._session.told_log(run),
                folder="" if self._session.playing else f"{viewed.path}/",
                on_cpus=self._is_on_cpus(viewed.state.runs[run.run_id]),
            )
            panel.show(called, text)
        else:
            panel.show_whole()

    def _read_hosts_of(self, viewed: CampaignSnapshot) -> None:
        if self._hosts_of != viewed.identity:
            self._hosts_of, self._hosts = viewed.identity, {}
            self._timetable = Schedule(self._session.recorded_slots)
            self.read_hosts(viewed)

    @work(exclusive=True, group="hosts", description="read what the campaign ran on")
    async def read_hosts(self, viewed: CampaignSnapshot) -> None:
        from backends.campaign.folder.recorded_hosts import recorded_hosts  # noqa: PLC0415

        found = await asyncio.to_thread(recorded_hosts, viewed.path, 0.0)
        begun_with = await asyncio.to_thread(self._profiles_of, viewed)
        if viewed.identity == self._hosts_of:
            self._begun_with = begun_with
            self._hosts = {one.name: one.facts for one in found if one.facts is not None}
            self._told = None

    @on(LogPanel.Asked)
    def _ask_what_to_look_for(self, event: LogPanel.Asked) -> None:
        log = self.log_panel
        words = "Show the next line of the log that has these words:"

        def answered(words: str | None) -> None:
            if words:
                log.search(words)

        self.app.push_screen(Prompt("Search", words, value=event.before), answered)

    @on(LogPanel.RankAsked)
    def _ask_which_rank(self, event: LogPanel.RankAsked) -> None:
        """One of those that print; nothing: all of them."""
        log = self.log_panel

        def known(text: str) -> int | None:
            if not (number := text.strip()):
                return None
            if not number.isdecimal() or len(number) > 6 or int(number) not in event.ranks:
                raise DlperfError(f"the log has ranks {ranges(event.ranks, ', ')}")
            return int(number)

        def answered(text: str | None) -> None:
            if text is not None:
                log.show_rank(known(text))

        words = f"Show only the lines of a rank, one of {ranges(event.ranks, ', ')}; nothing: all"
        self.app.push_screen(Prompt("Rank", words, check=known), answered)

    def _follow_telemetry(self, viewed: CampaignSnapshot, run: RunView, called: str) -> None:
        record = viewed.state.runs[run.run_id]
        cpus = self._is_on_cpus(record)
        self.meters.follow(
            viewed.path,
            run.run_id,
            {host: () if cpus else record.devices_on(host) for host in run.hosts},
            record.started_at or 0.0,
            self._facts_of(viewed),
            called=called,
            throttled=throttled_words(record, viewed.state) if run.state.ended else "",
        )

    def _is_on_cpus(self, record: RunRecord) -> bool:
        """By its environment, which is told when it has ended; until then by its profile."""
        if record.fingerprint:
            return not has_gpus(record.fingerprint)
        profile = self._session.workspace.catalog.find(record.profile)
        return profile is not None and profile.on_cpus

    def _facts_of(self, viewed: CampaignSnapshot) -> Mapping[str, HostFacts]:
        """Of its hosts: as they are, where it is at work here, else as they were when it began."""
        now = {h.name: h.facts for h in self._session.hosts if h.facts is not None}
        if not viewed.read_only:
            return now
        self._read_hosts_of(viewed)
        return {**now, **self._hosts}


def has_window(viewed: CampaignSnapshot, run: RunView) -> bool:
    """It has readings, and which of them count is told by now, as far as it ever is."""
    return run.readings > 0 and (run.state.ended or viewed.state.runs[run.run_id].window_known)


def units_of(series: Sequence[ChartSeries], first: str) -> list[str]:
    """Of what is drawn, each once, beginning with that of the run with the id ``first``."""
    drawn = sorted((one for one in series if one.begun), key=lambda one: one.run_id != first)
    return list(dict.fromkeys(one.unit for one in drawn))


def chart_title(run: RunRecord, over: str, units: Sequence[str] = ()) -> str:
    """``images/s over time``, and that nobody knows when readings were made where that is so.
    ``units``: of the curves; empty: the run's, as there is none yet."""
    burst = ", times not known: came in one burst" if came_at_once(run) else ""
    return f"{plain(', '.join(units) or run.unit)} {over}{burst}"


def _of_window(run: RunView, window: RunWindow) -> str:
    if window.summed_up:
        return readings_looked_at(window)
    if run.throughput is not None:
        return "in the window"
    return "after the warm-up" if window.warmup else "from the first reading on"


def _why_none_counts(run: RunView) -> str:
    if run.state is RunState.SUCCEEDED:
        return "its journal does not say which"
    ended = run.state.ended or run.over == LEFT
    return f"it {said_of(run)}" if ended else ""


def counted_times(run: RunRecord, elapsed_s: float) -> list[Counted]:
    """Of a run that has ended: what its GPUs did from the first reading to the last, as all that is
    said of them elsewhere, not when it let them go; where that is too short, or nobody knows when
    it was, over the run."""
    whole = Counted(0.0, elapsed_s, "over the run")
    came = run.came_at
    if run.state is not RunState.SUCCEEDED or not came or came_at_once(run):
        return [whole]
    start = run.started_at or 0.0
    return [Counted(came[0] - start, came[-1] - start, "while it trained"), whole]
