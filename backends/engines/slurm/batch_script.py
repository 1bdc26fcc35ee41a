"""The batch script of a run, and what of it Slurm is asked for. Pure.

The job holds the nodes and one step per node that lives as long as the run: what a short step
detaches is ended with that step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from shlex import quote

from backends.engines.engine import Wanted
from backends.inventory.job_options import JobOptions
from backends.remote.installation import Wrapper, command_with

NAME_PREFIX = "dlperf-"
MARGIN_S = 300.0
"""Beyond the profile's own timeout: to begin, to end what is left, to be looked at."""
PATIENCE_S = 900
"""For so long a job that has its nodes waits for somebody to start the run."""
OUTPUT = "jobs/%j.out"
"""Below work_dir, where the job is submitted: what srun says. It goes when all went well."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One run as Slurm needs to know it.

    ``gpus``: whether devices are GPUs of Slurm's; else they are CPU cores. ``limit_s``: the run's
    own timeout. ``avoid``: nodes that it shall not get.
    """

    run_id: str
    nodes: int
    gpus_per_node: int
    gpus: bool
    limit_s: float
    avoid: tuple[str, ...] = ()


def request_for(want: Wanted, *, gpus: bool) -> JobRequest:
    """``gpus``: whether the nodes have some."""
    return JobRequest(
        want.run_id,
        want.nodes,
        want.gpus_per_node,
        gpus=want.gpu_only or (gpus and not want.on_cpus),
        limit_s=want.limit_s,
        avoid=want.avoid,
    )


def job_name(run_id: str) -> str:
    """By which the run's job is found again where sbatch's answer was lost."""
    return NAME_PREFIX + run_id


def batch_script(request: JobRequest, options: JobOptions, what: Wrapper, work_dir: str) -> str:
    """For sbatch's standard input."""
    directives = "".join(f"#SBATCH {word}\n" for word in sbatch_words(request, options))
    return f"#!/bin/sh\n{directives}\n{_body(what, work_dir)}"


def sbatch_words(request: JobRequest, options: JobOptions, output: str = OUTPUT) -> list[str]:
    """The options of sbatch, one a line of the script; the operator's own last: they win.

    ``output``: where what is said outside of the run goes.
    """
    exclude = ",".join(filter(None, (options.exclude, *request.avoid)))
    given = {
        "partition": options.partition,
        "account": options.account,
        "qos": options.qos,
        "reservation": options.reservation,
        "constraint": options.constraint,
        "nodelist": options.nodelist,
        "exclude": exclude,
        "nice": "" if options.nice is None else str(options.nice),
    }
    devices = "gpus-per-node" if request.gpus else "cpus-per-task"
    words = [
        f"--job-name={job_name(request.run_id)}",
        f"--nodes={request.nodes}",
        "--ntasks-per-node=1",
        f"--{devices}={request.gpus_per_node}",
        f"--time={_minutes(request.limit_s)}",
        "--requeue" if options.requeue else "--no-requeue",
        f"--output={output}",
    ]
    words += [f"--{name}={quote(value)}" for name, value in given.items() if value]
    words += ["--exclusive"] if options.exclusive else []
    return [*words, *options.extra]


def _minutes(limit_s: float) -> int:
    """Slurm counts the time limit in whole minutes."""
    return math.ceil((limit_s + MARGIN_S) / 60)


def _body(what: Wrapper, work_dir: str) -> str:
    words = f'serve "$SLURMD_NODENAME" "$SLURM_JOB_ID" {PATIENCE_S}'
    command = command_with(what, work_dir, words)
    return f"""\
# On every node, as long as the run: what a short step detaches is ended with that step. It shares
# what the job has, so that the run may start steps of its own.
srun --overlap --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 sh -c {quote(command)}
status=$?
[ $status != 0 ] || rm -f "jobs/$SLURM_JOB_ID.out"
exit $status
"""
