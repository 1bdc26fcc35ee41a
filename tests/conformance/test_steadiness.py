"""The published logs against labels made by eye: which are accused of not being steady."""

from __future__ import annotations

import tomllib
from pathlib import Path

from profiles.throughput.steady import Shape
from tests.conformance.published import logs

LABELS: dict[str, tuple[str, str]] = tomllib.loads(
    (Path(__file__).parent / "steadiness.toml").read_text(encoding="utf-8")
)
KINDS = {"healthy", "warm_up", "drifting", "stalls", "uneven", "too_few"}


def labelled(*kinds: str) -> dict[str, set[Shape] | None]:
    """What is said of the logs of a label; None where nothing is."""
    found = {name: log.measurement.steady for name, log in logs().items()}
    return {
        name: None if said is None else {disturbance.shape for disturbance in said}
        for name, said in found.items()
        if LABELS[name][0] in kinds
    }


def test_every_published_log_has_a_label_and_a_reason():
    assert set(LABELS) == set(logs())
    assert {kind for kind, _ in LABELS.values()} == KINDS
    assert all(len(reason) > 5 for _, reason in LABELS.values())


def test_hardly_any_healthy_log_is_accused():
    healthy = labelled("healthy")
    accused = {name for name, shapes in healthy.items() if shapes}
    assert len(healthy) == 25
    assert len(accused) <= len(healthy) / 20, accused


def test_what_was_not_steady_is_found():
    sick = labelled("warm_up", "drifting", "stalls")
    missed = {name for name, shapes in sick.items() if not shapes}
    assert len(sick) == 31
    assert missed == {"perf-090"}  # rises by 1.4% while it swings by 1%


def test_it_is_called_what_the_label_says():
    assert all(Shape.WARM_UP in (shapes or ()) for shapes in labelled("warm_up").values())
    assert all(Shape.STALLS in (shapes or ()) for shapes in labelled("stalls").values())
    assert labelled("drifting")["perf-003"] == {Shape.TREND}


def test_nothing_is_said_of_too_few_readings():
    assert set(map(repr, labelled("too_few").values())) == {"None"}
