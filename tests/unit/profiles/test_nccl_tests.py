"""What the nccl-tests profile makes of the program's tables, old and new. All lines are made up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.logs.log_parser import LogParser
from profiles.throughput.measure_log_file import measure_file
from profiles.throughput.measure_run import Measurement, measure_run

PROFILE = Catalog.load().get("nccl-tests")
(CASE,) = expand(PROFILE, ["1n4g"], {})

HEADER = """\
# nThread 1 nGpus 4 minBytes 1024 maxBytes 4294967296 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on      node7 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   4711 on      node7 device  1 [0000:43:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid   4711 on      node7 device  2 [0000:52:00] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid   4711 on      node7 device  3 [0000:61:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place           in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   …
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  …
"""
ROWS = [
    "        1024           256     float     sum      -1    21.50    0.05    0.07      0"
    "    20.90    0.05    0.07      0",
    "     1048576        262144     float     sum      -1    48.30   21.71   32.56      0"
    "    47.10   22.26   33.39      0",
    "  4294967296    1073741824     float     sum      -1    17810  241.15  361.73      0"
    "    17766  241.75  362.62      0",
]
FOOTER = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 131.743 \n#\n"


def parsed(log: str) -> LogParser:
    parser = LogParser(PROFILE, CASE)
    parser.feed(log.encode())
    parser.finish()
    return parser


def measured(log: str) -> Measurement:
    return measure_run(PROFILE, CASE, parsed(log))


def reasons(log: str) -> list[str]:
    return [failure.reason for failure in parsed(log).failures]


def table(*rows: str, footer: str = FOOTER) -> str:
    return HEADER + "\n".join(rows) + "\n" + footer


def test_the_largest_size_out_of_place_is_the_result_and_the_average_a_metric() -> None:
    log = table(*ROWS)
    parser = parsed(log)
    assert [(reading.step, reading.value) for reading in parser.readings] == [
        (1024, 0.07),
        (1048576, 32.56),
        (4294967296, 361.73),
    ]
    assert measured(log).throughput == 361.73
    assert parser.metrics == {
        "size_bytes": 4294967296,
        "busbw_gb_per_s_at_1024": 0.07,
        "busbw_gb_per_s_at_1048576": 32.56,
        "busbw_gb_per_s_at_4294967296": 361.73,
        "avg_busbw": 131.743,
        "in_place_busbw": 362.62,
        "latency_us": 21.5,
    }
    assert reasons(log) == []


@pytest.mark.parametrize(
    ("row", "size", "busbw", "in_place"),
    [
        pytest.param(
            "   268435456      16777216  bfloat16    none      -1   812.40  330.42  247.82    N/A"
            "   809.11  331.77  248.82    N/A",
            *(268435456, 247.82, 248.82),
            id="unchecked, as alltoall in place or with -c 0",
        ),
        pytest.param(
            "   268435456      67108864     float     sum    3301.2   81.31  121.97  5e-07"
            "   3299.8   81.35  122.02  0e+00",
            *(268435456, 121.97, 122.02),
            id="errors in place of wrong values, no root",
        ),
        pytest.param(
            "   268435456       8388608   float    1604.9  167.26  146.35  0e+00"
            "   1611.3  166.60  145.77  0e+00",
            *(268435456, 146.35, 145.77),
            id="neither redop nor root",
        ),
        pytest.param(
            "   268435456      16777216   float           901   297.93  223.45  0e+00"
            "   899.2  298.53  223.90    N/A",
            *(268435456, 223.45, 223.9),
            id="an empty redop",
        ),
        pytest.param(
            "   268435456     134217728      half     sum      -1  1.2e+06    0.22    0.34      0"
            "  1.2e+06    0.22    0.34      0  2026-03-04 05:06:07",
            *(268435456, 0.34, 0.34),
            id="more than a second, with the time of day",
        ),
        pytest.param(
            "   268435456      67108864     float     sum      -1   905.10  296.58  444.87       0"
            "   880.02   990.12   988.40     2.31   903.77  297.02  445.53       0   881.13   991.0"
            "   987.90     2.28",
            *(268435456, 444.87, None),
            id="with columns for each iteration",
        ),
    ],
)
def test_rows_of_other_versions_and_options_are_read(
    row: str, size: int, busbw: float, in_place: float | None
) -> None:
    parser = parsed(table(row))
    assert [(reading.step, reading.value) for reading in parser.readings] == [(size, busbw)]
    assert parser.metrics["size_bytes"] == size
    assert parser.metrics.get("in_place_busbw") == in_place
    assert reasons(table(row)) == []


def test_prefixes_colours_and_glued_lines_hide_no_row() -> None:
    first, second, third = ROWS
    log = (
        "[1,2]<stderr>:node7:811:811 [2] NCCL INFO Bootstrap : Using eth0\n"
        "[1,0]<stdout>:" + HEADER.splitlines()[0] + "\n"
        f"[1,0]<stdout>:{first}[1,3]<stderr>:node7:812:812 [3] NCCL INFO comm 0x5 rank 3\n"
        f"\x1b[33mnode7:809:840 [0] NCCL INFO Launch mode Parallel\x1b[0m{second}\n"
        f"\x1b[1m[1,0]<stdout>:\x1b[0m{third}\x1b[0m\n"
        "[1,1]<stderr>:node7:810:810 [1] NCCL INFO comm 0x7f - Destroy COMPLETE"
        "[1,0]<stdout>:# Avg bus bandwidth    : 131.743 \n"
    )
    parser = parsed(log)
    assert [reading.value for reading in parser.readings] == [0.07, 32.56, 361.73]
    assert parser.metrics["avg_busbw"] == 131.743
    assert parser.metrics["latency_us"] == 21.5


def test_srun_labels_hide_no_row() -> None:
    log = "".join(f"0: {line}\n" for line in table(*ROWS).splitlines())
    assert measured(log).throughput == 361.73


WRONG = "the collective gives wrong results"
LARGEST = ROWS[-1]


@pytest.mark.parametrize(
    "row",
    [
        LARGEST.replace("361.73      0", "361.73     12"),
        LARGEST.replace("362.62      0", "362.62      4"),
        LARGEST.replace("361.73      0", "361.73  2e+06"),
        LARGEST.replace("361.73      0", "361.73    N/A").replace("362.62      0", "362.62     40"),
        LARGEST.replace("361.73      0", "361.73 1.07374e+09"),
    ],
)
def test_a_wrong_value_in_a_row_is_a_failure(row: str) -> None:
    assert reasons(HEADER + ROWS[0] + "\n" + row + "\n") == [WRONG]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("# Out of bounds values : 3 FAILED", WRONG),
        (
            "# Avg bus bandwidth    : 12.5 FAILED",
            "the average bus bandwidth is below NCCL_TESTS_MIN_BW",
        ),
        (
            "node7: Test CUDA failure common.cu:77 'out of memory'",
            "out of GPU memory",
        ),
        (
            "node7: Test CUDA failure common.cu:78 'invalid device ordinal'",
            "fewer GPUs are visible than the case needs",
        ),
        (
            "Invalid number of GPUs: 8 requested but only 4 were found.",
            "fewer GPUs are visible than the case needs",
        ),
        ("node7: Test NCCL failure common.cu:79 'remote process exited'", "NCCL failed"),
        ("node7: Test timeout (120s) common.cu:80", "NCCL failed"),
        ("node7: Test CUDA failure common.cu:81 'an illegal memory access'", "CUDA failed"),
    ],
)
def test_what_stops_it_has_a_reason(line: str, reason: str) -> None:
    assert reasons(HEADER + ROWS[0] + "\n" + line + "\n")[:1] == [reason]


def test_a_table_that_is_cut_off_says_what_size_its_figure_is_of() -> None:
    log = HEADER + "\n".join(ROWS[:2]) + "\n  4294967296    1073741824     float     sum      -1"
    parser = parsed(log)
    assert (measured(log).throughput, parser.metrics["size_bytes"]) == (32.56, 1048576)
    assert "avg_busbw" not in parser.metrics


def side(numbers: Sequence[float], *, checked: bool) -> dict[str, float | None]:
    time, algbw, busbw, wrong = numbers
    return {
        "time": time,
        "alg_bw": algbw,
        "bus_bw": busbw,
        "nwrong": wrong if checked else None,
    }


def devices(*first_ranks: int) -> list[dict[str, object]]:
    return [
        {
            "rank": rank,
            "group": 0,
            "pid": 4711,
            "hostname": "node7",
            "device": 0,
            "device_hex": "0000:1b:00",
            "device_info": "NVIDIA H100 80GB HBM3",
        }
        for rank in first_ranks
    ]


def json_file(rows: Sequence[str], *, spaces: bool = False, checked: bool = True) -> str:
    """What -J writes of a table's rows: one line without an end. Of a process's devices it has
    the first."""
    results: list[object] = []
    for row in rows:
        size, count, kind, redop, root, *times = row.split()
        numbers = [float(number) for number in times]
        out, into = (side(part, checked=checked) for part in (numbers[:4], numbers[4:]))
        shown = {"size": int(size), "count": int(count), "type": kind, "redop": redop}
        shown |= {"root": f"{root:>6}", "out_of_place": out, "in_place": into}
        results.append(shown | {"actual_iterations": 20, "experiment_name": None})
    wrong = sum(float(row.split()[8]) > 0 for row in rows)
    told = {
        "version": 2,
        "start_time": "2026-03-04 05:06:07",
        "args": ["/opt/nccl-tests/build/all_reduce_perf", "-J", "out.json"],
        "env": ["LINES=41", 'NOTE="size":9,"count":3', "PATH=/usr/bin"],
        "nccl_version": 22809,
        "config": {
            "nthreads": 1,
            "ngpus": 4,
            "devices": devices(0),
        },
        "results": results,
        "out_of_bounds": {"count": wrong, "okay": "false" if wrong else "true"},
        "average_bus_bandwidth": {"bandwidth": 131.743, "okay": "unchecked"},
        "errors": [],
    }
    return json.dumps(told, separators=None if spaces else (",", ":")).replace("/", "\\/")


@pytest.mark.parametrize("spaces", [False, True])
@pytest.mark.parametrize("checked", [False, True])
def test_the_json_file_tells_what_the_table_tells(
    spaces: bool, checked: bool, tmp_path: Path
) -> None:
    path = tmp_path / "all_reduce.json"
    path.write_text(json_file(ROWS, spaces=spaces, checked=checked), encoding="utf-8")
    measurement, parser = measure_file(PROFILE, path, CASE)
    of_table = measured(table(*ROWS))
    assert measurement.throughput == of_table.throughput == 361.73
    assert measurement.metrics == {**of_table.metrics, "last_rank": 0}
    assert measurement.metrics["world_size"] == 4
    assert parser.stated["collective"] == "all_reduce"
    assert parser.stated["gpu"] == "NVIDIA H100 80GB HBM3"
    assert parser.failures == ()


def test_a_json_file_says_what_went_wrong() -> None:
    wrong = LARGEST.replace("361.73      0", "361.73     12")
    assert reasons(json_file([*ROWS[:-1], wrong])) == [WRONG, WRONG]
    slow = json_file(ROWS).replace('"unchecked"', '"false"')
    assert reasons(slow) == ["the average bus bandwidth is below NCCL_TESTS_MIN_BW"]


def test_a_json_file_that_is_cut_off_says_what_size_its_figure_is_of() -> None:
    whole = json_file(ROWS)
    parser = parsed(whole[: whole.index('"size":4294967296') + 120])
    assert (parser.readings[-1].value, parser.metrics["size_bytes"]) == (32.56, 1048576)


@pytest.mark.parametrize(
    ("threads", "gpus", "first_ranks", "world"),
    [(1, 8, [0], 8), (8, 1, [0], 8), (1, 1, range(16), 16), (1, 4, [0, 4, 8, 12], 16)],
)
def test_a_json_file_tells_how_many_devices_there_were(
    threads: int, gpus: int, first_ranks: Sequence[int], world: int
) -> None:
    told = json.loads(json_file(ROWS))
    told["config"] |= {"nthreads": threads, "ngpus": gpus, "devices": devices(*first_ranks)}
    assert measured(json.dumps(told)).metrics["world_size"] == world


def test_a_table_of_several_processes_tells_how_many_devices_there_were() -> None:
    ranks = "".join(
        f"#  Rank {rank:>2} Group  0 Pid {4711 + rank // 2:>6} on      node7 device {rank % 8:>2} "
        "[0000:1b:00] NVIDIA H100 80GB HBM3\n"
        for rank in range(16)
    )
    log = f"# nThread 1 nGpus 2 minBytes 8\n{ranks}{ROWS[-1]}\n"
    assert measured(log).metrics["world_size"] == 16
    assert measured(log.replace("# nThread 1 nGpus 2", "#")).metrics["world_size"] == 16
