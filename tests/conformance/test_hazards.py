"""Traps in published logs, each by the line that it was found in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from profiles.cleantext import clean_line
from profiles.logs.log_parser import LogParser
from profiles.logs.ranks import RankFilter
from tests.conformance.published import Log, corpus, document, log_at


@dataclass(frozen=True)
class Trap:
    """The log that holds it, and its line as it is in the file."""

    log: Log
    raw: bytes

    def parsed(self) -> LogParser:
        """A parser that has read the line and nothing else."""
        parser = LogParser(self.log.profile, self.log.case)
        parser.feed(self.raw + b"\n")
        return parser

    def values(self) -> list[float]:
        return [reading.value for reading in self.parsed().readings]


def _no_reading(trap: Trap) -> None:
    parser = trap.parsed()
    assert (len(parser.readings), parser.rejected, parser.summary_value) == (0, 0, None)
    assert trap.log.measurement.readings == trap.log.entry["n_samples"]


def _second_prefix(trap: Trap) -> None:
    assert trap.values() == [16610.595729661483]
    assert trap.log.measurement.throughput == 16610.595729661483
    assert trap.log.measurement.metrics["loss"] == 8.117547035217285


def _glued_progress_bar(trap: Trap) -> None:
    assert RankFilter((0,)).parts(trap.raw.decode()) == [
        "Iteration:   0%|          | 0/1147 [00:00<?, ?it/s]"
    ]
    assert trap.log.measurement.readings == 1


def _glued_lines(trap: Trap) -> None:
    assert trap.values() == [538.018]
    assert trap.parsed().metrics == {"loss": 11.0911}  # not TensorFlow's own "loss = 10.998341"


def _glued_ranks(trap: Trap) -> None:
    assert "Falsedevice:" in clean_line(trap.raw)
    _no_reading(trap)


def _colours(trap: Trap) -> None:
    assert trap.values() == [8932.95383]
    assert clean_line(trap.raw).startswith("[2023-07-31 10:29:56,469] [    INFO] - step_idx: 200")


def _nul(trap: Trap) -> None:
    assert "device: \ufffd. The installed Paddle" in clean_line(trap.raw)
    _no_reading(trap)


def _long_progress_bar(trap: Trap) -> None:
    assert len(trap.raw) == 41_861
    assert clean_line(trap.raw).startswith("Downloading data: 100%|")
    log = (corpus() / trap.log.entry["path"]).read_bytes()
    parser = LogParser(trap.log.profile, trap.log.case)
    for start in range(0, len(log), 1000):
        parser.feed(log[start : start + 1000])
    parser.finish()
    assert parser.readings == trap.log.parser.readings
    _no_reading(trap)


def _progress_bar(trap: Trap) -> None:
    assert clean_line(trap.raw) == f"[{'=' * 50}] 100.00%"
    _no_reading(trap)


def _evaluation(trap: Trap) -> None:
    _no_reading(trap)
    parser = LogParser(trap.log.profile, trap.log.case)
    parser.feed(b"DLL 2023-08-01 06:01:00.0 -  throughput_val : 765.95 sequences/s\n")
    assert len(parser.readings) == 0


def _competing_summaries(trap: Trap) -> None:
    _no_reading(trap)
    parser = LogParser(trap.log.profile, trap.log.case)
    parser.feed(b"DLL 2023-08-01 06:00:18.884316 -  throughput_train : 3353.673 sequences/s\n")
    assert (len(parser.readings), parser.summary_value) == (0, None)
    assert trap.log.measurement.throughput == pytest.approx(4042.83, rel=1e-5)


def _repeated_steps(trap: Trap) -> None:
    steps = [reading.step for reading in trap.log.parser.readings]
    assert steps.count(1) == 8
    assert trap.log.measurement.used == len(steps) == 53


def _batch_per_device(trap: Trap) -> None:
    assert trap.parsed().stated == {"batch_size": "256"}
    assert (trap.log.case.batch_size, trap.log.case.global_batch) == (256, 2048)
    assert trap.log.measurement.warnings == ()


def _batch_of_the_name(trap: Trap) -> None:
    assert trap.parsed().stated == {"batch_size": "8"}
    assert trap.log.case.batch_size == 4
    assert "the log says batch_size 8, the case has 4" in trap.log.measurement.warnings[0]


def _one_gpu_id(trap: Trap) -> None:
    _no_reading(trap)
    mean = sum(reading.value for reading in trap.log.parser.readings[1:]) / 4
    assert trap.log.measurement.throughput == pytest.approx(4 * 32 / mean)


def _drain(trap: Trap) -> None:
    assert trap.values() == [178.99]
    assert trap.log.parser.readings[-1].value == 178.99
    assert (trap.log.measurement.readings, trap.log.measurement.used) == (63, 55)
    assert trap.log.measurement.throughput == pytest.approx(2791.98, rel=1e-5)


def _checkpoint(trap: Trap) -> None:
    assert trap.values() == [1.659]  # seconds per step; not data_time
    assert trap.log.parser.readings[-1].value == 1.659
    assert trap.log.measurement.throughput == pytest.approx(25.65, rel=1e-3)


CHECKS: dict[str, Callable[[Trap], None]] = {
    "metric line ends with a second MPI prefix": _second_prefix,
    "tqdm bar glued in front of / before MPI prefix; "
    "U+2588 blocks; first line has no prefix": _glued_progress_bar,
    "two log lines glued: DLL metric + INFO:tensorflow": _glued_lines,
    'two ranks glued without newline ("Falsedevice:")': _glued_ranks,
    "ANSI colour codes around the metric": _colours,
    "NUL byte in a warning line": _nul,
    "bare CR progress bars, 41,861-byte line": _long_progress_bar,
    "bare CR progress bar": _progress_bar,
    'decoy "ips: None"': _no_reading,
    'decoy "ips: 127.0.0.1"': _no_reading,
    'decoy "--ips:0,1,2,..."': _no_reading,
    'decoy eval throughput "Throughput Average (sentences/sec) = 765.95" / '
    "throughput_val": _evaluation,
    "three competing train summaries: with overhead 2795.08, 3353.67, "
    "lines mean 4042.83 (published), steady ~4190": _competing_summaries,
    'iteration number repeats ("Iteration: 1" x8, loss-scale overflow)': _repeated_steps,
    "batch_size in PARAMETER line is PER GPU (256)": _batch_per_device,
    "samples_per_gpu=8 in a file/README that says BS=4": _batch_of_the_name,
    "gpu_ids = range(0, 1) in a 32-GPU log": _one_gpu_id,
    "negative Total Flops": _no_reading,
    "foreign launcher line between metric lines": _no_reading,
    "drain outlier: last iteration 1/16 speed": _drain,
    "checkpoint inflates last Iter": _checkpoint,
    "epoch-average line carries the same key as iteration lines": _no_reading,
}


def _hazards() -> dict[str, dict[str, Any]]:
    return {hazard["hazard"]: hazard for hazard in document("hazards.json")}


def test_every_known_hazard_has_a_check() -> None:
    assert set(_hazards()) == set(CHECKS)
    assert len(CHECKS) == 22


@pytest.mark.parametrize("name", CHECKS)
def test_a_hazard_does_not_mislead(name: str) -> None:
    hazard = _hazards()[name]
    lines = (corpus() / hazard["path"]).read_bytes().split(b"\n")
    CHECKS[name](Trap(log_at(hazard["path"]), lines[hazard["line"] - 1]))
