"""What a plan says of its hosts' GPUs, and of how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from backends.campaign.plan.plan import Plan, PlannedCase
from backends.campaign.plan.selection import Selection
from profiles.format.case import Case
from profiles.format.catalog import Catalog
from profiles.format.host_capacity import HostCapacity
from profiles.format.profile import Profile
from profiles.format.site_settings import resolve_settings
from tui.plan_words import plan_totals, unjudged_gpus
from tui.screens.start_text import totals_text

CPU, GPU = "cpu-smoke", "torch-resnet50"


def _planned(profile: Profile) -> PlannedCase:
    settings = resolve_settings(profile, {}) if profile.on_cpus else {}
    parameters = {name: value.default for name, value in profile.parameters.items()}
    return PlannedCase(profile, Case(profile.name, 1, 1, parameters), 1, settings=settings)


def plan(profiles: Sequence[str], gpus: int | None, measured: Sequence[float | None] = ()) -> Plan:
    catalog = Catalog.load()
    cases = tuple(_planned(catalog.get(name)) for name in profiles)
    timed = [*measured, *[None] * len(cases)]
    cases = tuple(replace(one, measured_s=s) for one, s in zip(cases, timed, strict=False))
    return Plan(Selection(tuple(profiles)), (), cases, (), (HostCapacity("n1", 4, gpus),))


@pytest.mark.parametrize(
    ("profiles", "gpus", "said"),
    [
        ([CPU], 8, f"preflight does not judge GPUs: {CPU} uses none"),
        ([CPU, CPU], 8, f"preflight does not judge GPUs: {CPU} uses none"),
        ([CPU], 0, ""),
        ([CPU], None, ""),
        ([CPU, GPU], 8, ""),
        ([GPU], 8, ""),
        ([], 8, ""),
    ],
)
def test_that_no_gpu_is_judged_is_said_where_there_are_some_and_nobody_uses_them(
    profiles, gpus, said
):
    made = plan(profiles, gpus)
    assert unjudged_gpus(made) == said
    if profiles:
        before_a_start = totals_text(made, {}).plain.splitlines()
        assert [line for line in before_a_start if "GPUs:" in line] == [said] * bool(said)


def test_an_estimate_of_the_profile_is_called_one_and_what_was_measured_is_not():
    assert "by the profile's estimate" in plan_totals(plan([CPU], 0))
    assert "estimate" not in plan_totals(plan([CPU], 0, [30.0]))


def test_an_estimate_says_what_it_rests_on_whatever_part_of_it_does():
    made = plan([CPU, CPU], 0)
    one, other = made.cases
    by_others = replace(one, share=2.0)
    assert by_others.expected_s == 2 * one.expected_s
    for cases, said in (
        ((by_others, by_others), ", by other cases"),
        ((by_others, other), ", partly by other cases"),
        ((by_others, replace(other, measured_s=30.0)), ", partly as measured"),
        ((replace(by_others, measured_s=30.0),), ", as measured"),
    ):
        totals = plan_totals(replace(made, cases=cases))
        assert totals.endswith(said)
        assert "profile" not in totals
