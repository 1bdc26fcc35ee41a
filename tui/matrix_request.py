"""What the matrix asks for: the marks of every profile, repeats, hosts; and the plan of it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backends.campaign.plan.plan import Plan
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.nodesets import fold_nodeset
from backends.results.auto_repeats import AutoRepeats, Quantity, limited, parse_repeats
from profiles.durations import format_duration
from profiles.errors import DlperfError, SelectionError
from profiles.format.site_settings import needs_value
from tui.matrix_marks import QUEUE, Marks, capacity, new_marks, selection
from tui.session import Session

FIRST_LOOK_GPUS = 2
"""On a machine of its own only so small cases are marked by themselves: a minute at most."""


class Asked:
    """Grows with what the operator marks. :attr:`plan` is what it comes to, :attr:`problem` why it
    comes to nothing; both as of the last :meth:`make_plan`.

    ``hosts``: a nodeset; empty: all. ``repeats``: None: each profile's own. ``auto``: until it is
    known, as :attr:`rule` says, in place of a number of them. ``explain``: a profiled run of each
    case as well; a wish like the marks, which holds while every marked profile can be explained.
    ``pack``: runs on one host share it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._marks: dict[str, Marks] = {}
        self._asleep: dict[str, Marks] = {}  # the marks of profiles that were taken out
        self._planned_for: object = None
        self.repeats: int | None = None
        self.auto = False
        self.rule = AutoRepeats()  # what "until it is known" means
        self.explain = False
        self.pack = False
        self.unexplained: tuple[
            str, ...
        ] = ()  # marked profiles that say nothing of where time goes
        self.hosts = ""
        self.begun = False
        self.plan: Plan | None = None
        self.problem: DlperfError | None = None

    @property
    def snapshots(self) -> Sequence[HostSnapshot]:
        """The hosts that may be used."""
        if self._session.untold:
            return (QUEUE,)
        if not self.hosts:
            return self._session.hosts
        names = set(self.hosts.split(","))
        return tuple(host for host in self._session.hosts if host.name in names)

    @property
    def explainable(self) -> bool:
        """Every profile that takes part can tell where its time goes."""
        return self.plan is not None and bool(self.plan.cases) and not self.unexplained

    @property
    def undecided(self) -> bool:
        """Nothing is there to start yet, but that may come of hosts that have not answered."""
        if not self.begun:
            pending = (HostState.UNKNOWN, HostState.PROBING)
            return any(host.state in pending for host in self.snapshots)
        wished = any(part.wanted for part in self._marks.values())
        return self.plan is None and self.problem is None and wished and bool(self.awaited)

    @property
    def waiting(self) -> int:
        """How many marks the answers of hosts decide on."""
        parts = [p for p in self._marks.values() if p.wanted] if self.awaited else []
        cells = (cell for p in parts for row in p.cells(self.snapshots) for cell in row)
        return sum(bool(cell.awaits) and cell.state == "marked" for cell in cells)

    @property
    def awaited(self) -> str:
        """The hosts that have not answered yet, as a nodeset."""
        return fold_nodeset([host.name for host in capacity(self.snapshots)[1]])

    def marks(self, name: str) -> Marks:
        if name not in self._marks:
            self._marks[name] = new_marks(self._session.workspace.catalog.get(name))
        return self._marks[name]

    def known(self, name: str) -> Marks | None:
        """The marks of a profile that was looked at before."""
        return self._marks.get(name)

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
            self._marks,
            self.snapshots,
            repeats=repeats,
            hosts=self.hosts,
            auto=self.rule if self.auto else None,
        )
        self.unexplained = tuple(
            name for name in asked.profiles if self._marks[name].profile.explain is None
        )
        explain = self.explain and not self.unexplained
        asked = replace(asked, explain=explain, pack=self.pack)
        settings = tuple((name, tuple(p.settings.items())) for name, p in self._marks.items())
        now = (asked, self._session.hosts, settings)
        if now == self._planned_for:
            return
        self._planned_for, self.plan, self.problem = now, None, None
        if not asked.profiles:
            return
        self.problem = missing_settings([self._marks[name] for name in asked.profiles])
        if self.problem is not None:
            return
        try:
            self.plan = self._session.workspace.plan(asked)
        except DlperfError as error:
            self.problem = error

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
            raise DlperfError("nothing is marked", remedy="mark a case with space")
        return self.plan


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
        profile = part.profile
        missing = [
            name
            for name in profile.settings
            if needs_value(profile, name) and not part.settings.get(name)
        ]
        if missing:
            return DlperfError(
                f"{profile.name} needs {', '.join(missing)}",
                remedy="put the cursor on the profile and press s",
            )
    return None
