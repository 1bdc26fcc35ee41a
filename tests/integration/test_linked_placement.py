"""``--placement linked`` from the command line to the result files, on a host of eight V100."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.program import run_program
from tests.unit.hosts.test_topology_words import printed

SMI = """#!/bin/sh
chosen='0 1 2 3 4 5 6 7'
if [ "$1" = -i ]; then chosen=$(echo "$2" | tr , ' '); shift 2; fi
case "$*" in
*clocks_event_reasons*|*mig.mode*) echo 'Field "x" is not a valid field to query.'; exit 2 ;;
--query-gpu*-l*1) echo 'index, uuid, name, utilization.gpu [%]'
  for n in $chosen; do echo "$n, GPU-a$n, Tesla V100, 0 %"; done
  sleep 2 ;;
--query-gpu*) echo 'index, uuid, name, utilization.gpu [%]'
  for n in $chosen; do echo "$n, GPU-a$n, Tesla V100, 0 %"; done ;;
--query-compute-apps*) echo 'gpu_uuid, pid, used_gpu_memory [MiB], process_name' ;;
topo*) cat "${0%/*}/topology" ;;
*) echo '| NVIDIA-SMI 440.33.01    Driver Version: 440.33.01    CUDA Version: 10.2     |' ;;
esac
"""
PROFILE = """
name = "tiny"
framework = "sh"
model = "tiny"
source = "test"
[matrix]
cases = ["1n2g"]
repeats = 1
[launch]
launcher = "per_node"
command = "sh -c 'for n in 1 2 3 4 5 6; do echo iter $n samples/s: 100.5; sleep 0.05; done'"
[measure]
reading = 'iter (?P<step>\\d+) samples/s: (?P<value>[\\d.]+)'
example = "iter 1 samples/s: 100.5"
statistic = "mean"
"""
INNER = {(0, 1): 1, (0, 2): 1, (0, 3): 2, (1, 2): 2, (1, 3): 1, (2, 3): 2}


def link(a: int, b: int) -> str:
    """Seed 004's: two quads, and what leaves a quad goes over the sockets."""
    return f"NV{INNER[a % 4, b % 4]}" if a // 4 == b // 4 else "SYS"


@pytest.fixture
def v100(tmp_path: Path) -> dict[str, str]:
    """The environment in which this machine has eight V100, four beside each of two CPUs."""
    matrix = printed(
        link,
        8,
        cpus=lambda gpu: "0" if gpu < 4 else "1",
        nics=("mlx5_0",),
        near=lambda _, gpu: "PIX" if gpu in (2, 3) else "SYS",
    )
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "nvidia-smi").write_text(SMI)
    (tools / "nvidia-smi").chmod(0o755)
    names = [*matrix.labels, "CPU Affinity", "NUMA Affinity"]
    after = [*matrix.cpu_affinity, ""]
    rows = zip(matrix.labels, matrix.links, after, strict=True)
    lines = ["\t".join(["", *names]), *("\t".join([name, *row, cpu]) for name, row, cpu in rows)]
    (tools / "topology").write_text("\n".join(lines) + "\n")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "tiny.toml").write_text(PROFILE)
    on_cpus = PROFILE.replace('name = "tiny"', 'name = "tiny-cpu"\ndevices = "cpu"')
    (tmp_path / "profiles" / "tiny-cpu.toml").write_text(on_cpus)
    leases = f'lease_dir = "{tmp_path}/leases"\n'  # other tests may have this machine
    host = '[[hosts]]\nname = "here"\ntransport = "local"\n'
    (tmp_path / "hosts.toml").write_text(host + leases)
    return {**os.environ, "HOME": str(tmp_path), "PATH": f"{tools}:{os.environ['PATH']}"}


def command_line(environment: dict[str, str], *words: str, profile: str = "tiny") -> str:
    home = Path(environment["HOME"])
    given = ("--inventory", str(home / "hosts.toml"), "--profile-dir", str(home / "profiles"))
    given += ("-p", profile, "--case", "1n2g")
    done = run_program([*words, *given], env=environment, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout if words[0] == "plan" else done.stdout + done.stderr


def test_the_plan_names_the_best_linked_devices_and_their_cpus(v100: dict[str, str]) -> None:
    linked = command_line(v100, "plan", "--json", "--placement", "linked")
    assert "taskset -c 0 CUDA" not in linked
    [command] = json.loads(linked)["runs"][0]["commands"]
    assert command.startswith("CUDA_VISIBLE_DEVICES=2,3 ")
    assert " taskset -c 0 " in command
    [first] = json.loads(command_line(v100, "plan", "--json"))["runs"][0]["commands"]
    assert first.startswith("CUDA_VISIBLE_DEVICES=0,1 ")
    assert "taskset" not in first


def test_a_host_that_tells_no_links_is_said_to_give_the_first_ones(v100: dict[str, str]) -> None:
    (Path(v100["HOME"]) / "bin" / "topology").write_text("Failed to get topology\n")
    options = ("--campaigns", str(Path(v100["HOME"]) / "c"), "--repeats", "1")
    said = command_line(v100, "run", "--placement", "linked", *options)
    assert "how its GPUs are linked is not known: runs get the first ones" in said
    [campaign] = (Path(v100["HOME"]) / "c").iterdir()
    [run] = json.loads((campaign / "results.json").read_text())["runs"]
    assert (run["devices"], run["placement"]) == ({"here": [0, 1]}, "first")


def test_a_run_says_how_its_devices_were_chosen_and_is_asked_for_again_alike(
    v100: dict[str, str],
) -> None:
    campaigns = Path(v100["HOME"]) / "campaigns"
    options = ("--campaigns", str(campaigns), "--repeats", "1")
    command_line(v100, "run", "--placement", "linked", *options)
    [campaign] = campaigns.iterdir()
    results = json.loads((campaign / "results.json").read_text())
    [run] = results["runs"]
    assert run["devices"] == {"here": [2, 3]}
    assert run["placement"] == "linked"
    assert 'placement = "linked"' in (campaign / "campaign.toml").read_text()
    again = command_line(v100, "plan", "--json", "--from", str(campaign))
    assert "CUDA_VISIBLE_DEVICES=2,3 " in json.loads(again)["runs"][0]["commands"][0]


def test_what_uses_no_gpu_is_bound_to_none_of_their_cpus(v100: dict[str, str]) -> None:
    asked = ("--placement", "linked", "--campaigns", str(Path(v100["HOME"]) / "c"))
    planned = command_line(v100, "plan", "--json", *asked, profile="tiny-cpu")
    command_line(v100, "run", *asked, profile="tiny-cpu")
    [campaign] = (Path(v100["HOME"]) / "c").iterdir()
    events = [json.loads(line) for line in (campaign / "events.jsonl").read_text().splitlines()]
    [assigned] = [event for event in events if event["kind"] == "RunAssigned"]
    assert assigned["commands"] == json.loads(planned)["runs"][0]["commands"]
    assert "taskset" not in assigned["commands"][0]
    assert (assigned["devices"], assigned["placement"]) == ({"here": [0, 1]}, "first")


def test_runs_that_pack_get_the_best_linked_of_what_is_left(v100: dict[str, str]) -> None:
    """Four pairs on disjoint GPUs of one quad each; what is watched of each are its own."""
    campaigns = Path(v100["HOME"]) / "campaigns"
    asked = ("--pack", "--placement", "linked", "--repeats", "4")
    planned = json.loads(command_line(v100, "plan", "--json", *asked))["runs"]
    assert {run["start_s"] for run in planned} == {0.0}
    visible = "CUDA_VISIBLE_DEVICES="
    pairs = [run["commands"][0].removeprefix(visible).split(" ")[0] for run in planned]
    assert pairs[0] == "2,3"
    assert sorted(",".join(pairs)) == sorted(",".join("01234567"))
    for one, other in (map(int, pair.split(",")) for pair in pairs):
        assert one // 4 == other // 4, "never over the sockets"
    command_line(v100, "run", "--campaigns", str(campaigns), *asked)
    [campaign] = campaigns.iterdir()
    runs = json.loads((campaign / "results.json").read_text())["runs"]
    assert {",".join(map(str, run["devices"]["here"])) for run in runs} == {*pairs}
    seen: set[str] = set()
    for run in runs:
        watched = (campaign / "telemetry" / f"{run['run_id']}.here.csv").read_text()
        rows = [line.split(",")[0] for line in watched.splitlines() if ", GPU-a" in line]
        assert set(rows) <= {str(index) for index in run["devices"]["here"]}
        seen.update(rows)
    assert seen
