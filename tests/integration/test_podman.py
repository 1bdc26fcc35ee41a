"""Runs in containers of a real podman, from the command line to what is left of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.podman import IMAGE, Podman, Registry, podman_in
from tests.support.program import Program
from tests.support.waiting import wait_until

PROFILE = f'''
name = "boxed"
framework = "sh"
model = "boxed"
source = "test"
[settings.image]
description = "image"
default = "{IMAGE}"
check = "image"
[settings.seconds]
description = "how long each line takes"
default = "0.05"
[settings.finally]
description = "what ends it"
default = "true"
[matrix]
cases = ["1n1g"]
repeats = 1
[launch]
launcher = "per_node"
command = """
sh -c \'for n in $(seq 60); do echo iter $n samples/s: 100.5; sleep {{seconds}}; done; {{finally}}\'
"""
timeout = "5m"
environment = {{ TOLD = "inside" }}
[launch.container]
image = "{{image}}"
runtime = "podman"
mounts = ["MOUNTED:/data"]
workdir = "/data"
[measure]
reading = \'iter (?P<step>\\d+) samples/s: (?P<value>[\\d.]+)\'
example = "iter 1 samples/s: 100.5"
statistic = "mean"
'''

pytestmark = pytest.mark.optional  # whether containers run is the machine's own affair


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Podman]:
    yield from podman_in(tmp_path_factory.mktemp("podman"))


class Site:
    """A home with the profile, and the command line in it."""

    def __init__(self, home: Path, podman: Podman) -> None:
        self.home = home
        self.campaigns = home / "campaigns"
        (home / "data").mkdir()
        (home / "profiles").mkdir()
        text = PROFILE.replace("MOUNTED", str(home / "data"))
        (home / "profiles" / "boxed.toml").write_text(text)
        (home / "hosts.toml").write_text(
            f'[[hosts]]\nname = "here"\ntransport = "local"\nslots = 2\nwork_dir = "{home}/work"\n'
            f'lease_dir = "{home}/leases"\n'  # other tests may have this machine
        )
        self._environment = {**podman.environment, "HOME": str(home)}
        self._options = (
            *("--inventory", home / "hosts.toml", "--campaigns", self.campaigns),
            *("--profile-dir", home / "profiles"),
        )

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return Program(
            [*words, *self._options],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def __call__(self, *words: str, code: int = 0) -> str:
        process = self.begin(*words)
        said, _ = process.communicate(timeout=120)
        assert process.returncode == code, said
        return said

    @property
    def campaign(self) -> Path:
        [found] = self.campaigns.iterdir()
        return found

    @property
    def only_run(self) -> dict[str, object]:
        [run] = json.loads((self.campaign / "results.json").read_text())["runs"]
        return dict(run)


@pytest.fixture
def site(tmp_path: Path, podman: Podman) -> Site:
    return Site(tmp_path, podman)


def test_a_run_in_a_container_is_measured_and_leaves_none(site: Site, podman: Podman) -> None:
    site("run", "-p", "boxed")
    run = site.only_run
    assert run["throughput"] == 100.5
    assert (site.campaign / str(run["log"])).read_text().count("samples/s") == 60
    assert podman.running == []


@pytest.mark.faults
@pytest.mark.parametrize(("said", "size"), [('shm_size = "8m"', "size=8192k"), ("", "")])
def test_shared_memory_is_the_hosts_unless_a_size_is_said(site: Site, said: str, size: str) -> None:
    profile = site.home / "profiles" / "boxed.toml"
    text = profile.read_text().replace("workdir =", f'{said}\nuser = "own"\nworkdir =', 1)
    profile.write_text(text)
    site("run", "-p", "boxed", "--set", "finally=cat /proc/mounts")
    log = (site.campaign / str(site.only_run["log"])).read_text()
    [mounted] = [line for line in log.splitlines() if " /dev/shm " in line]
    assert size in mounted
    assert ("size=8192k" in mounted) == bool(said)


@pytest.mark.faults
def test_the_image_that_was_run_is_known_by_its_digest(site: Site, podman: Podman) -> None:
    site("run", "-p", "boxed")
    number = podman("image", "inspect", "--format", "{{.Id}}", IMAGE)
    told = json.loads((site.campaign / "environment.json").read_text())
    software = {one["name"]: one["version"] for one in told["hosts"][0]["software"]}
    assert software["id"] == f"sha256:{number}"
    assert software["digest"].startswith("localhost/dlperf-tiny@sha256:")


def test_an_image_that_is_not_there_stops_the_start_and_says_how_to_get_it(site: Site) -> None:
    missing = "localhost/nowhere:9"
    said = site("run", "-p", "boxed", "--set", f"image={missing}", code=2)
    assert f"podman pull {missing}" in said
    assert not site.campaigns.exists() or not list(site.campaigns.iterdir())


@pytest.mark.faults
def test_a_missing_image_is_fetched_only_with_leave_and_told_about(
    site: Site, podman: Podman
) -> None:
    registry = Registry(podman)
    image = f"{registry.address}/tiny:1"
    words = ("run", "-p", "boxed", "--set", f"image={image}")
    try:
        assert "here: preflight stops: image" in site(*words, code=2)
        assert "stop: here: image" in site(*words, "--pull", "never", "--force", code=1)
        assert registry.asked == []
        said = site(*words, "--pull", "missing")
    finally:
        registry.close()
    assert f"here: Trying to pull {image}" in said
    assert any("/blobs/sha256:" in path for path in registry.asked)
    found = sorted(site.campaigns.iterdir(), key=lambda path: path.stat().st_mtime)[-1]
    [run] = json.loads((found / "results.json").read_text())["runs"]
    assert (run["state"], run["throughput"]) == ("succeeded", 100.5)
    told = json.loads((found / "environment.json").read_text())["hosts"][0]["software"]
    assert f"{registry.address}/tiny@sha256:" in str(told)
    podman("rmi", image)


def test_cancelling_ends_the_container_that_carries_the_runs_id(site: Site, podman: Podman) -> None:
    going = site.begin("run", "-p", "boxed", "--set", "seconds=600")
    try:
        wait_until(lambda: podman.running, within_s=60)
        [name] = podman.running
        [campaign] = site.campaigns.iterdir()
        journal = (campaign / "events.jsonl").read_text()
        assert name.removeprefix("dlperf-").removesuffix("-0") in journal
        bystander = podman("run", "--detach", "--network=host", IMAGE, "sleep", "600")
        going.kill()
        going.wait()
        site("cancel", campaign.name)
    finally:
        going.kill()
        going.wait()
    left = podman("ps", "--all", "--no-trunc", "--format", "{{.ID}}").split()
    assert left == [bystander]
    podman("rm", "--force", "--time", "0", bystander)


@pytest.mark.faults
def test_a_run_that_fails_inside_says_so_and_leaves_no_container(
    site: Site, podman: Podman
) -> None:
    site("run", "-p", "boxed", "--set", "finally=exit 3", code=1)
    assert site.only_run["state"] == "failed"
    assert podman.running == []
