"""The two lines above every page: where we are and what runs, and the four pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.nodesets import fold_nodeset
from profiles.counted import counted
from tui.kept_words import HANDING_OVER, PAST
from tui.key_bindings import PAGES
from tui.text import BY_THE_WAY, GRAVE, both_ends, plain, shorten, with_ends
from tui.theme import ACCENT, BAD, GOOD, MUTED, WARN
from tui.widgets.seek_bar import SeekBar, seek_bar

if TYPE_CHECKING:
    from backends.campaign.record.status_view import CampaignSnapshot

LOOKING = "read-only console"
SEARCHING = "looking for a campaign …"


def cluster_words(hosts: Sequence[HostSnapshot]) -> str:
    """ "4 hosts 32 GPUs"; "40 GPUs (32 distinct)" where a machine has two names; devices without
    GPUs are slots; hosts not probed yet say so, and so do those whose driver does not tell its
    GPUs."""
    gpus = 0
    if any(host.facts is not None for host in hosts):
        from backends.hosts.machines import count_gpus  # noqa: PLC0415 (not for the first paint)

        gpus = count_gpus(hosts)
    slots = sum(h.slots for h in hosts if not (h.facts and h.facts.gpus))
    parts = [counted(len(hosts), "host") if hosts else "no hosts yet"]
    if gpus:
        named = sum(len(h.facts.gpus) for h in hosts if h.facts is not None)
        parts.append(counted(named, "GPU") + f" ({gpus} distinct)" * (gpus < named))
    elif slots:
        parts.append(counted(slots, "slot"))
    if unknown := [h.name for h in hosts if h.gpus_unknown]:
        parts.append(f"(GPUs of {plain(fold_nodeset(unknown))} unknown)")
    if any(h.state is HostState.PROBING for h in hosts):
        parts.append("probing …")
    return " ".join(parts)


FLIES = ", time "
"""Of the word for simulated hosts, before how fast theirs passes: it goes where room is short."""
A_RUN_IS = ": a run is "
"""Of why nobody knows the end, before the word that says it: it goes to a colon in the same way."""
LEAST_BESIDE = 20
"""Columns for the campaign's name and what stands between."""
LEAST_NAME = 8
LEAST_NOTE = 24
"""Columns; with fewer beside what is said, a note waits until that is over."""
BOUNDLESS = 10_000


def header_text(
    width: int,
    login: str,
    hosts: Sequence[HostSnapshot],
    campaign: CampaignSnapshot | None,
    *,
    only_looks: bool = False,
    simulated: str = "",
    replay: bool = False,
    leaving: bool = False,
    without: str = "no campaign",
) -> Text:
    """The first line at ``width`` columns; what matters most is shortened last: the campaign's name
    tells consoles apart, so the cluster goes before it does.

    ``only_looks``: the console starts nothing, whatever it shows. ``simulated``: the word for hosts
    that are made up, empty where they are real; a campaign of the other kind than they has a word
    of its own. A dialog that covers this line has it in its title. ``leaving``: a keeper is about
    to go on with the campaign. ``without``: what is said where there is none.
    """
    if campaign is None:
        right = "the replay is being opened" if replay else without
        if only_looks and not replay:
            right = f"{right} · {LOOKING}"
        name = ""
    else:
        # That it is a replay, the line below says.
        said = "" if replay else _standing(campaign, only_looks=only_looks)
        said = HANDING_OVER if leaving or campaign.handed_over else said
        measured = "measured" * bool(simulated and not campaign.simulated)
        right = " · ".join(filter(None, (measured, campaign.summary, said)))
        name = plain(campaign.called)
    text = Text(no_wrap=True, end="")
    text.append(" dlperf-tui", f"bold {ACCENT}")
    if text.cell_len + cell_len(simulated) + cell_len(right) + LEAST_BESIDE > width:
        simulated = simulated.replace(FLIES, " ")
    if text.cell_len + cell_len(simulated) + cell_len(right) + LEAST_BESIDE > width:
        right = right.replace(A_RUN_IS, ": ")
    if simulated:
        text.append(" ").append(f" {simulated} ", f"reverse {WARN}")
    tail = Text(no_wrap=True, end="")
    if campaign is not None and campaign.simulated and not simulated:
        tail.append(" SIMULATED ", f"reverse {WARN}").append(" ")
    room = width - text.cell_len - tail.cell_len - 2
    if cell_len(right) > room:
        right = right.removesuffix(f" · {PAST}")  # which the list of its runs says, too
    right = shorten(right, room)
    tail_room = tail.cell_len + cell_len(right) + (cell_len(name) + 6 if name else 2)
    for words in (f"on {shorten(plain(login), 20)}", f"{cluster_words(hosts)}{_lost(campaign)}"):
        part = f" · {words}"
        if text.cell_len + cell_len(part) + tail_room <= width:
            text.append(part)
    room = width - tail.cell_len - cell_len(right) - text.cell_len - 6
    if name and room >= LEAST_NAME:
        tail.append(both_ends(name, room), "bold").append(" · ", MUTED)
    tail.append(right, _campaign_style(campaign))
    text.append(" " * max(1, width - text.cell_len - tail.cell_len - 1))
    return text.append_text(tail).append(" ")


def _lost(campaign: CampaignSnapshot | None) -> str:
    """The hosts that the campaign's runs have lost."""
    runs = () if campaign is None or campaign.finished else campaign.runs
    lost = {host for run in runs for host in run.out_of_reach}
    return f" ({plain(fold_nodeset(sorted(lost)))} out of reach)" if lost else ""


def _standing(campaign: CampaignSnapshot, *, only_looks: bool) -> str:
    """Who is at work on it, where it is not this console."""
    if campaign.kept_by is not None:
        return f"by a {plain(campaign.kept_by.role)}"
    if only_looks:
        return LOOKING
    if campaign.deserted:
        return "nobody at work on it"
    return PAST if campaign.read_only else ""


def _campaign_style(campaign: CampaignSnapshot | None) -> str:
    if campaign is None:
        return MUTED
    if campaign.failed:
        return BAD
    return GOOD if campaign.finished else ACCENT


class Header(Widget):
    """Name, login host, cluster; the campaign and how far it is."""

    def __init__(
        self,
        login: str,
        hosts: tuple[HostSnapshot, ...] = (),
        campaign: CampaignSnapshot | None = None,
        *,
        only_looks: bool = False,
        simulated: str = "",
        replay: bool = False,
    ) -> None:
        super().__init__()
        self._login = login
        self._hosts = hosts
        self._campaign = campaign
        self._only_looks = only_looks
        self._simulated = simulated
        self._replay = replay
        self._leaving = False
        self._without = SEARCHING
        self._shown = Text()

    def show(
        self,
        hosts: tuple[HostSnapshot, ...],
        campaign: CampaignSnapshot | None,
        *,
        simulated: str = "",
        leaving: bool = False,
        without: str,
    ) -> None:
        self._hosts, self._campaign, self._simulated = hosts, campaign, simulated
        self._leaving, self._without = leaving, without
        if self._text() != self._shown:
            self.refresh()

    @property
    def campaign_width(self) -> int:
        """Columns at the right, from the campaign's name on; all where no gap is before it."""
        _, gap, campaign = self._text().plain.rpartition("  ")
        return cell_len(campaign) if gap else self.size.width

    def _text(self) -> Text:
        return header_text(
            self.size.width,
            self._login,
            self._hosts,
            self._campaign,
            only_looks=self._only_looks,
            simulated=self._simulated,
            replay=self._replay,
            leaving=self._leaving,
            without=self._without,
        )

    def render(self) -> Text:
        self._shown = self._text()
        return self._shown


class Tabs(Widget):
    """The pages with their digits, and at the right what the operator must not miss."""

    note: reactive[str] = reactive("")
    more: reactive[int] = reactive(0)
    level: reactive[str] = reactive("warn")
    replay: reactive[str] = reactive("")
    seek: reactive[SeekBar | None] = reactive(None)
    covered: reactive[int] = reactive(0)
    """Columns at the right where something else is said now: the note stands beside them."""

    class Clicked(Message):
        def __init__(self, page: str) -> None:
            super().__init__()
            self.page = page

    def __init__(self, current: str, *, left_out: str = "") -> None:
        """``left_out``: a page that there is none of."""
        super().__init__()
        self._current = current
        every = [(number, *page) for number, page in enumerate(PAGES.items(), 1)]
        self._pages = [page for page in every if page[1] != left_out]

    @property
    def note_width(self) -> int:
        """Columns of the whole note."""
        return cell_len(self._tail(BOUNDLESS).plain) if self.note else 0

    @property
    def names_width(self) -> int:
        """Columns of the pages' names."""
        return 1 + sum(len(f" {number} {page.label} ") for number, _, page in self._pages)

    def render(self) -> Text:
        text = Text(" ", no_wrap=True, end="")
        for number, name, page in self._pages:
            if name == self._current:
                text.append(f" {number} {page.label} ", f"bold reverse {ACCENT}")
            else:
                text.append(f" {number}", ACCENT).append(f" {page.label} ", MUTED)
        room = self.size.width - self.covered - text.cell_len
        tail = self._tail(room) if room >= LEAST_NOTE or not self.covered else Text()
        room -= tail.cell_len
        if self.seek is not None:
            text.append_text(bar := seek_bar(self.seek, room))
            room -= bar.cell_len
        text.append(" " * max(0, room))
        return text.append_text(tail)

    def _tail(self, room: int) -> Text:
        tail = Text(no_wrap=True, end="")
        if self.replay:
            tail.append(f" REPLAY {self.replay} ", f"reverse {ACCENT}").append(" ")
        if self.note:
            room, note = room - tail.cell_len - 4, plain(self.note)
            by_the_way = self.level == BY_THE_WAY
            further = f" · N: {self.more} more" if self.more else ""
            further = further or " · N" * (cell_len(note) > room or by_the_way)
            colour = BAD if self.level in GRAVE else MUTED if by_the_way else WARN
            said = with_ends(note, room - cell_len(further))
            tail.append(f"{'·' if by_the_way else '▲'} {said}{further} ", colour)
        return tail

    def on_click(self, event: events.Click) -> None:
        at = 1
        for number, name, page in self._pages:
            width = len(f" {number} {page.label} ")
            if at <= event.x < at + width:
                self.post_message(self.Clicked(name))
            at += width
