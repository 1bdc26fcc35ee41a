"""What a campaign keeps rewriting: results.csv, results.json, report.md; and environment.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from backends import version
from backends.campaign.folder import frozen
from backends.campaign.folder.paths import run_logs
from backends.campaign.folder.raw_logs import lines_of
from backends.campaign.folder.tags_and_note import read_about
from backends.campaign.record.run_record import RunRecord, concerns
from backends.campaign.record.run_results import run_results
from backends.campaign.record.run_state import RunState
from backends.campaign.record.state import CampaignState
from backends.hosts.environment import environment_document, with_what_was_unknown
from backends.hosts.fingerprint import has_gpus
from backends.hosts.host_facts import HostSnapshot, Sought
from backends.hosts.preflight_finding import gpus_unjudged
from backends.hosts.software import software_of_runs
from backends.inventory.nodesets import fold_nodeset
from backends.precheck.record import FOLDER, Precheck, PrecheckError, document, read_precheck
from backends.precheck.words import precheck_markdown
from backends.results.campaign_report import ExecutedCommands, ReportContext
from backends.results.flag_lines import forced_cases
from backends.results.result_files import write_in_campaign, write_results
from backends.results.summary import summarise

ENVIRONMENT = "environment.json"
REPORT = "report.md"
PRECHECK = FOLDER


def record_environment(
    path: Path, snapshots: Sequence[HostSnapshot], sought: Sequence[Sought], now: float
) -> None:
    """Record what the hosts were when the campaign began, and of their software that of its runs,
    which is ``sought``; ``now`` in seconds since the epoch.

    Whoever goes on with it adds the hosts of which nothing was known, with when they were looked
    at; what was recorded stays as it is.

    Raises
    ------
    OSError: it cannot be written, or what was recorded cannot be read.
    """
    own = [software_of_runs(snapshot, sought) for snapshot in snapshots]
    found = environment_document(own, version=version(), recorded_at=now)
    first = _recorded_first(path)
    document = found if first is None else with_what_was_unknown(first, found)
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    write_in_campaign(path / ENVIRONMENT, text)


def _recorded_first(path: Path) -> dict[str, Any] | None:  # JSON
    """None: nothing was recorded, or it is damaged."""
    try:
        document = json.loads((path / ENVIRONMENT).read_text(encoding="utf-8"))
        sound = all(isinstance(host["name"], str) for host in document["hosts"])
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None
    return document if sound else None


def read_environment(path: Path) -> dict[str, Any]:  # JSON
    try:
        document = json.loads((path / ENVIRONMENT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def precheck_of(path: Path) -> Precheck | None:
    """The one that went before the campaign; None: there was none, or somebody changed it."""
    if not (path / PRECHECK).is_dir():
        return None
    try:
        return read_precheck(path / PRECHECK)
    except PrecheckError:
        return None


def precheck_document(path: Path) -> dict[str, Any] | None:  # JSON
    """What a campaign's own document says of its precheck: all but the figures."""
    return _told(precheck_of(path))


def _told(precheck: Precheck | None) -> dict[str, Any] | None:  # JSON
    if precheck is None:
        return None
    left_out = ("figures", "troubles", "alone")
    told = {key: value for key, value in document(precheck).items() if key not in left_out}
    return told | {"path": PRECHECK}


def rewrite_results(state: CampaignState, path: Path) -> None:
    """Bring the result files up to ``state``; blocking, so call it in a thread.

    Raises
    ------
    OSError: a file could not be written; it is left as it was.
    """
    precheck = precheck_of(path)
    context = _context(state, path, precheck)
    told = _told(precheck)
    write_results(path, context, run_results(state), precheck=told, notes=state.notes_of_results)


def report_context(state: CampaignState, path: Path) -> ReportContext:
    """What a report says beside its figures, from the journal and environment.json."""
    return _context(state, path, precheck_of(path))


def _commands(state: CampaignState) -> tuple[ExecutedCommands, ...]:
    """Of the first run of each case that counts; of one without such a run, of the first begun."""
    shown: dict[str, RunRecord] = {}
    for run in state.runs.values():
        known = shown.get(run.case.key)
        if run.commands and (known is None or (_counts(run) and not _counts(known))):
            shown[run.case.key] = run
    return tuple(
        ExecutedCommands(
            f"{run.profile} {run.case.label}",
            tuple(
                (host, command)
                for host, command in zip(run.hosts, run.commands, strict=False)
                if command
            ),
            run.run_id,
        )
        for run in shown.values()
    )


def _counts(run: RunRecord) -> bool:
    return run.state is RunState.SUCCEEDED and not run.profiled


def _context(state: CampaignState, path: Path, precheck: Precheck | None) -> ReportContext:
    notes = [state.damage] if state.damage else []
    notes += [f"{line}." for line in lines_of(state)]
    if state.forced:
        concerns = forced_cases(summarise(run_results(state)))
        concerns += _on_some_gpus(state)
        about = f"started in spite of what preflight stops, which concerns {concerns}"
        notes.append(f"It was forced: {about}.")
        notes += state.overridden
    notes += [f"{state.begun_without}."] if state.left_out else []
    notes += [f"Preflight warned before the first start: {text}." for text in _of_no_run(state)]
    environment = read_environment(path)
    notes += [f"{text[0].upper()}{text[1:]}." for text in _unjudged_gpus(state, environment)]
    notes += [f"{text}." for _, _, text in state.notes_of_unwatched]
    said = read_about(path)
    return ReportContext(
        campaign=state.campaign or path.name,
        called=path.name,
        tags=said.tags,
        said=said.note,
        environment=environment,
        commands=_commands(state),
        version=state.version,
        notes=tuple(notes),
        precheck="" if precheck is None else precheck_markdown(precheck, "##"),
        other_logs=_other_logs(state, path),
        lost_logs=frozenset(
            run.log
            for run in state.runs.values()
            if run.log and run.state.ended and not (path / run.log).is_file()
        ),
        scopes=_scopes(path, state.frozen),
        explains=_explains(path, state.frozen),
    )


@lru_cache(maxsize=8)  # a report is written after each run, and what is frozen stays
def _scopes(path: Path, digest: str) -> Mapping[str, str]:
    """By profile what a speed in its logs is of, where that is the same for all of its cases."""
    found: dict[str, str] = {}
    profiles = frozen.profiles_of(path, digest).values() if digest else ()
    for profile in profiles:
        kinds = {(rule.kind, rule.scope) for _, rule in profile.measure.rules}
        if len(kinds) == 1 and (kind := kinds.pop())[0] == "throughput":
            found[profile.name] = kind[1]
    return found


@lru_cache(maxsize=8)  # as above
def _explains(path: Path, digest: str) -> frozenset[str]:
    profiles = frozen.profiles_of(path, digest).values() if digest else ()
    return frozenset(one.name for one in profiles if one.explain is not None)


def _other_logs(state: CampaignState, path: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    """Of runs of several hosts, as far as they are on disk."""
    return {
        run.run_id: tuple(
            (host, log.name)
            for host, log in zip(run.hosts[1:], run_logs(path, run)[1:], strict=True)
            if log.is_file()
        )
        for run in state.runs.values()
        if run.log and len(run.hosts) > 1
    }


def _on_some_gpus(state: CampaignState) -> str:
    """`` (only runs on GPU2 of node1)``, of a stop that is about no run on the other GPUs of its
    host, where there were such."""
    told: dict[str, None] = {}
    for bearing in filter(lambda one: one.gpus, state.forced_on):
        there = replace(bearing, gpus=())
        runs = [run for run in state.runs.values() if run.hosts]
        if any(concerns(there, run) and not concerns(bearing, run) for run in runs):
            gpus = ", ".join(f"GPU{gpu}" for gpu in bearing.gpus)
            hosts = fold_nodeset(sorted({host for group in bearing.hosts for host in group}))
            told[f"{gpus} of {hosts}" if hosts else gpus] = None
    return f" (only runs on {'; '.join(told)})" if told else ""


def _of_no_run(state: CampaignState) -> Iterator[str]:
    """What preflight warned of that bears on none of its runs; of these their grades tell."""
    for text, bearing in state.warned:
        runs = (run for run in state.runs.values() if run.hosts)
        if not any(concerns(bearing, run) for run in runs):
            yield text


def _unjudged_gpus(state: CampaignState, environment: Mapping[str, Any]) -> Iterator[str]:
    """``preflight did not judge GPUs: cpu-smoke uses none``, of hosts that have some."""
    known = [run for run in state.runs.values() if run.fingerprint and run.hosts]
    if state.imported or not known or any(has_gpus(run.fingerprint) for run in known):
        return
    used = {host for run in known for host in run.hosts}
    with suppress(LookupError, TypeError, AttributeError):  # it is read leniently
        if any(host.get("gpus") for host in environment["hosts"] if host["name"] in used):
            yield gpus_unjudged([*dict.fromkeys(run.profile for run in known)], "did")
