"""A run as a batch script that needs nothing of ours on the nodes or the login node. Pure.

It does what the run would do: a directory of its own on every node with a copy of what is staged,
the launcher's command there, and one log a node, named as in a campaign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backends.engines.plain_job import PlainJob
from backends.engines.slurm.batch_script import JobRequest, sbatch_words
from backends.inventory.job_options import JobOptions
from backends.launchers.launcher import HostCommand
from backends.launchers.symbols import (
    ADDRESS,
    DEVICE,
    DEVICES,
    NODE,
    PORT,
    RUN_ID,
    shell_lines,
    shell_word,
    uses,
)


def plain_script(job: PlainJob, request: JobRequest, options: JobOptions) -> str:
    """What ``sbatch`` is given."""
    output = f"{job.path.removesuffix('.sh')}.%j.out"
    words = sbatch_words(replace(request, run_id=job.name), options, output)
    parts = [
        "#!/bin/sh\n" + "".join(f"#SBATCH {word}\n" for word in words),
        _head(job),
        _on_the_first_node(job),
        _on_each_node(job, request),
        _commands(job.commands),
    ]
    return "\n".join(parts)


def _head(job: PlainJob) -> str:
    return f"""\
# {job.title}
# To be handed in from the directory of submit.sh, which all nodes have to see.

self={job.path}
log={job.log}
cd "${{SLURM_SUBMIT_DIR:?is set by sbatch}}" && [ -f "$self" ] ||
    {{ echo "hand $self in from the directory of submit.sh" >&2; exit 2; }}
"""


def _on_the_first_node(job: PlainJob) -> str:
    """What every node has to know; then, where each has its part, this script again on each."""
    lines = [f'export {RUN_ID}="{job.name}-$SLURM_JOB_ID"']
    if any(uses(command, PORT) for command in job.commands):
        lines.append(f'export {PORT}="$((20000 + SLURM_JOB_ID % 10000))"')
    if any(uses(command, NODE, ADDRESS) for command in job.commands):
        lines += _NAMES.splitlines()
    if not job.everywhere:
        return "".join(f"{line}\n" for line in lines)
    lines.append('exec srun --overlap --ntasks-per-node=1 --kill-on-bad-exit=1 sh "$self" node')
    body = "".join(f"    {line}\n" for line in lines)
    return f'if [ "${{1-}}" != node ]; then\n{body}fi\n'


_NAMES = f"""\
number=0
for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
    number=$((number + 1))
    address=$(scontrol -o show node "$node" | sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')
    export "{NODE}$number=$node" "{ADDRESS}$number=${{address:-$node}}"
done
"""


def _on_each_node(job: PlainJob, request: JobRequest) -> str:
    removal = f'; {job.remove} "$container" >/dev/null 2>&1' if job.remove else ""
    return f"""\
mkdir -p "${{log%/*}}"
[ "$SLURM_NODEID" = 0 ] || log=${{log%.log}}.$SLURMD_NODENAME.log
exec >"$log" 2>&1
work=$PWD/{job.work}/${RUN_ID}.$SLURM_NODEID
trap 'cd /; rm -rf "$work"{removal}' EXIT
trap 'exit 143' HUP INT TERM
mkdir -p "$work" && cp -R {job.stage}/. "$work" && cd "$work" || exit
export DLPERF_HOST="$SLURMD_NODENAME"
{_devices(job, request)}"""


def _devices(job: PlainJob, request: JobRequest) -> str:
    """Those that Slurm gave, of which the run takes as many as it asked for."""

    def used(name: str) -> bool:
        return any(uses(command, name) for command in job.commands)

    count = request.gpus_per_node
    each = [number for number in range(1, count + 1) if used(f"{DEVICE}{number}")]
    if not each and not used(DEVICES):
        return ""
    first = ",".join(map(str, range(count)))
    lines = [f'{DEVICES}=$(echo "${{CUDA_VISIBLE_DEVICES:-{first}}}" | cut -d, -f-{count})']
    lines += [f'{DEVICE}{number}=$(echo "${DEVICES}" | cut -d, -f{number})' for number in each]
    return "".join(f"{line}\n" for line in lines)


def _commands(commands: Sequence[HostCommand]) -> str:
    """Of the node that this is; where all have the same, without asking."""
    texts = [shell_lines(command) for command in commands if command.argv]
    if all(text == texts[0] for text in texts):
        return "\n".join(texts[0]) + "\n"
    cases = [
        f"{node})\n" + "".join(f"    {line}\n" for line in text) + "    ;;\n"
        for node, text in enumerate(texts)
    ]
    return 'case "$SLURM_NODEID" in\n' + "".join(cases) + "esac\n"


def submit_script(paths: Sequence[str]) -> str:
    """Hands them in, in this order; its arguments are more options for every sbatch."""
    lines = "".join(f'sbatch "$@" {shell_word(path)}\n' for path in paths)
    return f"""\
#!/bin/sh
# Hands in every run, in the campaign's order; options of sbatch may follow: sh submit.sh -p short
set -eu
cd "$(dirname "$0")"
{lines}"""
