"""Cases that somebody adds to a campaign that has begun."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from backends.campaign.folder.create import planned_run
from backends.campaign.plan.more_repeats import first_of_more
from backends.campaign.plan.plan import Plan, PlannedCase
from backends.campaign.plan.profile_in_campaign import ProfileSetup
from backends.campaign.record import events as ev
from backends.campaign.record.state import CampaignState, campaign_of
from backends.hosts.placement import placement_of
from backends.hosts.preflight_finding import Finding, Level, in_spite_of


@dataclass(frozen=True, slots=True)
class BegunWith:
    """What all runs of a campaign have alike. ``setups``: by profile name. ``hosts``: their names.
    ``one_job``: a queue gives the hosts in one job for all runs."""

    setups: Mapping[str, ProfileSetup]
    hosts: Collection[str]
    one_job: bool = False


def why_not_added(
    begun_with: BegunWith, state: CampaignState, plan: Plan, findings: Sequence[Finding]
) -> str:
    """Why the plan's runs cannot be runs of the campaign, in words about that; "" where they can.
    ``findings``: of preflight; what it says of a host was so of the campaign's own runs, and what
    it says of a case a campaign records as it begins alone."""
    asked = plan.selection
    known = {text for text, _ in state.warned}
    of_cases = [found for found in findings if found.bearing is not None and found.bearing.tags]
    warned = in_spite_of([one for one in of_cases if one.level is Level.WARN], force=False).warnings
    new = [text for text, _ in warned if text not in known]
    reasons = {
        "its end was asked for": state.cancel_asked,
        "its runs have one job": begun_with.one_job,
        "runs that share hosts are planned together": state.pack or asked.pack,
        "it goes on until it is known": state.auto is not None,
        "what goes on until it is known is planned at the beginning": asked.auto is not None,
        "what is profiled is planned at the beginning": asked.explain,
        "it takes devices by another rule": placement_of(state.placement) is not asked.placement,
        "it has other hosts": {host.name for host in plan.hosts} != {*begun_with.hosts},
    }
    told = [*(reason for reason, so in reasons.items() if so), *new]
    if not told and not new_cases(begun_with, state, plan).cases:
        told = [*others(begun_with, plan), "it has these cases; + on Runs adds repeats"]
    return told[0] if told else ""


def new_cases(begun_with: BegunWith, state: CampaignState, plan: Plan) -> Plan:
    """Of a plan the cases that the campaign has not got, of the profiles that it has."""
    had = {run.case.key for run in state.runs.values()}
    new = [one for one in plan.cases if one.case.key not in had and not _differs(begun_with, one)]
    return replace(plan, cases=tuple(new))


def others(begun_with: BegunWith, plan: Plan) -> list[str]:
    """Why some of the plan's cases can never be the campaign's, each reason once."""
    return [*dict.fromkeys(filter(None, (_differs(begun_with, one) for one in plan.cases)))]


def _differs(begun_with: BegunWith, planned: PlannedCase) -> str:
    name = planned.profile.name
    setup = begun_with.setups.get(name)
    if setup is None:
        return f"it has no {name}"
    if setup.profile != planned.profile:
        return f"{name} was changed since it began"
    return f"it has {name} with other settings" * (dict(setup.settings) != dict(planned.settings))


def more_cases(state: CampaignState, plan: Plan, now: float) -> list[ev.RunPlanned]:
    """The runs of a plan of :func:`new_cases` as further ones of the campaign.

    Raises
    ------
    SelectionError: the campaign runs nothing.
    """
    first, token = first_of_more(state), campaign_of(next(iter(state.runs)))
    return [
        planned_run(planned, repeat, f"{token}-{number:04d}-a1", now)
        for number, (repeat, planned) in enumerate(plan.rounds(), first)
    ]
