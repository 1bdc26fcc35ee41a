"""``compare`` through the command line: exit codes, CI files, one line for what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.unit.results.conftest import Dlperf
from tui.cli import main

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
STEADY = [99.8, 100.0, 100.2, 100.1, 99.9]
Figures = Mapping[str, Sequence[float]]
Campaign = Callable[[str, Figures], Path]


@pytest.fixture
def campaign(dlperf: Dlperf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def campaign(name: str, figures: Figures) -> Path:
        lines = [f'{{ case = "{tag}", throughput = {list(v)} }}' for tag, v in figures.items()]
        text = f'framework = "F"\nmodel = "M"\nfigures = [{", ".join(lines)}]\n'
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        dlperf("import", tmp_path / f"{name}.toml", "-o", tmp_path / name)
        return tmp_path / name

    return campaign


def test_exit_code_1_for_a_regression_and_0_without(dlperf: Dlperf, campaign: Campaign):
    before = campaign("before", {"1n1g": STEADY})
    slower = campaign("slower", {"1n1g": [0.95 * value for value in STEADY]})
    faster = campaign("faster", {"1n1g": [1.05 * value for value in STEADY]})
    assert "| regression |" in dlperf("compare", before, slower, code=1)
    assert "| improvement |" in dlperf("compare", before, faster)
    assert "| same |" in dlperf("compare", before, slower, "--threshold", "10%")
    document = json.loads(dlperf("compare", before, slower, "--json", code=1))
    assert [case["verdict"] for case in document["cases"]] == ["regression"]


def test_strict_makes_one_repeat_a_failure(dlperf: Dlperf, campaign: Campaign):
    before, after = campaign("before", {"1n1g": [100]}), campaign("after", {"1n1g": [100]})
    assert "| inconclusive |" in dlperf("compare", before, after)
    dlperf("compare", before, after, "--strict", code=1)


def test_ci_gets_junit_and_a_summary(
    dlperf: Dlperf, campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = campaign("before", {"1n1g": STEADY})
    slower = campaign("slower", {"1n1g": [0.95 * value for value in STEADY]})
    summary = tmp_path / "summary.md"
    summary.write_text("# of an earlier step\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    said = dlperf("compare", before, slower, "--junit", tmp_path / "ci" / "junit.xml", code=1)
    suite = ET.parse(tmp_path / "ci" / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    written = summary.read_text(encoding="utf-8")
    assert written.startswith("# of an earlier step\n## ")
    assert said in written


def test_verdict_stands_where_its_copies_cannot_be_written(
    dlperf: Dlperf,
    campaign: Campaign,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    before = campaign("before", {"1n1g": STEADY})
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert "| same |" in dlperf("compare", before, before)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert main(["compare", str(before), str(before), "--junit", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert "| same |" in out
    assert err.startswith(f"dlperf-tui: {tmp_path}: cannot write")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("threshold", ["much", "150%", "-1%", "nan", ""])
def test_wrong_threshold_is_one_line(
    campaign: Campaign, capsys: pytest.CaptureFixture[str], threshold: str
):
    before = campaign("before", {"1n1g": STEADY})
    assert main(["compare", str(before), str(before), f"--threshold={threshold}"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_two_machines_with_the_same_software_are_told_apart(dlperf: Dlperf):
    """In the text alone: the document's keys are a contract."""
    four, two = (EXAMPLES / f"h200-x{gpus}-resnet50-graphs" for gpus in (4, 2))
    said = dlperf("compare", four, two)
    differ = "The hosts differ: 4 → 2 GPUs, 64 → 32 CPUs, 504 → 252 GiB, no GPU in common"
    assert f"{differ}; what is recorded of software and GPU settings is alike." in said
    assert "| same, in doubt: other hosts |" in said
    document = json.loads(dlperf("compare", four, two, "--json"))
    assert document["environments"] == []
    assert "machines" not in document
    compiled = EXAMPLES / "h200-x4-resnet50-compiled"
    changed = dlperf("compare", compiled, two, "--across", "graphs", "compile", "--json")
    for case in (*json.loads(changed)["cases"], *document["cases"]):
        compared = case["candidate"] is not None and case["baseline"] is not None
        assert ("on other machines" in case["reason"]) is compared, case["reason"]
    assert "hosts differ" not in dlperf("compare", compiled, compiled)
