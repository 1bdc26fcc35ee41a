"""A host that preflight stops: ``plan`` foresees what ``run`` says, and both go on without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.campaigns import Bench
from tests.support.nvidia_smi import H200, V100, FakeGpus
from tests.support.program import run_program
from tests.support.sshd import NEEDS_SSHD, SshHosts

pytestmark = NEEDS_SSHD
ECC = "ecc.errors.uncorrected.volatile.total"
WORN = "GPU2 has 3 uncorrected memory errors"
UNLIKE = "GPU model differs: Tesla V100-SXM2-16GB on v100a, NVIDIA H200 on h200a"


@pytest.fixture
def bench(tmp_path: Path, ssh_hosts: SshHosts) -> Iterator[Bench]:
    """Two hosts of one kind, one of them worn, and one of another."""
    kinds: dict[str, FakeGpus] = {
        "v100a": V100,
        "v100b": replace(V100, differ={2: {ECC: "3"}}),
        "h200a": H200,
    }
    for name, gpus in kinds.items():
        tools = gpus.install(tmp_path / "bin" / name).parent
        home = ssh_hosts.directory / name / "home"
        ssh_hosts.add(name=name, options=[f"SetEnv PATH={tools}:/usr/bin:/bin HOME={home}"])
    return Bench(tmp_path, ssh_hosts.hosts())


def said(bench: Bench, *words: str) -> tuple[int, str, str]:
    """Of a command on the three hosts: its exit code, what it printed, what it said."""
    given = (*words, "-p", "steady", "--set", f"copies={bench.copies}", "--repeats", "1")
    done = run_program(bench.words(*given), timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_plan_foresees_what_run_stops_at_and_both_go_on_without_that_host(bench: Bench) -> None:
    cases = ("--case", "1n1g", "2n1g")
    code, _, notes = said(bench, "plan", *cases)
    assert code == 0
    assert f"v100b cannot be used now: {WORN}" in notes
    assert "run stops at v100b; --leave-out goes on with v100a,h200a alone, --force with" in notes
    assert "run looks for programs and data there, too" in notes
    assert "GPU model differs" in notes

    code, out, error = said(bench, "run", *cases)
    assert (code, out) == (2, "")
    assert f"v100b: preflight stops: {WORN}" in error
    assert "or --leave-out goes on with v100a,h200a alone, --force with all" in error
    assert not list(bench.campaigns.glob("*"))

    code, out, notes = said(bench, "plan", *cases, "--leave-out", "--json")
    assert code == 0
    planned = json.loads(out)
    assert {host for run in planned["runs"] for host in run["hosts"]} <= {"v100a", "h200a"}
    assert any(f"left out: v100b: {WORN}" in remark for remark in planned["remarks"])
    assert any(UNLIKE in remark for remark in planned["remarks"])

    code, _, notes = said(bench, "run", *cases, "--leave-out")
    assert code == 0
    assert f"left out: v100b: {WORN}" in notes
    (campaign,) = bench.campaigns.glob("*")
    results = json.loads((campaign / "results.json").read_text())
    used = {host for run in results["runs"] for host in run["hosts"]}
    assert used <= {"v100a", "h200a"}
    assert f"It began without v100b: {WORN}" in (campaign / "report.md").read_text()

    code, out, _ = said(bench, "plan", *cases, "--leave-out", "--json")
    assert (code, json.loads(out)["totals"]["measured"]) == (0, 2), "it took as long before"


def test_what_cannot_go_on_without_it_is_one_line_and_nothing_begins(bench: Bench) -> None:
    for words, why in (
        (("--hosts", "v100b"), "--leave-out leaves nothing to run"),
        (("--hosts", "v100a,v100b", "--case", "2n1g"), "--leave-out leaves nothing to run"),
        (("--hosts", "v100a,v100b", "--case", "3n1g"), "case 3n1g of steady cannot run"),
        (("--force",), "not allowed with argument --force"),
    ):
        code, out, error = said(bench, "run", *words, "--leave-out")
        assert (code, out) == (2, "")
        assert why in error.splitlines()[-1]
        assert not list(bench.campaigns.glob("*"))


def test_a_case_that_is_left_without_hosts_is_left_out_and_the_report_says_so(
    bench: Bench,
) -> None:
    given = ("--hosts", "v100a,v100b", "--case", "1n1g", "2n1g")
    _, _, error = said(bench, "run", *given)
    assert "--leave-out goes on with v100a alone, 1 of 2 runs" in error
    code, _, notes = said(bench, "run", *given, "--leave-out")
    assert code == 0
    (campaign,) = bench.campaigns.glob("*")
    report = (campaign / "report.md").read_text()
    for why in (f"v100b: {WORN}", "steady 2n1g: needs 2 hosts"):
        assert f"left out: {why}" in notes
        assert why in report
    assert "It began without" in report


def test_a_host_that_does_not_answer_is_told_of_before_anything_is_refused_or_begun(
    bench: Bench, ssh_hosts: SshHosts
) -> None:
    next(one for one in ssh_hosts.served if one.host.name == "v100a").stop()
    silent = "warn: v100a: does not answer: connection refused"
    code, _, error = said(bench, "run", "--hosts", "v100a,v100b", "--case", "1n1g")
    assert code == 2
    assert error.count(silent) == 1
    assert "v100b: preflight stops" in error
    assert "--force starts all the same (no --leave-out: too few hosts would be left)" in error
    assert not list(bench.campaigns.glob("*"))

    code, _, notes = said(bench, "run", "--hosts", "v100a,h200a", "--case", "1n1g")
    assert code == 0
    assert notes.count(silent) == 1
    (campaign,) = bench.campaigns.glob("*")
    assert "v100a: does not answer: connection refused" in (campaign / "report.md").read_text()


def test_a_start_by_force_is_told_of_the_hosts_that_answer_and_takes_those_first_that_are_well(
    bench: Bench, ssh_hosts: SshHosts
) -> None:
    next(one for one in ssh_hosts.served if one.host.name == "v100a").stop()
    _, _, error = said(bench, "run", "--case", "1n1g")
    assert "--leave-out goes on with h200a alone, --force with v100b,h200a" in error
    assert not list(bench.campaigns.glob("*"))

    code, _, notes = said(bench, "run", "--case", "1n1g", "--force")
    assert code == 0
    assert "1 run on any of v100b,h200a, " in notes
    (campaign,) = bench.campaigns.glob("*")
    results = json.loads((campaign / "results.json").read_text())
    assert [run["hosts"] for run in results["runs"]] == [["h200a"]]
