"""Campaigns that are over, as they lie on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from backends.campaign.folder import frozen
from backends.campaign.plan.profile_in_campaign import ProfileSetup
from backends.campaign.record import events as ev
from backends.campaign.record import journal
from backends.campaign.record.codec import encode
from profiles.format.case import Case
from profiles.format.catalog import Source
from profiles.format.site_settings import resolve_settings

V100 = "Tesla V100-SXM2-16GB, driver 440.33.01, CUDA 10.2"
RUN_S = 25.0


def past_campaign(
    directory: Path,
    source: Source,
    measured: Mapping[Case, Sequence[float | None]],
    *,
    at: float,
    settings: Mapping[str, str] | None = None,
    fingerprint: str = V100,
    simulated: bool = False,
    keeps_settings: bool = True,
    run_s: float = RUN_S,
) -> Path:
    """With a run for each throughput, the last of which ended ``at``; None: the run failed.
    ``settings``: that were given."""
    directory.mkdir(parents=True)
    (directory / "campaign.toml").write_text("")
    digest = ""
    if keeps_settings:
        given = resolve_settings(source.profile, settings or {})
        digest = frozen.freeze(directory, [ProfileSetup(source, given)], [], 1, [])
    events: list[ev.Event] = [
        ev.CampaignCreated(t=at - 3600, campaign=directory.name, simulated=simulated, frozen=digest)
    ]
    runs = [(case, number, x) for case, xs in measured.items() for number, x in enumerate(xs, 1)]
    for place, (case, repeat, throughput) in enumerate(runs):
        events += _run(f"r{place:03d}-a1", source, case, repeat, throughput, fingerprint, at, run_s)
    events.append(ev.CampaignFinished(t=at))
    (directory / journal.FILE_NAME).write_bytes(b"".join(map(encode, events)))
    return directory


def _run(
    run_id: str,
    source: Source,
    case: Case,
    repeat: int,
    throughput: float | None,
    fingerprint: str,
    at: float,
    run_s: float,
) -> list[ev.Event]:
    profile, hosts = source.profile, tuple(f"node{n}" for n in range(1, case.nodes + 1))
    planned = ev.RunPlanned(
        t=at - run_s,
        run_id=run_id,
        profile=profile.name,
        framework=profile.framework,
        model=profile.model,
        unit=profile.unit,
        nodes=case.nodes,
        gpus_per_node=case.gpus_per_node,
        parameters=dict(case.parameters),
        repeat=repeat,
    )
    assigned = ev.RunAssigned(
        t=at - run_s, run_id=run_id, hosts=hosts, commands=("train",), port=29500, log="logs/a.log"
    )
    launched = ev.RunLaunched(t=at - run_s, run_id=run_id)
    if throughput is None:
        failed = ev.RunFailed(
            t=at,
            run_id=run_id,
            reason="out of memory",
            category="oom",
            fingerprint=fingerprint,
        )
        return [planned, assigned, launched, failed]
    ended = ev.RunSucceeded(
        t=at,
        run_id=run_id,
        throughput=throughput,
        readings=10,
        used=9,
        window="readings 2 to 10",
        statistic="mean",
        fingerprint=fingerprint,
    )
    return [planned, assigned, launched, ended]
