"""A profile gains a parameter; campaigns of before are still compared with those of after."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.parameter_defaults import defaults_of
from backends.results.comparison import compare
from backends.results.gained_parameters import with_defaults
from backends.results.run_result import RunResult
from profiles.errors import SelectionError
from profiles.format.catalog import Catalog
from profiles.format.profile import Profile
from profiles.scalars import Scalar
from tests.unit.results.conftest import Dlperf
from tui.cli import main

OF_BEFORE = Path(__file__).parents[3] / "docs" / "examples" / "h200-x4"


@cache
def varied() -> tuple[Profile, ...]:
    """The bundled profiles that have parameters."""
    catalog = Catalog.load()
    return tuple(p for name in catalog.names if (p := catalog.get(name)).parameters)


def defaults(profile: str) -> Mapping[str, Scalar]:
    found = next(one for one in varied() if one.name == profile)
    return {name: parameter.default for name, parameter in found.parameters.items()}


def run(profile: Profile, parameters: Mapping[str, Scalar]) -> RunResult:
    return RunResult(
        run_id="r",
        profile=profile.name,
        framework=profile.framework,
        model=profile.model,
        case_tag="1n1g",
        nodes=1,
        gpus_per_node=1,
        parameters=parameters,
        repeat=1,
        throughput=100.0,
        unit=profile.unit,
    )


@given(st.data())
def test_whatever_was_gained_its_default_is_what_was_run_before_and_nothing_else(
    data: st.DataObject,
):
    profile = data.draw(st.sampled_from(varied()))
    names = sorted(profile.parameters)
    gained = data.draw(st.sets(st.sampled_from(names), min_size=1))
    now = {
        name: data.draw(st.sampled_from([parameter.default, *parameter.choices]))
        for name, parameter in profile.parameters.items()
    }
    before = {name: value for name, value in now.items() if name not in gained}
    other = {name for name in gained if now[name] != profile.parameters[name].default}
    sides = [run(profile, before)], [run(profile, now)]
    for ours, theirs in (sides, sides[::-1]):
        if other:
            with pytest.raises(SelectionError, match="no case in common"):
                compare(ours, theirs, 0.02, defaults)
        else:
            (case,) = compare(ours, theirs, 0.02, defaults).cases
            assert dict(case.parameters) == now


def test_nothing_is_assumed_where_both_lack_it_or_nobody_knows_the_default(runs_of):
    ours = runs_of("1n1g", [1.0], parameters={"batch_size": 64})
    asked: list[str] = []

    def knows_nothing(profile: str) -> Mapping[str, Scalar]:
        asked.append(profile)
        return {}

    assert with_defaults([ours, ours], knows_nothing) == ((tuple(ours), tuple(ours)), ())
    assert asked == []
    theirs = [replace(one, parameters={"batch_size": 64, "compile": "off"}) for one in ours]
    assert with_defaults([ours, theirs], knows_nothing)[1] == ()
    assert asked == ["cpu-smoke"]


def test_a_default_is_that_which_the_campaign_began_with():
    example = OF_BEFORE.parent / "h200-x4-gpt-124m"
    of = defaults_of([OF_BEFORE, example], lambda: Catalog({}, {}))
    assert of("torch-gpt")["compile"] == "blocks"
    assert of("torch-resnet50") == {}


@pytest.fixture
def of_today(dlperf: Dlperf, tmp_path: Path) -> Path:
    """The same logs, imported by the profile as it is now."""
    dlperf("import", "-p", "torch-resnet50", OF_BEFORE / "logs", "-o", tmp_path / "today")
    return tmp_path / "today"


def test_a_campaign_of_before_is_compared(dlperf: Dlperf, of_today: Path):
    for sides, older in (((OF_BEFORE, of_today), "baseline"), ((of_today, OF_BEFORE), "candidate")):
        said = dlperf("compare", *sides)
        assert f"{older.capitalize()}: torch-resnet50 had no such parameter yet" in said
        document = json.loads(dlperf("compare", *sides, "--json"))
        assert {case["ratio"] for case in document["cases"]} == {1.0}
        assert len(document["cases"]) == 6
        (assumed,) = document["assumed"]
        assert assumed["side"] == older
        assert assumed["parameters"] == {"compile": "off", "graphs": "off"}


def test_a_campaign_of_before_is_not_compared_with_another_value(
    of_today: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    compiled = tmp_path / "compiled"
    shutil.copytree(of_today, compiled)
    journal = compiled / "events.jsonl"
    text = journal.read_text(encoding="utf-8")
    assert '"compile":"off"' in text
    journal.write_text(text.replace('"compile":"off"', '"compile":"on"'), encoding="utf-8")
    assert main(["compare", str(OF_BEFORE), str(compiled)]) == 2
    assert "no case in common" in capsys.readouterr().err


def test_a_report_of_both_calls_equal_cases_the_same(dlperf: Dlperf, of_today: Path):
    said = dlperf("report", OF_BEFORE, of_today, "--layout", "compare")
    table = [line for line in said.splitlines() if line.startswith("|")]
    assert not [line for line in table if "compile" in line]
    assert said.count("compile=off") == said.count("### ")  # in captions, of the old ones too
    rows = [line.split("|")[3:5] for line in said.splitlines() if line.startswith("| 1 |")]
    others = [line.split("|")[5:7] for line in said.splitlines() if line.startswith("| 1 |")]
    assert rows == others
    document = json.loads(dlperf("report", OF_BEFORE, of_today, "--format", "json"))
    assert {run["parameters"]["graphs"] for run in document["runs"]} == {"off"}
