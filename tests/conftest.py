"""Fixtures that every test may use."""

from __future__ import annotations

import fcntl
import gc
import inspect
import os
import signal
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from backends.inventory.host_entry import Host
from backends.transports.pool import TransportPool
from tests.support.slurm import SlurmCluster, why_no_slurm
from tests.support.sshd import SshHosts
from tests.support.unique import NUMBER

# Speed is for the benchmarks to show; a busy machine is no falsified property. The same examples
# each time, so that a change is judged by itself; "make fuzz" looks for others, and for more.
settings.register_profile("unhurried", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("fuzz", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("DLPERF_HYPOTHESIS", "unhurried"))


def pytest_configure() -> None:
    """What tests start shall be interrupted as from a terminal, although a shell has its background
    jobs, and whatever they start, ignore Ctrl-C; and its python3 is the one that runs the tests,
    and no script that looks for one each time, at five times the cost."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["PATH"] = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))


def pytest_collection_finish() -> None:
    """Thousands of tests are never garbage: looking through all of them each time that Python looks
    for some would be a quarter of what the console's tests cost; and looking as often as usual, for
    the little that is one console's, a sixth of the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def ssh_hosts(tmp_path: Path) -> Iterator[SshHosts]:
    """``ssh_hosts(4)`` starts four hosts with a real SSH server each, on loopback."""
    hosts = SshHosts(tmp_path / "hosts")
    yield hosts
    hosts.close()


@pytest.fixture(scope="session")
def slurm_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """The one Slurm of this worker; tests use it as ``slurm``."""
    if why := why_no_slurm():
        pytest.skip(why)
    with closing(SlurmCluster(tmp_path_factory.mktemp("slurm") / "cluster")) as cluster:
        cluster.start()
        yield cluster


@pytest.fixture
def slurm(slurm_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    """A real Slurm of four idle nodes, which this process's own sinfo, sbatch … mean, too, and
    which this process asks often."""
    monkeypatch.setenv("SLURM_CONF", str(slurm_cluster.conf))
    monkeypatch.setattr("backends.engines.slurm.job_watch.LOOK_EVERY_S", 1.0)
    yield slurm_cluster
    slurm_cluster.reset()


@pytest.fixture
def local_host(tmp_path: Path) -> Host:
    """This machine, with a work directory of the test's own."""
    return Host(
        # Runs are told apart by host name; other tests may share this machine at the moment.
        name=f"here{NUMBER}",
        transport="local",
        work_dir=str(tmp_path / "work"),
        lease_dir=str(tmp_path / "leases"),
    )


@pytest.fixture
async def pool() -> AsyncIterator[TransportPool]:
    """Transports without an inventory and without anybody to ask."""
    transports = TransportPool()
    yield transports
    await transports.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Where DLPERF_NO_SKIPS is set, a skipped integration or conformance test is a failure.

    Continuous integration installs what these tests need; a skip there would hide that it did not.
    """
    outcome = yield
    report = outcome.get_result()
    needed = item.nodeid.startswith(("tests/integration/", "tests/conformance/"))
    needed = needed and item.get_closest_marker("optional") is None
    if report.skipped and needed and os.environ.get("DLPERF_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be skipped: {report.longrepr}"


@pytest.fixture(autouse=True)
def not_beside_a_sweep(request: pytest.FixtureRequest) -> Iterator[None]:
    """``sweep`` ends whatever of ours is on a host, and the hosts of all tests are this machine:
    who sweeps has it, or the worker's own namespace of processes, to themselves."""
    if "integration" not in request.path.parts:
        yield
        return
    sweeps = "sweep" in inspect.getsource(request.function)
    processes = Path("/proc/self/ns/pid").stat().st_ino
    name = f"dlperf-tests-{os.getuid()}-{processes}.lock"
    with (Path(tempfile.gettempdir()) / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if sweeps else fcntl.LOCK_SH)
        yield
