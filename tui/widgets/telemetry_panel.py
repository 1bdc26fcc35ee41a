"""What the GPUs and hosts of a run do while it trains, under its chart and on the same axis."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.text import Text
from textual import work
from textual.events import Resize
from textual.strip import Strip
from textual.widget import Widget

from backends.campaign.folder.run_telemetry import RunTelemetry
from backends.hosts.host_facts import HostFacts
from backends.hosts.live_telemetry import Figure, LiveTelemetry
from profiles.durations import format_duration
from tui.text import join, plain
from tui.theme import MUTED, WARN
from tui.typed_ahead import paint_soon
from tui.widgets.filter_table import set_frame
from tui.widgets.meters import (
    GAP,
    LABEL_WIDTH,
    WORDS,
    Source,
    all_known,
    columns_for,
    each_gpu,
    figures_of,
    in_columns,
    lowest_clock,
    means,
    name_of,
    newest,
    none_known,
    scale,
    source_of,
    unlike,
    value_text,
)
from tui.widgets.throughput_plot import time_ticks

LOOK_EVERY_S = 1.0
OLD_ONE_STAYS_S = 0.1
NO_SAMPLE = "no sample of its hosts has come"
NOT_BEGUN = "no sample comes before it has begun"
WOULD_BE_HERE = "util, power, clock, memory and temp of its GPUs; or, on CPUs, CPU and load"
FIRST_SAMPLE_S = 15.0
"""Of a run, in which its GPUs tell of themselves, if they do; a host's own lines come before."""
_WHERE = tuple[Path, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Counted:
    """The time that counts of a run that has ended, in seconds since it began, and what that is."""

    start_s: float
    end_s: float
    words: str


class TelemetryPanel(Widget, can_focus=False):
    """Follows the telemetry files of one run, once a second and only while somebody sees it.

    A line per figure, the mean of the run's GPUs, of temperatures the hottest, and below the clock
    that of a GPU far below the mean, where a row is left for it; or, after
    :meth:`next_figure` or where there is room for :meth:`show_every`, a line per GPU.
    """

    def __init__(self, told: Callable[[], None], *, id: str = "telemetry") -> None:
        """``told``: called when :meth:`newest` may be other."""
        super().__init__(id=id, classes="panel")
        self._told = told
        self.known = False
        """There is something to show."""
        self.reading = False
        """Whether there is, is not known yet."""
        self._all_read = False
        self.asked = False
        """Somebody else shows what :meth:`newest` says."""
        self._where: _WHERE | None = None
        self._called = self._throttled = ""
        self._telemetry: RunTelemetry | None = None
        self._devices: Mapping[str, tuple[int, ...]] = {}
        self._facts: Mapping[str, HostFacts] = {}
        self._began = 0.0
        self._axis: tuple[int, tuple[float, float]] = (LABEL_WIDTH, (0.0, 1.0))
        self._counted: tuple[Counted, ...] = ()
        self._figure: Figure | None = None
        self._every = 0
        self._strips: list[Strip] = []
        self._spare: int | None = None  # which of them is left out first
        self._shown: tuple[str, ...] = ()
        self._times = Text()  # below the lines, where a row is free

    @property
    def may_tell(self) -> bool:
        """It is in sight, or has something to show, or may have."""
        return self.display or self.known or self.reading

    def on_mount(self) -> None:
        self.set_interval(LOOK_EVERY_S, self.look)

    def on_unmount(self) -> None:
        self._close()

    def follow(
        self,
        campaign: Path,
        run_id: str,
        devices: Mapping[str, tuple[int, ...]],
        began: float,
        facts: Mapping[str, HostFacts],
        *,
        called: str,
        throttled: str = "",
    ) -> None:
        """Show this run. What was shown stays, under its own name, until that has been read, so
        that the panel is painted once; but not for long.

        Parameters
        ---------
        called: in the title, which has to tell whose figures these are.
        devices: indices of its GPUs by host; a host without any has its own figures shown.
        throttled: which of its GPUs was, and for how much of the time, which a mean does not show.
        began: when the time axis begins, seconds since the epoch. facts: of its hosts, if known.
        """
        self._began, self._facts, self._throttled = began, facts, throttled
        where = (campaign, run_id, tuple(devices))
        if where != self._where:
            self._close()
            self._where, self._devices, self._called = where, devices, called
            self.known, self.reading, self._counted = False, True, ()
            self._all_read = False
            self._telemetry = telemetry = RunTelemetry(campaign, run_id, tuple(devices))
            self.set_timer(OLD_ONE_STAYS_S, partial(self._say_why_empty, telemetry))
            self.look(unseen=True)

    def _say_why_empty(self, telemetry: RunTelemetry) -> None:
        """No figure of the run before."""
        if telemetry is self._telemetry and not self.known:
            set_frame(self, self._title(()))
            why = [NO_SAMPLE if self._devices else NOT_BEGUN, WOULD_BE_HERE]
            why = ["reading …"] if self.reading else why
            lines = [Text(line, MUTED, no_wrap=True, end="") for line in why]
            blank = Text("", end="")  # as many lines as before: the chart keeps its height
            self._show([*lines, *[blank] * (len(self._strips) - len(lines))])

    def align(self, left: int, limits: tuple[float, float], *counted: Counted) -> None:
        """Where the chart's axis is: its first column, and the seconds at both ends. ``counted``:
        of a run that has ended, the time whose mean is shown for each figure: the first in which
        all of them were seen, else the last."""
        before = self._axis, self._counted
        self._axis, self._counted = (left, limits), counted
        if before != (self._axis, self._counted):
            self._draw()

    def _close(self) -> None:
        if self._telemetry is not None:
            self._telemetry.close()
            self._telemetry = None

    # Reading --------------------------------------------------------------------------------------

    def look(self, *, unseen: bool = False) -> None:
        """What has come since, where somebody sees it."""
        if not self.is_attached:  # the page is only being made, or goes
            return
        in_sight = self.screen.is_current and (self.display or self.asked or not self.known)
        if self._telemetry is not None and (unseen or in_sight):
            self.read(self._telemetry)

    @work(exclusive=True, group="telemetry", description="read what the run's hosts do")
    async def read(self, telemetry: RunTelemetry) -> None:
        more = True
        while more and telemetry is self._telemetry:
            more = await asyncio.to_thread(telemetry.read)
            if telemetry is self._telemetry:
                self._all_read = self._all_read or not more
                waited, self.reading = self.reading, False
                self._draw()
                self._told()
                self._say_why_empty(telemetry)
                if waited:
                    paint_soon(self.screen)

    def on_show(self) -> None:
        """What was read when it was last in sight may be old."""
        self.look()

    def on_resize(self, _: Resize) -> None:
        self._draw()

    # Drawing --------------------------------------------------------------------------------------

    def next_figure(self) -> None:
        """All figures, then each of them for every GPU."""
        figures = figures_of(self._sources())
        choices: list[Figure | None] = [*figures] if self._every else [None, *figures]
        shown = self._figure_shown(figures)
        self._figure = choices[(choices.index(shown) + 1) % len(choices)]
        self._draw()

    def show_every(self, rows: int) -> None:
        """A line per GPU in any case, in columns where more than ``rows`` are needed; 0: as chosen
        with :meth:`next_figure`."""
        if rows != self._every:
            self._every = rows
            self._draw()

    def _figure_shown(self, figures: Sequence[Figure]) -> Figure | None:
        """Of each GPU; None: the means of all figures."""
        return figures[0] if self._every and self._figure is None else self._figure

    def _sources(self) -> list[Source]:
        hosts = self._telemetry.hosts if self._telemetry else {}
        return [self._source(host, seen) for host, seen in hosts.items() if seen.seen]

    def _source(self, host: str, seen: LiveTelemetry) -> Source:
        devices, facts = self._devices.get(host, ()), self._facts.get(host)
        source = source_of(host, seen, devices, facts)
        young = (seen.ends_at or 0.0) - source.ahead_s - self._began < FIRST_SAMPLE_S
        if young and not source.gpus and facts is not None and facts.gpus:
            return replace(source, gpus=tuple(devices))
        return source

    def newest(self) -> str:
        """What its GPUs, or hosts, do at this moment, as of all: ``util 97%, hottest 88°C``; "" as
        long as what they told is only read in part."""
        if not (sources := self._sources()) or not self._all_read:
            return ""
        told = ", ".join(
            f"{name_of(figure, sources)} {value_text(figure, newest(figure, sources))}"
            for figure in figures_of(sources)
        )
        part = len(sources) < len(self._devices)
        return told + f" (of {len(sources)} of {len(self._devices)} hosts)" * part

    def _draw(self) -> None:
        sources = self._sources()
        self.known = bool(sources)
        if not sources or not self.display:
            return
        if self._figure not in (None, *figures_of(sources)):
            self._figure = None
        left, (start, end) = self._axis
        span = (self._began + start, self._began + end)
        width = self.content_size.width
        counted = self._counts(sources)
        over = None if counted is None else self._time_of(counted)
        figure, spare = self._figure_shown(figures_of(sources)), None
        if figure is None:
            lines = means(sources, span, width - left, label=left, counted=over)
            lowest = lowest_clock(sources, span, width - left, label=left, counted=over)
            if lowest is not None:
                spare = figures_of(sources).index(Figure.CLOCK) + 1
                lines.insert(spare, lowest)
        else:
            number = sum(len(source.gpus) or 1 for source in sources)
            beside = columns_for(number, self._every, width, left)
            columns = (width - GAP * (beside - 1)) // beside - left
            odd = number > self.size.height and not self._every  # some have no room
            lines = each_gpu(
                sources, figure, span, columns, label=left, counted=over, odd_first=odd
            )
            lines = in_columns(lines, beside, left + columns)
            width = left + columns
        self._times = times_below(left, (start, end), width - left)
        set_frame(self, self._title(sources), Text(self._scale(sources, counted), MUTED))
        self._show(lines, spare)

    def _counts(self, sources: Sequence[Source]) -> Counted | None:
        """None: of a run that has not ended."""
        seen = (one for one in self._counted if all_known(sources, self._time_of(one)))
        return next(seen, self._counted[-1] if self._counted else None)

    def _time_of(self, counted: Counted) -> tuple[float, float]:
        """Seconds since the epoch."""
        return self._began + counted.start_s, self._began + counted.end_s

    def _title(self, sources: Sequence[Source]) -> Text:
        gpus = sum(len(source.gpus) for source in sources)
        if not sources:
            of = ""
        elif (figure := self._figure_shown(figures_of(sources))) is not None:
            of = f"{WORDS[figure].title} of each"
        elif gpus:
            every = sum(map(len, self._devices.values()))
            of = f"mean of {gpus}{f' of its {every}' * (gpus < every)} GPUs"
            of = of if every > 1 else "of its GPU"
        else:
            of = "mean of its hosts" if len(sources) > 1 else "of its host"
            of = f"{of}, others' work too"
        slowed = (self._throttled, WARN) if self._throttled else ""
        return join(filter(None, ("Telemetry", plain(self._called), slowed, of)), " · ")

    def _scale(self, sources: Sequence[Source], counted: Counted | None) -> str:
        """What the figures are of, and the lines behind them."""
        if any(one.gpus for one in sources) and not any(one.telemetry.gpus for one in sources):
            return "no sample has come" if counted else "the first sample is still to come"
        if counted is not None and none_known(sources, self._time_of(counted)):
            return ""
        (start, end), figure = self._axis[1], self._figure_shown(figures_of(sources))
        full = "the figure after /" if figure is None else scale(sources, figure)
        if figure is None and unlike(sources):
            full = "the mean of the limits"
        lines = f"from 0 to {full}"
        if counted is None:
            span = f"{format_duration(start)} to {format_duration(end)}" if start else ""
            span = span or f"0 to {format_duration(end)}"
            return f"figures: last reading · lines: {span}, {lines}"
        span = "the chart's time" if start > 0 else "the run"
        return f"figures: {counted.words} · lines: {span}, {lines}"

    def _show(self, lines: Sequence[Text], spare: int | None = None) -> None:
        shown = tuple(line.plain for line in (*lines, self._times))
        if shown == self._shown:
            return
        grown = len(shown) != len(self._shown)
        self._shown, self._spare = shown, spare
        console = self.app.console
        self._strips = [Strip(line.render(console), line.cell_len) for line in lines]
        self.refresh(layout=grown)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return max(1, len(self._strips))

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        strips = self._strips
        height = self.size.height
        if self._spare is not None and len(strips) > height > 0:
            strips = [strip for n, strip in enumerate(strips) if n != self._spare]
        if len(strips) > height > 0 and y == height - 1:
            key = "" if self._every else ": z"
            words = Text(f"+{len(strips) - height + 1} more{key}", end="")
            strip = Strip(words.render(self.app.console), words.cell_len)
        elif y == len(strips) and self.known:
            strip = Strip(self._times.render(self.app.console), self._times.cell_len)
        else:
            strip = strips[y] if y < len(strips) else Strip.blank(self.size.width)
        return strip.crop_extend(0, self.size.width, base).apply_style(base)


def times_below(left: int, limits: tuple[float, float], columns: int) -> Text:
    """An axis of ``columns`` behind ``left``; ``limits``: seconds at its ends."""
    start, end = limits
    line = ""
    for at, words in time_ticks(end, columns, start) if end > start else ():
        place = int((at - start) / (end - start) * columns)
        if place + len(words) <= columns:
            line = f"{line:{place}}{words} "
    return Text(f"{'':{left}}{line.rstrip()}", MUTED, no_wrap=True, end="")
