"""What goes wrong in a round of chaos: chosen by a seed, its effect as real as the hosts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.state import CampaignState, RunState
from profiles.errors import DlperfError
from tests.support.netns import NamespaceHosts
from tests.support.processes import children, kill


class Trouble:
    """Things that can happen to the hosts, and to the files of a campaign.

    Parameters
    ----------
    campaign: where it is; None: there is none yet.
    say: gets a line for each thing that happens.
    """

    def __init__(
        self,
        machines: NamespaceHosts,
        chance: random.Random,
        campaign: Callable[[], Path | None],
        say: Callable[[str], None],
    ) -> None:
        self._machines = machines
        self._chance = chance
        self._campaign = campaign
        self._say = say
        self._mend_at: dict[int, float] = {}
        self._down: set[int] = set()
        self.kinds: Mapping[str, Callable[[], None]] = {
            "cut": self._cut,
            "blackhole": self._blackhole,
            "reset": self._reset,
            "sessions": self._sessions,
            "crash": self._crash,
            "tamper": self._tamper,
        }

    def something(self) -> None:
        self.kinds[self._chance.choice(sorted(self.kinds))]()

    def mend_what_is_due(self) -> None:
        """Bring back what was away for long enough."""
        for number, at in list(self._mend_at.items()):
            if time.monotonic() >= at:
                self._mend(number)

    def mend_all(self) -> None:
        for number in list(self._mend_at):
            self._mend(number)

    def _mend(self, number: int) -> None:
        del self._mend_at[number]
        self._say(f"node{number} is back")
        if number in self._down:
            self._down.discard(number)
            self._machines.boot(number)
        else:
            self._machines.mend(number)

    def _victim(self) -> int | None:
        """A host that nothing is wrong with; it will have trouble for a few seconds."""
        well = [n for n in range(1, len(self._machines.served) + 1) if n not in self._mend_at]
        if not well:
            return None
        number = self._chance.choice(well)
        self._mend_at[number] = time.monotonic() + self._chance.uniform(0.5, 12.0)
        return number

    def _cut(self) -> None:
        if (number := self._victim()) is not None:
            self._say(f"node{number}: its cable is pulled")
            self._machines.cut(number)

    def _blackhole(self) -> None:
        if (number := self._victim()) is not None:
            self._say(f"node{number}: every packet is dropped")
            self._machines.blackhole(number)

    def _reset(self) -> None:
        if (number := self._victim()) is not None:
            self._say(f"node{number}: every connection is reset")
            self._machines.reset(number)

    def _crash(self) -> None:
        if (number := self._victim()) is not None:
            self._say(f"node{number}: its power is gone")
            self._down.add(number)
            self._machines.crash(number)

    def _sessions(self) -> None:
        """The server's processes for the present connections are killed."""
        served = self._chance.choice(self._machines.served)
        if served.process is None:
            return
        self._say(f"{served.host.name}: its sessions are killed")
        for sshd in children(served.process.pid):
            for session in children(sshd):
                if b"sshd" in _command(session):
                    kill(session)

    def _tamper(self) -> None:
        """A log that grows here is removed, emptied or edited."""
        campaign = self._campaign()
        if campaign is None:
            return
        live = [r for r in state_of(campaign).runs.values() if r.state is RunState.RUNNING]
        logs = [campaign / run.log for run in live if (campaign / run.log).exists()]
        if not logs:
            return
        log = self._chance.choice(logs)
        how = self._chance.choice(("rm", "empty", "edit"))
        self._say(f"{how} {log.name}")
        if how == "rm":
            log.unlink()
        elif how == "empty":
            log.write_bytes(b"")
        else:
            aside = log.with_suffix(".new")
            aside.write_bytes(log.read_bytes().replace(b"samples", b"simples"))
            aside.replace(log)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def state_of(campaign: Path) -> CampaignState:
    try:
        return read_campaign(campaign)
    except DlperfError:
        return CampaignState()
