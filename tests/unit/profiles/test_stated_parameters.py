"""What a log states of a parameter is the imported case's value, or a warning: never neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiles.format.case_matrix import make_case
from profiles.format.catalog import Catalog
from profiles.logs.log_paths import recognise
from profiles.throughput.as_stated import measure_as_stated

CATALOG = Catalog.load()
PROFILES = [
    name
    for name in CATALOG.names
    if CATALOG.get(name).parameters and CATALOG.get(name).measure.stated
]
MEGATRON = """\
using world size: 16, data-parallel-size: 4, tensor-model-parallel size: 2, \
pipeline-model-parallel size: 2
  micro_batch_size ................................ 3
  seq_length ...................................... 2048
  {precision} ............................................ {value}
 iteration 10/ 100 | consumed samples: 160 | elapsed time per iteration (ms): 900.0 | \
global batch size:    24 | lm loss: 7.3E+00 |
 iteration 20/ 100 | consumed samples: 320 | elapsed time per iteration (ms): 900.0 | \
global batch size:    24 | lm loss: 7.2E+00 |
"""


@pytest.mark.parametrize("known", [frozenset(), frozenset({"gpus"})], ids=["nothing", "gpus"])
@pytest.mark.parametrize("name", PROFILES)
def test_parameters_are_what_the_log_states_or_there_is_a_warning(
    name: str, known: frozenset[str], tmp_path: Path
) -> None:
    """Of every bundled profile, by the example lines of what its log states."""
    profile = CATALOG.get(name)
    stated = profile.measure.stated
    log = tmp_path / "run.log"
    log.write_text("\n".join(one.example for one in stated.values()) + "\n", encoding="utf-8")
    blank = recognise(profile, f"{profile.matrix.cases[0]}/m_b1_fp32_1.log")
    case = blank.case if blank is not None else make_case(profile, 1, 8, {})
    measured, parser, found = measure_as_stated(profile, log, case, known)
    for parameter, axis in profile.parameters.items():
        text = parser.stated.get(parameter)
        number = measured.metrics.get(axis.fact)
        if text is not None and found.text(parameter) != text:
            assert any(f"the log says {parameter} " in one for one in measured.warnings)
        if number is not None:
            assert float(found.text(parameter)) == number


def megatron(tmp_path: Path, path: str, precision: str = "bf16") -> tuple[dict[str, object], str]:
    profile = CATALOG.get("megatron-lm")
    log = tmp_path / "x.log"
    log.write_text(
        MEGATRON.format(precision=precision, value="hybrid" if precision == "fp8" else "True"),
        encoding="utf-8",
    )
    recognised = recognise(profile, path)
    assert recognised is not None
    measured, _parser, case = measure_as_stated(profile, log, recognised.case, recognised.told)
    return dict(case.parameters), "\n".join(measured.warnings)


STATED = {
    "micro_batch_size": 3,
    "global_batch_size": 24,
    "tensor_model_parallel_size": 2,
    "pipeline_model_parallel_size": 2,
}


def test_megatrons_names_for_its_parameters_are_known(tmp_path: Path) -> None:
    parameters, warnings = megatron(tmp_path, "2n8g/gpt_b4_bf16_1.log")
    assert parameters == {**STATED, "precision": "bf16"}
    assert warnings == ""


def test_value_that_the_profile_does_not_know_hides_no_other(tmp_path: Path) -> None:
    parameters, warnings = megatron(tmp_path, "2n8g/gpt_b4_bf16_1.log", "fp8")
    assert {name: parameters[name] for name in STATED} == STATED
    assert "the log says precision fp8, the case has bf16" in warnings


def test_log_that_says_something_else_than_its_path_is_warned_of(tmp_path: Path) -> None:
    parameters, warnings = megatron(tmp_path, "2n8g/gpt_bf16_global_batch_size-512_1.log")
    assert parameters["global_batch_size"] == 512
    assert "the log says global_batch_size 24, the case has 512" in warnings
    assert parameters["tensor_model_parallel_size"] == 2


@pytest.mark.parametrize("group", ["", " Group  0"], ids=["old", "new"])
@pytest.mark.parametrize(("ranks", "tag"), [(1, "1n1g"), (4, "1n4g"), (8, "1n8g"), (16, "2n8g")])
def test_list_of_ranks_tells_how_many_devices_there_were(
    ranks: int, tag: str, group: str, tmp_path: Path
) -> None:
    profile = CATALOG.get("nccl-tests")
    lines = [
        f"#  Rank {rank:2}{group} Pid {4711 + rank:6} on      node{rank // 8} device {rank % 8:2} "
        "[0000:5d:00] NVIDIA H100 80GB HBM3"
        for rank in range(ranks)
    ]
    lines.append(
        "  4294967296    1073741824     float     sum      -1    17810  241.15  361.73      0"
        "    17766  241.75  362.62      0"
    )
    log = tmp_path / "x.log"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    measured, _parser, case = measure_as_stated(
        profile, log, make_case(profile, 1, 1, {}), frozenset()
    )
    assert (case.tag, measured.metrics["world_size"]) == (tag, ranks)
