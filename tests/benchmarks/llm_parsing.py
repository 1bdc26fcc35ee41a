"""Parser speed on logs of LLM trainers: a sparse one of torchtitan, and dense ones.

As :mod:`tests.benchmarks.parsing`: beside a script with one regular expression per line, each
contestant in a process of its own, in turn. The script reads one figure of a line, and neither
colours nor ranks; we read all that the profile has: four of torchtitan, four of Megatron-LM. Where
lines have numbers of several widths ("uneven") none is like the one before it.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.parsing import MEGABYTES, ROUNDS, run_program
from tests.benchmarks.report import headline, line, middle

SPARSE = 5000  # lines, of which one is a reading

OURS = """
from pathlib import Path
from profiles.format.catalog import Catalog
from profiles.format.case_matrix import expand
from profiles.throughput.measure_log_file import measure_file
profile = Catalog.load().get({profile!r})
case = expand(profile, ["1n8g"], {{}})[0]
def read(path):
    return measure_file(profile, Path(path), case)[0].readings
"""

SCRIPT = """
import re
def read(path):
    values = []
    with open(path) as f:
        lines = f.readlines()
    for text in lines:
        found = re.search({pattern!r}, text)
        if found:
            values.append(float(found.group(2).replace(",", "")))
    return len(values)
"""

JSON_SCRIPT = """
import json, re
def read(path):
    values = []
    with open(path) as f:
        lines = f.readlines()
    for text in lines:
        found = re.search({pattern!r}, text)
        if found:
            told = json.loads(found.group(1))
            if told["key"] == "tracked_stats":
                values.append(float(told["value"]["throughput"]))
    return len(values)
"""

MLLOG = r"::MLLOG +(\{.*)"
TORCHTITAN = r"step: +(\d+) .*tps: +\S*?([\d,]+)"
MEGATRON = r"iteration +(\d+)/.*elapsed time per iteration \(ms\): ([\d.]+)"


def main() -> None:
    headline(f"parser, logs of LLM trainers of {MEGABYTES} MB")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        ours, _theirs = _race(root, "torchtitan", TORCHTITAN, _torchtitan, SPARSE)
        speed = MEGABYTES / ours
        line("torchtitan, sparse", f"{speed:.0f} MB/s", target="≥ 200 MB/s", met=speed >= 200)
        for title, profile, pattern, reading in (
            ("Megatron-LM, dense", "megatron-lm", MEGATRON, _megatron),
            ("Megatron-LM, dense and uneven", "megatron-lm", MEGATRON, _uneven),
            ("torchtitan, dense", "torchtitan", TORCHTITAN, _torchtitan),
            ("MLPerf's JSON, dense", "mlperf-training", MLLOG, _mllog),
        ):
            ours, theirs = _race(root, profile, pattern, reading, 1)
            ratio = theirs / ours
            line(title, f"{ratio:.2f}×", target="≥ 1.5×", met=ratio >= 1.5)
            line("  speed", f"{MEGABYTES / ours:.0f} MB/s")


def _torchtitan(step: int) -> str:
    return (
        f"[rank0]:[titan] 2025-03-04 05:06:{step % 60:02d},089 - root - INFO - \x1b[31mstep: "
        f"{step:2}  \x1b[32mloss: {random.uniform(2, 9):7.4f}  \x1b[36mmemory: 61.20GiB(77.31%)  "
        f"\x1b[34mtps: 6,8{step % 100:02d}  \x1b[36mtflops: 396.20  \x1b[35mmfu: 40.06%\x1b[39m\n"
    )


def _megatron(step: int, low: int = 800) -> str:
    return (
        f" iteration {step:8}/  500000 | consumed samples: {step * 256:12} | elapsed time per "
        f"iteration (ms): {random.uniform(low, 820):.1f} | throughput per GPU (TFLOP/s/GPU): "
        f"{random.uniform(370, 380):.1f} | learning rate: 1.200000E-04 | global batch size:   256 "
        f"| lm loss: {random.uniform(2, 3):.6E} | loss scale: 1.0 | grad norm: 1.210 | number of "
        "skipped iterations:   0 | number of nan iterations:   0 |\n"
    )


def _uneven(step: int) -> str:
    return _megatron(step, 8 * 10 ** random.randrange(3))


def _mllog(step: int) -> str:
    return (
        f':::MLLOG {{"namespace": "", "time_ms": {1_700_000_000_000 + step * 37}, "event_type": '
        f'"POINT_IN_TIME", "key": "tracked_stats", "value": {{"throughput": '
        f'{random.uniform(2000, 2600):.3f}}}, "metadata": {{"file": "/workspace/train.py", '
        f'"lineno": 172, "step": {step}}}}}\n'
    )


def _chatter(number: int) -> str:
    return (
        f"[rank0]:[titan] 2025-03-04 05:06:{number % 60:02d},{number % 1000:03d} - root - INFO - "
        f"worker {number % 8} prefetched {random.randrange(1 << 24)} bytes of shard {number}\n"
    )


def _race(
    root: Path, profile: str, pattern: str, reading: Callable[[int], str], every: int
) -> tuple[float, float]:
    """Seconds of ours and of the script."""
    random.seed(1)
    steps = range(1, 20001)
    text = "".join(reading(n) if n % every == 0 else _chatter(n) for n in steps).encode()
    log = root / "run.log"
    with log.open("wb") as file:
        for _ in range(MEGABYTES * 1_000_000 // len(text)):
            file.write(text)
    script = JSON_SCRIPT if pattern == MLLOG else SCRIPT
    programs = {"ours": OURS.format(profile=profile), "script": script.format(pattern=pattern)}
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(ROUNDS):
        for name, program in programs.items():
            path = root / f"{name}.py"
            path.write_text(program, encoding="utf-8")
            times[name].append(run_program(path, log)[0])
    log.unlink()
    return middle(times["ours"]), middle(times["script"])
