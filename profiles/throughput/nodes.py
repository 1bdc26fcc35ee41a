"""Logs of which each tells of its own node: what is measured is their sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from profiles.errors import LogError
from profiles.format.case import Case
from profiles.format.profile import Profile
from profiles.format.rule_for_case import rule_for
from profiles.throughput.file import measure_file
from profiles.throughput.measure import ONE_NODE, Measurement


def over_nodes(
    profile: Profile, case: Case, measured: Measurement, logs: Sequence[Path]
) -> Measurement:
    """The sum over the nodes where a reading is one node's, else ``measured`` as it is.

    ``measured``: of the first node's log. Where another node's log is not there or tells nothing,
    the first stands for it, which a warning of ``measured`` says. Blocking.
    """
    if case.nodes == 1 or rule_for(profile, case).scope != "per_node":
        return measured
    found = [_throughput(profile, case, log) for log in logs]
    told = [value for value in found if value is not None]
    if len(told) != case.nodes:
        return measured
    return replace(
        measured,
        throughput=sum(told) / case.nodes,
        warnings=tuple(text for text in measured.warnings if text != ONE_NODE),
    )


def _throughput(profile: Profile, case: Case, log: Path) -> float | None:
    """Of all nodes, were they like this one."""
    try:
        return measure_file(profile, log, case)[0].throughput
    except LogError:
        return None
