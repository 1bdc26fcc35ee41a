"""Starting a run on all of its hosts, or on none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from backends.campaign.cleanup_words import reason_text
from backends.campaign.record.run_record import RunRecord
from backends.campaign.record.state import campaign_of
from backends.campaign.run.end_and_fetch import Ending
from backends.campaign.run.host_part import Member
from backends.inventory.nodesets import ranked_nodeset
from backends.remote.wrapper_messages import (
    LeaseHeldError,
    RemoteError,
    RunSpec,
    RunStatus,
    StartStep,
)
from profiles.durations import parse_duration
from profiles.format.launch_section import Launch

START_LIMIT_S = 60.0
CANCEL_GRACE_S = 10.0
HOLD_SCRIPT = "exec sleep 2147483647\n"
"""What a passive member runs: it holds the host until the first node's launcher is done."""


class Deferred(Exception):
    """The hosts are held by somebody else; nothing of this run is left on any of them."""

    def __init__(self, host: str, holder: str) -> None:
        self.host = host
        self.holder = holder
        super().__init__(f"{host} is held by {holder}")


class Start:
    """Of one run.

    Parameters
    ----------
    ending: takes back what was started where another host is held by somebody else.
    lease: who takes the hosts, for others to read. group: with whose runs it shares its host.
    """

    def __init__(
        self,
        run: RunRecord,
        members: Sequence[Member],
        ending: Ending,
        launch: Launch,
        lease: str,
        group: str,
    ) -> None:
        self._run = run
        self._members = members
        self._ending = ending
        self._launch = launch
        self._lease = lease
        self._group = group
        self._steps: dict[str, StartStep] = {}  # by host that has not started it

    @property
    def doing(self) -> str:
        """ "copying files to node[2-3]": the first step that hosts are at; "": all are through."""
        step = min(self._steps.values(), key=list(StartStep).index, default=None)
        if step is None:
            return ""
        there = [m.name for m in self._members if self._steps.get(m.name) is step]
        return f"{step} {ranked_nodeset(there)}"

    async def everywhere(self) -> tuple[str, ...]:
        """The boot ids of the hosts, once all of them have answered.

        Raises
        ------
        Deferred: a host is held by somebody else; nothing is left on any.
        HostUnreachableError, RemoteError, TimeoutError: of the first host that did not start it.
        """
        if self._lease and len(self._members) > 1:
            # A rank that began and is taken back has been in the way of who holds another host.
            looks = await asyncio.gather(*map(self._held, self._members), return_exceptions=True)
            self._steps.clear()
            self._refuse(looks)
        results = await asyncio.gather(*map(self._on, self._members), return_exceptions=True)
        if any(isinstance(r, LeaseHeldError) for r in results):
            others = [r for r in results if not isinstance(r, LeaseHeldError)]
            self._refuse(others)
            await self._take_back()
        self._refuse(results)
        return tuple(r.boot_id for r in results if isinstance(r, RunStatus))

    def _refuse(self, results: Sequence[object]) -> None:
        """Raise the first of what was raised, before it what is no :class:`LeaseHeldError`."""
        errors = [result for result in results if isinstance(result, BaseException)]
        for error in sorted(errors, key=lambda error: isinstance(error, LeaseHeldError)):
            if isinstance(error, LeaseHeldError):
                own = self._lease, campaign_of(self._run.run_id)
                raise Deferred(error.host, error.lease.told_to(*own))
            raise error

    async def _held(self, member: Member) -> None:
        """Raise LeaseHeldError where another run has the host."""
        self._steps[member.name] = StartStep.CONNECTING
        lease = await member.contact.persist(
            lambda: member.remote.lease(self._group), START_LIMIT_S
        )
        if lease is not None and lease.run_id != self._run.run_id:
            raise LeaseHeldError(member.name, lease)

    async def _on(self, member: Member) -> RunStatus:
        spec = RunSpec(
            run_id=self._run.run_id,
            script=member.command.script if not member.passive else HOLD_SCRIPT,
            timeout_s=parse_duration(self._launch.timeout),
            lease=self._lease,
            group=self._group,
            devices=tuple(self._run.devices.get(member.name, ())),
            stage=member.stage,
            container_name=member.command.container,
            grace_s=CANCEL_GRACE_S,
        )
        at = partial(self._steps.__setitem__, member.name)
        try:
            return await member.contact.persist(
                lambda: member.remote.start(spec, at), START_LIMIT_S
            )
        finally:
            self._steps.pop(member.name, None)

    async def _take_back(self) -> None:
        """Leave nothing of a run that did not get all of its hosts: it is to be started again."""
        cleanup = await self._ending.collect(await self._ending.tear_down(0.0))
        for doubt in cleanup.doubts:
            raise RemoteError(reason_text(doubt), where=doubt.host)
        await self._ending.remove()
