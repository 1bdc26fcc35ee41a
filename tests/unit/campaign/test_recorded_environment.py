"""What a campaign has recorded of its hosts stands in for hosts that are out of reach."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from backends.campaign.folder.recorded_hosts import recorded_hosts, with_what_was_recorded
from backends.hosts.environment import fingerprint
from backends.hosts.fingerprint import driver_of, several
from backends.hosts.host_facts import HostSnapshot, HostState

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
RECORDS = sorted(path for path in EXAMPLES.rglob("environment.json"))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: str(path.parent.name))
def test_every_host_that_a_campaign_has_recorded_has_that_environment_while_it_is_away(
    record: Path,
) -> None:
    known = recorded_hosts(record.parent, 0.0)
    for said in json.loads(record.read_text())["hosts"]:
        name = said["name"]
        away = HostSnapshot(name, "", HostState.UNREACHABLE, "no route to host")
        now = with_what_was_recorded(away, known)
        assert now.facts is not None
        found = fingerprint(now.facts)
        assert driver_of(found) == driver_of(said["fingerprint"])
        assert found
        assert not several({found, said["fingerprint"]})
        assert [asdict(one) for one in now.facts.software] == said.get("software", [])
        assert (now.state, now.reason) == (HostState.UNREACHABLE, "no route to host")
        assert now.capacity == next(host for host in known if host.name == name).capacity


@pytest.mark.parametrize("state", [HostState.READY, HostState.UNKNOWN])
def test_of_a_host_that_is_not_away_nothing_is_taken_from_a_record(state: HostState) -> None:
    now = HostSnapshot("vm", "", state)
    assert with_what_was_recorded(now, recorded_hosts(EXAMPLES / "h200-x4", 0.0)) is now
