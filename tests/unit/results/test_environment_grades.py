"""What a case and its base, or its repeats, have of different environments costs a grade, and is
named."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.results.findings import Concern, Finding, Grade
from backends.results.grade_words import finding_lines, found_lines
from backends.results.run_result import BANDWIDTH, RunResult
from backends.results.verdict_doubts import Doubt, environment_doubt
from tests.unit.results.test_grade import only, steady
from tui.screens.result_text import case_text

Runs = Callable[..., list[RunResult]]
V100 = "Tesla V100-SXM2-16GB, driver 450.80, Debian 12; ECC: on; image: nccl 2.19"
H200 = "NVIDIA H200, driver 580.1, Debian 12; ECC: on; image: nccl 2.19"
NEWER = V100.replace("450.80", "470.10").replace("Tesla", "NVIDIA").replace("2.19", "2.21")
OF_D = Finding(Concern.OTHER_ENVIRONMENT, Grade.D)
BOTH = "NVIDIA H200, driver 580.1, Debian 12 + Tesla V100-SXM2-16GB, driver 450.80, Debian 12"


def other_environment(runs_of: Runs, base: str, case: str) -> tuple[list[Grade], list[str]]:
    """Ceilings of the finding on the case, and its words."""
    runs = [
        *runs_of("1n1g", steady(), fingerprint=base),
        *runs_of("1n2g", steady(190), fingerprint=case),
    ]
    found = found_lines(*only(runs, "1n2g"))
    told = [(f.ceiling, line) for f, line in found if f.concern is Concern.OTHER_ENVIRONMENT]
    return [grade for grade, _ in told], [line for _, line in told]


def test_a_speedup_over_other_devices_is_a_number_no_more_and_what_differs_is_named(runs_of: Runs):
    grades, (line,) = other_environment(runs_of, V100, H200)
    assert grades == [Grade.D]
    assert "(GPU model: V100-SXM2-16GB for the base, H200 here; driver: 450." in line
    assert "nccl" not in line
    assert "Debian" not in line
    grades, (line,) = other_environment(runs_of, V100, NEWER)
    assert grades == [Grade.C], "a newer driver calls the same devices otherwise"
    assert "(driver: 450.80 for the base, 470.10 here; image: nccl 2.19 for the base, nccl " in line
    assert other_environment(runs_of, H200, BOTH)[0] == [Grade.D]
    assert other_environment(runs_of, BOTH, BOTH)[0] == []


@given(st.sampled_from([V100, H200, NEWER, BOTH]), st.sampled_from([V100, H200, NEWER, BOTH]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_speedup_is_of_grade_d_where_compare_would_say_other_devices(
    runs_of: Runs, base: str, case: str
):
    doubt = environment_doubt(frozenset({case}), frozenset({base}))
    told = {None: [], Doubt.ENVIRONMENT: [Grade.C], Doubt.DEVICES: [Grade.D]}
    assert other_environment(runs_of, base, case)[0] == told[doubt]


def test_a_bandwidth_has_no_speedup_that_other_devices_could_spoil(runs_of: Runs):
    runs = [
        *runs_of("1n1g", steady(), fingerprint=V100, unit=BANDWIDTH),
        *runs_of("1n2g", steady(190), fingerprint=H200, unit=BANDWIDTH),
    ]
    case, _ = only(runs, "1n2g")
    ceilings = {found.concern: found.ceiling for found in case.findings}
    assert ceilings[Concern.OTHER_ENVIRONMENT] is Grade.C


def test_repeats_of_several_environments_say_what_differs(runs_of: Runs):
    one, *others = runs_of("1n1g", steady(), fingerprint=V100)
    case, group = only([replace(one, fingerprint=NEWER), *others])
    told = finding_lines(case, group)
    assert any("(driver: 470.10 / 450.80; image: nccl 2.21 / nccl 2.19)" in one for one in told)


def test_what_the_hosts_of_a_run_have_alike_is_said_once_and_environments_are_told_apart(
    runs_of: Runs,
):
    one, *others = runs_of("2n1g", steady(), fingerprint=BOTH)
    case, group = only([replace(one, fingerprint=H200), *others], "2n1g")
    (told,) = (line for line in finding_lines(case, group) if "different environments" in line)
    assert "(GPU model: H200 + V100-SXM2-16GB / H200; driver: 580.1 + 450.80 / 580.1)" in told


@given(
    st.lists(st.sampled_from([V100, H200, BOTH, NEWER]), min_size=1, max_size=6),
    st.lists(st.sampled_from([V100, H200, BOTH, NEWER]), min_size=1, max_size=6),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_speedup_with_several_models_on_either_side_is_of_grade_d_and_counts_them(
    runs_of: Runs, base: list[str], here: list[str]
):
    sides = {"1n1g": base, "1n8g": here}
    runs = [
        replace(run, fingerprint=text)
        for tag, prints in sides.items()
        for run, text in zip(
            runs_of(tag, steady(100 if tag == "1n1g" else 1800, n=len(prints))),
            prints,
            strict=True,
        )
    ]
    case, group = only(runs, "1n8g")
    models = [
        {
            text.replace("NVIDIA V100", "Tesla V100").split(",")[0] + str(text == BOTH)
            for text in prints
        }
        for prints in sides.values()
    ]
    told = {found.concern: (found, line) for found, line in found_lines(case, group)}
    unlike = len(models[0] | models[1]) > 1
    assert (told.get(Concern.OTHER_ENVIRONMENT, (None,))[0] == OF_D) is unlike
    superlinear = told[Concern.SUPERLINEAR][1]
    assert ("is the base 1n1g right?" in superlinear) is not unlike
    assert ("keep to one GPU model: --hosts" in superlinear) is unlike
    shown = case_text(case, group).plain
    assert ("→ keep to one GPU model: o on page 2 chooses hosts" in shown) is unlike
    assert "--" not in shown
    if len(models[1]) > 1:
        assert "more repeats" not in shown
    (first, first_group) = only(runs, "1n1g")
    assert Concern.OTHER_ENVIRONMENT not in first.concerns
    if len(models[0]) > 1:
        shown = case_text(first, first_group).plain
        assert "→ keep to one GPU model: o on page 2 chooses hosts" in shown
        assert "more repeats" not in shown
    if max(map(len, models)) > 1:
        line = told[Concern.OTHER_ENVIRONMENT][1]
        said = re.search(r"\(repeats of the base: (.*?); here: (.*?)\):", line)
        assert said is not None
        counted = [[int(n) for n in re.findall(r"(\d+) on ", side)] for side in said.groups()]
        assert [sum(numbers) for numbers in counted] == [len(base), len(here)]
        assert all(map(all, counted)), "nothing is said of what a side did not run on"


def test_a_speedup_over_other_shares_of_the_same_models_says_these(runs_of: Runs):
    shares = {"1n1g": [H200] * 2 + [V100] * 3, "1n8g": [H200] * 4 + [V100]}
    runs = [
        replace(run, fingerprint=text)
        for tag, prints in shares.items()
        for run, text in zip(runs_of(tag, steady(n=5)), prints, strict=True)
    ]
    lines = finding_lines(*only(runs, "1n8g"))
    said = (
        "(repeats of the base: 2 on H200, 3 on V100-SXM2-16GB; "
        "here: 4 on H200, 1 on V100-SXM2-16GB): the speedup"
    )
    assert any(said in line for line in lines)
