"""The journal's vocabulary: what can happen in a campaign, as frozen values.

``t`` is the time of writing in seconds since the epoch (UTC) on the login node. As JSON lines:
:mod:`backends.campaign.record.codec`, which holds every field to its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from backends.campaign.record.cleanup_doubts import UNKNOWN

if TYPE_CHECKING:  # only a journal that is read needs pydantic
    from backends.campaign.record.event_values import (
        Bearings,
        Count,
        Devices,
        Diagnosed,
        Digest,
        Disturbances,
        JournaledReadings,
        LookedAfter,
        Measured,
        Number,
        Parameters,
        Port,
        PowerOfTwo,
        RankTimes,
        RelativePath,
        Share,
        SlowRanks,
        Text,
        Texts,
        Time,
        Truth,
        Watched,
        Whole,
    )

SCHEMA = 6
NOT_ASKED_SINCE = "nobody had asked it since"
"""The reason of a :class:`ContactChanged` to a host that may have been back for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``durable`` events are fsynced before anything depends on them; the others may batch."""

    t: Time
    durable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignCreated(Event):
    campaign: Text
    schema: Count = SCHEMA
    version: Text = ""
    simulated: Truth = False
    imported: Truth = False
    forced: Truth = False  # preflight stops were overridden by the operator
    overridden: Texts = ()  # … namely these
    forced_on: Bearings = ()  # … of which runs each of them is; of any where there is none
    left_out: Texts = ()  # hosts that the operator began without, and why: "node3: in use"
    warned: Texts = ()  # preflight warned of these, which may change the figures
    bearings: Bearings = ()  # … of which runs each of them is; of any where there is none
    frozen: Text = ""  # SHA-256 of frozen/manifest.json; empty: nothing was frozen (schema 1)
    place: Text = ""  # inode numbers: backends.campaign.folder.directory_identity
    host: Text = ""  # the machine it was made on
    path: Text = ""  # … and under which path
    hosts: Count = 0  # how many it was planned on; 0: nobody said
    explain: Texts = ()  # profiles whose cases get a profiled run each, after all repeats
    placement: Text = "first"  # how the devices of a host are to be chosen
    pack: Truth = False  # runs on one host share it, each on devices of its own
    devices: Count = 0  # … of which a host had so many when it was planned; 0: nobody said


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatsAsked(Event):
    """Repeats until it is known; see :class:`backends.results.auto_repeats.AutoRepeats`."""

    target: Share
    quantity: Text
    max_repeats: Count
    budget_gpu_s: Measured | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSettled(Event):
    """A case gets no further repeats; ``why``: a :class:`backends.results.auto_repeats.Stop`."""

    profile: Text
    nodes: Number
    gpus_per_node: Number
    parameters: Parameters
    why: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPlaced(Event):
    """The campaign goes on in this directory: a copy that was adopted, or where it was moved to."""

    place: Text
    host: Text
    path: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignHandedOn(Event):
    """The campaign goes on in another directory; from this one nothing is run any more."""

    host: Text
    path: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlanned(Event):
    """A run that is to be done: a repeat of a case, or with ``attempt`` > 1 a retry of it.

    ``profiled``: no repeat, but the run that tells where the time of each rank goes. ``workload``,
    ``arithmetic``: what :mod:`profiles.format.workload_section` says of it; empty where that is
    not known. ``expected_s``: how long it will take, by its profile or, where it is ``timed``, as
    it took before; 0 where nobody says. ``settle_s``: how long its hosts rest afterwards.
    """

    run_id: Text
    profile: Text
    framework: Text
    model: Text
    unit: Text
    nodes: Number
    gpus_per_node: Number
    parameters: Parameters
    repeat: Count
    attempt: Number = 1
    not_before: Time = 0.0
    retry_of: Text = ""
    profiled: Truth = False
    workload: Text = ""
    arithmetic: Text = ""
    expected_s: Time = 0.0
    timed: Truth = False
    settle_s: Time = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQueued(Event):
    """The engine was, or is about to be, asked for hosts that it may give later.

    Written before the request, without ``job_id``, and again with it once that is known: a request
    whose answer was lost is found by the run's id and not made twice.
    """

    run_id: Text
    job_id: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequeued(Event):
    """The engine took the run's hosts and queued it again by itself: this attempt has failed, and
    ``next_id`` is the attempt that waits in its place."""

    run_id: Text
    next_id: Text
    reason: Text
    job_id: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAssigned(Event):
    """Hosts were given, rank 0 first. From here on something may exist on them.

    ``devices``: the device indices on each host; a journal of an older version has none.
    ``placement``: how they were chosen; empty where we did not choose.
    """

    run_id: Text
    hosts: Texts
    commands: Texts
    port: Port
    log: RelativePath  # rank-0 log, relative to the campaign directory
    devices: Devices = field(default_factory=dict)
    placement: Text = ""
    job_id: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLaunched(Event):
    """Every host's supervisor answered: the run is on its way. ``boot_ids`` in host order.

    Where it is on its way is said again, so that a damaged line about its assignment loses nothing.
    """

    run_id: Text
    boot_ids: Texts = ()
    hosts: Texts = ()
    devices: Devices = field(default_factory=dict)
    placement: Text = ""
    port: Port = 0
    log: RelativePath = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOver(Event):
    """Nothing of the run is at work on its hosts any more. How it ended is not known before its
    logs are here and compared, and it has been measured. ``ran_s``: as of :class:`RunSucceeded`."""

    durable: ClassVar[bool] = False
    run_id: Text
    ran_s: Time = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDeferred(Event):
    """The hosts were held by somebody else; nothing of the run is there, it is planned again."""

    run_id: Text
    reason: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingsArrived(Event):
    """All readings ``first`` … of a run, as journals before :class:`ReadingsSampled` hold them."""

    durable: ClassVar[bool] = False
    run_id: Text
    first: Count
    readings: JournaledReadings
    warmup: Count = 0  # how many readings from the run's start lie before the window


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingsSampled(Event):
    """So many more readings of a run came, the first of them number ``first`` (from 0).

    ``points``: those whose number is a multiple of ``stride``, (step or null, global samples/s,
    receive time) each, which the journal holds as one flat list; ``last``: the last one. All of
    them are in rank 0's log, up to its byte ``offset``. Replaying is idempotent by number: what the
    state already has is skipped.
    """

    durable: ClassVar[bool] = False
    run_id: Text
    first: Count
    count: Count
    stride: PowerOfTwo
    points: JournaledReadings
    last: JournaledReadings
    warmup: Count = 0  # how many readings from the run's start lie before the window
    told_at_end: Truth = False  # which readings count: the last ones, whichever these will be
    summed_up: Truth = False  # the log's own line at its end is the figure, and no readings' is
    offset: Count = 0

    def __post_init__(self) -> None:
        """Raise ValueError unless the points are those of the numbers."""
        if len(self.points) != len(self.numbers) or len(self.last) != 1 or self.count < 1:
            raise ValueError("these are not the readings of these numbers")

    @property
    def numbers(self) -> range:
        """Of the points."""
        return range(self.first + -self.first % self.stride, self.first + self.count, self.stride)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactChanged(Event):
    """The connection to a run's host was lost (``lost``, with the reason) or is back
    (:data:`NOT_ASKED_SINCE`: maybe for long)."""

    durable: ClassVar[bool] = False
    run_id: Text
    host: Text
    lost: Truth
    reason: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCancelling(Event):
    """The run is to be ended. It stays so until that is verified on each of its hosts, or until
    one has been away for too long: a console that comes later goes on with it.

    ``by``: the user who asked, as of :class:`RunPaused`; older journals have
    "operator", whoever that was."""

    run_id: Text
    by: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSucceeded(Event):
    """``throughput``: null only for a result that has metrics alone, such as a time to train.

    ``ran_s``: how long it ran by its hosts' clocks, whenever that was learnt; 0: nobody knows.
    ``first``: number of the first reading in the window, also where the figure is that of a summary
    line and none is ``used``; None: nobody said.
    ``log_stamps``: of every raw log of it, rank 0's first: bytes, when it was written by its file
    system in seconds since the epoch, SHA-256; none in older journals.
    """

    run_id: Text
    throughput: Measured | None
    readings: Count
    used: Count
    first: Count | None = None
    window: Text
    statistic: Text
    metrics: Mapping[Text, Measured] = field(default_factory=dict)
    gpu_memory_mib: Whole | None = None
    warnings: Texts = ()
    doubts: Mapping[Text, Texts] = field(default_factory=dict)  # those of them by what they are of
    fingerprint: Text = ""
    steady: Disturbances | None = None  # None: nobody could tell
    ranks: RankTimes = ()  # of a profiled run
    telemetry: Watched | None = None
    cleanup: LookedAfter = UNKNOWN
    log: RelativePath = ""
    hosts: Texts = ()
    ran_s: Time = 0.0
    log_stamps: tuple[tuple[Count, Measured, Digest], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed(Event):
    """``reason`` is one line; ``evidence`` the log lines that show it, display-safe; ``ran_s`` as
    of :class:`RunSucceeded`."""

    run_id: Text
    reason: Text
    evidence: Texts = ()
    category: Text = ""
    host: Text = ""
    exit_status: Whole | None = None
    retry: Text = "never"  # never, now or later: whether another attempt makes sense
    cleanup: LookedAfter = UNKNOWN
    log: RelativePath = ""  # set by import, where no RunAssigned precedes
    ran_s: Time = 0.0
    fingerprint: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDiagnosed(Event):
    """Its hosts were asked why it does not move: before it is ended for that, or by an operator."""

    run_id: Text
    diagnosis: Diagnosed


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRanksTold(Event):
    """Ranks that are, or for a time were, slower than the others; all of the run so far."""

    durable: ClassVar[bool] = False
    run_id: Text
    slow_ranks: SlowRanks


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCancelled(Event):
    run_id: Text
    cleanup: LookedAfter = UNKNOWN
    fingerprint: Text = ""  # of the hosts that it was on; none in older journals


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPaused(Event):
    """The run is not started before it is unpaused; of one that has started this says nothing."""

    run_id: Text
    by: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUnpaused(Event):
    run_id: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTaken(Event):
    """What somebody asks for, in :mod:`backends.keeper.spool`, is about to be done.

    Written before anything of it is, so that whoever goes on after a kill does the rest of it.
    ``by``: the owner of its file. ``run_ids``: which runs it means; ``everything``: it meant all,
    of which those had not ended (none: an older journal does not say).
    ``repeats``: so many more of each case, the first of which has the number ``first``.
    """

    request: Text
    verb: Text
    by: Text
    run_ids: Texts = ()
    everything: Truth = False
    repeats: Count = 0
    first: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswered(Event):
    """All of it is done, ``run_ids`` changed; or it was refused, and never taken: ``verb`` was
    asked ``by`` somebody in vain. ``text``: the answer."""

    request: Text
    done: Truth
    text: Text
    run_ids: Texts = ()
    verb: Text = ""
    by: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostVerified(Event):
    """A later look found nothing of an ended run on one of its hosts any more."""

    run_id: Text
    host: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingsRestarted(Event):
    """The log here was not the host's any more: it is read anew from its first byte.

    ``why``: as a warning about the run; empty in journals of older versions."""

    run_id: Text
    why: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    """Something the operator must be told that belongs to no run: disk full, a host's lease …"""

    text: Text
    level: Text = "warn"
    of_results: Truth = False  # it goes with the results, too


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterChanged(Event):
    """Who goes on with the campaign from here on; ``left``: they let go of it while runs are to do.

    ``role``: a :class:`backends.campaign.record.lock.Role`."""

    durable: ClassVar[bool] = False
    role: Text
    user: Text
    host: Text
    pid: Whole
    left: Truth = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Event):
    """An operator is being told of something, once: ``key`` says what, ``occasion`` of which kind
    (:data:`backends.inventory.notify_settings.OCCASIONS`) it is."""

    key: Text
    occasion: Text
    text: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationAsked(Event):
    """What is held for all runs together is about to be asked for; see
    :class:`backends.engines.engine.Held`."""

    nodes: Count
    gpus_per_node: Count
    limit_s: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationOver(Event):
    """Nothing is held for all runs together any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAsked(Event):
    """Everything is to end: until something is planned again no console starts anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFinished(Event):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignReopened(Event):
    """Work goes on: a later resume, or a retry after the campaign had finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesLost(Event):
    """Never written: what a reader says of lines that it could not read."""

    lines: Count


EVENT_TYPES: Mapping[str, type[Event]] = {
    name: cls
    for name, cls in globals().items()
    if isinstance(cls, type) and issubclass(cls, Event) and cls not in (Event, LinesLost)
}
