from __future__ import annotations

from dataclasses import replace

import pytest

from backends.hosts.host_facts import HostFacts, HostSnapshot, HostState
from tests.console.conftest import HUGE, LARGE, SMALL, console, shows, tick
from tests.console.fakes import FakeWorkspace, v100_hosts
from tui.screens.host_order import INVENTORY
from tui.screens.hosts_page import HostsPage
from tui.widgets.keyed_table import KeyedTable

LOADS = (3.0, 40.0, 0.5)
STATES = (HostState.READY, HostState.DEGRADED, HostState.BUSY)


def told(host: HostSnapshot) -> HostFacts:
    assert host.facts is not None
    return host.facts


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
async def test_o_sorts_the_hosts_and_the_cursor_stays_on_its_own(
    workspace: FakeWorkspace, size: tuple[int, int]
) -> None:
    given = []
    for number, (host, load, state) in enumerate(zip(v100_hosts(), LOADS, STATES, strict=False)):
        left = told(host).memory_mib // (2 + number)
        facts = replace(told(host), load1=load, memory_available_mib=left)
        given.append(replace(host, facts=facts, state=state))
    workspace = FakeWorkspace(workspace.campaigns_dir, hosts=given)
    await workspace.probe()
    async with console(workspace, size) as (app, pilot):
        page = app.screen
        assert isinstance(page, HostsPage)
        tick(app)
        table = page.query_one(KeyedTable)
        as_they_come = table.shown_keys
        await pilot.press("down")
        here = table.current_key
        now = {host.name: host for host in page._hosts}
        for name in [*list(INVENTORY.sorts)[1:], "inventory"]:
            await pilot.press("o")
            tick(app)
            assert shows(app, f"by {name}") is (name != "inventory")
            listed = [now[key] for key in table.shown_keys]
            assert {host.name for host in listed} == {*as_they_come}
            assert table.current_key == here
            known = [told(host) for host in listed if host.facts is not None]
            if name == "state":
                places = [[*HostState].index(host.state) for host in listed]
                assert places == sorted(places, reverse=True)
            elif name == "load per CPU":
                loads = [facts.load1 / facts.cpus for facts in known]
                assert loads == sorted(loads, reverse=True) != loads[:1] * len(loads)
            elif name == "memory in use":
                shares = [facts.memory_available_mib / facts.memory_mib for facts in known]
                assert shares == sorted(shares) != shares[:1] * len(shares)
        assert table.shown_keys == as_they_come
        await pilot.press("z", "o")
        assert not shows(app, "by state")
        await pilot.press("z")
        assert table.shown_keys == as_they_come
