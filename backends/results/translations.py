"""What the tables and reports say, in English and Chinese.

The Chinese headings are those of the reports that the layouts reproduce.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Lang = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class Words:
    """Every heading, caption and section title; ``{…}`` are filled with ``str.format``."""

    # columns of the speedup layout
    nodes: str
    gpus_per_node: str
    gpus: str
    batch: str
    memory: str
    throughput: str
    speedup: str
    speedup_interval: str
    efficiency: str
    efficiency_interval: str
    cv: str
    count: str
    # the same in the style of OneFlow's own report
    oneflow_gpus_per_node: str
    oneflow_memory: str
    oneflow_throughput: str
    oneflow_speedup: str
    oneflow_title: str
    # pivot, compare, airank
    cards: str
    card_rows: tuple[str, str]  # one GPU, several
    log_link: str
    compare_gpus: str
    time_to_train: str
    airank_throughput: str
    accuracy: str
    # the table of statistics, the comparison of two campaigns
    case: str
    median: str
    mean: str
    minimum: str
    maximum: str
    interval: str
    ratio_interval: str
    flags: str
    flags_heading: str
    baseline: str
    candidate: str
    ratio: str
    verdict: str
    reason: str
    profile: str
    parameters: str
    verdicts: dict[str, str]
    grounds: dict[str, str]
    needed: str
    hopeless: str
    by_medians: str
    environments_differ: str
    among: str
    decisive: str
    by_chance: str
    nothing_decisive: str
    no_longer: str
    # captions and marks
    centers: dict[str, str]
    caption: str
    caption_base: str
    caption_strong: str
    no_base: str
    simulated: str
    mark_amber: str
    mark_red: str
    mark_welch: str
    mark_environment: str
    # the report
    gap: str  # between sentences
    environment: str
    host_line: str
    topology: str
    what_was_run: str
    commands: str
    window: str
    results: str
    statistics: str
    explained: str
    explain_how: str
    profiled: str
    stopped: dict[str, str]
    stopped_line: str
    held: str
    held_at: str
    held_time: str
    held_not: str
    held_batch: str
    held_gpus: str
    held_gpu: str
    held_unit: str
    held_precision: str
    held_precisions_unknown: str
    held_no_precision: str
    held_which: str
    held_unknown: str
    held_between: str
    held_source: str
    failed_runs: str
    failed_line: str
    retried: str
    evidence: str
    slow_ranks: str
    no_failed_runs: str
    no_flags: str
    nothing_graded: str
    grade: str
    grade_a: str
    worst_grade: str
    logs: str
    no_environment: str
    no_results: str
    generated: str
    imported: str
    partial: str


EN = Words(
    nodes="node num",
    gpus_per_node="gpus/node",
    gpus="gpu num",
    batch="bsz/gpu",
    memory="GPU memory (MiB)",
    throughput="throughput",
    speedup="speedup",
    speedup_interval="95% of speedup",
    efficiency="efficiency",
    efficiency_interval="95% of efficiency",
    cv="CV",
    count="n",
    oneflow_gpus_per_node="gpus/nodes",
    oneflow_memory="GPU Memory Usage",
    oneflow_throughput="Throughput",
    oneflow_speedup="Speedup",
    oneflow_title="Group: batch size per device = {batch}",
    cards="GPUs",
    card_rows=("{gpus} GPU", "{gpus} GPUs"),
    log_link="{gpus} {column} log",
    compare_gpus="GPU num",
    time_to_train="Time2train(sec)",
    airank_throughput="throughput({unit})",
    accuracy="accuracy(%)",
    case="case",
    median="median",
    mean="mean",
    minimum="min",
    maximum="max",
    interval="95% interval of the median",
    ratio_interval="95% interval",
    flags="flags",
    flags_heading="Flags and warnings",
    baseline="baseline",
    candidate="candidate",
    ratio="ratio",
    verdict="verdict",
    reason="why",
    profile="profile",
    parameters="parameters",
    verdicts={
        "regression": "regression",
        "improvement": "improvement",
        "same": "same",
        "inconclusive": "inconclusive",
        "insufficient": "insufficient",
    },
    grounds={
        "beyond": "the means differ by {change}, 95% {low} to {high}",
        "within": "the means differ by {change}, 95% {low} to {high}, all within {threshold}",
        "noise": "the means differ by {change}, but by 95% {low} to {high}: it may be noise",
        "unproven": "the means differ by {change}, 95% {low} to {high}: it may be {threshold}",
        "too_few": "{n}, a verdict takes three",
        "not_in_baseline": "not in the baseline",
        "not_in_candidate": "not in the candidate",
        "baseline_failed": "no successful run in the baseline",
        "candidate_failed": "no successful run in the candidate",
    },
    needed="; about {n} repeats on either side would decide",
    hopeless="; too close to the threshold for more repeats to decide",
    by_medians="; the interval of the ratio of medians ({low} to {high}) would say: {verdict}",
    environments_differ=(
        "The environments differ, so that more than the change under test may show. "
        "Baseline: {baseline}. Candidate: {candidate}."
    ),
    among=" among all {n} cases (Holm)",
    decisive="Slower{among}, so that the exit code is 1: {cases}.",
    by_chance=(
        "A regression by itself, but among {n} cases one may look so by chance (Holm), and the "
        "exit code does not rest on it: {cases}."
    ),
    nothing_decisive="No case is slower beyond what chance does{among}.",
    no_longer="Succeeded in the baseline and never in the candidate; the exit code is 1: {cases}.",
    centers={"median": "median", "mean": "mean"},
    caption="Throughput in {unit}: {center} of the successful repeats.",
    caption_base="Speedup relative to {base}.",
    caption_strong="Strong scaling, global batch {total}: speedup relative to {base}.",
    no_base="No speedups: the base {base} has no successful run.",
    simulated="SIMULATED: these figures come from the simulated cluster, no GPU was measured.",
    mark_amber="! CV above 2%",
    mark_red="!! CV above 5%",
    mark_welch="w: Welch's interval, of the ratio of geometric means; medians take six repeats",
    mark_environment="† measured in another environment than {base}, or in several",
    gap=" ",
    environment="Environment",
    host_line="{count} × {names}",
    topology="GPU topology (`nvidia-smi topo -m`) of {hosts}",
    what_was_run="What was run",
    commands="Commands of {case}",
    window="Window: {window}. Statistic: {statistic}.",
    results="Results",
    statistics="Statistics over the repeats",
    explained="Scaling, and what it is lost to",
    profiled="profiled",
    explain_how="`run … --explain` tells apart what is unexplained, of profiles with `[explain]`.",
    stopped={
        "reached": "the interval is as narrow as asked",
        "plateau": "the interval no longer narrows: what scatters the repeats does not average out",
        "max_repeats": "no more repeats were allowed",
        "budget": "the budget of GPU time was spent",
        "failing": "its last repeats all failed",
        "cancelled": "a repeat was cancelled",
    },
    stopped_line="{case}: {n} repeats{width}; {why}",
    held="Held against published figures",
    held_at="{percent} of {figure} ({how})",
    held_time="{percent} of the time of {figure} ({how})",
    held_not="not comparable: {figure}: {differs}",
    held_batch="batch {batch} per GPU",
    held_gpus="GPUs {here}, there {there}",
    held_gpu="GPU {here}, there {there}",
    held_unit="unit {here}, there {there}",
    held_precision="precision {here}, there {there}",
    held_precisions_unknown="the precision of neither is known",
    held_no_precision="its profile has no precision",
    held_which="{called} (arithmetic not known)",
    held_unknown="not known",
    held_between="; ",
    held_source="source",
    failed_runs="Failed runs",
    failed_line="{case}: {succeeded} of {repeats} repeats succeeded",
    retried="retried after: {reason}",
    evidence="as the hosts told it",
    slow_ranks="Ranks that the others waited for",
    no_failed_runs="None.",
    no_flags="Nothing to distrust was found.",
    nothing_graded="Nothing has been measured yet.",
    grade="grade",
    grade_a="Grade A: nothing to distrust was found.",
    worst_grade="Grade {grade}, the worst of {counts}.",
    logs="Raw logs",
    no_environment="Nothing is recorded about the environment.",
    no_results="No run has ended yet.",
    generated="Written by dlperf-tui {version}.",
    imported="Imported: these runs were not executed by this campaign.",
    partial="Not ended yet: {left} of the planned runs.",
)

ZH = Words(
    nodes="节点数",
    gpus_per_node="每节点GPU数",
    gpus="GPU数",
    batch="单卡batch size",
    memory="显存(MiB)",
    throughput="吞吐",
    speedup="加速比",
    speedup_interval="加速比95%区间",
    efficiency="扩展效率",
    efficiency_interval="扩展效率95%区间",
    cv="变异系数",
    count="n",
    oneflow_gpus_per_node="每节点GPU数",
    oneflow_memory="显存占用",
    oneflow_throughput="吞吐",
    oneflow_speedup="加速比",
    oneflow_title="分组：单卡batch size = {batch}",
    cards="卡数",
    card_rows=("{gpus}卡", "{gpus}卡"),
    log_link="{gpus} {column} 日志",
    compare_gpus="GPU数",
    time_to_train="Time2train(sec)",
    airank_throughput="吞吐({unit})",
    accuracy="准确率(%)",
    case="配置",
    median="中位数",
    mean="平均值",
    minimum="最小值",
    maximum="最大值",
    interval="中位数95%置信区间",
    ratio_interval="95%置信区间",
    flags="标记",
    flags_heading="标记与警告",
    baseline="基线",
    candidate="候选",
    ratio="比值",
    verdict="结论",
    reason="原因",
    profile="profile",
    parameters="参数",
    verdicts={
        "regression": "退化",
        "improvement": "提升",
        "same": "持平",
        "inconclusive": "无法判定",
        "insufficient": "数据不足",
    },
    grounds={
        "beyond": "均值变化 {change}，95%区间 {low} 至 {high}",
        "within": "均值变化 {change}，95%区间 {low} 至 {high}，全部在 {threshold} 以内",
        "noise": "均值变化 {change}，但95%区间 {low} 至 {high}：可能是噪声",
        "unproven": "均值变化 {change}，95%区间 {low} 至 {high}：不能排除超过 {threshold}",
        "too_few": "{n}，判定需要三次重复",
        "not_in_baseline": "基线中没有",
        "not_in_candidate": "候选中没有",
        "baseline_failed": "基线没有成功的运行",
        "candidate_failed": "候选没有成功的运行",
    },
    needed="；两侧各约 {n} 次重复可以判定",
    hopeless="；变化太接近阈值，增加重复也无法判定",
    by_medians="；而中位数之比的区间（{low} 至 {high}）则为：{verdict}",
    environments_differ=(
        "两侧环境不同，差异可能不只来自被测改动。基线：{baseline}。候选：{candidate}。"
    ),
    among="（全部 {n} 个配置，Holm）",
    decisive="确实变慢{among}，退出码为1：{cases}。",
    by_chance="单独看是退化，但 {n} 个配置中可能偶然出现（Holm）：{cases}。退出码不取决于它。",
    nothing_decisive="没有超出偶然的变慢{among}。",
    no_longer="基线成功而候选从未成功，退出码为1：{cases}。",
    centers={"median": "中位数", "mean": "平均值"},
    caption="吞吐单位为 {unit}，取成功重复的{center}。",
    caption_base="加速比以 {base} 为基准。",
    caption_strong="强扩展（全局batch size为 {total}）：加速比以 {base} 为基准。",
    no_base="无加速比：基准 {base} 没有成功的运行。",
    simulated="模拟数据(SIMULATED)：以下数字来自模拟集群，并非真实GPU测得。",
    mark_amber="! 变异系数超过2%",
    mark_red="!! 变异系数超过5%",
    mark_welch="w：Welch区间（几何平均值之比）；中位数之比的区间需要六次重复",
    mark_environment="† 与 {base} 的环境不同，或来自多个环境",
    gap="",
    environment="环境介绍",
    host_line="{count} × {names}",
    topology="{hosts} 的GPU拓扑（`nvidia-smi topo -m`）",
    what_was_run="测试步骤",
    commands="{case} 的命令",
    window="统计窗口：{window}；统计量：{statistic}。",
    results="测试结果",
    statistics="重复测试的统计",
    explained="扩展效率及其损失",
    profiled="剖析",
    explain_how="若profile有 `[explain]`，`run … --explain` 可区分其余损失的原因。",
    stopped={
        "reached": "区间已达到要求的精度",
        "plateau": "区间不再变窄：重复之间的差异不会被平均掉",
        "max_repeats": "已达到允许的最多重复次数",
        "budget": "GPU时间预算已用完",
        "failing": "最近的重复全部失败",
        "cancelled": "有重复被取消",
    },
    stopped_line="{case}：{n} 次重复{width}；{why}",
    held="与公开数据对照",
    held_at="{figure} 的 {percent}（{how}）",
    held_time="用时为 {figure} 的 {percent}（{how}）",
    held_not="不可比：{figure}：{differs}",
    held_batch="单卡batch size {batch}",
    held_gpus="GPU数 {here}，对方 {there}",
    held_gpu="GPU型号 {here}，对方 {there}",
    held_unit="单位 {here}，对方 {there}",
    held_precision="精度 {here}，对方 {there}",
    held_precisions_unknown="双方精度均未知",
    held_no_precision="其profile没有精度",
    held_which="{called}（运算类型未知）",
    held_unknown="未知",
    held_between="；",
    held_source="来源",
    failed_runs="失败的运行",
    failed_line="{case}：{repeats} 次重复中成功 {succeeded} 次",
    retried="此前失败并已重试：{reason}",
    evidence="主机原始记录",
    slow_ranks="拖慢其他进程的 rank",
    no_failed_runs="无。",
    no_flags="未发现可疑之处。",
    nothing_graded="尚无测得的结果。",
    grade="评级",
    grade_a="评级 A：未发现可疑之处。",
    worst_grade="评级 {grade}，为 {counts} 中最差。",
    logs="日志数据",
    no_environment="没有环境记录。",
    no_results="尚无已结束的运行。",
    generated="由 dlperf-tui {version} 生成。",
    imported="导入数据：这些运行并非由本次测试执行。",
    partial="尚有 {left} 个计划中的运行未结束。",
)


def pick(lang: Lang, en: str, zh: str) -> str:
    return zh if lang == "zh" else en


def words(lang: Lang) -> Words:
    return ZH if lang == "zh" else EN
