"""Paths of existing logs tell case and repeat."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiles.format.catalog import Catalog
from profiles.logs.log_paths import recognise
from tests.unit.profiles.builders import HEAD, READING, profile

CATALOG = Catalog.load()


def test_dlperfs_tree_needs_no_declaration() -> None:
    found = recognise(profile(), Path("logs/oneflow/resnet50/4n8g/r50_b128_fp32_3.log"))
    assert found is not None
    assert found.case.key == "sample/4n8g/batch_size=128,precision=fp32"
    assert found.repeat == 3


@pytest.mark.parametrize(
    "path",
    [
        "logs/4n8g/r50_b128_int8_1.log",  # no such precision
        "logs/4n8g/readme.md",
        "logs/0n8g/r50_b128_fp32_1.log",
        "r50_b128_fp32_1.log",  # no case
    ],
)
def test_other_paths_are_not_recognised(path: str) -> None:
    assert recognise(profile(), path) is None


@pytest.mark.parametrize(
    ("name", "path", "tag", "batch", "precision"),
    [
        ("ngc-tensorflow-resnet50", "V100_LOG/tf_gpu8_amp_bs256.txt", "1n8g", 256, "amp"),
        ("ngc-tensorflow-resnet50", "tf_gpu32_fp32_bs256.txt", "4n8g", 256, "fp32"),
        ("ngc-tensorflow2-maskrcnn", "tf_gpu1_fp32_bs4.txt", "1n1g", 4, "fp32"),
        ("paddleclas-resnet50", "PaddleClas_ResNet50_bs256_pure_fp16_DP_N1C8_log", "1n8g", 256,
         "pure_fp16"),
        ("paddleclas-resnet50", "paddle_gpu32_fp32_bs256.txt", "4n8g", 256, "fp32"),
        ("paddleseg-deeplabv3p", "Deeplabv3_FP32_BS4-N32.log", "4n8g", 4, "fp32"),
        ("paddleseg-hrnet", "Hrnet_FP16_BS8-N8.log", "1n8g", 8, "fp16"),
        ("mmseg-deeplabv3p", "deeplabv3p_c32_fp32.log", "4n8g", 4, "fp32"),
        ("mmseg-hrnet", "hrnet_torch_bs8_fp16_gpu8", "1n8g", 8, "fp16"),
        ("paddlenlp-bert", "PaddleNLP_bert_base_seqlen128_bs96_fp16_DP_N1C1_log", "1n1g", 96,
         "fp16"),
        ("ngc-pytorch-bert",
         "bert_base_lamb_pretraining.pyt_bert_pretraining_phase1_fp16_bs96_gpu1.log",
         "1n1g", 96, "fp16"),
        ("oneflow-resnet50", "logs/4n8g/rn50_b160_fp32_7.log", "4n8g", 160, "fp32"),
    ],
)  # fmt: skip
def test_flat_names_of_published_logs(
    name: str, path: str, tag: str, batch: int, precision: str
) -> None:
    found = recognise(CATALOG.get(name), path)
    assert found is not None
    assert (found.case.tag, found.case.batch_size, found.case.precision) == (tag, batch, precision)


OWN = (
    READING
    + r"""
[import]
paths = ['x_n(?P<nodes>\d+)_t(?P<gpus>\d+)_(?P<precision>\w+?)(?:_r(?P<repeat>\d+))?\.log$']
values.precision = { half = "amp" }
gpus_per_node = 4
"""
)


@pytest.mark.parametrize(
    ("path", "tag", "repeat"),
    [("x_n2_t8_half_r4.log", "2n4g", 4), ("x_n1_t3_fp32.log", "1n3g", None)],
)
def test_a_profile_declares_its_own_names(path: str, tag: str, repeat: int | None) -> None:
    found = recognise(profile(OWN, HEAD), path)
    assert found is not None
    assert (found.case.tag, found.repeat) == (tag, repeat)


def test_a_total_is_spread_over_nodes_of_known_size() -> None:
    it = profile(OWN.replace(r"n(?P<nodes>\d+)_", "n_"), HEAD)
    assert [
        found.case.tag
        for total in (2, 4, 16)
        if (found := recognise(it, f"x_n_t{total}_fp32.log")) is not None
    ] == ["1n2g", "1n4g", "4n4g"]
    assert recognise(it, "x_n_t6_fp32.log") is not None  # two nodes with three each
    assert recognise(it, "x_n_t7_fp32.log") is None
