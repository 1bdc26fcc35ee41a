"""The hosts that a screen shows: as they are by now, and asked again while somebody looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from backends.hosts.host_facts import HostSnapshot
from tui.own_leases import OwnLeases, back_again, left_since
from tui.text import age_text

if TYPE_CHECKING:
    from backends.campaign.record.status_view import CampaignSnapshot
    from tui.session import Session

AGAIN_EVERY_S = 5.0
"""It is looked so often whether one is to be asked."""
OLD_S = 60.0
"""From here on a host is asked again by itself, while its state is in sight."""
LEAST_S = 10.0
"""Of our own time: that of simulated hosts may fly."""
MISSED = 1.5
"""Times that: a host should have been asked again by then, and how old its state is is told."""


class HostsNow:
    """Of one page. ``spare_ours``: hosts are not asked where a run of ours is at work, nor is any
    while a precheck is: who has them is known, and a look costs what is measured."""

    def __init__(self, session: Session, *, spare_ours: bool = False) -> None:
        self._session = session
        self._spare_ours = spare_ours
        self._leases = OwnLeases()
        self.seen: tuple[HostSnapshot, ...] = ()
        """As of the last :meth:`of`."""

    def told_by(self, viewed: CampaignSnapshot | None) -> tuple[CampaignSnapshot, ...]:
        """The campaigns that tell what becomes of their runs: the one at work here, which
        ``viewed`` is where no other is looked at; and the one that is looked at while somebody else
        goes on with it, and after its end; in a replay the one that is played."""
        session = self._session
        opened = None if session.playing is not None else session.opened
        campaigns = [viewed if opened is None else session.live]
        if opened is not None and opened.simulated == session.simulated:
            told = session.leaving or not (opened.deserted or opened.state.imported)
            campaigns.append(opened if told else None)
        return tuple(one for one in campaigns if one is not None)

    def of(self, viewed: CampaignSnapshot | None) -> tuple[HostSnapshot, ...]:
        """``viewed``: as for :meth:`told_by`."""
        now = self._session.workspace.cluster.now()
        self.seen = self._leases.of(self._session.hosts, self.told_by(viewed), now)
        return self.seen

    def not_counted(self, states: Mapping[str, str]) -> str:
        """As :func:`tui.plan_words.not_counted`, behind that of which it was not so long ago that
        it should have been asked again: "node2 held; node3 busy, as of 3m00s ago", which is when
        the first of these was asked."""
        from tui.plan_words import is_of_campaigns, not_counted  # noqa: PLC0415 (there is a plan)

        ages = {
            one.name: self.age_s(one) or 0.0
            for one in self.seen
            if not (one.told_now and is_of_campaigns(states.get(one.name, "")))
        }
        due_s = MISSED * self.period_s / self._speed
        old = {name: why for name, why in states.items() if why and ages.get(name, 0.0) >= due_s}
        said = [not_counted({name: why for name, why in states.items() if name not in old})]
        if old:
            oldest = max(ages[name] for name in old)
            said.append(f"{not_counted(old)}, as of {age_text(oldest)} ago")
        return "; ".join(filter(None, said))

    def age_s(self, host: HostSnapshot) -> float | None:
        """How old what is known of it is, by the clock of who sits here."""
        at = host.probed_at
        return (self._session.workspace.cluster.now() - at) / self._speed if at else None

    @property
    def _speed(self) -> float:
        return self._session.workspace.cluster.simulated_speed or 1.0

    @property
    def period_s(self) -> float:
        """A host is asked again so often, by the clock of the hosts."""
        return max(OLD_S, LEAST_S * self._speed)

    async def ask_again(self, viewed: CampaignSnapshot | None) -> None:
        """Those that were asked long ago, and those of which a campaign has told something since.

        Raises
        ------
        DlperfError: a queue does not say which hosts there are.
        """
        if self._spare_ours and self._session.measuring:
            return
        cluster, told_by = self._session.workspace.cluster, self.told_by(viewed)
        hosts = cluster.inventory.hosts
        taken = {h for one in told_by for run in one.runs if run.state.active for h in run.hosts}
        asked = [host for host in hosts if host.name not in taken] if self._spare_ours else hosts
        await cluster.refresh(self.period_s, asked if self._spare_ours else None)
        known = self._session.hosts
        news = back_again(known, told_by) | left_since(known, told_by)
        if among := [host for host in asked if host.name in news]:
            await cluster.refresh(AGAIN_EVERY_S * self._speed, among)
