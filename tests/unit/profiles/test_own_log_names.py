"""A log's name tells the case again that this program wrote it for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.errors import SelectionError
from profiles.format.case import GLOBAL_BATCH, Case
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.format.profile import Parameter
from profiles.logs.log_paths import recognise
from profiles.logs.own_log_names import log_path

CATALOG = Catalog.load()


def texts(parameter: Parameter) -> st.SearchStrategy[str]:
    known = st.sampled_from(parameter.choice_texts)
    if not parameter.free or isinstance(parameter.default, bool):
        return known
    match parameter.default:
        case int():
            return known | st.integers(1, 10**6).map(str)
        case float():
            return known | st.floats(1e-9, 1e9).map(str)
        case _:
            return known | st.from_regex(r"[a-z][a-z0-9._+]{0,8}[a-z0-9]", fullmatch=True)


@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("name", CATALOG.names)
@given(data=st.data())
def test_name_to_path_to_name(name: str, data: st.DataObject) -> None:
    profile = CATALOG.get(name)
    given_values = {
        key: [data.draw(texts(parameter), label=key)]
        for key, parameter in profile.parameters.items()
        if data.draw(st.booleans())
    }
    nodes, gpus = data.draw(st.integers(1, 64)), data.draw(st.integers(1, 16))
    if "batch_size" in profile.parameters and data.draw(st.booleans()):
        share = int(given_values.pop("batch_size", ["8"])[0])
        given_values[GLOBAL_BATCH] = [str(share * nodes * gpus)]
    try:
        (case,) = expand(profile, [f"{nodes}n{gpus}g"], given_values)
    except SelectionError:  # what the profile excludes is never written
        return
    repeat, attempt = data.draw(st.integers(1, 1000)), data.draw(st.integers(1, 12))
    plain = log_path(profile, case, repeat, attempt)
    for path in (plain, log_path(profile, case, repeat, attempt, taken={plain}), f"copy/{plain}"):
        found = recognise(profile, path)
        assert found is not None, path
        assert (found.case, found.repeat, found.attempt) == (case, repeat, attempt), path
        assert list(found.case.parameters.items()) == list(case.parameters.items())
        assert not found.profiled
    profiled = recognise(profile, log_path(profile, case, repeat, attempt, profiled=True))
    assert profiled is not None
    assert (profiled.case, profiled.profiled) == (case, True)


@pytest.mark.parametrize("name", CATALOG.names)
def test_parameters_that_the_name_leaves_out_are_not_told(name: str) -> None:
    profile = CATALOG.get(name)
    defaults = {key: parameter.default for key, parameter in profile.parameters.items()}
    found = recognise(profile, log_path(profile, Case(name, 2, 8, defaults), 1, 1))
    assert found is not None
    assert found.told <= {"gpus", "batch_size", "precision"}
