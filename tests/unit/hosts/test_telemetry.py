"""Telemetry of a host and its GPUs: what is read of the kept file, and what it comes to."""

from __future__ import annotations

import io
import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.telemetry import HostTelemetry, read_telemetry
from backends.hosts.telemetry_summary import ALWAYS, GpuUse, Span, Telemetry, summarise

HEADER = (
    "timestamp, index, memory.used [MiB], utilization.gpu [%], power.draw [W], "
    "clocks.current.sm [MHz], temperature.gpu, clocks.max.sm [MHz], "
    "ecc.errors.uncorrected.volatile.total, clocks_event_reasons_counters.sw_power_cap [us], "
    "clocks_event_reasons_counters.hw_thermal_slowdown [us]\n"
)
MASKED = HEADER.replace(
    "clocks_event_reasons_counters.sw_power_cap [us], "
    "clocks_event_reasons_counters.hw_thermal_slowdown [us]",
    "clocks_throttle_reasons.active",
)
EPOCH = 1_795_298_400.0  # 2026-11-21 22:00:00 UTC


def host(second: int, busy: int = 0, load: float = 0.5, swapped: int = 0) -> str:
    return (
        f"host, {EPOCH + second:.0f}, 4, {load}, {1000 + busy}, {5000 + second * 400}, {swapped}\n"
    )


def gpu(
    second: float,
    index: int = 0,
    *,
    memory: int = 100,
    utilization: str = "90",
    power: float = 400.0,
    clock: int = 1900,
    temperature: int = 60,
    ecc: int = 0,
    last: str = "0, 0",
    hour: int = 22,
) -> str:
    minute, rest = divmod(second, 60)
    return (
        f"2026/11/21 {hour}:{int(minute):02}:{rest:06.3f}, {index}, {memory}, {utilization}, "
        f"{power}, {clock}, {temperature}, 1980, {ecc}, {last}\n"
    )


def read(*lines: str) -> HostTelemetry:
    return read_telemetry(io.BytesIO("".join(lines).encode()))


HOUR = Span(EPOCH, EPOCH + 3600)


def seen(
    *lines: str, trained: Span = HOUR, ran: Span = ALWAYS, slow: dict[int, Span] | None = None
) -> Telemetry:
    return summarise(read(*lines), "node1", (0,), trained, slow or {}, ran)


def only(telemetry: Telemetry) -> GpuUse:
    [found] = telemetry.gpus
    return found


def test_power_of_the_first_second_is_partly_of_before_and_counts_only_of_little() -> None:
    lines = [gpu(s, power=700.0 if s > 10 else 400.0) for s in range(31)]
    use = only(seen(host(0), HEADER, *lines, trained=Span(EPOCH + 10, EPOCH + 20)))
    assert use.power_w_mean == 700.0
    assert use.energy_j == pytest.approx(700.0 * use.seconds)
    lines = [gpu(s, power=700.0 if s > 11 else 400.0) for s in range(31)]
    use = only(seen(host(0), HEADER, *lines, trained=Span(EPOCH + 10.1, EPOCH + 20)))
    assert use.power_w_mean == 700.0
    short = only(seen(host(0), HEADER, *lines, trained=Span(EPOCH + 10.5, EPOCH + 12.4)))
    assert short.power_w_mean == 550.0


def test_one_sample_is_no_mean() -> None:
    lines = [gpu(s) for s in range(31)]
    use = only(seen(host(0), HEADER, *lines, trained=Span(EPOCH + 9.5, EPOCH + 10.4)))
    means = use.utilization_mean, use.utilization_p95, use.power_w_mean, use.sm_clock_mhz_mean
    assert (use.seconds, use.energy_j) == (1.0, None)
    assert means == (None,) * 4


def test_power_times_time_is_energy_and_a_gap_is_none_of_it() -> None:
    seconds = [*range(11), *range(40, 51)]  # the link was away for half a minute
    lines = [gpu(s, power=100.0 if s < 20 else 300.0) for s in seconds]
    use = only(seen(host(0), HEADER, *lines))
    assert use.seconds == 20.0
    assert only(seen(host(0), HEADER, gpu(0), gpu(5), gpu(10.001))).seconds == 5.0
    assert use.energy_j == pytest.approx(10 * 100 + 10 * 300)
    assert use.power_w_mean == pytest.approx(200.0)


def test_only_what_was_between_the_first_reading_and_the_last_counts() -> None:
    lines = [gpu(s, power=50.0 if s < 10 or s > 20 else 500.0) for s in range(31)]
    use = only(seen(host(0), HEADER, *lines, trained=Span(EPOCH + 10, EPOCH + 20)))
    assert use.power_w_mean == 500.0
    assert 10 <= use.seconds <= 11


def sampled(second: int, per_s: int) -> str:
    """Everything that a host tells at once; all that it counts has grown by so much each second."""
    us = second * per_s * 1000
    return host(second, second * per_s, per_s, second * per_s) + gpu(
        second + 0.3,
        memory=per_s,
        utilization=str(per_s % 100),
        power=per_s,
        clock=per_s,
        temperature=per_s,
        ecc=second * per_s,
        last=f"{us}, {us}",
    )


SECONDS = st.lists(st.integers(0, 60), unique=True).map(sorted)


@given(SECONDS, st.integers(0, 59), st.integers(1, 60), st.integers(0, 60), st.integers(101, 399))
def test_what_was_after_the_end_of_a_run_changes_no_figure_of_it(
    seconds: list[int], end: int, late_s: int, began: int, other: int
) -> None:
    """However late the last readings came: they were stamped when they did."""
    trained, ran = Span(EPOCH + began, EPOCH + end + late_s), Span(EPOCH, EPOCH + end + 0.2)
    slow = {0: Span(EPOCH + end / 2, EPOCH + end + late_s)}
    own = [sampled(s, 100) for s in seconds if s < end]
    later = [sampled(s, other) for s in seconds if s >= end]
    others = [f"other, {EPOCH + s:.0f}, 0, 4711\n" for s in seconds if s >= end]
    found = seen(HEADER, *own, *later, *others, trained=trained, ran=ran, slow=slow)
    assert found == seen(HEADER, *own, trained=trained, ran=ran, slow=slow)
    for use in found.hosts:
        assert use.cpu_busy in (None, 0.25)


@given(SECONDS, st.integers(1, 60), st.integers(101, 399))
def test_what_passed_before_the_launch_of_a_run_changes_no_figure_of_it(
    seconds: list[int], launch: int, other: int
) -> None:
    trained, ran = Span(EPOCH, EPOCH + 70), Span(EPOCH + launch, EPOCH + 70)
    own = [sampled(s, 100) for s in seconds if s >= launch]
    before = [sampled(s, other) for s in seconds if s < launch]
    found = seen(HEADER, *before, *own, trained=trained, ran=ran)
    alone = seen(HEADER, *own, trained=trained, ran=ran)
    for use, same in zip(found.hosts if own else (), alone.hosts, strict=True):
        assert replace(use, load_start=same.load_start) == same
    for gpu_use, gpu_same in zip(found.gpus if own else (), alone.gpus, strict=True):
        assert replace(gpu_use, memory_mib_max=gpu_same.memory_mib_max) == gpu_same


@pytest.mark.parametrize("hour", [22, 23, 6, 0, 17])
def test_a_host_in_any_time_zone_is_put_right(hour: int) -> None:
    day_off = "2026/11/22" if hour < 17 else "2026/11/21"
    lines = [gpu(s, hour=0).replace("2026/11/21 0:", f"{day_off} {hour:02}:") for s in range(10)]
    use = only(seen(host(0), HEADER, *lines, trained=Span(EPOCH, EPOCH + 60)))
    assert use.seconds == 9.0


def test_a_zone_may_be_three_quarters_of_an_hour_off() -> None:
    """Nepal's is 5:45, so that 22:00 UTC is 3:45 there."""
    lines = [gpu(45 * 60 + s, hour=3).replace("2026/11/21", "2026/11/22") for s in range(10)]
    use = only(seen(host(0), HEADER, *lines, trained=Span(EPOCH, EPOCH + 60)))
    assert use.seconds == 9.0


def test_throttling_is_counted_by_reason_from_the_drivers_own_counters() -> None:
    lines = [gpu(s, last=f"{s * 500_000}, {max(0, s - 5) * 1_000_000}") for s in range(11)]
    use = only(seen(host(0), HEADER, *lines))
    assert use.throttled_s == {
        "power cap": pytest.approx(5.0),
        "hardware thermal slowdown": pytest.approx(5.0),
    }


def test_an_older_driver_has_only_the_reasons_of_the_moment() -> None:
    lines = [
        gpu(s, last="0x0000000000000008" if s > 6 else "0x0000000000000001") for s in range(11)
    ]
    use = only(seen(host(0), MASKED, *lines))
    assert use.throttled_s is not None
    assert use.throttled_s["hardware slowdown"] == pytest.approx(4.0)
    assert use.throttled_s["power cap"] == 0.0


def test_a_driver_that_tells_nothing_of_it_is_not_taken_for_one_without_throttling() -> None:
    header = HEADER.partition(", clocks.max")[0] + "\n"
    lines = [gpu(s).partition(", 1980")[0] + "\n" for s in range(5)]
    use = only(seen(host(0), header, *lines))
    assert use.throttled_s is None
    assert use.ecc_errors is None
    assert use.sm_clock_mhz_max is None
    assert use.utilization_mean == 90.0


def test_utilization_memory_errors_and_other_processes() -> None:
    lines = [gpu(s, utilization=str(s), ecc=2 if s < 50 else 5, memory=s) for s in range(101)]
    others = ["other, 1795298401, 0, 4711\n", "other, 1795298461, 0, 4711\n", "other, 1, 1, 7\n"]
    use = only(seen(host(0), HEADER, *lines, *others))
    assert use.utilization_mean == pytest.approx(50.0)
    assert use.utilization_p95 == pytest.approx(95.0, abs=0.1)
    assert (use.ecc_errors, use.memory_mib_max, use.other_processes) == (3, 100.0, 1)


def test_not_available_is_none() -> None:
    lines = [gpu(s, utilization="[N/A]") for s in range(5)]
    use = only(seen(host(0), HEADER, *lines))
    assert use.utilization_mean is None
    assert use.utilization_p95 is None


def test_a_host_without_gpus_tells_its_load_and_its_cpus() -> None:
    lines = [host(s, busy=s * 100, load=3.5 if s == 0 else 9.0, swapped=s) for s in range(0, 61, 5)]
    [use] = seen(*lines).hosts
    assert (use.cpus, use.load_start, use.swapped_kib) == (4, 3.5, 60)
    assert use.cpu_busy == pytest.approx(0.25)


def test_what_a_gpu_did_while_the_run_was_slower_is_found_and_nothing_else() -> None:
    def lines(slow_clock: int, throttle_us: int) -> list[str]:
        found = []
        for s in range(120):
            late = max(0, s - 60)
            found.append(
                gpu(s, clock=slow_clock if s > 60 else 1900, last=f"0, {late * throttle_us}")
            )
        return found

    slow = {0: Span(EPOCH + 60, EPOCH + 120)}
    throttled = seen(host(0), HEADER, *lines(1900, 500_000), slow=slow).meanwhile
    assert [(m.disturbance, m.gpu, m.throttled_by) for m in throttled] == [
        (0, 0, "hardware thermal slowdown")
    ]
    assert throttled[0].throttled_s == pytest.approx(29.5, abs=0.6)
    [little] = seen(host(0), HEADER, *lines(1900, 60_000), slow=slow).meanwhile
    assert little.throttled_by
    assert not seen(host(0), HEADER, *lines(1900, 47_000), slow=slow).meanwhile
    assert seen(host(0), HEADER, *lines(1840, 0), slow=slow).meanwhile
    assert not seen(host(0), HEADER, *lines(1850, 0), slow=slow).meanwhile
    [clocked] = seen(host(0), HEADER, *lines(1500, 0), slow=slow).meanwhile
    assert clocked.throttled_by == ""
    assert clocked.clock_change == pytest.approx(1500 / 1900 - 1, abs=0.01)
    assert not seen(host(0), HEADER, *lines(1890, 10_000), slow=slow).meanwhile


STREAM = "".join(
    [host(0), HEADER, *(gpu(s, i) for s in range(20) for i in range(2)), host(15), host(20)]
).encode()


@given(st.lists(st.tuples(st.integers(0, len(STREAM)), st.binary(max_size=40)), max_size=8))
def test_a_file_of_any_bytes_is_read(strange: list[tuple[int, bytes]]) -> None:
    data = STREAM
    for at, extra in strange:
        data = data[:at] + extra + data[at:]
    found = summarise(
        read_telemetry(io.BytesIO(data)),
        "node1",
        (0, 1),
        Span(EPOCH, EPOCH + 60),
        {0: Span(0, 9e9)},
    )
    for use in (*found.gpus, *found.hosts, *found.meanwhile):
        kinds = {type(value) for value in asdict(use).values()}
        assert kinds <= {str, int, float, dict, type(None)}, "and nothing of numpy's"
    for use in found.gpus:
        assert 0 <= use.seconds <= 19.001
        assert use.energy_j is None or use.energy_j >= 0


@given(st.integers(0, len(STREAM)))
def test_a_torn_end_and_what_was_appended_later_harm_no_other_line(cut: int) -> None:
    data = STREAM[:cut] + STREAM
    found = read_telemetry(io.BytesIO(data)).gpus
    assert len(found) >= 40
    assert found["passed"].between(0, 1.001).all()


def test_of_an_endless_file_only_the_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backends.hosts.telemetry.MOST_BYTES", len(STREAM))
    monkeypatch.setattr("backends.hosts.telemetry._BLOCK", 1000)
    assert len(read_telemetry(io.BytesIO(STREAM * 3)).gpus) == 40


@pytest.mark.parametrize("block", [1000, 1 << 20])
@pytest.mark.parametrize("parts", [1, 3, 7])
def test_a_long_file_comes_to_the_same_in_fewer_rows(
    parts: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of a day is watched all day, in the memory that one of four hours takes."""
    lines = [host(0), HEADER]
    for s in range(600):
        lines += [
            gpu(s, i, utilization=str(90 + s % 5), power=400 + s % 7, last=f"{s * 500_000 + i}, 0")
            for i in range(2)
        ]
    data = "".join([*lines, host(600)]).encode()
    monkeypatch.setattr("backends.hosts.telemetry._BLOCK", block)
    whole = read_telemetry(io.BytesIO(data))
    monkeypatch.setattr("backends.hosts.telemetry.WHOLE_BYTES", math.ceil(len(data) / parts))
    fewer = read_telemetry(io.BytesIO(data))
    assert len(fewer.gpus) <= len(whole.gpus) / parts + 2 * (1 + len(data) // block)
    trained = Span(EPOCH, EPOCH + 600)
    for one, other in zip(
        *(summarise(seen, "node1", (0, 1), trained, {}).gpus for seen in (whole, fewer)),
        strict=True,
    ):
        assert other.seconds == one.seconds == pytest.approx(599)
        assert other.throttled_s == pytest.approx(one.throttled_s)
        assert other.energy_j == pytest.approx(one.energy_j, rel=1e-3)
        assert other.utilization_mean == pytest.approx(one.utilization_mean, rel=1e-3)
        assert other.memory_mib_max == one.memory_mib_max


def test_nothing_at_all_is_no_telemetry() -> None:
    assert seen() == Telemetry()


def test_an_h200_that_multiplies_matrices_is_at_its_power_limit() -> None:
    """A real one: 4 s idle, then a matrix product in bfloat16; driver 580."""
    with (Path(__file__).parent / "telemetry-h200.csv").open("rb") as file:
        use = only(summarise(read_telemetry(file), "h200", (0,), WORKING, {}))
    assert use.throttled_s is not None
    assert use.throttled_s["power cap"] == pytest.approx(use.seconds, rel=0.01)
    assert sum(use.throttled_s.values()) == use.throttled_s["power cap"]
    assert use.utilization_mean == 99.0
    assert use.power_w_mean == pytest.approx(690, abs=3)
    assert use.sm_clock_mhz_max == 1980
    assert use.sm_clock_mhz_mean == pytest.approx(1467, abs=10)
    assert (use.temperature_c_max, use.memory_mib_max, use.ecc_errors) == (61, 883, 0)


WORKING = Span(1795300461.0, 1795300471.5)
