"""The repeats of a case: where they lie, which are odd, and each by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import Static

from backends.campaign.record.run_record import LEFT
from backends.campaign.record.run_state import RunState
from backends.campaign.record.run_view import DEMO_LEFT
from backends.hosts.fingerprint import devices_of, has_gpus, tells_devices_alone
from backends.inventory.nodesets import ranked_nodeset
from backends.results import render
from backends.results.case_result import CaseResult
from backends.results.numbers import percent, signed_percent
from backends.results.run_result import SUCCEEDED, RunResult
from backends.results.steady_words import diagnosed, disturbance_brief, disturbance_text
from backends.results.summary import Group
from backends.results.telemetry_figures import POWER_CAPPED, THROTTLED, throttled
from backends.results.telemetry_words import watched_brief
from profiles.counted import counted
from profiles.format.case_labels import case_labels
from profiles.gpu_models import short_model
from profiles.throughput.steady import Disturbance
from tui.clipboard import hand_over
from tui.key_bindings import bindings
from tui.messages import Said
from tui.screens.dialogs import FRAME, WIDEST, Dialog, Pages
from tui.screens.front_screen import REFRESH_S
from tui.text import cell, clock_time, number, plain, run_state
from tui.theme import BAD, MUTED, WARN
from tui.widgets.distribution import distribution_line, ends_line, legend, limits
from tui.widgets.keyed_table import Column, KeyedTable, Row

NOTE = "Note"
NO_RUNS_HERE = "Runs does not show the campaign that they are of"
REPEAT_COLUMNS = (
    Column("repeat", "#", 3, right=True),
    Column("state", "State", 11),
    Column("throughput", "throughput", 10, right=True),
    Column("off", "vs median", 9, right=True, gives_way=1),
    Column("hosts", "Hosts", 14, most=40),
    Column("model", "GPU model", 9, most=26, if_any=True, ends=True, first=True),
    Column("devices", "Device #", 8, from_width=100, most=24),
    Column("began", "Began", 8, from_width=100),
    Column("note", NOTE, None, least=6),
)


def _columns(unit: str) -> tuple[Column, ...]:
    """What stands over the rows: the figures are in this unit."""
    return tuple(
        replace(one, label=plain(unit)) if one.key == "throughput" else one
        for one in REPEAT_COLUMNS
    )


def repeat_rows(case: CaseResult, now: Mapping[str, Text] | None = None) -> list[Row]:
    """Every repeat, those too that wait or are at work, with its distance from the median, each
    behind its replaced attempts. ``now``: by run id, the states of those at work as Runs has
    them."""
    strange, models = outliers(case), models_apart(case)
    return [
        _row(run, case, strange, models.get(run.run_id, ""), now or {}) for run in _in_order(case)
    ]


def copied_repeats(
    case: CaseResult, now: Mapping[str, Text] | None = None, *, several: bool = False
) -> str:
    """The same as markdown, every column that there is something in; ``several``: profiles."""
    rows = [[text.plain.strip() for text in row.cells] for row in repeat_rows(case, now)]
    filled = [at for at in range(len(REPEAT_COLUMNS)) if any(row[at] for row in rows)]
    columns = [_columns(case.unit)[at] for at in filled]
    table = render.Table(
        _title(case, several=several),
        tuple(render.Column(one.label, "right" if one.right else "left") for one in columns),
        tuple(tuple(row[at] for at in filled) for row in rows),
    )
    return render.render_markdown([table])


def models_apart(case: CaseResult) -> Mapping[str, str]:
    """The GPU model of each repeat, ``H200 + V100-SXM2-16GB`` of several, by its run id: where they
    are not the same of all, as far as they are known."""
    models = {
        run.run_id: " + ".join(map(short_model, devices_of(run.fingerprint).split(" + ")))
        for run in _in_order(case)
        if has_gpus(run.fingerprint) or tells_devices_alone(run.fingerprint)
    }
    return models if len(set(models.values())) > 1 else {}


def _in_order(case: CaseResult) -> list[RunResult]:
    runs = (*case.runs, *case.superseded, *case.unended_runs)
    return sorted(runs, key=lambda run: (run.repeat, run.attempt))


def outliers(case: CaseResult) -> tuple[RunResult, ...]:
    if case.spread is None:
        return ()
    return tuple(case.measured_runs[position] for position in case.spread.outliers)


def off_median(run: RunResult, case: CaseResult) -> float | None:
    """Relative."""
    median = case.spread.median if case.spread else None
    return run.measured / median - 1 if run.measured and median else None


def _row(
    run: RunResult,
    case: CaseResult,
    strange: tuple[RunResult, ...],
    model: str,
    now: Mapping[str, Text],
) -> Row:
    off = off_median(run, case)
    return Row(
        run.run_id,
        (
            cell(run.repeat, right=True),
            now.get(run.run_id) or _state(run),
            cell(number(run.measured), right=True),
            cell("–" if off is None else signed_percent(off, 2), right=True),
            cell(ranked_nodeset(run.hosts) if run.hosts else "–"),
            cell(plain(model)),
            cell(_devices(run)),
            cell(_began(run)),
            cell(_note(run, case, strange), WARN if run in strange else MUTED),
        ),
    )


def _note(
    run: RunResult,
    case: CaseResult,
    strange: tuple[RunResult, ...],
    unsteady: Callable[[Disturbance], str] = disturbance_brief,
) -> str:
    """What is odd about it, and why it failed; ``unsteady``: in which words."""
    parts = (
        *map(unsteady, run.steady or ()),
        plain(diagnosed(run)) if run.steady else "",
        *_throttled_words(run),
        watched_brief(run),
        "outlier; it counts" if run in strange else "",
        f"attempt {run.attempt}" if run.attempt > 1 else "",
        "replaced by a later attempt" if run in case.superseded and not run.never_begun else "",
        f"packed beside {len(run.shared_with)}" if run.shared_with else "",
        f"its log: {plain(run.log_differs)}" * bool(run.log_differs),
        plain(run.reason) or ", ".join(plain(w) for w in run.warnings),
    )
    return " · ".join(filter(None, parts))


def _throttled_words(run: RunResult) -> list[str]:
    """The GPU that was slowed down most, where that is worth a word."""
    words = []
    for at_its_limit, much in ((False, THROTTLED), (True, POWER_CAPPED)):
        found = throttled([run], at_its_limit=at_its_limit)
        if found is not None and found.share > much:
            share = percent(found.share, 0)
            words.append(f"{plain(found.reason)} {share} of the time on GPU{found.gpu.gpu}")
    return words


def _devices(run: RunResult) -> str:
    """``0, 1``; of several hosts each one's, where they are not the same."""
    each = [", ".join(map(str, indices)) for indices in run.devices.values()]
    return " | ".join(dict.fromkeys(each)) or "–"


def _began(run: RunResult) -> str:
    if run.started_at is None:
        return "–"
    return clock_time(run.started_at)


def distribution_text(case: CaseResult, width: int, others: Sequence[CaseResult] = ()) -> Text:
    """The repeats on a line, between the slowest and the fastest, and what its signs and those of
    the ``others`` below mean."""
    across = limits([case])
    if across is None:
        return Text("no repeat has succeeded yet", MUTED, end="")
    if len(case.throughputs) == 1:
        one = f"{number(case.throughputs[0])} {plain(case.unit)}"
        return Text(f"one repeat: {one}; nothing to compare it with", MUTED, end="")
    text = distribution_line(case, across, width)
    low, high = (f"{number(end)}" for end in across)
    text.append(f"\n{ends_line(low, high, width)}\n", MUTED)
    return text.append(legend([case, *others]), MUTED)


def _state(run: RunResult) -> Text:
    """As Runs has it: ``✓ succeeded``, ``✗ failed``, ``– skipped``, ``‖ paused``, ``◌ left``"""
    if run.skipped:
        return cell("– skipped", BAD)
    if run.reason == DEMO_LEFT:
        return run_state(RunState(run.state), over=LEFT)
    if run.ended:
        good = run.state == SUCCEEDED
        return cell(f"{'✓' if good else '✗'} {run.state}", "" if good else BAD)
    return run_state(RunState(run.state), paused=run.paused_by is not None)


def repeats_text(
    case: CaseResult,
    group: Group,
    width: int,
    now: Mapping[str, Text] | None = None,
    whose: str = "",
) -> Text:
    """Beside the case: its repeats one by one, and how all cases of its group scatter; ``now``: as
    of :func:`repeat_rows`. ``whose``: what the group is called beside others."""
    text = distribution_text(case, width, group.measured_cases).append("\n\n")
    strange, models = outliers(case), models_apart(case)
    text.append(f"{'':4} {plain(case.unit):>12} {'vs median':>9}  hosts\n", MUTED)
    for run in _in_order(case):
        model = models.get(run.run_id, "")
        off = off_median(run, case)
        odd = "○ outlier" if run in strange else "" if run.succeeded else _said(run, now or {})
        text.append(f"{f'#{run.repeat}':>4} {number(run.measured):>12} ")
        text.append(f"{'–' if off is None else signed_percent(off, 2):>9}  ", MUTED)
        text.append(odd, WARN if run in strange else BAD if run.ended else MUTED)
        text.append(f"{'  ' * bool(odd)}{plain(ranked_nodeset(run.hosts)) if run.hosts else ''}")
        text.append(f"{'  ' * bool(model)}{plain(model)}\n", MUTED)
    return text.append("\n").append_text(_all_cases(group, width, whose))


def _said(run: RunResult, now: Mapping[str, Text]) -> str:
    return (now.get(run.run_id) or _state(run)).plain


def _all_cases(group: Group, width: int, whose: str) -> Text:
    """On one scale of percents from each one's own median."""
    measured = group.measured_cases
    medians = {case.case: case.spread.median for case in measured if case.spread}
    off = [value / medians[c.case] - 1 for c in measured for value in c.throughputs]
    if len(measured) < 2 or all(len(case.throughputs) < 2 for case in measured):
        return Text(end="")
    low, high = min(*off, -0.001), max(*off, 0.001)
    tag = max(len(case.case) for case in measured) + 1
    room = max(8, width - tag)
    of_it = f" of {plain(whose)}" * bool(whose)
    text = Text(f"all cases{of_it}, from the median of each\n", MUTED, end="")
    for case in measured:
        median = medians[case.case]
        text.append(f"{case.case:<{tag}}")
        across = (median * (1 + low), median * (1 + high))
        text.append_text(distribution_line(case, across, room)).append("\n")
    first, last = signed_percent(low, 2), signed_percent(high, 2)
    text.append(f"{'':<{tag}}{ends_line(first, last, room)}", MUTED)
    return text


class Repeats(Dialog[str]):
    """Every repeat of a case.

    ``renewed``: the case as it is now, for what goes on while it is read; None where nobody knows.
    ``states``: by run id, of those at work, as Runs has them. ``leads_to_runs``: Enter leads to a
    repeat there; its run id is the result.
    """

    PANEL = "repeats"
    AHEAD = Dialog.AHEAD | {"copy"}
    BINDINGS = bindings("repeats")

    def __init__(self, case: CaseResult, whose: str = "", *, several: bool = False) -> None:
        """``whose``: the campaign's name, where there is more than one. ``several``: so are the
        profiles."""
        super().__init__(_title(case, several=several))
        self._case = case
        self._several = several
        self._whose = whose
        self.renewed: Callable[[], CaseResult | None] | None = None
        self.states: Callable[[], Mapping[str, Text]] = dict
        self.leads_to_runs = False
        self._told: Mapping[str, Text] = {}

    def compose(self) -> ComposeResult:
        with self.box(widest=True):
            if self._whose:
                yield Static(Text(f"of {plain(self._whose)}", MUTED), markup=False)
            yield Static(self._distribution(), id="distribution", markup=False)
            yield KeyedTable(_columns(self._case.unit))
            with Pages(id="whole-note"):
                yield Static(id="note", markup=False)

    def _distribution(self) -> Text:
        return distribution_text(self._case, self.app.size.width * WIDEST // 100 - FRAME)

    def on_mount(self) -> None:
        self.query_one(KeyedTable).focus()
        self._told = self.states()
        self.query_one(KeyedTable).refill(repeat_rows(self._case, self._told))
        if self.renewed is not None:
            self.set_interval(REFRESH_S, self.tick)

    def tick(self) -> None:
        """What has ended since; the cursor stays on its repeat."""
        now = self.renewed() if self.renewed is not None and self.here else None
        told = self.states() if now is not None else self._told
        if now is None or (now is self._case and told == self._told):
            return
        self._case, self._told = now, told
        self._title = _title(now, several=self._several)
        self.query_one("#distribution", Static).update(self._distribution())
        self.query_one(KeyedTable).refill(repeat_rows(now, told), _columns(now.unit))
        self._say_note()
        self.refresh_bindings()

    def never(self, action: str) -> str:
        return NO_RUNS_HERE if action == "open" and not self.leads_to_runs else ""

    def able(self, action: str) -> bool:
        if action != "open":
            return super().able(action)
        return self.leads_to_runs and self.query_one(KeyedTable).current_key is not None

    def action_open(self) -> None:
        self.finish(self.query_one(KeyedTable).current_key)

    def action_copy(self) -> None:
        said = hand_over(self.app, copied_repeats(self._case, self._told, several=self._several))
        called = _called(self._case, several=self._several)
        self.app.post_message(Said(f"{called}, its repeats: {said}"))

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._say_note)

    @on(KeyedTable.Moved)
    def _say_note(self) -> None:
        """All of it, below, behind what else of the row its columns have no room for."""
        if not self.here:
            return
        table = self.query_one(KeyedTable)
        runs = {run.run_id: run for run in _in_order(self._case)}
        run = runs.get(table.current_key or "")
        unseen = [(name, words) for name, words in table.current_unseen if name != NOTE]
        note = _note(run, self._case, outliers(self._case), disturbance_text) if run else ""
        parts = [*(f"{name} {words}" for name, words in unseen), *filter(None, [note])]
        self.query_one("#note", Static).update(Text(" · ".join(parts)))


def _called(case: CaseResult, *, several: bool) -> str:
    labels = case_labels([case.as_case])
    label = f"{labels.label(case.as_case)} {labels.shared}".rstrip()
    return plain(f"{case.profile} " * several + label)


def _title(case: CaseResult, *, several: bool) -> str:
    done = f"{case.succeeded} of {counted(case.wanted, 'repeat')} succeeded"
    return f"{_called(case, several=several)} · {done}{' · times are simulated' * case.simulated}"
