"""What happens to a campaign's files while no console works on it: by hand, by a newer version, by
a disk that forgets."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.simulation.login import Process
from tests.simulation.workloads import profile_text
from tests.simulation.world import World

NESTED = b"[" * 100_000
COPY = "copy-"


class Acts:
    """Each method does one thing to the campaign.

    Parameters
    ----------
    command: runs ``dlperf-tui`` with these words to its end.
    """

    def __init__(
        self,
        world: World,
        chance: random.Random,
        profile: str,
        command: Callable[..., Process],
    ) -> None:
        self._world = world
        self._chance = chance
        self._profile = profile
        self._command = command
        self.kinds: Mapping[str, Callable[[Path], None]] = {
            "edit the profile": self._edit_profile,
            "newer journal": self._newer_journal,
            "damaged journal": self._damage,
            "copy": self._copy,
        }

    def do(self, kind: str, campaign: Path) -> None:
        self._world.note(f"act: {kind}")
        self.kinds[kind](campaign)

    def _edit_profile(self, campaign: Path) -> None:
        """Today's profile gives other figures and other commands than the campaign began with."""
        path = self._world.root / "profiles" / f"{self._profile}.toml"
        path.write_text(profile_text(self._chance, self._profile))
        self._world.files.keep(path)

    def _newer_journal(self, campaign: Path) -> None:
        """A newer version has written it: this one refuses, touches nothing, starts nothing."""
        journal = campaign / "events.jsonl"
        before = journal.read_bytes()
        first, newline, rest = before.partition(b"\n")
        if not newline or b'"schema":' not in first:
            return
        head, _, tail = first.partition(b'"schema":')
        newer = head + b'"schema":99' + tail.lstrip(b"0123456789") + newline + rest
        journal.write_bytes(newer)
        self._world.files.keep(journal)
        verb = self._chance.choice(("resume", "cancel", "status"))
        process = self._command(verb, campaign.name)
        if process.status == 0:
            self._world.violated(f"{process}: goes on with a journal of a newer version")
        if journal.read_bytes() != newer:
            self._world.violated(f"{process}: writes to a journal of a newer version")
        if any(f"{process} → " in line and ": start " in line for line in self._world.trace):
            self._world.violated(f"{process}: starts something for a newer journal")
        journal.write_bytes(before)
        self._world.files.keep(journal)

    def _damage(self, campaign: Path) -> None:
        """Some lines of the journal are damaged, or those that say where a live run is."""
        journal = campaign / "events.jsonl"
        lines = journal.read_bytes().split(b"\n")
        candidates = range(1, len(lines) - 1)  # not the beginning
        numbers = self._chance.sample(candidates, min(len(candidates), 3))
        live = _live_runs(lines)
        if live and self._chance.random() < 0.5:
            run_id = self._chance.choice(live)
            numbers = [n for n in candidates if run_id in lines[n] and _places(lines[n])]
        self._world.unplaced |= {
            run_id.decode() for run_id in _of(b"RunAssigned", [lines[n] for n in numbers])
        }
        for number in numbers:
            line = lines[number]
            self._world.note(f"act: line {number + 1} is damaged: {line[:60].decode()}")
            lines[number] = self._chance.choice(
                (b"", line[: len(line) // 2], b"\0" * len(line), line.replace(b":", b";"), NESTED)
            )
        journal.write_bytes(b"\n".join(lines))
        self._world.files.keep(journal)
        told = set(_of(b"RunPaused", lines))  # each pause is told twice; who loses both loses it
        self._world.paused &= {run_id.decode() for run_id in told}

    def _copy(self, campaign: Path) -> None:
        """Somebody copies the directory, and goes on with the copy."""
        copy = campaign.with_name(COPY + campaign.name)
        if copy.exists():
            return
        shutil.copytree(campaign, copy)
        for path in copy.rglob("*"):
            if path.is_file():
                self._world.files.keep(path)
        words = (("resume",), ("cancel",), ("status",), ("resume", "--adopt"))
        verb, *options = self._chance.choice(words)
        self._command(verb, copy.name, *options)


def _of(kind: bytes, lines: list[bytes]) -> list[bytes]:
    """The runs that whole lines of this kind are about."""
    head = b'{"kind":"%s"' % kind
    whole = (line for line in lines if line.startswith(head) and line.endswith(b"}"))
    told = (line.partition(b'"run_id":')[2].split(b",")[0] for line in whole)
    return [run_id.rstrip(b"}").strip(b'"') for run_id in told]


def _live_runs(lines: list[bytes]) -> list[bytes]:
    ends = (b"RunSucceeded", b"RunFailed", b"RunCancelled")
    ended = {run_id for kind in ends for run_id in _of(kind, lines)}
    return [run_id for run_id in _of(b"RunLaunched", lines) if run_id not in ended]


def _places(line: bytes) -> bool:
    return line.startswith((b'{"kind":"RunAssigned"', b'{"kind":"RunLaunched"'))
