"""``references``: what stands first."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.unit.cli.conftest import Cli


@pytest.mark.parametrize("words", [("resnet50",), ("ResNet50", "V100"), ("v100 resnet50",)])
def test_the_workload_of_that_name_comes_before_those_that_have_it_inside(
    cli: Cli, words: tuple[str, ...]
) -> None:
    """DeepLab's backbone is a ResNet50."""
    out = cli("references", *words).out
    titles = [line for line in out.split("sources\n")[0].splitlines() if " in " in line]
    named = ["resnet50" in title.casefold() for title in titles]
    assert any(named)
    assert all(first >= second for first, second in pairwise(named)), titles
    assert len(titles) == len(set(titles))
