"""Names of the cases of a set: each its own, and together with what is shared they say all."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from backends.results.summary import parameters_text
from profiles.format.case import Case
from profiles.format.case_labels import apart, case_labels, parameter_values

PARAMETERS = st.fixed_dictionaries(
    {
        "batch_size": st.sampled_from([8, 256]),
        "compile": st.sampled_from(["off", "on", "max-autotune-no-cudagraphs"]),
        "graphs": st.sampled_from(["off", "on"]),
        "precision": st.sampled_from(["amp", "fp32"]),
        "a_first": st.sampled_from([1, 2]),
        "global_batch": st.sampled_from([64, 128]),
    },
)
CASES = st.lists(
    st.builds(Case, st.just("p"), st.integers(1, 4), st.integers(1, 8), PARAMETERS), min_size=1
)


@given(CASES)
def test_two_cases_never_read_the_same(cases: list[Case]) -> None:
    labels = case_labels(cases)
    assert len({labels.label(case) for case in cases}) == len({case.key for case in cases})


@given(CASES)
def test_a_label_and_what_is_shared_say_every_parameter_once(cases: list[Case]) -> None:
    labels = case_labels(cases)
    for case in cases:
        said = f"{labels.label(case)} {labels.shared}".split()
        assert sorted(said) == sorted(case.label.split())


@given(CASES)
def test_what_all_share_is_in_no_label_but_the_short_ones_where_nothing_else_differs(
    cases: list[Case],
) -> None:
    labels = case_labels(cases)
    same = [n for n in PARAMETERS_NAMES if len({case.text(n) for case in cases}) == 1]
    shown = set(labels.named).intersection(same)
    assert shown <= {"batch_size", "precision"}
    assert not shown or set(labels.named) <= {"batch_size", "precision"}


PARAMETERS_NAMES = ("batch_size", "compile", "graphs", "precision", "a_first", "global_batch")


@given(CASES, st.randoms())
def test_parameters_have_one_order_wherever_they_stand_and_however_they_were_recorded(
    cases: list[Case], shuffled: Random
) -> None:
    mixed = [
        replace(case, parameters=dict(shuffled.sample([*case.parameters.items()], 6)))
        for case in cases
    ]
    labels = case_labels(mixed)
    assert (labels, parameter_values(mixed)) == (case_labels(cases), parameter_values(cases))
    for case, again in zip(cases, mixed, strict=True):
        assert again.label == case.label
        whole = case.label.split()
        for said in (
            labels.shared.split(),
            labels.label(again).split(),
            [*parameter_values([again])],
        ):
            assert said == [word for word in whole if word in said]
        names = [part.partition("=")[0] for part in parameters_text(again.parameters).split(", ")]
        assert [case.value_label(name) for name in names] == whole[1:]


@given(st.sets(st.from_regex(r"[a-c](-[a-c]){0,3}", fullmatch=True), min_size=1))
def test_profiles_told_apart_stay_apart_and_have_a_name(names: set[str]) -> None:
    short, alike = apart(names)
    assert len(set(short.values())) == len(names)
    assert all(short.values())
    begin, _, end = alike.partition("…")
    assert all("".join([begin, short[name], end]) == name for name in names)


def test_the_tail_that_all_profiles_share_is_told_once() -> None:
    short, alike = apart(["ngc-pytorch-resnet50", "mxnet-resnet50"])
    assert (list(short.values()), alike) == (["ngc-pytorch", "mxnet"], "…-resnet50")


@given(CASES)
def test_values_of_a_set_are_all_that_its_cases_have_the_short_ones_first(
    cases: list[Case],
) -> None:
    values = parameter_values(cases)
    own = {case.value_label(name) for case in cases for name in case.parameters}
    assert sorted(values) == sorted(own)
    named = ["=" in value for value in values]
    assert named == sorted(named)
