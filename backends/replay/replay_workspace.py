"""What the console asks of its engine, answered from a recording: no host is ever asked."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.folder.artifacts import ENVIRONMENT
from backends.campaign.folder.recorded_hosts import recorded_hosts, with_findings
from backends.campaign.record.lock import Holder, Role
from backends.cluster import Cluster
from backends.engines.hosts_schedule import Slot
from backends.hosts.host_facts import HostSnapshot
from backends.inventory.host_entry import Host, Inventory
from backends.replay.playback import Playback, told
from backends.replay.recording import Recording, read_recording
from backends.replay.replay_clock import ReplayClock, speed_for
from backends.use_cases import Workspace
from profiles.cleantext import clean_text
from profiles.errors import DlperfError

if TYPE_CHECKING:
    from backends.transports.pool import TransportPool

JUST_NOW_S = 1.0
"""Real seconds."""


class RecordedCluster(Cluster):
    """The hosts of a recorded campaign as they were when it began."""

    def __init__(
        self,
        recorded: Sequence[HostSnapshot],
        where: Path,
        login: str,
        clock: Callable[[], float],
        *,
        simulated: bool,
    ) -> None:
        hosts = tuple(
            Host(one.name, address=one.address, slots=one.slots or None) for one in recorded
        )
        super().__init__(Inventory(hosts, path=where), clock=clock)
        self.login_host = login or self.login_host
        self._known = {one.name: one for one in recorded}
        self._were_simulated = simulated

    @property
    def simulated(self) -> bool:
        """They were made up when they were recorded."""
        return self._were_simulated

    @property
    def pool(self) -> TransportPool:
        """There is none: whatever wants a host is refused here."""
        raise DlperfError(
            "a replay asks no host anything",
            remedy="leave it with q, and start dlperf-tui without replay",
        )

    async def close(self) -> None:
        """There is nothing to close."""

    async def probe(self, names: Sequence[str] | None = None, **_: object) -> None:
        """Nothing: they are what they were."""

    def will_probe(self, names: Sequence[str] | None = None) -> Sequence[Host]:
        """None, as :meth:`probe`."""
        return ()

    async def refresh(self, older_than_s: float, among: Sequence[Host] | None = None) -> None:
        """As :meth:`probe`."""

    async def watch(self, name: str, take: Callable[[bytes], None]) -> None:
        """Nothing comes."""

    async def offered_engine(self) -> str:
        return ""


class ReplayWorkspace(Workspace):
    """Plays ``source``, a campaign's directory, from its beginning; close it when done. ``speed``:
    None is as fast as can be followed.

    Its time is that of the moment it was brought to last, not that of its clock, which runs on
    while a journal is read. Who shows it brings it to one moment after the other:
    :meth:`advance`, load :attr:`playback`, :meth:`reach`, :meth:`catch_up`.

    Raises
    ------
    DlperfError: it cannot be replayed; see :func:`backends.replay.recording.read_recording`.
    """

    def __init__(
        self,
        source: Path,
        speed: float | None,
        *,
        profile_dirs: Sequence[Path] = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._recording = read_recording(source)
        begin, end = self._recording.begin, self._recording.end
        self.replay_clock = ReplayClock(begin, end, speed or speed_for(end - begin), monotonic)
        self.moment = begin
        """What is shown, seconds since the epoch."""
        self._read_until = begin
        with told(tempfile.gettempdir()):
            self._directory = tempfile.TemporaryDirectory(prefix="dlperf-tui-replay-")
        self._logs_written = source
        self._times = 0
        self._past: Path | None = None
        self._turn = threading.Lock()
        self._closed = False
        super().__init__(
            Inventory(()),
            None,
            Path(self._directory.name),
            profile_dirs=profile_dirs,
            clock=lambda: self._read_until,
        )
        host = clean_text(self._recording.host)
        self.cluster = RecordedCluster(
            [with_findings(one, self._recording.found) for one in recorded_hosts(source, begin)],
            source / ENVIRONMENT,
            host,
            lambda: self.moment,
            simulated=self._recording.simulated,
        )
        self._holder = Holder("a replay", host, 0, 0, "", Role.REPLAY)
        self._playback = self._begin(begin, None)

    @property
    def recording(self) -> Recording:
        return self._recording

    @property
    def recorded_slots(self) -> Mapping[str, Slot]:
        return self._recording.slots

    @property
    def playback(self) -> Path:
        """The campaign as it is at this moment of the replay."""
        return self._playback.directory

    def advance(self) -> bool:
        """Bring the journal to the clock's moment; False: it was there. Blocking.

        What came before what is shown is another directory, whole; the one that was shown is there
        until the next call. Raises DlperfError: it is where it was.
        """
        with self._turn:
            now, before = self.replay_clock(), self._read_until
            if self._past is not None:
                shutil.rmtree(self._past, ignore_errors=True)
                self._past = None
            if self._closed or now == before:
                return False
            if now < before:
                old, self._playback = self._playback, self._begin(now, self._playback)
                self._past = old.directory.parent
            else:
                self._playback.tell(now)
            self._read_until = now
            return True

    def reach(self) -> None:
        """What was read is shown from now on."""
        self.moment = self._read_until

    def catch_up(self) -> None:
        """Bring logs and telemetry to that moment, too. Blocking. Raises DlperfError."""
        with self._turn:
            if not self._closed:
                self._playback.show(self._read_until)

    def turn(self, direction: int) -> float:
        """When a run began or ended, the next after the clock's moment; -1: the last before it, or
        before where it was brought a moment ago, by who goes back step by step."""
        clock = self.replay_clock
        turns = self._recording.turns
        if direction > 0:
            now = clock()
            return next((t for t in turns if t > now), clock.end)
        last = bisect_left(turns, clock.lately(JUST_NOW_S)) - 1
        return turns[last] if last >= 0 else clock.begin

    def _begin(self, now: float, before: Playback | None) -> Playback:
        self._times += 1
        place = self.campaigns_dir / str(self._times)
        name = self._recording.source.resolve().name
        try:
            playback = Playback(self._recording, place / name, before=before, now=now)
            playback.show(now)
        except DlperfError:
            shutil.rmtree(place, ignore_errors=True)
            raise
        self.__dict__.pop("_views", None)  # what they keep is of another directory
        return playback

    def writer(self, path: Path) -> Holder | None:
        return self._holder

    async def close(self) -> None:
        await super().close()
        await asyncio.to_thread(self._remove)

    def _remove(self) -> None:
        with self._turn:
            self._closed = True
            self._directory.cleanup()
