"""A campaign as an OpenMetrics text file, for node_exporter's textfile collector and its like.

https://github.com/prometheus/OpenMetrics (1.0.0). The names are listed in docs/inventory.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from backends.campaign.record.state import CampaignState, RunState
from backends.results.summary import Group, parameters_text
from profiles.cleantext import clean_text
from profiles.logs.own_log_names import safe_name

_SPECIAL = re.compile(r'["\\\n]')
Samples = Iterable[tuple[Mapping[str, str], float]]


def metrics_path(pattern: str, campaign: str) -> Path:
    """``pattern`` with the campaign's name, as a path's, for ``{campaign}``."""
    return Path(pattern.replace("{campaign}", safe_name(campaign, "campaign"))).expanduser()


def metrics_text(
    state: CampaignState, groups: Iterable[Group], *, now: float, free_bytes: int | None
) -> str:
    """All of the file. ``groups``: the campaign's results so far."""
    own = {"campaign": state.campaign, "simulated": str(state.simulated).lower()}
    latest = state.latest_attempts()
    counts = Counter(run.state for run in latest)
    lost = {host for run in state.runs.values() for host in run.lost_hosts}
    throughputs = [
        ({**own, "profile": case.profile, "case": case.case, "unit": case.unit,
          "parameters": parameters_text(case.parameters)},
         case.throughput)
        for group in groups
        for case in group.cases
        if case.throughput is not None
    ]  # fmt: skip
    free = [] if free_bytes is None else [(own, float(free_bytes))]
    parts = [
        _family("dlperf_campaign_runs", "Repeats by the state of their last attempt.", "", [
            ({**own, "state": str(one)}, float(counts[one])) for one in RunState
        ]),
        _family("dlperf_campaign_finished", "1 once all runs have ended.", "",
                [(own, float(state.finished))]),
        _family("dlperf_campaign_created_time_seconds", "When it began.", "seconds",
                [(own, state.created_at or 0.0)]),
        _family("dlperf_campaign_hosts_lost", "Hosts that are out of reach.", "",
                [(own, float(len(lost)))]),
        _family("dlperf_case_throughput", "Median over the repeats, in the label's unit.", "",
                throughputs),
        _family("dlperf_disk_free_bytes", "Where the campaign lies.", "bytes", free),
        _family("dlperf_updated_time_seconds", "When this was written.", "seconds", [(own, now)]),
    ]  # fmt: skip
    return "".join(parts) + "# EOF\n"


def _family(name: str, help: str, unit: str, samples: Samples) -> str:
    lines = [f"# TYPE {name} gauge"]
    lines += [f"# UNIT {name} {unit}"] if unit else []
    lines.append(f"# HELP {name} {help}")
    lines += [f"{name}{{{_labels(labels)}}} {value!r}" for labels, value in samples]
    return "".join(f"{line}\n" for line in lines) if len(lines) > 2 + bool(unit) else ""


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    escapes = {'"': r"\"", "\\": r"\\", "\n": r"\n"}
    return _SPECIAL.sub(lambda match: escapes[match[0]], clean_text(value))
