"""What of the published figures a result may be held against."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.gpu_models import GPU_MODELS, gpu_model
from profiles.references.arithmetic import Arithmetic, arithmetic, on_gpu, same
from profiles.references.matching import (
    MOST_EQUAL,
    MOST_NEAR,
    Difference,
    Subject,
    held_against,
)
from profiles.references.reference_tables import (
    Measured,
    Reference,
    bundled_references,
)

ROOT = Path(__file__).parents[3]
WORKLOADS = ("ResNet50 V1.5", "resnet50-v1.5", "BERT base")
# Few of each, so that equal ones meet.
STATED = st.sampled_from(["fp32", "tf32", "fp16-mixed", "bf16-mixed", "unstated"]).map(Arithmetic)
GPUS = ("Tesla V100-SXM2-16GB", "NVIDIA H200", "NVIDIA H200 NVL")
values = st.floats(1e-3, 1e7)
references = st.builds(
    Reference,
    workload=st.sampled_from(WORKLOADS),
    metric=st.just(Measured.THROUGHPUT),
    value=values,
    unit=st.sampled_from(["images/s", "sequences/s"]),
    precision=STATED,
    system=st.sampled_from("AB"),
    gpu=st.sampled_from([model for model in GPU_MODELS if model.name in GPUS]),
    gpus=st.sampled_from([1, 2, 8]),
    nodes=st.just(1),
    batch_size=st.sampled_from([None, 128, 256]),
    framework=st.sampled_from(["PyTorch 2", "OneFlow"]),
    source=st.sampled_from(["a report", "another"]),
    date=st.sampled_from(["", "2020", "2020-08", "2024-06-12"]),
    caveat=st.sampled_from(["", "x"]),
)
subjects = st.builds(
    Subject,
    workload=st.sampled_from(WORKLOADS),
    stated=STATED | st.just(Arithmetic.SINGLE),
    gpu=st.sampled_from(["", "V100", "H200", *GPUS]),
    gpus=st.sampled_from([1, 2, 8]),
    figures=st.builds(
        lambda value, unit: {Measured.THROUGHPUT: (value, unit)},
        values,
        st.sampled_from(["images/s", "img/sec", "samples/s"]),
    ),
    framework=st.sampled_from(["PyTorch", "OneFlow"]),
    batch_size=st.sampled_from([None, 128]),
)


def a_match(**fields: object) -> tuple[Subject, Reference]:
    reference = next(one for one in bundled_references() if one.value == 2942.321)
    subject = Subject(
        "resnet50 v1.5",
        Arithmetic.SINGLE,
        "V100-SXM2-16GB",
        8,
        {Measured.THROUGHPUT: (2876.4, "img/s")},
    )
    return replace(subject, **fields), reference  # type: ignore[arg-type]  # a field each


# Matching


@given(subjects, st.lists(references, max_size=30))
def test_no_percentage_where_one_of_the_four_differs(subject: Subject, rows: list[Reference]):
    for held in held_against(subject, rows):
        there = held.reference
        model = gpu_model(subject.gpu)
        equal = (
            there.workload.replace("-", " ").casefold()
            == subject.workload.replace("-", " ").casefold()
            and model is not None
            and model == there.gpu
            and there.precision is not Arithmetic.UNSTATED
            and there.precision is on_gpu(subject.stated, has_tf32=model.has_tf32)
            and there.gpus == subject.gpus
            and there.unit == subject.figures[Measured.THROUGHPUT][1].replace("img/sec", "images/s")
        )
        assert held.comparable == equal
        assert (held.ratio is None) == bool(held.differs) == (not equal)
        if held.ratio is not None:
            assert held.ratio == subject.figures[there.metric][0] / there.value


@given(subjects, st.lists(references, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_makes_no_difference(
    subject: Subject, rows: list[Reference], random: Random
):
    shuffled = random.sample(rows, len(rows))
    assert held_against(subject, rows) == held_against(subject, shuffled)


@given(subjects, st.lists(references, max_size=60))
def test_few_are_listed_the_comparable_first_and_the_nearest_of_the_others(
    subject: Subject, rows: list[Reference]
):
    found = held_against(subject, rows)
    kinds = [held.comparable for held in found]
    assert kinds == sorted(kinds, reverse=True)
    assert kinds.count(True) <= MOST_EQUAL
    assert kinds.count(False) <= MOST_NEAR
    far = [len(held.differs) for held in found]
    assert far == sorted(far)


@given(references, values)
def test_of_what_is_equal_in_all_four_the_ratio_is_the_result_over_the_published(
    there: Reference, value: float
):
    figures = {Measured.THROUGHPUT: (value, there.unit)}
    subject = Subject(there.workload, there.precision, there.gpu.name, there.gpus, figures)
    (held,) = held_against(subject, [there])
    if there.precision is Arithmetic.UNSTATED:
        assert held.differs == (Difference.PRECISION,)
    else:
        assert held.differs == ()
        assert held.ratio == value / there.value


@pytest.mark.parametrize(
    ("fields", "differs"),
    [
        ({"stated": Arithmetic.FP16_MIXED}, Difference.PRECISION),
        ({"stated": Arithmetic.UNSTATED}, Difference.PRECISION),
        ({"stated": Arithmetic.TF32}, Difference.PRECISION),
        ({"gpu": "Tesla V100-SXM2-32GB"}, Difference.GPU),
        ({"gpu": "Tesla V100-PCIE-16GB"}, Difference.GPU),
        ({"gpus": 16}, Difference.GPUS),
        ({"figures": {Measured.THROUGHPUT: (1.0, "samples/s")}}, Difference.UNIT),
    ],
)
def test_what_is_not_equal_is_named(fields: dict[str, object], differs: Difference):
    subject, reference = a_match(**fields)
    (held,) = held_against(subject, [reference])
    assert held.differs == (differs,)
    assert held.ratio is None


@pytest.mark.parametrize("gpu", ["", "Tesla V100", "Tesla V100-SXM2-16GB + Tesla T4", "Xeon"])
def test_a_gpu_that_is_not_known_is_equal_to_none(gpu: str):
    subject, reference = a_match(gpu=gpu)
    (held,) = held_against(subject, [reference])
    assert Difference.GPU in held.differs


def test_another_workload_is_no_near_miss_and_another_quantity_neither():
    subject, reference = a_match(workload="ResNet50 V1.5, image_size=32")
    assert held_against(subject, [reference]) == ()
    subject, reference = a_match(figures={Measured.TIME_TO_TRAIN: (13.0, "min")})
    assert held_against(subject, [reference]) == ()


def test_bfloat16_is_not_float16_and_what_is_unstated_is_not_even_itself():
    assert not same(arithmetic("bf16-mixed"), arithmetic("fp16-mixed"))
    assert not same(arithmetic("bf16"), arithmetic("bf16-mixed"))
    for text in ("", "unstated", "fp4-of-tomorrow", "fp32-or-tf32"):
        assert not same(arithmetic(text), arithmetic(text))


@pytest.mark.parametrize(
    ("gpu", "is_"),
    [("Tesla V100-SXM2-16GB", "fp32"), ("NVIDIA H200", "tf32"), ("NVIDIA H300", "unstated")],
)
def test_single_precision_of_a_framework_is_tf32_where_the_gpu_has_it(gpu: str, is_: str):
    subject, _ = a_match(gpu=gpu)
    assert str(subject.precision) == is_


# GPU models


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tesla V100-SXM2-16GB", "V100-SXM2-16GB"),
        ("A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB"),
        ("NVIDIA H100-SXM5-80GB", "NVIDIA H100 80GB HBM3"),
        ("nvidia h200", "NVIDIA H200"),
    ],
)
def test_names_of_the_same_gpu(one: str, other: str):
    model = gpu_model(one)
    assert model is not None
    assert model == gpu_model(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe"),
        ("NVIDIA H200", "NVIDIA H200 NVL"),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe"),
    ],
)
def test_names_of_different_gpus(one: str, other: str):
    first, second = gpu_model(one), gpu_model(other)
    assert first is not None
    assert second is not None
    assert first != second


def test_no_name_stands_for_two_models():
    names = [name for model in GPU_MODELS for name in (model.name, *model.aliases)]
    assert [gpu_model(name) for name in names] == [
        model for model in GPU_MODELS for _ in (model.name, *model.aliases)
    ]
