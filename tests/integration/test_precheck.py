"""``precheck`` and ``run --precheck`` from the command line, on real sshd and on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from backends.hosts import foreseen
from backends.inventory.nodesets import fold_nodeset
from backends.precheck import plan_precheck
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import RunSpec
from backends.transports.pool import TransportPool
from tests.support.program import run_program
from tests.support.sshd import ServedHost, SshHosts
from tests.support.torch_python import torch_python
from tui.cli.program import main

KEYS = ("name", "address", "port", "user", "identity", "known_hosts", "ssh_config", "work_dir")

UNNAMED = {"well", "not judged"}
"""Other tests compute beside these: under their load a host that nothing names is not judged."""


def call(
    directory: Path, *words: str, inventory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    given = [] if inventory is None else ["--inventory", str(inventory)]
    return run_program([*given, "--campaigns", directory / "campaigns", *words], timeout=280)


def inventory_of(served: Sequence[ServedHost], directory: Path) -> Path:
    lines = []
    for host in (each.host for each in served):
        values = {key: getattr(host, key) for key in KEYS}
        values["lease_dir"] = str(directory / "leases" / host.name)  # they are one machine
        lines += ["[[hosts]]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    path = directory / "hosts.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def with_python(host: ServedHost, *, broken: bool) -> None:
    """It gets a ``python-here``, that works or is there and does not start.

    Its python3 stays: without one what ends on a host is looked for among all that the machine
    runs, and these hosts are one machine.
    """
    directory = host.directory / "bin"
    directory.mkdir()
    program = directory / "python-here"
    starts = "echo 'python-here: bad interpreter' >&2\nexit 126" if broken else 'exec python3 "$@"'
    program.write_text(f"#!/bin/sh\n{starts}\n")
    program.chmod(0o755)
    path = f"{directory}:/usr/local/bin:/usr/bin:/bin"
    host.options = (f"SetEnv HOME={host.home} PATH={path}",)
    host.restart()


def told_in_process(
    directory: Path,
    inventory: Path,
    words: Sequence[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a precheck to which these hosts are machines of their own."""
    for module in (foreseen, plan_precheck):
        monkeypatch.setattr(module, "by_machine", lambda known: [[name] for name, _ in known])
    where = ["--inventory", str(inventory), "--campaigns", str(directory / "campaigns")]
    code = main([*where, "precheck", "--json", *words])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.faults
def test_a_broken_python_is_named_the_other_pair_is_measured_and_nothing_is_left(
    ssh_hosts: SshHosts,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served = ssh_hosts(3)
    for host in served:
        if host.real:
            with_python(host, broken=host is served[2])
    python = ["--python", "python-here"] if served[2].real else []
    inventory = inventory_of(served, tmp_path)
    # A slow stage less: the CPUs of this machine are everybody's.
    words = ("--stages", "pairs,all", "--rounds", "3", *python)
    code, document = told_in_process(tmp_path, inventory, words, capsys, monkeypatch)
    exchanges = {tuple(f["hosts"]) for f in document["figures"] if f["metric"] == "exchange"}
    assert {("node1", "node2"), ("node2", "node1")} <= exchanges
    if served[2].real:
        assert code == 1
        verdicts = {ranked["host"]: ranked["verdict"] for ranked in document["ranking"]}
        assert verdicts.pop("node3") == "broken"
        assert verdicts.keys() == {"node1", "node2"}
        assert set(verdicts.values()) <= UNNAMED
        assert "bad interpreter" in document["ranking"][0]["reasons"][0]["reason"]
        kept = [name for name in sorted(verdicts) if verdicts[name] == "well"]
        assert (document["exclude"], document["keep"]) == (["node3"], fold_nodeset(kept))
    path = Path(document["path"])
    assert json.loads((path / "precheck.json").read_text()) == document
    assert (path / "precheck.md").read_text().startswith("# Precheck ")
    for trouble in document["troubles"]:
        assert (path / trouble["log"]).is_file()
    for host in served[:2]:
        assert list((Path(host.host.work_dir) / "runs").glob("*/*")) == []
    listed = call(tmp_path, "precheck", "--list", "--json", inventory=inventory)
    assert [one["precheck"] for one in json.loads(listed.stdout)] == [document["precheck"]]


def test_names_of_one_machine_are_measured_one_after_the_other(
    ssh_hosts: SshHosts, tmp_path: Path
) -> None:
    inventory = inventory_of(ssh_hosts(2), tmp_path)
    words = ("precheck", "--json", "--stages", "host,pairs,all")
    document = json.loads(call(tmp_path, *words, inventory=inventory).stdout)
    assert document["shared"] == {"node1": "node2", "node2": "node1"}
    assert {len(figure["hosts"]) for figure in document["figures"]} == {1}
    (note,) = [said for said in document["ways"] if "are the same machine" in said]
    assert "one after the other" in note


async def test_a_host_that_is_held_is_left_out_and_named(
    ssh_hosts: SshHosts, tmp_path: Path
) -> None:
    served = ssh_hosts(2)
    inventory = inventory_of(served, tmp_path)
    from backends.inventory.load import load_inventory  # noqa: PLC0415

    hosts = load_inventory(inventory).hosts
    pool = TransportPool(hosts)
    theirs = RemoteHost(pool.get(hosts[1]))
    await theirs.start(RunSpec("theirs-1", "exec sleep 300\n", lease="bob@login"))
    try:
        done = call(tmp_path, "precheck", "--dry-run", "--json", inventory=inventory)
        plan = json.loads(done.stdout)
        assert plan["hosts"] == ["node1"]
        assert "bob@login" in plan["left_out"]["node2"]
        assert [step["stage"] for step in plan["steps"]] == ["host"]
        assert not (tmp_path / "campaigns").exists()
        done = call(tmp_path, "precheck", "--hosts", "node2", inventory=inventory)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "held by bob@login" in done.stderr
    finally:
        await theirs.cancel("theirs-1", grace_s=0.1)
        await theirs.discard("theirs-1")
        await pool.close()


def test_a_campaign_carries_its_precheck(tmp_path: Path) -> None:
    words = ("run", "-p", "cpu-smoke", "-c", "1n1g", "--set", "seconds=1", "--precheck", "--json")
    done = call(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    told = document["precheck"]
    [ranked] = told["ranking"]
    assert ranked["verdict"] in UNNAMED
    campaign = Path(document["path"])
    kept = json.loads((campaign / "precheck" / "precheck.json").read_text())
    assert {figure["metric"] for figure in kept["figures"]} >= {"cpu_one", "memory", "disk_write"}
    assert list((campaign / "precheck" / "logs" / "host").glob("*.log"))
    report = call(tmp_path, "report", str(campaign), "--format", "json")
    assert json.loads(report.stdout)["precheck"] == told
    assert f"## Precheck {kept['precheck']}" in (campaign / "report.md").read_text()
    removed = call(tmp_path, "campaigns", "rm", campaign.name, "--yes")
    assert removed.returncode == 0, removed.stderr
    assert not campaign.exists()


def test_a_broken_host_stops_a_campaign_before_it_begins(tmp_path: Path) -> None:
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "python3").write_text("#!/bin/sh\necho 'python3: bad interpreter' >&2\nexit 126\n")
    (broken / "python3").chmod(0o755)
    inventory = tmp_path / "hosts.toml"
    inventory.write_text(
        f'[[hosts]]\nname = "here"\ntransport = "local"\nwork_dir = "{tmp_path}/work"\n'
        f'lease_dir = "{tmp_path}/leases"\n'  # other tests may have this machine
        f'environment = ["PATH={broken}:/usr/bin:/bin"]\n'
    )
    words = ("run", "-p", "cpu-smoke", "-c", "1n1g", "--set", f"python={sys.executable}")
    done = call(tmp_path, *words, "--precheck", inventory=inventory)
    assert done.returncode == 2, done.stderr
    assert (
        "preflight stops: precheck: broken: the host by itself: python3: bad interpreter"
        in (done.stderr.splitlines()[-1])
    )
    assert [path.name for path in (tmp_path / "campaigns").iterdir()] == ["prechecks"]


@pytest.mark.torch
def test_with_pytorch_pairs_and_all_reduce_by_gloo(
    ssh_hosts: SshHosts,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inventory = inventory_of(ssh_hosts(3), tmp_path)
    words = ("--python", torch_python(), "--stages", "pairs,all")
    _, document = told_in_process(tmp_path, inventory, words, capsys, monkeypatch)
    assert document["troubles"] == []
    figures = {(f["metric"], tuple(f["hosts"])) for f in document["figures"]}
    pairs = {("pair", pair) for pair in combinations(("node1", "node2", "node3"), 2)}
    assert figures == pairs | {("all", ("node1", "node2", "node3"))}
    assert all("gloo" in f["kind"] and f["value"] > 0 for f in document["figures"])
