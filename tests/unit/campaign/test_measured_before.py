"""A plan by what was measured before, and how long it waits for that."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.past_index import Found, PastIndex
from backends.campaign.measured_before import PastBeside, as_measured, past_of_plan
from backends.campaign.plan.plan import Basis, Plan, PlannedCase
from backends.campaign.plan.selection import Selection
from backends.hosts.fingerprint import devices_of
from backends.results.past_result import past_of_profile
from tests.support.past_campaigns import RUN_S, V100, past_campaign
from tests.unit.campaign.test_past_index import PROFILE, SOURCE, T, case


def plan_of(*tags: str, **settings: str) -> Plan:
    given = PROFILE.settings_with(settings)
    cases = tuple(PlannedCase(PROFILE, case(tag), 1, given) for tag in tags)
    return Plan(Selection(profiles=(PROFILE.name,)), (), cases, ())


def test_a_case_takes_what_it_took_in_these_settings_else_what_its_profile_says(
    tmp_path: Path,
) -> None:
    past_campaign(tmp_path / "one", SOURCE, {case("1n1g"): [100.0]}, at=T)
    index = PastIndex(tmp_path)
    index.read()

    def timed(plan: Plan, *, simulated: bool = False) -> list[float | None]:
        past = past_of_plan(plan, index.found, (), simulated=simulated)
        return [one.measured_s for one in as_measured(plan, past).cases]

    both = plan_of("1n1g", "1n2g")
    assert timed(both) == [RUN_S, None]
    assert timed(both, simulated=True) == [None, None]
    assert timed(plan_of("1n1g", iterations="160")) == [None]
    nothing = as_measured(both, past_of_plan(both, {}, (), simulated=False))
    assert nothing == both


@pytest.mark.parametrize("alike", [False, True])
@given(shares=st.lists(st.floats(0.1, 10.0), min_size=1, max_size=4))
def test_what_measured_cases_took_of_their_expectation_corrects_the_others(
    shares: list[float], *, alike: bool
) -> None:
    """Those of the same parameters where there are such, else all of the profile."""
    (asked,) = plan_of("2n8g").cases
    usual = asked.expected_s
    assert usual is not None
    other = case("1n1g", precision="tf32")
    took = {
        case(f"1n{2**n}g") if alike else replace(other, gpus_per_node=2**n): share * usual
        for n, share in enumerate(shares)
    }
    if alike:
        took[other] = 50.0 * usual
    with TemporaryDirectory() as directory:
        for number, (one, seconds) in enumerate(took.items()):
            past_campaign(Path(directory, f"{number}"), SOURCE, {one: [1.0]}, at=T, run_s=seconds)
        index = PastIndex(Path(directory))
        index.read()

    def by_others(devices: str = V100, **settings: str) -> PlannedCase:
        plan = plan_of("2n8g", **settings)
        there = [devices_of(devices)]
        past = past_of_profile(index.found, PROFILE, settings, there, simulated=False)
        return as_measured(plan, lambda one: past(one.case)).cases[0]

    assert by_others().expected_s == pytest.approx(usual * median(shares))
    assert by_others().basis is Basis.OTHERS
    measured = replace(plan_of("2n8g"), cases=(by_others(),))
    assert measured.by_profile == plan_of("2n8g")
    for elsewhere in (by_others("NVIDIA H200, driver 580, CUDA 13.0"), by_others(iterations="160")):
        assert elsewhere.basis is Basis.PROFILE


class Slow:
    """An index of a disk that does not answer; ``shown``: what was read until then."""

    complete = False

    def __init__(self, shown: Found) -> None:
        self.found = shown
        self.released = threading.Event()
        self.goes_on: list[bool] = []

    def read(self, go_on: Callable[[], bool]) -> None:
        self.released.wait(30.0)
        self.goes_on.append(go_on())


@pytest.mark.parametrize("hangs_early", [True, False])
def test_a_plan_waits_for_no_slow_disk_and_has_what_was_read(*, hangs_early: bool) -> None:
    shown: Found = {("p", "1n1g"): ()}
    slow = Slow(shown)

    def make() -> PastIndex:
        if hangs_early:
            slow.released.wait(30.0)
        return slow  # type: ignore[return-value]

    began = monotonic()
    beside = PastBeside(make)
    assert beside.found(0.05) == ({} if hangs_early else shown)
    assert monotonic() - began < 5.0
    slow.released.set()
    beside.found(30.0)
    assert slow.goes_on == [False], "no more is read once nobody asks"
