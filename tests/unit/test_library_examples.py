"""The example lines of the bundled profiles are read to what a person reads in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from profiles.format.case import Case
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.format.profile import Profile
from profiles.format.rule_for_case import rule_for
from profiles.logs.examples import example_flaws
from profiles.logs.log_parser import LogParser
from profiles.throughput.rank_lines import read_rank_times
from profiles.throughput.rank_times import RankTime

CATALOG = Catalog.load()

READINGS = {
    "cpu-smoke": (480, 5120.771),
    "mmseg-deeplabv3p": (8, 1.426),  # not data_time, not eta
    "mmseg-hrnet": (8, 1.162),
    "nccl-tests": (4294967296, 361.73),  # out of place, not in place
    "ngc-mxnet-resnet50": (339, 2871.350442718606),
    "ngc-pytorch-bert": (None, 702.4188130249023),
    "ngc-pytorch-resnet50": (45, 809.07),  # total, not compute
    "ngc-pytorch-resnet50-convergence": (7, 811.94),  # compute, not total
    "ngc-tensorflow-bert": (31, 552.903),  # not the step of the line behind it
    "ngc-tensorflow-resnet50": (310, 11904.728115306284),
    "ngc-tensorflow2-maskrcnn": (None, 33.7),
    "oneflow-resnet50": (140, 391.062),
    "paddle-resnet50": (57, 0.3614),
    "paddleclas-resnet50": (340, 1398.52499),
    "paddlenlp-bert": (310, 156.8448),
    "paddlenlp-transformer": (1700, 29130.62405),
    "paddleseg-deeplabv3p": (65, 5.7298),
    "paddleseg-hrnet": (165, 12.8246),
    "torch-resnet50": (80, 4702.615),
}
"""Step and value of a profile's reading."""

METRICS = {
    "cpu-smoke": {"loss": 0.881216},
    "mmseg-deeplabv3p": {"data_time_s": 0.011, "loss": 1.9279, "memory": 17924},
    "mmseg-hrnet": {"data_time_s": 0.016, "loss": 0.6931, "memory": 13876},
    "nccl-tests": {
        "size_bytes": 4294967296,
        "avg_busbw": 131.743,
        "in_place_busbw": 362.62,
        "latency_us": 21.5,
    },
    "ngc-mxnet-resnet50": {"loss": 6.214907741546631},
    "ngc-pytorch-bert": {"loss": 8.731201171875, "time_to_train": 631.5904226303101},
    "ngc-pytorch-resnet50": {
        "compute_ips": 811.36,
        "data_time_s": 0.00241,
        "loss": 6.52871,
        "top1": 61.22,
    },
    "ngc-pytorch-resnet50-convergence": {"top1": 76.38, "loss": 2.55082},
    "ngc-tensorflow-bert": {"loss": 10.9017},
    "oneflow-resnet50": {"loss": 4.318821, "top1": 99.8047},
    "paddle-resnet50": {"loss": 6.79117},
    "paddleclas-resnet50": {"data_time_s": 0.00067, "loss": 5.776, "top1": 3.52},
    "paddlenlp-bert": {"data_time_s": 0.00011, "loss": 10.37194},
    "paddlenlp-transformer": {"data_time_s": 0.00009, "loss": 4.521808},
    "paddleseg-deeplabv3p": {"data_time_s": 0.00108, "loss": 0.7446},
    "paddleseg-hrnet": {"data_time_s": 0.00012, "loss": 0.8811},
    "torch-resnet50": {"loss": 6.912047, "memory": 31290},
}
"""Each metric by its own example, in its unit."""

SUMMARIES = {
    ("ngc-mxnet-resnet50", "1n8g"): 2874.6,
    ("ngc-pytorch-resnet50", "4n8g"): 9868.91,
    ("ngc-pytorch-resnet50-convergence", "1n1g"): 812.33,
    ("ngc-tensorflow-resnet50", "4n8g"): 11962.184073925018,
    ("ngc-tensorflow2-maskrcnn", "1n8g"): 34.2,
}


def parsed(profile: Profile, case: Case, log: str) -> LogParser:
    parser = LogParser(profile, case)
    parser.feed(f"{log}\n".encode())
    parser.finish()
    return parser


def cases(profile: Profile) -> Iterator[Case]:
    """Every size, with each choice of one parameter at a time."""
    for key, parameter in profile.parameters.items():
        yield from expand(profile, None, {key: list(parameter.choice_texts)})


def first_case(name: str) -> tuple[Profile, Case]:
    profile = CATALOG.get(name)
    return profile, expand(profile, None, {})[0]


@pytest.mark.parametrize("name", CATALOG.names)
def test_every_pattern_has_an_example_and_reads_it(name: str) -> None:
    assert list(example_flaws(CATALOG.get(name))) == []


@pytest.mark.parametrize("name", CATALOG.names)
def test_a_log_of_nothing_but_the_example_has_one_reading_in_every_case(name: str) -> None:
    profile = CATALOG.get(name)
    for case in cases(profile):
        rule = rule_for(profile, case)
        parser = parsed(profile, case, rule.example)
        # Of a total since the run began nothing is known before the second.
        assert len(parser.readings) == (0 if rule.cumulative == "total" else 1), case
        assert parser.rejected == 0


@pytest.mark.parametrize("name", READINGS)
def test_step_and_value_are_those_that_a_person_reads(name: str) -> None:
    profile, case = first_case(name)
    [reading] = parsed(profile, case, profile.measure.example).readings
    known = reading.step if reading.step is None or math.isfinite(reading.step) else None
    assert (known, reading.value) == READINGS[name]


def test_a_readings_time_is_the_one_that_the_line_begins_with() -> None:
    profile, case = first_case("paddle-resnet50")
    line = profile.measure.example
    later = line.replace("09:26:43,871", "09:26:45,121").replace("batch 57", "batch 60")
    one, other = parsed(profile, case, f"{line}\n{later}").readings
    assert one.t is not None
    assert other.t is not None
    assert other.t - one.t == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("name", "metric"), [(name, metric) for name, read in METRICS.items() for metric in read]
)
def test_metrics_are_those_that_a_person_reads(name: str, metric: str) -> None:
    profile, case = first_case(name)
    read = parsed(profile, case, profile.measure.metrics[metric].example).metrics
    assert read[metric] == pytest.approx(METRICS[name][metric])


@pytest.mark.parametrize(("name", "tag"), SUMMARIES)
def test_summaries_are_those_that_a_person_reads(name: str, tag: str) -> None:
    profile = CATALOG.get(name)
    [case] = expand(profile, [tag], {})
    rule = rule_for(profile, case)
    assert parsed(profile, case, rule.summary_example).summary_value == SUMMARIES[name, tag]


@pytest.mark.parametrize(
    ("name", "batch_size"),
    [("mmseg-deeplabv3p", "4"), ("mmseg-hrnet", "8"), ("ngc-pytorch-resnet50", "128")],
)
def test_a_batch_size_that_a_log_states_is_that_of_a_device(name: str, batch_size: str) -> None:
    profile, case = first_case(name)
    line = profile.measure.stated["batch_size"].example
    assert parsed(profile, case, line).stated == {"batch_size": batch_size}


@pytest.mark.parametrize("name", CATALOG.names)
def test_the_example_of_a_failure_has_its_reason_before_any_other(name: str) -> None:
    profile, case = first_case(name)
    for failure in profile.measure.failure:
        first, *_others = parsed(profile, case, failure.example).failures
        assert (first.reason, first.retry) == (failure.reason, failure.retry)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cpu-smoke", RankTime(2, 0.019403, 0.014872, 0.004319, 0.000212)),
        ("torch-resnet50", RankTime(1, 0.054112, 0.050013, 0.002871, 0.0001)),
    ],
)
def test_what_a_rank_tells_is_what_a_person_reads(
    name: str, told: RankTime, tmp_path: Path
) -> None:
    profile = CATALOG.get(name)
    assert profile.explain is not None
    log = tmp_path / "host.log"
    log.write_text(f"{profile.explain.example}\n", encoding="utf-8")
    assert read_rank_times(profile, [log]) == (told,)
    assert told.idle_s == pytest.approx(
        told.step_s - told.compute_s - told.communication_s - told.input_s
    )
