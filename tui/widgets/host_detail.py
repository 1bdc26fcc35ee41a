"""The selected host: what is known of it, and below what it does now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import ScrollableContainer
from textual.events import Resize

from backends.hosts.host_condition import at_load
from backends.hosts.host_facts import HostSnapshot
from tui.key_bindings import bindings
from tui.text import age
from tui.widgets.details import out_of_sight
from tui.widgets.filter_table import set_frame
from tui.widgets.shown_text import ShownText

if TYPE_CHECKING:
    from backends.hosts.live_telemetry import LiveTelemetry
    from backends.precheck.judged import Judged

HEADINGS = 2
"""Lines of the topology that are above its figures."""
LIVE_S = 120.0
"""What the meters look back on."""
ABOVE, OF_HOST, MOST_ROWS = 3, 3, 4
"""Lines above the figures of the last two minutes; those of the host's own, with the two above;
and of one figure at most."""
_LEAST_WIDTH = 60


def detail_title(host: HostSnapshot | None) -> str:
    """ "node3 · 8 × Tesla V100-SXM2-16GB": the model where all GPUs are of one."""
    if host is None:
        return "Details"
    names = {gpu.name for gpu in host.facts.gpus} if host.facts else set()
    if host.facts is None or len(names) != 1:
        return host.name
    return f"{host.name} · {len(host.facts.gpus)} × {names.pop()}"


def live_text(host: HostSnapshot, live: LiveTelemetry | None, width: int, height: int = 0) -> Text:
    """What was seen in the last two minutes; empty where nothing was.

    ``height``: lines that are free for it: where they are more than it needs, what the host's CPUs
    did is told beside its GPUs, and lines are higher.
    """
    from tui.widgets.meters import (  # noqa: PLC0415 - after the first paint
        figures_of,
        side_by_side,
        source_of,
    )

    text = Text(no_wrap=True, end="")
    end = live.ends_at if live is not None else None
    if live is None or end is None or host.facts is None:
        return text
    source = source_of(host.name, live, (gpu.index for gpu in host.facts.gpus), host.facts)
    text.append("\nLast two minutes\n", "bold")
    span, whole = (end - LIVE_S, end), replace(source, gpus=())
    own = any(live.last(figure) is not None for figure in figures_of([whole]))
    parts = [source]
    if source.gpus and own and height >= ABOVE + len(source.gpus) + OF_HOST:
        parts.append(whole)
    drawn = sum(len(part.gpus) or 1 for part in parts)
    rows = (height - ABOVE - (len(parts) - 1) * (OF_HOST - 1)) // drawn
    for part in parts:
        text.append("\n" * (part is not source))
        for line in side_by_side(part, span, width, max(1, min(rows, MOST_ROWS))):
            text.append_text(line).append("\n")
    text.rstrip()
    return text


def with_live(host: HostSnapshot, live: LiveTelemetry) -> HostSnapshot:
    """Its GPUs do what was seen last, its load is that, and so is what is said of it; what no
    sample told is as it was. A recorded host stays one: none of its facts is of now."""
    from backends.hosts.live_telemetry import Figure  # noqa: PLC0415 - as above

    def last(figure: Figure, gpu: int, before: int | None) -> int | None:
        return before if (told := live.last(figure, gpu)) is None else round(told)

    if host.facts is None:
        return host
    gpus = [
        replace(
            gpu,
            memory_used_mib=last(Figure.MEMORY, gpu.index, gpu.memory_used_mib),
            utilization_pct=last(Figure.UTILIZATION, gpu.index, gpu.utilization_pct),
            power_w=told
            if (told := live.last(Figure.POWER, gpu.index)) is not None
            else gpu.power_w,
            temperature_c=last(Figure.TEMPERATURE, gpu.index, gpu.temperature_c),
            sm_clock_mhz=last(Figure.CLOCK, gpu.index, gpu.sm_clock_mhz),
        )
        for gpu in host.facts.gpus
    ]
    load = None if host.recorded else live.last(Figure.LOAD)
    load = host.facts.load1 if load is None else load
    return at_load(host, replace(host.facts, gpus=tuple(gpus), load1=load))


class HostDetail(ScrollableContainer, can_focus=True):
    """The selected host, scrollable both ways."""

    PANEL = "detail"
    BINDINGS = bindings("detail")

    def __init__(self) -> None:
        super().__init__(classes="panel", id="detail")
        self._host: HostSnapshot | None = None
        self._own: Mapping[str, str] = {}
        self._now: float | None = None
        self._live: LiveTelemetry | None = None
        self._of_now = False
        self._judged: Judged | None = None
        self._said: object = None
        self._topology = 0  # the line that it begins in

    def compose(self) -> ComposeResult:
        yield ShownText(id="known")
        yield ShownText(id="live")

    def show(
        self,
        host: HostSnapshot | None,
        *,
        now: float | None = None,
        own: Mapping[str, str] | None = None,
        live: LiveTelemetry | None = None,
        of_now: bool = False,
        judged: Judged | None = None,
    ) -> None:
        """Show a host; the scroll stays when it is the same host as before.

        ``of_now``: the load and the GPUs of ``host`` are, of :func:`with_live`. ``judged``: by a
        precheck.
        """
        before = self._host
        moved = before is None or host is None or host.name != before.name
        self._host, self._now, self._own, self._live = host, now, own or {}, live
        self._of_now, self._judged = of_now, judged
        self._draw()
        if moved:
            self.scroll_home(animate=False)

    def on_mount(self) -> None:
        for what in ("virtual_size", "show_horizontal_scrollbar"):  # how long it is, and its room
            self.watch(self, what, self._frame, init=False)

    def on_resize(self, _: Resize) -> None:
        self._draw()
        self._frame()

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self._frame()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._frame()

    def _draw(self) -> None:
        width = max(_LEAST_WIDTH, self.size.width - 1)  # beside a scroll bar
        old = age(self._host, self._now) if self._host is not None else ""
        newest = self._live.ends_at if self._live is not None else None
        height = self.size.height
        said = (self._host, old, self._own, newest, self._of_now, self._judged, width, height)
        if said == self._said:
            return
        self._said = said
        known = live = Text("")
        if self._host is not None:
            from tui.widgets.device_text import (  # noqa: PLC0415 - after the first paint
                LINKS,
                TOPOLOGY,
            )
            from tui.widgets.host_text import host_text  # noqa: PLC0415

            known = host_text(
                self._host,
                width=width,
                now=self._now,
                own=self._own,
                metered=self._of_now,
                judged=self._judged,
            )
            taken = known.plain.rstrip("\n").count("\n") + 1
            live = live_text(self._host, self._live, width, height - taken)
            lines = enumerate(known.plain.split("\n"))
            begins = (at for at, line in lines if line.startswith((TOPOLOGY, LINKS)))
            self._topology = next(begins, 0)
        self.query_one("#known", ShownText).show(known)
        self.query_one("#live", ShownText).show(live)
        self._frame()

    def _frame(self) -> None:
        seen = self.scroll_y + self.scrollable_content_region.height - self._topology
        what = ", Topology among them" if self._topology and seen <= HEADINGS else ""
        set_frame(self, detail_title(self._host), out_of_sight(self, "⏎", what))
