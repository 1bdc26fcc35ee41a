"""How hosts did in real runs: their speed within a case, and what ended runs there."""

from __future__ import annotations

from typing import Any

from backends.campaign.folder.hosts_in_runs import of_runs
from backends.campaign.record.cause import Cause
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.run_state import RunState
from backends.hangs.diagnosis import Confidence, Diagnosis, Suspect
from backends.hangs.slow_rank import SlowRank

HOSTS = ("a", "b", "c")


def a_run(*hosts: str, throughput: float | None = 100.0, **more: Any) -> RunRecord:
    state = RunState.SUCCEEDED if throughput else RunState.FAILED
    values: dict[str, Any] = {
        "run_id": "r",
        "profile": "p",
        "framework": "f",
        "model": "m",
        "unit": "samples/s",
        "nodes": len(hosts),
        "gpus_per_node": 1,
        "parameters": {},
        "repeat": 1,
        "attempt": 1,
        "state": state,
        "hosts": hosts,
        "throughput": throughput,
    }
    return RunRecord(**(values | more))


def test_a_hosts_speed_is_that_of_its_runs_within_their_case_and_campaign():
    first = [a_run("a"), a_run("b"), a_run("c", throughput=90.0)]
    second = [a_run(host, throughput=1000.0) for host in HOSTS]
    found = of_runs([first, second], HOSTS)
    assert {host: told.speeds for host, told in found.items()} == {
        "a": (1.0, 1.0),
        "b": (1.0, 1.0),
        "c": (0.9, 1.0),
    }
    assert found["c"].runs == 2


def test_a_case_that_two_hosts_ran_tells_nobody_who_is_slow():
    found = of_runs([[a_run("a"), a_run("b", throughput=50.0)]], HOSTS)
    assert found["b"].speeds == ()
    assert "c" not in found


def test_what_ended_a_run_counts_for_its_host_where_that_is_known():
    lost = {"throughput": None, "category": str(Cause.LOST)}
    runs = [
        a_run("a", "b", failed_host="b", **lost),
        a_run("a", "b", **lost),  # nobody can tell whose doing it was
        a_run("c", throughput=None, category=str(Cause.STALLED)),
        a_run("c", throughput=None, category=str(Cause.EXIT), reason="my own mistake"),
        a_run("c", throughput=None, category=str(Cause.NAMED), reason="GPU error: Xid 79"),
    ]
    found = of_runs([runs], HOSTS)
    assert found["a"].faults == ()
    assert found["b"].faults == ("out of reach",)
    assert found["c"].faults == ("stalled", "Xid")
    assert found["c"].runs == 3


def stalled(*hosts: str, confidence: Confidence) -> RunRecord:
    found = Diagnosis((Suspect("b", rank=1),), confidence, ranks=2)
    return a_run(*hosts, throughput=None, category=str(Cause.STALLED), diagnoses=((1.0, found),))


def test_a_stall_counts_for_the_host_that_was_found_to_hold_the_others():
    found = of_runs([[stalled("a", "b", confidence=Confidence.HIGH)]], HOSTS)
    assert {host: told.faults for host, told in found.items()} == {"a": (), "b": ("stalled",)}
    found = of_runs([[stalled("a", "b", confidence=Confidence.LOW)]], HOSTS)
    assert {told.faults for told in found.values()} == {()}


def test_a_rank_that_was_slow_to_the_end_counts_once_for_its_host():
    slow = [SlowRank(rank, "b", 0, 0.2, 0.12, 0.1, 5.0) for rank in (2, 3)]
    over = SlowRank(0, "a", 0, 0.2, 0.12, 0.1, 5.0, until=9.0)
    found = of_runs([[a_run("a", "b", slow_ranks=(over, *slow))]], HOSTS)
    assert {host: told.faults for host, told in found.items()} == {"a": (), "b": ("slow rank",)}


def test_profiled_and_cancelled_runs_tell_nothing():
    runs = [
        a_run("a", profiled=True),
        a_run("a", state=RunState.CANCELLED, throughput=None),
        a_run("a", state=RunState.RUNNING, throughput=None),
    ]
    assert of_runs([runs], HOSTS) == {}
