"""A precheck of four hosts, of which one is slow, two have a bad link, and one a broken Python."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_precheck import UNNAMED
from tests.support.netns import NamespaceHosts, why_not
from tests.support.slowed import break_python, slowed, throttled, why_no_cgroups
from tests.support.sshd import ROOT

pytestmark = pytest.mark.faults
KEYS = ("name", "address", "port", "user", "identity", "known_hosts", "ssh_config", "work_dir")


@pytest.fixture
def four(tmp_path: Path) -> Iterator[NamespaceHosts]:
    if reason := why_not() or why_no_cgroups():
        pytest.skip(reason)
    hosts = NamespaceHosts(tmp_path / "hosts", 4)
    yield hosts
    hosts.close()


def inventory_of(hosts: NamespaceHosts, directory: Path) -> Path:
    lines = []
    for host in hosts.hosts():
        values = {key: getattr(host, key) for key in KEYS}
        lines += ["[[hosts]]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    path = directory / "hosts.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def precheck(hosts: NamespaceHosts, directory: Path) -> dict[str, Any]:
    program = [sys.executable, "-m", "tui.cli", "--inventory", str(inventory_of(hosts, directory))]
    program += ["--campaigns", str(directory / "campaigns")]
    # The four share two CPUs: they take turns where each is measured by itself.
    done = subprocess.run(
        [*program, "precheck", "--at-once", "1", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    document["exit"] = done.returncode
    document["said"] = done.stderr
    return document


def named(document: dict[str, Any]) -> set[tuple[str, ...]]:
    hosts = {(r["host"],) for r in document["ranking"] if r["reasons"]}
    return hosts | {tuple(pair["hosts"]) for pair in document["pairs"]}


def test_a_slow_host_a_bad_link_and_a_broken_python_are_named_and_no_other(
    four: NamespaceHosts, tmp_path: Path
) -> None:
    break_python(four, 4)
    with ExitStack() as faults:
        faults.enter_context(slowed(four, 1, 0.08))
        faults.enter_context(throttled(four, 2, 3, "400kb/s"))
        document = precheck(four, tmp_path)
    print(document["said"])
    print(json.dumps(document["ranking"], indent=1), json.dumps(document["pairs"], indent=1))
    assert named(document) == {("node1",), ("node4",), ("node2", "node3")}
    verdicts = {ranked["host"]: ranked["verdict"] for ranked in document["ranking"]}
    assert (verdicts.pop("node4"), verdicts.pop("node1")) == ("broken", "slow")
    assert verdicts.keys() == {"node2", "node3"}
    assert set(verdicts.values()) <= UNNAMED
    why = {r["host"]: [reason["metric"] for reason in r["reasons"]] for r in document["ranking"]}
    assert {"cpu_one", "cpu_all"} & set(why["node1"])
    assert "error while loading shared libraries" in document["ranking"][0]["reasons"][0]["reason"]
    assert document["exclude"] == ["node4", "node1"]
    assert document["keep_apart"] == [["node2", "node3"]]
    assert (document["exit"], document["finished"]) == (1, True)
    # Without a Python nobody can tell whether a process hid: that is said.
    said = {line.partition(":")[0] for line in document["left"]}
    assert said <= {"node4"}
    for host in four.hosts():
        runs = list((Path(host.work_dir) / "runs").glob("*"))
        assert runs == [] or host.name in said


def test_of_four_good_hosts_none_is_named(four: NamespaceHosts, tmp_path: Path) -> None:
    document = precheck(four, tmp_path)
    assert (named(document), document["exit"]) == (set(), 0), document["ranking"]
    assert document["keep"] == "node[1-4]"
    assert {ranked["verdict"] for ranked in document["ranking"]} <= UNNAMED
