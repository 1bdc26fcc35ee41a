"""Preflight: what is in place, idle, healthy and alike, and what to do where it is not."""

from __future__ import annotations

import dataclasses
import itertools
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backends.campaign.plan.plan import Plan, PlannedCase
from backends.campaign.plan.selection import Selection
from backends.cluster import Cluster
from backends.hosts.foreseen import (
    differences,
    facts_for,
    foreseen,
    other_devices,
    same_machines,
    untroubled,
)
from backends.hosts.host_condition import host_findings
from backends.hosts.host_facts import (
    Gpu,
    GpuProcess,
    HostFacts,
    HostSnapshot,
    HostState,
    Software,
)
from backends.hosts.needs import Need, needs_of
from backends.hosts.preflight import check_needs, preflight
from backends.hosts.preflight_finding import Bearing, Finding, Level, in_spite_of
from backends.hosts.probe import parse_probe, snapshot_of
from backends.hosts.same_machine import by_machine
from backends.hosts.software import sought_by, sought_for
from backends.inventory.host_entry import Host, Inventory
from backends.inventory.nodesets import expand_nodeset
from backends.plan_preflight import plan_foreseen, plan_renewed
from backends.transports.transport import Completed, HostUnreachableError, Problem
from profiles.counted import counted
from profiles.format.case import Case
from profiles.format.profile import Profile
from tests.console.fakes import facts
from tests.without_tools import link_all_but

GPU = Gpu(
    index=0,
    name="H200",
    uuid="GPU-aa",
    bus_id="",
    memory_total_mib=143771,
    memory_used_mib=0,
    utilization_pct=0,
    power_w=80.0,
    power_limit_w=700.0,
    temperature_c=38,
    sm_clock_mhz=345,
    mig_enabled=False,
    ecc_uncorrected=0,
)
FACTS = dataclasses.replace(
    parse_probe(b"@@dlperf:begin\n10.0\n@@dlperf:end\n10.0\n", 10.0, 10.0),
    cpus=16,
    gpus=(GPU,),
    driver_version="580.1",
    disk_free_mib=500 * 1024,
    boot_id="a",
)


@dataclasses.dataclass
class Planned:
    profile: Profile
    case: Case
    settings: Mapping[str, str]
    repeats: int = 1


def planned(
    launch: Mapping[str, Any] | None = None,
    settings: Mapping[str, tuple[str, str]] | None = None,
    *,
    tag: tuple[int, int] = (1, 1),
    devices: str = "any",
) -> Planned:
    """``settings``: check and value by name."""
    profile = Profile.model_validate(
        {
            "name": "p",
            "framework": "F",
            "model": "M",
            "source": "s",
            "devices": devices,
            "settings": {
                name: {"description": "d", "check": check}
                for name, (check, _) in (settings or {}).items()
            },
            "matrix": {"cases": ["1n1g"]},
            "launch": {"launcher": "per_node", "command": "sh train.sh", **(launch or {})},
            "measure": {"reading": r"(?P<value>\d+)"},
        }
    )
    values = {name: value for name, (_, value) in (settings or {}).items()}
    return Planned(profile, Case("p", *tag, {}), values)


def messages(findings: tuple[Finding, ...], level: Level) -> list[str]:
    return [finding.what for finding in findings if finding.level is level]


# --- GPUs, disk, clock --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "level", "says"),
    [
        ({"mig_enabled": True}, Level.STOP, "GPU0 is partitioned (MIG)"),
        ({"ecc_uncorrected": 2}, Level.STOP, "2 uncorrected memory errors"),
        *(
            ({"throttle_reasons": (reason,)}, Level.WARN, "GPU0 is slowed down")
            for reason in (
                "application clocks setting",
                "hardware slowdown",
                "hardware thermal slowdown",
                "power brake",
                "software thermal slowdown",
            )
        ),
        ({"throttle_reasons": ("power cap", "sync boost")}, None, ""),
        ({"utilization_pct": 97, "memory_used_mib": 9000}, Level.STOP, "in use: GPU0 at 97%"),
    ],
)
def test_an_unhealthy_or_used_gpu_is_found(
    change: Mapping[str, Any], level: Level | None, says: str
) -> None:
    facts = dataclasses.replace(FACTS, gpus=(dataclasses.replace(GPU, **change),))
    findings = host_findings("n1", facts, gpus_needed=True)
    assert [finding.level for finding in findings] == ([level] if level else [])
    assert all(says in finding.what and finding.remedy for finding in findings)


def test_a_strangers_process_stops_and_ours_does_not() -> None:
    stranger = GpuProcess(0, 7, "alice", "python3", 100)
    facts = dataclasses.replace(FACTS, gpu_processes=(stranger,))
    (finding,) = host_findings("n1", facts, gpus_needed=True)
    assert (finding.level, finding.what) == (Level.STOP, "in use: alice on GPU0 (python3)")
    ours = dataclasses.replace(stranger, run_id="r-1")
    facts = dataclasses.replace(FACTS, gpu_processes=(ours,))
    assert host_findings("n1", facts, gpus_needed=True) == ()


def worst(findings: Iterable[Finding]) -> Level:
    return max((finding.level for finding in findings), key=list(Level).index)


def test_a_broken_driver_stops_what_needs_gpus_and_warns_what_does_not() -> None:
    broken = dataclasses.replace(FACTS, gpus=(), gpu_problem="nvidia-smi: failed with status 9")
    assert worst(host_findings("n1", broken, gpus_needed=True)) is Level.STOP
    assert worst(host_findings("n1", broken, gpus_needed=False)) is Level.WARN
    without = dataclasses.replace(FACTS, gpus=())
    assert messages(host_findings("n1", without, gpus_needed=True), Level.STOP) == ["has no GPU"]
    assert host_findings("n1", without, gpus_needed=False) == ()


@pytest.mark.parametrize(
    ("free_mib", "level"),
    [
        (1_000, Level.STOP),
        (1_050, Level.WARN),
        (10_200, Level.WARN),
        (10_300, None),
        (None, Level.WARN),
    ],
)
def test_disk_space(free_mib: int | None, level: Level | None) -> None:
    findings = host_findings(
        "n1", dataclasses.replace(FACTS, disk_free_mib=free_mib), gpus_needed=False
    )
    assert [finding.level for finding in findings] == ([level] if level else [])


def test_a_clock_is_off_only_by_more_than_the_measurement_can_be_wrong() -> None:
    def found(offset_s: float, round_trip_s: float) -> list[str]:
        facts = dataclasses.replace(FACTS, clock_offset_s=offset_s, round_trip_s=round_trip_s)
        return messages(host_findings("n1", facts, gpus_needed=False), Level.WARN)

    assert found(0.9, 0.1) == []
    assert found(-1.1, 0.1) == ["its clock is 1.1 s behind this machine's"]
    assert found(-31.0, 0.1) == ["its clock is 31.0 s behind this machine's"]
    assert found(1.5, 2.0) == []


def test_a_loaded_host_is_a_warning_that_names_who_is_logged_in() -> None:
    facts = dataclasses.replace(FACTS, load1=15.0, users=("alice",))
    (finding,) = host_findings("n1", facts, gpus_needed=False)
    assert finding.level is Level.WARN
    assert finding.what == "load 15.0 on 16 CPUs; logged in: alice"


@pytest.mark.parametrize(("load", "said"), [(11.1, False), (11.3, True)])
def test_a_host_is_loaded_from_seven_in_ten_of_its_cpus_on(load: float, said: bool) -> None:
    """Of 16 CPUs: 11.2."""
    facts = dataclasses.replace(FACTS, load1=load)
    assert bool(host_findings("n1", facts, gpus_needed=False)) is said


# --- between hosts ------------------------------------------------------------------------------


def test_hosts_that_differ_are_named_by_what_they_have() -> None:
    other = dataclasses.replace(FACTS, driver_version="550.2", boot_id="b")
    third = dataclasses.replace(FACTS, boot_id="c")
    (finding,) = differences({"node1": FACTS, "node2": third, "node3": other})
    assert finding.level is Level.WARN
    assert finding.what == "GPU driver differs: 580.1 on node[1-2], 550.2 on node3"
    assert finding.remedy.startswith("of a run over several hosts the slowest")


def test_what_unlike_gpus_cost_a_speedup_is_said_before_the_start() -> None:
    other = dataclasses.replace(FACTS, gpus=(dataclasses.replace(GPU, name="V100"),), kernel="7.0")
    model, kernel = differences({"n1": FACTS, "n2": other})
    assert model.what.startswith("GPU model differs: ")
    assert "a speedup between cases on different models is grade D" in model.remedy
    assert "grade" not in kernel.remedy


@given(
    st.lists(st.tuples(st.sampled_from(["V100", "H200"]), st.sampled_from([2, 8])), max_size=4),
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from([2, 8]), st.integers(1, 2)), max_size=4),
    st.sampled_from(["gpu", "any", "cpu"]),
)
@example([("V100", 8), ("V100", 8), ("H200", 8)], [(1, 2, 2), (2, 8, 2), (3, 8, 2)], "gpu")
def test_repeats_are_said_to_be_on_different_models_exactly_where_they_can_be(
    hosts: list[tuple[str, int]], cases: list[tuple[int, int, int]], devices: str
) -> None:
    known = [
        snapshot_of(
            Host(f"n{number}"),
            dataclasses.replace(
                FACTS,
                boot_id=f"{number}",
                gpus=tuple(dataclasses.replace(GPU, name=name, index=at) for at in range(gpus)),
            ),
        )
        for number, (name, gpus) in enumerate(hosts)
    ]
    wanted = [
        dataclasses.replace(planned(tag=(nodes, each), devices=devices), repeats=repeats)
        for nodes, each, repeats in [*cases, (2, 1, 1)]
    ]
    capacities = [one.capacity for one in known]
    found = foreseen(facts_for(wanted, known), wanted, capacities=capacities)
    said = [one.remedy for one in found if one.what.startswith("GPU model differs")]
    apart = {
        f"{nodes}n{each}g"
        for nodes, each, repeats in cases
        if repeats > 1
        and len(
            {
                tuple(sorted(name for name, _ in chosen))
                for chosen in itertools.combinations([h for h in hosts if h[1] >= each], nodes)
            }
        )
        > 1
    }
    if devices == "cpu":
        assert not said
        return
    assert bool(said) == (len({name for name, _ in hosts}) > 1)
    told = {tag for remedy in said for tag in re.findall(r"\dn\dg", remedy.partition(" can ")[0])}
    assert told == apart or (len(told) == 3 and told < apart), "of more than three the first"
    assert all("repeats" in remedy for remedy in said) == (bool(apart) or not said)


def test_of_cases_on_one_host_only_the_devices_have_to_be_alike() -> None:
    slow = dataclasses.replace(FACTS, gpus=(dataclasses.replace(GPU, name="V100"),))
    facts = {"n1": slow, "n2": dataclasses.replace(FACTS, kernel="7.0"), "n3": slow}
    facts["login"] = dataclasses.replace(FACTS, gpus=())
    (finding,) = other_devices(facts)
    assert (finding.host, finding.level) == ("", Level.WARN)
    assert finding.what == "GPU model differs: V100 on n[1,3], H200 on n2"
    assert "hosts of one kind" in finding.remedy
    assert "pace" not in finding.remedy
    assert finding.bearing is not None
    assert [finding.bearing.concerns("p", [name], {}) for name in ("n1", "n2", "login")] == [
        True,
        True,
        False,
    ]
    assert not other_devices({"n1": FACTS, "n2": dataclasses.replace(FACTS, kernel="7.0")})


@given(st.lists(st.sampled_from(["", "b0", "b1"]), max_size=6))
def test_hosts_say_which_of_them_are_one_machine_before_a_run_is_on_them(boots: list[str]) -> None:
    cluster = Cluster(Inventory(tuple(Host(f"n{number}") for number in range(len(boots)))))
    for number, boot in enumerate(boots):
        facts = dataclasses.replace(FACTS, boot_id=boot)
        known = HostSnapshot(f"n{number}", "", HostState.READY, facts=facts)
        cluster._known[known.name] = known
    hosts = cluster.snapshots()
    assert (cluster.probed, tuple(map(cluster.snapshot, cluster.inventory.hosts))) == (hosts,) * 2
    told = [[c.what for c in host.concerns] for host in hosts]
    assert [["are the same machine" in what for what in own] for own in told] == [
        [True] if boot and boots.count(boot) > 1 else [] for boot in boots
    ]
    assert all(map(operator.is_, cluster.snapshots(), cluster.snapshots())), "as it was"


def test_two_names_for_one_machine_are_told() -> None:
    (finding,) = same_machines({"node1": FACTS, "node2": FACTS})
    assert finding.what == "node[1-2] are the same machine"
    assert not same_machines({"node1": FACTS})


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "b0", "b1"]), st.sampled_from([1, 2, 8]), st.booleans()),
        min_size=1,
        max_size=4,
    ),
    st.lists(
        st.tuples(
            st.sampled_from(["cpu", "any", "gpu"]), st.integers(1, 3), st.sampled_from([1, 2, 8])
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_more_processes_than_cpus_are_told_of_each_machine_that_a_case_can_crowd(
    hosts: list[tuple[str, int, bool]], cases: list[tuple[str, int, int]]
) -> None:
    """A host has four GPUs or none, and CPUs of its own or those of the others of its kernel."""
    cpus = {boot: max(n for other, n, _ in hosts if other == boot) for boot, _, _ in hosts if boot}
    known = [
        snapshot_of(
            Host(f"n{number}"),
            dataclasses.replace(
                FACTS,
                boot_id=boot,
                cpus=cpus.get(boot, own),
                gpus=tuple(dataclasses.replace(GPU, index=index) for index in range(4 * gpus)),
            ),
        )
        for number, (boot, own, gpus) in enumerate(hosts)
    ]
    all_planned = [planned(tag=(nodes, each), devices=of) for of, nodes, each in cases]
    capacities = {one.name: one.capacity for one in known}
    facts = facts_for(all_planned, known)
    found = foreseen(facts, all_planned, capacities=capacities.values())
    told = [one for one in found if "process" in one.what]
    for names in by_machine((name, own.boot_id) for name, own in facts.items()):
        most = 0
        for devices, nodes, each in cases:
            room = [
                capacities[name].holds(each, gpu_only=False)
                and (devices == "cpu" or (devices == "any" and not capacities[name].gpus))
                for name in names
            ]
            most = max(most, each * min(nodes, sum(room)))
        has = facts[names[0]].cpus
        said = [
            one.what
            for one in told
            if {*expand_nodeset(one.host or one.what.partition(": ")[0])} & {*names}
        ]
        counts = [int(what.rpartition(": ")[2].split()[0]) for what in said]
        assert max(counts, default=0) == (most if most > has else 0)
        assert all(what.endswith(f" on {counted(has, 'CPU')}") for what in said)
    assert all(one.level is Level.WARN and "\n" not in one.what for one in told)


def test_the_processes_of_a_case_are_counted_by_host_or_by_the_machine_that_has_several_names() -> (
    None
):
    gpus = tuple(dataclasses.replace(GPU, index=index) for index in range(8))
    facts = dataclasses.replace(FACTS, cpus=2, gpus=gpus)
    known = [
        snapshot_of(Host(name), dataclasses.replace(facts, boot_id=boot))
        for name, boot in (("v100-1", "a"), ("v100-2", "a"), ("h200-1", "b"))
    ]
    said = {}
    for nodes in (1, 2):
        cases = [planned(tag=(nodes, 8), devices="cpu")]
        capacities = [one.capacity for one in known]
        found = foreseen(facts_for(cases, known), cases, capacities=capacities)
        said[nodes] = [(one.host, one.what) for one in found if "process" in one.what]
    eight = "8 processes on 2 CPUs"
    assert said == {
        1: [(name, eight) for name in ("v100-1", "v100-2", "h200-1")],
        2: [("", "v100-[1-2]: 16 processes on 2 CPUs"), ("h200-1", eight)],
    }


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=4, unique=True),
    st.integers(1, 8),
)
def test_more_processes_than_cpus_are_told_of_the_results_of_the_cases_that_have_them(
    sizes: list[tuple[int, int]], cpus: int
) -> None:
    gpus = tuple(dataclasses.replace(GPU, index=index) for index in range(4))
    facts = dataclasses.replace(FACTS, cpus=cpus, gpus=gpus, boot_id="one")
    known = [snapshot_of(Host(name), facts) for name in NAMES]
    cases = [planned(tag=size, devices="cpu") for size in sizes]
    capacities = [one.capacity for one in known]
    found = foreseen(facts_for(cases, known), cases, capacities=capacities)
    warned = [(text, of) for text, of in bearings(found) if "process" in text]
    for nodes, each in sizes:
        of_it = [
            text
            for text, bearing in warned
            if bearing.concerns("p", NAMES[:nodes], {}, f"{nodes}n{each}g")
        ]
        assert bool(of_it) == (nodes * each > cpus)
        said = f" {nodes * each} process"
        assert all("up to" in text or said in f" {text}" for text in of_it)


# --- what profiles need -------------------------------------------------------------------------


def needs(*cases: Planned, host: Host | None = None) -> list[tuple[str, str]]:
    host = host or Host(name="n1", transport="local")
    return [(need.kind, need.value) for need in needs_of(cases, [(host, False)])[host.name]]


def test_settings_and_the_first_word_of_the_command_are_needed() -> None:
    case = planned(
        {"command": "{python} train.py --data {data_root}"},
        {"python": ("executable", "python3"), "data_root": ("directory", "/data")},
    )
    assert needs(case, case) == [("executable", "python3"), ("directory", "/data")]


def test_staged_programs_are_not_needed_on_the_host() -> None:
    assert needs(planned({"command": "./run.sh", "stage": ["run.sh"]})) == []
    assert needs(planned({"command": "run.sh", "stage": ["bin/run.sh"]})) == []


def test_a_container_needs_its_runtime_and_image_but_not_what_is_inside() -> None:
    container = {"image": "{image}", "runtime": "docker"}
    case = planned(
        {"command": "{python} train.py", "container": container},
        {"python": ("executable", "python3"), "image": ("image", "nvcr.io/x:1")},
    )
    assert needs(case) == [("image", "docker nvcr.io/x:1"), ("executable", "docker")]
    stepped = planned({"container": {"image": "registry#x:1", "runtime": "pyxis"}})
    assert needs(stepped) == [("executable", "srun")]


async def test_what_a_runtime_would_fetch_while_a_run_is_measured_is_said_unless_that_is_meant(
    shell: Any, tools: Any, tmp_path: Path
) -> None:
    fetched = planned({"container": {"image": "docker://x", "runtime": "apptainer"}})
    host = Host(name="n1", transport="local", work_dir=str(tmp_path))
    path = {"PATH": f"{tools('apptainer', 'exit 1')}:/usr/bin:/bin"}
    (finding,) = await check_needs(shell(host, path), needs_of([fetched], [(host, False)])["n1"])
    assert finding.level is Level.WARN
    assert finding.what == "image docker://x (p) is fetched by apptainer when a run begins"
    assert finding.remedy == "apptainer pull FILE docker://x there, and name the file"
    allowed = dataclasses.replace(host, pull="missing")
    assert needs(fetched, host=allowed) == [("executable", "apptainer")]


@pytest.mark.parametrize("version", ["sha256:" + "3" * 64, "unknown", "unknown: no such template"])
@pytest.mark.parametrize("runtime", ["docker", "podman", "pyxis"])
@pytest.mark.parametrize("pull", ["never", "missing"])
async def test_what_nobody_could_read_is_not_ticked_off(
    shell: Any, tools: Any, tmp_path: Path, version: str, runtime: str, pull: str
) -> None:
    host = Host(name="n1", transport="local", work_dir=str(tmp_path), pull=pull)
    case = planned({"container": {"image": "org/x:1", "runtime": runtime}})
    found = Software("image", f"{runtime} org/x:1", "id", version)
    well = dataclasses.replace(
        facts(), software=(found,), sought=sought_for([case]), disk_free_mib=99_000
    )
    program = "srun" if runtime == "pyxis" else runtime
    path = {"PATH": f"{tools(program, 'exit 0')}:/usr/bin:/bin"}
    pool = Pool(lambda host: shell(host, path))
    findings = await preflight(pool, [host], [case], [snapshot_of(host, well)])
    told = [one for one in findings if "org/x:1" in one.what]
    unread = version.startswith("unknown")
    ours = runtime != "pyxis" and pull == "never"  # else its runtime fetches it
    assert [one.level for one in told] == (["warn"] if ours else []) if unread else ["ok"]
    assert not any(one.level == "ok" and "unknown" in one.what for one in findings)


def test_one_name_for_two_images_is_told_with_their_digests() -> None:
    def known(name: str, digit: str) -> HostFacts:
        found = Software("image", "docker org/x:1", "id", f"sha256:{digit * 64}")
        return dataclasses.replace(FACTS, software=(found,), boot_id=name)

    (finding,) = differences({"n1": known("n1", "1"), "n2": known("n2", "2")})
    assert finding.what == (
        "image org/x:1 differs: sha256:111111111111 on n1, sha256:222222222222 on n2"
    )
    assert differences({"n1": known("n1", "1"), "n2": known("n2", "1")}) == ()
    not_asked = dataclasses.replace(FACTS, boot_id="n0")
    assert differences({"n0": not_asked, "n1": known("n1", "1")}) == ()
    [said] = differences({"n0": not_asked, "n1": known("n1", "1"), "n2": known("n2", "2")})
    assert said.what == finding.what


def test_the_inventorys_interface_is_needed() -> None:
    host = Host(name="n1", transport="local", interface="ib0")
    assert needs(planned(), host=host) == [("executable", "sh"), ("interface", "ib0")]


def test_mpirun_over_several_nodes_needs_ssh_from_the_first_host() -> None:
    case = planned({"launcher": "mpirun"}, tag=(2, 1))
    hosts = [(Host(name=name, address=f"10.0.0.{name[1]}"), False) for name in ("n1", "n2")]
    found = needs_of([case], hosts)
    assert ("ssh", "10.0.0.2") in [(need.kind, need.value) for need in found["n1"]]
    assert [need.kind for need in found["n2"]] == ["executable"]


async def test_what_is_not_in_place_is_said_with_its_setting(shell: Any, tmp_path: Path) -> None:
    host = Host(name="n1", transport="local", work_dir=str(tmp_path))
    (tmp_path / "file").write_text("")
    case = planned(
        {"command": "no-such-program"},
        {
            "there": ("directory", str(tmp_path)),
            "missing": ("directory", str(tmp_path / "it's not there")),
            "wrong": ("directory", str(tmp_path / "file")),
            "home": ("directory", "~"),
            "python": ("executable", str(tmp_path / "file")),
        },
    )
    wanted = needs_of([case], [(host, False)])["n1"]
    findings = await check_needs(shell(host), wanted)
    assert [finding.what for finding in findings] == [
        f"directory {tmp_path}/it's not there (p's missing) is not there",
        f"directory {tmp_path}/file (p's wrong) is not a directory",
        "directory ~ (p's home) is not an absolute path",
        f"executable {tmp_path}/file (p's python) is not executable for root"
        if findings[3].what.endswith("root")
        else findings[3].what,
        "executable no-such-program (p) is not in the PATH of commands there",
    ]
    assert {finding.level for finding in findings} == {Level.STOP}
    assert findings[0].remedy == "say where it is: s on Matrix, or --set missing=/its/path"


async def test_a_work_directory_that_cannot_be_made_is_a_stop(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    host = Host(name="n1", transport="local", work_dir=str(tmp_path / "file" / "runs"))
    (finding,) = await check_needs(shell(host), ())
    assert finding.level is Level.STOP
    assert finding.what.endswith("file is not a directory")
    assert "work_dir" in finding.remedy


async def test_images_are_looked_for_with_their_runtime(
    shell: Any, tools: Any, tmp_path: Path
) -> None:
    body = 'case $3 in there) ;; *) echo "Error: No such image: $3" >&2; exit 1 ;; esac'
    directory = tools("docker", body)
    (others := tmp_path / "others").mkdir()
    link_all_but(["podman"], others)
    path = f"{directory}:{others}"
    transport = shell(Host(name="n1", transport="local"), {"PATH": path})
    wanted = [
        Need("image", f"{runtime} {image}", "p", "m")
        for runtime, image in (("docker", "there"), ("docker", "x:1"), ("podman", "x:1"))
    ]
    missing, no_podman = await check_needs(transport, wanted)
    assert missing.what == "image x:1 (p) is not there"
    assert missing.remedy == "run there: docker pull x:1, or set pull in the inventory"
    assert no_podman.what == "image x:1 (p) needs podman, which is not there"
    assert no_podman.remedy == "install podman there, or let this user use it: podman info"


@pytest.mark.parametrize(
    ("body", "told"),
    [("exit 1", "no answer"), ("echo 'no space left on device' >&2; exit 1", "no space left")],
)
async def test_a_runtime_that_is_there_is_not_missing_whatever_it_says(
    shell: Any, tools: Any, body: str, told: str
) -> None:
    transport = shell(Host(name="n1"), {"PATH": f"{tools('docker', body)}:/usr/bin:/bin"})
    (finding,) = await check_needs(transport, [Need("image", "docker x:1", "p", "m")])
    assert finding.what.startswith(f"image x:1 (p): {told}")


async def test_checks_that_never_end_are_stops(answering: Any) -> None:
    host = Host(name="n1")
    for answer in (TimeoutError(), Completed(1, b"motd\n@@dlperf:check\nok\n", b"")):
        (finding,) = await check_needs(answering(host, answer), [Need("file", "/x", "p", "m")])
        assert finding.level is Level.STOP
        assert finding.what


# --- all together -------------------------------------------------------------------------------


class Pool:
    def __init__(self, transport: Any) -> None:
        self.get = transport


async def test_two_local_hosts_are_ready_for_a_case_with_two_nodes(
    shell: Any, tmp_path: Path
) -> None:
    hosts = [
        Host(name=name, transport="local", work_dir=str(tmp_path / name)) for name in ("n1", "n2")
    ]
    snapshots = [
        HostSnapshot(name, "local", HostState.READY, facts=dataclasses.replace(FACTS, boot_id=name))
        for name in ("n1", "n2")
    ]
    findings = await preflight(Pool(shell), hosts, [planned(tag=(2, 1))], snapshots, token="x")
    assert [(finding.host, finding.level) for finding in findings] == [
        ("n1", Level.OK),
        ("n2", Level.OK),
        ("", Level.OK),
    ]
    assert findings[0].what == "1 × H200 idle, driver 580.1, 500 GiB of disk free"
    assert worst(findings) is Level.OK


async def test_preflight_and_what_is_foreseen_of_a_plan_tell_of_more_processes_than_cpus(
    shell: Any, tmp_path: Path
) -> None:
    host = Host(name="n1", transport="local", work_dir=str(tmp_path))
    gpus = tuple(dataclasses.replace(GPU, index=index) for index in range(8))
    known = snapshot_of(host, dataclasses.replace(FACTS, cpus=2, gpus=gpus))
    case = planned(tag=(1, 8), devices="cpu")
    cluster = Cluster(Inventory((host,)))
    cluster._known["n1"] = known
    plan = Plan(Selection(("p",)), (host,), (PlannedCase(case.profile, case.case, 1, {}),), ())
    found = plan_foreseen(cluster, plan)
    said = [
        await preflight(Pool(shell), [host], [case], [known]),
        found,
        plan_renewed(cluster, plan, found, [known]),
    ]
    assert [[one.what for one in found if "process" in one.what] for found in said] == [
        ["8 processes on 2 CPUs"]
    ] * 3


async def test_a_host_that_is_away_is_a_stop_and_the_others_are_checked(
    shell: Any, tmp_path: Path
) -> None:
    hosts = [Host(name=name, transport="local", work_dir=str(tmp_path)) for name in ("n1", "n2")]
    snapshots = [
        HostSnapshot("n1", "local", HostState.UNREACHABLE, "connection refused", remedy="start it"),
        HostSnapshot("n2", "local", HostState.READY, facts=FACTS),
    ]
    findings = await preflight(Pool(shell), hosts, [planned()], snapshots)
    assert findings[0] == Finding("n1", Level.STOP, "connection refused", "start it")
    assert [(finding.host, finding.level) for finding in findings[1:]] == [("n2", Level.OK)]


async def test_a_host_that_is_lost_meanwhile_is_a_stop_and_asked_only_once(
    shell: Any, answering: Any, tmp_path: Path
) -> None:
    hosts = [Host(name=f"n{n}", transport="local", work_dir=str(tmp_path)) for n in (1, 2, 3)]
    snapshots = [
        HostSnapshot(h.name, "", HostState.READY, facts=dataclasses.replace(FACTS, boot_id=h.name))
        for h in hosts
    ]
    lost = answering(hosts[0], HostUnreachableError("n1", Problem.SILENT, remedy="look"))
    transports = {"n1": lost, "n2": shell(hosts[1]), "n3": shell(hosts[2])}
    pool = Pool(lambda host: transports[host.name])
    findings = await preflight(pool, hosts, [planned(tag=(2, 1))], snapshots)
    assert findings[0] == Finding("n1", Level.STOP, "no command is answered", "look")
    assert findings[-1].what == "n[2-3] reach each other over TCP"
    assert len(lost.commands) == 1


@pytest.mark.parametrize(("devices", "level"), [("any", Level.STOP), ("cpu", Level.OK)])
async def test_what_is_wrong_with_gpus_is_none_of_the_business_of_runs_on_cpus(
    shell: Any, tmp_path: Path, devices: str, level: Level
) -> None:
    host = Host(name="n1", transport="local", work_dir=str(tmp_path))
    sick = dataclasses.replace(FACTS, gpus=(dataclasses.replace(GPU, ecc_uncorrected=2),))
    snapshot = HostSnapshot("n1", "local", HostState.DEGRADED, facts=sick)
    findings = await preflight(Pool(shell), [host], [planned(devices=devices)], [snapshot])
    assert worst(findings) is level
    assert any("GPU" in f.what or "H200" in f.what for f in findings) is (devices == "any")


@pytest.mark.parametrize(("devices", "warned"), [("any", True), ("gpu", True), ("cpu", False)])
async def test_runs_that_may_get_either_of_two_gpu_models_are_warned_of(
    shell: Any, tmp_path: Path, devices: str, warned: bool
) -> None:
    hosts = [Host(name=n, transport="local", work_dir=str(tmp_path / n)) for n in ("n1", "n2")]
    slow = dataclasses.replace(FACTS, gpus=(dataclasses.replace(GPU, name="V100"),))
    snapshots = [
        HostSnapshot(host.name, "local", HostState.READY, facts=facts)
        for host, facts in zip(hosts, (slow, FACTS), strict=True)
    ]
    findings = await preflight(Pool(shell), hosts, [planned(devices=devices)], snapshots)
    assert any("GPU model differs" in finding.what for finding in findings) is warned
    assert not any("pace" in finding.remedy for finding in findings), "of no run on one host"


async def test_without_snapshots_the_hosts_are_probed_now(shell: Any, tmp_path: Path) -> None:
    host = Host(name="n1", transport="local", work_dir=str(tmp_path))
    transport = shell(host)
    findings = await preflight(Pool(lambda _: transport), [host], [planned(devices="gpu")])
    assert len(transport.commands) == 2  # the probe and the checks
    assert any("GPU" in finding.what or "nvidia" in finding.what for finding in findings)


def test_facts_of_a_torn_probe_are_no_trouble() -> None:
    torn: HostFacts = parse_probe(b"", 0.0, 0.0)
    found = host_findings("n1", torn, gpus_needed=False)
    assert messages(found, Level.WARN) == ["disk space of work_dir is unknown"]


# --- which runs a finding is about ----------------------------------------------------------------

NAMES = ("node1", "node2", "node3")
DEVICES = st.dictionaries(
    st.sampled_from(NAMES),
    st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True).map(tuple),
    min_size=1,
)


def bearings(findings: Sequence[Finding]) -> list[tuple[str, Bearing]]:
    return list(in_spite_of(findings, force=True).warnings)


@given(DEVICES, st.sampled_from(["on-cpus", "on-gpus"]), st.sampled_from(NAMES), st.integers(0, 3))
def test_a_slow_gpu_is_said_of_the_runs_that_have_it_and_of_no_other(
    devices: Mapping[str, tuple[int, ...]], profile: str, host: str, index: int
) -> None:
    gpus = [dataclasses.replace(GPU, index=number) for number in range(4)]
    gpus[index] = dataclasses.replace(gpus[index], throttle_reasons=("power brake",))
    facts = dataclasses.replace(FACTS, gpus=tuple(gpus))
    found = host_findings(host, facts, gpus_needed=False, on_gpus=("on-gpus",))
    [(text, bearing)] = bearings(found)
    assert text == f"{host}: GPU{index} is slowed down: power brake"
    has_it = profile == "on-gpus" and index in devices.get(host, ())
    assert bearing.concerns(profile, tuple(devices), devices) == has_it


@given(st.sets(st.sampled_from(NAMES), min_size=1), st.sampled_from(["on-cpus", "on-gpus"]))
def test_a_difference_is_said_of_the_runs_on_hosts_that_differ(
    hosts: set[str], profile: str
) -> None:
    """The first two are alike."""
    other = dataclasses.replace(FACTS, boot_id="c", driver_version="1", kernel="7.0")
    facts = {name: dataclasses.replace(FACTS, boot_id=name) for name in NAMES[:2]}
    found = bearings(differences({**facts, NAMES[2]: other}, ("on-gpus",)))
    said = {
        text.partition(" differs")[0]
        for text, bearing in found
        if bearing.concerns(profile, hosts, {})
    }
    mixed = NAMES[2] in hosts and len(hosts) > 1
    assert said == ({"kernel", *(["GPU driver"] * (profile == "on-gpus"))} if mixed else set())


@given(st.sets(st.sampled_from(NAMES), min_size=1))
def test_one_machine_under_two_names_is_said_of_runs_on_any_of_them(hosts: set[str]) -> None:
    facts = {name: dataclasses.replace(FACTS, boot_id="a") for name in NAMES[:2]}
    [(_, bearing)] = bearings(
        same_machines({**facts, NAMES[2]: dataclasses.replace(FACTS, boot_id="b")})
    )
    assert bearing.concerns("p", hosts, {}) == bool({*NAMES[:2]} & hosts)


def test_what_a_profile_needs_is_said_of_its_runs() -> None:
    image = {"container": {"image": "docker://pytorch", "runtime": "apptainer"}}
    first, second = planned(image), planned()
    second = dataclasses.replace(
        second, profile=second.profile.model_copy(update={"name": "other"})
    )
    found = needs_of([first, planned(), second], [(Host("node1"), False)])["node1"]
    shared = next(need for need in found if need.value == "sh")
    own = next(need for need in found if need.kind == "image")
    assert own.bearing("node1").concerns("p", ["node1"], {})
    assert not own.bearing("node1").concerns("other", ["node1"], {})
    assert not own.bearing("node1").concerns("p", ["node2"], {})
    assert all(shared.bearing("node1").concerns(name, ["node1"], {}) for name in ("p", "other"))


@given(st.sets(st.sampled_from("abc")), st.sets(st.sampled_from("abc"), min_size=1))
def test_of_software_only_that_of_the_cases_is_told(known: set[str], used: set[str]) -> None:
    """A host may have been looked at for another plan, too."""
    cases = {
        name: planned({"container": {"runtime": "docker", "image": name}}) for name in known | used
    }
    sought = tuple(one for case in cases.values() for one in sought_by(case.profile, {}))
    software = tuple(Software(one.kind, one.value, "id", f"sha256:{64 * '0'}") for one in sought)
    host = snapshot_of(Host("n1"), dataclasses.replace(FACTS, sought=sought, software=software))
    for name in used:
        (finding,) = untroubled(facts_for([cases[name]], [host]), [])
        assert {one for one in cases if f"image {one}" in finding.what} == {name}
