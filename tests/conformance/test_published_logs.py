"""The bundled profiles, as they are, give what was published for real logs.

docs/statistics.md lists what they do not give, with value and reason; this holds it to that list.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conformance.published import PRECISIONS, logs

DOCUMENT = Path(__file__).parents[2] / "docs" / "statistics.md"
_ROW = re.compile(
    r"^\| (?P<id>perf-\d+) \|[^|]*\|[^|]*\| (?P<published>[\d.]+) \| (?P<measured>[\d.]+) "
    r"\| (?P<percent>[+-][\d.]+)% \|"
)


def documented() -> dict[str, tuple[float, float, float]]:
    """Published, measured and their difference in percent, by id, as the document lists them."""
    rows = map(_ROW.match, DOCUMENT.read_text(encoding="utf-8").splitlines())
    return {
        row["id"]: (float(row["published"]), float(row["measured"]), float(row["percent"]))
        for row in rows
        if row is not None
    }


def test_a_logs_path_tells_its_case() -> None:
    for log in logs().values():
        entry, case = log.entry, log.case
        assert (case.nodes, case.gpus_per_node) == (entry["nodes"], entry["gpus_per_node"])
        assert case.batch_size == entry["batch_size_per_device"], entry["id"]
        assert case.precision in PRECISIONS[entry["precision"]], entry["id"]


def test_every_reading_is_found_and_nothing_else() -> None:
    counts = {log_id: log.measurement.readings for log_id, log in logs().items()}
    assert counts == {log_id: log.entry["n_samples"] for log_id, log in logs().items()}
    assert all(log.parser.rejected == 0 for log in logs().values())


def test_no_log_is_taken_for_one_of_another_model() -> None:
    assert not [
        log_id
        for log_id, log in logs().items()
        if any("is it the right profile?" in text for text in log.measurement.warnings)
    ]


def test_published_values_are_reproduced() -> None:
    errors = [abs(log.error) for log in logs().values() if log.entry["reproduced_within_1pct"]]
    assert len(errors) == 84
    assert sum(error <= 0.01 for error in errors) >= 78
    assert sum(error <= 1e-3 for error in errors) >= 60


def test_what_is_not_reproduced_to_a_thousandth_is_documented_with_its_value() -> None:
    differing = {log_id: log for log_id, log in logs().items() if abs(log.error) > 1e-3}
    listed = documented()
    assert set(listed) == set(differing)
    for log_id, log in differing.items():
        published, measured, percent = listed[log_id]
        assert published == log.entry["published"]
        assert measured == pytest.approx(log.measurement.throughput, rel=1e-4)
        assert percent == pytest.approx(100 * log.error, abs=0.051)


def test_the_negative_controls_are_not_reproduced() -> None:
    controls = {
        log_id: log for log_id, log in logs().items() if not log.entry["reproduced_within_1pct"]
    }
    assert set(controls) == {"perf-007", "perf-100"}
    assert all(abs(log.error) > 0.1 for log in controls.values())


def test_a_log_that_contradicts_its_name_gives_a_warning_and_no_other_does() -> None:
    warned = {
        log_id: log.measurement.warnings
        for log_id, log in logs().items()
        if log.measurement.warnings
    }
    assert warned == {
        "perf-100": ("the log says batch_size 8, the case has 4: one of the two is wrong",)
    }


def test_a_variant_never_tells_two_logs_of_one_case_apart() -> None:
    rules: dict[object, object] = {}
    for log in logs().values():
        assert rules.setdefault(log.case.key, log.parser.rule) == log.parser.rule
