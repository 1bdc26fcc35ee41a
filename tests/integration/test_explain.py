"""``run --explain`` finds planted causes of a known size, through the command line on this machine.

The workloads are the bundled ones, with computing that takes a known time: two cores do not scale.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import run_program
from tests.support.torch_python import torchrun_beside

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "profiles" / "library"
SUPPORT = ROOT / "tests" / "support"
PLANT_S = {"cpu-smoke": 0.08, "torch-resnet50": 0.04}
GRADIENT_BITS = 3_076_000 * 8
LINK_BITS_PER_S = 400e6
CAUSES = {"slow_rank": "stragglers", "slow_input": "input", "slow_link": "communication"}
LINK = f"""#!/bin/sh
# The loopback of a network namespace of its own, with so many bits a second.
exec unshare --net sh -c 'ip link set lo up &&
tc qdisc add dev lo root tbf rate {LINK_BITS_PER_S:.0f}bit burst 256kb latency 2s &&
exec "$@"' - {{torchrun}} "$@"
"""


def planted_profile(name: str, directory: Path) -> Path:
    """The bundled profile with the planted workload in front of its own, and what is planted as a
    parameter."""
    script = {"cpu-smoke": "cpu_smoke.py", "torch-resnet50": "torch_resnet50.py"}[name]
    shutil.copy(SUPPORT / f"planted_{script}", directory)
    text = (LIBRARY / f"{name}.toml").read_text()
    plants = "\n".join(f'{plant} = {{ PLANT = "{plant}" }}' for plant in CAUSES)
    for before, after in (
        (f'name = "{name}"', 'name = "planted"'),
        (f'"workloads/{script}"', f'"workloads/{script}", "planted_{script}"'),
        (f"\n{script} ", f"\nplanted_{script} "),
        (f" {script}\n", f" planted_{script}\n"),
        ("environment = {", f'environment = {{ PLANT_S = "{PLANT_S[name]}",'),
        ('settle = "5s"', 'settle = "0s"'),
        (
            "[settings.",
            f"[parameters.plant]\nchoices = {list(CAUSES)}\ndefault = 'slow_rank'\n"
            f"[parameters.plant.environment]\n{plants}\n\n[settings.",
        ),
    ):
        text = text.replace(before, after, 1)
    path = directory / "planted.toml"
    path.write_text(text)
    return path


def explained(directory: Path, name: str, *words: str) -> dict[str, dict[str, Any]]:
    """The results of a campaign of one device and two, with ``--explain``: by plant that of two."""
    (directory / "hosts.toml").write_text(
        f'[[hosts]]\nname = "here"\ntransport = "local"\nslots = 2\n'
        f'lease_dir = "{directory}/leases"\n'  # other tests may have this machine
    )
    profile = planted_profile(name, directory)
    command = ["--inventory", str(directory / "hosts.toml")]
    command += ["--campaigns", str(directory / "campaigns"), "run", "--profile", str(profile)]
    command += ["--case", "1n1g", "1n2g", "-r", "3", "--explain", "--json", *words]
    environment = {**os.environ, "HOME": str(directory)}
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        environment.pop(variable, None)
    done = run_program(command, env=environment, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    counted = [run for run in document["runs"] if not run["profiled"]]
    profiled = [run for run in document["runs"] if run["profiled"]]
    assert len(counted) == 3 * len(profiled) == 3 * len(document["results"])
    assert {run["throughput"] for run in profiled} == {None}
    assert {result["repeats"] for result in document["results"]} == {3}
    two = [result for result in document["results"] if result["case"] == "1n2g"]
    (campaign,) = (directory / "campaigns").iterdir()
    report = (campaign / "report.md").read_text()
    for result in two:
        assert f"1n2g {result['efficiency'] * 100:.1f}%: exposed all-reduce " in report
    return {result["parameters"]["plant"]: result for result in two}


def check(result: dict[str, Any], plant: str, seconds: float) -> None:
    """The planted share is found in its size, and no other cause gets more than a little."""
    shares = result["explained"]
    step_s = result["parameters"]["batch_size"] / result["throughput_per_device"]
    assert shares[CAUSES[plant]] == pytest.approx(seconds / step_s, abs=0.08)
    others = [shares[name] for name in ("communication", "stragglers", "input", "compute")]
    others.remove(shares[CAUSES[plant]])
    assert max(*others, shares["unexplained"]) < 0.1
    known = [shares[name] for name in ("communication", "stragglers", "input", "compute")]
    assert sum(known) + shares["unexplained"] == pytest.approx(shares["loss"])
    if plant == "slow_rank":
        assert (shares["straggler_rank"], shares["straggler_host"]) == (1, "here")


@pytest.mark.faults
def test_planted_causes_are_found_in_their_size(tmp_path: Path) -> None:
    plants = f"plant={','.join(CAUSES)}"
    found = explained(tmp_path, "cpu-smoke", "--set", plants, "seconds=2")
    assert set(found) == set(CAUSES)
    for plant, result in found.items():
        check(result, plant, PLANT_S["cpu-smoke"])


@pytest.fixture
def torchrun() -> str:
    return torchrun_beside()


SMALL = ("batch_size=4", "image_size=32", "iterations=20", "print_every=4")


@pytest.mark.torch
def test_planted_causes_are_found_under_torch_too(tmp_path: Path, torchrun: str) -> None:
    words = ("--set", "plant=slow_rank,slow_input", *SMALL, f"torchrun={torchrun}")
    found = explained(tmp_path, "torch-resnet50", *words)
    for plant, result in found.items():
        check(result, plant, PLANT_S["torch-resnet50"])


@pytest.mark.torch
def test_a_throttled_link_is_exposed_all_reduce(tmp_path: Path, torchrun: str) -> None:
    """Two ranks send each other the gradient, over a loopback that takes so many bits a second."""
    if os.geteuid() or shutil.which("tc") is None or shutil.which("unshare") is None:
        pytest.skip("needs root, tc and unshare")
    link = tmp_path / "link.sh"
    link.write_text(LINK.format(torchrun=torchrun))
    link.chmod(0o755)
    words = ("--set", "plant=slow_link", *SMALL, f"torchrun={link}")
    (result,) = explained(tmp_path, "torch-resnet50", *words).values()
    check(result, "slow_link", 2 * GRADIENT_BITS / LINK_BITS_PER_S)
