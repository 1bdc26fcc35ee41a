"""The nccl-tests profile through the command line, with a program that prints such a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.program import run_program

ROOT = Path(__file__).parents[2]
PROGRAM = """\
#!/bin/sh
# Takes -b SIZE -e SIZE -f 2 -n COUNT -d TYPE -g GPUS; prints busbw of as many GB/s as GPUs.
printf '# nThread 1 nGpus %s minBytes %s maxBytes %s\\n' "${12}" "$2" "$4"
for size in "$2" "$4"; do
    printf '%12s %13s %8s %6s %6s' "$size" 1 "${10}" sum -1
    printf '    10.0    1.00 %7s.00 %6s    10.0    1.00    1.00      0\\n' "${12}" WRONG
done
printf '# Out of bounds values : WRONG %s\\n# Avg bus bandwidth    : 1.5 \\n#\\n' SAID
exit STATUS
"""


def run(directory: Path, wrong: int) -> tuple[int, dict[str, Any]]:
    """The document of a run on this machine, whose devices are slots."""
    text = PROGRAM.replace("WRONG", str(wrong)).replace("STATUS", "1" if wrong else "0")
    text = text.replace("SAID", "FAILED" if wrong else "OK")
    program = directory / "build" / "all_reduce_perf"
    program.parent.mkdir()
    program.write_text(text)
    program.chmod(0o755)
    profile = (ROOT / "profiles" / "library" / "nccl-tests.toml").read_text()
    profile = profile.replace('devices = "gpu"', 'devices = "any"')
    (directory / "slots.toml").write_text(profile.replace('settle = "5s"', 'settle = "0s"'))
    (directory / "hosts.toml").write_text(
        f'[[hosts]]\nname = "here"\ntransport = "local"\nslots = 4\n'
        f'lease_dir = "{directory}/leases"\n'  # other tests may have this machine
    )
    done = run_program(
        [
            *("--inventory", directory / "hosts.toml"),
            *("--campaigns", str(directory / "campaigns"), "run", "--json", "--repeats", "1"),
            *("--profile", str(directory / "slots.toml"), "--case", "1n4g"),
            *("--set", f"binary_dir={program.parent}", "min_size=8", "max_size=4096"),
        ],
        timeout=120,
    )
    assert done.stdout, done.stderr
    (found,) = json.loads(done.stdout)["runs"]
    return done.returncode, found


def test_the_largest_size_is_the_result_of_a_run(tmp_path: Path) -> None:
    status, found = run(tmp_path, wrong=0)
    assert (status, found["state"], found["throughput"]) == (0, "succeeded", 4)
    assert (found["unit"], found["metrics"]["size_bytes"]) == ("GB/s", 4096)


def test_wrong_values_fail_the_run(tmp_path: Path) -> None:
    status, found = run(tmp_path, wrong=3)
    assert (status, found["state"]) == (1, "failed")
    assert found["reason"] == "the collective gives wrong results"
    assert found["throughput"] is None
