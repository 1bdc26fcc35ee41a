"""A run that a queue is to do without us, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from backends.launchers.launcher import HostCommand


@dataclass(frozen=True, slots=True)
class PlainJob:
    """One run. Paths are relative to the directory that jobs are handed in from.

    ``name``: of the job; ``path``: of its script; ``log``: of rank 0's host; ``stage``: what every
    node gets a copy of; ``work``: where nodes make their directories. ``commands``: by node, with
    symbols; ``remove``: the words that remove a container whose name follows; empty: there is none.
    """

    name: str
    title: str
    path: str
    log: str
    stage: str
    work: str
    commands: tuple[HostCommand, ...]
    remove: str = ""

    @property
    def everywhere(self) -> bool:
        """Whether more is started than the command of the first node."""
        return any(command.argv for command in self.commands[1:])
