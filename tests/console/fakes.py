"""A workspace without a cluster: four hosts with eight V100 each, a clock that is told the time.

The campaign's state is the real fold over real events; only what happens on the hosts is made up,
from the clock alone, so that the same moment always shows the same screen.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from getpass import getuser
from pathlib import Path

from backends.campaign.folder.index import CampaignSummary, is_of
from backends.campaign.folder.past_index import PastIndex
from backends.campaign.folder.raw_logs import LogDoubt, with_doubts
from backends.campaign.folder.remove import Removable
from backends.campaign.folder.tags_and_note import About
from backends.campaign.plan.plan import Plan, PlannedCase
from backends.campaign.plan.planner import make_plan
from backends.campaign.plan.selection import Selection
from backends.campaign.plan.without_stopped import without_stopped
from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import Cleanup
from backends.campaign.record.lock import Holder
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, RunRecord, RunState, apply
from backends.campaign.record.status_view import CampaignSnapshot, Kept, take
from backends.hangs.diagnosis import Diagnosis
from backends.hangs.slow_rank import SlowRank
from backends.hosts.foreseen import facts_for, foreseen, renewed
from backends.hosts.host_condition import concerns, state_of
from backends.hosts.host_facts import Gpu, GpuProcess, HostFacts, HostSnapshot, HostState, Topology
from backends.hosts.preflight_finding import Bearing, Finding
from backends.inventory.host_entry import Host, Inventory
from backends.keeper.request import Answer, Verb
from backends.results.gained_parameters import Assumed, no_defaults, with_defaults
from backends.results.run_result import RunResult
from backends.results.side_by_side import named_apart
from backends.transports.credential import Credential
from profiles.errors import DlperfError, SelectionError
from profiles.format.case import Case
from profiles.format.catalog import Catalog, read_source
from tests.console.fake_prechecks import FakePrechecks

START = 1_795_226_400.0  # 2026-11-21 02:00 UTC

FINGERPRINT = "v100, driver 450.80.02"

V100_LINKS = """
 X  NV1 NV1 NV2 NV2 SYS SYS SYS NODE
NV1  X  NV2 NV1 SYS NV2 SYS SYS NODE
NV1 NV2  X  NV2 SYS SYS NV1 SYS PIX
NV2 NV1 NV2  X  SYS SYS SYS NV1 PIX
NV2 SYS SYS SYS  X  NV1 NV1 NV2 SYS
SYS NV2 SYS SYS NV1  X  NV2 NV1 SYS
SYS SYS NV1 SYS NV1 NV2  X  NV2 SYS
SYS SYS SYS NV1 NV2 NV1 NV2  X  SYS
NODE NODE PIX PIX SYS SYS SYS SYS  X
"""


class Clock:
    """Seconds since the epoch, moved by hand."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def tick(self, seconds: float) -> None:
        self.now += seconds


def topology() -> Topology:
    links = tuple(tuple(line.split()) for line in V100_LINKS.strip().splitlines())
    labels = (*(f"GPU{i}" for i in range(8)), "mlx5_0")
    cpus = ("0-11,24-35",) * 4 + ("12-23,36-47",) * 4
    return Topology(labels, links, cpus, ("0",) * 4 + ("1",) * 4, {})


def facts(*, busy: Sequence[int] = (), user: str = "alice", offset: float = 0.002) -> HostFacts:
    gpus = tuple(
        Gpu(
            index=i,
            name="Tesla V100-SXM2-16GB",
            uuid=f"GPU-{i}",
            bus_id=f"0000:{i:02x}:00.0",
            memory_total_mib=16160,
            memory_used_mib=14210 + 8 * i if i in busy else 11,
            utilization_pct=97 - i if i in busy else 0,
            power_w=262.0 + 3 * i if i in busy else 41.0 + i,
            power_limit_w=300.0,
            temperature_c=61 + i if i in busy else 34 + i % 3,
            sm_clock_mhz=1530 if i in busy else 135,
        )
        for i in range(8)
    )
    processes = tuple(GpuProcess(i, 41200 + i, user, "python train.py", 14199) for i in busy)
    return HostFacts(
        os="Ubuntu 18.04.4 LTS",
        kernel="4.15.0-112",
        boot_id="b0",
        cpu_model="Intel Xeon Gold 5118",
        cpus=48,
        numa_nodes=2,
        memory_mib=385_400,
        memory_available_mib=352_100 if not busy else 301_220,
        load1=0.4 if not busy else 9.7,
        users=(user,) if busy else (),
        python="3.6.9",
        driver_version="440.33.01",
        cuda_version="10.2",
        gpus=gpus,
        gpu_processes=processes,
        topology=topology(),
        clock_offset_s=offset,
        container_runtimes=("docker",),
    )


def v100_hosts() -> tuple[HostSnapshot, ...]:
    return (
        known_host("node1", "10.11.0.2", facts()),
        known_host("node2", "10.11.0.3", facts(offset=0.004)),
        known_host("node3", "10.11.0.4", facts(busy=(0, 1, 2, 3))),
        known_host("node4", "10.11.0.5", facts(offset=-3.4)),
    )


def known_host(name: str, address: str, found: HostFacts) -> HostSnapshot:
    """A host as a probe would have it."""
    gpus = tuple(replace(gpu, uuid=gpu.uuid and f"{gpu.uuid}-{name}") for gpu in found.gpus)
    found = replace(found, boot_id=f"boot-{name}", gpus=gpus)
    state, reason = state_of(found)
    return HostSnapshot(
        name,
        address,
        state,
        reason,
        found,
        slots=8,
        concerns=concerns(found),
        probed_at=START - 25,
    )


def unprobed(hosts: Sequence[HostSnapshot]) -> tuple[HostSnapshot, ...]:
    return tuple(HostSnapshot(h.name, h.address, HostState.UNKNOWN) for h in hosts)


@dataclass(frozen=True)
class FakeDryRun:
    label: str
    short: str
    hosts: tuple[str, ...]
    commands: tuple[str, ...]
    start_s: float | None = None
    end_s: float | None = None
    job: str = ""
    of_all: bool = False
    number: int = 1


@dataclass(frozen=True)
class FakeFinding:
    level: str
    what: str
    remedy: str
    host: str
    bearing: Bearing | None = None
    harmless: bool = False

    of_any = Finding.of_any


@dataclass(frozen=True)
class FakeSummary:
    name: str
    path: Path
    state: str
    done: int
    total: int
    created_at: float | None = START
    simulated: bool = False
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    not_begun: int = 0
    about: About = field(default_factory=About)
    measures: str = "oneflow-resnet50 1n1g"
    problem: str = ""
    keeper: bool = False
    at_work: int = 0
    seen_at: float | None = None
    tried_again: int = 0
    planned_again: int = 0
    forced: bool = False
    hosts_forced: tuple[str, ...] = ()
    hosts_left_out: tuple[str, ...] = ()

    called = CampaignSummary.called
    saying = CampaignSummary.saying
    counting = CampaignSummary.counting


def commands(case: Case, hosts: Sequence[str]) -> tuple[str, ...]:
    nodes = ",".join(hosts)
    return tuple(
        f"python3 of_cnn_train_val.py --num_nodes={case.nodes} "
        f"--gpu_num_per_node={case.gpus_per_node} "
        f"--batch_size_per_device={case.text('batch_size')} "
        f"--node_ips={nodes} --node_rank={rank}"
        for rank, _ in enumerate(hosts)
    )


RUN_S = 40.0
STARTING_S = 2.0


def rate(case: Case, repeat: int, number: int) -> float:
    """Samples/s of one made-up reading: near-linear scaling, a slow first, a little wobble."""
    ideal = 385.0 * case.gpus * (0.985 ** math.log2(case.gpus))
    wobble = 1 + 0.006 * math.sin(number * 1.9 + repeat * 2.3) + 0.002 * math.cos(number * 0.7)
    return float(ideal) * wobble * (0.72 if number == 0 else 1.0)


@dataclass
class FakeController:
    """Runs one after another on the first hosts of the list; everything follows from the clock."""

    path: Path
    cases: Sequence[PlannedCase]
    clock: Clock
    hosts: Sequence[str] = ("node1", "node2", "node3", "node4")
    simulated: bool = False
    fails: Mapping[str, str] = field(default_factory=dict)  # run label tag -> reason
    log_line: str = ""
    state: CampaignState = field(default_factory=CampaignState)
    cancelled: list[str] = field(default_factory=list)
    retried: list[str] = field(default_factory=list)
    diagnosed: list[str] = field(default_factory=list)
    diagnoses: Mapping[str, Diagnosis] = field(default_factory=dict)  # by run label tag
    slow: Mapping[str, tuple[SlowRank, ...]] = field(default_factory=dict)  # by run label tag
    speed: float = 1.0
    environment: str = ""
    repeated: int = 0
    added: list[Plan] = field(default_factory=list)
    detached: bool = False
    kept: Kept = field(default_factory=Kept)
    events: int = 0

    def __post_init__(self) -> None:
        if not self.state.campaign:
            self._apply(
                ev.CampaignCreated(
                    t=self.clock(),
                    campaign=self.path.name,
                    simulated=self.simulated,
                    hosts=len(self.hosts),
                )
            )
            plan_rounds = Plan(Selection(()), (), tuple(self.cases), ()).rounds()
            for number, (repeat, planned) in enumerate(plan_rounds):
                self._plan(f"r{number:02d}", planned.case, repeat, 1, planned.expected_s or 0.0)

    def _apply(self, event: ev.Event) -> None:
        self.state = apply(self.state, event)
        self.events += 1

    def _plan(self, run_id: str, case: Case, repeat: int, attempt: int, expected_s: float) -> None:
        self._apply(
            ev.RunPlanned(
                t=self.clock(),
                run_id=run_id,
                profile=case.profile,
                framework="OneFlow",
                model="ResNet50 V1.5",
                unit="images/s",
                nodes=case.nodes,
                gpus_per_node=case.gpus_per_node,
                parameters=dict(case.parameters),
                repeat=repeat,
                attempt=attempt,
                expected_s=expected_s,
            )
        )

    def log_path(self, run_id: str, host: str | None = None) -> Path:
        run = self.state.runs[run_id]
        name = run.log or f"logs/{run_id}.log"
        if host is not None and run.hosts and host != run.hosts[0]:
            name = name.removesuffix(".log") + f".{host}.log"
        return self.path / name

    def why_not_added(self, plan: Plan, findings: Sequence[FakeFinding] = ()) -> str:
        new, others = self.to_add(plan)
        return "" if new.cases else [*others, "it has these cases"][0]

    def to_add(self, plan: Plan) -> tuple[Plan, list[str]]:
        own = {planned.profile.name for planned in self.cases}
        had = {run.case.key for run in self.state.runs.values()}
        new = [p for p in plan.cases if p.profile.name in own and p.case.key not in had]
        others = [f"it has no {name}" for name in plan.profile_names if name not in own]
        return replace(plan, cases=tuple(new)), others

    def add(self, plan: Plan) -> int:
        new, _ = self.to_add(plan)
        self.added.append(new)
        for number, (repeat, planned) in enumerate(new.rounds(), len(self.state.runs)):
            self._plan(f"r{number:02d}", planned.case, repeat, 1, planned.expected_s or 0.0)
        return new.run_count

    def snapshot(self) -> CampaignSnapshot:
        self.advance()
        return take(self.state, self.path, now=self.clock(), revision=self.events, kept=self.kept)

    def _runs(self) -> list[RunRecord]:
        return list(self.state.runs.values())

    def advance(self) -> None:
        """Bring everything up to the clock: a run at a time per host, the next when one ends."""
        now = self.clock()
        while True:
            active = [run for run in self._runs() if run.state.active]
            for run in active:
                self._grow(run, now)
            free_at = self._ended_at()
            taken = {h for run in self._runs() if run.state.active for h in run.hosts}
            started = False
            for run in self._runs():
                free = [h for h in self.hosts if h not in taken]
                if run.paused:
                    continue
                if run.state is RunState.PLANNED and len(free) >= run.nodes:
                    chosen = tuple(free[: run.nodes])
                    since = max(
                        [free_at.get(h, 0.0) for h in chosen] + [self.state.created_at or 0]
                    )
                    if since > now:
                        continue
                    self._begin(run, chosen, since)
                    taken.update(chosen)
                    started = True
                elif run.state is RunState.PLANNED:
                    break
            if not started:
                break
        runs = self._runs()
        if runs and all(run.state.ended for run in runs) and not self.state.finished:
            self._apply(ev.CampaignFinished(t=now))

    def _ended_at(self) -> dict[str, float]:
        ended: dict[str, float] = {}
        for run in self._runs():
            for host in run.hosts:
                ended[host] = max(ended.get(host, 0.0), run.ended_at or 0.0)
        return ended

    def _begin(self, run: RunRecord, hosts: tuple[str, ...], at: float) -> None:
        self._apply(
            ev.RunAssigned(
                t=at,
                run_id=run.run_id,
                hosts=hosts,
                commands=commands(run.case, hosts),
                port=29500,
                log=f"logs/{run.run_id}.log",
            )
        )

    def _grow(self, run: RunRecord, now: float) -> None:
        start = run.started_at or 0.0
        if now - start < STARTING_S:
            return
        if run.state is RunState.STARTING:
            self._apply(ev.RunLaunched(t=start + STARTING_S, run_id=run.run_id))
        if run.state is RunState.CANCELLING:
            self._apply(ev.RunCancelled(t=now, run_id=run.run_id, cleanup=Cleanup(looked=True)))
            return
        reason = self.fails.get(run.case.tag)
        end = start + (RUN_S / 2 if reason else RUN_S)
        until = min(now, end)
        number = int((until - start - STARTING_S) // 2)
        readings = tuple(
            (20.0 * (i + 1), rate(run.case, run.repeat, i), start + STARTING_S + 2.0 * (i + 1))
            for i in range(run.reading_count, number)
        )
        if readings:
            self._apply(
                ev.ReadingsArrived(
                    t=until,
                    run_id=run.run_id,
                    first=run.reading_count,
                    readings=readings,
                    warmup=1,
                )
            )
            self._write_log(run, readings)
            if (slow := self.slow.get(run.case.tag)) is not None:
                told = ev.SlowRanksTold(t=until, run_id=run.run_id, slow_ranks=slow)
                self._apply(told)
        if now >= end:
            self._end(run, end, reason)

    def _write_log(self, run: RunRecord, readings: Sequence[tuple[float, float, float]]) -> None:
        for host in run.hosts:
            path = self.log_path(run.run_id, host)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", errors="surrogatepass") as log:
                if not run.reading_count:
                    log.write(f"[{host}] {run.case.tag}: data loaded, training starts\n")
                    log.write(self.log_line)
                for step, value, _ in readings:
                    log.write(
                        f"train: epoch 0, iter {step:.0f}, loss: {7.0 - step / 200:.6f}, "
                        f"samples/s: {value:.3f}\n"
                    )

    def _end(self, run: RunRecord, at: float, reason: str | None) -> None:
        if reason:
            if (found := self.diagnoses.get(run.case.tag)) is not None:
                self._apply(ev.RunDiagnosed(t=at - 1.0, run_id=run.run_id, diagnosis=found))
            self._apply(
                ev.RunFailed(
                    t=at,
                    run_id=run.run_id,
                    reason=reason,
                    evidence=(
                        "RuntimeError: NCCL communicator was aborted on rank 3",
                        "  unhandled system error, NCCL version 2.7.8",
                    ),
                    category="nccl",
                    host=run.hosts[-1],
                    exit_status=1,
                    cleanup=Cleanup(looked=True),
                )
            )
            return
        rates = [rate(run.case, run.repeat, i) for i in range(1, 19)]
        self._apply(
            ev.RunSucceeded(
                t=at,
                run_id=run.run_id,
                throughput=self.speed * sum(rates) / len(rates),
                readings=19,
                used=18,
                window="readings 2 to 19",
                statistic="mean",
                gpu_memory_mib=13_210,
                fingerprint=self.environment or FINGERPRINT,
            )
        )

    def note(self, text: str, level: str = "warn") -> None:
        self._apply(ev.Noted(t=self.clock(), text=text, level=level))

    async def wait(self) -> None:
        return None

    def cancel_run(self, run_id: str) -> None:
        self.cancelled.append(run_id)
        run = self.state.runs[run_id]
        if run.state is RunState.PLANNED:
            self._apply(ev.RunCancelled(t=self.clock(), run_id=run_id))
        else:
            self._apply(ev.RunCancelling(t=self.clock(), run_id=run_id))

    def cancel_all(self) -> None:
        for run in self._runs():
            if not run.state.ended:
                self.cancel_run(run.run_id)

    def retry(self, run_id: str) -> None:
        self.retried.append(run_id)
        run = self.state.runs[run_id]
        self._plan(f"{run_id}b", run.case, run.repeat, run.attempt + 1, run.expected_s)

    def pause(self, run_id: str) -> bool:
        pausable = self.state.runs[run_id].pausable
        self._apply(ev.RunPaused(t=self.clock(), run_id=run_id, by="alice"))
        return pausable

    def unpause(self, run_id: str) -> bool:
        paused = self.state.runs[run_id].paused
        self._apply(ev.RunUnpaused(t=self.clock(), run_id=run_id))
        return paused

    def diagnose(self, run_id: str) -> bool:
        self.diagnosed.append(run_id)
        return True

    def repeat(self, repeats: int) -> None:
        self.repeated += repeats

    def judge_logs(self, doubts: Sequence[LogDoubt]) -> None:
        self.state = with_doubts(self.state, doubts)

    async def detach(self) -> None:
        self.detached = True


def frozen_catalog() -> Catalog:
    """Two profiles that stay as they are, whatever becomes of the bundled ones."""
    paths = sorted((Path(__file__).parent / "profiles").glob("*.toml"))
    loaded = [read_source(path) for path in paths]
    return Catalog({source.profile.name: source for source in loaded}, {})


class FakeWorkspace:
    """Stands in for :class:`backends.use_cases.Workspace`."""

    def __init__(
        self,
        campaigns_dir: Path,
        *,
        clock: Clock | None = None,
        hosts: Sequence[HostSnapshot] | None = None,
        catalog: Catalog | None = None,
        findings: Sequence[FakeFinding] = (),
        login_host: str = "login01",
        simulated: bool = False,
        alone: bool = False,
    ) -> None:
        self.clock = clock or Clock()
        self.campaigns_dir = campaigns_dir
        self.login_host = login_host
        self.simulated = simulated
        self.simulated_speed: float | None = None
        self._answers = tuple(v100_hosts() if hosts is None else hosts)
        self._hosts = unprobed(self._answers)
        self.inventory = Inventory(
            tuple(Host(h.name, address=h.address) for h in self._answers),
            None if alone else Path("hosts.toml"),
        )
        self.catalog = catalog or frozen_catalog()
        self.findings = tuple(findings)
        self.overridden: list[list[str]] = []
        self.probed: list[tuple[str, ...] | None] = []
        self.refreshed: list[float] = []
        self.refreshed_among: list[list[str] | None] = []
        self.watched: list[str] = []
        self.telemetry: dict[str, bytes] = {}
        self.started: list[Plan] = []
        self.preflights = 0
        self.forced: list[bool] = []
        self.controllers: dict[Path, FakeController] = {}
        self.summaries: list[FakeSummary] = []
        self.resume_errors: list[DlperfError] = []
        self.resumed: list[tuple[Path, bool]] = []
        self.start_error: DlperfError | None = None
        self.remarked: dict[Path, tuple[str, ...]] = {}
        self.fails: Mapping[str, str] = {}
        self.diagnoses: Mapping[str, Diagnosis] = {}
        self.slow: Mapping[str, tuple[SlowRank, ...]] = {}
        self.log_line = ""
        self.prechecks = FakePrechecks(lambda: zip(self.inventory.hosts, self._hosts, strict=True))
        self.problem = ""
        self.offered = ""
        self.engines: list[str] = []
        self.closed = False
        self.profile_dirs: tuple[Path, ...] = ()
        self.credentials: dict[str, Credential] = {}
        self.asked: list[tuple[Verb, tuple[str, ...] | None, int]] = []
        self.answers: list[Answer | DlperfError | None] = []
        self.kept_by: Holder | None = None  # who else is at work on what is looked at

    def let_in_by(self) -> Mapping[str, Credential]:
        return self.credentials

    @property
    def changes(self) -> FakeWorkspace:
        return self

    async def ask(
        self, path: Path, verb: Verb, run_ids: Sequence[str] | None = None, *, repeats: int = 0
    ) -> Answer | None:
        """The next of ``answers``; without any, nobody is at work on it any more."""
        self.asked.append((verb, None if run_ids is None else tuple(run_ids), repeats))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, DlperfError):
            raise answer
        return answer

    async def retry(
        self, path: Path, run_ids: Sequence[str] | None = None
    ) -> tuple[FakeController, tuple[str, ...]]:
        controller = await self.resume(path)
        for run_id in run_ids or ():
            controller.retry(run_id)
        return controller, tuple(run_ids or ())

    async def repeat(self, path: Path, repeats: int) -> tuple[str, ...]:
        self.controllers[path].repeat(repeats)
        return ()

    @cached_property
    def past(self) -> PastIndex:
        return PastIndex(self.campaigns_dir)

    @property
    def person(self) -> str:
        return f"{getuser()}@{self.login_host}"

    @property
    def cluster(self) -> FakeWorkspace:
        """Its hosts; the same object plays both parts."""
        return self

    def use_engine(self, engine: str) -> None:
        self.engines.append(engine)
        self.offered = ""

    async def offered_engine(self) -> str:
        return self.offered

    def snapshots(self) -> tuple[HostSnapshot, ...]:
        return self._hosts

    async def probe(self, names: Sequence[str] | None = None) -> None:
        self.probed.append(None if names is None else tuple(names))
        self._hosts = tuple(
            new if names is None or new.name in names else old
            for old, new in zip(self._hosts, self._answers, strict=True)
        )

    def will_probe(self, names: Sequence[str] | None = None) -> Sequence[Host]:
        asked = [host for host in self.inventory.hosts if names is None or host.name in names]
        unknown = {h.name for h in self._hosts if h.state is HostState.UNKNOWN}
        coming = unknown & {host.name for host in asked}
        self._hosts = tuple(
            replace(h, state=HostState.PROBING) if h.name in coming else h for h in self._hosts
        )
        return asked

    async def refresh(self, older_than_s: float, among: Sequence[Host] | None = None) -> None:
        self.refreshed.append(older_than_s)
        self.refreshed_among.append(None if among is None else [host.name for host in among])
        asked = {host.name for host in self.inventory.hosts if among is None or host in among}
        answers = {new.name: new for new in self._answers}
        self._hosts = tuple(
            old
            if old.state in (HostState.UNKNOWN, HostState.PROBING) or old.name not in asked
            else answers[old.name]
            for old in self._hosts
        )

    async def watch(self, name: str, take: Callable[[bytes], None]) -> None:
        self.watched.append(name)
        take(self.telemetry.get(name, b""))
        await asyncio.Event().wait()

    def now(self) -> float:
        return self.clock()

    def own_now(self) -> float:
        passed = self.clock() - START
        return START + passed / (self.simulated_speed or 1.0)

    def answer(self, *hosts: HostSnapshot) -> None:
        """What the next probe will find."""
        self._answers = tuple(hosts)

    def _chosen(self, nodeset: str) -> tuple[Host, ...]:
        if not nodeset:
            return self.inventory.hosts
        names = nodeset.split(",")
        unknown = [n for n in names if n not in {h.name for h in self.inventory.hosts}]
        if unknown:
            raise SelectionError(f"no host is called {unknown[0]}", remedy="see page 1")
        return tuple(h for h in self.inventory.hosts if h.name in names)

    def plan(self, selection: Selection) -> Plan:
        hosts = self._chosen(selection.hosts)
        names = {h.name for h in hosts}
        plan = make_plan(
            selection, self.catalog, hosts, [h for h in self._hosts if h.name in names]
        )
        if not plan.cases:
            raise SelectionError("nothing to run", remedy="mark a case on page 2")
        return plan

    def dry_run(self, plan: Plan) -> tuple[FakeDryRun, ...]:
        return tuple(
            FakeDryRun(
                f"{planned.case.tag} b{planned.case.text('batch_size')} "
                + (f"#{repeat}" if number <= plan.run_count else "profiled"),
                planned.case.tag,
                names := slot.hosts if slot else plan.idle_hosts(planned),
                commands(planned.case, names),
                slot and slot.start,
                slot and slot.end,
                number=number,
            )
            for number, ((repeat, planned), slot) in enumerate(
                zip(plan.runs(), plan.timeline, strict=True), 1
            )
        )

    def dry_run_elsewhere(self, plan: Plan) -> tuple[FakeDryRun, ...]:
        return ()

    async def preflight(
        self, plan: Plan, say: Callable[[str], None] | None = None
    ) -> tuple[FakeFinding, ...]:
        self.preflights += 1
        return self.findings

    def foreseen(self, plan: Plan) -> tuple[Finding, ...]:
        names = {host.name for host in plan.hosts}
        used = [host for host in self._hosts if host.name in names]
        capacities = [host.capacity for host in used]
        return foreseen(facts_for(plan.cases, used), plan.cases, capacities=capacities)

    def renewed(
        self,
        plan: Plan,
        findings: Sequence[FakeFinding | Finding],
        hosts: Iterable[HostSnapshot],
    ) -> tuple[FakeFinding | Finding, ...]:
        """What a test says that preflight finds stays so."""
        real = [one for one in findings if isinstance(one, Finding)]
        if not real or len(real) < len(findings):
            return tuple(findings)
        names = [host.name for host in plan.hosts]
        told = facts_for(plan.cases, (host for host in hosts if host.name in names))
        return renewed(real, foreseen(told, plan.cases), told, names)

    def without_stopped(self, plan: Plan, findings: Sequence[FakeFinding]) -> Plan | None:
        return without_stopped(plan, findings, self._hosts, self.plan)  # type: ignore[arg-type]

    def controller(self, plan: Plan, name: str = "2026-11-21-resnet50") -> FakeController:
        controller = FakeController(
            self.campaigns_dir / name,
            plan.cases,
            self.clock,
            hosts=[h.name for h in plan.hosts],
            simulated=self.simulated,
            fails=self.fails,
            diagnoses=self.diagnoses,
            slow=self.slow,
            log_line=self.log_line,
        )
        self.controllers[controller.path] = controller
        return controller

    async def start(
        self, plan: Plan, findings: Sequence[FakeFinding] = (), *, force: bool = False
    ) -> FakeController:
        if self.start_error is not None:
            raise self.start_error
        self.started.append(plan)
        self.forced.append(force)
        self.overridden.append([f.what for f in findings if f.level == "stop"])
        return self.controller(plan)

    async def create(
        self, plan: Plan, findings: Sequence[FakeFinding] = (), *, force: bool = False
    ) -> Path:
        if self.start_error is not None:
            raise self.start_error
        self.started.append(plan)
        self.forced.append(force)
        return self.controller(plan, f"2026-11-21-kept-{len(self.started)}").path

    async def resume(self, path: Path, *, take_over: bool = False) -> FakeController:
        self.resumed.append((path, take_over))
        if self.resume_errors:
            raise self.resume_errors.pop(0)
        return self.controllers[path]

    def has_run(self, run_id: str) -> bool:
        return is_of(self.campaigns_dir, run_id)

    def campaigns(self) -> tuple[FakeSummary, ...]:
        return tuple(self.summaries)

    def log_doubts(self, path: Path, *, go_on: Callable[[], bool]) -> Sequence[LogDoubt]:
        return ()

    def logs_as_known(self, state: CampaignState, path: Path) -> tuple[object, ...]:
        return ()

    def load(self, path: Path, *, quick: bool = False) -> CampaignSnapshot:
        if path not in self.controllers:
            raise DlperfError("no campaign here", where=str(path), remedy="choose another one")
        shown = self.controllers[path].snapshot()
        return replace(shown, read_only=True, kept_by=None if shown.finished else self.kept_by)

    def remarks(self, path: Path) -> tuple[str, ...]:
        return self.remarked.get(path, ())

    def _listed(self, path: Path) -> FakeSummary:
        for one in self.summaries:
            if one.path == path:
                return one
        raise DlperfError("no campaign here", where=str(path))

    def look_at_removable(self, path: Path) -> Removable:
        found = self._listed(path)
        return Removable(found, 12_900_000, None)  # type: ignore[arg-type]

    def remove_campaign(
        self, path: Path, *, force: bool = False, asked: Removable | None = None
    ) -> None:
        self.summaries = [one for one in self.summaries if one.path != path]

    def move_campaign(self, path: Path, new: str) -> Path:
        found = self._listed(path)
        self.summaries[self.summaries.index(found)] = replace(found, path=Path(new))
        return Path(new)

    def describe_campaign(self, path: Path, change: Callable[[About], About]) -> About:
        found = self._listed(path)
        about = change(found.about)
        self.summaries[self.summaries.index(found)] = replace(found, about=about)
        return about

    def runs_together(
        self, paths: Sequence[Path]
    ) -> tuple[tuple[tuple[RunResult, ...], ...], tuple[Assumed, ...]]:
        """As the real one, of runs that the clock has made."""
        for path in paths:
            self.load(path)
        runs = [run_results(self.controllers[path].state) for path in paths]
        return with_defaults(named_apart(paths, runs), no_defaults)

    async def close(self) -> None:
        self.closed = True
