"""What the logs of all nodes add to a measurement of the first: their sum, and the ranks' times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from profiles.errors import LogError
from profiles.format.case import Case
from profiles.format.profile import Profile
from profiles.format.rule_for_case import rule_for
from profiles.throughput.measure_log_file import measure_file
from profiles.throughput.measure_run import ONE_NODE, Measurement
from profiles.throughput.rank_lines import read_rank_times


def with_all_logs(
    profile: Profile, case: Case, measured: Measurement, logs: Sequence[Path], *, profiled: bool
) -> Measurement:
    """What is measured of a run whose logs, of all its nodes, are on this disk. Blocking.

    ``measured``: of the first node's log. ``profiled``: its ranks tell where their time goes.
    """
    measured = _over_nodes(profile, case, measured, logs)
    return replace(measured, ranks=read_rank_times(profile, logs)) if profiled else measured


def _over_nodes(
    profile: Profile, case: Case, measured: Measurement, logs: Sequence[Path]
) -> Measurement:
    """The sum over the nodes where a reading is one node's, else ``measured`` as it is.

    Where another node's log is not there or tells nothing, the first stands for it, which a warning
    of ``measured`` says.
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
