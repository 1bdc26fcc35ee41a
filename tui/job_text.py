"""What a queue is asked for with a run, or with all of them, in a line."""

from __future__ import annotations

from tui.backend_protocols import DryRun

_DIRECTIVE = "#SBATCH "


def asked_for(run: DryRun) -> str:
    """ "sbatch --nodes=2 …": of its job's script; empty where no queue gives its hosts."""
    words = [
        line.removeprefix(_DIRECTIVE)
        for line in run.job.splitlines()
        if line.startswith(_DIRECTIVE)
    ]
    return " ".join(("sbatch", *words)) if words else ""
