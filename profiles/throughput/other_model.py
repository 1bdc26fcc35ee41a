"""A profile's pattern may fit the log of another model: its figure would have a wrong name.

A log that names the profile's own model may name others too: Mask R-CNN has a ResNet50 in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_FAMILIES: Mapping[str, tuple[bytes, bytes]] = {
    "ResNet50": (b"resnet rn50", rb"resnet[-_ ]?(?:v1[._]5[-_ ]?)?50|resnet_v15|\brn50"),
    # Of these options Megatron-LM lists the values for a GPT, too.
    "BERT": (b"bert", rb"bert(?!_(?:binary|embedder|load|num|no))"),
    "Mask R-CNN": (b"mask", rb"mask[-_ ]?r-?cnn"),
    "DeepLabV3": (b"deeplab", b""),
    "HRNet": (b"hrnet", b""),
    "Transformer": (b"transformer", b""),
    "GPT": (b"gpt llama gemma qwen mixtral", b""),
}
"""In lower case the words of which a text that names one has one, found ten times as fast as a
pattern; and the pattern, where they do not do by themselves."""
_BUILDING_BLOCKS = frozenset({"Transformer"})
"""Words that logs of other models have, too."""


def other_model(profile_model: str, log: bytes) -> str:
    """``the log names BERT, and nowhere the profile's ResNet50 V1.5: …``; empty where it may be the
    profile's model. ``log``: what of it is looked at."""
    log = log.lower()
    own = [name for name in _FAMILIES if _names(profile_model.lower().encode(), name)]
    if not own or any(_names(log, name) for name in own):
        return ""
    named = [name for name in _FAMILIES if name not in _BUILDING_BLOCKS and _names(log, name)]
    if not named:
        return ""
    return (
        f"the log names {' and '.join(named)}, and nowhere the profile's {profile_model}: "
        "is it the right profile?"
    )


def _names(text: bytes, family: str) -> bool:
    words, pattern = _FAMILIES[family]
    return any(word in text for word in words.split()) and bool(re.search(pattern, text))
