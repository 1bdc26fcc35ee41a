from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.strip import Strip

from backends.campaign.record.journal import FILE_NAME, read_events
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import take
from profiles.format.case import Case
from profiles.format.catalog import Catalog
from profiles.format.profile import Profile
from tests.conformance.published import corpus, logs
from tests.console.conftest import words
from tui.screens.run_panels import RunPanels
from tui.session import Session
from tui.widgets.cut_marks import CUT_LEFT, CUT_RIGHT, LEFT_OUT
from tui.widgets.log_lines import LineReader
from tui.widgets.log_panel import LogPanel
from tui.widgets.log_readings import (
    COUNTS,
    IS_LEFT_OUT,
    LogReadings,
    figure_in_sight,
)

EXAMPLES = sorted((Path(__file__).parents[2] / "docs" / "examples").glob("*/"))
PROFILE = Catalog.load().get("ngc-pytorch-resnet50")
CASE = Case(PROFILE.name, 1, 1, {"batch": 256, "precision": "fp32"})
SUMMARY = "DLL - Summary: train.loss : 5.4  train.total_ips : 300.51 img/s"


def of(profile: Profile | None) -> Callable[[], Profile | None]:
    return lambda: profile


def reading(step: int) -> str:
    return (
        f"DLL 2026-11-30 01:00:17.322578 - Epoch: 0 Iteration: {step}  train.loss : 5.41500 None "
        f"train.compute_ips : 305.37 images/s train.total_ips : {300 + step}.46 images/s train.lr "
        ": 0.1  train.grad_scale : 256.00000 None"
    )


def marks(lines: Sequence[str], readings: LogReadings) -> list[str]:
    data = "".join(f"{line}\n" for line in lines).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.log"
        path.write_bytes(data)
        readings.look(path)
    return marks_of(data, readings)


def marks_of(data: bytes, readings: LogReadings) -> list[str]:
    reader = LineReader()
    return [readings.mark(*line) for line in (*reader.feed(data), *reader.finish())]


@given(
    st.lists(st.booleans(), max_size=30),
    st.integers(0, 20),
    st.one_of(st.none(), st.integers(0, 20)),
)
def test_the_marks_are_of_the_readings_and_count_from_the_window_on(
    are_readings: list[bool], first: int, used: int | None
) -> None:
    until = None if used is None else first + used
    lines = [reading(n) if one else "a warning" for n, one in enumerate(are_readings)]
    found = marks(lines, LogReadings(of(PROFILE), CASE, (first, until), summed_up=False))
    told = [mark for mark, one in zip(found, are_readings, strict=True) if one]
    counted = range(first, len(told) if until is None else until)
    assert told == [COUNTS if n in counted else IS_LEFT_OUT for n in range(len(told))]
    assert not any(mark for mark, one in zip(found, are_readings, strict=True) if not one)


def test_of_a_run_whose_log_sums_it_up_the_summary_counts_alone() -> None:
    lines = [reading(1), reading(2), SUMMARY]
    of_several = replace(CASE, nodes=2)
    found = marks(lines, LogReadings(of(PROFILE), of_several, (0, None), summed_up=True))
    assert found == [IS_LEFT_OUT, IS_LEFT_OUT, COUNTS]


def test_where_it_is_not_known_which_readings_count_no_line_has_a_mark() -> None:
    readings = LogReadings(of(PROFILE), CASE, None, summed_up=False)
    assert marks([reading(1)], readings) == [""]
    at_end = "which count is known at its end (mean of the last 90 readings)"
    assert readings.unknown == at_end
    readings = LogReadings(of(PROFILE), CASE, None, summed_up=False, failed="it has failed")
    assert marks([reading(1)], readings) == [""]
    assert readings.unknown == "it has failed: none counts"
    readings = LogReadings(of(None), CASE, (0, None), summed_up=False)
    assert marks([reading(1)], readings) == [""]
    assert readings.unknown.endswith(f"no profile {PROFILE.name}")


@pytest.mark.parametrize("campaign", EXAMPLES, ids=lambda path: path.name)
def test_as_many_lines_are_marked_as_count_by_the_profile_of_then(campaign: Path) -> None:
    state = fold(read_events(campaign / FILE_NAME))
    views = take(state, campaign, now=0.0)
    workspace = SimpleNamespace(catalog=Catalog.load())
    panels = RunPanels(cast("Session", SimpleNamespace(workspace=workspace)))
    marked: dict[str, tuple[str, int]] = {}
    for run in views.runs:
        log = campaign / state.runs[run.run_id].log
        if run.throughput is not None and log.is_file():
            readings = panels._readings_of(views, run, run.hosts[0])
            assert readings is not None
            readings.look(log)
            found = marks_of(log.read_bytes(), readings).count(COUNTS)
            marked[run.run_id] = readings.unknown, found
    assert marked
    assert marked == {run_id: ("", state.runs[run_id].used) for run_id in marked}


def test_as_many_lines_of_a_published_log_are_marked_as_count() -> None:
    for log in logs().values():
        path, found = corpus() / log.entry["path"], log.measurement
        assert found.first is not None
        until = found.first + found.used
        window = found.first, None if until >= found.readings else until
        summed_up = found.statistic == "summary"
        readings = LogReadings(of(log.profile), log.case, window, summed_up=summed_up)
        readings.look(path)
        marked = marks_of(path.read_bytes(), readings)
        assert marked.count(COUNTS) == (1 if summed_up else found.used), path
        assert marked.count(IS_LEFT_OUT) == found.readings - found.used, path


@given(st.integers(20, 250), st.integers(1, 99_999))
def test_the_figure_of_a_line_is_in_sight_whatever_the_width_and_its_step_beside_it(
    width: int, step: int
) -> None:
    text = reading(step)
    readings = LogReadings(of(PROFILE), CASE, None, summed_up=False)
    readings.look(Path(os.devnull))
    places = readings.places(text)
    strip = figure_in_sight(Strip([Segment(text)]), places, width, Style())
    assert strip.cell_length == width
    assert f" {300 + step}.46" in strip.text
    if width >= 48:
        kept = strip.text.rpartition(f" {300 + step}.46")[0]
        for mark in (CUT_LEFT, LEFT_OUT):
            kept = kept.replace(mark, f" {mark} ")
        assert str(step) in kept.split()
        assert set(kept.split()) <= {CUT_LEFT, LEFT_OUT, *text.split()}
        assert CUT_LEFT not in kept.partition(str(step))[2], "between them something is left out"


@given(st.data())
def test_a_line_that_fits_is_whole_and_only_a_mark_stands_for_what_is_cut(
    data: st.DataObject,
) -> None:
    text = data.draw(st.text("abcdefghij     ", min_size=1, max_size=200))
    figure = data.draw(st.integers(0, len(text)))
    step = data.draw(st.integers(0, figure))
    width = data.draw(st.integers(20, 250))
    shown = figure_in_sight(Strip([Segment(text)]), (step, figure), width, Style()).text
    if len(text) <= width:
        assert shown == text.ljust(width)
        return
    end, hidden = 0, 0
    for piece in re.split(f"[{CUT_LEFT}{LEFT_OUT}{CUT_RIGHT}]", shown):
        at = text.find(piece.rstrip(), end + hidden)
        assert at >= 0
        end, hidden = at + len(piece.rstrip()), 2


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_a_log_shows_figures_and_what_counts_and_all_of_a_line_where_it_is_sought(
    tmp_path: Path, width: int
) -> None:
    class Bench(App[None]):
        def compose(self) -> ComposeResult:
            yield LogPanel()

    path = tmp_path / "run.log"
    path.write_text("".join(f"{reading(n)}\n" for n in range(6)), encoding="utf-8")
    app = Bench()
    async with app.run_test(size=(width, 12)) as pilot:
        panel = app.query_one(LogPanel)
        readings = LogReadings(of(PROFILE), CASE, (2, None), summed_up=False)
        panel.show(path, "Log", none="", empty="", ended=True, readings=readings)
        await app.workers.wait_for_complete()
        await pilot.pause()
        shown = words(panel).splitlines()
        assert [line[0] for line in shown[:6]] == [IS_LEFT_OUT] * 2 + [COUNTS] * 4
        assert all(f"{300 + n}.46" in line for n, line in enumerate(shown[:6]))
        assert f" counts {IS_LEFT_OUT} does not" in str(panel.border_subtitle)
        panel.search("Epoch")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert words(panel).splitlines()[0][1:].startswith("DLL")
