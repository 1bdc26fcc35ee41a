"""Hosts as JSON documents: hosts --json, environment.json and the fingerprint."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.artifacts import record_environment
from backends.hosts.environment import environment_document, fingerprint, fingerprint_of
from backends.hosts.host_facts import HostSnapshot, HostState, Software, Sought, Topology
from backends.hosts.hosts_json import host_document
from backends.hosts.probe import parse_probe, snapshot_of
from backends.inventory.host_entry import Host

ANSWER = (
    b"@@dlperf:begin\n10.5\n@@dlperf:os\nDebian\n@@dlperf:kernel\n6.1\n@@dlperf:cpus\n16\n"
    b"@@dlperf:architecture\nx86_64\n@@dlperf:memory\nMemTotal: 2097152 kB\n@@dlperf:users\nalice\n"
    b"@@dlperf:load\n1.5 1 1\n@@dlperf:gpus\nindex, name, driver_version, memory.total [MiB]\n"
    b"0, H200, 580.1, 143771 MiB\n@@dlperf:gpu-status\n0\n@@dlperf:cuda\n13.0\n"
    b"@@dlperf:topology\n\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \nNIC0: mlx5_0\n"
    b"@@dlperf:end\n10.5\n"
)
FACTS = parse_probe(ANSWER, 10.0, 10.0)
READY = snapshot_of(Host(name="n1", address="10.0.0.1"), FACTS)
AWAY = HostSnapshot("n2", "10.0.0.2", HostState.UNREACHABLE, "connection refused")


def test_hosts_json_has_the_documented_keys() -> None:
    document = json.loads(json.dumps(host_document(READY)))
    assert (document["name"], document["address"], document["state"]) == (
        "n1",
        "10.0.0.1",
        "ready",
    )
    assert (document["cpus"], document["memory_mib"], document["load"]) == (16, 2048, 1.5)
    assert (document["driver"], document["cuda"], document["users"]) == ("580.1", "13.0", ["alice"])
    (gpu,) = document["gpus"]
    assert (gpu["index"], gpu["name"], gpu["memory_total_mib"]) == (0, "H200", 143771)
    assert document["links"] == [["X", "PIX"], ["PIX", "X"]]
    assert document["link_labels"] == ["GPU0", "NIC0"]
    assert document["nic_names"] == {"NIC0": "mlx5_0"}
    assert document["clock_offset_s"] == 0.5
    assert document["topology"] == {"summary": "one GPU; mlx5_0 next to GPU0", "best": {}}


@given(st.floats(-5, 5), st.floats(0, 5))
def test_a_clock_offset_within_half_the_round_trip_is_nowhere_told(
    offset_s: float, round_trip_s: float
) -> None:
    facts = dataclasses.replace(FACTS, clock_offset_s=offset_s, round_trip_s=round_trip_s)
    host = dataclasses.replace(READY, facts=facts)
    told = host_document(host)["clock_offset_s"]
    (recorded,) = environment_document([host], version="1", recorded_at=0.0)["hosts"]
    certain = max(0.0, abs(offset_s) - round_trip_s / 2)
    assert abs(told) == pytest.approx(certain, abs=0.00051)
    assert abs(recorded["clock_offset_s"]) == pytest.approx(certain)
    if not certain:
        assert (str(told), str(recorded["clock_offset_s"])) == ("0.0", "0.0")


def test_an_unreachable_host_has_the_same_keys() -> None:
    document = host_document(AWAY)
    assert document.keys() == host_document(READY).keys()
    assert (document["state"], document["reason"]) == ("unreachable", "connection refused")
    assert (document["cpus"], document["gpus"], document["links"]) == (None, [], [])
    assert document["topology"] == {"summary": "", "best": {}}


def test_the_best_linked_gpus_are_keyed_by_how_many_they_are() -> None:
    pair = {("GPU1", "GPU2"), ("GPU2", "GPU1")}
    labels = ("GPU0", "GPU1", "GPU2")
    links = tuple(
        tuple("X" if a == b else "NV2" if (a, b) in pair else "NV1" for b in labels) for a in labels
    )
    topology = Topology(labels, links, ("",) * 3, ("",) * 3, {})
    facts = dataclasses.replace(FACTS, topology=topology)
    document = json.loads(json.dumps(host_document(dataclasses.replace(READY, facts=facts))))
    assert document["topology"]["best"] == {"2": [1, 2]}
    assert document["topology"]["summary"].endswith(
        "for 1n2g 1,2: NV2 (0,1, the first two, are NV1)"
    )


def test_environment_json_records_what_lasts() -> None:
    document = environment_document([READY, AWAY], version="0.1.0", recorded_at=0.0)
    document = json.loads(json.dumps(document))
    assert document["dlperf_tui"] == "0.1.0"
    assert document["recorded_at"] == "1970-01-01T00:00:00+00:00"
    ready, away = document["hosts"]
    assert (ready["name"], ready["driver_version"], ready["kernel"]) == ("n1", "580.1", "6.1")
    assert ready["gpus"][0]["name"] == "H200"
    assert "utilization_pct" not in ready["gpus"][0]
    assert "load1" not in ready
    assert ready["topology"]["links"] == [["X", "PIX"], ["PIX", "X"]]
    assert away["reason"] == "connection refused"


def hosts_seen(known: dict[str, str | None]) -> list[HostSnapshot]:
    """By name; the kernel of each, None: nobody reached it."""
    return [
        dataclasses.replace(AWAY, name=name)
        if kernel is None
        else dataclasses.replace(READY, name=name, facts=dataclasses.replace(FACTS, kernel=kernel))
        for name, kernel in known.items()
    ]


KERNELS = st.sampled_from([None, "6.1", "6.2"])


@given(looks=st.lists(st.dictionaries(st.sampled_from(["n1", "n2"]), KERNELS), min_size=1))
def test_what_was_recorded_of_a_host_first_stays_whoever_goes_on_later(
    looks: list[dict[str, str | None]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        for when, known in enumerate(looks):
            record_environment(path, hosts_seen(known), (), float(when))
        document = json.loads((path / "environment.json").read_text())
    assert document["recorded_at"] == "1970-01-01T00:00:00+00:00"
    for host in document["hosts"]:
        seen = [(i, k) for i, known in enumerate(looks) if (k := known.get(host["name"]))]
        when, kernel = seen[0] if seen else (0, None)
        assert host.get("kernel") == kernel
        if when:
            assert host["recorded_at"] == f"1970-01-01T00:00:{when:02}+00:00"
    assert {host["name"] for host in document["hosts"]} == {n for known in looks for n in known}


SOUGHT = [
    Sought("python", "python3", "python"),
    Sought("python", "torchrun", "torchrun"),
    Sought("git", "/opt/models", "checkout"),
    Sought("image", "docker x", "image"),
]


@given(st.sets(st.sampled_from(SOUGHT)), st.sets(st.sampled_from(SOUGHT)))
def test_of_what_was_looked_for_on_a_host_a_campaign_records_what_its_runs_use(
    own: set[Sought], others: set[Sought]
) -> None:
    def recorded(looked_for: set[Sought]) -> dict[str, object]:
        sought = tuple(one for one in SOUGHT if one in looked_for)
        software = tuple(Software(one.kind, one.value, "torch", "2.3") for one in sought)
        facts = dataclasses.replace(FACTS, sought=sought, software=software)
        with tempfile.TemporaryDirectory() as directory:
            host = dataclasses.replace(READY, facts=facts)
            record_environment(Path(directory), [host], tuple(own), 0.0)
            found = json.loads((Path(directory) / "environment.json").read_text())["hosts"]
        return dict(found[0])

    assert recorded(own | others) == recorded(own)
    assert len(recorded(own)["software"]) == len(own)  # type: ignore[arg-type]


def test_a_record_that_is_damaged_is_written_anew_and_one_that_cannot_be_read_is_not(
    tmp_path: Path,
) -> None:
    record = tmp_path / "environment.json"
    for damage in ("", "{", "[]", '{"hosts": 1}', '{"hosts": [1]}', '{"hosts": [{"name": []}]}'):
        record.write_text(damage)
        record_environment(tmp_path, [READY], (), 0.0)
        assert json.loads(record.read_text())["hosts"][0]["name"] == "n1"
    record.unlink()
    record.mkdir()
    with pytest.raises(OSError, match="directory"):
        record_environment(tmp_path, [READY], (), 0.0)


def test_the_fingerprint_changes_with_what_speed_depends_on_only() -> None:
    assert fingerprint(FACTS) == "H200, driver 580.1, CUDA 13.0, Debian, 6.1, x86_64"
    assert fingerprint(dataclasses.replace(FACTS, load1=9.0, users=())) == fingerprint(FACTS)
    assert fingerprint(dataclasses.replace(FACTS, kernel="6.2")) != fingerprint(FACTS)
    assert fingerprint(dataclasses.replace(FACTS, driver_version="1")) != fingerprint(FACTS)
    cpu_only = dataclasses.replace(
        FACTS, gpus=(), driver_version=None, cuda_version=None, cpu_model="EPYC"
    )
    assert fingerprint(cpu_only) == "EPYC, Debian, 6.1, x86_64"
    assert fingerprint_of(READY) == fingerprint(FACTS)
    assert fingerprint_of(AWAY) == ""


def test_the_manual_lists_every_key_of_hosts_json() -> None:
    manual = (Path(__file__).parents[3] / "docs" / "inventory.md").read_text(encoding="utf-8")
    table = manual.split("hosts --json")[1].split("## Preflight")[0]
    document = host_document(READY)
    for key in (*document, *document["gpus"][0]):
        assert f"`{key}`" in table
