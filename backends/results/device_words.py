"""What tables call the devices: GPUs, as the reports of old do, unless none of them was one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backends.results.summary import Group, on_cpus
from backends.results.translations import EN, ZH, Lang, Words, pick, words

_EN = replace(
    EN,
    gpus_per_node="devices/node",
    gpus="device num",
    batch="bsz/device",
    memory="memory (MiB)",
    oneflow_gpus_per_node="devices/node",
    oneflow_memory="Memory Usage",
    cards="devices",
    card_rows=("{gpus} device", "{gpus} devices"),
    compare_gpus="device num",
)
_ZH = replace(
    ZH,
    gpus_per_node="每节点设备数",
    gpus="设备数",
    batch="单设备batch size",
    memory="内存(MiB)",
    oneflow_gpus_per_node="每节点设备数",
    oneflow_memory="内存占用",
    oneflow_title="分组：单设备batch size = {batch}",
    cards="设备数",
    card_rows=("{gpus}个设备", "{gpus}个设备"),
    compare_gpus="设备数",
)


def words_of(groups: Sequence[Group], lang: Lang) -> Words:
    """The words for a table of these groups."""
    if not on_cpus(groups):
        return words(lang)
    return _ZH if lang == "zh" else _EN


def devices_text(groups: Sequence[Group], lang: Lang = "en") -> str:
    """``GPUs``, or ``devices``; ``GPU``, or ``设备``"""
    return pick(lang, "devices", "设备") if on_cpus(groups) else pick(lang, "GPUs", "GPU")


def devices_heading(groups: Sequence[Group], lang: Lang) -> str:
    """What stands over, or beside, their number."""
    text = devices_text(groups, lang)
    return pick(lang, text, f"{text}数")
