"""Hosts: who answers, what they have, who uses it, and how the selected one is wired."""

from __future__ import annotations

import asyncio
import contextlib
import math
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import is_not
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events, on, work
from textual.widget import Widget

from backends.hosts.host_facts import HostFacts, HostSnapshot, HostState
from backends.transports.login_command import login_command
from profiles.counted import counted
from profiles.errors import DlperfError
from tui.hosts_now import AGAIN_EVERY_S, HostsNow
from tui.key_bindings import bindings
from tui.lent_terminal import SSH_FAILED, lend_from
from tui.messages import Problem
from tui.program_name import NAME
from tui.row_order import OUT_OF_SIGHT
from tui.run_names import names_in_each
from tui.screens.host_order import INVENTORY
from tui.screens.page import NO_HOST_ASKED, ONLY_LOOKS, Page
from tui.session import Session
from tui.text import age, all_of, cell, gib, host_state, join, plain, ranges
from tui.theme import ACCENT, BAD, MUTED, WARN
from tui.widgets.filter_table import TablePanel
from tui.widgets.host_detail import HostDetail, with_live
from tui.widgets.keybar import KeyBar
from tui.widgets.keyed_table import Column, KeyedTable, Row

if TYPE_CHECKING:
    from backends.campaign.record.status_view import CampaignSnapshot
    from backends.hosts.live_telemetry import LiveTelemetry
    from backends.precheck.judged import Judged
    from backends.precheck.record import Precheck

COLUMNS = (
    Column("state", "State", 13, still=True),
    Column("name", "Host", 12),
    Column("address", "Address", 15, from_width=100, most=24),
    Column("devices", "Devices", 23),
    Column("load", "Load", 9, right=True, from_width=90),
    Column("memory", "Mem GiB", 9, right=True, from_width=100),
    Column("note", "Remarks", None, most=60),
    Column("age", "Asked", 6, right=True, from_width=110, still=True),
)
OF_A_QUEUE = tuple(
    replace(column, key="partitions", label="Partitions") if column.key == "address" else column
    for column in COLUMNS
)
NOTHING = "–"
STALE_S = 600.0
"""From here on what is known of a host is shown as what it was."""
REST_S = 1.0
"""A host is watched when the cursor rests on it for so long."""

LEAST_FILTERED = 7
"""Lines of the list where no host has the words: frame, head, what to do, and the words."""
LEAST = 15
"""Lines, from which on the list's share of the page has room for a host and a bar below it."""
OF_NOW_S = 15.0
"""After so long without a sample nobody knows any more what a host does."""


def devices(host: HostSnapshot) -> str:
    """ "8 × Tesla V100-SXM2", "24 slots"; what a run can use there. A dash where the host has not
    said so: the slots of its inventory are no answer."""
    if host.facts is None:
        return "–"
    if host.gpus_unknown:
        return "GPUs unknown"
    if host.facts.gpus:
        names = {gpu.model for gpu in host.facts.gpus}
        model = names.pop() if len(names) == 1 else "GPUs, mixed"
        return f"{len(host.facts.gpus)} × {model}"
    return counted(host.slots, "slot") if host.slots else "–"


def where(host: HostSnapshot) -> str:
    return host.address or ", ".join(host.partitions) or "–"


def note(host: HostSnapshot, own: Mapping[str, str] | None = None) -> Text:
    """Who uses the host, our own runs as such; what is wrong with it, which alone has a ▲ and is
    counted as a problem; else what else is worth knowing.

    ``own``: what to call runs of ours, by run id.
    """
    own = own or {}
    if host.state is HostState.UNREACHABLE:
        return cell(host.reason or "no answer", BAD)
    parts: list[Text | str | tuple[str, str]] = []
    grave = [concern for concern in host.concerns if concern.degrades]
    if host.lease is not None:
        label = own.get(host.lease.run_id)
        ours = (f"our run {plain(label)}", ACCENT) if label is not None else None
        holder = plain(str(host.lease))
        # Beside a problem its name is enough: the details have the campaign and since when.
        parts.append(ours or (holder.partition(",")[0] if grave else holder, WARN))
    if host.facts is not None:
        parts += list(_gpu_users(host.facts, own, host.lease.run_id if host.lease else ""))
    used = bool(parts)
    if grave:
        parts.append((f"▲ {all_of(grave, 'problem')}", BAD))
    elif not parts and host.reason:
        parts.append((plain(host.reason), MUTED))
        used = True
    light = [concern for concern in host.concerns if not concern.degrades]
    if light and not used:
        parts.append((all_of(light, "remark"), WARN))
    return join(parts, " · ") if parts else cell(NOTHING, MUTED)


def _gpu_users(facts: HostFacts, own: Mapping[str, str], leased: str) -> Iterable[tuple[str, str]]:
    """``leased``: the run that has the host, which is told of already."""
    used: dict[tuple[str, str], set[int]] = {}
    for process in facts.gpu_processes:
        if not (process.run_id == leased and leased in own):
            used.setdefault((process.run_id, process.user), set()).add(process.gpu_index)
    for (run_id, user), indices in used.items():
        who = f"our run {own.get(run_id, run_id)}" if run_id else user
        yield f"{plain(who)} GPU {ranges(indices)}", ACCENT if run_id else WARN


class HostRows:
    """The rows of the list. A row is the same object as before while it says the same."""

    def __init__(self) -> None:
        self._own: Mapping[str, str] = {}
        self._made: dict[str, tuple[HostSnapshot, tuple[str, bool, str], Row]] = {}

    def of(
        self,
        hosts: Iterable[HostSnapshot],
        own: Mapping[str, str],
        now: float | None,
        stale_s: float = STALE_S,
        watched: Collection[str] = (),
        judged: Mapping[str, Judged] | None = None,
    ) -> list[Row]:
        """``own``: see :func:`note`. ``now``: seconds since the epoch. ``stale_s``: by that clock,
        which flies in a demo. ``watched``: hosts whose load is of now, whenever they were asked for
        the rest. ``judged``: by the latest precheck."""
        if own != self._own:
            self._made, self._own = {}, own
        asked = (replace(h, probed_at=now) if h.name in watched else h for h in hosts)
        found = {name: one.ranked.verdict for name, one in (judged or {}).items() if one.named}
        return [self._row(host, now, stale_s, found.get(host.name, "")) for host in asked]

    def _row(self, host: HostSnapshot, now: float | None, stale_s: float, verdict: str) -> Row:
        old = age(host, now)
        asked = now if host.probed_at is None or host.recorded else host.probed_at
        stale = now is not None and asked is not None and now - asked >= stale_s
        seen, was, row = self._made.get(host.name, (None, ("", False, ""), None))
        if row is None or (seen is not host and seen != host) or was[1:] != (stale, verdict):
            known = _cells(host, self._own, verdict)
            if stale:
                known = tuple(cell(one, MUTED, right=one.justify == "right") for one in known)
            row = Row(host.name, (*known, _age_cell(old)), find=where(host))
        elif was[0] != old:
            row = replace(row, cells=(*row.cells[:-1], _age_cell(old)))
        self._made[host.name] = (host, (old, stale, verdict), row)
        return row


def _cells(host: HostSnapshot, own: Mapping[str, str], verdict: str) -> tuple[Text, ...]:
    """``verdict``: of a precheck, where it names the host; behind all that is so now."""
    known = host.facts is not None and host.facts.of_a_moment
    load = f"{host.facts.load1:.1f}/{host.facts.cpus}" if host.facts and known else "–"
    return (
        host_state(host),
        cell(host.name, "bold"),
        cell(where(host)),
        cell(devices(host)),
        cell(load, right=True),
        cell(_memory(host.facts), right=True),
        _remarks(host, own, verdict),
    )


def _remarks(host: HostSnapshot, own: Mapping[str, str], verdict: str) -> Text:
    told = note(host, own)
    if not verdict:
        return told
    found = (f"precheck: {verdict}", WARN)
    return join([found] if told.plain == NOTHING else [told, found], " · ")


def _age_cell(old: str) -> Text:
    return cell(old, MUTED, right=True)


def _memory(facts: HostFacts | None) -> str:
    if facts is None:
        return "–"
    if not facts.of_a_moment:
        return gib(facts.memory_mib)
    return f"{gib(facts.memory_mib - facts.memory_available_mib)}/{gib(facts.memory_mib)}"


def summary(hosts: Sequence[HostSnapshot]) -> str:
    """ "2 ready · 1 in use · 1 degraded, in use": for the frame, in the order of the states."""
    order = list(HostState)
    ranked = sorted(hosts, key=lambda host: (order.index(host.state), host.lease is not None))
    counts = Counter(_word_counted(host) for host in ranked)
    return " · ".join(f"{many} {word}" for word, many in counts.items())


def _word_counted(host: HostSnapshot) -> str:
    degraded = host.state is HostState.DEGRADED and host.lease is not None
    return f"{host.state_word}, in use" if degraded else host.state_word


class HostsPanel(TablePanel):
    """As high as its rows; those that a filter hides move nothing of what is below."""

    def start_filter(self) -> None:
        if self.styles.height is not None and self.styles.height.is_auto and self.outer_size:
            self.styles.height = max(self.outer_size.height + 1, LEAST_FILTERED)
        super().start_filter()

    def clear_filter(self) -> bool:
        self.styles.height = None
        return super().clear_filter()


class HostsPage(Page):
    PANEL = "hosts"
    BINDINGS = bindings("hosts")
    hosts_now: HostsNow

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.VERTICAL_BREAKPOINTS = [(0, "-lowest"), (LEAST, "-short"), (34, "-tall")]
        self._hosts: tuple[HostSnapshot, ...] = ()  # as of the last tick, with its meters
        self._own: dict[str, str] = {}
        self.hosts_now = HostsNow(session)
        self._rows = HostRows()
        self._shown: list[Row] = []
        self._order = INVENTORY
        self._meters: dict[str, LiveTelemetry] = {}
        self._came: dict[str, tuple[object, float | None, float]] = {}
        self._watched: str | None = None
        self._found: Precheck | None = None  # by the precheck of this console
        self._judged: Mapping[str, Judged] = {}
        self._has_run: dict[str, bool | None] = {}
        """Whether a campaign of ours has it, of what else runs on hosts, by run id; None while that
        is looked up, and of other users' runs."""

    def body(self) -> Iterable[Widget]:
        yield HostsPanel(KeyedTable(COLUMNS, id="hosts"), "Hosts", id="hosts-panel")
        yield HostDetail()

    def main_panel(self) -> TablePanel:
        return self.query_one("#hosts-panel", TablePanel)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Textual calls the one of every page, too."""
        self.read_judgements()

    @work(exclusive=True, group="judgements", description="read what prechecks say of hosts")
    async def read_judgements(self) -> None:
        if self.session.playing is None:
            self._judged = await self.session.judgements()
            self.tick()

    def _look_up_leases(self) -> None:
        leases = (host.lease for host in self.hosts_now.seen if host.lease is not None)
        known = {"", *self._own, *self._has_run}
        new = {one.run_id: one for one in leases if one.run_id not in known}
        if self.session.playing is not None or not new:
            return
        self._has_run |= dict.fromkeys(new)
        person = self.session.workspace.cluster.person
        mine = [run_id for run_id, one in new.items() if one.of(person).startswith("campaign ")]
        if mine:
            self.look_up(mine)

    @work(group="leases", description="look whether a run is of a campaign here")
    async def look_up(self, run_ids: Sequence[str]) -> None:
        has_run = self.session.workspace.has_run
        for run_id in run_ids:
            self._has_run[run_id] = await asyncio.to_thread(has_run, run_id)
        self.tick()

    def on_screen_suspend(self) -> None:
        self._watched = None
        self.workers.cancel_group(self, "watch")

    def pull(self) -> None:
        now = self.session.workspace.cluster.now()
        hosts = self._hosts = tuple(map(self._by_now, self.hosts_now.of(self.viewed)))
        self._own = self._known_runs()
        self._look_up_leases()
        measured = self.session.precheck
        if measured is not None and measured.found is not self._found:
            self._found = measured.found
            self.read_judgements()
        panel = self.main_panel()
        speed = self.session.workspace.cluster.simulated_speed
        watched = {h.name for h in hosts if not h.recorded and self._is_of_now(h.name)}
        stale_s = STALE_S * (speed or 1.0)
        rows = self._rows.of(hosts, self._own, now, stale_s, watched, self._judged)
        rows = [row for _, row in self._order.of(zip(hosts, rows, strict=True))]
        if len(rows) != len(self._shown) or any(map(is_not, rows, self._shown)):
            self._shown = rows
            queue = self.session.workspace.cluster.inventory.login is not None
            panel.table.refill(rows, OF_A_QUEUE if queue else COLUMNS)
        problem = plain(self.session.workspace.cluster.problem)
        flies = " · ages in simulated time" * (speed is not None)
        panel.retitle(f"Hosts{self._order.behind_title}", problem or f"{summary(hosts)}{flies}")
        panel.say_when_empty(
            "No host matches; Esc takes the filter away"
            if panel.filter_text
            else problem or self._why_none()
        )
        self._show_detail()

    def _why_none(self) -> str:
        inventory = self.session.workspace.cluster.inventory
        if inventory.login is not None:
            return f"Asking {inventory.engine} which hosts there are …"
        return "The inventory has no hosts; add some to hosts.toml"

    @property
    def _told_by(self) -> tuple[CampaignSnapshot, ...]:
        return self.hosts_now.told_by(self.viewed)

    def _known_runs(self) -> dict[str, str]:
        """What to call the runs of the campaigns at work and looked at, by run id."""
        opened = self.session.opened
        campaigns = (*self._told_by, *((opened,) if opened is not None else ()))
        return names_in_each(campaigns)

    @on(KeyedTable.Moved)
    def _show_detail(self) -> None:
        key = self.main_panel().table.current_key
        host = next((h for h in self.hosts_now.seen if h.name == key), None)
        self.query_one(HostDetail).show(
            host and self._by_now(host),
            now=self.session.workspace.cluster.now(),
            own=self._own,
            live=self._meters.get(key or ""),
            of_now=key is not None and self._is_of_now(key),
            judged=self._judged.get(key or ""),
        )
        if key != self._watched and self.is_current and key is not None:
            self._watched = key
            self.watch_host(key)

    # What is so now ----------------------------------------------------------------------------

    @work(exclusive=True, group="watch", description="watch what the host does now")
    async def watch_host(self, name: str) -> None:
        """Until another host is under the cursor, or another page in front.

        Where a run of ours is at work its own telemetry is read; nothing more runs on the host.
        """
        from backends.hosts.live_telemetry import LiveTelemetry  # noqa: PLC0415 - as above

        while True:
            await asyncio.sleep(self._rest_s)
            if (run := self._run_on(name)) is not None:
                await self._read_of(*run, name)
            elif self.session.playing is None:
                live = self._meters.setdefault(name, LiveTelemetry())
                with contextlib.suppress(DlperfError):
                    await self.session.workspace.cluster.watch(name, live.feed)
                await asyncio.sleep(AGAIN_EVERY_S)

    def _run_on(self, host: str) -> tuple[Path, str] | None:
        """The run of ours that is at work there: its campaign's directory, and its id."""
        return next(
            (
                (one.path, run.run_id)
                for one in self._told_by
                for run in one.runs
                if run.state.active and host in run.hosts
            ),
            None,
        )

    async def _read_of(self, campaign: Path, run_id: str, host: str) -> None:
        from backends.campaign.folder.run_telemetry import RunTelemetry  # noqa: PLC0415 (seldom)

        telemetry = RunTelemetry(campaign, run_id, [host])
        try:
            while self._run_on(host) == (campaign, run_id):
                await asyncio.to_thread(telemetry.read)
                self._meters[host] = telemetry.hosts[host]
                await asyncio.sleep(self._rest_s)
        finally:
            telemetry.close()
            if self.session.playing is not None:  # it was of that moment
                self._meters.pop(host, None)

    def _by_now(self, host: HostSnapshot) -> HostSnapshot:
        """With what its meters told last, where that is so now; and whose lease it has."""
        facts, lease = host.facts, host.lease
        if facts and lease and self._has_run.get(lease.run_id) is False:
            person = self.session.workspace.cluster.person
            anothers = lease.of_another_console(person)
            host = replace(host, facts=replace(facts, lease=anothers))
        live = self._meters.get(host.name)
        return with_live(host, live) if live is not None and self._is_of_now(host.name) else host

    def _is_of_now(self, name: str) -> bool:
        """The last sample of its meters came a moment ago, during the run that it has now."""
        live = self._meters.get(name)
        if self.session.playing is not None:
            return live is not None
        run, ends_at = self._run_on(name), live.ends_at if live is not None else None
        run_before, ended_before, came = self._came.get(name, (None, None, -math.inf))
        if run != run_before:
            came = -math.inf
        elif ends_at != ended_before:
            came = monotonic()
        self._came[name] = (run, ends_at, came)
        return monotonic() - came < OF_NOW_S

    @property
    def _rest_s(self) -> float:
        """A replay's time may pass a hundred times as fast."""
        return REST_S if self.session.playing is None else REST_S / 4

    # Keys --------------------------------------------------------------------------------------

    @property
    def labels_now(self) -> Mapping[str, str]:
        return {"zoom": "All panels"} if self.has_class("-zoomed") else super().labels_now

    @property
    def urgent_now(self) -> Collection[str]:
        return ("zoom",) * self.has_class("-zoomed")

    def never(self, action: str) -> str:
        if action not in ("probe_one", "probe_all", "precheck", "login"):
            return ""
        if self.session.playing is not None:
            return NO_HOST_ASKED
        if action in ("probe_one", "probe_all"):
            return ""
        if self.session.simulated:
            return "not in a demo, whose hosts are SIMULATED"
        if self.session.workspace.cluster.inventory.login is not None:
            return "not with a queue, which has the hosts"
        return ONLY_LOOKS if action == "login" and self.session.readonly else ""

    def not_now(self, action: str) -> str:
        if action == "sort":
            return OUT_OF_SIGHT if self.has_class("-zoomed") else "there is one host at most"
        return super().not_now(action)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        nobody = self.main_panel().table.current_key is None
        if action in ("probe_one", "login", "open", "zoom") and nobody:
            return action == "zoom" and self.has_class("-zoomed")
        if action == "open":
            return not isinstance(self.focused, HostDetail)
        if action == "sort" and (self.has_class("-zoomed") or len(self._hosts) < 2):
            return False
        return super().check_action(action, parameters)

    def action_open(self) -> None:
        self.query_one(HostDetail).focus()

    def action_zoom(self) -> None:
        """The details alone; again: both panels."""
        self.toggle_class("-zoomed")
        if self.has_class("-zoomed"):
            self.query_one(HostDetail).focus()
        else:
            self.main_panel().table.focus()
        self.query_one(KeyBar).renew()

    def action_filter(self) -> None:
        self.remove_class("-zoomed")
        super().action_filter()

    def action_back(self) -> None:
        self.remove_class("-zoomed")
        self.query_one(HostDetail).scroll_home(animate=False)
        super().action_back()

    def action_sort(self) -> None:
        """By the next of the orders; the cursor stays on its host."""
        self._order = self._order.next
        self.tick()
        self.call_after_refresh(self.main_panel().table.show_cursor_row)

    def action_probe_one(self) -> None:
        key = self.main_panel().table.current_key
        if key is not None:
            self.probe([key])

    def action_probe_all(self) -> None:
        self.probe(None)

    @work(exclusive=True, group="probe", description="ask hosts what they have")
    async def probe(self, names: Sequence[str] | None) -> None:
        try:
            await self.session.workspace.cluster.probe(names)
        except DlperfError as error:
            self.post_message(Problem(error))
        self.tick()

    def action_precheck(self) -> None:
        from tui.screens.precheck_dialog import PrecheckDialog  # noqa: PLC0415 (seldom)

        self.app.push_screen(PrecheckDialog(self.session))

    def action_login(self) -> None:
        key = self.main_panel().table.current_key
        inventory = self.session.workspace.cluster.inventory
        host = inventory.get(key) if key is not None else None
        if host is not None:
            by_ssh = host.transport != "local"
            self.log_in(host.name, login_command(host, inventory), by_ssh=by_ssh)

    @work(exclusive=True, group="login", description="lend the terminal to ssh")
    async def log_in(self, name: str, command: Sequence[str], *, by_ssh: bool) -> None:
        """Runs go on meanwhile: nothing but the drawing waits."""
        says = f"a shell on {plain(name)}; exit comes back to {NAME}"
        lent = await lend_from(self, command, overhear=by_ssh, says=says)
        if by_ssh and lent is not None and lent[0] == SSH_FAILED:
            told = lent[1] or f"ssh failed (exit status {lent[0]})"
            remedy = f"try it by hand: {shlex.join(command)}"
            self.post_message(Problem(DlperfError(told, remedy=remedy)))
