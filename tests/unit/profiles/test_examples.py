"""The example beside a pattern is read as a log would be, by the rule that it belongs to."""

from __future__ import annotations

import pytest

from profiles.format.every_pattern import every_pattern
from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.format.slow_patterns import costly_patterns
from profiles.logs.examples import Flaw, example_flaws
from tests.unit.profiles.builders import profile

SPEED = r"reading = 'iter (?P<step>\d+) (?P<value>[\w.]+)/s'"
RANK = (
    r"rank (?P<rank>\d+) step (?P<step>\S+) on (?P<compute>\S+) talk (?P<communication>\S+)"
    r" wait (?P<input>\S+)"
)
BEYOND = "." * LINE_LIMIT


def flaws(measure: str) -> dict[str, Flaw]:
    return {found.key: found.flaw for found in example_flaws(profile(measure))}


def speed(example: str, more: str = "") -> dict[str, Flaw]:
    return flaws(f'{SPEED}\nexample = "{example}"\n{more}')


def test_every_pattern_without_an_example_is_named_by_the_key_where_it_should_stand() -> None:
    found = flaws(
        SPEED
        + r"""
summary = 'in all (?P<value>\d+)'
rank_prefix = '^(?P<rank>\d): '
[measure.metrics.loss]
reading = 'loss (?P<value>\d+)'
[measure.metrics.highest_loss]
reading = 'loss (?P<value>\d+)'
statistic = "max"
[measure.stated]
world_size = 'of (?P<value>\d+)'
[[measure.failure]]
pattern = 'BOOM'
reason = "it burst"
[[measure.variant]]
when = "nodes > 1"
window = { skip = 1 }
[[measure.variant]]
when = "gpus > 1"
reading = 'step (?P<value>\d+)'
summary = 'total (?P<value>\d+)'
"""
    )
    assert list(found) == [
        "measure.example",
        "measure.summary_example",
        "measure.variant[1].example",
        "measure.variant[1].summary_example",
        "measure.metrics.loss.example",
        "measure.metrics.highest_loss.example",
        "measure.stated.world_size.example",
        "measure.failure[0].example",
    ]
    assert set(found.values()) == {Flaw.MISSING}


@pytest.mark.parametrize(
    ("example", "flaw"),
    [
        (r"iter 3 4.5/s", None),
        (r"[1,0]<stdout>:\u001b[1miter 3 4.5\u001b[0m/s", None),
        (r"iter 9[1,0]<stdout>:iter 3 4.5/s[1,3]<stdout>:iter", None),
        (r"Downloading  99%\riter 3 4.5/s", None),
        (r"\u0000\u0007\ufffd iter 3 4.5/s\u0000", None),
        (r"[1,3]<stdout>:iter 3 4.5/s", Flaw.NOT_FOUND),  # rank 3's does not count
        (r"iter 3 4.5", Flaw.NOT_FOUND),
        (r"iter 3\r4.5/s", Flaw.NOT_FOUND),  # two lines
        (r"iter 3\n4.5/s", Flaw.NOT_FOUND),
        pytest.param(BEYOND + "iter 3 4.5/s", Flaw.NOT_FOUND, id="beyond what counts of a line"),
        (r"iter 3 nan/s", Flaw.NO_NUMBER),
        (r"iter 3 fast/s", Flaw.NO_NUMBER),
        (r"iter 2 fast/s; iter 3 4.5/s", Flaw.NO_NUMBER),  # each match is a reading
    ],
)
def test_a_reading_is_found_where_it_would_be_in_a_log(example: str, flaw: Flaw | None) -> None:
    assert speed(example) == ({} if flaw is None else {"measure.example": flaw})


@pytest.mark.parametrize(
    ("example", "flaw"),
    [
        ("\\u001b[31mBOOM\\u001b[0m at 3", None),
        ("B\\u001b[1mOOM at 3", None),
        ("[1,3]<stderr>:BOOM at 3", None),  # whichever rank says so
        ("BOOM\\nat 3", Flaw.NOT_FOUND),
        pytest.param(BEYOND + "BOOM at 3", Flaw.NOT_FOUND, id="beyond what counts of a line"),
        ("boom", Flaw.NOT_FOUND),
    ],
)
def test_a_failure_is_found_where_it_would_be_in_a_log(example: str, flaw: Flaw | None) -> None:
    found = speed(
        "iter 3 4.5/s",
        rf"""
[[measure.failure]]
pattern = 'BOOM\s+at (?P<value>\d+)'
example = "{example}"
reason = "it burst"
""",
    )
    assert found == ({} if flaw is None else {"measure.failure[0].example": flaw})


@pytest.mark.parametrize(
    ("example", "flaw"),
    [
        ("rank 3 step 1.5 on 1.0 talk 0.25 wait 0.25", None),
        ("rank 3 step 1.5 on 1.0 talk 0.25", Flaw.NOT_FOUND),
        ("rank 3 step 1.5 on 1.0 talk long wait 0.25", Flaw.NO_NUMBER),
    ],
)
def test_what_a_rank_tells_of_itself_is_read_as_numbers(example: str, flaw: Flaw | None) -> None:
    found = speed(
        "iter 3 4.5/s",
        rf"""
[explain]
reading = '{RANK}'
example = '{example}'
""",
    )
    assert found == ({} if flaw is None else {"explain.example": flaw})


def test_a_variant_with_a_pattern_of_its_own_has_an_example_of_its_own() -> None:
    """The rule's own example says nothing of it, and is no mistake."""
    variant = r"""
[[measure.variant]]
when = "nodes > 1"
reading = 'step (?P<value>\d+)'
"""
    key = "measure.variant[0].example"
    assert speed("iter 3 4.5/s", variant) == {key: Flaw.MISSING}
    assert speed("iter 3 4.5/s", variant + "example = 'step 7'") == {}
    assert speed("iter 3 4.5/s", variant + "example = 'iter 3 4.5/s'") == {key: Flaw.NOT_FOUND}
    summed_up = variant.replace("reading = 'step", "summary = 'total")
    assert speed("iter 3 4.5/s", summed_up) == {
        "measure.variant[0].summary_example": Flaw.MISSING,
    }


JSON = r"""
reading = 'STATS (?P<json>\{.*)'
example = 'STATS {"key": "one", "speed": 3.5}'
paths = { value = "speed" }
where = { key = "one" }
[[measure.variant]]
when = "nodes > 1"
"""


@pytest.mark.parametrize("other", ['paths = { value = "rate" }', 'where = { key = "other" }'])
def test_a_variant_that_reads_another_object_by_the_same_pattern_is_another_pattern(
    other: str,
) -> None:
    key = "measure.variant[0].example"
    assert flaws(JSON + "window = { skip = 1 }") == {}
    assert flaws(JSON + other) == {key: Flaw.MISSING}
    good = """example = 'STATS {"key": "one", "speed": 1, "rate": 2}'"""
    good = good if "rate" in other else good.replace("one", "other")
    assert flaws(f"{JSON}{other}\n{good}") == {}
    bad = good.replace('"rate"', '"late"').replace('"other"', '"one"')
    assert flaws(f"{JSON}{other}\n{bad}") == {key: Flaw.NOT_FOUND}


def test_a_variants_example_alone_is_tried_as_well() -> None:
    variant = "[[measure.variant]]\nwhen = 'nodes > 1'\nexample = '{}'"
    assert speed("iter 3 4.5/s", variant.format("iter 4 5.5/s")) == {}
    assert speed("iter 3 4.5/s", variant.format("iter 4")) == {
        "measure.variant[0].example": Flaw.NOT_FOUND
    }


def test_ranks_are_told_by_the_rule_that_the_pattern_belongs_to() -> None:
    """Anchored patterns are found only where the prefix before them is cut off."""
    text = r"""
reading = '^iter (?P<value>\d+)'
example = '[1,0]<stdout>:iter 3'
[measure.metrics.loss]
reading = '^loss (?P<value>\d+)'
example = 'node1 0: loss 3'
[[measure.variant]]
when = "nodes > 1"
reading = '^step (?P<value>\d+)'
example = 'node1 0: step 3'
rank_prefix = '^\w+ (?P<rank>\d+): '
"""
    assert flaws(text) == {}
    assert flaws(text.replace("node1 0: step", "node1 1: step")) == {
        "measure.variant[0].example": Flaw.NOT_FOUND
    }
    assert flaws(text.replace("node1 0: loss", "node1 1: loss")) == {
        "measure.metrics.loss.example": Flaw.NOT_FOUND
    }


@pytest.mark.parametrize("rule", ["window = { from_step = 20 }", 'cumulative = "mean"'])
def test_a_step_that_the_rule_needs_must_be_there(rule: str) -> None:
    text = f"reading = '(?:iter (?P<step>\\d+) )?(?P<value>\\d+)/s'\n{rule}\nexample = "
    assert flaws(text + "'iter 3 45/s'") == {}
    assert flaws(text + "'45/s'") == {"measure.example": Flaw.NO_STEP}
    assert flaws(text.replace(rule, "") + "'45/s'") == {}


def test_times_must_be_in_the_format_that_is_said() -> None:
    text = r"""
reading = '\[(?P<time>.*)\] (?P<value>\d+)/s'
timestamp = "%Y-%m-%d %H:%M:%S"
example = '[2025-01-02 03:04:05] 7/s'
[measure.metrics.time_to_train_s]
reading = '\[(?P<value>.*)\]'
timestamp = "%Y-%m-%d %H:%M:%S"
example = '[2025-01-02 03:04:05] 7/s'
statistic = "span"
"""
    assert flaws(text) == {}
    assert flaws(text.replace("-01-", "/01/")) == {
        "measure.example": Flaw.NO_TIME,
        "measure.metrics.time_to_train_s.example": Flaw.NO_TIME,
    }


@pytest.mark.parametrize(
    ("name", "told", "flaw"),
    [
        ("global_batch", "1,024", None),
        ("global_batch", "many", Flaw.NO_NUMBER),
        ("gpu", "NVIDIA H200", None),
        ("gpu", "", Flaw.NOT_FOUND),
        ("precision", "bf16", None),
    ],
)
def test_a_fact_that_is_a_number_is_read_as_one(name: str, told: str, flaw: Flaw | None) -> None:
    stated = f"""
[measure.stated]
{name} = {{ reading = 'it is (?P<value>.*)', example = 'it is {told}' }}
"""
    key = f"measure.stated.{name}.example"
    assert speed("iter 3 4.5/s", stated) == ({} if flaw is None else {key: flaw})


def test_a_pattern_that_stands_twice_is_judged_costly_once() -> None:
    text = r"""
reading = '(?:\d+|\w+)*x (?P<value>\d+)'
[measure.metrics.again]
reading = '(?:\d+|\w+)*x (?P<value>\d+)'
"""
    keys = [at.key for at in every_pattern(profile(text))]
    assert keys == ["measure.reading", "measure.metrics.again.reading"]
    assert [key for key, _reason in costly_patterns(profile(text))] == ["measure.reading"]
