"""A list of campaigns and the Matrix tell of a case what its report does: figures and grade."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.campaign.folder.past_index import PastIndex
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import fold
from backends.hosts.telemetry_summary import GpuUse, HostUse, Telemetry
from backends.results.case_result import CaseResult
from backends.results.findings import Concern
from backends.results.layouts.cells import speedup_marks
from backends.results.past_result import PastResult
from backends.results.statistics import Spread
from backends.results.summary import summarise
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.throughput.steady import Disturbance, Shape
from tests.support.past_campaigns import past_campaign

SOURCE = Catalog.load((), None).source("torch-resnet50")
EXAMPLES = sorted((Path(__file__).parents[3] / "docs" / "examples").glob("*/events.jsonl"))
T = 1_000_000.0

Change = Callable[[ev.RunSucceeded], ev.RunSucceeded]


def gpus(**more: object) -> Change:
    """Its GPUs were seen all the time."""

    def change(run: ev.RunSucceeded) -> ev.RunSucceeded:
        gpu = replace(GpuUse("node1", 0, 18.0, utilization_mean=97.0), **more)
        host = HostUse("node1", 64, 1.5, 0.3, 0)
        return replace(run, telemetry=Telemetry((gpu, replace(gpu, gpu=1)), (host,)))

    return change


def said(**more: object) -> Change:
    return lambda run: replace(gpus()(run), **more)


WATCHED: Mapping[Concern | None, Change] = {
    None: gpus(),
    Concern.UNOBSERVED: lambda run: run,
    Concern.IDLE_GPUS: gpus(utilization_mean=0.0),
    Concern.THROTTLED: gpus(throttled_s={"power brake": 9.0}),
    Concern.POWER_CAPPED: gpus(throttled_s={"power cap": 9.0}),
    Concern.DISTURBED: gpus(other_processes=2),
    Concern.UNSTEADY: said(steady=(Disturbance(Shape.STEP, -0.1, 0.05, 3),)),
    Concern.STEADINESS_UNKNOWN: said(steady=None),
    Concern.WARNINGS: said(warnings=("odd",)),
    Concern.CLOCK: said(warnings=("fast",), doubts={"clock": ("fast",)}),
    Concern.SAME_LOG: said(warnings=("twice",), doubts={"same_log": ("twice",)}),
    Concern.UNKNOWN_ENVIRONMENT: said(fingerprint=""),
    Concern.MIXED_ENVIRONMENT: said(fingerprint="NVIDIA H200, driver 580, CUDA 13.0"),
}
BEGUN: Mapping[Concern | None, Mapping[str, object]] = {
    None: {},
    Concern.PREFLIGHT: {"warned": ("node1: load 4.2 on 2 CPUs",)},
    Concern.FORCED: {"forced": True, "overridden": ("node1: in use",)},
    Concern.SIMULATED: {"simulated": True},
}


def kept(
    directory: Path,
    throughputs: list[float | None],
    changes: list[Change],
    begun: Mapping[str, object] = BEGUN[None],
    readings_s: float = 2.0,
) -> Path:
    """A campaign of two cases; one of ``changes`` for each run of both, in turn; a reading comes
    every ``readings_s``."""
    small, large = expand(SOURCE.profile, ["1n1g", "1n2g"], {})
    doubled = [value and 2 * value for value in throughputs]
    path = past_campaign(directory, SOURCE, {small: throughputs, large: doubled}, at=T)
    file, told, number = path / journal.FILE_NAME, [], 0
    for event in journal.read_events(file):
        if isinstance(event, ev.CampaignCreated):
            told.append(replace(event, **begun))
        elif isinstance(event, ev.RunSucceeded):
            came = [(None, 100.0, event.t - 20 + readings_s * n) for n in range(10)]
            told.append(
                ev.ReadingsSampled(
                    t=event.t, run_id=event.run_id, first=0, count=10, stride=1, warmup=1,
                    points=tuple(came), last=(came[-1],),
                )
            )  # fmt: skip
            told.append(changes[number % len(changes)](replace(event, steady=(), first=1)))
            number += 1
        else:
            told.append(event)
    file.write_bytes(b"".join(map(encode, told)))
    return path


def half_of(spread: Spread) -> float | None:
    return spread.student if spread.n < 6 else spread.half_width


def reported(path: Path) -> list[tuple[CaseResult, tuple[object, ...]]]:
    """Of each case that was measured what the report has."""
    groups = summarise(run_results(fold(journal.read_events(path / journal.FILE_NAME))))
    return [
        (case, (case.profile, case.case, dict(case.parameters), case.throughput, case.spread.n,
                half_of(case.spread), case.grade, None if case is group.base_case
                else case.speedup, speedup_marks(case, group)))
        for group in groups for case in group.cases if case.spread is not None
    ]  # fmt: skip


def assert_listed_as_reported(path: Path) -> None:
    index = PastIndex(path.parent)
    index.read()
    listed = [
        (one.profile, one.tag, dict(one.parameters), one.throughput, one.repeats, one.half_width,
         one.grade, one.speedup, one.marks)
        for one in index.by_campaign[path] if isinstance(one, PastResult)
    ]  # fmt: skip
    assert listed == [told for _, told in reported(path)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_the_examples_are_listed_as_they_are_reported(path: Path) -> None:
    assert_listed_as_reported(path.parent)


@pytest.mark.parametrize("concern", [*WATCHED, *BEGUN])
def test_what_is_held_against_a_case_in_its_report_is_in_its_grade_everywhere(
    tmp_path: Path, concern: Concern | None
) -> None:
    change, begun = WATCHED.get(concern, gpus()), BEGUN.get(concern, {})
    changes = [change, gpus()] if concern is Concern.MIXED_ENVIRONMENT else [change]
    path = kept(tmp_path / "one", [100.0, 100.1, 99.9, 100.0, 100.1, 99.9, 100.0], changes, begun)
    (case, _), _ = reported(path)
    assert case.concerns[:1] == (() if concern is None else (concern,))
    assert_listed_as_reported(path)


@settings(max_examples=60, deadline=None)
@given(
    throughputs=st.lists(st.one_of(st.none(), st.floats(50.0, 200.0)), min_size=1, max_size=8),
    changes=st.lists(st.sampled_from(list(WATCHED.values())), min_size=1, max_size=5),
    begun=st.sampled_from(list(BEGUN.values())),
    readings_s=st.sampled_from([0.0, 0.5, 2.0, 10.0]),
)
def test_any_campaign_is_listed_as_it_is_reported(
    throughputs: list[float | None],
    changes: list[Change],
    begun: Mapping[str, object],
    readings_s: float,
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        assert_listed_as_reported(
            kept(Path(directory, "one"), throughputs, changes, begun, readings_s)
        )
