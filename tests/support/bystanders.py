"""Processes of a run's own user that are no part of it, though something in them looks like it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def lookalikes(run_id: str, host: str) -> dict[str, dict[str, str]]:
    """Environments that hold a run's marker, but not as a variable of its own."""
    marker = f"DLPERF_RUN_ID={run_id}"
    return {
        "a value of several lines": {"NOTES": f"first\n{marker}\nDLPERF_HOST={host}\nlast"},
        "the end of a value": {"COMMAND": f"env {marker}"},
        "a longer name": {f"MY_{marker.partition('=')[0]}": run_id},
        "a longer value": {"DLPERF_RUN_ID": f"{run_id}0", "DLPERF_HOST": host},
        "a value that goes on": {"DLPERF_RUN_ID": f"{run_id}\nmore", "DLPERF_HOST": host},
        "another host's": {"DLPERF_RUN_ID": run_id, "DLPERF_HOST": f"not-{host}"},
    }


@contextmanager
def bystanders(
    run_id: str, host: str, **whose: Any
) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """One process for each environment; all of them are ended at the end. ``whose``: of Popen."""
    sleeping = {
        kind: subprocess.Popen(
            ["/bin/sh", "-c", "trap 'exit 143' TERM; while :; do sleep 1; done"],
            env={**os.environ, **more},
            **whose,
        )
        for kind, more in lookalikes(run_id, host).items()
    }
    try:
        yield sleeping
    finally:
        for process in sleeping.values():
            process.kill()
            process.wait()
