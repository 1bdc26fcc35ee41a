"""A figure of another model's log does not stand under the profile's name without a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.throughput.other_model import other_model
from tests.unit.profiles.builders import HEAD, measure, profile, readings

LINES = {
    "ResNet50 V1.5": "python train.py --arch resnet50",
    "BERT base pre-training": "loading ./bert_base/bert_config.json",
    "Mask R-CNN": "model: MaskRCNN",
    "DeepLabV3+": "type='DeepLabV3Plus'",
    "HRNetW18": "pretrained='open-mmlab://msra/hrnetv2_w18'",
}
NOTHING = "epoch 1, loss 3.2\nlist of devices: 8\n"


@given(
    model=st.sampled_from([*LINES, "any", "nccl-tests", "LLM"]),
    named=st.sets(st.sampled_from(sorted(LINES))),
)
def test_a_log_is_doubted_where_it_names_other_models_alone(model: str, named: set[str]) -> None:
    log = NOTHING + "\n".join(LINES[name] for name in named)
    said = other_model(model, log.encode())
    assert bool(said) is (model in LINES and bool(named) and model not in named)
    if said:
        assert model in said


@pytest.mark.parametrize("model", ["M", "Mask R-CNN"])
def test_the_figure_stays_and_has_a_warning(model: str) -> None:
    of = profile(head=HEAD.replace('model = "M"', f'model = "{model}"'))
    found = measure(of, "+ python resnet50.py\n" + readings(100.0, 101.0, 102.0))
    assert found.throughput
    told = [text for text in found.warnings if "nowhere the profile's Mask R-CNN" in text]
    assert bool(told) is (model == "Mask R-CNN")


def test_what_megatron_lists_of_a_gpt_is_no_bert() -> None:
    assert other_model("GPT", b"  bert_binary_head ........ True\n  bert_load ......... None") == ""
