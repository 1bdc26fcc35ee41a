"""What a precheck will do, on which hosts, and how long that takes: said before anything runs."""

from __future__ import annotations

import asyncio
import shlex
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backends.hosts.foreseen import one_machine, same_machines
from backends.hosts.host_condition import high_load
from backends.hosts.host_facts import AWAY, HostFacts, HostSnapshot, HostState
from backends.hosts.probe import Transports
from backends.hosts.same_machine import by_machine
from backends.inventory.host_entry import Host
from backends.inventory.nodesets import ranked_nodeset
from backends.precheck.figures import Stage
from backends.precheck.programs import LOOK, Installed, Target, Way, parse_look, ways
from backends.precheck.tournament import MOST_ROUNDS, Round, tournament
from backends.transports.transport import HostUnreachableError
from profiles.errors import DlperfError, SelectionError

PYTHON = "python3"
LOOK_S = 25.0
HOST_LIMIT_S = 90.0
GPUS_LIMIT_S = 240.0
TORCH_LIMIT_S = 180.0
TCP_LIMIT_S = 45.0
START_S = 2.0
"""What a run takes besides what it measures, over SSH."""
_IN_TURN = (
    "they share what is measured, so they are measured one after the other, with other hosts under"
    " one of these names, and not with each other"
)
STAGES = (Stage.HOST, Stage.GPUS, Stage.WITHIN, Stage.PAIRS, Stage.ALL)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What an operator may choose.

    ``python``: on the hosts, with its words; where it has PyTorch, that is used. ``nccl_tests``:
    the directory of all_reduce_perf; empty: look for it. ``rounds``: of pairs, at most.
    ``at_once``: so many hosts are measured at the same time; 0: all; of one machine never more
    than one. ``seconds``: of each figure of a host and of each exchange. ``stages``: of
    :data:`STAGES`.
    """

    python: str = PYTHON
    nccl_tests: str = ""
    rounds: int = MOST_ROUNDS
    at_once: int = 0
    seconds: float = 1.5
    stages: tuple[Stage, ...] = STAGES


@dataclass(frozen=True, slots=True)
class Step:
    """``runs``: so many, ``times`` one after the other, each of ``each_s``."""

    stage: Stage
    hosts: tuple[str, ...]
    runs: int
    times: int
    each_s: float
    way: str = ""

    @property
    def expected_s(self) -> float:
        return self.times * self.each_s


@dataclass(frozen=True)
class PrecheckPlan:
    """``left_out``: why, by host. ``notes``: what is not measured at all, and why, and
    which hosts are one machine."""

    targets: tuple[Target, ...]
    left_out: Mapping[str, str]
    wishes: Wishes
    steps: tuple[Step, ...] = ()
    rounds: tuple[Round, ...] = ()
    all_rounds: int = 0
    way: Mapping[int, Way] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(target.name for target in self.targets)

    @property
    def busy(self) -> dict[str, str]:
        """Of hosts that would not be judged with the load that they had when they were probed,
        that load."""
        loads = {target.name: load_against(target) for target in self.targets}
        return {name: load for name, load in loads.items() if load}

    @property
    def expected_s(self) -> float:
        """If nothing is slow or broken, which is measured once more."""
        return sum(step.expected_s for step in self.steps)

    def step(self, stage: Stage) -> Step | None:
        return next((step for step in self.steps if step.stage is stage), None)


def facts_of(targets: Iterable[Target]) -> dict[str, HostFacts]:
    """By name, of those of which they are known."""
    return {target.name: target.facts for target in targets if target.facts is not None}


def machines_of(targets: Iterable[Target]) -> list[list[str]]:
    """The names of each machine, as far as their facts tell."""
    return by_machine((t.name, t.facts.boot_id if t.facts is not None else "") for t in targets)


def shared_of(targets: Iterable[Target]) -> dict[str, str]:
    """Of hosts that are one machine the others, by name."""
    return {
        name: ranked_nodeset([other for other in names if other != name])
        for names in one_machine(facts_of(targets))
        for name in names
    }


def load_against(target: Target, load1: float | None = None) -> str:
    """ "load 2.6 on 2 CPUs", for which a host is not judged where nothing names it; else empty.
    ``load1``: when its measurement began; None: when it was probed."""
    if (facts := target.facts) is None:
        return ""
    return high_load(facts if load1 is None else replace(facts, load1=load1))


def usable(hosts: Sequence[tuple[Host, HostSnapshot]]) -> tuple[list[Target], dict[str, str]]:
    """Those that can be measured now, and why the others cannot: nobody is disturbed."""
    targets, left_out = [], {}
    for host, snapshot in hosts:
        if snapshot.state in AWAY:
            left_out[host.name] = f"{snapshot.state}: {snapshot.reason}".rstrip(": ")
        elif snapshot.lease is not None:
            left_out[host.name] = f"held by {snapshot.lease.words}"
        elif snapshot.state is HostState.BUSY:
            left_out[host.name] = f"busy: {snapshot.reason}"
        elif snapshot.facts is None:
            left_out[host.name] = "nothing is known of it: ask it again"
        elif snapshot.facts.lease_problem:
            left_out[host.name] = snapshot.facts.lease_problem
        else:
            targets.append(Target(host, snapshot))
    return targets, left_out


async def look(
    transports: Transports, targets: Sequence[Target], wishes: Wishes
) -> tuple[Target, ...]:
    """The targets with what is installed there; of one that does not answer nothing is."""
    found = await asyncio.gather(*(_look(transports, target, wishes) for target in targets))
    return tuple(
        replace(target, installed=installed)
        for target, installed in zip(targets, found, strict=True)
    )


async def _look(transports: Transports, target: Target, wishes: Wishes) -> Installed:
    exports = "".join(
        f"export {name}={shlex.quote(value)}\n"
        for name, _, value in (v.partition("=") for v in target.host.environment)
    )
    command = f"exec sh -s -- {shlex.quote(wishes.python)}"
    try:
        done = await transports.get(target.host).run(
            command, stdin=(exports + LOOK).encode(), timeout_s=LOOK_S
        )
    except (HostUnreachableError, TimeoutError, DlperfError):
        return Installed()  # what it is to execute tells more
    installed = parse_look(done.stdout)
    return replace(installed, nccl_tests=wishes.nccl_tests) if wishes.nccl_tests else installed


def make_plan(
    targets: Sequence[Target], left_out: Mapping[str, str], wishes: Wishes
) -> PrecheckPlan:
    """What is done with these hosts.

    Raises
    ------
    SelectionError: there is none to measure.
    """
    if not targets:
        why = "; ".join(f"{host}: {reason}" for host, reason in list(left_out.items())[:3])
        raise SelectionError(
            f"no host can be measured: {why}" if why else "no host can be measured",
            where="precheck",
            remedy="wait until a host is free, or name others: --hosts on the command line",
        )
    way = ways(targets, wishes.nccl_tests)
    machines = machines_of(targets)
    apart = [target for target in targets if target.name in {names[0] for names in machines}]
    gpus = [target for target in targets if target.gpus]
    with_torch = [target for target in gpus if target.installed.torch]
    rounds = tournament([target.name for target in apart], wishes.rounds)
    every = len(apart) - 1 + len(apart) % 2 if len(apart) > 1 else 0
    notes = [f"{found.what}: {_IN_TURN}" for found in same_machines(facts_of(targets))]
    if gpus and not with_torch:
        notes.append(
            f"GPUs are not measured: {wishes.python} has no PyTorch on any host; name one that has"
            " it: dlperf-tui precheck --python PYTHON; or set PATH so that python3 has it, under"
            " environment in the inventory"
        )
    wide = [t for t in gpus if len(t.gpus) > 1] if way[1] is not Way.TCP else []
    found = [
        _step(Stage.HOST, targets, len(targets), _times(targets, wishes), _host_s(wishes)),
        _step(
            Stage.GPUS, gpus if with_torch else (), len(gpus), _times(gpus, wishes), _gpus_s(gpus)
        ),
        _step(Stage.WITHIN, wide, len(wide), _times(wide, wishes), 10.0 + START_S, str(way[1])),
        _step(
            Stage.PAIRS,
            apart if len(apart) > 1 else (),
            sum(map(len, rounds)),
            len(rounds),
            _together_s(way[2], gpus, wishes),
            str(way[2]),
        ),
        _step(
            Stage.ALL,
            apart if len(apart) > 2 else (),
            1,
            1,
            _together_s(way[2], gpus, wishes),
            str(way[2]),
        ),
    ]
    steps = tuple(step for step in found if step.hosts and step.stage in wishes.stages)
    return PrecheckPlan(
        tuple(targets), dict(left_out), wishes, steps, rounds, every, way, tuple(notes)
    )


def _step(
    stage: Stage, targets: Iterable[Target], runs: int, times: int, each_s: float, way: str = ""
) -> Step:
    return Step(stage, tuple(target.name for target in targets), runs, times, each_s, way)


def _times(targets: Sequence[Target], wishes: Wishes) -> int:
    """How many runs go one after the other where of each machine one name is measured at a time."""
    waiting = deque(len(names) for names in machines_of(targets))
    times = 0
    while waiting:
        begun = [
            waiting.popleft() for _ in range(min(wishes.at_once or len(waiting), len(waiting)))
        ]
        waiting.extend(left - 1 for left in begun if left > 1)
        times += 1
    return times


def _host_s(wishes: Wishes) -> float:
    return START_S + 1.0 + 3 * wishes.seconds + 2.0


def _gpus_s(gpus: Sequence[Target]) -> float:
    """Starting PyTorch and drawing the matrices takes the most of it: 10 s of all on 2 × H200."""
    most = max((len(target.gpus) for target in gpus), default=0)
    return START_S + 12.0 + 1.0 * most + 0.05 * most * most


def _together_s(way: Way, gpus: Sequence[Target], wishes: Wishes) -> float:
    if way is Way.TCP:
        return START_S + 1.0 + wishes.seconds
    return START_S + (15.0 if gpus else 8.0)
