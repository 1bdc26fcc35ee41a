"""A precheck at work: stage by stage, whatever fails on the way being a finding and no end."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from backends.hosts.host_condition import slowed_by
from backends.hosts.probe import Transports
from backends.precheck.bisection import find_culprits
from backends.precheck.figures import (
    EACH,
    METRICS,
    SLOWED,
    About,
    Figure,
    Stage,
    Trouble,
    each_of,
    said_in,
)
from backends.precheck.group_run import GroupRun, How, Part, run_group
from backends.precheck.plan_precheck import (
    GPUS_LIMIT_S,
    HOST_LIMIT_S,
    TCP_LIMIT_S,
    TORCH_LIMIT_S,
    PrecheckPlan,
    load_against,
    machines_of,
    shared_of,
)
from backends.precheck.programs import (
    GPU_PROGRAM,
    HOST_PROGRAM,
    TCP_PROGRAM,
    TORCH_FILES,
    Collective,
    Target,
    Way,
    collective,
    own_command,
    staged,
    tcp_commands,
)
from backends.precheck.ranking import Measured
from backends.precheck.slower import slow_ends, slower_than_others
from backends.precheck.tournament import Pair, disjoint
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RemoteError, StagedTree
from backends.transports.transport import HostUnreachableError
from profiles.errors import DlperfError
from profiles.throughput.measure_log_file import measure_file

SIZES = {Stage.WITHIN: "4G", Stage.PAIRS: "1G", Stage.ALL: "1G"}
ON_CPUS = "16M"
PORT_S = 20.0
PROGRAM_LIMITS = {Stage.HOST: HOST_LIMIT_S, Stage.GPUS: GPUS_LIMIT_S}


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` runs of a stage; ``text``: what is under way, or was found."""

    stage: Stage
    done: int
    total: int
    text: str = ""


Say = Callable[[Progress], None]
T = TypeVar("T")


class Measuring:
    """Of one plan.

    Parameters
    ----------
    directory: of the precheck; logs lie below it.
    lease: who takes the hosts, for others to read.
    """

    def __init__(
        self,
        plan: PrecheckPlan,
        transports: Transports,
        directory: Path,
        lease: str,
        say: Say = lambda progress: None,
    ) -> None:
        self._plan = plan
        self._targets = {target.name: target for target in plan.targets}
        self._names = {name: names for names in machines_of(plan.targets) for name in names}
        self._transports = {t.name: transports.get(t.host) for t in plan.targets}
        self._directory = directory
        self._lease = lease
        self._say = say
        self._token = secrets.token_hex(4)  # in every run's id; ranks know each other by it
        self._number = 0
        self._figures: dict[tuple[object, object], Figure] = {}
        self._loads: dict[str, float] = {}  # of machines, before anything of ours was at work there
        self._troubles: list[Trouble] = []
        self._left_out: dict[str, str] = dict(plan.left_out)
        self._out: set[str] = set()  # broken, or left out: nothing more is asked of them
        self._first: dict[str, Trouble] = {}  # of hosts that are tried once more
        self.left: list[str] = []  # what could not be removed from hosts

    @property
    def measured(self) -> Measured:
        """So far."""
        hosts = tuple(name for name in self._targets if name not in self._left_out)
        loads = {name: self._high_load(target) for name, target in self._targets.items()}
        return Measured(
            hosts,
            (*self._figures.values(), *self._seen()),
            tuple(self._troubles),
            dict(self._left_out),
            {name: load for name, load in loads.items() if load and name in hosts},
            shared_of(self._plan.targets),
            {t.name: t.gpu_model for t in self._plan.targets if t.gpu_model},
        )

    def _high_load(self, target: Target) -> str:
        """As our program found it when it began there, else as the probe did, which is older."""
        return load_against(target, self._loads.get(self._names[target.name][0]))

    def _seen(self) -> Iterator[Figure]:
        """What the probe saw of GPUs, where no program has told of it."""
        told = {(figure.metric, figure.subject) for figure in self._figures.values()}
        for target in self._plan.targets:
            for gpu in target.facts.gpus if target.facts is not None else ():
                about = (target.name,), (gpu.index,)
                if gpu.ecc_uncorrected and ("ecc", about) not in told:
                    yield Figure("ecc", gpu.ecc_uncorrected, "errors", *about, gpu.name)
                if (slowed := slowed_by(gpu)) and ("gemm", about) not in told:
                    yield Figure(SLOWED, 1, "", *about, gpu.name, {"of": ", ".join(slowed)})

    async def run(self) -> Measured:
        """All stages. Raises OSError where a log cannot be written here."""
        steps = {step.stage: step for step in self._plan.steps}
        for stage in (Stage.HOST, Stage.GPUS):
            if stage in steps:
                await self._each(stage, steps[stage].hosts)
        if Stage.WITHIN in steps:
            await self._within(steps[Stage.WITHIN].hosts)
        if Stage.PAIRS in steps:
            await self._pairs()
        if Stage.ALL in steps:
            await self._all()
        return self.measured

    # Each host by itself -------------------------------------------------------------------------

    async def _each(self, stage: Stage, hosts: Sequence[str]) -> None:
        hosts = self._present(hosts)
        again = await self._at_once(stage, hosts, lambda host: self._program(stage, host))
        suspects = self._present({*again, *self._slow(stage)})
        if suspects:
            self._tell(stage, 0, len(suspects), f"once more: {', '.join(suspects)}")
            await self._at_once(stage, suspects, lambda host: self._program(stage, host, last=True))

    async def _within(self, hosts: Sequence[str]) -> None:
        hosts = self._present(hosts)
        again = await self._at_once(Stage.WITHIN, hosts, self._within_one)
        suspects = self._present({*again, *self._slow(Stage.WITHIN)})
        if suspects:
            await self._at_once(
                Stage.WITHIN, suspects, lambda host: self._within_one(host, last=True)
            )

    def _slow(self, stage: Stage) -> set[str]:
        """Hosts that something measured in a stage makes suspect."""
        found: set[str] = set()
        for series in {figure.series for figure in self._figures.values()}:
            metric = METRICS.get(series[0])
            if metric is not None and metric.judged and _measured_in(series[0]) is stage:
                values = {f.subject: f.value for f in self._of(series)}
                slow = slower_than_others(values, metric.tolerance)
                found |= {hosts[0] for hosts, _ in slow}
        return found

    async def _at_once(
        self, stage: Stage, hosts: Sequence[str], one: Callable[[str], Awaitable[bool]]
    ) -> list[str]:
        """Of one machine one after the other; those that are worth another try."""
        done = 0
        limit = asyncio.Semaphore(self._plan.wishes.at_once or max(1, len(hosts)))
        machines = {self._names[host][0]: asyncio.Lock() for host in hosts}
        again = []

        async def work(host: str) -> None:
            nonlocal done
            async with machines[self._names[host][0]], limit:
                if await one(host):
                    again.append(host)
            done += 1
            self._tell(stage, done, len(hosts), host)

        self._tell(stage, 0, len(hosts), ", ".join(hosts))
        await _all_of(work(host) for host in hosts)
        return again

    async def _program(self, stage: Stage, host: str, *, last: bool = False) -> bool:
        """Measure one host by a program of ours; whether it is worth another try."""
        target, wishes = self._targets[host], self._plan.wishes
        if stage is Stage.HOST:
            program = HOST_PROGRAM
            words: tuple[str, ...] = ("--seconds", f"{wishes.seconds:g}")
        else:
            program, words = GPU_PROGRAM, ()
        command = own_command(target, wishes.python, program, *words)
        run = GroupRun(self._run_id(), (command,), staged(program), PROGRAM_LIMITS[stage])
        logs = f"logs/{stage}{'-again' if last else ''}"
        part = (await self._run(run, logs))[host]
        if part.how is not How.WELL:
            return self._trouble_of_one(stage, part, f"{logs}/{host}.log", last)
        figures = [self._placed(figure, target) for figure in _figures(part, target)]
        if not figures:
            part.how, part.reason = How.FAILED, "it printed no figure"
            return self._trouble_of_one(stage, part, f"{logs}/{host}.log", last)
        for load in (figure.details.get("load1") for figure in figures):
            if isinstance(load, float):
                self._loads.setdefault(self._names[host][0], load)
        self._take(figures)
        return False

    async def _within_one(self, host: str, *, last: bool = False) -> bool:
        target = self._targets[host]
        logs = f"logs/{Stage.WITHIN}{'-again' if last else ''}"
        port = await self._port(Stage.WITHIN, host)
        if port is None:
            return False
        run_id = self._run_id()
        what = self._collective(Stage.WITHIN, (target,), port, run_id)
        run = GroupRun(run_id, what.commands, _files_of(what.way), TORCH_LIMIT_S)
        part = (await self._run(run, logs))[host]
        if part.how is How.WELL:
            value, reason = await self._busbw(what, self._directory / logs / f"{host}.log")
            if value is not None:
                self._take([Figure("within", value, "GB/s", (host,), (), what.kind)])
                return False
            part.how, part.reason = How.FAILED, reason
        return self._trouble_of_one(Stage.WITHIN, part, f"{logs}/{host}.log", last)

    def _trouble_of_one(self, stage: Stage, part: Part, log: str, last: bool) -> bool:
        """A host's own run did not go well; whether it is tried once more."""
        trouble = Trouble(stage, (part.host,), part.reason, part.host, log)
        if last and part.how in (How.HELD, How.AWAY):
            trouble = self._first.get(part.host, trouble)  # as it failed when it could be tried
        elif part.how is How.HELD:
            self._leave_out(part.host, part.reason)
            return False
        elif part.how is How.FAILED and not last and not part.left:
            self._first[part.host] = trouble
            return True
        self._blame(trouble)
        return False

    # Hosts together ------------------------------------------------------------------------------

    async def _pairs(self) -> None:
        rounds = self._plan.rounds
        total = sum(map(len, rounds))
        done = 0
        failed: dict[Pair, Trouble] = {}
        for pairs in rounds:
            named = [self._in_order([self._in_touch(host) for host in pair]) for pair in pairs]
            here = [pair for pair in named if not set(pair) & self._out]
            for pair, trouble in zip(here, await self._round(here, ""), strict=True):
                if trouble is not None:
                    failed[pair] = trouble
            done += len(pairs)
            self._tell(Stage.PAIRS, done, total, "; ".join(" and ".join(pair) for pair in here))
        again = self._pairs_again(failed)
        for pairs in disjoint(again):
            here = [pair for pair in pairs if not set(pair) & self._out]
            names = "; ".join(" and ".join(pair) for pair in here)
            self._tell(Stage.PAIRS, total, total, f"once more: {names}")
            for pair, trouble in zip(here, await self._round(here, "-again"), strict=True):
                if trouble is not None:
                    failed[pair] = trouble
                else:
                    failed.pop(pair, None)
        self._troubles += [t for pair, t in failed.items() if not set(pair) & self._out]

    async def _round(self, pairs: Sequence[Pair], again: str) -> list[Trouble | None]:
        found = [self._together(Stage.PAIRS, pair, again) for pair in pairs]
        return [trouble for trouble, _ in await _all_of(found)]

    def _pairs_again(self, failed: Mapping[Pair, Trouble]) -> list[Pair]:
        """Slow and failed ones, and of a host that is slow with everybody two."""
        again = list(failed)
        for series in {figure.series for figure in self._figures.values()}:
            if series[0] not in ("pair", "exchange"):
                continue
            values: dict[Pair, float] = {}
            for figure in self._of(series):
                pair = self._in_order(figure.hosts)
                values[pair] = min(values.get(pair, figure.value), figure.value)
            ends = slow_ends(values, METRICS[series[0]].tolerance)
            again += ends.pairs
            for host in ends.hosts:
                again += [pair for pair in values if host in pair][:2]
        return list(dict.fromkeys(again))[: 2 * len(self._targets)]

    async def _all(self) -> None:
        """All at once; where that fails, who breaks it."""
        broken_pairs = [t.hosts for t in self._troubles if t.stage is Stage.PAIRS and not t.host]
        apart = {max(pair, key=list(self._targets).index) for pair in broken_pairs}
        named = dict.fromkeys(map(self._in_touch, self._present(self._targets)))
        hosts = [host for host in named if host not in apart]
        most = 4 * max(1, len(hosts)).bit_length() + 8
        while len(hosts) > 2:
            self._tell(Stage.ALL, 0, 1, ", ".join(hosts))
            trouble, figures = await self._together(Stage.ALL, tuple(hosts), "")
            hosts = [host for host in hosts if host not in self._out]
            if trouble is None:
                self._take(figures)
                break
            if not set(trouble.hosts) <= set(hosts):
                continue  # somebody has taken one meanwhile, or it is gone: without it
            self._tell(Stage.ALL, 0, 1, f"it fails: {trouble.reason}; looking for who breaks it")
            culprits = await find_culprits(hosts, self._broken, most_tries=most)
            most -= culprits.tries
            found = culprits.hosts
            host = found[0] if len(found) == 1 else ""
            reason = trouble.reason if culprits.certain else f"{trouble.reason}; one of these"
            self._blame(replace(trouble, hosts=found, host=host, reason=reason))
            hosts = [one for one in hosts if one not in found]
            if most <= 0:
                break
        self._tell(Stage.ALL, 1, 1, "")

    async def _broken(self, groups: Sequence[tuple[str, ...]]) -> list[bool]:
        found = await _all_of(self._together(Stage.ALL, group, "-part") for group in groups)
        return [trouble is not None for trouble, _ in found]

    async def _together(
        self, stage: Stage, hosts: Sequence[str], again: str
    ) -> tuple[Trouble | None, list[Figure]]:
        """Measure hosts together; a pair's figures are taken, others handed back."""
        targets = tuple(self._targets[host] for host in hosts)
        port = await self._port(stage, hosts[0])
        if port is None:
            return Trouble(stage, tuple(hosts), f"{hosts[0]} gives no port", hosts[0]), []
        run_id, way = self._run_id(), self._plan.way[2]
        what = None
        if way is Way.TCP:
            seconds = self._plan.wishes.seconds
            commands = tcp_commands(
                targets, self._plan.wishes.python, port, f"{self._token}-{run_id}", seconds
            )
            run = GroupRun(run_id, commands, staged(TCP_PROGRAM), TCP_LIMIT_S)
            kind = str(Way.TCP)
        else:
            what = self._collective(stage, targets, port, run_id)
            run = GroupRun(run_id, what.commands, _files_of(way), TORCH_LIMIT_S)
            kind = what.kind
        logs = f"logs/{stage}{again}/{run_id.rpartition('-')[2]}"
        parts = await self._run(run, logs)
        log = f"{logs}/{hosts[0]}.log"
        bad = [part for part in parts.values() if part.how not in (How.WELL, How.STOPPED)]
        for part in bad:
            if part.how is How.HELD:
                self._leave_out(part.host, part.reason)
            elif part.how is How.AWAY:
                self._blame(Trouble(stage, (part.host,), part.reason, part.host))
        if bad:
            first = next((part for part in bad if part.how is How.FAILED), bad[0])
            where = f"{logs}/{first.host}.log"
            reason = f"{first.host}: {first.reason}"
            return Trouble(stage, tuple(hosts), reason, log=where, kind=kind), []
        if what is None:
            metric = "exchange" if stage is Stage.PAIRS else "ring"
            said = said_in(bytes(parts[hosts[0]].log), hosts, kind)
            figures = [replace(f, metric=metric) for f in said if f.metric == "exchange"]
            reason = "it printed no figure"
        else:
            value, reason = await self._busbw(what, self._directory / log)
            metric = "pair" if stage is Stage.PAIRS else "all"
            figures = []
            if value is not None:
                figures.append(Figure(metric, value, "GB/s", tuple(hosts), (), kind))
        if not figures:
            return Trouble(stage, tuple(hosts), reason, log=log, kind=kind), []
        if stage is Stage.PAIRS:
            self._take(figures)
        return None, figures

    def _collective(
        self, stage: Stage, targets: Sequence[Target], port: int, run_id: str
    ) -> Collective:
        on_gpus = all(target.gpus for target in targets)
        return collective(
            self._plan.way[min(2, len(targets))],
            targets,
            python=self._plan.wishes.python,
            port=port,
            run_id=run_id,
            size=SIZES[stage] if on_gpus else ON_CPUS,
        )

    async def _busbw(self, what: Collective, log: Path) -> tuple[float | None, str]:
        """GB/s by nccl-tests' definition, or why there are none."""
        try:
            measured, _ = await asyncio.to_thread(measure_file, what.profile, log, what.case)
        except DlperfError as error:
            return None, error.what
        return measured.throughput, measured.reason or "it printed no figure"

    # What all of them need -----------------------------------------------------------------------

    async def _port(self, stage: Stage, host: str) -> int | None:
        try:
            async with asyncio.timeout(PORT_S):
                return await RemoteHost(self._transports[host]).free_port()
        except (HostUnreachableError, RemoteError, TimeoutError, ValueError) as error:
            reason = getattr(error, "what", "") or "the host does not answer"
            self._blame(Trouble(stage, (host,), reason, host))
            return None

    async def _run(self, run: GroupRun, logs: str) -> dict[str, Part]:
        parts = await run_group(run, self._transports, self._lease, self._directory / logs)
        for part in parts.values():
            if part.left:
                self.left.append(f"{part.host}: run {run.run_id}: {part.left}")
        return parts

    def _run_id(self) -> str:
        self._number += 1
        return f"precheck-{self._token}-{self._number:04d}"

    def _take(self, figures: Sequence[Figure]) -> None:
        """What is measured once more counts where it is better: a host can do that. And a fault
        where it is worse: a GPU that was wrong once can be so again."""
        worst_first = sorted(figures, key=lambda one: one.value)
        fresh = {(figure.series, figure.subject): figure for figure in worst_first}
        for key, figure in fresh.items():
            if before := self._figures.get(key):
                best = max(before, figure, key=lambda one: one.value)
                each = [*each_of(before), figure.value]
                self._figures[key] = replace(best, details={**best.details, EACH: each})
            else:
                self._figures[key] = figure

    def _of(self, series: tuple[str, str]) -> list[Figure]:
        return [figure for figure in self._figures.values() if figure.series == series]

    def _placed(self, figure: Figure, target: Target) -> Figure:
        """A link between GPUs is compared with links of its sort."""
        if figure.metric != "peer" or len(figure.devices) != 2:
            return figure
        return replace(figure, kind=f"{figure.kind} {target.link(*figure.devices)}".rstrip())

    def _present(self, hosts: Sequence[str] | Mapping[str, object] | set[str]) -> list[str]:
        """In the inventory's order, those that are still asked."""
        return [name for name in self._targets if name in hosts and name not in self._out]

    def _in_touch(self, host: str) -> str:
        """The name under which its machine is measured together with others."""
        return next((name for name in self._names[host] if name not in self._out), host)

    def _in_order(self, hosts: Sequence[str]) -> Pair:
        first, second = sorted(hosts, key=list(self._targets).index)
        return first, second

    def _blame(self, trouble: Trouble) -> None:
        if trouble.host and trouble.host in self._out:
            return
        self._troubles.append(trouble)
        if trouble.host:
            self._out.add(trouble.host)
            self._tell(trouble.stage, 0, 0, f"{trouble.host}: {trouble.reason}")

    def _leave_out(self, host: str, reason: str) -> None:
        self._left_out[host] = reason
        self._out.add(host)

    def _tell(self, stage: Stage, done: int, total: int, text: str) -> None:
        self._say(Progress(stage, done, total, text))


def _measured_in(metric: str) -> Stage:
    if metric == "within":
        return Stage.WITHIN
    return Stage.HOST if METRICS[metric].about is About.HOST else Stage.GPUS


def _figures(part: Part, target: Target) -> list[Figure]:
    return list(said_in(bytes(part.log), (target.name,), target.kind))


def _files_of(way: Way) -> tuple[StagedTree, ...]:
    return staged(*TORCH_FILES) if way is Way.TORCH else ()


async def _all_of(works: Iterable[Awaitable[T]]) -> list[T]:
    """The results, in order; where one raises or we are cancelled, none is left at work."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
