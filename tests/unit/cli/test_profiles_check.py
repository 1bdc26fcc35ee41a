"""``profiles check``: what is good, what was not tried, and what is wrong in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiles.format.catalog import Catalog
from tui.cli import main

PROFILE = r"""
name = "sample"
framework = "F"
model = "M"
[parameters]
batch_size = { choices = [64], default = 64 }
[matrix]
cases = ["1n1g", "2n8g"]
[launch]
launcher = "per_node"
command = "train"
[measure]
reading = 'iter \d+ (?P<value>\S+)/s'
example = '[1,0]<stdout>:iter 3 4.5/s'
[measure.stated]
batch_size = { reading = 'of (?P<value>\d+)', example = 'batches of 64 images' }
[measure.metrics.loss]
reading = 'loss (?P<value>\S+)'
example = 'iter 3 loss 2.5'
[[measure.failure]]
pattern = 'BOOM'
example = 'BOOM at 3'
reason = "it burst"
[[measure.variant]]
when = "nodes > 1"
reading = 'step \d+ (?P<value>\S+)/s'
example = 'step 3 4.5/s'
"""


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def call(text: str) -> tuple[int, str, str]:
        file = tmp_path / "sample.toml"
        file.write_text(text, encoding="utf-8")
        code = main(["profiles", "check", str(file)])
        said = capsys.readouterr()
        return code, said.out, said.err.replace(f"{tmp_path}/", "")

    return call


def test_a_profile_whose_patterns_all_read_their_examples_is_good(check) -> None:
    assert check(PROFILE) == (0, "sample: good; F M, 2 cases\n", "")


def test_patterns_without_an_example_are_named_by_their_keys(check) -> None:
    without = "\n".join(line for line in PROFILE.splitlines() if not line.startswith("example"))
    without = without.replace(
        "{ reading = 'of (?P<value>\\d+)', example = 'batches of 64 images' }",
        "'of (?P<value>\\d+)'",
    )
    assert check(without) == (
        0,
        """\
sample: good; F M, 2 cases
  5 patterns have no example and could not be tried; a line of a real log is one:
    measure.example
    measure.variant[0].example
    measure.metrics.loss.example
    measure.stated.batch_size.example
    measure.failure[0].example
""",
        "",
    )
    code, out, _err = check(PROFILE.replace("example = 'BOOM at 3'\n", ""))
    assert (code, out.splitlines()[1:]) == (
        0,
        [
            "  1 pattern has no example and could not be tried; a line of a real log is one:",
            "    measure.failure[0].example",
        ],
    )


@pytest.mark.parametrize(
    ("line", "other", "says"),
    [
        (
            "iter 3 4.5/s",
            "iter 3 4.5",
            "measure.example: the pattern does not find this line",
        ),
        (
            "[1,0]<stdout>:iter",
            "[1,2]<stdout>:iter",
            "measure.example: the pattern does not find this line",
        ),
        (
            "loss 2.5",
            "loss high",
            "measure.metrics.loss.example: the pattern reads no number from this line",
        ),
        (
            "batches of 64 images",
            "batches of images",
            "measure.stated.batch_size.example: the pattern does not find this line",
        ),
        (
            "BOOM at 3",
            "boom at 3",
            "measure.failure[0].example: the pattern does not find this line",
        ),
        (
            "example = 'step",
            "example = 'iter",
            "measure.variant[0].example: the pattern does not find this line",
        ),
    ],
)
def test_an_example_that_is_not_read_is_one_line_that_says_what_where_and_how_to_mend_it(
    check, line: str, other: str, says: str
) -> None:
    assert line in PROFILE
    code, out, err = check(PROFILE.replace(line, other))
    assert (code, out) == (2, "")
    assert err == f"dlperf-tui: sample.toml: {says}; mend the line or the pattern\n"


def test_all_that_is_wrong_is_counted(check) -> None:
    _code, _out, err = check(PROFILE.replace("4.5/s", "4.5").replace("loss 2.5", "loss high"))
    assert err.endswith("; mend the line or the pattern; 2 more to mend after that\n")


def test_names_of_a_profile_from_elsewhere_cannot_move_the_cursor(check) -> None:
    wicked = PROFILE.replace('framework = "F"', r'framework = "F\u001b[2J"')
    wicked = wicked.replace("[measure.metrics.loss]", r'[measure.metrics."loss\u001b[2J"]')
    code, out, _err = check(wicked.replace("example = 'iter 3 loss 2.5'\n", ""))
    assert code == 0
    assert "\x1b" not in out
    code, _out, err = check(wicked.replace("loss 2.5", "loss high"))
    assert code == 2
    assert "\x1b" not in err
    assert "measure.metrics.loss" in err


@pytest.mark.parametrize("name", Catalog.load().names)
def test_what_is_said_of_a_bundled_profile_fits_80_columns(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profiles", "check", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{name}: good; ")
    assert max(map(len, out.splitlines())) <= 80
