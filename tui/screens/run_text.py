"""Runs in words: the rows of the table, and everything about one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from rich.cells import cell_len
from rich.text import Text

from backends.campaign.record.run_record import LEFT
from backends.campaign.record.run_view import (
    COLLECTING,
    NO_READING,
    NO_READING_YET,
    WARMING_UP,
    ChartSeries,
    RunView,
    chart_series,
)
from backends.campaign.record.state import RunState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.inventory.nodesets import fold_nodeset, ranked_nodeset
from profiles.durations import format_duration, in_three_columns
from profiles.format.case_labels import CaseLabels, apart, case_labels
from tui.kept_words import DESERTED, HANDING_OVER, PAST, again_words, lies_elsewhere
from tui.row_marks import MARK, mark_cell
from tui.run_names import called, run_names
from tui.text import (
    bar,
    cell,
    join,
    number,
    plain,
    rate_text,
    run_state,
    shared_of_all,
    throughput_heading,
)
from tui.theme import ACCENT, BAD, GOOD, MUTED, TEXT, WARN
from tui.widgets.chart import LAST
from tui.widgets.keyed_table import CELLS_KEPT, Column, Row

COLUMNS = (
    MARK,
    Column("state", "State", 12, still=True),
    Column("label", "Run", 12, most=72, first=True, ends=True, apart=True, still=True),
    Column("hosts", "Hosts", 12, gives_way=1, most=60, still=True),
    Column("elapsed", "Elapsed", 7, right=True, gives_way=2, still=True),
    Column("progress", "Progress", None, most=40, least=8),
    Column("rate", "throughput", 9, right=True, still=True),
    Column("eta", "ETA", 6, right=True, still=True),
)
LEAST_BAR, BAR, LONG_BAR = 3, 8, 32
"""Columns of a bar of progress: at least; at most where one has no room, and where all have."""
BEHIND_BAR = 5
"""Columns of " 100%" and " done"."""
PADDING, FRAME, SCROLL_BAR = 2, 2, 1
"""Columns of a cell's padding; of the list's frame; of its scroll bar, where it has one."""
NEVER = 1_000_000
"""Columns that no terminal has."""
PROGRESS = next(n for n, column in enumerate(COLUMNS) if column.key == "progress")


def run_columns(
    viewed: CampaignSnapshot | None, enough: int = 0, *, marks: bool = False
) -> tuple[Column, ...]:
    """What stands over the rows: the unit of the figures; nothing is estimated of what is over, or
    of a replay. ``enough``: :attr:`RunRows.enough`. ``marks``: some are marked."""
    columns = {one.key: one for one in COLUMNS}
    if not marks:
        columns["mark"] = replace(MARK, from_width=NEVER)
    columns["label"] = replace(columns["label"], enough=enough)
    units = _units(viewed)
    label = throughput_heading(units)
    widest = max(map(cell_len, units)) if len(units) > 1 else 0  # behind each figure
    width = max(columns["rate"].width or 0, cell_len(label), widest + 8)
    columns["rate"] = replace(columns["rate"], label=label, width=width)
    if viewed is not None and (viewed.replayed or viewed.finished):
        columns["eta"] = replace(columns["eta"], from_width=NEVER)  # whatever it has held
    return tuple(columns.values())


def _units(viewed: CampaignSnapshot | None) -> set[str]:
    return {run.unit for run in viewed.runs} if viewed else set()


def summary(viewed: CampaignSnapshot | None, width: int = NEVER, *, leaving: bool = False) -> Text:
    """ "2 at work · 5 to come · 12 succeeded · 1 failed", for the frame: every row, and beside
    them the profiled runs that have none yet, which the header's total has too.
    ``width``: columns, in which the way to the results is told where all else has room.
    ``leaving``: a keeper is about to go on with it."""
    if viewed is None:
        return Text("")
    parts: list[Text | str | tuple[str, str]] = [*_not_ended(viewed)]
    if viewed.settles_s is not None and viewed.settles_s > 0:
        parts.append((f"settling, {format_duration(viewed.settles_s)} more", MUTED))
    if viewed.paused:
        parts.append((f"‖ {viewed.paused} paused", WARN))
    if viewed.held:
        parts.append(("nothing starts before they go on", WARN))
    well = viewed.done - viewed.failed - viewed.cancelled
    uncounted = f", {viewed.profiled} of them profiled" if viewed.profiled else ""
    parts.append(
        (f"{well} succeeded{uncounted}", GOOD if viewed.finished and not viewed.failed else TEXT)
    )
    if failed := viewed.failed - viewed.not_begun:
        parts.append((f"✗ {failed} failed", BAD))
    if viewed.not_begun:
        parts.append((f"{viewed.not_begun} not begun", BAD))
    parts += [(words, MUTED) for words in again_words(viewed)]
    left_out = ((viewed.cancelled - viewed.skipped, "cancelled"), (viewed.skipped, "skipped"))
    parts += [(f"{many} {word}", MUTED) for many, word in left_out if many]
    if leaving or viewed.handed_over:
        parts.append((HANDING_OVER, MUTED))
    elif viewed.read_only and not viewed.replayed and (elsewhere := lies_elsewhere(viewed)):
        parts.append((elsewhere, MUTED))
    elif viewed.deserted:
        parts.append((DESERTED, WARN))
    elif viewed.kept_by is not None and not viewed.replayed:
        parts.append((f"a {viewed.kept_by.role} goes on with it", MUTED))
    elif viewed.read_only and not viewed.replayed:
        parts.append((PAST, MUTED))
    told = join(parts, " · ")
    whole = join([told, ("4 shows the results", MUTED)], " · ")
    return whole if viewed.finished and well and whole.cell_len <= width else told


def _not_ended(viewed: CampaignSnapshot) -> Iterator[Text]:
    """ "▶ 2 at work, ▲ 1 of them silent", "5 to come, 2 profiled after the others". Where nobody is
    at work on it "2 were at work"."""
    if viewed.deserted and viewed.active:
        yield Text(f"◌ {viewed.active} {'was' if viewed.active == 1 else 'were'} at work", WARN)
    elif viewed.active:
        at_work = Text(f"▶ {viewed.active} at work", ACCENT)
        if silent := sum(run.silent_s is not None for run in viewed.runs):
            at_work.append(f", ▲ {silent} of them silent", WARN)
        yield at_work
    waiting = viewed.total - viewed.to_come - viewed.done - viewed.active - viewed.paused
    counts = ((waiting, "to come"), (viewed.to_come, "profiled after the others"))
    if to_come := [f"{many} {words}" for many, words in counts if many]:
        yield Text(", ".join(to_come), TEXT)


class RunRows:
    """Rows of the runs; a run that is as it was keeps its row, so that many cost little."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[RunView, object, Row]] = {}
        self._labels = CaseLabels()
        self._profiles: dict[str, str] = {}  # by what tells them apart
        self._alike = ""
        self._names: Mapping[str, str] = {}
        self._labels_of: object = None
        self._longest = 0  # of the names
        self.enough = 0
        """The longest name of a first attempt: for that of another no column gives way."""
        self._held: tuple[object, int] = (None, 0)  # the longest that their column has held

    def _labels_for(self, viewed: CampaignSnapshot) -> None:
        """How its runs are called beside one another; none is ever taken away."""
        of = viewed.identity, len(viewed.runs)
        if of != self._labels_of:
            self._labels, self._labels_of = case_labels(run.case for run in viewed.runs), of
            self._profiles, self._alike = apart(dict.fromkeys(run.profile for run in viewed.runs))
            self._names = run_names(viewed.runs)
            self._longest = max(map(cell_len, self._names.values()), default=0)
            first = (self._names[run.run_id] for run in viewed.runs if run.attempt == 1)
            self.enough = max(map(cell_len, first), default=0)

    def shared(self, viewed: CampaignSnapshot) -> str:
        """:func:`shared_of_all` of its runs."""
        self._labels_for(viewed)
        return shared_of_all(self._alike, self._labels.shared)

    def names(self, viewed: CampaignSnapshot) -> Mapping[str, str]:
        """By run id: each beside the others, without what is said of all of them."""
        self._labels_for(viewed)
        return self._names

    def __call__(
        self, viewed: CampaignSnapshot, columns: int = 0, marked: Collection[str] = ()
    ) -> list[Row]:
        """``columns``: of the list, in its frame. ``marked``: run ids."""
        self._labels_for(viewed)
        bar_width = self._bar_width(viewed, columns, marks=bool(marked))
        profiles = self._profiles if len(self._profiles) > 1 else {}
        units = len(_units(viewed)) > 1
        by = tuple(profiles), units, self._labels, bar_width
        last = {run.run_id for run in viewed.state.latest_attempts()}
        known, self._known = self._known, {}
        for run in viewed.runs:
            before = known.get(run.run_id)
            same = before is not None and (before[0] is run or before[0] == run)
            replaced, mark = run.run_id not in last, run.run_id in marked
            if before is None or not same or before[1] != (*by, replaced, mark):
                label = _label(called(run, self._labels), profiles.get(run.profile, ""))
                row = _row(
                    run, label, units=units, bar_width=bar_width, replaced=replaced, marked=mark
                )
                before = (run, (*by, replaced, mark), row)
            self._known[run.run_id] = before
        return [row for _, _, row in self._known.values()]

    def _bar_width(self, viewed: CampaignSnapshot, columns: int, *, marks: bool) -> int:
        """What the other columns leave beside a scroll bar: all of them, where they have room
        beside the least of it, else without those that give way."""
        shown = run_columns(viewed, marks=marks)
        widths = {one.key: one.width for one in shown if one.from_width < NEVER}
        most = next(one.most for one in COLUMNS if one.key == "label")
        of = viewed.identity, columns
        held = self._held[1] if self._held[0] == of else 0
        self._held = of, max(self._longest, held)
        least = max(widths["label"] or 0, self.enough)
        widths["label"] = name = max(widths["label"] or 0, min(self._held[1], most))
        taken = sum(width or 0 for width in widths.values()) + PADDING * len(widths)
        room = columns - FRAME - SCROLL_BAR - taken - BEHIND_BAR
        most, cut = LONG_BAR, max(0, name - least) if self.enough else 0
        for gone in sorted((one for one in COLUMNS if one.gives_way), key=lambda c: c.gives_way):
            if room + cut + SCROLL_BAR < LEAST_BAR:
                room, most = room + (gone.width or 0) + PADDING, BAR
        return max(LEAST_BAR, min(room, most))


def _row(
    run: RunView, label: Text, *, units: bool, bar_width: int, replaced: bool, marked: bool
) -> Row:
    """Words stand in the place of its progress, and go on behind it: to the end of the row where
    they are of trouble. ``replaced``: it was tried again."""
    now = None if run.silent_s is not None else run.throughput_now
    rate = now if run.state.active else run.throughput
    said = _row_words(run)
    troubled, failed = in_trouble(run), run.state is RunState.FAILED
    again = failed and replaced
    colour = MUTED if again or not troubled else BAD if failed else WARN
    if again:
        said = f"{said}; tried again" if run.over else f"tried again; {said}".removesuffix("; ")
    elif replaced and run.state.ended:
        said = said or "planned again"
    done = None if run.progress is None else round(run.progress, 2)
    return Row(
        run.run_id,
        (
            mark_cell(marked=marked),
            _kept_cell(state_text(run).plain, MUTED) if again else state_text(run),
            label,
            _kept_cell(_hosts(run.hosts) or "–", "" if run.hosts else MUTED),
            _duration(run.elapsed_s),
            _kept_cell(said, colour)
            if said
            else _done_but(bar_width, _remarks(run))
            if run.log_changed or run.flags
            else _progress(run.state, done, run.outlived, bar_width),
            _rate(run, rate, units=units),
            _duration(None if run.state.ended else run.eta_s or None),
        ),
        find=" ".join((run.profile, run.case.label, *run.hosts, run.reason, *run.flags)),
        spread=PROGRESS if said else None,
        insists=troubled,
        replaced=replaced,
    )


def state_text(run: RunView) -> Text:
    """``▶ running``, ``▲ silent 4m``, ``✓ succeeded``: kept, so not to be added to."""
    begun = run.elapsed_s is not None
    silence = "" if run.silent_s is None else in_three_columns(run.silent_s)
    flagged = bool(run.flags)
    return _state(run.state, run.paused, run.over, begun, silence, run.warms_up, flagged)


def _hosts(names: Sequence[str]) -> str:
    """In the order of ranks, where that is as short as any other; the details have it always."""
    return min(ranked_nodeset(names), fold_nodeset(names), key=len)


def _row_words(run: RunView) -> str:
    """What no other cell of its row says."""
    words = run.reason if run.state is RunState.FAILED else run.brief or run.state_text
    said = _said(run.state, words)
    silent = run.silent_s is not None and said.startswith(NO_READING)
    told = silent or said in (NO_READING_YET, WARMING_UP)  # the state or the figure says it
    return "" if told else said


def latest_figures(viewed: CampaignSnapshot) -> dict[str, str]:
    """By the ids of runs at work, for a legend: the same figures as in the list, "last 16,671"."""
    now = ((run.run_id, run.throughput_now) for run in viewed.runs if run.state.active)
    return {run_id: f"{LAST}{number(rate)}" for run_id, rate in now if rate is not None}


def _rate(run: RunView, rate: float | None, *, units: bool) -> Text:
    if rate is None and run.doing == NO_READING_YET:
        return _kept_cell("none yet", MUTED, right=True)
    return _kept_cell(rate_text(rate, run.unit * units), _rate_style(run), right=True)


def said_of(run: RunView) -> str:
    """Its state behind its name, in a sentence: "has failed"; one that was cancelled before it had
    started "was skipped", and one that is held back "is paused"."""
    if run.over == LEFT:
        return f"was {LEFT}"
    return "was skipped" if run.skipped else "is paused" if run.paused else run.state.said


def in_trouble(run: RunView) -> bool:
    """It has failed, or it is at work and what is said of it is no good news."""
    if run.state is RunState.FAILED:
        return True
    return run.state.active and not run.doing and bool(_said(run.state, run.state_text))


def troubled_runs(viewed: CampaignSnapshot) -> frozenset[str]:
    """Ids of those in trouble; what was tried again is in none any more."""
    last = {run.run_id for run in viewed.state.latest_attempts()}
    return frozenset(run.run_id for run in viewed.runs if run.run_id in last and in_trouble(run))


def flagged_runs(viewed: CampaignSnapshot) -> frozenset[str]:
    """Ids of those whose figure is to be distrusted."""
    return frozenset(run.run_id for run in viewed.runs if run.flags)


def _said(state: RunState, words: str) -> str:
    """Why it waits or failed, or what it is at, without the state, which has a column."""
    said = plain(words)
    for begin in (f"{state} ", f"{state}: ", f"{state}, "):
        said = said.removeprefix(begin)
    return "" if said in (str(state), COLLECTING) else said


def _rate_style(run: RunView) -> str:
    """The last reading of a run at work is faint: only what was measured counts."""
    return MUTED if run.throughput is None else f"bold {TEXT}"


# Cells of many runs, twice a second: most say what they said before, and are the same object.


@lru_cache(maxsize=CELLS_KEPT)
def _kept_cell(text: str, style: str, *, right: bool = False) -> Text:
    return cell(text, style, right=right)


def _duration(seconds: float | None) -> Text:
    if seconds is None:
        return _kept_cell("–", MUTED, right=True)
    return _kept_cell(format_duration(seconds), "", right=True)


@lru_cache
def _state(
    state: RunState,
    paused: bool,
    over: str,
    begun: bool,
    silent: str,
    warming: bool,
    flagged: bool,
) -> Text:
    text = run_state(
        state,
        paused=paused,
        over=over,
        begun=begun,
        silent=bool(silent),
        warming=warming,
        flagged=flagged,
    )
    return text.append(f" {silent}") if silent else text


@lru_cache(maxsize=CELLS_KEPT)
def _label(label: str, profile: str) -> Text:
    text = cell(label)
    return join([(f"{plain(profile)} ", MUTED), text]) if profile else text


def _remarks(run: RunView) -> tuple[str, ...]:
    """What is to be said of one that has succeeded, in as many words as there is room for."""
    if run.log_changed:  # its logs do not give its figure any more
        what = "missing" if run.log_missing else "changed"
        return f"done, log {what}", f"log {what}", what
    all_of = ", ".join(run.flags)
    first = run.flags[0]
    return f"done, {all_of}", all_of, f"{first} +{len(run.flags) - 1}", first, "done"


@lru_cache
def _done_but(width: int, remarks: tuple[str, ...]) -> Text:
    room = width + BEHIND_BAR
    words = next((said for said in remarks if len(said) <= room), remarks[-1])
    left = max(0, room - len(words) - 1)
    return bar(1.0, left, GOOD).append(" " * bool(left)).append(words, WARN)


@lru_cache(maxsize=CELLS_KEPT)
def _progress(state: RunState, progress: float | None, outlived: bool, width: int) -> Text:
    if state is RunState.SUCCEEDED:
        return bar(1.0, width, GOOD).append(" done", MUTED)
    if state in (RunState.FAILED, RunState.CANCELLED):
        return cell("–", MUTED)
    if state is RunState.PLANNED:
        return Text(" " * width, end="")  # what has not begun is nothing done
    if outlived:
        # All of its time is used up; an empty track would be a start.
        return bar(1.0 if progress is None else progress, width, MUTED)
    percent = "" if progress is None else f" {_estimated(progress):>4}"
    return bar(progress, width, ACCENT).append(percent)


def _estimated(progress: float) -> str:
    """By the clock, and not by the log; "≈26%"."""
    return f"≈{min(progress, 0.99):.0%}" if progress > 0 else "0%"


def no_log(run: RunView, *, there: bool = False) -> str:
    """What stands where its log would; ``there``: its file is, and is empty."""
    if run.state is RunState.PLANNED:
        waits = run.state_text != str(run.state)
        return f"No log yet: {run.state_text if waits else 'the run has not started'}"
    if run.state.ended and there:
        return f"The run {said_of(run)}: its log is empty"
    if run.state.ended and run.log is not None and run.readings:
        return f"The run {said_of(run)}: its log is missing, it was removed after the run"
    if run.state.ended:
        return f"The run {said_of(run)}: it left no log"
    return "Waiting for the first line"


def no_chart(run: RunView) -> str:
    """What stands where its curve would."""
    if run.state.ended:
        return f"the run {said_of(run)}: it gave no reading"
    return "no reading yet; the chart begins with the first one"


def rows_signature(viewed: CampaignSnapshot | None) -> object:
    """Equal as long as the rows say the same: events, and clocks by the second."""
    if viewed is None:
        return None
    clocks = tuple(
        (run.run_id, run.state_text, int(run.elapsed_s or 0), int(run.eta_s or 0))
        for run in viewed.runs
        if not run.state.ended and run.state_text != RunState.PLANNED
    )
    return (viewed.identity, viewed.revision, viewed.read_only, viewed.kept_by, clocks)


def named_series(series: Sequence[ChartSeries], names: Mapping[str, str]) -> list[ChartSeries]:
    """As the list calls their runs, by the ids of ``names``."""
    return [replace(one, label=names[one.run_id]) for one in series]


def shown_series(viewed: CampaignSnapshot, run: RunView) -> tuple[ChartSeries, ...]:
    """Its own and, until it has ended, those of the others that are at work; the title says so."""
    records = viewed.state.runs
    if not run.state.ended:
        return tuple(one for one in viewed.series if records[one.run_id].state.active)
    return (chart_series(records[run.run_id]),)
