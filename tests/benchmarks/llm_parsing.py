"""Parser speed on logs of LLM trainers: a sparse one of torchtitan, a dense one of Megatron-LM.

As :mod:`tests.benchmarks.parsing`: beside a script with one regular expression per line, each
contestant in a process of its own, in turn.
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
from profiles.throughput.file import measure_file
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

TORCHTITAN = r"step: +(\d+) .*tps: +\S*?([\d,]+)"
MEGATRON = r"iteration +(\d+)/.*elapsed time per iteration \(ms\): ([\d.]+)"


def main() -> None:
    headline(f"parser, logs of LLM trainers of {MEGABYTES} MB")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        ours, _theirs = _race(root, "torchtitan", TORCHTITAN, _torchtitan, SPARSE)
        speed = MEGABYTES / ours
        line("torchtitan, sparse", f"{speed:.0f} MB/s", target="≥ 200 MB/s", met=speed >= 200)
        ours, theirs = _race(root, "megatron-lm", MEGATRON, _megatron, 1)
        ratio = theirs / ours
        line("Megatron-LM, dense", f"{ratio:.2f}×", target="≥ 1.5×", met=ratio >= 1.5)
        line("  speed", f"{MEGABYTES / ours:.0f} MB/s")


def _torchtitan(step: int) -> str:
    return (
        f"[rank0]:[titan] 2025-03-04 05:06:{step % 60:02d},089 - root - INFO - \x1b[31mstep: "
        f"{step:2}  \x1b[32mloss: {random.uniform(2, 9):7.4f}  \x1b[36mmemory: 61.20GiB(77.31%)  "
        f"\x1b[34mtps: 6,8{step % 100:02d}  \x1b[36mtflops: 396.20  \x1b[35mmfu: 40.06%\x1b[39m\n"
    )


def _megatron(step: int) -> str:
    return (
        f" iteration {step:8}/  500000 | consumed samples: {step * 256:12} | elapsed time per "
        f"iteration (ms): {random.uniform(800, 820):.1f} | throughput per GPU (TFLOP/s/GPU): "
        f"{random.uniform(370, 380):.1f} | learning rate: 1.200000E-04 | global batch size:   256 "
        f"| lm loss: {random.uniform(2, 3):.6E} | loss scale: 1.0 | grad norm: 1.210 | number of "
        "skipped iterations:   0 | number of nan iterations:   0 |\n"
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
    programs = {"ours": OURS.format(profile=profile), "script": SCRIPT.format(pattern=pattern)}
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(ROUNDS):
        for name, program in programs.items():
            path = root / f"{name}.py"
            path.write_text(program, encoding="utf-8")
            times[name].append(run_program(path, log)[0])
    log.unlink()
    return middle(times["ours"]), middle(times["script"])
