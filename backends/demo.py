"""The demo: the whole program on four simulated hosts with eight V100 each.

Only the hosts are made up. What runs on them goes through the same engine, wrapper, parsers and
reports as anywhere else, and says SIMULATED wherever it shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from backends.campaign.folder.create import SIMULATED
from backends.campaign.plan.selection import Selection
from backends.campaign.record.cause import Cause
from backends.campaign.record.journal import FILE_NAME, last_time
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, RunState
from backends.clocks import PACE, Pace
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.host_entry import Host, Inventory
from backends.results.findings import Concern
from backends.results.summary import summarise
from backends.simulated.fake_run import Workload
from backends.simulated.simulated_cluster import SimulatedCluster
from backends.simulated.spec import HostSpec, v100_host
from backends.simulated.supervising import Asked
from backends.simulated.training_programs import HOLDS, UNKNOWN, Misfortune, asked_of
from backends.use_cases import Workspace
from profiles.format.catalog import LIBRARY, Catalog, source_of

MOST_AHEAD_S = 30 * 86_400.0
"""No demo gets farther: what says so was made by something else."""
HOT_C = 88
"""Of a GPU that computes nothing: its host is degraded."""
MISFORTUNES = {
    ("NGC TensorFlow", 4): Misfortune.THROTTLED,
    ("PaddlePaddle", 2): Misfortune.OUT_OF_MEMORY,
    ("NGC PyTorch", 3): Misfortune.STALLS,
}
"""What happens to the run of that number of a framework, in the order in which they begin."""

HOSTS = tuple(Host(f"sim{number}", address=f"sim{number}.invalid") for number in range(1, 5))
"""No address that anybody could have (RFC 2606): what was run here can be run on no real host."""

SETTINGS = {
    "oneflow-resnet50": {
        "benchmark_root": "/opt/OneFlow-Benchmark/Classification/cnns",
        "data_root": "/data/imagenet/ofrecord",
    },
    "paddle-resnet50": {
        "checkout": "/opt/models/PaddleCV/image_classification",
        "data_dir": "/data/imagenet/ILSVRC2012",
    },
    "ngc-tensorflow-resnet50": {"data_dir": "/data/imagenet/tfrecords"},
    "ngc-pytorch-resnet50": {"data_dir": "/data/imagenet"},
}
"""What the hosts have in place, for the profiles that they can run."""

EXPECTED = {
    "oneflow-resnet50": "29 + batch_size * 0.55",
    "paddle-resnet50": "23 + batch_size * 0.35 + gpus * 0.3",
    "ngc-tensorflow-resnet50": "44 + batch_size * (0.44 + 0.79 * (precision == 'fp32')) + gpus / 3",
    "ngc-pytorch-resnet50": "21 + batch_size * (0.12 + 0.226 * (precision == 'fp32'))",
}
"""What a run takes there, in simulated time; the profiles' own estimates are those of V100s."""

REPEATS = 3
SELECTION = Selection(
    profiles=tuple(SETTINGS),
    cases=("1n1g", "1n8g", "2n8g", "4n8g"),
    values={
        "ngc-tensorflow-resnet50:precision": ("amp",),
        "ngc-pytorch-resnet50:precision": ("amp",),
    },
    repeats=REPEATS,
    name="demo",
)


def open_demo(campaigns: Path, speed: float, epoch: float, seed: int = 0) -> Workspace:
    """A workspace on the simulated hosts, on the running event loop and at the pace of the present
    context. ``epoch``: what time it is now, seconds since the epoch; where what was simulated
    before has got farther, time goes on from there."""
    epoch = max([epoch, *_moments(campaigns, epoch)])
    programs = _Programs(seed)
    specs = {host.name: _host(hot=host is HOSTS[-1]) for host in HOSTS}
    cluster = SimulatedCluster(
        specs, programs, seed=seed, epoch=epoch, speed=speed, patient=True, hold=HOLDS
    )
    programs.cluster = cluster
    PACE.set(Pace(lambda: cluster.time.now, speed))
    return Workspace(
        Inventory(HOSTS, Path("the demo")),
        demo_catalog(),
        campaigns,
        clock=cluster.clock,
        simulated=cluster,
    )


def _moments(campaigns: Path, now: float) -> Iterator[float]:
    """Up to when campaigns were simulated, seconds since the epoch."""
    for path in campaigns.glob(f"*{SIMULATED}*/{FILE_NAME}"):
        moment = last_time(path)
        if moment is not None and moment < now + MOST_AHEAD_S:
            yield moment


def _host(*, hot: bool) -> HostSpec:
    """As OneFlow's report of 2020 describes them."""
    spec = replace(
        v100_host(),
        os="Ubuntu 16.04.4 LTS (SIMULATED)",
        kernel="4.4.0-116-generic",
        cpu_model="Intel(R) Xeon(R) Gold 5118 CPU @ 2.30GHz",
        driver="440.33.01",
        cuda="10.2",
    )
    if not hot:
        return spec
    gpus = list(spec.gpus)
    gpus[5] = replace(gpus[5], temperature_c=HOT_C)
    return replace(spec, gpus=tuple(gpus))


def demo_catalog() -> Catalog:
    """The bundled profiles that the hosts can run, with what they need already in place."""
    sources = {}
    for name, settings in SETTINGS.items():
        path = LIBRARY / f"{name}.toml"
        text = path.read_text("utf-8")
        for setting, value in settings.items():
            title = f"[settings.{setting}]\n"
            text = text.replace(title, f'{title}default = "{value}"\n')
        text = re.sub(r'(?m)^expected = "[^"]*"', f'expected = "{EXPECTED[name]}"', text)
        sources[name] = source_of(path, text.encode())
    return Catalog(sources, {})


class _Programs:
    """What runs do on the hosts; the same run the same on all of its own, and whenever a campaign
    of that name has it."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._numbers: dict[str, dict[str, int]] = {}  # of runs, by framework
        self.cluster: SimulatedCluster

    def __call__(self, asked: Asked) -> Workload:
        found = asked_of(asked.script.decode("utf-8", "replace"))
        if found is None:
            return UNKNOWN
        program, job = found
        numbers = self._numbers.setdefault(program.framework, {})
        number = numbers.setdefault(asked.run_id, len(numbers) + 1)
        misfortune = MISFORTUNES.get((program.framework, number))
        began = self.cluster.machines[asked.host].kernel.wall
        campaign = asked.who.rpartition(", campaign ")[2]
        run = asked.run_id.partition("-")[2]  # in front of it is the campaign's own, by chance
        seed = (self._seed, program.framework, job, campaign, run)
        return program.workload(job, seed, began, misfortune)


def not_as_scripted(state: CampaignState, hosts: Sequence[HostSnapshot]) -> tuple[str, ...]:
    """What did not come out of :data:`SELECTION` as :data:`MISFORTUNES` has it, in words; empty:
    everything did, and the program has found and named all of it."""
    return tuple(_differences(state, hosts))


def _differences(state: CampaignState, hosts: Sequence[HostSnapshot]) -> Iterator[str]:
    if not state.simulated:
        yield "the campaign does not say that it was simulated"
    ends = Counter(
        f"failed: {run.category}" if run.state is RunState.FAILED else str(run.state)
        for run in state.latest_attempts()
    )
    failures = {f"failed: {Cause.NAMED}": 1, f"failed: {Cause.STALLED}": 1}
    runs = len(SETTINGS) * len(SELECTION.cases) * REPEATS
    expected = failures | {str(RunState.SUCCEEDED): runs - len(failures)}
    if ends != expected:
        yield f"runs ended as {dict(ends)}, not as {expected}"
    cases = [case for group in summarise(run_results(state)) for case in group.cases]
    throttled = [case for case in cases if Concern.THROTTLED in case.concerns]
    if len(throttled) != 1:
        yield f"{len(throttled)} cases were throttled, not 1"
    if any(Concern.SIMULATED not in case.concerns for case in cases):
        yield "a case does not say that it was simulated"
    degraded = [host.name for host in hosts if host.state is HostState.DEGRADED]
    if degraded != [HOSTS[-1].name]:
        yield f"{', '.join(degraded) or 'no host'} was found degraded, not {HOSTS[-1].name}"
