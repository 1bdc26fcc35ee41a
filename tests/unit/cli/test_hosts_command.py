"""``hosts`` as a table: one line per host, whatever was found out about it."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.probe import parse_probe, snapshot_of
from backends.inventory.host_entry import Host
from tests.unit.cli.conftest import Answer, Cli
from tui.cli.shared.host_rows import print_hosts

GPU = "\n".join(f"{n}, H200, 580.1, 143771 MiB" for n in range(8))
ANSWER = (
    "@@dlperf:begin\n10.5\n@@dlperf:os\nDebian\n@@dlperf:kernel\n6.1\n@@dlperf:cpus\n16\n"
    "@@dlperf:memory\nMemTotal: 2097152 kB\n@@dlperf:users\nalice\n@@dlperf:load\n1.5 1 1\n"
    f"@@dlperf:gpus\nindex, name, driver_version, memory.total [MiB]\n{GPU}\n"
    "@@dlperf:gpu-status\n0\n@@dlperf:topology\n\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n"
    "@@dlperf:end\n10.5\n"
).encode()
READY = snapshot_of(Host(name="n1", address="10.0.0.1"), parse_probe(ANSWER, 10.0, 10.0))
AWAY = HostSnapshot(
    "n2", "10.0.0.2", HostState.UNREACHABLE, "refused | \x1b[2J[red]", remedy="start sshd"
)


def table(capsys: pytest.CaptureFixture[str], *, wide: bool) -> Answer:
    print_hosts([READY, AWAY], wide=wide)
    said = capsys.readouterr()
    return Answer(0, said.out, said.err)


def test_one_line_per_host(capsys: pytest.CaptureFixture[str]) -> None:
    answer = table(capsys, wide=False)
    assert answer.rows == [
        ["n1", "ready", "8 × H200", "0/8", "1.50", ""],
        ["n2", "unreachable", "–", "–", "–", "refused | [red]"],
    ]
    assert len(answer.out.splitlines()) == 2 + 2
    assert "\x1b" not in answer.out


def test_wide_has_more_columns_and_then_all_that_is_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = table(capsys, wide=True)
    row = answer.rows[0]
    assert [row[0], *row[5:9]] == ["n1", "10.0.0.1", "16", "2 GiB", "580.1"]
    assert "## n1" in answer.out
    assert "## n2" not in answer.out, "nothing more is known of it"
    assert "| 7 | H200 |" in answer.out
    assert "```\n      GPU0  NIC0" in answer.out
    assert "logged in: alice" in answer.out
    assert "links: one GPU; NIC0 next to GPU0" in answer.out


@pytest.mark.parametrize("terminal", [True, False])
def test_the_table_says_on_a_terminal_of_when_it_is(
    monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    class Out(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    t = 1795846351.0  # 2026-11-28 06:12:31 UTC
    for times, said in (
        ([t], "06:12:31"),
        ([t, t + 9, None], "06:12:31 to 06:12:40"),
        ([None], ""),
    ):
        monkeypatch.setattr(sys, "stdout", out := Out())
        print_hosts([replace(READY, probed_at=one) for one in times], wide=False)
        last = out.getvalue().splitlines()[-1]
        assert (last == f"as of {said} UTC") is (terminal and bool(said)), last


@pytest.mark.parametrize("columns", [60, 80, 120, 160])
def test_a_terminal_breaks_no_word_of_what_is_known_of_a_host(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert READY.facts is not None
    slowed = replace(READY.facts.gpus[0], throttle_reasons=("hardware thermal slowdown",))
    found = replace(READY.facts, gpus=(slowed, *READY.facts.gpus[1:]))
    host = snapshot_of(Host(name="n1", address="10.0.0.1"), found)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", Terminal())
    print_hosts([host, replace(AWAY, reason="no route to host " * 9)], wide=True)
    out = re.sub(r"\x1b\[[0-9;]*m", "", sys.stdout.getvalue())
    [concern] = [concern for concern in host.concerns if "slowed" in concern.what]
    whole = " ".join(out.split())
    assert f"{concern.what} → {concern.remedy}" in whole, "look at … PERFORMANCE"
    assert "no route to host " * 8 in whole
    told = out.split("\nn1\n")[1].split("\n\n")[0].splitlines()
    assert told[0].startswith("  16 CPUs")
    assert all(len(line) <= columns for line in told)


def test_this_machine_is_a_line_and_a_host_that_is_away_says_how_to_mend_it(
    cli: Cli, tmp_path: Path
) -> None:
    [row] = cli("hosts").rows
    assert row[1] == "ready"
    assert "slot" in row[2] or "×" in row[2]
    inventory = tmp_path / "hosts.toml"
    inventory.write_text('[[hosts]]\nname = "off"\naddress = "127.0.0.1"\nport = 9\n')
    answer = cli("hosts", "--inventory", inventory, code=1)
    assert answer.rows[0][:2] == ["off", "unreachable"]
    assert answer.err.startswith("off: ")


def test_hosts_stand_in_the_order_of_the_inventory_and_one_remedy_is_said_once(
    cli: Cli, tmp_path: Path
) -> None:
    inventory = tmp_path / "hosts.toml"
    inventory.write_text(
        '[[hosts]]\nname = "here"\ntransport = "local"\n'  # the last to answer
        '[[hosts]]\nname = "off[1-9]"\naddress = "127.0.0.[1-9]"\nport = 9\n'
    )
    answer = cli("hosts", "--inventory", inventory, code=1)
    assert [row[0] for row in answer.rows] == ["here", *(f"off{n}" for n in range(1, 10))]
    assert [line for line in answer.err.splitlines() if "sshd" in line] == [
        "off[1-9]: check that sshd runs there and that address and port are right"
    ]
