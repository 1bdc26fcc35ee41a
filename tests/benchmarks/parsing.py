"""Parser throughput on 200 MB logs, beside a script in the manner of DLPerf's extractors.

The script does ``readlines`` and a ``re.search`` per line with the same regular expression. Every
contestant runs in a process of its own, in turn, several times. Timed is the reading of the log,
imports are not; the ratio is between the medians.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.report import headline, line, middle

MEGABYTES = 200
ROUNDS = 3
PROFILE = "oneflow-resnet50"

SCRIPT = r"""
import re
def read(path):
    values = []
    with open(path) as f:
        lines = f.readlines()
    for text in lines:
        found = re.search(r"iter (\d+), loss: [\d.]+.*samples/s: ([\d.]+)", text)
        if found:
            values.append(float(found.group(2)))
    return sum(values[1:]) / len(values[1:])
"""

OURS = f"""
from pathlib import Path
from profiles.format.catalog import Catalog
from profiles.format.case_matrix import expand
from profiles.throughput.measure_log_file import measure_file
profile = Catalog.load().get({PROFILE!r})
case = expand(profile, ["1n8g"], {{}})[0]
def read(path):
    return measure_file(profile, Path(path), case)[0].throughput
"""

MEASURE = """
import json, resource, sys, time
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
began = time.perf_counter()
assert read(sys.argv[2]) > 0
took = time.perf_counter() - began
print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def main() -> None:
    headline(f"parser, logs of {MEGABYTES} MB")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for name, every, aim, least in (
            ("one line in fifty is a reading", 50, "≥ 5×", 5.0),
            ("every line is a reading", 1, "≥ 1×", 1.0),
        ):
            log = _write_log(root / f"{every}.log", every)
            ours, theirs, grep, memory, script_memory = _race(root, log)
            ratio = theirs / ours
            line(name, f"{ratio:.2f}×", target=aim, met=ratio >= least)
            line("  speed", f"{MEGABYTES / ours:.0f} MB/s")
            line("  time ratio to grep -c (ours / grep)", f"{ours / grep:.2f}×")
            line("  peak memory, ours / script", f"{memory:.0f} / {script_memory:.0f} MB")
            log.unlink()


def _write_log(path: Path, every: int) -> Path:
    """Readings among the chatter of a training run, of about the same length."""
    random.seed(1)
    block: list[str] = []
    for number in range(1, 20001):
        if number % every == 0:
            block.append(
                f"train: epoch 0, iter {number}, loss: {random.uniform(1, 7):.6f}, "
                f"top_1: 0.020313, top_k: 0.117578, samples/s: {random.uniform(380, 390):.3f}\n"
            )
        else:
            block.append(
                f"I1121 03:{number % 60:02d}:17.{number:06d} 14568 gpu_resources.cc:275] "
                f"stream {number % 8} allocated {random.randrange(1 << 24)} bytes, cached\n"
            )
    text = "".join(block).encode()
    with path.open("wb") as file:
        for _ in range(MEGABYTES * 1_000_000 // len(text)):
            file.write(text)
    return path


def _race(root: Path, log: Path) -> tuple[float, float, float, float, float]:
    ours, script = root / "ours.py", root / "script.py"
    ours.write_text(OURS, encoding="utf-8")
    script.write_text(SCRIPT, encoding="utf-8")
    times: dict[str, list[float]] = {"ours": [], "script": [], "grep": []}
    memory = {"ours": 0.0, "script": 0.0}
    for _ in range(ROUNDS):
        for name, program in (("ours", ours), ("script", script)):
            took, peak = run_program(program, log)
            times[name].append(took)
            memory[name] = max(memory[name], peak)
        times["grep"].append(_grep(log))
    return (
        middle(times["ours"]),
        middle(times["script"]),
        middle(times["grep"]),
        memory["ours"],
        memory["script"],
    )


def run_program(program: Path, log: Path) -> tuple[float, float]:
    """Seconds and MiB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(program), str(log)],
        capture_output=True,
        check=True,
    )
    took, peak = json.loads(done.stdout.splitlines()[-1])
    return float(took), float(peak)


def _grep(log: Path) -> float:
    program: Sequence[str] = [shutil.which("grep") or "grep", "-c", "samples/s: ", str(log)]
    began = time.perf_counter()
    # Not to /dev/null: GNU grep stops at the first match there.
    subprocess.run(program, stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - began
