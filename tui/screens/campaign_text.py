"""Campaigns on disk in words: the rows of their list, and one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from backends.campaign.record.lock import CampaignLockedError, Role
from backends.hosts.fingerprint import short_devices
from backends.results.numbers import bytes_text, readable
from backends.results.past_result import LOGS_CHANGED, Past, PastResult, fastest, logs_changed
from backends.results.run_counts import lost_words, succeeded
from backends.results.side_by_side import begun_as
from profiles.counted import counted
from profiles.errors import DlperfError
from tui.backend_protocols import CampaignSummary
from tui.campaign_words import (
    MARKS,
    begun_words,
    figure_words,
    grade_mark,
    note_words,
    state_words,
)
from tui.kept_words import again_words
from tui.row_marks import MARK, mark_cell
from tui.row_order import RowOrder
from tui.screens.dialogs import Answer, Choice
from tui.session import Session
from tui.text import ago, cell, plain
from tui.theme import ACCENT, BAD, GOOD, MUTED, WARN
from tui.widgets.keyed_table import Column, Row

if TYPE_CHECKING:
    from backends.campaign.folder.remove import Removable

AGE_S = 1.0
"""How often ages are told anew."""
COLUMNS = (
    MARK,
    Column("state", "State", 16, most=48, gravest=True),
    Column("name", "Campaign", None, ends=True, apart=True),
    Column("runs", "Runs", 7, right=True),
    Column("tags", "Tags", 16, most=24, parts=True, if_any=True, gives_way=1),
    Column("figure", "Fastest case", 27, from_width=104, most=52, if_any=True),
    Column("speedup", "Speedup", 7, most=9, right=True, if_any=True, gives_way=2),
    Column("grade", "Gr", 2, if_any=True),
    Column("device", "Device", 16, from_width=130, most=32, if_any=True),
    Column("measures", "Measures", 18, from_width=150, most=72),
    Column("said", "Remarks", 14, from_width=124, most=72, if_any=True),
    Column("begun", "Age", 4, right=True, still=True),
)

SIMULATED = "SIMULATED"
Results = Mapping[Path, Sequence[Past]]
NO_RESULTS: Results = {}

_ORDER = ("live", "unfinished", "finished")


def _by_state(summary: CampaignSummary) -> tuple[int, ...] | None:
    """Those with trouble together, before what went well."""
    if summary.state not in _ORDER:
        return None
    lost = (summary.failed, summary.cancelled - summary.skipped, summary.skipped)
    return (_ORDER.index(summary.state), *(-bool(many) for many in lost))


class Listed(NamedTuple):
    """A campaign and the fastest that it measured, if it did."""

    summary: CampaignSummary
    best: PastResult | None = None


SORTS: Mapping[str, Callable[[Listed], Any]] = {  # Any: what can be put in order
    "age": lambda one: None if (at := one.summary.created_at) is None else -at,
    "name": lambda one: one.summary.called,
    "state": lambda one: _by_state(one.summary),
    "runs": lambda one: one.summary.total,
    "failed": lambda one: one.summary.failed,
    "speedup": lambda one: one.best and one.best.speedup,
    "grade": lambda one: one.best and one.best.grade,
    "device": lambda one: one.best and (short_devices(one.best.devices) or None),
    "measures": lambda one: one.summary.measures,
}
BY_AGE = RowOrder(SORTS, "age", figures=frozenset({"runs", "failed", "speedup"}))

_STATES = {
    "live": ("▶", ACCENT),
    "finished": ("✓", GOOD),
    "unfinished": ("◌", WARN),
}


def _state(summary: CampaignSummary) -> tuple[str, str]:
    """Symbol and colour: what came to its end is good where all runs did so by themselves and well,
    bad where some failed and none succeeded, and to be looked at otherwise."""
    lost = summary.failed + summary.cancelled
    if summary.state == "finished" and lost:
        if lost < summary.total:
            return "▲", WARN
        return ("✗", BAD) if summary.failed else ("–", WARN)
    return _STATES.get(summary.state, ("·", MUTED))


def campaign_rows(
    summaries: Sequence[CampaignSummary],
    now: float,
    marked: Container[Path] = (),
    results: Results = NO_RESULTS,
) -> list[Row]:
    """``now``: seconds since the epoch, from which ages are counted. ``results``: by directory,
    what each measured."""
    rows = []
    for summary in summaries:
        symbol, colour = _state(summary)
        name = marked_simulated(plain(summary.called), summary)
        figure, speedup, grade, device = map(plain, figure_words(fastest_of(summary, results)))
        begun = plain(", ".join(begun_words(summary)))
        lost = ", ".join(lost_words(summary))
        said_state = lost if lost and summary.state == "finished" else state_words(summary)
        said = " · ".join(filter(None, (begun, plain(note_words(summary)))))
        rows.append(
            Row(
                str(summary.path),
                (
                    mark_cell(marked=summary.path in marked),
                    cell(f"{symbol} {said_state}", colour),
                    cell(name, "bold"),
                    cell(f"{succeeded(summary)}/{summary.total}", right=True),
                    cell(tag_words(summary, ", "), ACCENT),
                    cell(figure),
                    cell(speedup, right=True),
                    cell(grade),
                    cell(device, MUTED),
                    cell(summary.measures),
                    cell(said, MUTED),
                    cell(_age(summary, now).removesuffix(" ago"), MUTED, right=True),
                ),
                find=f"{state_words(summary)} {summary.name}",
            )
        )
    return rows


def marked_simulated(name: str, summary: CampaignSummary) -> str:
    """``name``, which says so of one that was not measured."""
    return name if not summary.simulated or SIMULATED in name else f"{name} · {SIMULATED}"


def fastest_of(summary: CampaignSummary, results: Results) -> PastResult | None:
    return fastest(results.get(summary.path, ()))


def tag_words(summary: CampaignSummary, between: str = " ") -> str:
    return between.join(f"#{plain(tag)}" for tag in summary.about.tags)


def ages(summaries: Iterable[CampaignSummary], now: float) -> list[str]:
    return [_age(one, now) for one in summaries]


def _age(summary: CampaignSummary, now: float) -> str:
    return "–" if summary.created_at is None else ago(now - summary.created_at)


def _whose_clock(summary: CampaignSummary) -> str:
    """Of a simulated one, whose runs have a faster one."""
    return " by your clock" * summary.simulated


def chosen_words(
    summary: CampaignSummary, now: float, results: Results = NO_RESULTS, *, ours: bool = False
) -> Text:
    """Of the campaign under the cursor: its whole name, which rows may cut, before all else.
    ``ours``: it is at work here."""
    words = Text(marked_simulated(plain(summary.called), summary), "bold")
    if summary.about.tags:
        words.append(" · ").append(tag_words(summary), ACCENT)
    if summary.state == "live":
        who = "another console, or a command, goes on with it"
        who = "a keeper goes on with it" if summary.keeper else "at work here" if ours else who
        words.append(" · ").append(who, f"not bold {ACCENT}")
    return Text.assemble(words, " · ", summary_words(summary, now, results))


def summary_words(
    summary: CampaignSummary, now: float, results: Results = NO_RESULTS, *, profiled: int = 0
) -> Text:
    """What tells the campaign under the cursor from others of its day, on two lines or three.
    ``profiled``: how many of its runs are so, and count for no figure, where that is known."""
    parts = [summary.problem] if summary.problem else []
    if (best := fastest_of(summary, results)) is not None:
        every = results[summary.path]
        several = len({past.profile for past in every}) > 1
        units = {past.unit for past in every if isinstance(past, PastResult)}
        of_unit = f" in {best.unit}" * (len(units) > 1)
        _, speedup, grade, device = figure_words(best)
        case = f"{f'{best.profile} ' * several}{best.label}"
        parts += [f"fastest{of_unit} {case}: {readable(best.throughput)} {best.unit}"]
        why = ", ".join(MARKS[mark] for mark in best.marks)
        why = f" ({why})" if why else ""
        parts += [f"speedup {speedup}{why}"] if best.speedup is not None else []
        parts += ["base of the speedups"] * best.is_base
        unsure = " (logs were written after their runs: ⏎ reads them)" * bool(grade_mark(best))
        parts += [f"grade {grade}{unsure}"] if best.grade is not None else []
        parts += [device] if best.devices else []
        parts += [LOGS_CHANGED] * logs_changed(every)
    parts += [note] if (note := note_words(summary)) else []
    parts += [begun] if (begun := begun_as(summary.name, summary.called)) else []
    parts += [summary.measures or "no run is known"]
    of_them = f", {profiled} of them profiled" if profiled else ""
    parts += [f"{succeeded(summary)} of {summary.total} runs succeeded{of_them}"]
    parts += again_words(summary)
    parts += lost_words(summary)
    parts += _unended_words(summary, now)
    parts += begun_words(summary)
    if summary.created_at is not None:
        begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.created_at))
        # The name of a simulated one has a date by its own clock, which runs ahead of this one.
        dated = "" if summary.simulated else f"{begun}, "
        parts.append(f"begun {dated}{_age(summary, now)}{_whose_clock(summary)}")
    return Text(" · ".join(map(plain, parts)), MUTED)


def _unended_words(summary: CampaignSummary, now: float) -> list[str]:
    """``2 at work``, or ``2 at work when last seen 5m ago`` where nobody goes on with it, ``1 to
    come``: with those of :func:`lost_words` and what succeeded all of its runs."""
    if summary.state not in ("live", "unfinished"):
        return []
    unended = summary.total - summary.done
    at_work = min(summary.at_work, unended)
    words = "at work"
    if summary.state == "unfinished":
        words += " when last seen"
        words += "" if (at := summary.seen_at) is None else f" {ago(max(1.0, now - at))}"
    counts = ((at_work, words), (unended - at_work, "to come"))
    return [f"{number} {word}" for number, word in counts if number]


def none_shown(nothing: str, session: Session) -> str:
    """What stands in the place of a campaign: which there was last, and how it is opened.
    ``nothing``: in words, where there was none."""
    start = "Mark cases on page 2 and press Enter there"
    if (moved := session.moved_to) is not None:
        now = f"O, then Enter, opens {plain(moved.name)}"
        return f"The campaign that was shown was moved: {now}. {start} for a new one."
    if (last := session.last) is None:
        return f"{nothing} {start}, or press O to look at a campaign of before."
    age = _age(last, session.now)
    runs = f"{succeeded(last)} of {last.total} runs succeeded"
    parts = [last.measures or "no run is known", runs]
    begun = f"begun {age}{_whose_clock(last)}"
    said = ", ".join([*map(plain, parts), begun, *["SIMULATED"] * last.simulated])
    words = f"No campaign is open. O, then Enter, opens the last: {plain(last.called)} ({said})."
    return f"{words} {start} for a new one."


def called(summary: CampaignSummary) -> str:
    return plain(summary.called)


def not_removable(error: DlperfError) -> DlperfError:
    """The same with the keys that help here, in the place of commands."""
    from backends.campaign.folder.remove import (  # noqa: PLC0415 (seldom needed)
        HoldsOthersError,
        LeftOnHostsError,
        UnknownLeftError,
    )

    if isinstance(error, CampaignLockedError):
        remedy = "end it there, with C on Runs, or q and c; d removes it then"
        role = error.holder.role if error.holder is not None else Role.CONSOLE
        if role == Role.KEEPER:
            remedy = "Enter opens it, and C on Runs ends it; d removes it then"
        elif role != Role.CONSOLE:
            remedy = "end that command; d removes it then"
    elif isinstance(error, LeftOnHostsError):
        remedy = "r goes on with it, and C on Runs ends and verifies it; d removes it then"
    elif isinstance(error, HoldsOthersError):
        remedy = "move it away; d removes the campaign then"
    elif isinstance(error, UnknownLeftError):
        remedy = "look at its hosts, then remove its directory by hand"
    else:
        return error
    return DlperfError(error.what, where=error.where, remedy=remedy)


def remove_question(asked: Removable) -> Choice:
    """The answer is "yes" or "no"."""
    summary = asked.summary
    runs = f"{succeeded(summary)} of {counted(summary.total, 'run')} succeeded"
    words = (
        f"Remove {called(summary)}, {bytes_text(asked.size)}, with its logs? {runs}. All that was "
        "measured, its reports, tags and note are gone from this disk for good"
    )
    words += f", and {', '.join(asked.exports)} with it." if asked.exports else "."
    answers = (Answer("y", "remove it", "yes", destroys=True), Answer("n", "keep it", "no"))
    return Choice("Remove campaign", words, answers)
