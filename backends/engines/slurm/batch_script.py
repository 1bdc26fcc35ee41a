"""The batch script of a run, or of all runs of a campaign, and what of it Slurm is asked for. Pure.

A run's job holds the nodes and one step on all of them that lives as long as the run: what a short
step detaches is ended with that step. A campaign's job holds the nodes, and begins such a step for
each run that is put into its directory of steps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote

from backends.engines.engine import Wanted
from backends.engines.filling import Offer
from backends.engines.hosts_schedule import ends_at
from backends.engines.slurm.node_share import NodeShare
from backends.inventory.job_options import JobOptions
from backends.remote.installation import Wrapper, command_with
from profiles.durations import parse_duration
from profiles.format.host_capacity import HostCapacity

NAME_PREFIX = "dlperf-"
MARGIN_S = 300.0
"""Beyond the profile's own timeout: to begin, to end what is left, to be looked at."""
STEP_PATIENCE_S = 900
"""For so long the step of a run waits for the run, in a campaign's job."""
OUTPUT = "jobs/%j.out"
"""Below work_dir, where the job is submitted: what srun says. It goes when all went well."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One run as Slurm needs to know it; ``of_all``: all runs of the campaign ``run_id``.

    ``gpus``: whether devices are GPUs of Slurm's; else they are CPU cores. ``cpus_per_gpu``: asked
    for where a job does not have the whole node; 0: none. ``limit_s``: how long they may take.
    ``avoid``: nodes that it shall not get. ``cluster``: see
    :class:`~backends.inventory.queue.Queue`. ``asks``: what the profile says, by key.
    ``pack``: its node may have other jobs, whatever the inventory says.
    """

    run_id: str
    nodes: int
    gpus_per_node: int
    gpus: bool
    limit_s: float
    avoid: tuple[str, ...] = ()
    of_all: bool = False
    cluster: str = ""
    asks: tuple[tuple[str, object], ...] = ()
    cpus_per_gpu: int = 0
    pack: bool = False

    def options(self, options: JobOptions) -> JobOptions:
        """What the job is asked for, where the inventory has these."""
        return options.over(dict(self.asks))


def request_for(want: Wanted, share: NodeShare) -> JobRequest:
    """``share``: of the nodes that it may get."""
    return JobRequest(
        want.run_id,
        want.nodes,
        want.gpus_per_node,
        gpus=want.gpu_only or (share.gpus and not want.on_cpus),
        cpus_per_gpu=share.cpus_per_gpu,
        limit_s=want.limit_s,
        avoid=want.avoid,
        cluster=want.cluster,
        asks=want.asks,
        pack=want.pack,
    )


def request_for_all(
    campaign: str, wanted: Sequence[Wanted], options: JobOptions, share: NodeShare
) -> JobRequest:
    """One job for all of them: as wide as the widest, and as long as they take by the schedule on
    so many nodes, and half as much again."""
    requests = [request_for(want, share) for want in wanted]
    on_gpus = [request for request in requests if request.gpus]
    nodes = max(options.nodes or 1, *(want.nodes for want in wanted))
    return JobRequest(
        campaign,
        nodes,
        max(request.gpus_per_node for request in on_gpus or requests),
        gpus=bool(on_gpus),
        limit_s=1.5 * _scheduled_s(wanted, nodes),
        avoid=tuple(sorted({name for want in wanted for name in want.avoid})),
        of_all=True,
        asks=wanted[0].asks,
        cpus_per_gpu=share.cpus_per_gpu,
    )


def _scheduled_s(wanted: Sequence[Wanted], nodes: int) -> float:
    """Until the last has ended. What nobody has an expectation of takes its whole timeout."""
    offers = [Offer(HostCapacity(str(number), None, None)) for number in range(nodes)]
    played = [
        replace(
            want,
            run_id=str(number),
            not_before=0.0,
            cluster="",
            expected_s=want.expected_s if want.expected_s < math.inf else want.limit_s,
        )
        for number, want in enumerate(wanted)
    ]
    return ends_at(offers, played)


def job_name(run_id: str) -> str:
    """By which a run's job, or a campaign's, is found again where sbatch's answer was lost."""
    return NAME_PREFIX + run_id


def steps_directory(job_id: str) -> str:
    """Below work_dir, of a campaign's job: what is put there begins as a step."""
    return f"jobs/{_word(job_id)}_steps"


def step_post(job_id: str, run_id: str) -> str:
    """Below ``jobs``, with the node behind it: where a run's step waits for the run."""
    return _word(f"{job_id}_{run_id}")


def _word(text: str) -> str:
    """One of sh's that is no path: a journal may have been made up."""
    return re.sub(r"[^A-Za-z0-9_]", "_", text)


def batch_script(request: JobRequest, options: JobOptions, what: Wrapper, work_dir: str) -> str:
    """For sbatch's standard input."""
    directives = "".join(f"#SBATCH {word}\n" for word in sbatch_words(request, options))
    wait_s = math.ceil(parse_duration(request.options(options).patience))
    body = _body(what, work_dir, wait_s)
    if request.of_all:
        body = _HOLDING.format(wait_s=wait_s)
    return f"#!/bin/sh\n{directives}\n{body}"


def sbatch_words(request: JobRequest, options: JobOptions, output: str = OUTPUT) -> list[str]:
    """The options of sbatch, one a line of the script; the operator's own last: they win.

    ``output``: where what is said outside of the run goes.
    """
    options = request.options(options)
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
        f"--time={math.ceil(time_s(request, options) / 60)}",
        "--requeue" if options.requeue and not request.of_all else "--no-requeue",
        f"--output={output}",
    ]
    words += [f"--{name}={quote(value)}" for name, value in given.items() if value]
    words += ["--exclusive"] if options.exclusive and not request.pack else _cpus(request, options)
    words += ["--dependency=singleton"] if request.of_all else []  # never two of a campaign at once
    return [*words, *options.extra, *options.asked]


def _cpus(request: JobRequest, options: JobOptions) -> list[str]:
    """Of a job beside others, which has one CPU on each node if nobody asks for more."""
    if not request.gpus or not request.cpus_per_gpu:
        return []
    said = " ".join((*options.extra, *options.asked)).split()
    theirs = ("--cpus-per-", "-c", "--mincpus", "--cores-per-", "-B", "--extra-node", "--exclusive")
    return (
        []
        if any(w.startswith(theirs) for w in said)
        else [f"--cpus-per-gpu={request.cpus_per_gpu}"]
    )


def time_s(request: JobRequest, options: JobOptions) -> float:
    """The job's time limit; Slurm counts it in whole minutes."""
    own = request.options(options).time
    seconds = request.limit_s + MARGIN_S if own is None else parse_duration(own)
    return 60.0 * math.ceil(seconds / 60)


def _body(what: Wrapper, work_dir: str, wait_s: int) -> str:
    words = f'serve "$SLURMD_NODENAME" "$SLURM_JOB_ID" {wait_s}'
    command = command_with(what, work_dir, words)
    return f"""\
# On every node, as long as the run: what a short step detaches is ended with that step. It shares
# what the job has, so that the run may start steps of its own.
srun --overlap --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 sh -c {quote(command)}
status=$?
[ $status != 0 ] || rm -f "jobs/$SLURM_JOB_ID.out"
exit $status
"""


_HOLDING = """\
# What is put here begins as a step of its own. Where nobody does, and nothing runs, it ends.
umask 077
steps=jobs/"$SLURM_JOB_ID"_steps
mkdir "$steps" || exit 1
trap 'rm -rf "$steps"' EXIT
trap 'exit 143' TERM
used=$(date +%s)
while [ -d "$steps" ] && [ $(($(date +%s) - used)) -lt {wait_s} ]; do
    for step in "$steps"/*.step; do
        [ -e "$step" ] && mv "$step" "$step.begun" || continue
        (sh "$step.begun"; rm -f "$step.begun") &
    done
    set -- "$steps"/*.begun
    [ ! -e "$1" ] || used=$(date +%s)
    sleep 0.2
done
rm -f "jobs/$SLURM_JOB_ID.out"
"""


# What runs there sees a job of the run's own nodes.
_ITS_NODES = """\
export SLURM_JOB_NODELIST="$SLURM_STEP_NODELIST" SLURM_NODELIST="$SLURM_STEP_NODELIST"
export SLURM_JOB_NUM_NODES="$SLURM_STEP_NUM_NODES" SLURM_NNODES="$SLURM_STEP_NUM_NODES"
"""
# An srun that it calls, by itself or as Open MPI does for its daemons, is still one of the job's,
# and would take the first nodes of that. None of srun's variables says which nodes not to take.
_ITS_SRUN = """\
srun=$(command -v srun) && mkdir -p {bin} && cat >{bin}/srun <<END && chmod 700 {bin}/srun || exit 1
#!/bin/sh
exec "$srun" {others} "\\$@"
END
export PATH="$PWD/{bin}:$PATH"
"""


def step_script(
    run_id: str,
    post: str,
    nodes: Sequence[str],
    what: Wrapper,
    work_dir: str,
    others: Sequence[str] = (),
) -> str:
    """What begins a run's step in a campaign's job; ``post``: where it waits for the run;
    ``others``: nodes that are not the run's. It is done in ``work_dir``."""
    serving = command_with(what, work_dir, f'serve "$SLURMD_NODENAME" {post} {STEP_PATIENCE_S}')
    words = [
        *("exec", "srun", "--overlap", f"--job-name={run_id}"),
        *(f"--nodes={len(nodes)}", quote(f"--nodelist={','.join(nodes)}")),
        *(f"--ntasks={len(nodes)}", "--ntasks-per-node=1"),
        *("--kill-on-bad-exit=0", "--wait=0", "sh", "-c"),
    ]
    exclude = quote(f"--exclude={','.join(others)}")
    its_srun = _ITS_SRUN.format(bin=f"jobs/{post}.bin", others=exclude) if others else ""
    return f"{its_srun}{' '.join(words)} {quote(_ITS_NODES + serving)}\n"
