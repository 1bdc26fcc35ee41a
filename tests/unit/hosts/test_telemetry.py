"""One-second GPU telemetry, live and from the kept file."""

from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.telemetry import TelemetryParser

STREAM = b"""\
timestamp, index, memory.used [MiB], utilization.gpu [%], power.draw [W], \
clocks.current.sm [MHz], temperature.gpu
2026/01/02 23:59:59.500, 0, 100 MiB, 10 %, 80.00 W, 345 MHz, 38
2026/01/02 23:59:59.510, 1, 0 MiB, 0 %, [N/A], 345 MHz, [N/A]
2026/01/03 00:00:00.500, 0, 300 MiB, 90 %, 400.00 W, 1980 MHz, 52
Unable to determine the device handle for GPU1: GPU is lost.
2026/01/03 00:00:01.500, 0, 200 MiB, 80 %, 3"""


def test_samples_come_with_complete_lines_only() -> None:
    parser = TelemetryParser()
    first, second, third = parser.feed(STREAM)
    assert (first.gpu_index, first.memory_used_mib, first.utilization_pct) == (0, 100, 10)
    assert (first.power_w, first.sm_clock_mhz, first.temperature_c) == (80.0, 345, 38)
    assert (second.gpu_index, second.power_w, second.temperature_c) == (1, None, None)
    assert first.time_s is not None
    assert third.time_s == first.time_s + 1.0
    assert parser.skipped == 1
    (fourth,) = parser.feed(b"60.00 W, 1980 MHz, 53\n")
    assert fourth.power_w == 360.0


@given(st.lists(st.integers(0, len(STREAM)), max_size=6))
def test_any_chunking_gives_the_same_samples(cuts: list[int]) -> None:
    parser = TelemetryParser()
    bounds = [0, *sorted(cuts), len(STREAM)]
    chunked = [
        sample
        for begin, end in itertools.pairwise(bounds)
        for sample in parser.feed(STREAM[begin:end])
    ]
    assert chunked == TelemetryParser().feed(STREAM)


@given(st.lists(st.binary(max_size=100)))
def test_any_bytes_are_samples_or_skipped(chunks: list[bytes]) -> None:
    parser = TelemetryParser()
    parser.feed(STREAM[: STREAM.index(b"\n") + 1])
    for chunk in chunks:
        parser.feed(chunk)


def test_the_h200_capture(captures: Path) -> None:
    parser = TelemetryParser()
    samples = parser.feed((captures / "telemetry.csv").read_bytes())
    assert parser.skipped == 0
    assert len(samples) == 2999
    assert {sample.gpu_index for sample in samples} == set(range(8))
    for gpu in range(8):
        own = [sample for sample in samples if sample.gpu_index == gpu]
        assert 19_000 < max(sample.memory_used_mib or 0 for sample in own) < 80_000
        assert min(sample.power_w or 0 for sample in own) > 50
