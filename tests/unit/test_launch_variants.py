"""A launch that differs by case, and numbers that are computed for its command."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from profiles.errors import ProfileError
from profiles.format.case_matrix import expand
from profiles.format.launch_section import Launch
from profiles.format.profile import Profile

BASE: dict[str, Any] = {
    "name": "p",
    "framework": "F",
    "model": "M",
    "parameters": {"batch_size": {"choices": [128, 96], "default": 128}},
    "settings": {"image": {"description": "an image"}},
    "matrix": {"cases": ["1n1g", "1n8g", "4n8g"]},
    "measure": {"reading": r"(?P<value>\d+)"},
}


def profile(**launch: Any) -> Profile:
    complete = {"launcher": "per_node", "command": "train", **launch}
    return Profile.model_validate({**BASE, "launch": complete})


def launch_of(described: Profile, tag: str, **parameters: str) -> Launch:
    overrides = {name: [value] for name, value in parameters.items()}
    return described.launch_for(expand(described, [tag], overrides)[0])


def test_the_first_variant_that_holds_is_taken() -> None:
    described = profile(
        variant=[
            {"when": "gpus == 1", "command": "alone"},
            {"when": "nodes == 1", "command": "together", "launcher": "first_node"},
        ]
    )
    one, eight, many = (launch_of(described, tag) for tag in ("1n1g", "1n8g", "4n8g"))
    assert (one.command, one.launcher) == ("alone", "per_node")
    assert (eight.command, eight.launcher) == ("together", "first_node")
    assert (many.command, many.launcher) == ("train", "per_node")
    assert many.variant == ()


def test_a_variant_adds_environment_and_leaves_the_rest_as_it_is() -> None:
    described = profile(
        environment={"A": "1", "B": "1"},
        settle="20s",
        variant=[{"when": "nodes > 1", "environment": {"B": "2", "C": "3"}}],
    )
    launch = launch_of(described, "4n8g")
    assert launch.environment == {"A": "1", "B": "2", "C": "3"}
    assert launch.settle == "20s"


def test_bare_leaves_the_container_out() -> None:
    described = profile(
        container={"image": "{image}"}, variant=[{"when": "nodes > 1", "bare": True}]
    )
    assert launch_of(described, "1n8g").container is not None
    assert launch_of(described, "4n8g").container is None


def test_computed_numbers_fill_command_environment_and_workdir() -> None:
    described = profile(
        command="train {node_batch} {rate} {{node_batch}} {batch_size}",
        environment={"STEPS": "{steps}"},
        workdir="/runs/{steps}",
        mpi_arguments=["-n", "{steps}"],
        computed={
            "node_batch": "batch_size * gpus_per_node",
            "rate": "batch_size * gpus_per_node / 1000",
            "steps": "67584 // batch_size // gpus",
        },
    )
    launch = launch_of(described, "1n8g", batch_size="96")
    assert launch.command == "train 768 0.768 {{node_batch}} {batch_size}"
    assert launch.environment == {"STEPS": "88"}
    assert launch.workdir == "/runs/88"
    assert launch.mpi_arguments == ("-n", "88")
    assert launch.computed == {}


def test_whole_results_of_a_division_have_no_fraction() -> None:
    described = profile(command="train {half}", computed={"half": "batch_size / 2"})
    assert launch_of(described, "1n1g").command == "train 64"


def test_numbers_reach_the_command_of_a_variant_too() -> None:
    described = profile(
        command="train {batch}",
        computed={"batch": "batch_size * gpus"},
        variant=[{"when": "nodes > 1", "command": "launch train {batch}"}],
    )
    assert launch_of(described, "4n8g").command == "launch train 4096"


@pytest.mark.parametrize(
    ("launch", "complaint"),
    [
        ({"variant": [{"when": "node > 1"}]}, "launch.variant[0].when: 'node' in 'node > 1'"),
        ({"variant": [{"when": "nodes >"}]}, "expected a value"),
        (
            {"variant": [{"when": "nodes > 1", "command": "train {hosts}"}]},
            "launch.variant[0].command: unknown placeholder {hosts}",
        ),
        ({"computed": {"n": "batch * 2"}}, "launch.computed.n: 'batch' in 'batch * 2'"),
        ({"computed": {"batch_size": "2"}}, "'batch_size' is taken"),
        ({"computed": {"nodes": "2"}}, "'nodes' is taken"),
        # Only what launch_for fills may hold a computed number.
        (
            {"computed": {"n": "2"}, "container": {"image": "i{n}"}},
            "launch.container.image: unknown placeholder {n}",
        ),
    ],
)
def test_mistakes_are_found_when_the_profile_is_read(
    launch: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        profile(**launch)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [("batch_size / (nodes - 1)", "divides by zero"), ("batch_size == 128", "is not a number")],
)
def test_what_is_no_number_is_said_when_a_case_is_planned(expression: str, complaint: str) -> None:
    described = profile(command="train {n}", computed={"n": expression})
    with pytest.raises(ProfileError, match=complaint):
        launch_of(described, "1n1g")
