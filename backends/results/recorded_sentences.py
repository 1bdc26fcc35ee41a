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
            r" fast as their median, (?:up to )?(?P<times>[\d.,]+) times at (?P<where>.+): (?:no"
            r" training speeds up so|the others may have been disturbed, or the log tells"
            r" (?:this one|these) otherwise); (?:it counts|they count)",
            "{of} 个读数中有 {n} 个的速度超过其中位数的 {far} 倍，最高 {times} 倍（{where}）："
            "其余读数可能受到干扰，或日志对这些读数的记法不同；仍计入",
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
_PRECHECK = re.compile(
    r"precheck of (?P<when>[\d: -]+): "
    r"(?P<verdict>broken|faulty|slow|suspect|not judged|well|not measured)(?:: (?P<why>.+))?"
)
_VERDICTS = {
    "broken": "测量中断",
    "faulty": "有故障",
    "slow": "偏慢",
    "suspect": "可疑",
    "not judged": "未判定",
    "well": "正常",
    "not measured": "未测量",
}
_OF_DEVICE = re.compile(r"(?P<device>GPU\d+(?: → GPU\d+)?): (?P<said>.+)")
_MEASURED = {
    "SHA-256 on one CPU": "单个CPU的SHA-256",
    "SHA-256 on all CPUs": "所有CPU的SHA-256",
    "memory": "内存",
    "disk, written": "磁盘写入",
    "matrix products": "矩阵乘法",
    "sustained matrix products": "持续矩阵乘法",
    "GPU memory": "显存",
    "host to GPU": "主机到GPU",
    "GPU to host": "GPU到主机",
    "SM clock under load": "负载下的SM时钟",
    "GPU to GPU": "GPU到GPU",
    "all-reduce within the host": "主机内all-reduce",
    "all-reduce of two hosts": "两台主机的all-reduce",
    "TCP between two hosts": "两台主机间的TCP",
    "all-reduce of all": "全部主机的all-reduce",
    "TCP while all send": "全部主机同时发送时的TCP",
}
_STAGES = {
    "the host by itself": "主机自身",
    "its GPUs": "其GPU",
    "all-reduce within the host": "主机内all-reduce",
    "two hosts together": "两台主机一起",
    "all hosts together": "全部主机一起",
}
_NOUNS = {"host": "台主机", "GPU": "块GPU", "link": "条链路", "pair": "对主机", "group": "组"}
_REASONS = tuple(
    (re.compile(sentence), words)
    for sentence, words in (
        (
            r"(?P<title>.+) (?P<value>[\d.,]+ \S+), (?P<loss>[\d.]+%) below the median of"
            r" (?P<of>\d+) (?P<noun>host|GPU|link|pair|group)s? \((?P<usual>.+)\)",
            "{title} {value}，比 {of} {noun}的中位数（{usual}）低 {loss}",
        ),
        (
            r"(?P<title>.+) (?P<value>[\d.,]+ \S+), (?P<loss>[\d.]+%) below its own median of"
            r" (?P<of>\d+) earlier prechecks \((?P<usual>.+)\)",
            "{title} {value}，比自身此前 {of} 次precheck的中位数（{usual}）低 {loss}",
        ),
        (
            r"(?P<loss>[\d.]+%) slower than the median of (?P<of>\d+) hosts in real runs",
            "在实际运行中比 {of} 台主机的中位数慢 {loss}",
        ),
        (r"(?P<kinds>.+) in (?P<of>\d+) real runs", "{of} 次实际运行中有 {kinds}"),
        (r"(?P<n>\d+) wrong results(?P<more>: .+)?", "{n} 个错误结果{more}"),
        (
            r"(?P<n>\d+) uncorrected memory errors since the driver was loaded(?P<more>: .+)?",
            "自驱动加载以来有 {n} 个不可纠正的显存错误{more}",
        ),
        (
            r"memory rows could not be replaced, or wait for a reset(?P<more>: .+)?",
            "显存行无法替换或等待重置{more}",
        ),
        (r"slowed down: (?P<why>.+)", "被降速：{why}"),
        (r"slowed by (?P<why>.+)", "降速原因：{why}"),
        (rf"(?P<stage>{'|'.join(_STAGES)}): (?P<why>.+)", "{stage}：{why}"),
        (r"busy when it was measured: (?P<load>.+)", "测量时繁忙：{load}"),
        (
            r"one machine with (?P<hosts>.+): they share what is measured",
            "与 {hosts} 是同一台机器：共用所测的资源",
        ),
    )
)
_KNOWN = {"title": _MEASURED, "stage": _STAGES, "noun": _NOUNS}
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
    if (found := _PRECHECK.fullmatch(text)) is not None:
        why = [_reason(one) for one in (found["why"] or "").split("; ") if one]
        told = "：".join([_VERDICTS[found["verdict"]], *["；".join(why)] * bool(why)])
        return f"{found['when']} 的precheck：{told}"
    if (found := _DIFFERS.fullmatch(text)) is None:
        return None
    groups = found["groups"].replace(" on ", "：").replace(", ", "，")
    return f"{_TITLES.get(found['what'], found['what'])}不同：{groups}"


def _reason(text: str) -> str:
    """Of what a precheck says of a host; as it is where it is none of ours, such as of a log."""
    if (of := _OF_DEVICE.fullmatch(text)) is not None:
        return f"{of['device']}：{_reason(of['said'])}"
    for sentence, words in _REASONS:
        if (found := sentence.fullmatch(text)) is not None:
            parts = {key: value or "" for key, value in found.groupdict().items()}
            named = {key: _KNOWN[key].get(parts[key], parts[key]) for key in _KNOWN.keys() & parts}
            more = parts.get("more", "").replace(": ", "：", 1)
            load = translated(parts.get("load", ""), "zh")
            return words.format(**parts | named | {"more": more, "load": load})
    return text
