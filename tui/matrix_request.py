"""What the matrix asks for: the marks of every profile, repeats, hosts; and the plan of it all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import chain
from typing import TYPE_CHECKING

from backends.campaign.measured_before import as_measured, known_devices
from backends.campaign.plan.plan import Plan
from backends.campaign.plan.selection import Selection
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.placement import Placement
from backends.inventory.nodesets import ranked_nodeset
from backends.results.auto_repeats import AutoRepeats, Quantity, limited, parse_repeats
from profiles.case_tag import parse_tag
from profiles.durations import format_duration
from profiles.errors import DlperfError, SelectionError
from profiles.format.case import GLOBAL_BATCH, Case
from profiles.format.case_matrix import infeasible
from profiles.format.host_capacity import HostCapacity
from profiles.format.site_settings import needs_value
from tui.matrix_marks import (
    QUEUE,
    Cell,
    Marks,
    Rows,
    capacity,
    marked_cases,
    new_marks,
    on_any_cluster,
    without_batch,
)
from tui.matrix_past import PastOfGrid, holes, measured_rows, past_of_grid
from tui.past_reading import PastReading
from tui.plan_words import host_states, time_text
from tui.session import Session

if TYPE_CHECKING:
    from backends.campaign.folder.past_index import Found
    from profiles.format.presets import Preset
    from profiles.format.profile import Profile
    from profiles.references.reference_tables import Reference
    from tui.hosts_now import HostsNow

_NONE_FOUND: Found = {}
FIRST_LOOK_GPUS = 2
"""On a machine of its own only so small cases are marked by themselves: a minute at most."""


class Able(Enum):
    """Whether a profile can run on the hosts that may be used, in one of its own cases at least;
    ``SETTINGS``: once those are given that it needs."""

    RUNS = auto()
    ASKING = auto()
    SETTINGS = auto()
    NOT_HERE = auto()


@dataclass(frozen=True, slots=True)
class _KnownPast:
    """What was made of a grid, of what had been read, and of the devices that there were."""

    part: Marks
    found: Found
    devices: frozenset[str]
    past: PastOfGrid

    def is_of(self, part: Marks, found: Found, devices: frozenset[str]) -> bool:
        """Whatever is marked on the grid."""
        same = self.found is found and self.devices == devices
        return same and replace(part, wanted=self.part.wanted) == self.part


@dataclass(frozen=True, slots=True)
class _KnownHosts:
    """What was made of the hosts that may be used. ``devices``: by whether GPUs are left alone."""

    hosts: Sequence[HostSnapshot]
    able: tuple[tuple[HostCapacity, ...], tuple[HostCapacity, ...]]
    devices: dict[bool, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _KnownStates:
    plan: Plan
    hosts: Sequence[HostSnapshot]
    states: Mapping[str, str]
    takes: str


class Asked:
    """Grows with what the operator marks. :attr:`plan` is what it comes to, :attr:`problem` why it
    cannot start; both as of the last :meth:`make_plan`.

    ``hosts``: a nodeset; empty: all. ``repeats``: see :class:`Selection`. ``auto``: until it is
    known, as :attr:`rule` says, in place of a number of them. ``explain``: a profiled run of each
    case as well; a wish like the marks, which holds while every marked profile can be explained.
    ``pack``: runs on one host share it. ``linked``: they get its best linked devices.
    """

    def __init__(self, session: Session, hosts_now: HostsNow) -> None:
        """``hosts_now``: of the page; :meth:`states_for` is by these."""
        self._session = session
        self._hosts_now = hosts_now
        self._marks: dict[str, Marks] = {}
        self._asleep: dict[str, Marks] = {}  # the marks of profiles that were taken out
        self._cells: dict[str, tuple[Marks, object, Rows]] = {}
        self._past: dict[str, _KnownPast] = {}
        self._rows_seen: dict[str, tuple[Marks, Found, object]] = {}  # when rows were looked for
        self._able: dict[str, tuple[_KnownHosts, Mapping[str, str], Able]] = {}
        self._hosts: _KnownHosts | None = None
        self._states: _KnownStates | None = None
        self.past_reading = PastReading(session)
        self._planned_for: object = None
        self.repeats: int | Mapping[str, int] | None = None
        self.auto = False
        self.rule = AutoRepeats()  # what "until it is known" means
        self.explain = False
        self.pack = False
        self.linked = False
        self.unexplained: tuple[
            str, ...
        ] = ()  # marked profiles that say nothing of where time goes
        self.begun = False
        self.plan: Plan | None = None
        self.problem: DlperfError | None = None

    @property
    def hosts(self) -> str:
        """Those that may be used, by name; empty: all."""
        return self._session.hosts_to_use

    @hosts.setter
    def hosts(self, names: str) -> None:
        self._session.hosts_to_use = names

    @property
    def snapshots(self) -> Sequence[HostSnapshot]:
        """The hosts that may be used, as they were when they were asked."""
        if self._session.untold:
            return (QUEUE,)
        if not self.hosts:
            return self._session.hosts
        names = set(self.hosts.split(","))
        return tuple(host for host in self._session.hosts if host.name in names)

    @property
    def gpus(self) -> list[object]:
        """Of each host that can be used, as far as they have answered."""
        if self.plan is not None:
            return [one.gpus for one in self.plan.capacities]
        return [one.facts.gpus for one in self.snapshots if one.facts is not None]

    @property
    def explainable(self) -> bool:
        """Every profile that takes part can tell where its time goes."""
        able = self.problem is None and not self.unexplained
        return able and self.plan is not None and bool(self.plan.cases)

    @property
    def undecided(self) -> bool:
        """Nothing is there to start yet, but that may come of hosts that have not answered."""
        if not self.begun:
            pending = (HostState.UNKNOWN, HostState.PROBING)
            return any(host.state in pending for host in self.snapshots)
        nothing = self.plan is None and self.problem is None
        return nothing and bool(self.taking_part) and bool(self.awaited)

    @property
    def waiting(self) -> int:
        """How many marks the answers of hosts decide on."""
        parts = self.taking_part if self.awaited else []
        cells = (cell for p in parts for row in self.cells(p) for cell in row)
        return sum(bool(cell.awaits) and cell.state == "marked" for cell in cells)

    @property
    def able(self) -> tuple[tuple[HostCapacity, ...], tuple[HostCapacity, ...]]:
        """:func:`~tui.matrix_marks.capacity` of the hosts that may be used."""
        return self._known_hosts().able

    @property
    def awaited(self) -> str:
        """The hosts that have not answered yet, as a nodeset."""
        return ranked_nodeset([host.name for host in self.able[1]])

    def marks(self, name: str) -> Marks:
        if name not in self._marks:
            self._marks[name] = new_marks(self._session.workspace.catalog.get(name))
        part = self._marks[name]
        if self.past_reading.known and not self.able[1]:
            part = self._marks[name] = self._with_measured_rows(part)
        return part

    def _with_measured_rows(self, part: Marks) -> Marks:
        """With rows of the cases that were measured before."""
        seen, name = (part, self._found, self.able), part.profile.name
        known = self._rows_seen.get(name)
        if known is not None and known[0] is part and known[1:] == seen[1:]:
            return part
        simulated = self._session.simulated
        hosts, devices = self.snapshots, self.devices(part)
        rows = measured_rows(part, hosts, self._found, devices, simulated=simulated)
        part = part.with_rows(rows) if rows else part
        self._rows_seen[name] = (part, *seen[1:])
        return part

    def known(self, name: str) -> Marks | None:
        """The marks of a profile that was looked at before."""
        return self._marks.get(name)

    def able_to_run(self, name: str) -> Able:
        """Of any profile; found again only when its settings or the hosts change."""
        profile = self._session.workspace.catalog.get(name)
        part, hosts = self._marks.get(name), self._known_hosts()
        settings = {} if part is None else part.settings
        known = self._able.get(name)
        if known is None or known[0] is not hosts or known[1] != settings:
            lacks = missing_settings([Marks(profile, (), {}, settings=settings)]) is not None
            able = _able(profile, hosts.able, lacks=lacks)
            known = self._able[name] = (hosts, settings, able)
        return known[2]

    def cells(self, part: Marks) -> Rows:
        """As the hosts allow; the same object while that is the same."""
        able = self.able
        known = self._cells.get(part.profile.name)
        if known is None or known[0] is not part or known[1] != able:
            known = self._cells[part.profile.name] = (part, able, part.cells(self.snapshots))
        return known[2]

    def past(self, part: Marks) -> PastOfGrid:
        """What was measured before of its cells, as far as it was read; the same object while that
        is the same."""
        found = self._found
        devices = self.devices(part)
        known = self._past.get(part.profile.name)
        if known is None or not known.is_of(part, found, devices):
            simulated = self._session.simulated
            past = past_of_grid(part, self.cells(part), found, devices, simulated=simulated)
            known = self._past[part.profile.name] = _KnownPast(part, found, devices, past)
        return known.past

    @property
    def _found(self) -> Found:
        index = self.past_reading.index
        return _NONE_FOUND if index is None else index.found

    def _known_hosts(self) -> _KnownHosts:
        hosts = self.snapshots
        if self._hosts is None or self._hosts.hosts != hosts:
            self._hosts = _KnownHosts(hosts, capacity(hosts), {})
        return self._hosts

    def _known_devices(self, *, on_cpus: bool) -> frozenset[str]:
        known = self._known_hosts()
        if on_cpus not in known.devices:
            known.devices[on_cpus] = known_devices(known.hosts, on_cpus=on_cpus)
        return known.devices[on_cpus]

    def devices(self, part: Marks) -> frozenset[str]:
        """What its runs would compute on, of the hosts that have answered."""
        return self._known_devices(on_cpus=part.profile.on_cpus)

    def states_for(self, plan: Plan) -> Mapping[str, str]:
        """:func:`tui.plan_words.host_states` of the hosts that may be used."""
        return self._known_states(plan).states

    def not_counted(self, plan: Plan) -> str:
        """:meth:`HostsNow.not_counted` of those that can take no run."""
        return self._hosts_now.not_counted(self.states_for(plan))

    def takes(self, plan: Plan) -> str:
        """:func:`tui.plan_words.time_text` on them."""
        return self._known_states(plan).takes

    def _known_states(self, plan: Plan) -> _KnownStates:
        hosts, known = self._hosts_now.seen, self._states
        if known is None or known.plan is not plan or known.hosts != hosts:
            states = host_states(plan, hosts)
            known = self._states = _KnownStates(plan, hosts, states, time_text(plan, states))
        return known

    def repeats_of(self, part: Marks) -> int:
        """Of each case; the first ones where it goes on until it is known."""
        asked = Selection((), repeats=self.repeats, auto=self.rule if self.auto else None)
        return asked.first_repeats(part.profile)

    def repeats_changed(self, change: int, part: Marks) -> int | Mapping[str, int]:
        """One more of each case, or one fewer where it has more than one. ``part``: what counts
        where nothing is marked."""
        numbers = {name: max(1, now + change) for name, now in self._numbers(part).items()}
        if isinstance(self.repeats, Mapping):
            return {**self.repeats, **numbers}
        alike = {*numbers.values()}
        return alike.pop() if len(alike) == 1 else numbers

    def can_be_fewer(self, part: Marks) -> bool:
        """Some case would run more than once."""
        return self.auto or {*self._numbers(part).values()} != {1}

    def _numbers(self, part: Marks) -> Mapping[str, int]:
        """Of repeats, by profile."""
        asked = Selection((), repeats=self.repeats)
        parts = self.taking_part or (part,)
        return {one.profile.name: asked.first_repeats(one.profile) for one in parts}

    def holes(self, part: Marks) -> list[Cell]:
        """What can run and has no result yet of as many repeats, or as narrow, as is asked for."""
        cells = chain.from_iterable(self.cells(part))
        return holes(cells, self.past(part), self.repeats_of(part), self.target)

    @property
    def target(self) -> float | None:
        """How narrow a result is to be (relative, half of its 95% interval); None: any will do."""
        return self.rule.target if self.auto else None

    def published(self, part: Marks, case: Case) -> tuple[Reference, ...]:
        """Figures of the case's workload, precision and number of GPUs."""
        from profiles.format.presets import published  # noqa: PLC0415 - only where there is room
        from profiles.references.reference_tables import bundled_references  # noqa: PLC0415

        profile = part.profile
        settings = profile.settings_with(part.settings)
        return published(profile, case, settings, bundled_references())

    def presets(self, part: Marks) -> tuple[Preset, ...]:
        """What its source measured, and published tables."""
        from profiles.format.presets import presets  # noqa: PLC0415 - seldom needed
        from profiles.references.reference_tables import bundled_references  # noqa: PLC0415

        return presets(part.profile, bundled_references())

    @property
    def taking_part(self) -> list[Marks]:
        """The profiles of which something is wanted, in the order in which they were."""
        return [part for part in self._marks.values() if part.wanted]

    @property
    def touched(self) -> list[Marks]:
        """The profiles of which anything was asked, in the order in which they were looked at."""
        return [part for part in self._marks.values() if part.touched]

    @property
    def host_names(self) -> Collection[str]:
        """Of the inventory, whether they can be used or not."""
        return [host.name for host in self._session.workspace.cluster.inventory.hosts]

    def put(self, part: Marks) -> None:
        self.begun = True
        self._marks[part.profile.name] = part

    def begin(self, names: Sequence[str]) -> str | None:
        """Mark the first profile that these hosts can run, once, so that Enter has a meaning.

        One for which something has to be given first is not it.
        """
        if self.begun:
            return None
        most = FIRST_LOOK_GPUS if self._session.alone else None
        for name in names:
            wanted = self.marks(name).with_defaults(most)
            if missing_settings([wanted]) is None and wanted.marked(self.snapshots):
                self.put(wanted)
                return name
        return None

    def toggle(self, part: Marks) -> None:
        """A profile in, with its marks of before, else its own cases; or out."""
        name = part.profile.name
        if part.wanted:
            self._asleep[name] = part
            self.put(replace(part, wanted=frozenset()))
        else:
            before = self._asleep.pop(name, None)
            self.put(replace(part, wanted=before.wanted) if before else part.with_defaults())

    def make_plan(self) -> None:
        """Ask the engine what the marks come to, when they have changed since it was asked."""
        repeats = None if self.auto else self.repeats
        asked = selection(
            {name: _with_stand_ins(part) for name, part in self._marks.items()},
            {p.profile.name: marked_cases(self.cells(p)) for p in self.taking_part},
            repeats=repeats,
            hosts=self.hosts,
            auto=self.rule if self.auto else None,
        )
        self.unexplained = tuple(
            name for name in asked.profiles if self._marks[name].profile.explain is None
        )
        explain = self.explain and not self.unexplained
        placement = Placement.LINKED if self.linked else Placement.FIRST
        asked = replace(asked, explain=explain, pack=self.pack, placement=placement)
        settings = tuple((name, tuple(p.settings.items())) for name, p in self._marks.items())
        now = (asked, self._session.hosts, settings, self._found)
        if now == self._planned_for:
            return
        before = self.plan
        self._planned_for, self.plan, self.problem = now, None, None
        if not asked.profiles:
            return
        self.problem = missing_settings([self._marks[name] for name in asked.profiles])
        try:
            plan = self._as_measured(self._session.workspace.plan(asked))
        except DlperfError as error:
            self.problem = self.problem or error
            return
        self.plan = before if plan == before else plan

    def timed(self, plan: Plan) -> Plan | None:
        """The plan by all that was measured before; None while that is being read."""
        return self._as_measured(plan) if self.past_reading.known else None

    def _as_measured(self, plan: Plan) -> Plan:
        """With what a run of each case took before."""
        pasts = {name: self.past(self._marks[name]) for name in plan.selection.profiles}
        return as_measured(plan, lambda one: pasts[one.profile.name].of(on_any_cluster(one.case)))

    def ready(self) -> Plan:
        """The plan of what is marked.

        Raises
        ------
        DlperfError: something is missing, or nothing is marked.
        """
        self.make_plan()
        if self.problem is not None:
            raise self.problem
        if self.plan is None or not self.plan.cases:
            if not any(self.able):
                raise DlperfError("no host can be used", remedy="1 says why, for each of them")
            raise DlperfError("nothing is marked", remedy="mark a case with space")
        return self.plan


def _able(
    profile: Profile,
    hosts: tuple[Sequence[HostCapacity], Sequence[HostCapacity]],
    *,
    lacks: bool,
) -> Able:
    cases = [Case(profile.name, *parse_tag(tag), profile.defaults) for tag in profile.matrix.cases]
    known, awaited = hosts
    if any(infeasible(profile, case, known) is None for case in cases):
        return Able.SETTINGS if lacks else Able.RUNS
    return Able.ASKING if awaited else Able.NOT_HERE


def selection(
    marks: Mapping[str, Marks],
    marked: Mapping[str, Sequence[Case]],
    *,
    repeats: int | Mapping[str, int] | None,
    hosts: str,
    auto: AutoRepeats | None = None,
) -> Selection:
    """What "start" asks for: exactly the ``marked`` cases, by profile."""
    picked: list[Case] = []
    values: dict[str, dict[str, None]] = {}
    tags: dict[str, None] = {}
    chosen: list[str] = []
    taking_part = {name: cases for name, cases in marked.items() if cases}
    for name, cases in taking_part.items():
        chosen.append(name)
        picked.extend(cases)
        for case in cases:
            tags[case.tag] = None
            given = case.parameters
            # Under strong scaling the batch size follows from the global batch.
            for parameter in without_batch(given) if GLOBAL_BATCH in given else given:
                values.setdefault(parameter, {})[case.text(parameter)] = None
        # Of several profiles another one's may have the same name.
        whose = f"{name}:" if len(taking_part) > 1 else ""
        for setting, value in marks[name].settings.items():
            values[f"{whose}{setting}"] = {value: None}
    return Selection(
        profiles=tuple(chosen),
        cases=tuple(tags),
        values={name: tuple(texts) for name, texts in values.items()},
        repeats=repeats,
        auto=auto,
        hosts=hosts,
        picked=tuple(case.key for case in picked),
    )


def parse_rule(text: str) -> AutoRepeats:
    """``1%``, ``0.5% speedup 2h``: how narrow, what is to be known, the GPU time of all runs.

    Raises
    ------
    SelectionError: it is something else, or out of range.
    """
    words = text.lower().split()
    what = [word for word in words if word.endswith("%") or word in tuple(Quantity)]
    budgets = [word for word in words if word not in what]
    rule = parse_repeats(":".join(["auto", *what]))
    if not isinstance(rule, AutoRepeats) or len(budgets) > 1 or len(what) > 2:
        raise SelectionError(f"{text!r} is no target", remedy="such as 1%, or 0.5% speedup 2h")
    return limited(rule, None, budgets[0] if budgets else None)


def rule_text(rule: AutoRepeats) -> str:
    """As :func:`parse_rule` reads it."""
    words = [f"{rule.target * 100:g}%"]
    if rule.quantity is not Quantity.THROUGHPUT:
        words.append(rule.quantity)
    if rule.budget_gpu_s is not None:
        words.append(format_duration(rule.budget_gpu_s))
    return " ".join(words)


def missing_settings(parts: Sequence[Marks]) -> DlperfError | None:
    """What has to be given before these profiles can run, in the console's words."""
    for part in parts:
        if missing := lacking_settings(part):
            return DlperfError(
                f"{part.profile.name} needs {', '.join(missing)}",
                remedy=f"s sets {'it' if len(missing) == 1 else 'them'}",
            )
    return None


def _with_stand_ins(part: Marks) -> Marks:
    """What lacks a value has its own name, so that the runs can be counted before it is given."""
    lacking = {name: name for name in lacking_settings(part)}
    return replace(part, settings={**part.settings, **lacking}) if lacking else part


def lacking_settings(part: Marks) -> list[str]:
    """Those that are still to be given."""
    needed = (name for name in part.profile.settings if needs_value(part.profile, name))
    return [name for name in needed if not part.settings.get(name)]
