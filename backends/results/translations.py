"""What the tables and reports say, in English and Chinese.

The Chinese headings are those of the reports that the layouts reproduce.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, get_args

Lang = Literal["en", "zh"]
LANGUAGES: tuple[Lang, ...] = get_args(Lang)
Said = TypeVar("Said")


class Both(Generic[Said]):
    """An attribute of :class:`Words` in both languages, read in that of the words."""

    def __init__(self, en: Said, zh: Said) -> None:
        self._en, self._zh = en, zh

    def __get__(self, words: Words, _owner: type[Words]) -> Said:
        return self._zh if words.lang == "zh" else self._en


@dataclass(frozen=True, slots=True)
class Words:
    """Every heading, caption and section title; ``{…}`` are filled with ``str.format``."""

    lang: Lang

    # columns of the speedup layout
    nodes = Both("node num", "节点数")
    gpus_per_node = Both("gpus/node", "每节点GPU数")
    gpus = Both("gpu num", "GPU数")
    batch = Both("bsz/gpu", "单卡batch size")
    memory = Both("GPU memory (MiB)", "显存(MiB)")
    stated_memory = Both("stated GPU memory (MiB)", "日志所述显存(MiB)")
    throughput = Both("throughput", "吞吐")
    speedup = Both("speedup", "加速比")
    speedup_interval = Both("95% of speedup", "加速比95%区间")
    efficiency = Both("efficiency", "扩展效率")
    efficiency_interval = Both("95% of efficiency", "扩展效率95%区间")
    cv = Both("CV", "变异系数")
    count = "n"
    # the same in the style of OneFlow's own report
    oneflow_gpus_per_node = Both("gpus/nodes", "每节点GPU数")
    oneflow_memory = Both("GPU Memory Usage", "显存占用")
    oneflow_throughput = Both("Throughput", "吞吐")
    oneflow_speedup = Both("Speedup", "加速比")
    oneflow_title = Both("Group: batch size per device = {batch}", "分组：单卡batch size = {batch}")
    # pivot, compare, airank
    cards = Both("GPUs", "卡数")
    card_rows = Both(("{gpus} GPU", "{gpus} GPUs"), ("{gpus}卡", "{gpus}卡"))  # one GPU, several
    log_link = Both("{gpus} {column} log", "{gpus} {column} 日志")
    compare_gpus = Both("GPU num", "GPU数")
    time_to_train = "Time2train(sec)"
    airank_throughput = Both("throughput({unit})", "吞吐({unit})")
    accuracy = Both("accuracy(%)", "准确率(%)")
    # the table of statistics
    case = Both("case", "配置")
    median = Both("median", "中位数")
    mean = Both("mean", "平均值")
    minimum = Both("min", "最小值")
    maximum = Both("max", "最大值")
    interval = Both("95% interval of the median", "中位数95%置信区间")
    either_interval = Both("95% interval: of the median, or t", "95%置信区间：中位数，或 t")
    students_interval = Both("95% interval of the mean", "均值95%置信区间")
    flags = Both("flags", "标记")
    flags_heading = Both("Flags and warnings", "标记与警告")
    parameters = Both("parameters", "参数")
    # captions and marks
    centers = Both({"median": "median", "mean": "mean"}, {"median": "中位数", "mean": "平均值"})
    caption = Both(
        "Throughput in {unit}: {center} of the successful repeats.",
        "吞吐单位为 {unit}，取成功重复的{center}。",
    )
    caption_bandwidth = Both(
        "{what} in {unit}: {center} of the successful repeats.",
        "{what}，单位为 {unit}，取成功重复的{center}。",
    )
    caption_base = Both("Speedup relative to {base}.", "加速比以 {base} 为基准。")
    caption_strong = Both(
        "Strong scaling, global batch {total}: speedup relative to {base}.",
        "强扩展（全局batch size为 {total}）：加速比以 {base} 为基准。",
    )
    caption_no_single = Both(
        "No case of one device: {base} counts as 1 and 100%.",
        "没有单设备用例：{base} 计为 1 和 100%。",
    )
    caption_alone = Both(
        "No speedup: there is no other case to compare with.",
        "无加速比：没有可比较的其他用例。",
    )
    no_base = Both(
        "No speedups: the base {base} has no successful run.",
        "无加速比：基准 {base} 没有成功的运行。",
    )
    simulated = Both(
        "SIMULATED: these figures come from the simulated cluster, no GPU was measured.",
        "模拟数据(SIMULATED)：这些数字来自模拟集群，并非真实GPU测得。",
    )
    mark_unended = Both(
        "n: repeats that succeeded, of all that are planned; {unended} not ended yet",
        "n：成功的重复次数/计划的重复次数，其中 {unended} 次尚未结束",
    )
    memory_note = Both(
        "{memory}: the most that any device was seen to have in use during any of the repeats, by "
        "its driver, which was asked now and then: a short peak may be missing",
        "{memory}：各次重复期间所见单个设备占用的最大值，由其驱动给出；间隔采样，可能漏掉短暂峰值",
    )
    stated_memory_note = Both(
        "{memory}: the most of any of the repeats, as its log or a report states it",
        "{memory}：各次重复的最大值，由其日志或报告给出",
    )
    mark_amber = Both("! CV above 2%", "! 变异系数超过2%")
    mark_red = Both("!! CV above 5%", "!! 变异系数超过5%")
    mark_welch = Both(
        "w: Welch's interval, of the ratio of geometric means, which need not lie around the "
        "speedup, that of the medians; an interval of its own takes six repeats",
        "w：Welch区间（几何平均值之比），不一定以加速比（中位数之比）为中心；"
        "中位数之比的区间需要六次重复",
    )
    mark_welch_of_means = Both(
        "w: Welch's interval, of the ratio of geometric means, which need not lie around the "
        "speedup, that of the means",
        "w：Welch区间（几何平均值之比），不一定以加速比（平均值之比）为中心",
    )
    mark_student = Both(
        "t: half of Student's 95% interval of the mean, relative to it; an interval of the median "
        "takes six repeats",
        "t：均值95%区间（t分布）的一半，相对于均值；中位数的区间需要六次重复",
    )
    mark_environment = Both(
        "† not all repeats of the case and of {base} were measured in one environment",
        "† 该配置与 {base} 的各次重复并非都在同一环境中测得",
    )
    mark_mixed = Both(
        "† not all repeats of the case were measured in one environment, or one of them was on "
        "devices of several models",
        "† 该配置的各次重复并非都在同一环境中测得，或单次运行使用了多种型号的设备",
    )
    mark_rule = Both(
        "‡ measured by another rule than {base}: the speedup divides unlike figures",
        "‡ 统计规则与 {base} 不同：加速比不可直接比较",
    )
    mark_shared = Both(
        "§ the share of repeats that ran beside other runs differs from that of {base} by half or "
        "more: the speedup shows that, too",
        "§ 与其他运行共用机器的重复所占比例与 {base} 相差一半或更多：加速比也反映这一点",
    )
    # the report
    gap = Both(" ", "")  # between sentences
    environment = Both("Environment", "环境介绍")
    host_line = Both("{names}, each", "{names}，每台")
    topology = Both(
        "GPU topology (`nvidia-smi topo -m`) of {hosts}",
        "{hosts} 的GPU拓扑（`nvidia-smi topo -m`）",
    )
    what_was_run = Both("What was run", "测试步骤")
    gpu_time = Both(
        "GPU time used: {used}, from start to end of every attempt.",
        "共用 {used}，每次尝试均从启动计到结束。",
    )
    commands = Both("Commands of {case}", "{case} 的命令")
    window = Both(
        "Window: {window}. Statistic: {statistic}.", "统计窗口：{window}；统计量：{statistic}。"
    )
    scopes = Both(
        {
            "global": "Figures in rank 0's log are of all devices.",
            "per_device": "Figures in rank 0's log are per device, here × the devices of the case.",
            "per_node": "Figures in each node's log are per node, here summed up; where one tells "
            "nothing, rank 0's × the nodes.",
        },
        {
            "global": "rank 0 的日志中为全部设备之和。",
            "per_device": "rank 0 的日志中为单个设备的值，乘以用例的设备数。",
            "per_node": "各节点日志中为单个节点的值，求和；若有缺失，则为 rank 0 的值 × 节点数。",
        },
    )
    summed_up = Both("The figure that the log sums up.", "取日志自身的汇总值。")
    of_cases = Both("{cases}: {rule}", "{cases}：{rule}")
    window_note = Both(
        "Seconds: from the arrival here of the reading before the window (without one: of its "
        "first) to that of its last; what arrived after its run had ended counts as of that end. "
        "That is near the time that the log itself tells, not the same. CV of speeds within a "
        "run: of those of its readings. Both are the median of the repeats. The "
        "console's page Runs names the CV of a run's times per step; all other CVs are of the "
        "repeats.",
        "秒数：从窗口之前的读数（没有则为窗口内首个读数）到达本机时起，至窗口内最后一个读数到达时止，"
        "运行结束之后才到达的读数按结束时刻计；与日志自身的时间相近而不完全相同。单次运行内速度变异系数：取自其读数。两者均取各次重复的中位数。"
        "控制台的 Runs 页面所示为单次运行每步用时的变异系数；其余变异系数均为重复之间的。",
    )
    results = Both("Results", "测试结果")
    statistics = Both("Statistics over the repeats", "重复测试的统计")
    explained = Both("Scaling, and what it is lost to", "扩展效率及其损失")
    explain_how = Both(
        "`run … --explain` tells apart what is unexplained.",
        "`run … --explain` 可区分其余损失的原因。",
    )
    profiled = Both("profiled", "剖析")
    stopped = Both(
        {
            "reached": "the interval is as narrow as asked",
            "plateau": "the interval no longer narrows: what scatters the repeats does not "
            "average out",
            "max_repeats": "no more repeats were allowed",
            "budget": "the budget of GPU time was spent",
            "failing": "its last repeats all failed",
            "cancelled": "a repeat was cancelled",
        },
        {
            "reached": "区间已达到要求的精度",
            "plateau": "区间不再变窄：重复之间的差异不会被平均掉",
            "max_repeats": "已达到允许的最多重复次数",
            "budget": "GPU时间预算已用完",
            "failing": "最近的重复全部失败",
            "cancelled": "有重复被取消",
        },
    )
    stopped_width = Both(", {width}", "，{width}")
    stopped_line = Both("{case}: {n} repeats{width}; {why}", "{case}：{n} 次重复{width}；{why}")
    held = Both("Held against published figures", "与公开数据对照")
    held_at = Both("{percent} of {figure} ({how})", "{figure} 的 {percent}（{how}）")
    held_time = Both(
        "{percent} of the time of {figure} ({how})", "用时为 {figure} 的 {percent}（{how}）"
    )
    held_not = Both("not comparable: {figure}: {differs}", "不可比：{figure}：{differs}")
    held_batch = Both("batch {batch} per GPU", "单卡batch size {batch}")
    held_gpus = Both("GPUs {here}, there {there}", "GPU数 {here}，对方 {there}")
    held_gpu = Both("GPU {here}, there {there}", "GPU型号 {here}，对方 {there}")
    held_unit = Both("unit {here}, there {there}", "单位 {here}，对方 {there}")
    held_precision = Both("precision {here}, there {there}", "精度 {here}，对方 {there}")
    held_precisions_unknown = Both("the precision of neither is known", "双方精度均未知")
    held_no_precision = Both("its profile has no precision", "其profile没有精度")
    held_which = Both("{called} (arithmetic not known)", "{called}（运算类型未知）")
    held_unknown = Both("not known", "未知")
    held_between = Both("; ", "；")
    held_source = Both("source", "来源")
    failed_runs = Both("Failed runs", "失败的运行")
    tried_again = Both("Tried again", "已重试的运行")
    failed_line = Both(
        "{case}: {succeeded} of {repeats} repeats succeeded",
        "{case}：{repeats} 次重复中成功 {succeeded} 次",
    )
    of_which_never = Both(", {never} never started", "，{never} 次从未启动")
    retried = Both("retried after: {reason}", "此前失败并已重试：{reason}")
    evidence = Both("as the hosts told it", "主机原始记录")
    slow_ranks = Both("Ranks that the others waited for", "拖慢其他进程的 rank")
    no_failed_runs = Both("None.", "无。")
    no_flags = Both("Nothing to distrust was found.", "未发现可疑之处。")
    nothing_graded = Both("Nothing has been measured yet.", "尚无测得的结果。")
    grade = Both("grade", "评级")
    failed = Both("failed", "失败")
    slower = Both("Slower than a case with fewer devices: {cases}.", "比更少设备更慢：{cases}。")
    slower_in_doubt = Both(
        "Slower than a case with fewer devices, in doubt, as repeats do not tell it from noise: "
        "{cases}.",
        "比更少设备更慢，但存疑（各次重复不足以排除噪声）：{cases}。",
    )
    no_figure = Both("No repeat succeeded: {cases}.", "没有一次重复成功：{cases}。")
    grade_a = Both("Grade A: nothing to distrust was found.", "评级 A：未发现可疑之处。")
    worst_grade = Both(
        "Grade {grade}, the worst of {counts}.", "评级 {grade}，为 {counts} 中最差。"
    )
    one_grade = Both(  # of one case, of two, of more
        (
            "Grade {grade}.",
            "Both cases have grade {grade}.",
            "All {n} cases have grade {grade}.",
        ),
        ("评级 {grade}。", "两个用例的评级均为 {grade}。", "全部 {n} 个用例的评级均为 {grade}。"),
    )
    reasons_of = Both("What is held against {case}:", "{case} 的可疑之处：")
    held_against = Both(  # the only one of that grade, one of several
        (
            "What is held against {case}, the only {grade}:",
            "What is held against {case}, the first of {n} × {grade}:",
        ),
        ("{case}（唯一的 {grade}）的可疑之处：", "{case}（{n} × {grade} 中的第一个）的可疑之处："),
    )
    held_against_others = Both(
        "What is held against the others of grade {grade} stands under “{heading}” below.",
        "其他评级 {grade} 的用例见下文“{heading}”。",
    )
    more_reasons = Both(
        " More reasons for {grade} in other cases: {which}.",
        " 其他用例评级 {grade} 的其他原因：{which}。",
    )
    logs = Both("Raw logs", "日志数据")
    filler = Both(
        "In these names fp32 is a filler where the profile has no parameter precision: it says "
        "nothing of the arithmetic.",
        "profile 没有 precision 参数时，文件名中的 fp32 仅为占位，不说明运算类型。",
    )
    attempt = Both("{repeat} attempt {attempt}", "{repeat}（第 {attempt} 次尝试）")
    no_environment = Both("Nothing is recorded about the environment.", "没有环境记录。")
    no_results = Both("No run has ended yet.", "尚无已结束的运行。")
    begun_as = Both("Begun as {name}.", "开始时名为 {name}。")
    generated = Both("Written by dlperf-tui {version}.", "由 dlperf-tui {version} 生成。")
    imported = Both(
        "Imported: these runs were not executed by this campaign.",
        "导入数据：这些运行并非由本次测试执行。",
    )
    never_started = Both(
        "Skipped, and never started: {skipped} of the planned runs.",
        "已跳过、从未启动：{skipped} 个计划中的运行。",
    )
    cancelled = Both(
        "Cancelled after they had started: {cancelled} of the planned runs, of {cases}.",
        "启动之后被取消：{cancelled} 个计划中的运行，属于 {cases}。",
    )
    partial = Both(
        "Not ended yet: {left} of the planned runs.", "尚有 {left} 个计划中的运行未结束。"
    )


def pick(lang: Lang, en: str, zh: str) -> str:
    return zh if lang == "zh" else en


def words(lang: Lang) -> Words:
    return Words(lang)


EN = Words("en")
