"""The hosts.toml that ``init`` writes is read back as just the hosts that can be used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from backends.hosts.first_inventory import first_inventory
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.probe import parse_probe, snapshot_of
from backends.inventory.host_entry import Host, Inventory
from backends.inventory.hosts_toml import read_hosts_file


def reached(name: str, *gpus: str) -> HostSnapshot:
    listed = "".join(f"{n}, {model}, 1, 1 MiB\n" for n, model in enumerate(gpus))
    answer = "@@dlperf:begin\n1\n@@dlperf:os\nDebian\n@@dlperf:cpus\n4\n@@dlperf:gpus\n"
    answer += f"index, name, driver_version, memory.total [MiB]\n{listed}"
    answer += "@@dlperf:gpu-status\n0\n@@dlperf:end\n1\n"
    return snapshot_of(Host(name=name, address=name), parse_probe(answer.encode(), 1.0, 1.0))


def away(name: str, reason: str = "connection refused") -> HostSnapshot:
    return HostSnapshot(name, name, HostState.UNREACHABLE, reason)


def read(tmp_path: Path, *snapshots: HostSnapshot) -> tuple[Inventory, str]:
    text = first_inventory(snapshots, "~/.ssh/config")
    path = tmp_path / "hosts.toml"
    path.write_text(text, encoding="utf-8")
    config = tmp_path / "config"
    config.write_text("".join(f"Host {snapshot.name}\n" for snapshot in snapshots))
    return read_hosts_file(path, config), text


def names(inventory: Inventory) -> list[str]:
    return [host.name for host in inventory.hosts]


def test_hosts_alike_are_one_entry_with_a_label_and_no_address(tmp_path: Path) -> None:
    found, text = read(
        tmp_path,
        *(reached(f"node{n}", *["NVIDIA H200"] * 8) for n in (1, 2, 3)),
        reached("old", "Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB"),
    )
    assert names(found) == ["node1", "node2", "node3", "old"]
    assert [host.labels for host in found.hosts] == [("h200",)] * 3 + [("v100",)]
    assert {host.jump for host in found.hosts} == {None}
    assert 'name = "node[1-3]"' in text
    assert "address" not in text.replace("# Address", "")
    assert "# 8 × NVIDIA H200 each\n[[hosts]]" in text


def test_hosts_that_only_the_ssh_config_names_have_an_address_for_each_other(
    tmp_path: Path,
) -> None:
    hosts = [reached(f"node{n}", "NVIDIA H200") for n in (2, 1, 10)]
    addresses = {"node1": "10.0.0.2", "node2": "10.0.0.3", "node10": "gpu.example.com"}
    for told, written in (
        (addresses, "10.0.0.[2-3],gpu.example.com"),
        ({**addresses, "node10": "10.0.0.4"}, "10.0.0.[2-4]"),
        (dict.fromkeys(addresses, "127.0.0.1"), "127.0.0.1,127.0.0.1,127.0.0.1"),
    ):
        path = tmp_path / "hosts.toml"
        path.write_text(first_inventory(hosts, "~/.ssh/config", told))
        found = read_hosts_file(path, tmp_path / "none")
        assert {host.name: host.train_address for host in found.hosts} == told
        assert f'train_address = "{written}"' in path.read_text()
    alike = {name: name for name in addresses}
    assert "train_address" not in first_inventory(hosts, "~/.ssh/config", alike)
    assert "train_address" not in first_inventory(hosts[:1], "~/.ssh/config", addresses)


def test_who_has_no_gpu_among_who_has_and_who_is_away_are_comments(tmp_path: Path) -> None:
    found, text = read(tmp_path, reached("gateway"), reached("gpu1", "NVIDIA H200"), away("off"))
    assert names(found) == ["gpu1"]
    assert "# No GPU" in text
    assert '# name = "gateway"' in text
    assert "#   off: connection refused\n" in text
    uncommented = text.replace("# [[", "[[").replace("# name", "name")
    (tmp_path / "hosts.toml").write_text(uncommented)
    assert names(read_hosts_file(tmp_path / "hosts.toml", tmp_path / "config")) == [
        *("gpu1", "gateway", "off")
    ]


def test_a_host_whose_driver_does_not_tell_its_gpus_is_not_taken_for_one_without(
    tmp_path: Path,
) -> None:
    silent = reached("gpu2")
    assert silent.facts is not None
    problem = "nvidia-smi: Driver/library version mismatch"
    silent = replace(silent, facts=replace(silent.facts, gpu_problem=problem))
    found, text = read(tmp_path, reached("gpu1", "NVIDIA H200"), silent)
    assert names(found) == ["gpu1", "gpu2"]
    assert "# GPUs unknown\n" in text
    assert "No GPU" not in text


def test_where_no_host_has_a_gpu_all_that_were_reached_are_used(tmp_path: Path) -> None:
    found, _text = read(tmp_path, reached("a"), reached("b"), away("c"))
    assert names(found) == ["a", "b"]


def test_what_a_host_says_of_itself_cannot_leave_its_comment(tmp_path: Path) -> None:
    wicked = 'no\n[[hosts]]\nname = "evil"\x1b[2J'
    found, text = read(tmp_path, reached("a", 'G1"]\x07x'), away("b", wicked))
    assert names(found) == ["a"]
    assert "\x1b" not in text
    assert "evil" in text


def test_names_of_every_kind_are_read_back(tmp_path: Path) -> None:
    odd = ["n1", "n01", "n001", "a-1-b", "a-2-c", "10.0.0.1", "x.y", "1", "01"]
    found, _text = read(tmp_path, *(reached(name) for name in odd))
    assert sorted(names(found)) == sorted(odd)
