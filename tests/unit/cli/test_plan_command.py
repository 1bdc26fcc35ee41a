"""``plan`` of what these hosts cannot run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.cli.conftest import Cli
from tests.unit.cli.four_hosts import DIRECT

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.toml"
    path.write_text(DIRECT)
    return path


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(nodes=st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True))
def test_a_plan_of_which_nothing_can_run_is_a_wrong_request_and_says_why(
    cli: Cli, inventory: Path, nodes: list[int]
) -> None:
    """On four hosts; what some of its cases can run is a plan, and the others a remark."""
    too_wide = [count for count in nodes if count > 4]
    nothing = len(too_wide) == len(nodes)
    words = ["plan", "--inventory", inventory, "-p", "cpu-smoke", "-r", 1, "-c"]
    words += [f"{count}n1g" for count in nodes]
    told = cli(*words, code=2 * nothing)
    refusals = [line for line in told.err.splitlines() if "nothing of this can run here" in line]
    assert len(refusals) == nothing
    assert told.out.count("cannot run here: needs") == len(too_wide)
    assert ("0 cases" in told.err) is False
    answer = cli(*words, "--json", code=2 * nothing)
    document = json.loads(answer.out)
    assert len(document["refused"]) == len(too_wide)
    assert bool(document["runs"]) is not nothing
    assert ("nothing of this can run here" in answer.err) is nothing


def test_the_line_names_the_case_and_what_it_lacks(cli: Cli, inventory: Path) -> None:
    words = ("plan", "--inventory", inventory, "-p", "cpu-smoke", "-c", "6n1g", "8n1g")
    assert cli(*words, code=2).err.splitlines()[-1] == (
        "dlperf-tui: nothing of this can run here: 6n1g of cpu-smoke needs 6 hosts, there are 4 "
        "(and 1 more); give hosts that can run it"
    )
