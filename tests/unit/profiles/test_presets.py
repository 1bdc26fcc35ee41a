from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from profiles.format.case import GLOBAL_BATCH
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.format.presets import OWN, Preset, presets, published
from profiles.format.workload_section import WorkloadVariant, workload_of
from profiles.references.arithmetic import on_gpu, same
from profiles.references.reference_tables import bundled_references

CATALOG = Catalog.load((), None)


def names(found: Iterable[Preset]) -> list[str]:
    return [preset.name for preset in found]


def test_the_report_of_oneflow_is_its_twelve_cases() -> None:
    found = presets(CATALOG.get("oneflow-resnet50"), bundled_references())
    assert names(found) == [OWN, "DLPerf, OneFlow 0.1.8", "DLPerf, OneFlow 0.1.9"]
    labels = [case.label for case in found[1].cases]
    tags = ("1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g")
    assert labels == [f"{tag} b{size} fp32" for size in (128, 160) for tag in tags]
    assert found[1].left == 0


@pytest.mark.parametrize("name", CATALOG.names)
def test_every_case_of_a_preset_gives_a_published_figure_of_its_framework(name: str) -> None:
    profile = CATALOG.get(name)
    settings = {key: setting.default or "" for key, setting in profile.settings.items()}
    own, *tables = presets(profile, bundled_references())
    assert own.cases
    for preset in tables:
        for case in preset.cases:
            kind = workload_of(profile.workload, case, settings).arithmetic
            assert any(
                preset.name == f"{row.system}, {row.framework}"
                and (row.gpus, row.nodes, row.batch_size)
                == (case.gpus, case.nodes, case.batch_size)
                and same(on_gpu(kind, has_tf32=row.gpu.has_tf32), row.precision)
                for row in bundled_references()
            ), case.label


def test_figures_that_the_profile_cannot_give_are_counted_and_other_frameworks_are_not_taken() -> (
    None
):
    profile = CATALOG.get("ngc-tensorflow-resnet50")
    rows = [
        row
        for row in bundled_references()
        if row.system == "PaddlePaddle/Perf" and row.framework == "NGC TensorFlow 20.12"
    ]
    odd = replace(rows[0], batch_size=7)
    others = [replace(row, framework="NGC TensorFlow2 20.12") for row in rows]
    found = presets(profile, [*rows, odd, *others])
    assert names(found) == [OWN, "PaddlePaddle/Perf, NGC TensorFlow 20.12"]
    assert (len(found[1].cases), found[1].left) == (len(rows), 1)


def test_a_table_that_is_the_profiles_own_cases_is_offered_once_under_its_name() -> None:
    profile = CATALOG.get("oneflow-resnet50")
    rows = [
        r for r in bundled_references() if r.framework == "OneFlow 0.1.8" and r.batch_size == 128
    ]
    assert names(presets(profile, rows)) == ["DLPerf, OneFlow 0.1.8"]


def test_a_case_that_a_variant_of_the_workload_cannot_judge_has_no_published_figure() -> None:
    profile = CATALOG.get("oneflow-resnet50")
    assert profile.workload is not None
    variant = WorkloadVariant(when="batch_size > 64", name="X")
    changed = profile.model_copy(
        update={"workload": profile.workload.model_copy(update={"variant": (variant,)})}
    )
    (case,) = expand(changed, ["1n1g"], {"batch_size": ("160",), "precision": ("fp32",)})
    assert published(profile, case, {}, bundled_references())
    no_batch = {name: value for name, value in case.parameters.items() if name != "batch_size"}
    unshared = replace(case, parameters={**no_batch, GLOBAL_BATCH: 7})
    assert published(changed, unshared, {}, bundled_references()) == ()
    by_other = variant.model_copy(update={"when": "nothing_known > 1"})
    unknown = changed.model_copy(
        update={"workload": changed.workload.model_copy(update={"variant": (by_other,)})}
    )
    assert names(presets(unknown, bundled_references())) == [OWN]
