"""What tables call the devices: GPUs, as the reports of old do, unless some are not."""

from __future__ import annotations

from collections.abc import Sequence

from backends.results.summary import Group, on_cpus
from backends.results.translations import Both, Lang, Words, pick


class _DeviceWords(Words):
    gpus_per_node = Both("devices/node", "每节点设备数")
    gpus = Both("device num", "设备数")
    batch = Both("bsz/device", "单设备batch size")
    memory = Both("memory (MiB)", "内存(MiB)")
    stated_memory = Both("stated memory (MiB)", "日志所述内存(MiB)")
    oneflow_gpus_per_node = Both("devices/node", "每节点设备数")
    oneflow_memory = Both("Memory Usage", "内存占用")
    oneflow_title = Both(
        "Group: batch size per device = {batch}", "分组：单设备batch size = {batch}"
    )
    cards = Both("devices", "设备数")
    card_rows = Both(("{gpus} device", "{gpus} devices"), ("{gpus}个设备", "{gpus}个设备"))
    compare_gpus = Both("device num", "设备数")


def words_of(groups: Sequence[Group], lang: Lang) -> Words:
    """The words for a table of these groups."""
    return _DeviceWords(lang) if on_cpus(groups) else Words(lang)


def devices_text(groups: Sequence[Group], lang: Lang = "en") -> str:
    """``GPUs``, or ``devices``; ``GPU``, or ``设备``"""
    return pick(lang, "devices", "设备") if on_cpus(groups) else pick(lang, "GPUs", "GPU")


def devices_heading(groups: Sequence[Group], lang: Lang) -> str:
    """What stands over, or beside, their number."""
    text = devices_text(groups, lang)
    return pick(lang, text, f"{text}数")


def memory_name(*, stated: bool, on_cpus: bool = False) -> str:
    """``GPU memory`` in use on the devices, or as a log or a report has ``stated`` it."""
    return f"{'stated ' * stated}{'memory' if on_cpus else 'GPU memory'}"
