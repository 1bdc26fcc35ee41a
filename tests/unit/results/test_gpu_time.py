"""GPU time is that of every attempt from start to end, and of nothing but GPUs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.fingerprint import has_gpus
from backends.results.campaign_report import ReportContext, render_report
from backends.results.gpu_time import device_time, gpu_seconds, gpu_time_used
from backends.results.results_json import document
from backends.results.run_result import RunResult
from backends.results.summary import summarise

V100 = "8 × Tesla V100-SXM2-16GB, driver 440.33.01"
CPUS = "2 CPUs Intel(R) Xeon(R) Processor"
STATES = ("succeeded", "failed", "cancelled")


def a_run(state: str = "succeeded", took_s: float | None = 60.0, **fields: object) -> RunResult:
    """Of one node with eight devices."""
    run = RunResult(
        "a", "p", "F", "M", "1n8g", 1, 8, {}, 1, state=state, throughput=9.0, fingerprint=V100
    )
    started = None if took_s is None else 1000.0
    ended = None if took_s is None else 1000.0 + took_s
    return replace(run, started_at=started, ended_at=ended, **fields)  # type: ignore[arg-type]


ATTEMPTS = st.lists(
    st.tuples(
        st.sampled_from(STATES),
        st.none() | st.floats(0, 1e6),
        st.integers(1, 4),
        st.integers(1, 8),
        st.booleans(),
    )
)


@given(ATTEMPTS)
def test_all_attempts_that_started_count_however_they_ended_and_cpu_slots_do_not(attempts):
    assert (has_gpus(V100), has_gpus(CPUS)) == (True, False)
    runs = [
        a_run(
            state,
            took_s,
            nodes=nodes,
            gpus_per_node=gpus,
            profile="gpu" if on_gpus else "cpu",
            fingerprint=V100 if on_gpus else CPUS,
        )
        for state, took_s, nodes, gpus, on_gpus in attempts
    ]
    by_hand = sum(
        took_s * nodes * gpus for _, took_s, nodes, gpus, on_gpus in attempts if on_gpus and took_s
    )
    assert gpu_seconds(runs) == pytest.approx(by_hand)


def test_what_has_not_ended_does_not_count_yet():
    running = replace(a_run("running", None), started_at=1000.0)
    assert gpu_seconds([running, a_run()]) == 480.0


def test_a_run_without_an_environment_has_the_devices_of_its_profiles_others():
    """As one that was cancelled has none in older journals."""
    untold = a_run("cancelled", fingerprint="")
    assert gpu_seconds([untold, a_run()]) == 960.0
    assert gpu_seconds([untold, a_run(fingerprint=CPUS)]) == 0.0
    assert gpu_seconds([untold]) is None
    assert gpu_seconds([untold, a_run(), a_run(fingerprint=CPUS)]) is None
    assert gpu_seconds([a_run("cancelled", None, fingerprint="")]) == 0.0


def test_of_imported_figures_nothing_is_known_and_nothing_said():
    imported = [a_run(imported=True)]
    assert gpu_seconds(imported) is None
    assert gpu_time_used(imported) == ""
    assert document("c", imported, summarise(imported))["gpu_hours"] is None
    assert "GPU time" not in render_report(ReportContext("c"), imported, summarise(imported))


def test_report_and_document_tell_it():
    runs = [a_run(), a_run("failed", attempt=2), a_run("cancelled", 105.0, repeat=2)]
    groups = summarise(runs)
    told = render_report(ReportContext("c"), runs, groups)
    line = "GPU time used: 30 GPU-minutes, from start to end of every attempt."
    assert told.splitlines().count(line) == 1
    assert "共用 30 GPU分钟，" in render_report(ReportContext("c"), runs, groups, "zh")
    assert document("c", runs, groups)["gpu_hours"] == pytest.approx(0.5)
    on_cpus = [a_run(fingerprint=CPUS)]
    assert "GPU time" not in render_report(ReportContext("c"), on_cpus, summarise(on_cpus))


def test_device_time_is_told_in_the_unit_that_gives_a_figure_to_read():
    assert device_time(2.5, "GPU") == "2.50 GPU-hours"
    assert device_time(1, "device") == "1.00 device-hours"
    assert device_time(1 / 60, "GPU") == "1 GPU-minute"
    assert device_time(30 / 3600, "device") == "30 device-seconds"
    assert device_time(2.5, "GPU", "zh") == "2.50 GPU小时"
