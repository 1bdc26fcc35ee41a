"""``per_node``: the profile's command on every host, which tells it its rank among them."""

from __future__ import annotations

from backends.launchers.launcher import Launcher, Node


def _command(_node: Node, words: tuple[str, ...]) -> tuple[str, ...]:
    return words


LAUNCHER = Launcher(_command, every_node=True)
