"""How long a run is expected to take: what the profile says, with the run's own settings."""

from __future__ import annotations

import pytest

from profiles.format.case import Case
from profiles.format.expected_duration import expected_s
from profiles.format.profile import Profile
from tests.unit.profiles.builders import profile

HEAD = """
name = "p"
framework = "F"
model = "M"
[matrix]
cases = ["1n1g"]
[settings]
seconds = { description = "how long", default = "8" }
path = { description = "of the data", default = "/data" }
"""


def of(text: str, more: str = "") -> Profile:
    launch = f'[launch]\nlauncher = "per_node"\ncommand = "x"\nexpected = "{text}"\n{more}'
    return profile(head=HEAD + launch)


CASE = Case("p", 2, 4, {})


def test_a_duration_is_what_it_says() -> None:
    assert expected_s(of("1m30s"), CASE, {}) == 90.0


def test_arithmetic_counts_with_the_settings_and_the_case() -> None:
    longer = of("seconds + 2 * nodes")
    assert expected_s(longer, CASE, {"seconds": "8"}) == 12.0
    assert expected_s(longer, CASE, {"seconds": "300"}) == 304.0


def test_a_variant_of_the_launch_has_its_own() -> None:
    slow = of("10s", 'variant = [{ when = "nodes > 1", expected = "1m" }]')
    assert expected_s(slow, CASE, {}) == 60.0
    assert expected_s(slow, Case("p", 1, 4, {}), {}) == 10.0


def test_nothing_is_expected_with_a_setting_that_is_no_number() -> None:
    assert expected_s(of("path + 2"), CASE, {"path": "/data"}) is None


@pytest.mark.parametrize("text", ["soon", "1m +", "steps * 2"])
def test_what_cannot_be_reckoned_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        of(text)
