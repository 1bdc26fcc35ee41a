"""The mutations of constants are no theatre: each constant is found, and a test that lacks is told.

``make statistics-mutations`` tries them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.statistics.constants import EXEMPT, NO_RULES, ROOMS, ROOT, RULES, constants
from tests.statistics.mutations import Mutant, Outcome, try_all

RULE = """
from enum import Enum

LIMIT = 3.5
AT_MOST: dict[str, int] = {"a": 7, "b": 40}
WORDS = ("warm", "hot")


class Rule:
    target: float = 0.95
    nothing: int = 0


def above(values: list[float], fewest: int = 3) -> bool:
    if len(values) < 2 or len(values) < fewest:
        return False
    return values[0] > 1.4826 * LIMIT
"""


def test_every_kind_of_constant_is_found_with_what_a_reviewer_would_notice():
    found = {(c.owner, c.text): c.others for c in constants("rule.py", RULE.encode())}
    assert found == {
        ("LIMIT", "3.5"): ("2.8", "4.375"),
        ("AT_MOST", "7"): ("6", "8"),
        ("AT_MOST", "40"): ("32", "50"),
        ("WORDS", '"warm"'): ("'hot'",),
        ("WORDS", '"hot"'): ("'warm'",),
        ("Rule.target", "0.95"): ("0.96", "0.9375"),
        ("above", "3"): ("2", "4"),
        ("above", "2"): ("1", "3"),
        ("above", "1.4826"): ("1.38608", "1.60325"),
    }


def test_a_grade_may_be_one_better_or_one_worse():
    found = constants("rule.py", b"CEILINGS = {Concern.DRIFT: Grade.C, Concern.FORCED: Grade.D}")
    assert [c.others for c in found] == [("Grade.B", "Grade.D"), ("Grade.C",)]


def test_a_change_is_made_at_its_place_in_any_text():
    source = 'A = 1  # ≤\nB = ("ü", 5)\n'
    *_, five = constants("rule.py", source.encode())
    assert five.changed("6").decode() == source.replace("5", "6")


def test_every_module_with_a_named_number_has_its_tests_or_a_reason():
    for room in ROOMS:
        for file in sorted((ROOT / room).glob("*.py")):
            path = str(file.relative_to(ROOT))
            named = {c.owner for c in constants(path) if c.owner.isupper() and c.text[0].isdigit()}
            if path not in RULES:
                told = f"{path} {named}: name its tests in RULES, or why these are none in NO_RULES"
                assert (path in NO_RULES) == bool(named), told
    assert all((ROOT / test).exists() for tests in RULES.values() for test in tests)


def test_every_exemption_is_of_a_constant_that_there_is():
    keys = {key for path in RULES for constant in constants(path) for key in constant.keys}
    assert set(EXEMPT) <= keys


def outcomes(chosen: Sequence[Mutant]) -> list[Outcome]:
    return [tried.outcome for tried in try_all(chosen, jobs=2, imported=["pytest", "hypothesis"])]


def test_what_no_test_notices_survives_and_what_one_does_is_killed(tmp_path: Path):
    (tmp_path / "rule.py").write_text("SEEN = 6\nUNSEEN = 8\n", encoding="utf-8")
    test = tmp_path / "test_rule.py"
    test.write_text("from rule import SEEN\n\n\ndef test_seen():\n    assert SEEN == 6\n")
    elsewhere = tmp_path / "test_elsewhere.py"
    elsewhere.write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    seen, unseen = constants("rule.py", (tmp_path / "rule.py").read_bytes())
    assert outcomes(
        [
            Mutant(seen, "6", (str(test),), tmp_path),
            Mutant(seen, "7", (str(test),), tmp_path),
            Mutant(unseen, "9", (str(test),), tmp_path),
            Mutant(seen, "7", (str(elsewhere),), tmp_path),
            Mutant(seen, "(", (str(test),), tmp_path),
        ]
    ) == [
        Outcome.SURVIVED,
        Outcome.KILLED,
        Outcome.SURVIVED,
        Outcome.BROKEN,  # nobody imported it
        Outcome.BROKEN,
    ]
    assert (tmp_path / "rule.py").read_text(encoding="utf-8") == "SEEN = 6\nUNSEEN = 8\n"


def test_a_limit_of_the_product_is_watched():
    limit = next(
        c for c in constants("backends/results/statistics.py") if c.owner == "OUTLIER_LIMIT"
    )
    assert limit.others == ("2.8", "4.375")
    test = f"{RULES[limit.path][0]}::test_outlier_is_off_by_three_and_a_half_robust_deviations"
    as_it_is, *changed = (Mutant(limit, other, (test,)) for other in (limit.text, "2.8", "4.375"))
    assert outcomes([as_it_is, *changed]) == [Outcome.SURVIVED, Outcome.KILLED, Outcome.KILLED]
