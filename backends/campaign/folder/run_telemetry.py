"""The telemetry of one run, read from its campaign while it is written."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from backends.campaign.folder.growing_log import GrowingLog
from backends.campaign.folder.paths import telemetry_path
from backends.campaign.folder.refuse_foreign_files import ForeignFileError
from backends.hosts.live_telemetry import LiveTelemetry

MOST_BYTES_AT_ONCE = 4 << 20


class RunTelemetry:
    """What the hosts of a run tell, by name; empty where there is no file yet."""

    def __init__(self, campaign: Path, run_id: str, hosts: Sequence[str]) -> None:
        self.hosts: Mapping[str, LiveTelemetry] = {host: LiveTelemetry() for host in hosts}
        self._files = {host: GrowingLog(campaign, telemetry_path(run_id, host)) for host in hosts}
        self._begun = dict.fromkeys(hosts, 0)
        self._reading = threading.Lock()
        self._closed = False

    def read(self) -> bool:
        """Take in what was written since the last call; whether there may be more. Blocking."""
        with self._reading:
            more = [self._read(host, file) for host, file in self._files.items()]
            if self._closed:
                self._close_files()
            return any(more)

    def _read(self, host: str, file: GrowingLog) -> bool:
        taken = 0
        try:
            for data in () if self._closed else file.read():
                if file.begun_anew != self._begun[host]:
                    self._begun[host] = file.begun_anew
                    self.hosts[host].clear()
                self.hosts[host].feed(data)
                taken += len(data)
                if taken >= MOST_BYTES_AT_ONCE:
                    return True
        except ForeignFileError:
            return False
        return False

    def close(self) -> None:
        """At once, or when a :meth:`read` at work in another thread is done."""
        self._closed = True
        if self._reading.acquire(blocking=False):
            self._close_files()
            self._reading.release()

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()
