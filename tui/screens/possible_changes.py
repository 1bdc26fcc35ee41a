"""What can be done to the runs of a campaign at a moment, by the names of the actions on Runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from backends.campaign.record.run_estimates import case_key, durations, expected_slots
from backends.campaign.record.run_view import RunView
from backends.campaign.record.state import RunRecord, RunState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.hosts.fingerprint import has_gpus
from backends.inventory.nodesets import ranked_nodeset
from backends.keeper.request import Verb
from backends.results.gpu_time import device_time
from profiles.counted import counted
from profiles.durations import format_duration
from tui.backend_protocols import Controller
from tui.kept_words import DESERTED, lies_elsewhere, way_on_elsewhere
from tui.run_names import full_names
from tui.screens.dialogs import Answer, Choice
from tui.screens.run_text import flagged_runs, said_of, troubled_runs
from tui.text import plain
from tui.widgets.telemetry_panel import NO_SAMPLE, NOT_BEGUN

CHANGES = frozenset(
    {"cancel_run", "cancel_all", "retry", "retry_all", "pause", "pause_all", "repeat", "diagnose"}
)
GO_ON = frozenset({"retry", "retry_all", "repeat"})
"""Of these what a campaign that is over is gone on with by."""
RETRIABLE = (RunState.FAILED, RunState.CANCELLED)
NONE_WAITS = "no run in the list waits"
NONE_FAILED = "no run in the list failed and is left to try again"
GOES_WITH_IT = ("follow", "to_work")
"""Keys for what goes on in a campaign."""


def possible_changes(
    viewed: CampaignSnapshot | None, run: RunView | None, listed: Sequence[RunView]
) -> frozenset[str]:
    """``run``: the one under the cursor. ``listed``: those in the list. Of a campaign that is only
    looked at: what can be asked of whoever is at work on it; of one that is over, what it can be
    gone on with by."""
    if viewed is None:
        return frozenset()
    if not may_change(viewed):
        return frozenset()
    ending = run is None or run.state.ended or run.state is RunState.CANCELLING
    able = {
        "cancel_run": not ending,
        "cancel_all": viewed.done < viewed.total,
        "retry": run is not None and run.state in RETRIABLE and _is_last(viewed, run),
        "retry_all": bool(failed_runs(viewed, listed)),
        "diagnose": run is not None and run.state is RunState.RUNNING,
        "pause": run is not None and run.state.waits,
        "repeat": bool(viewed.runs),
        "pause_all": bool(waiting_runs(listed)),
    }
    return frozenset(name for name in (GO_ON if viewed.unattended else CHANGES) if able[name])


def waiting_runs(listed: Sequence[RunView]) -> list[RunView]:
    """Those that have not started."""
    return [run for run in listed if run.state.waits]


def failed_runs(viewed: CampaignSnapshot, listed: Sequence[RunView]) -> list[RunView]:
    """Those that failed and that no later attempt has taken the place of."""
    failed = [run for run in listed if run.state is RunState.FAILED]
    last = {run.run_id for run in viewed.state.latest_attempts()} if failed else ()
    return [run for run in failed if run.run_id in last]


def may_change(viewed: CampaignSnapshot) -> bool:
    """Something of it can be changed, by whoever is at work on it or as it goes on."""
    return not viewed.unattended or may_go_on(viewed)


def may_go_on(viewed: CampaignSnapshot) -> bool:
    """It is over and nobody is at work on it, and another attempt or repeat would be run on real
    hosts, as it was."""
    elsewhere = viewed.simulated or viewed.state.imported or lies_elsewhere(viewed)
    return viewed.unattended and viewed.finished and not elsewhere


def why_not(
    action: str,
    viewed: CampaignSnapshot | None,
    run: RunView | None,
    *,
    opening: bool = False,
    told: bool = False,
) -> str:
    """Why a key of Runs does nothing now; empty where there are no better words. ``opening``: the
    campaign of a replay is being read. ``told``: the run's details are in sight."""
    if viewed is None:
        return "the replay is being opened" if opening else "there is no campaign here"
    if run is None:
        none = {"pause_all": NONE_WAITS, "retry_all": NONE_FAILED}
        return none.get(action, "there is no run under the cursor")
    again = _tried_again(viewed, run)
    if action == "retry" and again and may_change(viewed):
        return again
    if (action in (*CHANGES, "mark", "mark_all") and viewed.unattended) or (
        action in GOES_WITH_IT and viewed.deserted
    ):
        return _nobody_to_ask(action, viewed, run)
    is_so = f"the run {said_of(run)}"
    details = "its details have" if told else "v: its details have"
    waits = run.state.waits
    in_trouble = troubled_runs(viewed) | flagged_runs(viewed) if action == "trouble" else ()
    other = "other " * (run.run_id in in_trouble)
    no_log = "it has no log before it starts" if waits else f"{is_so}: there is no log"
    return {
        "retry": f"nothing to retry: {is_so}",
        "cancel_run": is_so,
        "diagnose": _no_diagnosis(viewed, run, is_so, details),
        "pause": is_so,
        "cancel_all": "every run has ended",
        "to_work": "every run has ended",
        "pause_all": NONE_WAITS,
        "retry_all": NONE_FAILED,
        "next_log": "the run has one log" if run.hosts else no_log,
        "open": "" if run.hosts else no_log,
        "follow": f"{is_so}; its log is at its end" if run.state.ended and run.hosts else is_so,
        "window": "which readings count is told at its end" if run.readings else "no reading yet",
        "meters": NOT_BEGUN if waits else NO_SAMPLE,
        "trouble": f"no {other}run in the list is in trouble",
    }.get(action, "")


def _no_diagnosis(viewed: CampaignSnapshot, run: RunView, is_so: str, details: str) -> str:
    told = viewed.state.run(run.run_id).diagnosis is not None
    return f"{is_so}; {details} what its hosts said" if told else is_so


def way_on(viewed: CampaignSnapshot, run: RunView, *, readonly: bool = False) -> str:
    """How a run that failed or was cancelled is done again, as nobody is at work on its campaign,
    or, of one that waits in a replay, how its turn is seen; "" of any other. ``readonly``: the
    console starts nothing."""
    if viewed.replayed and run.state.waits and run.state_text == run.state:
        return "why it waited is not recorded; ] goes on to the next begin or end of a run"
    nobody = viewed.unattended and not viewed.state.imported
    if not (nobody and run.state in RETRIABLE and _is_last(viewed, run)):
        return ""
    if not may_go_on(viewed):
        return _nobody_to_ask("retry", viewed, run)
    chosen = "" if run.state is RunState.FAILED else f" --run {run.run_id}"
    command = f"'dlperf-tui retry {viewed.called}{chosen}'"
    by_key = "" if readonly else "t, or "
    does = "starts it" if run.skipped else "does it again"
    return f"the campaign is over: {by_key}{command} {does}"


def _nobody_to_ask(action: str, viewed: CampaignSnapshot, run: RunView) -> str:
    """Of a campaign that is only looked at and at work nowhere: why, and the way on."""
    if words := way_on_elsewhere(viewed):
        return words
    if viewed.deserted:
        where = " in 'dlperf-tui demo'" * viewed.simulated
        return f"{DESERTED}: O, then r goes on with it{where}"
    if viewed.state.imported:
        return "the campaign was imported: nothing of it runs here"
    if action == "retry" and run.state not in RETRIABLE:
        return f"nothing to retry: the run {said_of(run)}"
    if viewed.simulated and (action == "repeat" or (action == "retry" and _is_last(viewed, run))):
        return "over, and simulated: a demo's Matrix begins another"
    return "the campaign is over: no run of it is left to change"


def change(controller: Controller, verb: Verb, run_ids: Sequence[str] | None) -> str:
    """Of the campaign at work here; what is to be said of it, or nothing where that can be seen.

    Raises
    ------
    DlperfError: it cannot be done.
    """
    match verb:
        case Verb.CANCEL if run_ids is None:
            at_work = any(run.state.active for run in controller.snapshot().runs)
            controller.cancel_all()
            first = "all runs are being ended, and none" if at_work else "none of the runs"
            return f"{first} is started"
        case Verb.CANCEL:
            return _cancel(*_each(controller, run_ids or (), controller.cancel_run))
        case Verb.RETRY:
            return _retry(*_each(controller, run_ids or (), controller.retry))
        case Verb.REPEAT:
            controller.repeat(1)
            return "one more repeat of each case; they start when their turn comes"
        case Verb.PAUSE | Verb.UNPAUSE:
            return _pause(controller, run_ids or (), pause=verb is Verb.PAUSE)
    return ""


def _retry(viewed: CampaignSnapshot, runs: Sequence[RunView]) -> str:
    if len(runs) > 1:
        return f"{len(runs)} runs tried again, each when its turn comes"
    starts = "starts when its turn comes"
    return "".join(f"{_called(viewed, run)}: attempt {run.attempt + 1} {starts}" for run in runs)


def _cancel(viewed: CampaignSnapshot, runs: Sequence[RunView]) -> str:
    left_out = sum(run.state is RunState.PLANNED for run in runs)
    told = ((len(runs) - left_out, "being ended"), (left_out, "left out"))
    if len(runs) == 1:
        return "".join(f"{_called(viewed, runs[0])} is {words}" for many, words in told if many)
    return ", ".join(
        f"{counted(many, 'run')} {'is' if many == 1 else 'are'} {words}"
        for many, words in told
        if many
    )


def _each(
    controller: Controller, run_ids: Sequence[str], act: Callable[[str], None]
) -> tuple[CampaignSnapshot, list[RunView]]:
    """Do it to each run; the campaign, and how they were, before."""
    before = controller.snapshot()
    runs = {run.run_id: run for run in before.runs}
    for run_id in run_ids:
        act(run_id)
    return before, [runs[run_id] for run_id in run_ids]


def _pause(controller: Controller, run_ids: Sequence[str], *, pause: bool) -> str:
    act = controller.pause if pause else controller.unpause
    done = sum(act(run_id) for run_id in run_ids)
    if len(run_ids) == 1:
        called = plain(full_names(controller.snapshot().runs)[run_ids[0]])
        said = f"{called} {'paused; p lets it start' if pause else 'may start'}"
        return said if done else "it is about to start; c ends it"
    again = "P lets them start" if pause else "they start when their turn comes"
    return f"{counted(done, 'run')} {'' if pause else 'un'}paused; {again}"


def change_labels(
    run: RunView | None, listed: Sequence[RunView], *, filtered: bool
) -> dict[str, str]:
    """What p, P, R and c would do now, by their actions. ``listed``: the runs in the list, which is
    ``filtered``."""
    waiting = waiting_runs(listed)
    waits = run is not None and run.state is RunState.PLANNED
    these = "shown" if filtered else "all"
    all_paused = bool(waiting) and all(one.paused for one in waiting)
    return {
        "cancel_run": "Skip" if waits else "Cancel",
        "pause": "Let it start" if run is not None and run.paused else "Pause",
        "pause_all": f"Let {these} start" if all_paused else f"Pause {these}",
        "retry_all": "Retry shown" if filtered else "Retry failed",
    }


def _is_last(viewed: CampaignSnapshot, run: RunView) -> bool:
    """No later attempt of it was made."""
    return last_attempt(viewed, run.run_id) == run.run_id


def _tried_again(viewed: CampaignSnapshot, run: RunView) -> str:
    """Which attempt has taken the place of one that failed or was cancelled, and whether that can
    be tried again; "" where none has."""
    last = last_attempt(viewed, run.run_id)
    if run.state not in RETRIABLE or last == run.run_id:
        return ""
    later = next(one for one in viewed.runs if one.run_id == last)
    on_that = ": t is for that one" if later.state in RETRIABLE else ""
    return f"attempt {later.attempt} took its place and {said_of(later)}{on_that}"


def last_attempt(viewed: CampaignSnapshot, run_id: str) -> str:
    """The last one at what the run is an attempt at; its run id."""
    slot = viewed.state.runs[run_id].slot
    return next(one.run_id for one in viewed.state.latest_attempts() if one.slot == slot)


def _called(viewed: CampaignSnapshot, run: RunView) -> str:
    """With its profile where there are several."""
    return plain(full_names(viewed.runs)[run.run_id])


def cancel_question(viewed: CampaignSnapshot, run: RunView) -> Choice:
    """The answer is "yes" or "no"."""
    if run.state is RunState.PLANNED:
        skip = (Answer("y", "leave it out", "yes", destroys=True), Answer("n", "keep it", "no"))
        words = f"Skip {_called(viewed, run)}? It is never started, unless t on it says so later."
        return Choice("Skip run", words, skip)
    answers = (Answer("y", "end this run", "yes", destroys=True), Answer("n", "let it go on", "no"))
    return Choice("Cancel run", _ending(viewed, run), answers)


def kept_words(run: RunView | None, viewed: CampaignSnapshot) -> str:
    """After a "no", of the run as it was asked of; None: of all. True also of what has ended by
    itself meanwhile."""
    if run is None:
        return "no run was cancelled" if viewed.active else "no run was skipped"
    done = "skipped" if run.state is RunState.PLANNED else "cancelled"
    return f"{_called(viewed, run)} was not {done}"


def cancel_all_question(viewed: CampaignSnapshot) -> Choice:
    """The answer is "yes" or "no"."""
    total = viewed.total - viewed.done
    them = "it" if total == 1 else "them"
    answers = (
        (
            Answer("y", f"end {'it' if total == 1 else 'all of them'}", "yes", destroys=True),
            Answer("n", f"let {them} go on", "no"),
        )
        if viewed.active
        else (
            Answer("y", f"leave {them} out", "yes", destroys=True),
            Answer("n", f"keep {them}", "no"),
        )
    )
    left, words = counted(total, "run"), _ending_all(viewed)
    ends = viewed.active > 0  # whichever runs: all of them are asked about
    return Choice(f"Cancel · {left} of {plain(viewed.called)}", words, answers, ends)


GOES_ON = "The campaign is over, and goes on here."


def retry_question(viewed: CampaignSnapshot, run: RunView) -> Choice:
    """Whether to go on with a campaign that is over; the answer is "yes" or "no"."""
    called = _called(viewed, run)
    asked = f"Start {called}?" if run.skipped else f"Try {called} again?"
    yes = "start it" if run.skipped else "try it again"
    answers = (Answer("y", yes, "yes"), Answer("n", "leave it as it is", "no"))
    return Choice(f"Retry · {plain(viewed.called)}", f"{asked} {GOES_ON}", answers)


def retry_all_question(viewed: CampaignSnapshot, runs: Sequence[RunView]) -> Choice:
    """The same of several, and whether to try them again in a campaign that is at work."""
    if len(runs) == 1:
        return retry_question(viewed, runs[0])
    answers = (Answer("y", "try them again", "yes"), Answer("n", "leave them as they are", "no"))
    asked = f"Try {counted(len(runs), 'failed run')} again?"
    if may_go_on(viewed):
        asked = f"{asked} {GOES_ON}"
    return Choice(f"Retry · {plain(viewed.called)}", asked, answers)


def repeat_question(
    viewed: CampaignSnapshot, on_gpus: Callable[[str], bool] = lambda profile: False
) -> Choice:
    """Of one more repeat of each case, and what that takes; the answer is "yes" or "no".
    ``on_gpus``: of a profile of which no run has ended and told it."""
    cases = {case_key(run): run for run in viewed.state.runs.values() if not run.profiled}
    more = tuple(cases.values())
    expected = durations(viewed.state.runs.values())
    took = [expected.of(replace(run, hosts=())) for run in more]
    if None in took:
        time = "nobody knows how long they take"
    else:
        hours = sum(
            run.nodes * run.gpus_per_node * (seconds or 0.0) / 3600
            for run, seconds in zip(more, took, strict=True)
        )
        told: dict[str, bool] = {}
        for run in viewed.state.runs.values():
            if run.fingerprint:
                told[run.profile] = told.get(run.profile, True) and has_gpus(run.fingerprint)
        gpus = (told.get(name, on_gpus(name)) for name in {run.profile for run in more})
        device = "GPU" if all(gpus) else "device"
        time = f"{_time_alone(viewed, more)}about {device_time(hours, device)}"
    answers = (
        Answer("y", "start them when their turn comes", "yes"),
        Answer("n", "leave it as it is", "no"),
    )
    said = f"One more repeat of each case? {counted(len(more), 'run')}, {time}."
    said = f"{said} {GOES_ON}" if may_go_on(viewed) else said
    return Choice("More repeats", said, answers)


def _time_alone(viewed: CampaignSnapshot, more: Sequence[RunRecord]) -> str:
    """ "≈ 1m20s, ", which they take on hosts that nothing else is on; "" where nobody knows, or
    they share hosts."""
    state = viewed.state
    if state.pack:
        return ""
    anew = [
        replace(run, run_id=str(number), state=RunState.PLANNED, hosts=(), not_before=0.0)
        for number, run in enumerate(more)
    ]
    slots = expected_slots(anew, durations(state.runs.values()), 0.0, state.hosts)
    end = max((slot.end for slot in slots.values()), default=0.0)
    return f"≈ {format_duration(end)}, " if len(slots) == len(anew) and end < inf else ""


def past_asking(asked: RunView | None, now: CampaignSnapshot) -> str:
    """Why a question whether to end a run, or all of them, is none any more; "" while it is one.
    ``asked``: as it was then; None: all."""
    if asked is None:
        return "every run has ended" if now.done == now.total else ""
    run = next((one for one in now.runs if one.run_id == asked.run_id), asked)
    begun = asked.state.waits and run.state is not asked.state
    return f"{_called(now, run)} {said_of(run)} by now" if run.state.ended or begun else ""


def _ending(viewed: CampaignSnapshot, run: RunView) -> str:
    """What ending a run means, for it and for its job, if it is in one."""
    where = f" on {ranked_nodeset(run.hosts)}" if run.hosts else ""
    what = "Its processes are ended on every host; its log stays."
    job = viewed.state.run(run.run_id).job_id
    if viewed.state.held is not None:
        what = "The campaign's job goes on with the other runs."
    elif run.state is RunState.QUEUED:
        what = f"Its job {job}".rstrip() + " leaves the queue."
    elif job:
        what = f"Its job {job} ends, and all that runs in it; its log stays."
    return f"End {_called(viewed, run)}{where}? {what}"


def _ending_all(viewed: CampaignSnapshot) -> str:
    """What ending all of them means."""
    at_work, waiting = viewed.active, viewed.total - viewed.done - viewed.active
    asked = [f"end {counted(at_work, 'run')} at work"] if at_work else []
    if waiting:
        one = "never start the one to come" if at_work else "never start the one run to come"
        asked.append(one if waiting == 1 else f"start none of the {waiting} to come")
    jobs = ""
    if viewed.state.held is not None:
        jobs = " The campaign's job ends, and its nodes go back."
    elif any(viewed.state.run(run.run_id).job_id for run in viewed.runs if not run.state.ended):
        jobs = " Their jobs end or leave the queue."
    still = "" if at_work else " None is at work."
    return f"{' and '.join(asked).capitalize()}?{still}{jobs} What is measured already stays."
