"""``torchrun``: PyTorch's own launcher on every host, with a static rendezvous on the first."""

from __future__ import annotations

from backends.launchers.launcher import Launcher, Node


def _command(node: Node, words: tuple[str, ...]) -> tuple[str, ...]:
    request, case = node.request, node.request.case
    return (
        *request.settings.get("torchrun", "torchrun").split(),
        f"--nnodes={case.nodes}",
        f"--node-rank={node.rank}",
        f"--nproc-per-node={case.gpus_per_node}",
        f"--master-addr={request.sites[0].address}",
        f"--master-port={request.port}",
        f"--local-addr={node.site.address}",
        *words,
    )


LAUNCHER = Launcher(_command, every_node=True, needs_port=True)
