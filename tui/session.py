"""What the pages share: the workspace, the campaign at work, and the campaign looked at."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.record.lock import CampaignLock
from profiles.counted import counted
from profiles.durations import format_duration
from profiles.errors import DlperfError
from tui.kept_words import DESERTED
from tui.log_look import LogLook

if TYPE_CHECKING:
    from backends.campaign.folder.remove import Removable
    from backends.campaign.folder.tags_and_note import About
    from backends.campaign.plan.plan import Plan
    from backends.campaign.record.run_view import RunView
    from backends.campaign.record.status_view import CampaignSnapshot
    from backends.engines.hosts_schedule import Slot
    from backends.hosts.host_facts import HostSnapshot
    from backends.hosts.preflight_finding import Finding
    from backends.keeper.process import Begun
    from backends.keeper.request import Verb
    from backends.precheck.judged import Judged
    from tui.backend_protocols import CampaignSummary, Controller, Workspace
    from tui.precheck_at_work import PrecheckAtWork
    from tui.side_by_side import Side
    from tui.widgets.seek_bar import SeekBar


Note = tuple[float, str, str]
"""Of a campaign as a whole: when, how grave, in words."""
ReadNote = tuple[float | None, str, str]


class Session:
    """One operator's sitting. Holds at most one campaign at work and one that is looked at."""

    def __init__(
        self, workspace: Workspace, *, readonly: bool = False, marks_file: Path | None = None
    ) -> None:
        self.workspace = workspace
        self.readonly = readonly
        self.marks_file = marks_file
        """Where it is kept what is marked on Matrix; None: nowhere."""
        self.left_file = None if marks_file is None else marks_file.with_name("left")
        """Is as old as it is that a console was left; None: that is not kept."""
        self.controller: Controller | None = None
        self.opened: CampaignSnapshot | None = None
        self.followed = False
        """What is opened had runs to do when it was looked at, now or before."""
        self._lost: CampaignSnapshot | None = None  # opened, and no longer readable
        self._written: tuple[int, ...] | None = None  # its journal, before it was read
        self.last: CampaignSummary | None = None
        self._unfinished = 0  # of those on disk that could be gone on with here
        """The newest campaign, as of when they were read."""
        self.looking = True
        """Whether one opens by itself is not known yet."""
        self.precheck: PrecheckAtWork | None = None
        self.hosts_to_use = ""
        """By name, of the Matrix; empty: all."""
        self.playing: Callable[[], str] | None = None
        """Of a replay: how it plays and where it is, in words."""
        self.seek_bar: Callable[[], SeekBar] | None = None
        """Of a replay: where it is in the time that was recorded."""
        self.recorded_slots: Mapping[str, Slot] | None = None
        """Of a replay: where and when its runs were, by their ids."""
        self.run_to_see = ""
        """By its id: Runs has it under the cursor when that comes to the front; "": as it was."""
        self.moved_to: Path | None = None
        """Where the campaign that was shown lies now, of which that was said last."""
        self.begun_kept: list[Path] = []
        """Campaigns that a keeper started for this console."""
        self.marked: dict[Path, None] = {}
        """Campaigns that are to be compared."""
        self._read: set[tuple[object, Note]] = set()
        self._leaving: asyncio.Task[Begun] | None = None
        self._log_reading: asyncio.Task[None] | None = None
        self._logs_read_of: object = None
        self._log_look = LogLook(workspace)
        self._closed = False
        self._loading = threading.Lock()
        self._on_disk = asyncio.Lock()
        """One change of a campaign's files at a time: each would find the other's lock there."""
        self._removing: set[Path] = set()  # campaigns, or moving them, on request

    @property
    def hosts(self) -> tuple[HostSnapshot, ...]:
        return self.workspace.cluster.snapshots()

    async def judgements(self) -> Mapping[str, Judged]:
        """What prechecks say of hosts; in a thread, where what looks at them loads as well."""

        def read() -> Mapping[str, Judged]:
            return self.workspace.prechecks.judgements()

        return await asyncio.to_thread(read)

    @property
    def untold(self) -> bool:
        """Which hosts there are is for a queue to say, which has not answered yet."""
        cluster = self.workspace.cluster
        return cluster.inventory.login is not None and not (self.hosts or cluster.problem)

    @property
    def alone(self) -> bool:
        """There is no inventory: this machine is the only host."""
        inventory = self.workspace.cluster.inventory
        return inventory.path is None and inventory.login is None

    @property
    def simulated(self) -> bool:
        """The hosts are made up, and go with the console."""
        return self.workspace.cluster.simulated

    @property
    def without(self) -> str:
        """Of a console that shows no campaign: that, and how many were left."""
        left = 0 if self.readonly else self._unfinished
        return f"no campaign{f', {left} unfinished: O' * bool(left)}"

    @property
    def simulated_word(self) -> str:
        """``SIMULATED`` where the hosts are made up, and how fast their time passes now; empty
        where they are real."""
        if (speed := self.workspace.cluster.simulated_speed) is not None:
            return f"SIMULATED, time ≤×{speed:g}"
        return "SIMULATED" * self.simulated

    def told_log(self, run: RunView) -> str:
        """Where its log is; of a replay, which plays a copy that goes with it, in its campaign."""
        if run.log is None or self.viewed_path is None:
            return ""
        if self.playing is None:
            return str(run.log)
        inside = str(run.log).partition(f"/{self.viewed_path.name}/")[2]  # of this copy or another
        return inside or run.log.name

    def told_place(self, where: str) -> str:
        """Where something is wrong: a campaign by its name, as the pages call it, and what is in it
        below that."""
        path, campaigns = Path(where), self.workspace.campaigns_dir.absolute()
        inside = path.is_absolute() and path != campaigns and path.is_relative_to(campaigns)
        return str(path.relative_to(campaigns)) if inside else where

    async def told(self, error: DlperfError) -> DlperfError:
        """The same; of the campaign that is shown, once it lies there no more, that this is so."""
        viewed = self.viewed
        if viewed is None or not Path(error.where).is_relative_to(viewed.path):
            return error
        return await self._gone(viewed) if await asyncio.to_thread(_is_gone, viewed.path) else error

    async def _gone(self, shown: CampaignSnapshot) -> DlperfError:
        """It lies no more where it did; by which name it is there, if it is."""
        from backends.campaign.folder.directory_identity import moved_to  # noqa: PLC0415 (seldom)

        self.moved_to = now = await asyncio.to_thread(moved_to, shown.path, shown.state.place)
        if now is None:
            what, way_on = "it was moved or removed", "O lists what there is"
        else:
            what, way_on = "it was moved", f"it is {now.name} now: O, then Enter opens it"
        return DlperfError(what, where=str(shown.path), remedy=way_on)

    @property
    def now(self) -> float:
        """What time it is for who sits here, seconds since the epoch; ages are told by it."""
        return self.workspace.cluster.own_now()

    @property
    def live(self) -> CampaignSnapshot | None:
        """The campaign at work, as it is now; None when there is none."""
        return self.controller.snapshot() if self.controller else None

    @property
    def viewed(self) -> CampaignSnapshot | None:
        """The campaign that Runs and Results show: the opened one, else the one at work."""
        return self.opened if self.opened is not None else self.live

    @property
    def viewed_path(self) -> Path | None:
        """Of :attr:`viewed`."""
        if self.opened is not None:
            return self.opened.path
        return self.controller.path if self.controller else None

    @property
    def views(self) -> bool:
        """Whether there is a campaign to show."""
        return self.opened is not None or self.controller is not None

    @property
    def at_work(self) -> bool:
        """A campaign is attached and has runs to do."""
        live = self.live
        return live is not None and not live.finished

    @property
    def progress(self) -> tuple[object, ...]:
        """Differs once a campaign that is at work here, or looked at, goes on, ends or is left."""
        known = (self.live, self.opened)
        return tuple((s.identity, s.done, s.total, s.finished, s.deserted) for s in known if s)

    @property
    def leaving(self) -> bool:
        """The campaign that was at work here is being left to a keeper, which has not begun."""
        return self._leaving is not None and not self._leaving.done()

    @property
    def measuring(self) -> bool:
        """A precheck is at work."""
        return self.precheck is not None and not self.precheck.over

    async def ask_after(self, precheck: PrecheckAtWork) -> None:
        """Once it is over, ask the hosts that it had: what is known of them is that it has them."""
        await precheck.ended()
        cluster = self.workspace.cluster
        if not self._closed:
            had = [host for host in cluster.inventory.hosts if host.name in precheck.plan.hosts]
            await cluster.refresh(0.0, had)

    async def open(self, path: Path) -> None:
        """Look at a campaign: the one at work itself, any other read-only."""
        if self.controller is not None and self.controller.path == path:
            self.opened = None
        else:
            opened, self._written = await asyncio.to_thread(self._load, path)
            self.opened, self.followed = opened, not opened.finished
            self.moved_to = None
            self._read_logs_of(opened)

    def _load(self, path: Path) -> tuple[CampaignSnapshot, tuple[int, ...] | None]:
        """What is written after the look at the journal, and read all the same, is read twice."""
        written = _written(path)
        with self._loading:  # a journal is followed by one thread at a time
            return self.workspace.load(path, quick=True), written

    def _read_logs_of(self, opened: CampaignSnapshot) -> None:
        """Nobody waits for it: some may have to be measured again."""
        if opened.logs_unread and not (self._reads_logs and self._logs_read_of == opened.identity):
            self._logs_read_of = opened.identity
            self._log_reading = asyncio.create_task(self._read_logs(opened))

    @property
    def _reads_logs(self) -> bool:
        return self._log_reading is not None and not self._log_reading.done()

    async def _read_logs(self, opened: CampaignSnapshot) -> None:
        """Then it is shown with what became of them, if it is the one that is looked at still."""

        def is_shown() -> bool:
            now = self.opened
            return now is not None and now.identity == opened.identity and not self._closed

        with contextlib.suppress(DlperfError):  # who looks on tells it
            look = partial(self.workspace.log_doubts, opened.path, go_on=is_shown)
            await asyncio.to_thread(look)
            if is_shown():
                now, written = await asyncio.to_thread(self._load, opened.path)
                if is_shown():
                    self.opened, self._written = now, written

    def _load_again(
        self, before: CampaignSnapshot, written: tuple[int, ...] | None
    ) -> tuple[CampaignSnapshot, tuple[int, ...] | None]:
        """One that has ended: only where somebody planned more of it, or changed its logs."""
        same = before.finished and _written(before.path) == written
        if same and (self._reads_logs or not self._log_look.differ(before)):
            return before, written
        return self._load(before.path)

    async def refresh(self) -> None:
        """Bring the campaign that is shown up to date: another console may be at work on an opened
        one, or plan further runs of one that has ended; logs of one that ended here may be changed.

        Raises
        ------
        DlperfError: it cannot be read any more, and no other was opened meanwhile; or it was taken
        away, and is not looked at from then on.
        """
        before = self.opened
        if before is None and self.controller is not None:
            await self._look_at_ours(self.controller)
        if before is None or before is self._lost:
            return
        try:
            now, written = await asyncio.to_thread(self._load_again, before, self._written)
        except DlperfError:
            if self.opened is not before or before.path in self._removing:
                return
            if await asyncio.to_thread(_is_gone, before.path):
                await self._forget(before.path)
                raise await self._gone(before) from None
            self._lost = before  # said once
            raise
        else:
            if self.opened is before:  # and not another one meanwhile
                self.opened, self._written = now, written
                self.followed |= not now.finished
                if now is not before:
                    self._read_logs_of(now)

    async def _look_at_ours(self, ours: Controller) -> None:
        """At what became of it on disk, once it has ended here."""
        shown = ours.snapshot()
        if not shown.finished:
            return
        if await asyncio.to_thread(_is_gone, ours.path):
            if self.controller is not ours or ours.path in self._removing:
                return
            await self._forget(ours.path)
            raise await self._gone(shown)
        if await asyncio.to_thread(self._log_look.differ, shown):
            look = partial(self.workspace.log_doubts, ours.path, go_on=lambda: not self._closed)
            ours.judge_logs(await asyncio.to_thread(look))

    async def campaigns(self) -> Sequence[CampaignSummary]:
        """All campaigns on disk, newest first; read in a thread, for journals can be long."""
        found = await asyncio.to_thread(self.workspace.campaigns)
        self.last = found[0] if found else None
        ours = (one for one in found if one.simulated == self.simulated)
        self._unfinished = sum(one.state == "unfinished" for one in ours)
        return found

    async def sides(self, campaigns: Sequence[CampaignSummary]) -> tuple[Side, ...]:
        """Campaigns to be compared, read in a thread; raises DlperfError where one cannot be."""
        return await asyncio.to_thread(self._sides, campaigns)

    def _sides(self, campaigns: Sequence[CampaignSummary]) -> tuple[Side, ...]:
        from tui.side_by_side import read_sides  # noqa: PLC0415 (seldom needed)

        with self._loading:
            remarks = {str(one.path): self.workspace.remarks(one.path) for one in campaigns}
        return read_sides(self.workspace, campaigns, remarks)

    async def start(
        self, plan: Plan, findings: Sequence[Finding] = (), *, force: bool = False
    ) -> None:
        """Start a campaign and look at it. ``findings``: of preflight; ``force`` overrides them.

        Raises
        ------
        DlperfError: read-only, another campaign is at work, or the engine refuses.
        """
        await self._make_room()
        self.controller = await self.workspace.start(plan, findings, force=force)
        self.opened = None

    async def start_kept(
        self, plan: Plan, findings: Sequence[Finding] = (), *, force: bool = False
    ) -> tuple[Path, Begun]:
        """Start a campaign that a keeper goes on with from the first run on, whatever is at work
        here; where nothing is, it is looked at.

        Raises
        ------
        DlperfError: as :attr:`why_not_kept` says, the engine refuses, or no keeper begins.
        """
        from tui.keeping import leave_new_to_keeper  # noqa: PLC0415 (seldom needed)

        if (refused := self.why_not_kept(plan)) is not None:
            raise refused
        path = await self.workspace.create(plan, findings, force=force)
        begun = await leave_new_to_keeper(self.workspace, path)
        self.begun_kept.append(path)
        if not self.at_work:
            await self.open(path)
        return path, begun

    def why_not_added(self, plan: Plan, findings: Sequence[Finding]) -> str:
        """Why these cannot be runs of the campaign that is at work here; "" where they can."""
        if self.readonly or self.controller is None or not self.at_work:
            return "no campaign is at work here"
        return self.controller.why_not_added(plan, findings)

    def what_is_added(self, plan: Plan) -> str:
        """ "2 runs of 1 new case to it, about 3m30s alone": what of the plan the campaign at work
        here gets, and why it gets no others."""
        if self.controller is None:
            return ""
        new, others = self.controller.to_add(plan)
        told = f"{counted(new.run_count, 'run')} of {counted(len(new.cases), 'new case')} to it"
        if (seconds := new.expected_s) is not None:
            told = f"{told}, about {format_duration(seconds)} alone"
        return f"{told} and no others ({', '.join(others)})" if others else told

    def add(self, plan: Plan, findings: Sequence[Finding]) -> int:
        """To the campaign that is at work here, which is looked at from then on; how many runs.

        Raises
        ------
        DlperfError: :meth:`why_not_added` has a reason.
        """
        self._refuse_readonly()
        why = self.why_not_added(plan, findings)
        if why or self.controller is None:
            raise DlperfError(f"not added: {why}")
        self.opened = None
        return self.controller.add(plan)

    def why_not_kept(self, plan: Plan) -> DlperfError | None:
        """Why :meth:`start_kept` cannot be done; None: it can."""
        if self.readonly:
            return _read_only()
        if self.simulated:
            return _not_kept("a later 'dlperf-tui demo' can go on with what this one leaves")
        from backends.keeper.credentials import why_by_hand  # noqa: PLC0415 (seldom needed)

        logins, used = self.workspace.cluster.let_in_by(), [host.name for host in plan.hosts]
        why = why_by_hand(logins, used)
        return DlperfError(why, remedy="unlock the key in an ssh agent") if why else None

    async def resume(self, path: Path, *, take_over: bool = False) -> None:
        """Attach to a campaign that is not finished; raises like :meth:`start`."""
        await self._make_room()
        self.controller = await self.workspace.resume(path, take_over=take_over)
        self.opened = None

    async def leave_to_keeper(self, path: Path | None = None) -> Begun:
        """Have a keeper go on with the campaign at work, of which this console lets go; or with
        another that nobody is at work on.

        Who asks while the first is going on waits for the same keeper; and who asked may go: it
        begins all the same.

        Raises
        ------
        DlperfError: read-only, or it does not begin; what was at work is so again.
        """
        self._refuse_readonly()
        if self.simulated:
            raise _not_kept("a later 'dlperf-tui demo' can go on with it")
        if path is not None:
            return await self._keeper_of(path)
        leaving = self._leaving
        if leaving is None or leaving.done():
            if self.controller is None:
                raise DlperfError("no campaign is at work")
            leaving = self._leaving = asyncio.create_task(self._leave_ours(self.controller))
        return await asyncio.shield(leaving)

    async def _leave_ours(self, ours: Controller) -> Begun:
        self.controller = None
        try:
            with CampaignLock(ours.path).handing_over():
                await ours.detach()
                await self.open(ours.path)  # what is shown meanwhile, and from then on
                return await self._keeper_of(ours.path)
        except DlperfError:
            self.controller, self.opened = await self.workspace.resume(ours.path), None
            raise

    async def _keeper_of(self, path: Path) -> Begun:
        from tui.keeping import common_options, leave_to_keeper  # noqa: PLC0415 (seldom needed)

        return await leave_to_keeper(path, common_options(self.workspace))

    def replay_command(self, path: Path) -> list[str]:
        """Of a console of its own over what is recorded of a campaign."""
        from tui.keeping import common_options, replay_command  # noqa: PLC0415 (seldom needed)

        return replay_command(path, common_options(self.workspace))

    async def ask(
        self, verb: Verb, run_ids: Sequence[str] | None = None, *, repeats: int = 0
    ) -> str:
        """Ask whoever is at work on the campaign that is looked at; the answer.

        Raises
        ------
        DlperfError: it is refused, nobody answers, or nobody is at work on it.
        """
        if self.opened is not None:
            self._refuse_measured(self.opened)
            asked = self.workspace.changes.ask(self.opened.path, verb, run_ids, repeats=repeats)
            if (answer := await asked) is not None:
                return answer.text
        raise DlperfError(DESERTED, remedy="O, then r goes on with it, and b leaves it to a keeper")

    def _refuse_measured(self, opened: CampaignSnapshot) -> None:
        if self.simulated and not opened.simulated:
            raise DlperfError(
                "this campaign was measured, and the hosts here are SIMULATED",
                remedy="change it in 'dlperf-tui'",
            )

    async def go_on(self, path: Path, again: Sequence[str]) -> None:
        """With a campaign that is looked at and over: by another attempt of these runs, or where
        there are none by one more repeat of each case. Raises like :meth:`start`."""
        if self.opened is not None:
            self._refuse_measured(self.opened)
        await self._make_room()
        changes = self.workspace.changes
        if again:
            controller, _ = await changes.retry(path, again)
        else:
            await changes.repeat(path, 1)
            controller = await self.workspace.resume(path)
        if controller is not None:  # else somebody has begun to go on with it, and was asked
            self.controller, self.opened = controller, None

    async def look_at_removable(self, path: Path) -> Removable:
        """What to ask about before a campaign is removed; raises as :meth:`remove`."""
        self._refuse_readonly()
        async with self._on_disk:
            return await asyncio.to_thread(self.workspace.look_at_removable, path)

    async def remove(self, asked: Removable) -> None:
        """What was asked about, from this disk and from sight.

        Raises
        ------
        DlperfError: read-only, or it stays, as ``campaigns rm`` says; or some of it does, which is
        no campaign any more.
        """
        self._refuse_readonly()
        path = asked.summary.path
        self._removing.add(path)
        try:
            async with self._on_disk:
                await asyncio.to_thread(self.workspace.remove_campaign, path, asked=asked)
        finally:
            if not await asyncio.to_thread(path.exists):
                await self._forget(path)
            self._removing.discard(path)

    async def rename(self, path: Path, name: str) -> Path:
        """Another name for a campaign, in the same directory; where it lies now. One that is shown
        is shown there.

        Raises
        ------
        DlperfError: read-only, or it stays where it is, as ``campaigns mv`` says.
        """
        self._refuse_readonly()
        self._removing.add(path)
        try:
            async with self._on_disk:
                new = await asyncio.to_thread(
                    self.workspace.move_campaign, path, str(path.with_name(name))
                )
            if path == self.viewed_path:
                await self.open(new)
        finally:
            if not await asyncio.to_thread(path.exists):
                await self._forget(path)
            self._removing.discard(path)
        marks = [new if one == path else one for one in self.marked]
        self.marked.clear()  # the list has it, too
        self.marked |= dict.fromkeys(marks)
        return new

    async def _forget(self, path: Path) -> None:
        if self.opened is not None and self.opened.path == path:
            self.opened = None
        if self.last is not None and self.last.path == path:
            self.last = None
        if self.controller is not None and self.controller.path == path:
            await self.controller.detach()
            self.controller = None

    async def describe(
        self, path: Path, *, tags: tuple[str, ...] | None = None, note: str | None = None
    ) -> About:
        """Say something else of a campaign; what is None stays as somebody may have said it
        meanwhile. All that is said of it now.

        Raises
        ------
        DlperfError: read-only, or it cannot be written.
        """
        self._refuse_readonly()

        def change(said: About) -> About:
            return replace(
                said,
                tags=said.tags if tags is None else tags,
                note=said.note if note is None else note,
            )

        async with self._on_disk:
            return await asyncio.to_thread(self.workspace.describe_campaign, path, change)

    def read_notes(self) -> tuple[tuple[ReadNote, ...] | None, float | None]:
        """Of the campaign that is shown, and what happened there, the oldest first, which somebody
        reads now, and when it began; None where there is none, and as the time of what nobody knows
        the time of."""
        from tui.happened import happened  # noqa: PLC0415 - seldom needed

        if (viewed := self.viewed) is None:
            return None, None
        self._read.update((viewed.identity, note) for note in viewed.notes)
        undated = viewed.undated
        every = sorted((*viewed.notes, *happened(viewed.state)), key=lambda note: note[0])
        told = ((None if text in undated else t, level, text) for t, level, text in every)
        return tuple(told), viewed.state.created_at

    def standing_notes(self, viewed: CampaignSnapshot | None) -> tuple[Note, ...]:
        """Those that a page goes on saying. What its operator began without, or forced, until
        somebody has read that, or the campaign is over; that nobody watched it, until it is read.
        """
        if viewed is None:
            return ()
        decided, unwatched = viewed.state.notes_of_begin, viewed.state.notes_of_unwatched

        def over(note: Note) -> bool:
            read = (viewed.identity, note) in self._read
            return (read and note in unwatched) or ((read or viewed.finished) and note in decided)

        return tuple(one for one in viewed.notes if not over(one))

    def note_of_viewed(self) -> str:
        """What its operator noted on the campaign that is shown; "" where nothing."""
        from backends.campaign.folder.tags_and_note import read_about  # noqa: PLC0415

        path = self.viewed_path
        return "" if path is None else read_about(path).note

    def _refuse_readonly(self) -> None:
        if self.readonly:
            raise _read_only()

    @property
    def why_no_start(self) -> DlperfError | None:
        """Why no campaign can be started from here now, as it would be raised; None: one can."""
        if self.readonly:
            return _read_only()
        if self.leaving:
            return DlperfError("a keeper is being started", remedy="wait for that; try again then")
        if self.at_work:
            return DlperfError(
                "a campaign is at work here, and a console has one at a time",
                remedy="wait for its end, or cancel it on Runs with C",
            )
        return None

    async def _make_room(self) -> None:
        if (refused := self.why_no_start) is not None:
            raise refused
        if self.controller is not None:
            await self.controller.detach()
            self.controller = None

    async def close(self) -> None:
        """Let go of everything; runs go on on their hosts, a precheck does not."""
        self._closed = True
        if self.precheck is not None:
            await self.precheck.stop()
        if self.controller is not None:
            await self.controller.detach()
            self.controller = None
        await self.workspace.close()


def _read_only() -> DlperfError:
    return DlperfError(
        "this console is read-only", remedy="start it without --readonly to run something"
    )


def _not_kept(remedy: str) -> DlperfError:
    what = "no keeper can go on with it: SIMULATED hosts go with the console"
    return DlperfError(what, remedy=remedy)


def _is_gone(campaign: Path) -> bool:
    """By itself: not with all that lay beside it, as where a disk is away for a while. Blocking."""
    return campaign.parent.is_dir() and not campaign.exists()


def _written(campaign: Path) -> tuple[int, ...] | None:
    """Differs once its journal was written again; None where there is none. Blocking."""
    from backends.campaign.record.journal import FILE_NAME  # noqa: PLC0415 (loads when needed)

    with contextlib.suppress(OSError):
        told = (campaign / FILE_NAME).stat()
        return told.st_mtime_ns, told.st_size, told.st_ino
    return None
