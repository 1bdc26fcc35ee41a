"""When which run was, is and, by what is expected, will be on which host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from rich.cells import cell_len
from rich.text import Text

from backends.campaign.record.run_estimates import Estimates, expected_slots
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_view import RunView
from backends.campaign.record.status_view import CampaignSnapshot
from backends.engines.hosts_schedule import Slot
from backends.inventory.nodesets import ranked_nodeset
from profiles.counted import counted
from profiles.durations import format_duration
from tui.run_names import full_names
from tui.text import RUN_STATES, join, plain, run_state
from tui.theme import CURSOR, MUTED
from tui.timeline_text import (
    MOST_NAME,
    NOW,
    Bar,
    column_of,
    drawn,
    host_lines,
    side_by_side,
    told_apart,
)
from tui.widgets.throughput_plot import time_ticks

MOST_PLAYED = 200
"""Runs to come that are drawn; more have no room on any screen."""
PLAY_EVERY_S = 5.0
"""Where a run outlives what was expected, all others move on."""
StallLimit = Callable[[RunView], float | None]
_FILLS = {RunState.FAILED: "╌", RunState.CANCELLED: "╌"}
_TO_COME = "┄"
_UNUSABLE = "░"


class Schedule:
    """Of one campaign; what is to come is played anew when something of it has changed.

    ``recorded``: where and when its runs were, in a replay, where nothing is expected.
    """

    def __init__(self, recorded: Mapping[str, Slot] | None = None) -> None:
        self._recorded = recorded
        self._is_told = "expected" if recorded is None else "recorded"
        self._estimates = Estimates()
        self._of: object = None
        self._slots: dict[str, Slot] = {}
        self._later = 0
        self.own_lines = 0
        """How many it had last, without the names of runs below."""
        self.may_be_near = False
        """The time around the run under the cursor was less than all of it."""

    def lines(
        self,
        viewed: CampaignSnapshot,
        selected: RunView | None,
        width: int,
        now: float,
        names: Sequence[str] = (),
        *,
        called: Mapping[str, str] | None = None,
        rows: int = 0,
        whole: str | None = "",
        near: bool = False,
        stall_limit: StallLimit = lambda _: None,
    ) -> Text:
        """In so many columns at ``now``, seconds since the epoch. ``names``: of the hosts,
        in the order in which runs take them.
        ``called``: the runs by their ids, where they have other names. ``rows``:
        that there is room for: what they leave has the names of runs whose bars are too short, and
        what the signs mean; where they are too few, the hosts of the run under the cursor come
        first. ``whole``: how names for which there is no room come into sight; None: they are
        all there, and more lines than ``rows``. ``near``: only the time around the run under the
        cursor. ``stall_limit``: seconds without a reading after which a run is ended as stalled,
        as far as its profile is known."""
        records = list(viewed.state.runs.values())
        over = is_over(viewed)
        slots = {} if over else self._ahead(viewed, now, names)
        later = 0 if over else self._later
        began = _began(viewed, now)
        ends = [one.ended_at for one in records if one.ended_at is not None and one.hosts]
        ends += [slot.end for slot in slots.values() if slot.end < inf]
        latest = max(ends, default=now)
        total = max(latest if over else max(now, latest), began + 1.0) - began
        labels = full_names(viewed.runs) | dict(called or {})
        short = told_apart([(labels[one.run_id], _short(one)) for one in records])
        columns = max(8, width - MOST_NAME - 1)
        states = {run.run_id: _state(run) for run in viewed.runs}
        bars = {}
        for one, name in zip(records, short, strict=True):
            sign, colour = states[one.run_id].plain[0], str(states[one.run_id].style)
            words = f"{sign} {labels[one.run_id]} ", f"{sign} {name} ", sign
            bars[one.run_id] = list(_bars(one, words, colour, slots, began, now, over=over))
        closed = [] if over else list(_closed(viewed, now - began, total))
        at: float | None = None if over else now - began
        around = _around(bars[selected.run_id] if selected is not None else (), total)
        self.may_be_near = around != (0.0, total)
        if selected is not None:
            bars[selected.run_id] = [_under_cursor(bar) for bar in bars[selected.run_id]]
        from_s = 0.0
        if near and self.may_be_near:
            from_s, until_s = around
            total = until_s - from_s
            bars = {run_id: list(_within(of_run, *around)) for run_id, of_run in bars.items()}
            closed = list(_within(closed, *around))
            at = None if at is None or not from_s <= at <= until_s else at - from_s
        told = [
            Text(w, MUTED)
            for w in _words(
                viewed, labels, selected, slots, began, later, self._is_told, stall_limit
            )
        ]

        def drawn_bars() -> list[Text]:
            every = [*closed, *(bar for of_run in bars.values() for bar in of_run)]
            return host_lines(every, width, total, now_s=at, fold=False, first=first, order=names)

        first: Collection[str] = ()
        lines = drawn_bars()
        self.own_lines = 1 + len(lines) + len(told)
        if self.own_lines > rows > 0 and selected is not None:
            first = {host for bar in bars[selected.run_id] for host in bar.hosts}
            lines = drawn_bars()
        left = rows - self.own_lines
        shown = [states[one.run_id] for one in sorted(records, key=_order) if bars[one.run_id]]
        left = left if whole is not None else len(bars) + 2
        legend = _legend(bars, labels, columns, total, width, left - (left > 1), whole or "")
        signs = [_signs(lines, shown, width, self._is_told)] if left > len(legend) else []
        lines = drawn_bars() if legend else lines
        mark = "▼ then" if viewed.replayed else "▼ now"
        return Text("\n", end="").join(
            [_axis(columns, total, at, mark, from_s), *lines, *told, *legend, *signs]
        )

    def expects(
        self, viewed: CampaignSnapshot, run: RunView, now: float, names: Sequence[str]
    ) -> str:
        """Where and when a run that waits will be, by what is expected; "" where nobody knows."""
        if is_over(viewed) or not run.state.waits:
            return ""
        slot = self._ahead(viewed, now, names).get(run.run_id)
        return "" if slot is None else _expected_words(slot, _began(viewed, now)).strip()

    def _ahead(self, viewed: CampaignSnapshot, now: float, names: Sequence[str]) -> dict[str, Slot]:
        state = viewed.state
        left = [one for one in state.runs.values() if not one.state.ended and not one.paused]
        if (known := self._recorded) is not None:
            return {one.run_id: known[one.run_id] for one in left if one.run_id in known}
        marks = tuple((one.run_id, one.state, one.started_at, one.collecting) for one in left)
        silent = frozenset(one.run_id for one in viewed.runs if one.silent_s is not None)
        unusable = frozenset(viewed.unusable)
        often = int(now / PLAY_EVERY_S)
        of = (viewed.identity, marks, silent, unusable, len(state.runs), len(names), often)
        if of != self._of:
            expected = self._estimates.of(state.runs.values())
            self._of = of
            self._later = max(0, len(left) - MOST_PLAYED)
            every = state.runs.values()
            self._slots = expected_slots(
                left,
                expected,
                now,
                state.hosts,
                state.devices,
                names,
                every,
                silent,
                unusable,
                MOST_PLAYED,
            )
        return self._slots


def _began(viewed: CampaignSnapshot, now: float) -> float:
    """From when on times are counted."""
    created = viewed.state.created_at
    begins = [r.started_at for r in viewed.state.runs.values() if r.started_at is not None]
    return min([now if created is None else created, *begins])


def is_over(viewed: CampaignSnapshot) -> bool:
    """Nothing of it is to come, so that no clock moves it."""
    return viewed.finished or viewed.deserted or viewed.state.imported


def _state(run: RunView) -> Text:
    """As the list says it."""
    silent, begun = run.silent_s is not None, not run.skipped
    return run_state(run.state, over=run.over, begun=begun, silent=silent)


def _order(one: RunRecord) -> int:
    return list(RUN_STATES).index(one.state)


def _legend(
    bars: Mapping[str, list[Bar]],
    labels: Mapping[str, str],
    columns: int,
    total: float,
    width: int,
    rows: int,
    whole: str,
) -> list[Text]:
    """The names for which ``bars`` are too short, side by side, by numbers that these bars then
    have; where ``rows`` are too few for all of them as many as there is room for. A free line
    stands above where one is left."""
    numbered = {run_id: number for number, run_id in enumerate(bars, 1)}
    short = {
        run_id: f"{numbered[run_id]} {plain(labels[run_id])}"
        for run_id, of_run in bars.items()
        if of_run and not any(_is_named(bar, columns, total) for bar in of_run)
    }
    if not short or rows < 1:
        return []
    for run_id in short:
        of_run = bars[run_id]
        symbol, number = of_run[0].names[-1], str(numbered[run_id])
        signs = (f"{symbol}{number}", number, symbol)
        of_run[:] = [replace(bar, names=(*bar.names[:-1], *signs)) for bar in of_run]
    entries = [(name, bars[run_id][0].style) for run_id, name in short.items()]
    lines = side_by_side(entries, width, rows, whole)
    return [Text()] * (len(lines) < rows) + lines


def _signs(lines: Sequence[Text], states: Sequence[Text], width: int, to_come: str) -> Text:
    """What they mean, of those that are there, as far as there is room for it."""
    seen = "".join(line.plain[MOST_NAME:] for line in lines)
    signs = ((_TO_COME, to_come), (_UNUSABLE, "cannot be used"), (NOW, "now"))
    told = [(f"{sign} {words}", MUTED) for sign, words in signs if sign in seen]
    told += dict.fromkeys((state.plain, str(state.style)) for state in states)
    while told and sum(len(words) + 2 for words, _ in told) - 2 > width:
        told.pop()
    return join(told, "  ")


def _is_named(bar: Bar, columns: int, total: float) -> bool:
    _, length = drawn(bar, columns, total)
    return any(cell_len(name) <= length for name in bar.names[:-1])


def _short(one: RunRecord) -> str:
    return f"{one.case.tag} {one.which}"


def _bars(
    one: RunRecord,
    names: tuple[str, ...],
    colour: str,
    slots: Mapping[str, Slot],
    began: float,
    now: float,
    *,
    over: bool,
) -> Iterator[Bar]:
    slot = slots.get(one.run_id)
    if one.started_at is not None and one.hosts:
        until = one.ended_at or one.over_at or (one.started_at if over else now)
        until = max(one.started_at, until)
        fill = _FILLS.get(one.state, "━")
        style = MUTED if one.state is RunState.STARTING else colour
        start, end, ahead = one.started_at - began, until - began, (_TO_COME, style)
        expected = slot.end if slot is not None and one.over_at is None else inf
        expected = expected - began if expected < inf else end
        yield Bar(one.hosts, names, start, end, fill, style, expected, ahead)
    elif slot is not None:
        end = slot.end if slot.end < inf else slot.start
        hosts = tuple(f"any ({name})" if name.isdigit() else name for name in slot.hosts)
        yield Bar(hosts, names, slot.start - began, end - began, _TO_COME, MUTED)


def _closed(viewed: CampaignSnapshot, now: float, total: float) -> Iterator[Bar]:
    """Hosts that no run can begin on, with the reason; nobody knows for how long."""
    ours = {host for run in viewed.runs if run.state.active for host in run.hosts}
    for host, why in viewed.unusable.items():
        if host not in ours:
            names = (f"{_UNUSABLE} {plain(why)} ", f"{_UNUSABLE} {plain(why.split()[0])} ")
            yield Bar((host,), (*names, _UNUSABLE), now, total, _UNUSABLE, MUTED)


NEAR = 8
"""How many times as long as the run under the cursor is what is seen of the time around it."""


def _around(bars: Sequence[Bar], total: float) -> tuple[float, float]:
    """From when to when that is, seconds from the beginning; all of it where that is no more."""
    if not bars:
        return 0.0, total
    begin = min(bar.start_s for bar in bars)
    end = max(max(bar.end_s, bar.until_s) for bar in bars)
    length = NEAR * (end - begin)
    if not 0 < length < total:
        return 0.0, total
    from_s = min(max(0.0, (begin + end - length) / 2), total - length)
    return from_s, from_s + length


def _within(bars: Iterable[Bar], from_s: float, until_s: float) -> Iterator[Bar]:
    """What of them is between the two, from there on."""
    for bar in bars:
        if bar.start_s < until_s and max(bar.end_s, bar.until_s, bar.start_s + TINY) > from_s:
            start, end, until = (
                min(max(at, from_s), until_s) - from_s
                for at in (bar.start_s, bar.end_s, bar.until_s)
            )
            yield replace(bar, start_s=start, end_s=end, until_s=until)


def _under_cursor(bar: Bar) -> Bar:
    """So that it is found among the others."""
    fill, style = bar.ahead
    return replace(
        bar, style=f"bold {bar.style} on {CURSOR}", ahead=(fill, f"bold {style} on {CURSOR}")
    )


TINY = 1e-9
"""What took no time is where it was."""


def _axis(columns: int, total: float, now: float | None, mark: str, from_s: float) -> Text:
    """Times since the campaign began, of ``total`` seconds ``from_s`` on; ``mark`` stands where
    ``now`` is."""
    line = " " * columns
    ticks = [] if now is None else [(now, mark)]
    times = time_ticks(from_s + total, columns, from_s)
    for at, words in (*ticks, *((at - from_s, words) for at, words in times)):
        place = max(0, min(column_of(at, columns, total), columns - len(words)))
        if line[max(0, place - 1) : place + len(words) + 1].isspace():
            line = line[:place] + words + line[place + len(words) :]
    return Text(f"{'':{MOST_NAME}} {line}", MUTED, no_wrap=True, end="")


def _words(
    viewed: CampaignSnapshot,
    labels: Mapping[str, str],
    selected: RunView | None,
    slots: Mapping[str, Slot],
    began: float,
    later: int,
    is_told: str,
    stall_limit: StallLimit,
) -> Iterator[str]:
    """Of the run under the cursor, and of those that have no place. ``later``: so many because
    there are more than are played. ``is_told``: how what is to come is known."""
    slot = slots.get(selected.run_id) if selected is not None else None
    silent = [run for run in viewed.runs if run.silent_s is not None]
    who = plain(labels[silent[0].run_id]) if len(silent) == 1 else f"{len(silent)} silent runs"
    called = "" if selected is None else plain(labels[selected.run_id])
    if selected is not None and slot is None:
        yield ""
        why = _end_of(who, silent, stall_limit) if silent else ""
        told = _without_slot(viewed.state.runs[selected.run_id], selected, began, why)
        yield f"{called}{told}"
    elif selected is not None and slot is not None:
        on = _on(slot)
        lasting = format_duration(selected.elapsed_s or 0.0)
        yield ""
        if selected.outlived:
            yield f"{called} has been{on} for {lasting}, longer than was expected"
        elif selected.silent_s is not None:
            ends = _end_of("it", [selected], stall_limit)
            yield f"{called} has been{on} for {lasting}; {ends}"
        else:
            active = selected.state.active  # else all of it is expected
            words = f"{called} is{'' if active else f' {is_told}'}"
            yield f"{words}{_expected_words(slot, began, f'{is_told} ' * active)}"
    waiting = [run for run in viewed.runs if run.state.waits and run.run_id not in slots]
    paused = sum(run.paused for run in waiting)
    parts = [f"{counted(paused, 'run')} paused"] if paused else []
    later = min(later, len(waiting) - paused)
    parts += [f"{counted(later, 'run')} after these"] if later else []
    if unknown := len(waiting) - paused - later:
        after = f"after {who}" if silent and not viewed.blocked_by else "nobody knows when"
        parts.append(f"{counted(unknown, 'run')} to come, {after}")
    if parts:
        yield f"not shown: {', '.join(parts)}"


def _end_of(who: str, silent: Sequence[RunView], stall_limit: StallLimit) -> str:
    """The latest that is known of when they end, else of how long they may be silent."""
    left = [run.given_up_in_s for run in silent if run.given_up_in_s is not None]
    limits = [s for run in silent if (s := stall_limit(run)) is not None]
    one = len(silent) == 1
    ended = f"{who} {'is' if one else 'are'} ended as stalled"
    if len(left) == len(silent):
        return f"{ended} in {format_duration(max(left))} unless a reading comes"
    if len(limits) == len(silent):
        return f"{ended} after {format_duration(max(limits))} without a reading"
    return f"nothing tells when {who} {'ends' if one else 'end'}"


def _on(slot: Slot) -> str:
    where = ranked_nodeset([name for name in slot.hosts if not name.isdigit()])
    return f" on {plain(where)}" if where else ""


def _expected_words(slot: Slot, began: float, is_told: str = "") -> str:
    begin = format_duration(max(0.0, slot.start - began))
    if slot.end == inf:
        return f"{_on(slot)} from {begin}"
    until = format_duration(slot.end - began)
    return f"{_on(slot)} from {begin}, {is_told}until {until}"


def _without_slot(one: RunRecord, run: RunView, began: float, why: str) -> str:
    """Behind its name: where a run was that has ended, or why nobody can tell when it will be
    anywhere: ``why``, of what it waits for."""
    if why and run.state.waits and not run.paused:
        return f": {plain(run.state_text)}; when it begins is not known: {why}"
    if one.started_at is None or one.ended_at is None or not one.hosts:
        why = "skipped: cancelled before it began" if run.skipped else plain(run.state_text)
        return f": {why}"
    start = format_duration(max(0.0, one.started_at - began))
    took = format_duration(run.elapsed_s or 0.0)
    where = plain(ranked_nodeset(one.hosts))
    return f" was on {where} from {start}, for {took}: {one.ended_as}"
