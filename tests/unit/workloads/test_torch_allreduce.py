"""The arithmetic of the torch-allreduce workload, without PyTorch, and what it refuses."""

from __future__ import annotations

import importlib.util
import statistics
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.logs.log_parser import LogParser
from profiles.throughput.measure_run import measure_run
from tests.support import torch_python

SCRIPT = Path(__file__).parents[3] / "profiles" / "workloads" / "torch_allreduce.py"
GIB = 2**30

refusal = partial(torch_python.refusal, "torch_allreduce")


@pytest.fixture(scope="module")
def workload() -> Iterator[ModuleType]:
    """The module, which needs PyTorch to run but not to calculate."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("torch", "torch.distributed", "torch_common"):
            patched.setitem(sys.modules, name, ModuleType(name))
        sys.modules["torch"].distributed = sys.modules["torch.distributed"]  # type: ignore[attr-defined]
        spec = importlib.util.spec_from_file_location("torch_allreduce", SCRIPT)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


def test_sizes_are_the_powers_of_two_between(workload: ModuleType) -> None:
    assert workload.sizes(4096, 32768) == [4096, 8192, 16384, 32768]
    assert workload.sizes(8, 8) == [8]


def test_bus_bandwidth_is_that_of_nccl_tests(workload: ModuleType) -> None:
    """A row that nccl-tests might print: 4 ranks, 4 GiB in 17,810 us, 241.15 and 361.73 GB/s."""
    assert workload.bus_bandwidth(4 * GIB, 17810e-6, 4) == pytest.approx(361.73, abs=0.01)
    assert workload.bus_bandwidth(4 * GIB, 1.0, 2) == pytest.approx(4.294967296)


@pytest.mark.parametrize(
    ("world", "per_host", "expected"),
    [
        (4, 4, [{"all": [0, 1, 2, 3]}]),
        (2, 1, [{"all": [0, 1]}]),  # across the hosts would be the same group again
        (
            *(4, 2),
            [
                {"all": [0, 1, 2, 3]},
                {"host0": [0, 1], "host1": [2, 3]},
                {"across0": [0, 2], "across1": [1, 3]},
            ],
        ),
    ],
)
def test_groups_are_all_ranks_those_of_a_host_and_one_of_every_host(
    workload: ModuleType, world: int, per_host: int, expected: list[dict[str, list[int]]]
) -> None:
    assert workload.groups(world, per_host) == expected


@given(st.integers(1, 9), st.integers(1, 9))
def test_every_rank_is_in_one_group_of_each_kind(
    workload: ModuleType, hosts: int, per_host: int
) -> None:
    for kind in workload.groups(hosts * per_host, per_host):
        assert sorted(rank for ranks in kind.values() for rank in ranks) == list(
            range(hosts * per_host)
        )


def test_p99_of_few_trials_is_the_slowest(workload: ModuleType) -> None:
    assert workload.nearest_rank([3.0, 9.0, 1.0], 0.99) == 9
    assert workload.nearest_rank([float(n) for n in range(1, 101)], 0.99) == 99
    assert workload.nearest_rank([float(n) for n in range(1, 201)], 0.99) == 198


def test_the_rank_that_waits_least_is_the_straggler(workload: ModuleType) -> None:
    times = [[0.5, 0.6, 0.5], [0.1, 0.1, 0.2], [0.5, 0.5, 0.4], [0.6, 0.1, 0.5]]
    rank, late, last = workload.straggler(times)
    assert (rank, last) == (1, 3)
    assert late == pytest.approx(0.4)  # of 0.4, 0.4, 0.3


def test_of_two_ranks_the_straggler_is_as_late_as_the_other_waits(workload: ModuleType) -> None:
    assert workload.straggler([[0.3, 0.4], [0.1, 0.2]]) == (1, pytest.approx(0.2), 2)


@given(
    st.integers(2, 8).flatmap(
        lambda ranks: st.lists(
            st.lists(st.floats(1e-6, 1), min_size=ranks, max_size=ranks), min_size=1, max_size=9
        )
    )
)
def test_lateness_is_the_median_over_trials_of_what_the_others_took_more(
    workload: ModuleType, trials: list[list[float]]
) -> None:
    times = [list(each) for each in zip(*trials, strict=True)]
    lateness = [
        statistics.median(
            statistics.median(trial[:rank] + trial[rank + 1 :]) - trial[rank] for trial in trials
        )
        for rank in range(len(times))
    ]
    rank, late, last = workload.straggler(times)
    assert late == pytest.approx(max(lateness))
    assert lateness[rank] == pytest.approx(max(lateness))
    assert 0 <= last <= len(trials)


def test_what_is_printed_is_what_the_profile_reads(workload: ModuleType) -> None:
    """One trial of four takes longer, on one rank; the lines are those of the program itself."""
    profile = Catalog.load().get("torch-allreduce")
    (case,) = expand(profile, ["2n2g"], {})
    small = [[20e-6] * 4, [18e-6] * 4]
    large = [[0.02, 0.02, 0.02, 0.05], [0.01, 0.01, 0.01, 0.05]]
    results = [
        workload.Result("all", [0, 1], 4096, small, 1),
        workload.Result("all", [0, 1], GIB, large, 1),
        workload.Result("host0", [0, 1], GIB, large, 2),
        workload.Result("across1", [1, 3], GIB, [[0.04], [0.04]], 2),
    ]
    lines = [result.line() for result in results]
    busbw = [workload.bus_bandwidth(GIB, seconds, 2) for seconds in (0.02, 0.02, 0.02, 0.05)]
    lines += [
        f"trial: group all, bytes {GIB}, trial {number}, time 1.0 us, busbw {value:.4f} GB/s"
        for number, value in enumerate(busbw, 1)
    ]
    lines += [result.last_line() for result in (*results[2:], results[1])]
    parser = LogParser(profile, case)
    parser.feed("\n".join(lines).encode())
    parser.finish()
    assert measure_run(profile, case, parser).throughput == pytest.approx(results[1].busbw, 1e-4)
    assert parser.metrics == pytest.approx(
        {
            "busbw_gb_per_s_at_4096": round(4096 / 20e-6 / 1e9, 4),
            f"busbw_gb_per_s_at_{GIB}": round(GIB / 0.02 / 1e9, 4),
            "size_bytes": GIB,
            "latency_us": 20.0,
            "p99_us": 50000.0,
            "straggler_us": 10000.0,
            "busbw_within_host": round(GIB / 0.02 / 1e9, 4),
            "busbw_across_hosts": round(GIB / 0.04 / 1e9, 4),
        }
    )


@pytest.mark.parametrize(
    ("text", "value"), [("4096", 4096), ("4K", 4096), ("16m", 2**24), ("4G", 4 * GIB)]
)
def test_sizes_are_given_in_bytes_or_with_a_unit(
    workload: ModuleType, text: str, value: int
) -> None:
    assert workload.byte_count(text) == value


@pytest.mark.parametrize("text", ["", "K", "-4K", "4.5K", "4X", "3K", "2", "²", "1e9"])
def test_what_is_no_power_of_two_is_no_size(workload: ModuleType, text: str) -> None:
    with pytest.raises(Exception, match=r"power of two|not a size") as caught:
        workload.byte_count(text)
    assert caught.type.__name__ == "ArgumentTypeError"


@pytest.mark.torch
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "one process has nobody to reduce with"),
        (("--min-size", "8K", "--max-size", "4K"), "--max-size is below --min-size"),
        (("--min-size", "5000"), "not a power of two"),
        (("--max-size", "lots"), "'lots' is not a size: write 4096, 4K, 16M or 4G"),
        (("--trials", "0"), "0 is below 1"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    assert said in refusal("--device", "cpu", *arguments)
