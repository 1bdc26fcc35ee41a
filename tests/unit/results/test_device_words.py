"""Devices are called GPUs as in the reports that the tables reproduce, unless none was one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.fingerprint import has_gpus, joined
from backends.results import publish
from backends.results.device_words import devices_text
from backends.results.grade_words import finding_lines
from backends.results.layouts.airank import airank_tables
from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.compare_frameworks import compare_tables
from backends.results.layouts.layout import Layout, Tables
from backends.results.layouts.llm import llm_tables
from backends.results.layouts.pivot import pivot_tables
from backends.results.layouts.speedup import speedup_tables
from backends.results.render import render_markdown
from backends.results.run_result import RunResult
from backends.results.summary import Group, summarise
from backends.results.translations import Lang

RunsOf = Callable[..., list[RunResult]]
CPU = "AMD EPYC 9654 96-Core Processor, Debian GNU/Linux 12 (bookworm), 6.1.0-18-amd64, x86_64"
GPU = "NVIDIA H200, driver 580.95.05, CUDA 13.0, Ubuntu 24.04, 6.8.0, x86_64; ECC: on"
LAYOUTS = (speedup_tables, pivot_tables, compare_tables, airank_tables)


def groups(runs_of: RunsOf, *fingerprints: str, **fields: object) -> tuple[Group, ...]:
    """Two devices that are slower than one."""
    speeds = {"1n1g": 100.0, "1n2g": 90.0}
    runs = [run for tag, speed in speeds.items() for run in runs_of(tag, [speed] * 3)]
    told = [fingerprints[number % len(fingerprints)] for number in range(len(runs))]
    return summarise(
        replace(run, fingerprint=text, **fields) for run, text in zip(runs, told, strict=True)
    )


def said(found: tuple[Group, ...]) -> str:
    tables = [table for layout in LAYOUTS for table in layout(found)]
    [group] = found
    lines = [line for case in group.cases for line in finding_lines(case, group)]
    return "\n".join([render_markdown(tables), *lines])


def test_where_no_host_had_a_gpu_no_table_speaks_of_one(runs_of: RunsOf) -> None:
    text = said(groups(runs_of, CPU))
    assert "gpu" not in text.casefold()
    for heading in ("| devices/node |", "| device num |", "| bsz/device |", "| 2 devices |"):
        assert heading in text
    assert "slower than fewer devices" in text


@pytest.mark.parametrize(
    ("fingerprints", "fields"),
    [
        pytest.param([GPU], {}, id="GPUs"),
        pytest.param([joined([GPU, CPU])], {}, id="hosts with and without"),
        pytest.param([CPU, GPU], {}, id="repeats with and without"),
        pytest.param([""], {}, id="unknown"),
        pytest.param(["V100 cluster of 2020"], {"imported": True}, id="figures from elsewhere"),
    ],
)
def test_anything_else_is_called_as_in_the_reports(
    runs_of: RunsOf, fingerprints: list[str], fields: dict[str, object]
) -> None:
    text = said(groups(runs_of, *fingerprints, **fields))
    assert "device " not in text.replace("per device", "")
    for heading in ("| gpus/node |", "| gpu num |", "| bsz/gpu |", "| GPU num |", "| 2 GPUs |"):
        assert heading in text
    assert "slower than fewer GPUs" in text


def test_unknown_runs_do_not_hide_what_the_others_tell(runs_of: RunsOf) -> None:
    assert "gpu" not in said(groups(runs_of, CPU, "")).casefold()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_llm_layout_calls_cpu_slots_devices(runs_of: RunsOf, lang: Lang) -> None:
    metrics = {"tflop_per_s_per_gpu": 247.25, "mfu": 0.25}
    found = groups(runs_of, CPU, unit="tokens/s", metrics=metrics)
    text = render_markdown(llm_tables(found, LayoutOptions(lang=lang)))
    assert "TFLOP/s/device" in text
    assert "GPU" not in text
    assert "显存" not in text
    text = render_markdown(llm_tables(groups(runs_of, GPU, unit="tokens/s", metrics=metrics)))
    assert "TFLOP/s/GPU" in text
    assert "TFLOP/s per GPU" in text


def test_a_driver_is_what_tells() -> None:
    assert has_gpus(GPU)
    assert has_gpus(joined([CPU, GPU]))
    assert not has_gpus(CPU)
    assert not has_gpus("")


@pytest.mark.parametrize("layout", [speedup_tables, llm_tables])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_memory_that_a_log_states_has_another_name_than_what_was_in_use(
    runs_of: RunsOf, layout: Tables, lang: Lang
) -> None:
    def headings(*, imported: bool) -> set[str]:
        runs = runs_of("1n1g", [100.0], unit="tokens/s", gpu_memory_mib=18321, imported=imported)
        (table,) = layout(summarise(runs), LayoutOptions(lang=lang))
        return set(table.headings)

    (stated,), (used,) = (
        headings(imported=True) - headings(imported=False),
        headings(imported=False) - headings(imported=True),
    )
    assert stated.removeprefix("stated ").removeprefix("日志所述") == used


@pytest.mark.parametrize("layout", publish.LAYOUTS.values(), ids=lambda layout: layout.name)
def test_what_a_layout_is_said_to_have_holds_without_gpus(layout: Layout) -> None:
    assert "GPU" not in layout.help


def test_beside_groups_on_gpus_those_on_cpus_make_devices_of_all_and_are_none_where_alone(
    runs_of: RunsOf,
) -> None:
    cpus, gpus = groups(runs_of, CPU), groups(runs_of, GPU)
    assert devices_text([*gpus]) == "GPUs"
    assert devices_text([*cpus]) == devices_text([*gpus, *cpus]) == "devices"


@given(st.permutations([1, 2, 3, 4]))
def test_logs_of_a_pivot_follow_the_repeats_whatever_was_run_first(order: list[int]) -> None:
    case = RunResult(
        run_id="",
        case_tag="1n1g",
        nodes=1,
        gpus_per_node=1,
        repeat=0,
        state="succeeded",
        throughput=1.0,
        profile="p",
        framework="f",
        model="m",
        parameters={},
        unit="images/s",
        window="w",
        statistic="mean",
    )
    runs = [replace(case, run_id=f"r{n}", repeat=n, log=f"logs/{n}.log") for n in order]
    (table,) = pivot_tables(summarise(runs))
    assert [link.path for link in table.links] == [f"logs/{n}.log" for n in (1, 2, 3, 4)]
