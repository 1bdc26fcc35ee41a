"""Asking the hosts of a run that does not move what it does, and keeping what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from backends.campaign.record import events as ev
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.run_record import RunRecord
from backends.campaign.run.host_part import Member
from backends.hangs.diagnosis import Diagnosis
from backends.hangs.flight import MOST_BYTES, MOST_BYTES_OF_ALL
from backends.hangs.host_evidence import host_evidence
from backends.hangs.last_lines import last_lines_of_ranks
from backends.hangs.sections import Section, split
from backends.hangs.verdict import diagnose
from backends.hangs.verdict_words import evidence_lines, verdict_line
from backends.remote.wrapper_messages import RemoteError
from backends.results.result_files import write_in_campaign
from backends.transports.transport import HostUnreachableError
from profiles.cleantext import clean_line
from profiles.logs.own_log_names import safe_name

ANSWER_LIMIT_S = 30.0
COLLECT_LIMIT_S = 30.0
"""For all hosts together, at once; what has not come by then is not waited for."""
HOST_BYTES = 16 << 20
"""Of one host's answer; its own limits are for each piece."""
SHOWN_BYTES = 400_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where what the hosts say is kept, and of what devices they say it.

    Parameters
    ----------
    campaign: its directory; text: the file in it that people read; raw: a directory in it.
    on_gpus: else the run's devices are CPUs.
    """

    campaign: Path
    text: str
    raw: str
    on_gpus: bool


async def all_answer(members: Sequence[Member], run_id: str) -> bool:
    """Whether every host of the run can be asked at this moment."""

    async def answers(member: Member) -> bool:
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                await member.remote.status(run_id)
        except (HostUnreachableError, TimeoutError):
            return False
        except RemoteError:
            pass  # a strange answer is one
        return True

    return all(await asyncio.gather(*map(answers, members)))


class Diagnoser:
    """Asks the hosts of one run, when it is silent or when somebody wants to know.

    ``note``: told what went wrong meanwhile.
    """

    def __init__(
        self,
        run: RunRecord,
        members: Sequence[Member],
        recorder: Recorder,
        evidence: Evidence,
        clock: Callable[[], float],
        note: Callable[[str], None],
    ) -> None:
        self._run = run
        self._members = members
        self._recorder = recorder
        self._evidence = evidence
        self._clock = clock
        self._note = note
        self._wanted = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()

    def request(self) -> None:
        self._wanted.set()

    async def answer_requests(self) -> None:
        """Until cancelled."""
        while True:
            await self._wanted.wait()
            await self.ask()
            self._wanted.clear()

    async def ask(self, limit_s: float = COLLECT_LIMIT_S) -> Diagnosis:
        """What keeps the run: journaled, and the evidence kept.

        Takes ``limit_s`` at most, and what the local disk takes; ends nothing.
        """
        async with self._one_at_a_time:
            answers = await asyncio.gather(*(self._told(m, limit_s) for m in self._members))
            now = self._clock()
            found, problem = await asyncio.to_thread(self._judged, answers, now)
            if problem:
                self._note(problem)
            event = ev.RunDiagnosed(t=now, run_id=self._run.run_id, diagnosis=found)
            await self._recorder.record(event)
            return found

    async def _told(self, member: Member, limit_s: float) -> bytes | str:
        """A host's answer, or why there is none."""
        try:
            async with asyncio.timeout(limit_s):
                return await member.remote.diagnose(self._run.run_id)
        except TimeoutError:
            return f"did not answer within {limit_s:g} s"
        except (HostUnreachableError, RemoteError) as error:
            return str(error)

    def _judged(self, answers: Sequence[bytes | str], now: float) -> tuple[Diagnosis, str]:
        """And why the evidence could not be written; empty when it was."""
        run, where = self._run, self._evidence
        devices = run.devices if where.on_gpus else {}
        told = {m.name: answer for m, answer in zip(self._members, answers, strict=True)}
        pieces = {
            name: split(answer[:HOST_BYTES]) if isinstance(answer, bytes) else None
            for name, answer in told.items()
        }
        files, problem = _kept(told, pieces, where)
        every = chain.from_iterable(sections or () for sections in pieces.values())
        dumps = sum(section.name == "flight" and section.status == 0 for section in every)
        dump_bytes = min(MOST_BYTES, MOST_BYTES_OF_ALL // max(1, dumps))
        found = diagnose(
            [
                host_evidence(name, devices.get(name, ()), sections, dump_bytes)
                for name, sections in pieces.items()
            ],
            world=run.nodes * run.gpus_per_node,
            run_s=max(0.0, now - (run.started_at or now)),
            now=now,
            bus_ids={(m.name, i): bus for m in self._members for i, bus in m.bus_ids.items()},
            files=files,
        )
        silent = {name: answer for name, answer in told.items() if isinstance(answer, str)}
        try:
            write_in_campaign(where.campaign / where.text, _shown(found, pieces, silent))
        except OSError as error:
            problem = f"cannot write {where.text}: {error.strerror}"
        return found, problem


def _kept(
    answers: Mapping[str, bytes | str],
    pieces: Mapping[str, tuple[Section, ...] | None],
    where: Evidence,
) -> tuple[tuple[str, ...], str]:
    """Each host's answer as it came, and the dumps in it as PyTorch's own tool wants them; with
    why one could not be written."""
    contents = {f"{safe_name(h)}.txt": a for h, a in answers.items() if isinstance(a, bytes)}
    for section in chain.from_iterable(s or () for s in pieces.values()):
        if section.name == "flight" and section.status == 0 and section.number is not None:
            contents[f"flight_{section.number}"] = section.content
    files: list[str] = []
    for name, content in contents.items():
        try:
            write_in_campaign(where.campaign / where.raw / name, content[:HOST_BYTES])
        except OSError as error:
            return tuple(files), f"cannot write {where.raw}/{name}: {error.strerror}"
        files.append(f"{where.raw}/{name}")
    return tuple(files), ""


def _shown(
    found: Diagnosis,
    pieces: Mapping[str, tuple[Section, ...] | None],
    silent: Mapping[str, str],
) -> str:
    """All of it that is text, safe to show; the verdict first."""
    lines = [verdict_line(found), *evidence_lines(found)]
    for host, sections in pieces.items():
        lines += ["", f"== {host}", *([silent[host]] if host in silent else [])]
        for section in sections or ():
            if section.name == "flight" and section.status == 0:
                continue
            about = "" if section.argument == "-" else f" {section.argument}"
            ended = "" if section.status is not None else ", cut short"
            lines += ["", f"== {host} {section.name}{about}{ended}"]
            content = section.content[:SHOWN_BYTES].rstrip(b"\n")
            lines += [clean_line(line) for line in content.split(b"\n")]
            if section.name == "lines" and (last := last_lines_of_ranks(content)):
                lines += ["", f"== {host} last line of each rank"]
                lines += [f"{rank}: {line}" for rank, line in last.items()]
    return "\n".join(lines) + "\n"
