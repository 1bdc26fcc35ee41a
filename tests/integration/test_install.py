"""Installed as on a login node: from a wheelhouse without a network, and by pipx from the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.install


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``make wheelhouse`` makes."""
    directory = tmp_path_factory.mktemp("dist")
    subprocess.run(["make", "-C", str(ROOT), "wheelhouse", f"DIST={directory}"], check=True)
    return directory


def offline(argv: list[str], home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """In a network namespace with nothing in it, and an environment with next to nothing."""
    path = f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"
    return subprocess.run(
        ["unshare", "--net", "env", "-i", f"HOME={home}", f"PATH={path}", *argv],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_wheelhouse_installs_by_one_command_without_a_network(dist: Path, tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    subprocess.run(["tar", "-C", far, "-xf", dist / "dlperf-tui-wheelhouse.tar"], check=True)
    done = offline(["sh", str(far / "wheelhouse" / "install")], tmp_path)
    assert done.returncode == 0, done.stderr
    assert f'export PATH="{tmp_path}/.local/bin:$PATH"' in done.stdout
    program = str(tmp_path / ".local" / "bin" / "dlperf-tui")
    ran = offline(
        [
            program,
            "run",
            "-p",
            "cpu-smoke",
            "--case",
            "1n1g",
            "--repeats",
            "1",
            "--set",
            "seconds=1",
        ],
        tmp_path,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "samples/s" in ran.stdout
    again = offline(["sh", str(far / "wheelhouse" / "install")], tmp_path)
    assert again.returncode == 0, again.stderr


def test_another_python_is_refused_before_anything_is_made(dist: Path, tmp_path: Path) -> None:
    (dist / "wheelhouse" / "python").write_text("3.99\n")
    done = offline(["sh", str(dist / "wheelhouse" / "install")], tmp_path)
    (dist / "wheelhouse" / "python").write_text("{}.{}\n".format(*sys.version_info))
    assert done.returncode == 2
    assert "these wheels are for Python 3.99" in done.stderr
    assert not (tmp_path / ".local").exists()


def test_pipx_installs_the_wheel(dist: Path, tmp_path: Path) -> None:
    [wheel] = (dist / "wheelhouse").glob("dlperf_tui-*.whl")
    done = subprocess.run(
        [sys.executable, "-m", "pipx", "install", str(wheel)],
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "PIPX_HOME": str(tmp_path / "pipx"),
            "PIPX_BIN_DIR": str(tmp_path / "bin"),
            "PIPX_DEFAULT_BACKEND": "pip",
            "PIP_FIND_LINKS": str(dist / "wheelhouse"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    program = tmp_path / "bin" / "dlperf-tui"
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("dlperf-tui ")
