"""What the demo's hosts print is what the profiles read, and comes to the published figures."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.campaign.plan.plan import PlannedCase
from backends.campaign.plan.selection import Selection
from backends.demo import SETTINGS, _Programs, open_demo
from backends.launchers.build import build
from backends.launchers.launcher import LaunchRequest, LaunchSite
from backends.simulated.fake_run import FOREVER
from backends.simulated.simulated_cluster import SimulatedCluster
from backends.simulated.supervising import Asked
from backends.simulated.training_programs import FIRST_LINE, Job, Misfortune, Program, asked_of
from backends.use_cases import Workspace
from profiles.throughput.measure_log_file import measure_file

PUBLISHED = {
    ("oneflow-resnet50", 128, "fp32"): {1: 383.760, 2: 747.295, 4: 1497.618, 8: 2942.321}
    | {16: 5839.054, 32: 11548.451},
    ("oneflow-resnet50", 160, "fp32"): {1: 382.324, 2: 755.956, 4: 1494.733, 8: 3016.431}
    | {16: 5877.289, 32: 11623.889},
    ("paddle-resnet50", 128, "fp32"): {1: 352.23, 2: 633.65, 4: 1357.45, 8: 2621.2}
    | {16: 4890.44, 32: 9311.85},
    ("ngc-tensorflow-resnet50", 256, "fp32"): {1: 414.73, 8: 3275.93, 32: 12671.9},
    ("ngc-tensorflow-resnet50", 256, "amp"): {1: 1173.38, 8: 9310.31, 32: 33317.67},
    ("ngc-pytorch-resnet50", 256, "amp"): {1: 859.24},
}
TAGS = {1: "1n1g", 2: "1n2g", 4: "1n4g", 8: "1n8g", 16: "2n8g", 32: "4n8g"}
BEGAN = 1_795_226_400.0


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = open_demo(tmp_path, 60.0, time.time())
    await workspace.cluster.probe()
    yield workspace
    await workspace.close()


def planned(demo: Workspace, profile: str, batch: int, precision: str, gpus: int) -> PlannedCase:
    values = {"batch_size": (str(batch),), "precision": (precision,)}
    [case] = demo.plan(Selection((profile,), (TAGS[gpus],), values, 1)).cases
    return case


def asked(demo: Workspace, case: PlannedCase) -> tuple[Program, Job]:
    """As the first host gets it."""
    found = asked_of(scripts(demo, case)[0])
    assert found is not None
    return found


def scripts(demo: Workspace, case: PlannedCase) -> list[str]:
    """Of each host, through the real launcher."""
    sites = [
        LaunchSite(host, host.address, has_gpus=True, devices=tuple(range(case.case.gpus_per_node)))
        for host in demo.cluster.inventory.hosts[: case.case.nodes]
    ]
    request = LaunchRequest(case.profile, case.case, sites, "run-1", 1, 29500, case.settings)
    return [command.script for command in build(request)]


@pytest.mark.parametrize(("profile", "batch", "precision"), PUBLISHED)
async def test_a_profiles_own_rule_finds_the_published_figure_in_what_is_printed(
    demo: Workspace, tmp_path: Path, profile: str, batch: int, precision: str
) -> None:
    for gpus, published in PUBLISHED[profile, batch, precision].items():
        case = planned(demo, profile, batch, precision, gpus)
        program, job = asked(demo, case)
        assert (job.gpus, job.batch_size, job.precision) == (gpus, batch, precision)
        assert job.devices == tuple(range(min(gpus, 8)))
        log = tmp_path / f"{gpus}.log"
        log.write_bytes(
            b"".join(text for _, text in program.workload(job, 1, BEGAN, None).output())
        )
        assert log.read_text().startswith(FIRST_LINE)
        found, _ = measure_file(case.profile, log, case.case)
        # Steps and repeats differ; Paddle's rule counts 99 steps for 100, as published.
        assert found.throughput == pytest.approx(published, rel=0.012), (gpus, found)
        assert not found.warnings


@pytest.mark.parametrize("profile", SETTINGS)
async def test_a_run_takes_what_it_is_expected_to_whatever_its_case(
    demo: Workspace, profile: str
) -> None:
    """No run of the demo is late by its estimate alone."""
    parameters = demo.catalog.get(profile).parameters
    for batch in parameters["batch_size"].choices:
        for precision in parameters["precision"].choices:
            for gpus in TAGS:
                case = planned(demo, profile, int(str(batch)), str(precision), gpus)
                program, job = asked(demo, case)
                takes = program.workload(job, 1, BEGAN, None).ends_after_s
                assert case.expected_s is not None
                assert 0.97 < case.expected_s / takes < 1.15, (case.case.label, takes)


@pytest.mark.parametrize("profile", SETTINGS)
async def test_the_same_seed_prints_the_same_and_another_does_not(
    demo: Workspace, profile: str
) -> None:
    name = demo.catalog.get(profile).parameters["batch_size"].default
    program, job = asked(demo, planned(demo, profile, int(str(name)), "fp32", 8))
    once, again, other = (
        list(program.workload(job, seed, BEGAN, None).output()) for seed in (1, 1, 2)
    )
    assert once == again != other
    assert [at for at, _ in once] == sorted(at for at, _ in once)


@pytest.mark.parametrize("profile", SETTINGS)
async def test_a_misfortune_happens_to_any_of_them(demo: Workspace, profile: str) -> None:
    name = demo.catalog.get(profile).parameters["batch_size"].default
    program, job = asked(demo, planned(demo, profile, int(str(name)), "fp32", 4))
    whole = len(list(program.workload(job, 1, BEGAN, None).output()))
    stalls = program.workload(job, 1, BEGAN, Misfortune.STALLS)
    assert stalls.ends_after_s == FOREVER
    assert 2 < len(list(stalls.output())) < whole
    fails = program.workload(job, 1, BEGAN, Misfortune.OUT_OF_MEMORY)
    assert fails.exit_status == 1
    slow = program.workload(job, 1, BEGAN, Misfortune.THROTTLED)
    assert slow.load is not None
    assert slow.load.throttling is not None
    assert slow.load.throttling.gpu in job.devices
    assert 0 < slow.load.throttling.after_s < slow.ends_after_s


@pytest.mark.parametrize("gpus", TAGS)
@pytest.mark.parametrize("misfortune", [None, *Misfortune])
async def test_every_rank_of_a_run_is_there_once_and_of_one_that_stalls_one_hangs(
    demo: Workspace, gpus: int, misfortune: Misfortune | None
) -> None:
    case = planned(demo, "ngc-pytorch-resnet50", 256, "amp", gpus)
    ranks, last = [], set()
    for script in scripts(demo, case):
        program, job = asked_of(script) or pytest.fail("no program has it")
        workload = program.workload(job, 1, BEGAN, misfortune)
        last.add(max(at for at, _ in workload.output()))
        ranks += workload.children
        assert [child.load.gpus for child in workload.children if child.load] == [
            (device,) for device in job.devices
        ]
        assert workload.load is not None
        assert not workload.load.gpus
        assert workload.command == "python3 ./main.py --SIMULATED"
    assert [child.rank for child in ranks] == list(range(gpus))
    hangs = {child.hangs_after_s for child in ranks if child.hangs_after_s != FOREVER}
    assert hangs == (last if misfortune is Misfortune.STALLS else set()), "all print the same"
    if misfortune is not Misfortune.STALLS:
        (ends,) = last
        assert [child.lives_s for child in ranks] == pytest.approx([ends] * gpus)


@pytest.mark.parametrize("profile", SETTINGS)
async def test_a_rank_is_a_process_of_the_program_that_the_script_starts(
    demo: Workspace, profile: str
) -> None:
    name = demo.catalog.get(profile).parameters["batch_size"].default
    script = scripts(demo, planned(demo, profile, int(str(name)), "fp32", 8))[0]
    _, job = asked_of(script) or pytest.fail("no program has it")
    interpreter, program, mark = job.command.split(" ")
    assert (interpreter, mark) == ("python3", "--SIMULATED")
    assert program in script
    assert "multiproc" not in program


@pytest.mark.parametrize("campaign", ["20261129-1200-demo", "20261129-1300-demo"])
@pytest.mark.parametrize("run", ["0001-a1", "0001-a2", "0004-a1"])
async def test_a_run_prints_what_it_prints_by_its_number_and_the_name_of_its_campaign(
    demo: Workspace, run: str, campaign: str
) -> None:
    """Whatever ran before it in this demo or an earlier one."""
    script = scripts(demo, planned(demo, "oneflow-resnet50", 128, "fp32", 8))[0].encode()

    made_up = demo.cluster.pool
    assert isinstance(made_up, SimulatedCluster)

    def printed(run_id: str, campaign: str, before: int = 0) -> list[tuple[float, bytes]]:
        programs = _Programs(0)
        programs.cluster = made_up
        for number in range(before + 1):
            asked = Asked(
                run_id if number == before else f"other{number}-0001-a1",
                *("sim1", script, None, 1.0, "", f"alice@login, campaign {campaign}"),
                *("", "", "", ()),
            )
            workload = programs(asked)
        return list(workload.output())

    mine = printed(f"abcd-{run}", campaign)
    assert printed(f"ef01-{run}", campaign, before=2) == mine
    assert (printed("abcd-0001-a1", "20261129-1200-demo") == mine) == (
        (run, campaign) == ("0001-a1", "20261129-1200-demo")
    )


def test_any_other_script_is_of_no_program() -> None:
    assert asked_of("exec python3 train.py --batch_size=128") is None
