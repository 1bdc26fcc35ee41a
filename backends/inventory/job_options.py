"""What a queue is asked for besides hosts and time: partition, account and the like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any  # the kinds of TOML and JSON


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What the operator asks of the queue for every run. ``extra``: words for sbatch, verbatim.

    ``exclusive``: whole nodes; ``requeue``: the queue may run the job again by itself.
    ``time``: of a job, a duration; None: what its runs may take. ``patience``: for so long a job
    that has its nodes waits for somebody to start its run. ``allocation``: a job for each run, or
    one for all of a campaign's, of ``nodes`` at least. ``asked``: of the command line; they win.
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    reservation: str = ""
    constraint: str = ""
    nodelist: str = ""
    exclude: str = ""
    nice: int | None = None
    time: str | None = None
    patience: str = "15m"
    exclusive: bool = True
    requeue: bool = False
    allocation: str = "run"
    nodes: int | None = None
    extra: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()

    def over(self, table: Mapping[str, Any]) -> JobOptions:
        """With these in place of its own; ``extra`` ones come after."""
        extra = (*self.extra, *table.get("extra", ()))
        return replace(self, **{**table, "extra": extra})


@dataclass(frozen=True, slots=True)
class JobsAsked:
    """What one command asks of a queue, over what the inventory says. ``words``: for sbatch;
    ``allocation``: None: as it says; ``clusters``: these of its several, or partitions by name."""

    words: tuple[str, ...] = ()
    allocation: str | None = None
    clusters: tuple[str, ...] = ()

    def over(self, options: JobOptions) -> JobOptions:
        allocation = self.allocation or options.allocation
        return replace(options, allocation=allocation, asked=(*options.asked, *self.words))


def options_of(table: Mapping[str, Any]) -> JobOptions:
    """Checked: their values reach the lines of a script.

    Raises
    ------
    ValueError: a key is unknown, or its value is not allowed.
    """
    from pydantic import ConfigDict, TypeAdapter, with_config  # noqa: PLC0415 (takes its time)

    checked = TypeAdapter(with_config(ConfigDict(extra="forbid"))(JobOptions))
    options = checked.validate_python(dict(table))
    for value in (*asdict(options).values(), *options.extra, *options.asked):
        if isinstance(value, str) and not (value.isprintable() and value.isascii()):
            raise ValueError(f"{value!r} is no word of sbatch's")
    return options
