"""Ten million readings in one live run: memory of the process, size of the journal, and the figure.

The run is a real one on this machine, through the command line. Its figure is compared with that of
the whole log, of which nothing may be missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.report import headline, line

COUNT = 10_000_000
TARGET_MIB = 250
TARGET_JOURNAL_MB = 20
STATISTICS = ("mean", "elapsed", "median")

WORKLOAD = """
import sys
block = 10_000
for first in range(0, int(sys.argv[1]), block):
    numbers = range(first + 1, first + block + 1)
    lines = ["iter %d, samples/s: %d.%03d\\n" % (n, 3000 + n % 97, n % 1000) for n in numbers]
    sys.stdout.write("".join(lines))
"""

PROFILE = """
name = "dense-{statistic}"
framework = "Python"
model = "dense"
[settings.readings]
description = "how many"
[matrix]
cases = ["1n1g"]
[launch]
launcher = "per_node"
stage = ["dense.py"]
command = "{python} dense.py {{readings}}"
timeout = "2h"
[measure]
reading = 'iter (?P<step>\\d+), samples/s: (?P<value>[\\d.]+)'
window = {{ skip = 1 }}
statistic = "{statistic}"
"""


def main() -> None:
    headline(f"{COUNT:,} readings in one live run")
    for statistic in STATISTICS:
        with tempfile.TemporaryDirectory() as directory:
            _one(Path(directory), statistic)


def _one(root: Path, statistic: str) -> None:
    (root / "dense.py").write_text(WORKLOAD)
    profile = root / "dense.toml"
    profile.write_text(PROFILE.format(python=sys.executable, statistic=statistic))
    began = time.perf_counter()
    document, peak_mib = _run(
        root,
        "run",
        "-p",
        str(profile),
        "--set",
        f"readings={COUNT}",
        "--campaigns",
        str(root / "c"),
    )
    took = time.perf_counter() - began
    [run] = document["runs"]
    campaign = Path(document["path"])
    log = campaign / run["log"]
    [whole], parse_mib = _run(root, "parse", "-p", str(profile), "--case", "1n1g", str(log))
    assert whole["readings"] == COUNT
    assert whole["throughput"] == run["throughput"]
    journal_mb = (campaign / "events.jsonl").stat().st_size / 1e6
    line(
        f"{statistic}: {run['throughput']:.3f}, {log.stat().st_size / 1e6:.0f} MB of log in",
        f"{took:.0f} s",
    )
    line(
        "  peak memory of the run's process",
        f"{peak_mib:.0f} MiB",
        target=f"< {TARGET_MIB} MiB",
        met=peak_mib < TARGET_MIB,
    )
    line(
        "  journal",
        f"{journal_mb:.2f} MB",
        target=f"< {TARGET_JOURNAL_MB} MB",
        met=journal_mb < TARGET_JOURNAL_MB,
    )
    line("  peak memory of parsing that log", f"{parse_mib:.0f} MiB")


def _run(root: Path, *words: str) -> tuple[dict, float]:  # type: ignore[type-arg]  # JSON
    """The document that a command prints, and the most memory that it held."""
    out = root / "out.json"
    environment = {**os.environ, "HOME": str(root), "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
    with out.open("wb") as stdout:
        process = subprocess.Popen(
            [sys.executable, "-m", "tui.cli", *words, "--json"],
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=environment,
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said.decode()
    return json.loads(out.read_text()), usage.ru_maxrss / 1024
