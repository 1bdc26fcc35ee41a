"""report.md says where, what, how much and what to distrust; files are replaced as a whole."""

from __future__ import annotations

import builtins
import csv
import errno
import io
import json
import math
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from statistics import fmean, stdev

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from backends.hosts.host_facts import Topology
from backends.inventory.nodesets import ranked_nodeset
from backends.results import svg_figures
from backends.results.campaign_report import ExecutedCommands, ReportContext, render_report
from backends.results.environment_words import topology_text
from backends.results.result_files import write_atomically, write_results
from backends.results.run_result import RunResult
from backends.results.student import quantile
from backends.results.summary import summarise
from backends.results.svg_figures import draw_figures
from backends.results.translations import Lang, words
from profiles.errors import DlperfError
from profiles.logs.failures import REMEDIES

CONTEXT = ReportContext(
    campaign="2026-11-21-mlp",
    environment={
        "hosts": [
            {
                "name": name,
                "facts": {
                    "os": "Ubuntu 16.04",
                    "cpus": 48,
                    "driver_version": "440.33.01",
                    "gpus": [{"name": "Tesla V100-SXM2-16GB", "memory_total_mib": 16160}] * 8,
                    "topology": {
                        "labels": ["GPU0", "mlx5_0"],
                        "links": [["X", "NODE"], ["NODE", "X"]],
                        "cpu_affinity": ["0-11,24-35"],
                        "numa_affinity": [],
                        "nic_names": {},
                    },
                },
            }
            for name in ("node1", "node2")
        ],
        "git": {"cnns": "892f87e6"},
        "dlperf_tui": "0.1.0",
    },
    commands=(
        ExecutedCommands("2n1g", (("node1", "./run.sh 2 1 | tee x"), ("node2", "./run.sh 2 1"))),
    ),
    version="0.1.0",
)


@pytest.fixture
def runs(runs_of):
    failed = replace(runs_of("2n1g", [None])[0], hosts=("node1", "node2"))
    return [*runs_of("1n1g", [100, 101, 99]), failed]


FILLER = "In these names fp32 is a filler where the profile has no parameter precision"


@given(st.booleans(), st.booleans(), st.sampled_from(["fp32", "amp"]))
def test_that_fp32_in_the_name_of_a_log_is_a_filler_is_said_where_it_is(
    stated: bool, imported: bool, named: str
) -> None:
    """Not of logs that others named."""
    run = RunResult("a", "p", "F", "M", "1n1g", 1, 1, {"batch_size": 64}, 1, throughput=9.0)
    parameters = {"batch_size": 64, "precision": named} if stated else run.parameters
    run = replace(run, parameters=parameters, imported=imported, log=f"logs/m_b64_{named}_1.log")
    told = render_report(CONTEXT, [run], summarise([run]))
    assert told.count(FILLER) == (named == "fp32" and not stated and not imported)
    in_chinese = render_report(CONTEXT, [run], summarise([run]), "zh")
    assert ("仅为占位" in in_chinese) is (FILLER in told)


def test_report_names_environment_commands_window_table_failures_and_logs(runs):
    text = render_report(CONTEXT, runs, summarise(runs))
    for expected in (
        "# 2026-11-21-mlp",
        "- node1, node2, each: 8 × Tesla V100-SXM2-16GB (16160 MiB), driver 440.33.01, 48 CPUs",
        "- git: cnns 892f87e6",
        "- dlperf-tui: 0.1.0",
        "GPU0    X     NODE    0-11,24-35",
        "Window: all readings but the first. Statistic: mean.",
        "# node1\n./run.sh 2 1 | tee x\n# node2\n./run.sh 2 1\n",
        "| 1 | 1 | 1 | 64 | 100.00 | 1 | 100.0% | 1.00% | 3 |",
        "| 2 | 1 | 2 | 64 | – | – | – | – | 0/1 |",
        "- 2n1g: 0 of 1 repeats succeeded",
        "#1: failed, out of memory (`node1`, `node2`): [log](./logs/python/mlp/2n1g/",
        "[3](./logs/python/mlp/1n1g/mlp_b64_fp32_3.log)",
        "Written by dlperf-tui 0.1.0.",
    ):
        assert expected in text
    assert "SIMULATED" not in text


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("tags", [[], ["1n1g"], ["1n1g", "1n2g", "1n4g", "1n8g"]])
def test_what_was_measured_stands_before_where_and_how(runs_of, tags, lang):
    runs = [run for tag in tags for run in runs_of(tag, [100.0, None])]
    context = replace(CONTEXT, precheck="## PRECHECK")
    text = render_report(context, runs, summarise(runs), lang)
    w = words(lang)
    headings = re.findall("^## (.+)$", text, re.MULTILINE)
    about = [w.environment, "PRECHECK", w.what_was_run]
    found = [headings.index(heading) for heading in about]
    assert headings[0] == w.results
    assert found == [*range(found[0], found[0] + 3)]
    assert {*headings[: found[0]]} >= {w.flags_heading, w.failed_runs}
    assert headings[found[-1] + 1 :] == [w.logs] * bool(runs)


def test_report_says_what_helps_most_often_once_for_each_reason(runs_of):
    reason, other = list(REMEDIES)[:2]
    failed = [
        replace(run, reason=why)
        for run, why in zip(
            runs_of("1n1g", [None] * 4), (reason, reason, other, "no space"), strict=True
        )
    ]
    text = render_report(CONTEXT, failed, summarise(failed))
    assert [text.count(f"→ {REMEDIES[why]}") for why in (reason, other)] == [1, 1]
    assert text.count("  - →") == 2


def test_report_in_chinese_has_the_same_figures_under_chinese_headings(runs):
    text = render_report(CONTEXT, runs, summarise(runs), "zh")
    assert re.findall("^## (.*)$", text, re.M) == [
        "测试结果",
        "标记与警告",
        "失败的运行",
        "环境介绍",
        "测试步骤",
        "日志数据",
    ]
    assert "| 1 | 1 | 1 | 64 | 100.00 | 1 | 100.0% | 1.00% | 3 |" in text
    assert "加速比以 1n1g 为基准" in text


def test_simulated_results_say_so_at_the_top_in_the_table_and_in_the_flags(runs_of):
    runs = runs_of("1n1g", [100], simulated=True)
    text = render_report(CONTEXT, runs, summarise(runs))
    assert text.count("SIMULATED") >= 3
    assert "SIMULATED" in text.splitlines()[2]


def test_report_of_a_campaign_that_runs_says_what_is_left(runs):
    waiting = replace(runs[0], run_id="next", repeat=9, state="planned", throughput=None)
    text = render_report(CONTEXT, [*runs, waiting], summarise([*runs, waiting]))
    assert "Not ended yet: 1 of the planned runs." in text


def test_report_without_any_result_is_still_a_report():
    text = render_report(ReportContext("empty"), [], ())
    assert "No run has ended yet." in text
    assert "Nothing is recorded about the environment." in text


def test_superseded_attempts_are_told_with_their_reason(runs_of):
    (failed,) = runs_of("1n1g", [None], hosts=("node1",))
    retried = replace(failed, attempt=2, state="succeeded", throughput=100.0)
    runs = [failed, retried]
    assert "#1: retried after: out of memory (`node1`): [log](./logs/" in render_report(
        CONTEXT, runs, summarise(runs)
    )


@given(
    st.lists(
        st.lists(st.sampled_from(["failed", "cancelled"]), max_size=2),
        min_size=1,
        max_size=4,
    ),
    st.randoms(use_true_random=False),
)
def test_the_log_of_every_attempt_is_linked_in_the_order_of_the_repeats(
    earlier: list[list[str]], order: Random
):
    runs = []
    for repeat, states in enumerate(earlier, 1):
        for attempt, state in enumerate([*states, "succeeded"], 1):
            one = _attempt(repeat, attempt, state)
            runs.append(one)
    ended = sorted(runs, key=lambda run: (run.attempt, order.random()))
    ended = [replace(run, started_at=float(at)) for at, run in enumerate(ended)]
    text = render_report(CONTEXT, ended, summarise(ended))
    links = text.partition("## Raw logs")[2]
    assert re.findall(r"\(\./(.*?)\)", links) == [run.log for run in runs]
    for run in runs[:-1]:
        told = f"{run.repeat} attempt {run.attempt}"
        assert (f"[{told}](./{run.log})" in links) == (run.state != "succeeded")


def _attempt(repeat: int, attempt: int, state: str) -> RunResult:
    return RunResult(
        run_id=f"r{repeat}-a{attempt}",
        profile="cpu-smoke",
        framework="Python",
        model="MLP",
        case_tag="1n1g",
        nodes=1,
        gpus_per_node=1,
        parameters={},
        repeat=repeat,
        attempt=attempt,
        state=state,
        throughput=100.0 if state == "succeeded" else None,
        log=f"logs/{repeat}.{attempt}.log",
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "GPU memory (MiB): the most that any device was seen to have in use during"),
        (
            {"metrics": {"gpu_memory_mib": 900.0}},
            "stated GPU memory (MiB): the most of any of the repeats, as its log",
        ),
        ({"imported": True}, "stated GPU memory (MiB): the most of any of the repeats, as its log"),
    ],
)
def test_a_table_says_whose_word_its_memory_is(runs_of, fields, said):
    runs = runs_of("1n1g", [100.0] * 2, gpu_memory_mib=900, **fields)
    runs[1] = replace(runs[1], gpu_memory_mib=901)
    text = render_report(CONTEXT, runs, summarise(runs))
    assert said in text
    assert " 901 |" in text
    (row,) = {line for line in text.splitlines() if line.startswith("| node num")}
    assert said.partition(":")[0] in row
    none = [replace(run, gpu_memory_mib=None) for run in runs]
    assert "memory (MiB)" not in render_report(CONTEXT, none, summarise(none))


def test_what_was_skipped_is_no_failed_run(runs_of):
    skipped = [replace(run, state="cancelled", reason="") for run in runs_of("1n1g", [None, None])]
    assert all(run.skipped for run in skipped)
    later = replace(skipped[0], run_id="later", attempt=2, state="succeeded", throughput=100.0)
    failed = replace(skipped[0], run_id="f", repeat=3, state="failed", reason="out of memory")
    runs = [*skipped, later]
    assert "## Failed runs\n\nNone." in render_report(CONTEXT, runs, summarise(runs))
    runs.append(failed)
    told = render_report(CONTEXT, runs, summarise(runs)).partition("## Failed runs")[2]
    assert "1 of 3 repeats succeeded, 1 never started\n  - #3: failed, out of memory" in told
    assert "cancelled" not in told
    mended = [*runs, replace(failed, run_id="m", attempt=2, state="succeeded", throughput=99.0)]
    told = render_report(CONTEXT, mended, summarise(mended))
    assert "## Failed runs" not in told
    assert "2 of 3 repeats succeeded" in told.partition("## Tried again")[2]


def test_a_group_with_several_rules_says_which_cases_have_which(runs_of):
    runs = [
        *(replace(run, window="last 90 readings") for run in runs_of("1n1g", [100])),
        *(replace(run, window="last 55 readings") for run in runs_of("1n8g", [700])),
        *(
            replace(run, window="summary line", statistic="summary")
            for tag in ("2n8g", "4n8g")
            for run in runs_of(tag, [1400])
        ),
    ]
    text = render_report(CONTEXT, runs, summarise(runs))
    assert (
        "1n1g: Window: last 90 readings. Statistic: mean. 1n8g: Window: last 55 readings. "
        "Statistic: mean. 2n8g, 4n8g: The figure that the log sums up." in text
    )


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        ("global", "Statistic: mean. Figures in rank 0's log are of all devices."),
        ("per_device", "Statistic: mean. Figures in rank 0's log are per device, here"),
        ("per_node", "Statistic: mean. Figures in each node's log are per node, here summed up;"),
        ("", "Statistic: mean.\n"),
    ],
)
def test_what_was_run_says_how_the_log_s_figure_becomes_the_table_s(runs_of, scope, said):
    runs = runs_of("2n8g", [28899.0])
    context = replace(CONTEXT, scopes={"cpu-smoke": scope})
    assert said in render_report(context, runs, summarise(runs)).replace("\\", "")
    (summed,) = (replace(run, statistic="summary") for run in runs)
    assert "rank 0" not in render_report(context, [summed], summarise([summed]))


def test_the_windows_say_what_their_seconds_and_cvs_are(runs_of):
    runs = [replace(run, used=29, window_s=8.06) for run in runs_of("1n1g", [100])]
    text = render_report(CONTEXT, runs, summarise(runs))
    after = text.partition("29 readings, arrived within 8.06 s")[2].partition("###")[0]
    assert "Seconds: from the arrival here of the reading before the window" in after
    assert "what arrived after its run had ended counts as of that end" in after
    assert "all other CVs are of the repeats" in after
    told = render_report(CONTEXT, runs, summarise(runs), "zh")
    assert "秒数：" in told
    assert "运行结束之后才到达的读数按结束时刻计" in told


def test_topology_of_a_probe_prints_as_nvidia_smi_does():
    topology = Topology(
        ("GPU0", "NIC0"), (("X", "PIX"), ("PIX", "X")), ("0-3",), ("0",), {"NIC0": "mlx5_0"}
    )
    assert topology_text({"topology": asdict(topology)}).splitlines() == [
        "      GPU0  NIC0  CPU Affinity  NUMA Affinity",
        "GPU0  X     PIX   0-3           0",
        "NIC0  PIX   X",
        "",
        "NIC0: mlx5_0",
    ]
    assert topology_text({"topology": None}) == ""
    assert topology_text({"topology": {"labels": ["GPU0"], "links": []}}) == ""


def test_results_are_written_side_by_side(runs, tmp_path: Path):
    write_results(tmp_path, CONTEXT, runs)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "report.md",
        "results.csv",
        "results.json",
    ]
    assert json.loads((tmp_path / "results.json").read_text())["campaign"] == "2026-11-21-mlp"
    rows = list(csv.DictReader(io.StringIO((tmp_path / "results.csv").read_text())))
    assert [row["case"] for row in rows] == ["1n1g", "2n1g"]
    assert rows[0]["throughput"] == "100"
    assert rows[0]["batch_size"] == "64"
    assert rows[1]["throughput"] == ""


def test_full_disk_leaves_the_old_file_and_no_rubbish(tmp_path: Path, monkeypatch):
    path = tmp_path / "report.md"
    write_atomically(path, "old")

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.md"]


def test_a_file_that_several_replace_at_once_is_whole_and_nobody_fails(tmp_path: Path, monkeypatch):
    path = tmp_path / "report.md"
    together = threading.Barrier(4, timeout=30)
    sync = os.fsync

    def all_at_once(fd: int) -> None:
        together.wait()
        sync(fd)

    monkeypatch.setattr(os, "fsync", all_at_once)
    texts = [str(number) * 1000 for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda text: write_atomically(path, text), texts))
    assert path.read_text() in texts
    assert [p.name for p in tmp_path.iterdir()] == ["report.md"]


def test_figures_are_svg_that_does_not_change_between_two_drawings(runs_of, tmp_path: Path):
    runs = runs_of("1n1g", [100, 101]) + runs_of("1n2g", [190, 191]) + runs_of("2n1g", [None])
    groups = write_results(tmp_path, CONTEXT, runs, figures=True)
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == ["speedup-mlp.svg", "throughput-mlp.svg"]
    drawn = {figure.name: figure.svg for figure in draw_figures(groups)}
    for name in names:
        assert (tmp_path / "figures" / name).read_text(encoding="utf-8") == drawn[name]
    assert "![Speedup of MLP](./figures/speedup-mlp.svg)" in (tmp_path / "report.md").read_text()


def test_figures_are_drawn_one_at_a_time_for_the_settings_are_the_whole_process_s(
    runs_of, monkeypatch
):
    import matplotlib as mpl  # noqa: PLC0415

    groups = summarise(runs_of("1n1g", [100, 101]) + runs_of("1n2g", [190, 191]))
    before, alone = dict(mpl.rcParams), draw_figures(groups)
    met = threading.Barrier(2, timeout=0.5)
    meetings = []
    blank = svg_figures._blank

    def waiting(*arguments):
        with suppress(threading.BrokenBarrierError):
            meetings.append(met.wait())
        return blank(*arguments)

    monkeypatch.setattr(svg_figures, "_blank", waiting)
    with ThreadPoolExecutor(2) as threads:
        drawn = list(threads.map(draw_figures, [groups, groups]))
    assert drawn == [alone, alone]
    assert dict(mpl.rcParams) == before
    assert not meetings


def test_figures_take_any_text_and_a_single_case(runs_of):
    runs = runs_of(
        "1n1g", [100], model="$\\frac{1}$", framework="_<b>&|", unit="$^2$", simulated=True
    )
    svgs = [figure.svg for figure in draw_figures(summarise(runs), "zh")]
    assert len(svgs) == 2
    assert all("<b>" not in svg and r"$\frac{1}$" in svg for svg in svgs)
    assert all("SIMULATED" in svg for svg in svgs)


def test_figures_without_matplotlib_say_how_to_get_it(runs_of, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DlperfError, match=r"pip install 'dlperf-tui\[figures\]'"):
        draw_figures(summarise(runs_of("1n1g", [100])))


@pytest.mark.parametrize("used", [("node1",), ("node2",), ("node1", "node2")])
def test_the_environment_names_the_hosts_that_had_a_run_and_no_other(runs_of, used):
    runs = runs_of("1n1g", [100, 101], hosts=used)
    section = render_report(CONTEXT, runs, summarise(runs)).partition("## Environment")[2]
    section = section.partition("## What was run")[0]
    assert {name for name in ("node1", "node2") if name in section} == set(used)


def statistics_of(report: str) -> dict[str, str]:
    """The row of 1n1g by the headings of its columns."""
    lines = [[cell.strip() for cell in line.split("|")] for line in report.splitlines()]
    names = next(line for line in lines if {"min", "max"} <= {*line})
    found = next(line for line in lines if "1n1g" in line and len(line) == len(names))
    return dict(zip(names, found, strict=True))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_repeat_has_no_range(runs_of, n):
    runs = runs_of("1n1g", [123.0, 124.0, 125.0][:n])
    row = statistics_of(render_report(CONTEXT, runs, summarise(runs)))
    assert [row[name] == "–" for name in ("min", "max")] == [n == 1] * 2


@given(values=st.lists(st.floats(90.0, 110.0), min_size=1, max_size=9))
@example(values=[100.0, 101.0, 99.0])
def test_few_repeats_have_students_interval_of_the_mean_marked_and_explained(values):
    runs = [
        RunResult(*(f"r{n}", "p", "F", "M", "1n1g", 1, 1, {}, n), throughput=value)
        for n, value in enumerate(values, start=1)
    ]
    report = render_report(CONTEXT, runs, summarise(runs))
    few = 2 <= len(values) < 6
    of = "mean" if few else "median"
    cell = statistics_of(report)[f"95% interval of the {of}"]
    assert ("\n- t: half of Student's 95% interval of the mean" in report) == few
    assert bool(re.fullmatch(r"±[\d.]+% t", cell)) == few
    assert (cell == "–") == (len(values) == 1)
    assert (" … " in cell) == (len(values) >= 6)
    if few:
        center, error = fmean(values), stdev(values) / math.sqrt(len(values))
        half = quantile(0.95, len(values) - 1) * error / center
        assert float(cell.strip("±% t")) == pytest.approx(100 * half, rel=0.5, abs=0.006)


def test_a_column_of_both_intervals_is_called_neither(runs_of):
    runs = runs_of("1n1g", [100.0, 101.0, 99.0]) + runs_of("1n2g", [200.0 + n for n in range(6)])
    report = render_report(CONTEXT, runs, summarise(runs))
    assert statistics_of(report)["95% interval: of the median, or t"].endswith("% t")
    assert "of the mean |" not in report


@pytest.mark.parametrize(("n", "of"), [(4, "mean (Student's)"), (7, "median")])
def test_how_narrow_an_interval_became_says_of_what_it_is(runs_of, n, of):
    runs = runs_of("1n1g", [100.0 + k for k in range(n)], stopped="reached")
    report = render_report(CONTEXT, runs, summarise(runs))
    assert re.search(rf"{n} repeats, ±[\d.]+% of the {re.escape(of)}; the interval", report)


def test_students_interval_is_explained_in_the_language_of_the_report(runs_of):
    runs = runs_of("1n1g", [100.0, 101.0, 99.0])
    report = render_report(CONTEXT, runs, summarise(runs), "zh")
    assert "| ±2.48% t |" in report
    assert "- t：均值95%区间" in report


PLACES = st.lists(
    st.lists(st.sampled_from(["a1", "a2", "b"]), min_size=2, max_size=2, unique=True),
    min_size=1,
    max_size=3,
)


@given(PLACES, st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_commands_of_a_case_are_said_to_be_of_which_repeat_where_not_all_ran_there(
    runs_of, places: list[list[str]], data: st.DataObject
) -> None:
    runs = [
        replace(run, hosts=(*hosts,))
        for run, hosts in zip(runs_of("2n1g", [100.0] * len(places)), places, strict=True)
    ]
    shown = data.draw(st.sampled_from(runs))
    lines = tuple((host, "./run.sh") for host in shown.hosts)
    context = replace(CONTEXT, commands=(ExecutedCommands("2n1g", lines, shown.run_id),))
    report, chinese = (
        render_report(context, runs, summarise(runs), lang).replace("\\", "")
        for lang in ("en", "zh")
    )
    told = f"Commands of 2n1g, of repeat {shown.repeat} on {ranked_nodeset(shown.hosts)} (other "
    apart = len({run.hosts for run in runs}) > 1
    assert (told in report) is apart
    assert ("Commands of 2n1g:" in report) is not apart
    assert (f"的重复 {shown.repeat}（其他重复：" in chinese) is apart


@given(st.integers(2, 5), st.integers(8, 20), st.booleans())
def test_a_command_that_nearly_all_hosts_have_is_reported_once(
    hosts: int, count: int, alike: bool
) -> None:
    rest = " ".join(f"word{n}" for n in range(count))
    lines = tuple((f"h{n}", f"run --rank {n * (not alike)} {rest}") for n in range(hosts))
    context = replace(CONTEXT, commands=(ExecutedCommands("c", lines),))
    report = render_report(context, [], ())
    assert report.count(rest) == 1
    for n in range(1, hosts):
        assert f"# h{n}: as above{f' with --rank {n}' * (not alike)}\n" in report


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["1n1g", "1n2g", "2n2g"]),
        st.lists(st.sampled_from(["failed", "cancelled", "skipped"]), min_size=1, max_size=3),
        min_size=1,
    ),
    st.sampled_from(["en", "zh"]),
)
def test_the_head_names_each_case_of_which_a_run_was_cancelled(
    runs_of, became: dict[str, list[str]], lang: Lang
) -> None:
    runs = [
        replace(
            run,
            state="failed" if what == "failed" else "cancelled",
            started_at=None if what == "skipped" else 1.0,
        )
        for tag, ends in became.items()
        for run, what in zip(runs_of(tag, [None] * len(ends)), ends, strict=True)
    ]
    report = render_report(ReportContext("c"), runs, summarise(runs), lang)
    head = report.partition("\n## ")[0].splitlines()
    lines = [line for line in head if "Cancelled after" in line or "启动之后被取消" in line]
    cancelled = {tag: ends.count("cancelled") for tag, ends in became.items()}
    assert len(lines) == bool(sum(cancelled.values()))
    for line in lines:
        assert f" {sum(cancelled.values())} " in line.replace("：", " ")
        assert {tag for tag in became if tag in line} == {t for t, n in cancelled.items() if n}
