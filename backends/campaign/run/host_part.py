"""One host's part in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from backends.campaign.folder.raw_log_writer import RawLog
from backends.campaign.run.reconnect import Contact
from backends.launchers.launcher import HostCommand
from backends.remote.client import RemoteHost
from backends.remote.wrapper_messages import StagedTree
from backends.results.run_result import COST_PER_HOUR
from profiles.format.profile import Profile
from profiles.format.regex.backtracking import LINE_LIMIT
from profiles.logs.failures import BUILT_IN, Failure, FailureScanner, from_profile
from profiles.throughput.measure_run import Measurement


@dataclass(slots=True)
class Member:
    """One host's part in a run. ``bus_ids``: of its GPUs, by index, as they were before the run."""

    name: str
    remote: RemoteHost
    command: HostCommand
    log: RawLog
    contact: Contact
    stage: tuple[StagedTree, ...] = ()
    price_per_hour: float | None = None  # of one of its devices
    bus_ids: Mapping[int, str] = field(default_factory=dict)

    @property
    def passive(self) -> bool:
        """Takes part without a process of ours: held for the launcher's remote ranks."""
        return not self.command.argv


def priced(measured: Measurement, members: Sequence[Member], devices_each: int) -> Measurement:
    """With what an hour of the run's devices costs as a metric, where all hosts have a price."""
    prices = [member.price_per_hour for member in members if member.price_per_hour is not None]
    if len(prices) < len(members):
        return measured
    metrics = {**measured.metrics, COST_PER_HOUR: devices_each * sum(prices)}
    return replace(measured, metrics=metrics)


class FailureLog:
    """The named failures in a log that is not parsed for readings."""

    def __init__(self, profile: Profile) -> None:
        self._scanner = FailureScanner((*from_profile(profile), *BUILT_IN))
        self._rest = b""

    def take(self, data: bytes) -> None:
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if end:
            self._scanner.feed((self._rest + data[:end]).replace(b"\r", b"\n"))
            self._rest = b""
        self._rest = (self._rest + data[end:])[:LINE_LIMIT]

    @property
    def failures(self) -> tuple[Failure, ...]:
        if self._rest:
            self._scanner.feed(self._rest + b"\n")
            self._rest = b""
        return self._scanner.failures
