"""``first_node``: the profile's command on the first host; it starts ranks on the others itself."""

from __future__ import annotations

from backends.launchers.launcher import Launcher, Node


def _command(_node: Node, words: tuple[str, ...]) -> tuple[str, ...]:
    return words


LAUNCHER = Launcher(_command, every_node=False)
