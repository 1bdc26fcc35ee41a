"""A profile's pattern may fit the log of another model: its figure would have a wrong name.

A log that names the profile's own model may name others too: Mask R-CNN has a ResNet50 in it.
"""

from __future__ import annotations

import re

_FAMILIES = {
    name: re.compile(pattern, re.IGNORECASE | re.ASCII)
    for name, pattern in {
        "ResNet50": r"resnet[-_ ]?(?:v1[._]5[-_ ]?)?50|resnet_v15|\brn50",
        # Of these options Megatron-LM lists the values for a GPT, too.
        "BERT": r"bert(?!_(?:binary|embedder|load|num|no))",
        "Mask R-CNN": r"mask[-_ ]?r-?cnn",
        "DeepLabV3": r"deeplab",
        "HRNet": r"hrnet",
        "Transformer": r"transformer",
        "GPT": r"gpt|llama|gemma|qwen|mixtral",
    }.items()
}
_BUILDING_BLOCKS = frozenset({"Transformer"})
"""Words that logs of other models have, too."""


def other_model(profile_model: str, log: str) -> str:
    """``the log names BERT, and nowhere the profile's ResNet50 V1.5: …``; empty where it may be the
    profile's model. ``log``: what of it is looked at."""
    own = [name for name, words in _FAMILIES.items() if words.search(profile_model)]
    if not own or any(_FAMILIES[name].search(log) for name in own):
        return ""
    named = [
        name
        for name, words in _FAMILIES.items()
        if name not in _BUILDING_BLOCKS and words.search(log)
    ]
    if not named:
        return ""
    return (
        f"the log names {' and '.join(named)}, and nowhere the profile's {profile_model}: "
        "is it the right profile?"
    )
