"""What must be true of every simulated campaign, whatever went wrong.

Some is checked at the moment when it happens (an execution, a removal, the end of a command), the
rest when everything is over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from backends.campaign.folder.directory_identity import elsewhere_words
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.events import RunAssigned
from backends.campaign.record.journal import FILE_NAME, read_events
from backends.campaign.record.state import (
    CampaignState,
    RunRecord,
    RunState,
    apply,
    campaign_of,
)
from backends.campaign.run.factory import local_log
from backends.campaign.run.lost_runs import NOT_ASKED, PLACE_LOST
from backends.simulated.disk import RunFiles
from backends.simulated.kernel import Process as HostProcess
from profiles.errors import DlperfError
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser
from profiles.throughput.measure_run import measure_run
from tests.simulation.faults import Faults
from tests.simulation.login import Process
from tests.simulation.world import Execution, World

HELD_WORDS = "all that is left is paused"


class Invariants:
    """Watches a world. ``profile``: as the campaign began with it; ``planned``: how many runs."""

    def __init__(self, world: World, faults: Faults, profile: Profile, planned: int) -> None:
        self._world = world
        self._planned = planned
        self._faults = faults
        self._profile = profile
        self._removed: set[tuple[str, str]] = set()
        self._owed: list[tuple[Process, Path, RunRecord, str, bytes]] = []
        world.on_execute = self._executed
        world.on_neighbour = self._alone
        world.on_remove = self._on_remove
        world.on_exit = self._exited

    def expect(self, planned: int) -> None:
        """So many runs are planned by now, for somebody asked for more."""
        self._planned = planned

    # While it goes on ----------------------------------------------------------------------------

    def _executed(self, execution: Execution) -> None:
        """Exactly once, and alone on its machine or on its devices."""
        world = self._world
        before = [e for e in world.truth.of(execution.run_id, execution.host) if not e.taken_back]
        if len(before) > 1:
            world.violated(f"{execution.run_id} is executed twice on {execution.host}")
        found = self._find(execution.run_id)
        paused = execution.run_id in world.paused or (found and found[1].paused_at is not None)
        if paused and execution.run_id not in world.unplaced:  # its start was under way by then
            world.violated(f"{execution.run_id} is executed on {execution.host} and is paused")
        if execution.sharing and found:
            told = found[1].devices.get(execution.host, ())
            unknown = not told and execution.run_id in world.unplaced  # started before the damage
            devices = ",".join(map(str, told))
            if not unknown and execution.sharing != f"{campaign_of(execution.run_id)} {devices}":
                world.violated(f"{execution.run_id} shares {execution.host} as {execution.sharing}")
        self._alone(execution)

    def _alone(self, execution: Execution) -> None:
        """But for runs of the same campaign that are under control and on other devices."""
        world = self._world
        machine = world.cluster.machines[execution.host]
        for process in machine.kernel.living():
            if process.helper or process.origin in ("", execution.run_id):
                continue
            beside = f"{execution.run_id} starts on {execution.host} beside {process.origin}"
            if self._apart(execution, process.origin):
                world.note(f"{beside}, which packs too")
            else:
                world.violated(beside)

    def _apart(self, execution: Execution, other: str) -> bool:
        wrapper = self._world.cluster.machines[execution.host].wrapper
        group, _, own = execution.sharing.partition(" ")
        theirs, _, taken = self._world.sharing.get(other, "").partition(" ")
        controlled = wrapper.supervisor(wrapper.files(other)) is not None
        disjoint = not {*own.split(",")} & {*taken.split(",")}
        return bool(group) and group == theirs and disjoint and controlled

    def _exited(self, process: Process, words: Sequence[str]) -> None:
        """What ``pause`` and ``unpause`` have said is so from then on."""
        if process.status != 0 or words[0] not in ("pause", "unpause"):
            return
        campaign = self._world.root / "campaigns" / words[1]
        runs = state_of(campaign).runs
        chosen = {words[3]} if words[2] == "--run" else set(runs)
        paused = {run_id for run_id in chosen if runs[run_id].paused}
        if words[0] == "unpause":
            self._world.paused -= chosen
        else:
            self._world.paused |= paused - self._may_be_unpaused(campaign)
        if self._beside_its_opposite(process):
            return  # which may have had the later word
        if {runs[run_id].state for run_id in chosen} == {RunState.CANCELLED}:
            return  # by who asked for that a moment later
        if (paused == chosen) is not (words[0] == "pause") and words[2] == "--run":
            self._world.violated(f"{process}: {words[0]} of {words[3]} is not in the journal")

    def _beside_its_opposite(self, process: Process) -> bool:
        """Whether an ``unpause`` was alive in a time of this ``pause``, or the other way round."""
        opposite = "unpause" if process.label == "pause" else "pause"
        processes = self._world.processes
        after = processes.index(process)
        return any(
            other.label == opposite and (number > after or not other.dead)
            for number, other in enumerate(processes)
        )

    def _may_be_unpaused(self, campaign: Path) -> set[str]:
        """By requests that still lie there, or were taken and are not answered."""
        found: set[str] = set()
        state = state_of(campaign)
        wishes = state.wishes
        for request, runs in self._world.unpausing.items():
            lies = any(campaign.glob(f"spool/*/{request}.json"))
            if lies and (request not in wishes or wishes[request].done is None):
                found |= set(state.runs if runs is None else runs)
        return found

    def says_what_it_waits_for(self, console: Process) -> None:
        if is_held(console) and HELD_WORDS not in console.output:
            self._world.violated(f"{console} waits for what is paused and does not say so")

    def _on_remove(self, files: RunFiles) -> None:
        """Nothing is deleted that is not here, or was taken back before it counted.

        What somebody does to the file here while the host is asked to remove its own is put back,
        as long as the console that has asked lives.
        """
        if files.run_id in self._neighbours:
            return
        found = self._find(files.run_id)
        if found is None:
            if files.log:
                self._world.violated(f"{files.run_id} is removed and no journal knows it")
            return
        campaign, run = found
        if not run.state.ended:
            self._taken_back(files, run)
            return
        key = (files.run_id, files.host)
        if key in self._removed and not files.log:
            return  # what a start that came late left, after it was all over
        self._removed.add(key)
        here = log_here(campaign, run, files.host)
        if here == bytes(files.log or b""):
            return
        asked_at, process = self._world.removals[key]
        if self._faults.tampered.get(run.run_id, -1e9) >= asked_at:
            self._owed.append((process, campaign, run, files.host, bytes(files.log or b"")))
        else:
            self._world.violated(
                f"{files.run_id} on {files.host} is removed with {len(files.log or b'')} bytes of"
                f" log, and {len(here)} are here ({run.state}, {run.reason or run.cleanup})"
            )

    def _taken_back(self, files: RunFiles, run: RunRecord) -> None:
        if run.run_id not in self._world.refused:
            self._world.violated(f"{run.run_id} is removed from {files.host} but is {run.state}")
        for execution in self._world.truth.of(files.run_id, files.host):
            execution.taken_back = True

    def _find(self, run_id: str) -> tuple[Path, RunRecord] | None:
        for campaign in own_campaigns(self._world):
            run = state_of(campaign).runs.get(run_id)
            if run is not None:
                return campaign, run
        return None

    def command_ended(self, process: Process) -> None:
        """What a command that came to its end leaves and says is true."""
        controller = process.controller
        if controller is None or process.status is None:
            return
        folded = state_of(controller.path)
        # What sweep finds once its runs have ended it writes itself.
        last = process.label != "sweep"
        if last and process.status in (0, 1) and folded != controller.state:
            self._world.violated(f"{process}: its state is not the fold of its journal")
        if process.label == "cancel" and process.status == 0:
            self._world.bring_all()
            for host, orphan in self._living():
                if orphan.origin in folded.runs:
                    self._world.violated(f"{process}: says cancelled; {orphan.origin} is on {host}")

    # When it is over -----------------------------------------------------------------------------

    def at_the_end(self) -> None:
        self._world.bring_all()
        states = {path: state_of(path) for path in own_campaigns(self._world)}
        for path, state in states.items():
            if state.runs and not state.finished:
                self._world.violated(f"{path.name} has not finished and nobody says why")
            done = sum(not run.profiled for run in state.latest_attempts())
            most = self._planned + self._world.added  # what was added may die with who added it
            if state.runs and not self._planned <= done <= most:
                self._world.violated(f"{path.name} has {done} runs of {self._planned} to {most}")
            for run in state.runs.values():
                self._check_run(path, state, run)
            if not state.lost_lines:
                self._check_assignments(path)
            self._check_profiled(path, state)
        self._check_orphans()
        for process, campaign, run, host, log in self._owed:
            killed = process.dead and process.status is None
            if not killed and log_here(campaign, run, host) != log:
                self._world.violated(f"{process} did not put back {run.run_id}'s log of {host}")
        for failure in self._world.loop.failures:
            self._world.violated(f"unhandled in the loop: {failure}")

    def _check_profiled(self, campaign: Path, state: CampaignState) -> None:
        """One of a case at most, when its repeats are done, and none of a case without success."""
        profiled = [run for run in state.latest_attempts() if run.profiled]
        cases = {run.case.key for run in profiled}
        if len(cases) < len(profiled):
            self._world.violated(f"{campaign.name} has two profiled runs of a case")
        good = {run.case.key for run in state.runs.values() if run.throughput and not run.profiled}
        if not cases <= good:
            self._world.violated(f"{campaign.name} profiles a case without a success")

    def _check_assignments(self, path: Path) -> None:
        """No run is sent to a host on which another one of its campaign is about to start."""
        state = CampaignState()
        for event in read_events(path / FILE_NAME):
            for run in state.runs.values() if isinstance(event, RunAssigned) else ():
                starts = run.state is RunState.STARTING and run.run_id != event.run_id
                if starts and _collide(event, run, pack=state.pack):
                    self._world.violated(
                        f"{event.run_id} is sent to {event.hosts} while {run.run_id} starts on"
                        f" {run.hosts}"
                    )
            state = apply(state, event)

    def _check_run(self, campaign: Path, state: CampaignState, run: RunRecord) -> None:
        world = self._world
        told = {text for _, _, text in state.notes}
        commands = run.commands or ("?",) * (len(run.hosts) == 1)  # a journal may lose them
        for host, command in zip(run.hosts, commands, strict=False):
            if not command:
                continue  # it only holds its host
            count = sum(not e.taken_back for e in world.truth.of(run.run_id, host))
            if run.state is RunState.SUCCEEDED and count != 1:
                world.violated(f"{run.run_id} succeeded; executed {count} times on {host}")
        for execution in world.truth.executions:
            strange = execution.run_id == run.run_id and execution.host not in run.hosts
            asked = f"{execution.host} {NOT_ASKED}" not in told
            # Where its place is lost, nobody can tell of a host that has nothing of it any more.
            gone = run.reason == PLACE_LOST and (run.run_id, execution.host) in self._removed
            if strange and run.hosts and asked and not execution.taken_back and not gone:
                world.violated(f"{run.run_id} is {run.state}; executed on {execution.host} too")
        if run.state is not RunState.SUCCEEDED:
            return
        executions = [e for e in world.truth.of(run.run_id, run.hosts[0]) if not e.taken_back]
        if not executions or executions[0].files is None:
            return
        log = bytes(executions[0].files.log or b"")
        parser = LogParser(self._profile, run.case)
        parser.feed(log)
        parser.finish()
        truth = measure_run(self._profile, run.case, parser).throughput
        if truth != run.throughput:
            world.violated(f"{run.run_id} succeeded with {run.throughput}; its log says {truth}")

    def _living(self) -> list[tuple[str, HostProcess]]:
        return [
            (name, process)
            for name, machine in self._world.cluster.machines.items()
            for process in machine.kernel.living()
            if process.origin and not process.helper
        ]

    def _orphans(self) -> list[tuple[str, HostProcess]]:
        """What is left of runs that have ended, all of which the operator was told."""
        states = [state_of(path) for path in own_campaigns(self._world)]
        found = []
        for host, process in self._living():
            if process.origin in self._neighbours:
                continue
            state = next((s for s in states if process.origin in s.runs), None)
            if state is None:
                self._world.violated(f"{host}: a process of {process.origin}, which nobody knows")
                continue
            run = state.runs[process.origin]
            if run.state.ended and not is_told(state, run):
                self._world.violated(
                    f"{host}: a process of {run.run_id} is left ({run.state},"
                    f" {run.cleanup}), and nobody says so"
                )
            if run.state.ended:
                found.append((host, process))
        return found

    def end_orphans(self) -> None:
        """The operator ends by hand what was told to be left."""
        for host, process in self._orphans():
            machine = self._world.cluster.machines[host]
            self._world.note(f"{host}: the operator ends a process of {process.origin}")
            machine.kernel.kill(process)
            machine.kernel.changed()
            self._world.cluster.time.bring(machine)

    def _check_orphans(self) -> None:
        """Nothing of ours is left, and every lease is free, unless the operator was told."""
        held = {host for host, _ in self._orphans()}
        held |= {host for host, process in self._living() if process.origin in self._neighbours}
        for name, machine in self._world.cluster.machines.items():
            for lease in machine.wrapper.leases.values():
                if name not in held and not machine.wrapper.lease_free(lease):
                    self._world.violated(f"{name}: its lease is not free")

    @property
    def _neighbours(self) -> Collection[str]:
        return self._world.neighbours


def _collide(event: RunAssigned, run: RunRecord, *, pack: bool) -> bool:
    """On a host, or where runs on one host share it on one of its devices."""
    hosts = set(event.hosts) & set(run.hosts)
    if not pack or len(event.hosts) > 1 or run.nodes > 1:
        return bool(hosts)
    return any(set(event.devices.get(host, ())) & set(run.devices.get(host, ())) for host in hosts)


def is_held(console: Process) -> bool:
    """Whether it is awake and waits, and all that is left is paused."""
    controller = console.controller
    awake = not console.dead and not console.suspended
    return awake and controller is not None and controller.snapshot().held


def is_told(state: CampaignState, run: RunRecord) -> bool:
    """Whether the operator can see that something of the run may be left."""
    if run.cleanup.doubts:
        return True
    return any(run.run_id in text and "not cleaned up" in text for _, _, text in state.notes)


_READ: dict[Path, tuple[tuple[int, ...], CampaignState]] = {}


def state_of(campaign: Path) -> CampaignState:
    try:
        info = (campaign / "events.jsonl").stat()
    except FileNotFoundError:
        return CampaignState()
    key = (info.st_ino, info.st_size, info.st_mtime_ns)
    known, state = _READ.get(campaign, ((), CampaignState()))
    if known != key:
        try:
            state = read_campaign(campaign)
        except DlperfError:
            state = CampaignState()
        _READ[campaign] = key, state
    return state


def own_campaigns(world: World) -> list[Path]:
    """The directories in which a campaign goes on: copies and those that were left are none."""
    states = {path: state_of(path) for path in world.campaigns()}
    return [path for path, state in states.items() if not elsewhere_words(state)]


def log_here(campaign: Path, run: RunRecord, host: str) -> bytes:
    """What is here of a host's log."""
    try:
        return (campaign / local_log(run, host)).read_bytes()
    except FileNotFoundError:
        return b""
