"""``plan --export``: scripts that any sh reads, and nothing where the request is wrong."""

from __future__ import annotations

import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from profiles.format.catalog import Catalog
from profiles.logs.log_paths import recognise
from profiles.scalars import scalar_text
from tests.unit.cli.conftest import Cli
from tests.unit.cli.four_hosts import DIRECT, SLURM, settings_of

CATALOG = Catalog.load()
pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.toml"
    path.write_text(SLURM)
    return path


@pytest.mark.parametrize("name", CATALOG.names)
def test_every_bundled_profile_becomes_scripts_that_sh_reads(
    name: str, cli: Cli, inventory: Path, tmp_path: Path
) -> None:
    cases = ("1n1g", "1n8g", "4n8g")
    words = ("plan", "--inventory", inventory, "-p", name, "-c", *cases, "-r", 1)
    cli(*words, *settings_of(CATALOG.get(name)), "--export", tmp_path / "out")
    scripts = sorted((tmp_path / "out").rglob("jobs/*.sh"))
    assert len(scripts) in (2, 3)  # some exclude a size
    subprocess.run(["sh", "-n", *scripts[:1]], check=True)
    for script in (*scripts, tmp_path / "out" / "submit.sh"):
        subprocess.run(["bash", "-n", script], check=True)
        assert script.stat().st_mode & 0o100
        assert "\0" not in script.read_text()


@pytest.mark.parametrize("name", CATALOG.names)
def test_import_knows_the_case_and_the_repeat_of_every_log_that_is_written(
    name: str, cli: Cli, inventory: Path, tmp_path: Path
) -> None:
    profile = CATALOG.get(name)
    chosen = [
        word
        for key, parameter in profile.parameters.items()
        for word in ("--set", f"{key}={','.join(map(scalar_text, parameter.choices[:2]))}")
        if parameter.choices
    ]
    words = ("plan", "--inventory", inventory, "-p", name, "-c", "1n8g", "-r", 2, *chosen)
    given = (*words, *settings_of(profile))
    planned = cli.document(*given)["runs"]
    cli(*given, "--export", tmp_path / "out")
    found = []
    for script in sorted((tmp_path / "out").rglob("jobs/*.sh")):
        [log] = re.findall(r"(?m)^log=(.*)$", script.read_text())
        known = recognise(profile, log)
        assert known is not None, log
        found.append(f"{name} {known.case.label} #{known.repeat}")
    assert sorted(found) == sorted(run["label"] for run in planned)


def test_several_profiles_have_a_directory_each_and_one_order(
    cli: Cli, inventory: Path, tmp_path: Path
) -> None:
    words = ("plan", "--inventory", inventory, "-p", "cpu-smoke", "-p", "torch-resnet50")
    answer = cli(*words, "-c", "1n1g", "-r", 2, "--explain", "--export", tmp_path / "out")
    assert answer.out == f"{tmp_path / 'out' / 'submit.sh'}\n"
    lines = (tmp_path / "out" / "submit.sh").read_text().splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("sbatch")] == [
        "cpu-smoke/jobs/1-1n1g-1.sh",
        "torch-resnet50/jobs/2-1n1g-1.sh",
        "cpu-smoke/jobs/3-1n1g-2.sh",
        "torch-resnet50/jobs/4-1n1g-2.sh",
        "cpu-smoke/jobs/5-1n1g-profiled.sh",
        "torch-resnet50/jobs/6-1n1g-profiled.sh",
    ]
    for name, file in (("cpu-smoke", "cpu_smoke.py"), ("torch-resnet50", "torch_resnet50.py")):
        folder = tmp_path / "out" / name
        assert (folder / "profile.toml").read_bytes() == CATALOG.source(name).text
        assert (folder / "stage" / file).is_file()
        readme = (tmp_path / "out" / "README.md").read_text()
        assert f"dlperf-tui import -p {name}/profile.toml {name}/logs -o" in readme


SMOKE = ("-p", "cpu-smoke", "-c", "1n1g")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((*SMOKE, "--repeats", "auto"), "scripts are of a fixed number of repeats"),
        (("-p", "cpu-smoke", "-c", "5n1g"), "needs 5 hosts, there are 4"),
        (("-p", "nowhere"), "nowhere"),
    ],
)
def test_a_wrong_request_leaves_nothing_behind(
    cli: Cli, inventory: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    out = tmp_path / "below" / "out"
    out.parent.mkdir()
    line = cli.complaint("plan", "--inventory", inventory, *words, "--export", out)
    assert says in line
    assert not list(out.parent.iterdir())


def test_hosts_of_an_inventory_take_no_batch_scripts(cli: Cli, tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.toml"
    inventory.write_text(DIRECT)
    out = tmp_path / "out"
    line = cli.complaint("plan", "--inventory", inventory, *SMOKE, "--export", out)
    assert "add --engine slurm" in line
    assert not out.exists()


def test_an_empty_directory_may_be_the_one_that_one_is_in(
    cli: Cli, inventory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    cli("plan", "--inventory", inventory, *SMOKE, "--export", ".")
    assert (tmp_path / "here" / "submit.sh").is_file()
    assert "it is not empty" in cli.complaint(
        "plan", "--inventory", inventory, *SMOKE, "--export", "/"
    )


def test_a_directory_that_holds_something_is_left_as_it_is(
    cli: Cli, inventory: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    words = ("plan", "--inventory", inventory, *SMOKE, "--export", out)
    cli(*words)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    assert "it is not empty" in cli.complaint(*words)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    assert "cannot be written" in cli.complaint(*words[:-1], tmp_path / "no" / "such" / "place")
    assert not list(tmp_path.glob(".*"))


def test_a_python_without_filters_of_archives_writes_them_too(
    cli: Cli, inventory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Debian 12's, 3.11.2."""
    whole = tarfile.TarFile.extractall

    def extractall(archive: tarfile.TarFile, path: str = ".", members: None = None) -> None:
        whole(archive, path, members)

    monkeypatch.setattr(tarfile.TarFile, "extractall", extractall)
    words = ("plan", "--inventory", inventory, "-p", "cpu-smoke", "-c", "1n1g", "-r", 1)
    cli(*words, "--export", tmp_path / "out")
    assert list((tmp_path / "out").rglob("stage/cpu_smoke.py"))
