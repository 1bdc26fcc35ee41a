"""What Slurm's programs print, of several versions: captured of 22.05, the others by hand after
Slurm's documentation of its data_parser plugins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.engines.slurm.commands import SEPARATOR, Document, number, parse_document, said
from backends.engines.slurm.gres import Gpus, device_indices, parse_gpus
from backends.engines.slurm.jobs import (
    JobState,
    parse_sacct,
    parse_squeue,
)
from backends.engines.slurm.nodes import Node, nodes_in, parse_reservations, parse_sinfo

CAPTURED = Path(__file__).parent / "slurm_22_05"
START = 1_795_375_444


def captured(name: str) -> str:
    return (CAPTURED / name).read_text("utf-8")


def document_of(text: str) -> Document:
    document = parse_document(text)
    assert document is not None
    return document


def given_number(value: int | None) -> dict[str, Any]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


# Captured -----------------------------------------------------------------------------------------


def test_json_and_text_of_one_version_tell_the_same_nodes() -> None:
    document = document_of(captured("sinfo.json"))
    assert document.parser == 38
    nodes = nodes_in(document)
    assert nodes == parse_sinfo(captured("sinfo.txt"))
    assert nodes[1] == Node(
        "node2",
        ("gpu", "short", "urgent"),
        "mixed",
        cpus=16,
        load=6.17,
        memory_mib=4000,
        memory_free_mib=20674,
        gpus=(Gpus("h200", 8),),
        used=(0, 1, 2, 3, 4),
        gpus_used=5,
    )
    assert (nodes[3].state, nodes[3].flags) == ("idle", ("drain",))
    assert nodes[3].reason == "bad fan | tray=3"
    assert [node.takes_jobs for node in nodes] == [True, True, True, False]


def test_one_poll_has_states_reasons_nodes_and_exit_codes() -> None:
    failed, waiting, held, running, _ = parse_squeue(captured("squeue.txt"))
    assert (failed.state, failed.exit_code, failed.signal) == (JobState.FAILED, 3, 0)
    assert waiting.state is JobState.PENDING
    assert (waiting.nodes, waiting.start_time, waiting.exit_code) == ((), None, None)
    assert held.reason == "JobHeldUser"
    assert (running.name, running.nodes) == ("dlperf-a.b", ("node1", "node2"))
    assert running.start_time == START


def test_a_reservation_that_holds_is_told_by_node() -> None:
    text = captured("scontrol_reservation.txt")
    assert parse_reservations(text) == {"node3": "maint"}
    assert parse_reservations(text.replace("=ACTIVE", "=INACTIVE")) == {}
    assert parse_reservations("No reservations in the system\n") == {}


# Other versions, by hand --------------------------------------------------------------------------


def node_of(parser: int) -> dict[str, Any]:
    node: dict[str, Any] = {
        "name": "n01",
        "state": "idle",
        "state_flags": ["DRAIN", "RESERVED"],
        "partitions": ["a100", "all"],
        "reason": "ecc",
        "cpus": 64,
        "alloc_cpus": 0,
        "cpu_load": 1250,
        "real_memory": 512_000,
        "free_memory": 300_000,
        "gres": "gpu:a100:8(S:0-1)",
        "gres_used": "gpu:a100:0(IDX:N/A)",
    }
    if parser >= 39:
        node.pop("state_flags")
        node["state"] = ["IDLE", "DRAIN", "RESERVED"]
    if parser >= 40:
        node["real_memory"] = given_number(512_000)
        node["free_mem"] = given_number(node.pop("free_memory"))
        node["alloc_cpus"] = given_number(0)
    return node


def printed(parser: int, **content: object) -> str:
    plugin = {"type": f"openapi/v0.0.{parser}"}
    if parser >= 40:
        plugin = {"type": "", "data_parser": f"data_parser/v0.0.{parser}"}
    return json.dumps({"meta": {"plugin": plugin}, "errors": [], **content})


PARSERS = pytest.mark.parametrize("parser", [38, 39, 40, 41])


@PARSERS
def test_a_node_is_the_same_in_every_version(parser: int) -> None:
    document = document_of(printed(parser, nodes=[node_of(parser)]))
    assert nodes_in(document) == [
        Node(
            "n01",
            ("a100", "all"),
            "idle",
            ("drain", "reserved"),
            reason="ecc",
            cpus=64,
            load=12.5,
            memory_mib=512_000,
            memory_free_mib=300_000,
            gpus=(Gpus("a100", 8),),
        )
    ]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (5, 5),
        (None, None),
        (given_number(5), 5),
        (given_number(None), None),
        ({"set": True, "infinite": True, "number": 0}, None),
        ("5", None),
        (True, None),
    ],
)
def test_numbers_of_all_versions(value: object, found: int | None) -> None:
    assert number(value) == found


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}", '{"meta": {}}', '{"meta": null}'])
def test_what_declares_no_version_is_no_document(text: str) -> None:
    assert parse_document(text) is None


# The accounting ----------------------------------------------------------------------------------


def accounted(*rows: tuple[str, ...]) -> str:
    return "".join(SEPARATOR.join(row) + "\n" for row in rows)


def test_the_accounting_tells_who_cancelled() -> None:
    name = "dlperf-x"
    cancelled, timeout, waiting = parse_sacct(
        accounted(
            ("7", name, "CANCELLED by 1003", "0:15", "gpu", "n[1-2]", str(START)),
            ("8", name, "TIMEOUT", "0:0", "gpu", "n1", str(START)),
            ("9", name, "PENDING", "0:0", "gpu", "None assigned", "Unknown"),
            ("a line of something else",),
        )
    )
    assert (cancelled.state, cancelled.cancelled_by) == (JobState.CANCELLED, "1003")
    assert (cancelled.exit_code, cancelled.signal, cancelled.nodes) == (0, 15, ("n1", "n2"))
    assert timeout.state is JobState.TIMEOUT
    assert (waiting.nodes, waiting.start_time, waiting.exit_code) == ((), None, None)


# GPUs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ("gpu:8", (Gpus("", 8),)),
        ("gpu:h200:8(S:0-1)", (Gpus("h200", 8),)),
        ("gpu:a100_80g:2(IDX:0,3)", (Gpus("a100_80g", 2, (0, 3)),)),
        ("gpu:a:2(IDX:0,3),gpu:v:1(IDX:4)", (Gpus("a", 2, (0, 3)), Gpus("v", 1, (4,)))),
        ("nic:2,shard:h200:16(0/8),gpu:1(IDX:5)", (Gpus("", 1, (5,)),)),
        ("gpu:2(CNT:2)", (Gpus("", 2),)),
        ("gpu:h200:0(IDX:N/A)", (Gpus("h200", 0),)),
        ("(null)", ()),
        ("", ()),
    ],
)
def test_gpus_are_read_as_slurm_writes_them(gres: str, gpus: tuple[Gpus, ...]) -> None:
    assert parse_gpus(gres) == gpus


@given(st.text(max_size=80))
def test_no_text_is_too_much_for_the_readers(text: str) -> None:
    for read in (parse_gpus, device_indices, parse_squeue, parse_sinfo, parse_sacct):
        read(text)
    parse_reservations(text)
    said(text.encode())


@given(st.dictionaries(st.sampled_from(list(node_of(38))), st.none() | st.integers() | st.text()))
def test_no_json_is_too_much_for_the_readers(changed: Mapping[str, object]) -> None:
    for parser in (38, 40):
        nodes_in(document_of(printed(parser, nodes=[{**node_of(parser), **changed}])))
