"""Nobody is refused for what was so a while ago."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.file_modes import Share
from backends.hosts.host_facts import HostFacts, HostSnapshot, HostState
from backends.inventory.host_entry import Host
from backends.precheck.plan_precheck import (
    PrecheckPlan,
    Wishes,
    machines_of,
    make_plan,
    usable,
)
from backends.precheck.programs import Installed
from backends.prechecking import Prechecks
from backends.remote.lease import Lease
from profiles.errors import SelectionError
from tests.console.fakes import facts, known_host

NAMES = ("node1", "node2", "node3")
STATES = ("free", "held", "away", "loaded")


def _seen(name: str, state: str) -> HostSnapshot:
    if state == "away":
        return HostSnapshot(name, "", HostState.UNREACHABLE, "connection refused")
    found: HostFacts = replace(facts(), load1=90.0 if state == "loaded" else 0.1)
    return known_host(name, "", replace(found, lease=Lease("bob")) if state == "held" else found)


class _Cluster:
    """``known``: what was found a while ago; ``now``: what is so."""

    simulated = False
    inventory = SimpleNamespace(login=None)
    pool = None

    def __init__(self, known: Sequence[str], now: Sequence[str]) -> None:
        self._known = dict(zip(NAMES, known, strict=True))
        self._now = dict(zip(NAMES, now, strict=True))
        self.asked: list[str] = []

    def snapshot(self, host: Host) -> HostSnapshot:
        return _seen(host.name, self._known[host.name])

    async def refresh(self, older_than_s: float, among: Sequence[Host]) -> None:
        self.asked += [host.name for host in among]
        self._known |= {host.name: self._now[host.name] for host in among}


class _Planned(Exception):
    """Of what is about to be measured."""

    def __init__(self, plan: PrecheckPlan, *_: object) -> None:
        super().__init__(plan)
        self.plan = plan
        raise self


def test_names_found_to_be_of_one_machine_since_it_was_planned_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster: Any = _Cluster(["free"] * 3, ["free"] * 3)
    cluster.person = "alice"
    cluster.inventory = SimpleNamespace(login=None, share=Share.PRIVATE)
    boots = dict.fromkeys(NAMES, "")
    cluster.snapshot = lambda host: replace(
        _seen(host.name, "free"), facts=replace(facts(), boot_id=boots[host.name])
    )
    targets, _ = usable([(Host(name), cluster.snapshot(Host(name))) for name in NAMES])
    plan = make_plan(targets, {"node9": "busy"}, Wishes(at_once=3))
    assert machines_of(plan.targets) == [[name] for name in NAMES]
    boots |= {"node1": "one", "node3": "one"}
    monkeypatch.setattr("backends.prechecking.Measuring", _Planned)
    with pytest.raises(_Planned) as begun:
        asyncio.run(Prechecks(cluster, tmp_path, lambda: 0.0).measure(plan))
    planned = begun.value.plan
    assert machines_of(planned.targets) == [["node1", "node3"], ["node2"]]
    assert (planned.hosts, planned.left_out, planned.wishes) == (NAMES, plan.left_out, plan.wishes)
    assert planned.rounds == ((("node1", "node2"),),)


_EACH = st.tuples(*[st.sampled_from(STATES)] * len(NAMES))


@given(known=_EACH, now=_EACH)
def test_a_host_is_left_out_only_for_what_it_says_when_it_is_asked_again(
    known: tuple[str, ...], now: tuple[str, ...]
) -> None:
    async def nothing_installed(_: object, targets: Sequence[Any], __: object) -> Sequence[Any]:
        return tuple(replace(target, installed=Installed()) for target in targets)

    cluster = _Cluster(known, now)
    hosts = [Host(name) for name in NAMES]
    by_now = [old if old == "free" else new for old, new in zip(known, now, strict=True)]
    stay = [n for n, state in zip(NAMES, by_now, strict=True) if state in ("free", "loaded")]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("backends.prechecking.look", nothing_installed)
        prechecks = Prechecks(cast(Any, cluster), Path("campaigns"), lambda: 0.0)
        planned = prechecks.plan_for(hosts, Wishes(), probe=False)
        if not stay:
            with pytest.raises(SelectionError, match="node1"):
                asyncio.run(planned)
        else:
            plan = asyncio.run(planned)
            assert list(plan.hosts) == stay
            loaded = {n for n, state in zip(NAMES, by_now, strict=True) if state == "loaded"}
            assert set(plan.busy) == loaded
            assert set(plan.left_out) == set(NAMES) - set(stay)
            [note] = [note for note in plan.notes if "no PyTorch" in note]
            assert "dlperf-tui precheck --python PYTHON" in note, "what a console can tell, too"
    assert sorted(cluster.asked) == [
        n for n, old in zip(NAMES, known, strict=True) if old != "free"
    ]
