"""``srun``: one rank per device, as a step of the job that the run is in; srun(1) of Slurm.

Slurm starts the ranks on all nodes and gives each step its devices; nobody logs in anywhere.
"""

from __future__ import annotations

from backends.launchers.launcher import Launcher, Node


def _command(node: Node, words: tuple[str, ...]) -> tuple[str, ...]:
    case = node.request.case
    names = [site.node_name for site in node.request.sites if site.node_name]
    return (
        "srun",
        *([f"--nodelist={','.join(names)}"] if names else []),  # the job may have others, too
        f"--nodes={case.nodes}",
        f"--ntasks={case.gpus}",
        f"--ntasks-per-node={case.gpus_per_node}",
        "--distribution=block",  # ranks of one node follow each other, as everywhere here
        "--kill-on-bad-exit=1",
        "--label",
        *words,
    )


LAUNCHER = Launcher(_command, every_node=False)
