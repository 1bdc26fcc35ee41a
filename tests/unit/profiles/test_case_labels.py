"""Names of the cases of a set: each its own, and together with what is shared they say all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from profiles.format.case import Case
from profiles.format.case_labels import case_labels

PARAMETERS = st.fixed_dictionaries(
    {
        "batch_size": st.sampled_from([8, 256]),
        "compile": st.sampled_from(["off", "on", "max-autotune-no-cudagraphs"]),
        "graphs": st.sampled_from(["off", "on"]),
        "precision": st.sampled_from(["amp", "fp32"]),
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


PARAMETERS_NAMES = ("batch_size", "compile", "graphs", "precision")
