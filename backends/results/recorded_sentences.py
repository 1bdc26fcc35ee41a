"""Sentences of ours that a campaign has recorded in English, in the language of a report."""

from __future__ import annotations

import re

from backends.results.translations import Lang

_SENTENCES = tuple(
    (re.compile(sentence), words)
    for sentence, words in (
        (r"(?P<hosts>.+) are the same machine", "{hosts} 是同一台机器"),
        (r"the hosts of this run differ: (?P<how>.+)", "该运行的各主机不同：{how}"),
        (
            r"load (?P<load>[\d.]+) on (?P<cpus>\d+) CPUs; logged in: (?P<who>.+)",
            "{cpus} 个CPU上的负载为 {load}；已登录：{who}",
        ),
        (r"load (?P<load>[\d.]+) on (?P<cpus>\d+) CPUs", "{cpus} 个CPU上的负载为 {load}"),
        (r"(?P<gpu>GPU\d+) is slowed down: (?P<why>.+)", "{gpu} 被降速：{why}"),
        (r"(?P<gpu>GPU\d+) is hot: (?P<degrees>\d+ °C)", "{gpu} 过热：{degrees}"),
        (
            r"(?P<gpu>GPU\d+) has (?P<n>\d+) uncorrected memory errors since its driver was loaded",
            "{gpu} 自驱动加载以来有 {n} 个不可纠正的显存错误",
        ),
        (r"(?P<gpu>GPU\d+) is partitioned \(MIG\)", "{gpu} 已分区（MIG）"),
        (r"has no GPU", "没有GPU"),
        (r"has different GPUs: (?P<which>.+)", "GPU型号不一：{which}"),
        (r"in use: (?P<who>.+)", "正在使用：{who}"),
        (r"disk space of work_dir is unknown", "work_dir 的磁盘空间未知"),
        (
            r"(?P<free>\d+ MiB) left on the file system of work_dir",
            "work_dir 所在文件系统仅剩 {free}",
        ),
        (r"its clock is (?P<by>[\d.]+ s) ahead of this machine's", "其时钟比本机快 {by}"),
        (r"its clock is (?P<by>[\d.]+ s) behind this machine's", "其时钟比本机慢 {by}"),
        (
            r"how its GPUs are linked is not known: runs get the first ones",
            "GPU的互连方式未知：各运行使用前几块",
        ),
        # of a log that does not give its run's figure
        *(
            (
                rf"{given} by {rule}, and the campaign has (?P<figure>.+)",
                f"{rule_zh}{given_zh}，而本次测试记录的是 {{figure}}",
            )
            for given, given_zh in (
                (r"gives nothing \((?P<why>.+)\)", "未得出数值（{why}）"),
                (r"cannot be measured again \((?P<why>.+)\)", "无法重新测得（{why}）"),
                (r"gives (?P<given>[^ ()]+)", "得出 {given}"),
            )
            for rule, rule_zh in (
                ("its rule", "按其规则"),
                ("the profile's rule of today", "按其profile现在的规则"),
            )
        ),
        (
            r"missing; the campaign has (?P<figure>.+) of (?:it|its run)",
            "已缺失，本次测试记录的是 {figure}",
        ),
        (
            r"the timestamps run backwards by (?P<by>.+ s) at step (?P<step>\S+): a clock was set,"
            r" and the figure is made of it",
            "第 {step} 步处时间戳倒退 {by}：时钟被调过，而数值由其算得",
        ),
        (
            r"the timestamps give (?P<clock>.+), the log's own readings (?P<own>[\d.,]+): a clock"
            r" was set, or much time went by between the readings",
            "时间戳给出 {clock}，日志自身的读数为 {own}：时钟被调过，或读数之间另有大量耗时",
        ),
        (
            r"the log is (?P<other>.+) byte for byte: no measurement of its own",
            "该日志与 {other} 逐字节相同：不是单独的一次测量",
        ),
        (
            r"(?P<n>\d+) of (?P<of>\d+) readings? (?:is|are) more than (?P<far>[\d.]+) times as"
            r" fast as their median, (?:up to )?(?P<times>[\d.,]+) times at (?P<where>.+): no"
            r" training speeds up so; (?:it counts|they count)",
            "{of} 个读数中有 {n} 个的速度超过其中位数的 {far} 倍，最高 {times} 倍（{where}）："
            "训练不会如此加速；仍计入",
        ),
        (
            r"(?P<n>\d+) logs? of its other hosts missing; the campaign has (?P<figure>.+)",
            "其他主机的 {n} 个日志已缺失，本次测试记录的是 {figure}",
        ),
        (
            r"not what it was, and not measured again: no profile (?P<profile>.+)",
            "已被改动，且未重新测得：没有profile {profile}",
        ),
        (r"not measured again: no profile (?P<profile>.+)", "未重新测得：没有profile {profile}"),
    )
)
_DIFFERS = re.compile(r"(?P<what>[^:]+) differs: (?P<groups>.+ on .+)")
_TITLES = {
    "GPU driver": "GPU驱动",
    "GPU model": "GPU型号",
    "number of GPUs": "GPU数量",
    "CPU model": "CPU型号",
    "kernel": "内核",
}
_OF_HOST = re.compile(r"(?P<host>[^\s:]+): (?P<said>.+)")


def translated(text: str, lang: Lang) -> str:
    """As it was recorded where that is no sentence known here; hosts, names and versions stay."""
    if lang == "en":
        return text
    said = _in_chinese(text)
    if said is None and (of := _OF_HOST.fullmatch(text)) is not None:
        own = _in_chinese(of["said"])
        said = None if own is None else f"{of['host']}：{own}"
    return text if said is None else said


def _in_chinese(text: str) -> str | None:
    for sentence, words in _SENTENCES:
        if (found := sentence.fullmatch(text)) is not None:
            return words.format(**found.groupdict())
    if (found := _DIFFERS.fullmatch(text)) is None:
        return None
    groups = found["groups"].replace(" on ", "：").replace(", ", "，")
    return f"{_TITLES.get(found['what'], found['what'])}不同：{groups}"
