"""All runs of a plan as one batch script that needs nothing of ours. Pure.

It does the scripts of the runs (:mod:`backends.engines.slurm.plain_script`) one after another, each
on the first of the job's nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from backends.engines.engine import Wanted
from backends.engines.slurm.batch_script import request_for_all, sbatch_words
from backends.engines.slurm.node_share import NodeShare
from backends.inventory.job_options import JobOptions
from backends.launchers.symbols import shell_word

PATH = "campaign.sh"


def campaign_script(
    runs: Sequence[tuple[Wanted, str]], options: JobOptions, share: NodeShare
) -> str:
    """``runs``: in their order, each with the path of its script."""
    wanted = [want for want, _ in runs]
    request = request_for_all("campaign", wanted, replace(options, nodes=None), share)
    takes_s = sum(
        (want.expected_s if want.expected_s < math.inf else want.limit_s) + want.settle_s
        for want in wanted
    )
    request = replace(request, of_all=False, limit_s=1.5 * takes_s)
    words = sbatch_words(request, replace(options, requeue=False), "campaign.%j.out")
    directives = "".join(f"#SBATCH {word}\n" for word in words)
    lines = "".join(
        f"run {want.nodes} {want.settle_s:g} {shell_word(path)}\n" for want, path in runs
    )
    return f"#!/bin/sh\n{directives}\n{_BODY}{lines}exit $failed\n"


_BODY = f"""\
# All runs, one after another, each on the first of the job's nodes; one that fails stops no other.
# To be handed in from the directory of submit.sh, which all nodes have to see.

cd "${{SLURM_SUBMIT_DIR:?is set by sbatch}}" && [ -f {PATH} ] ||
    {{ echo "hand {PATH} in from the directory of submit.sh" >&2; exit 2; }}
all=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
failed=0

# How many nodes it takes, how many seconds they rest then, and its script; that sees a job of those
# nodes alone.
run() {{
    nodes=$(echo "$all" | head -n "$1" | paste -s -d , -)
    export SLURM_JOB_NODELIST="$nodes" SLURM_NODELIST="$nodes"
    export SLURM_JOB_NUM_NODES="$1" SLURM_NNODES="$1" SLURM_NTASKS="$1" SLURM_NPROCS="$1"
    export SLURM_TASKS_PER_NODE="1(x$1)"
    echo "$(date +%FT%T) $3"
    sh "$3" || {{ echo "$3: exit status $?" >&2; failed=1; }}
    sleep "$2"
}}

"""
