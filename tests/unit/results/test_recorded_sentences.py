"""What a campaign has recorded in English, and what sets grades, in a Chinese report."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from backends.campaign.folder.recorded_hosts import recorded_hosts
from backends.campaign.run.factory import _differences
from backends.hosts.foreseen import same_machines
from backends.results.campaign_report import ReportContext, render_report
from backends.results.findings import Concern, Finding, Grade
from backends.results.provenance import how_sure
from backends.results.short_flags import SHORT, short_words
from backends.results.summary import summarise
from tests.unit.hosts.test_machines import EXAMPLES

HAN = re.compile("[\u4e00-\u9fff]")


def test_sentences_of_ours_are_of_the_language_of_the_report(runs_of) -> None:
    (vm,) = recorded_hosts(EXAMPLES / "h200-x4", 0.0)
    assert vm.facts is not None
    (one,) = same_machines(dict.fromkeys(("h200a", "v100a"), vm.facts))
    (other,) = _differences({"H200, driver 1": ["node1"], "V100, driver 2": ["node2"]})
    runs = [
        replace(run, warned=(one.what,), warnings=(other,)) for run in runs_of("2n8g", [100.0] * 3)
    ]
    groups = summarise(runs)
    english, chinese = (
        render_report(ReportContext("c"), runs, groups, lang) for lang in ("en", "zh")
    )
    for english_words in ("are the same machine", "the hosts of this run differ"):
        assert english_words in english
        assert english_words not in chinese
    assert "预检警告：h200a,v100a 是同一台机器" in chinese
    assert "该运行的各主机不同：node1: " in chinese


@pytest.mark.parametrize("concern", Concern)
def test_what_sets_a_grade_is_of_the_language_of_the_report(runs_of, concern: Concern) -> None:
    assert HAN.search(short_words(concern, "zh"))
    (group,) = summarise(runs_of("1n1g", [100.0] * 6))
    case = replace(group.cases[0], findings=(Finding(concern, Grade.D),))
    english, chinese = (how_sure([case], lang)[-1] for lang in ("en", "zh"))
    if concern is not Concern.SIMULATED:
        assert SHORT[concern] in english
        assert short_words(concern, "zh") in chinese
    assert not re.search("[a-z]{3}", chinese)
