"""What is done to all runs that are marked: to which of them it can be, and the question before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from backends.campaign.record.run_view import RunView
from backends.campaign.record.state import RunState
from backends.campaign.record.status_view import CampaignSnapshot
from backends.keeper.request import Verb
from profiles.counted import counted
from tui.screens.dialogs import Answer, Choice
from tui.screens.possible_changes import GOES_ON, RETRIABLE, may_go_on
from tui.screens.run_text import said_of

MOST_NAMED = 8
"""Of the runs that it is done to, and of those to which it cannot be for one reason."""
BEGUN = "has begun by now"
_OF_SEVERAL = {"has": "have", "is": "are", "was": "were"}


@dataclass(frozen=True, slots=True)
class Able:
    """Of the marked runs those that it can be done to, as they are now; of the others why not, as
    it is said behind their names: ``has failed``."""

    runs: tuple[RunView, ...]
    others: tuple[tuple[RunView, str], ...]

    @property
    def run_ids(self) -> list[str]:
        return [run.run_id for run in self.runs]


def able(verb: Verb, viewed: CampaignSnapshot, marked: Sequence[RunView]) -> Able:
    """``verb``: to cancel, retry, pause or unpause. ``marked``: as they were when it was asked for:
    one that waited then and is at work now is not ended."""
    now = {run.run_id: run for run in viewed.runs}
    last = {run.run_id for run in viewed.state.latest_attempts()}
    told = [(now[one.run_id], _why_not(verb, one, now[one.run_id], last)) for one in marked]
    return Able(tuple(run for run, why in told if not why), tuple(one for one in told if one[1]))


def _why_not(verb: Verb, asked: RunView, run: RunView, last: Collection[str]) -> str:
    match verb:
        case Verb.CANCEL if asked.state.waits and run.state.active:
            return BEGUN
        case Verb.CANCEL:
            no = run.state.ended or run.state is RunState.CANCELLING
        case Verb.RETRY if run.state in RETRIABLE and run.run_id not in last:
            return "was tried again"
        case Verb.RETRY:
            no = run.state not in RETRIABLE
        case _:
            no = not run.state.waits or run.paused is (verb is Verb.PAUSE)
    return said_of(run) if no else ""


def verb_of(action: str, marked: Sequence[RunView]) -> Verb:
    """What the key of ``cancel_run``, ``retry`` or ``pause`` does to them: where all that wait are
    paused, p lets them start."""
    if action == "pause":
        waiting = [run for run in marked if run.state.waits]
        paused = waiting and all(run.paused for run in waiting)
        return Verb.UNPAUSE if paused else Verb.PAUSE
    return {"cancel_run": Verb.CANCEL, "retry": Verb.RETRY}[action]


ON_MARKED = ("cancel_run", "retry", "pause")


def marked_labels(viewed: CampaignSnapshot, marked: Sequence[RunView]) -> dict[str, str]:
    """What c, t and p would do now, by their actions: ``Cancel 3``."""
    found = {}
    for action in ON_MARKED:
        verb = verb_of(action, marked)
        runs = able(verb, viewed, marked).runs
        found[action] = _does(verb, runs, str(len(runs) or len(marked)))
    return found


def _does(verb: Verb, runs: Sequence[RunView], many: str) -> str:
    """ "Cancel 3 runs"."""
    if verb is Verb.UNPAUSE:
        return f"Let {many} start"
    skips = verb is Verb.CANCEL and runs and all(run.state is RunState.PLANNED for run in runs)
    return f"{'Skip' if skips else verb.capitalize()} {many}"


def why_none(
    verb: Verb, viewed: CampaignSnapshot, marked: Sequence[RunView], names: Mapping[str, str]
) -> str:
    """Why it can be done to none of them; "" where it can. ``names``: by run id."""
    of = able(verb, viewed, marked)
    which = "none of the " * (len(marked) > 1)
    return "" if of.runs else f"{which}{len(marked)} marked: {_others(of, names)}"


def marked_question(
    verb: Verb,
    viewed: CampaignSnapshot,
    marked: Sequence[RunView],
    names: Mapping[str, str],
    hidden: int = 0,
) -> Choice:
    """The answer is "yes" or "no". ``hidden``: how many of the marked the filter leaves out."""
    of = able(verb, viewed, marked)
    runs = of.runs
    parts = [f"{_does(verb, runs, counted(len(runs), 'run'))}?"]
    if verb is Verb.CANCEL:
        parts += _cancelling(viewed, runs, names)
    else:
        parts.append(f"{_named(runs, names)}.")
    if verb is Verb.PAUSE:
        parts.append("Nothing of what is paused starts until p lets it.")
    if verb is Verb.RETRY and may_go_on(viewed):
        parts.append(GOES_ON)
    does = (tuple(parts), of.run_ids)
    if hidden:
        parts.append(f"The filter hides {hidden} of the {len(marked)} marked.")
    if of.others:
        parts.append(f"Not {len(of.others)} of the {len(marked)} marked: {_others(of, names)}.")
    if begun := sum(why == BEGUN for _, why in of.others):
        parts.append(f"Esc, then c again asks for {'that one' if begun == 1 else 'those'} too.")
    answers = (
        Answer(
            "y",
            _does(verb, runs, f"{len(runs)}").lower(),
            "yes",
            destroys=verb is Verb.CANCEL,
        ),
        Answer("n", "change nothing", "no"),
    )
    title = _does(verb, runs, f"{len(runs)} of {len(marked)} marked")
    return Choice(title, " ".join(parts), answers, does)


def _cancelling(
    viewed: CampaignSnapshot, runs: Sequence[RunView], names: Mapping[str, str]
) -> list[str]:
    """Which are ended, which skipped, and what that means."""
    skipped = [run for run in runs if run.state is RunState.PLANNED]
    ended = [run for run in runs if run.state is not RunState.PLANNED]
    parts = []
    if ended:
        parts.append(f"{'To be ended: ' * bool(skipped)}{_named(ended, names)}.")
        if viewed.state.held is not None:
            parts.append("The campaign's job goes on with the other runs.")
        elif any(viewed.state.run(run.run_id).job_id for run in ended):
            parts.append("Their jobs end or leave the queue; their logs stay.")
        else:
            parts.append("Their processes are ended on every host; their logs stay.")
    if skipped:
        parts.append(f"{'To be skipped: ' * bool(ended)}{_named(skipped, names)}.")
        parts.append("What is skipped is never started, unless t on it says so later.")
    return parts


def _named(runs: Sequence[RunView], names: Mapping[str, str]) -> str:
    """ "A, B and 3 more"."""
    more = len(runs) - MOST_NAMED
    named = ", ".join(names[run.run_id] for run in runs[:MOST_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _others(of: Able, names: Mapping[str, str]) -> str:
    """ "A, B have succeeded; C is running"."""
    by_reason: dict[str, list[RunView]] = {}
    for run, why in of.others:
        by_reason.setdefault(why, []).append(run)
    told = by_reason.items()
    return "; ".join(f"{_named(runs, names)} {_of(len(runs), why)}" for why, runs in told)


def _of(many: int, why: str) -> str:
    verb, _, rest = why.partition(" ")
    return f"{_OF_SEVERAL.get(verb, verb)} {rest}" if many > 1 else why


def past_marked(verb: Verb, viewed: CampaignSnapshot, marked: Sequence[RunView]) -> str:
    """Why a question of them is none any more; "" while it is one."""
    if able(verb, viewed, marked).runs:
        return ""
    return f"it can be done to none of the {len(marked)} marked by now"
