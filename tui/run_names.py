"""What runs are called beside one another: of several profiles each has its own before it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from profiles.format.case_labels import CaseLabels, case_labels

if TYPE_CHECKING:
    from backends.campaign.record.run_record import RunRecord
    from backends.campaign.record.run_view import RunView
    from backends.campaign.record.status_view import CampaignSnapshot

Run = TypeVar("Run", "RunRecord", "RunView")


def called(run: RunRecord | RunView, labels: CaseLabels) -> str:
    """Beside the others of its profile, without what all of them share."""
    return labels.label(run.case) + run.label.removeprefix(run.case.label)


def run_names(runs: Collection[Run]) -> dict[str, str]:
    """By run id, without what all of them share: for where that is said, as in a list's title."""
    labels, several = case_labels(run.case for run in runs), _several(runs)
    return {run.run_id: f"{run.profile} " * several + called(run, labels) for run in runs}


def full_names(runs: Collection[Run]) -> dict[str, str]:
    """By run id, with all parameters."""
    several = _several(runs)
    return {run.run_id: f"{run.profile} " * several + run.label for run in runs}


def names_in_each(campaigns: Iterable[CampaignSnapshot]) -> dict[str, str]:
    """The same of the runs of several campaigns."""
    return dict(chain.from_iterable(full_names(one.runs).items() for one in campaigns))


def _several(runs: Collection[Run]) -> bool:
    return len({run.profile for run in runs}) > 1
