"""Where things lie in a campaign directory (DLPerf's own log layout), and safe names for them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from backends.file_modes import Share, make_directory
from profiles.format.case import Case

if TYPE_CHECKING:
    from backends.campaign.record.run_record import RunRecord
    from backends.campaign.record.status_view import RunView
    from profiles.format.profile import Profile

_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


def safe_name(text: str, fallback: str = "x") -> str:
    """A single path component out of any text: no separators, no leading dot, never empty."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = _UNSAFE.sub("-", plain.strip()).strip("-.").replace("..", ".")
    return name[:80] or fallback


def campaign_name(now: float, slug: str) -> str:
    """``<date>-<slug>``."""
    return f"{datetime.fromtimestamp(now).strftime('%Y-%m-%d')}-{safe_name(slug, 'campaign')}"


def create_directory(campaigns: Path, name: str, share: Share = Share.PRIVATE) -> Path:
    """Make the campaign's directory; a second one of the same name gets ``-2``, ``-3`` …"""
    make_directory(campaigns, share)
    for number in range(1, 10_000):
        path = campaigns / (name if number == 1 else f"{name}-{number}")
        try:
            make_directory(path, share, exist_ok=False)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(name)


def log_path(
    profile: Profile,
    case: Case,
    repeat: int,
    attempt: int,
    taken: Container[str] = (),
    *,
    profiled: bool = False,
) -> str:
    """``logs/<framework>/<model>/<tag>/<model>_b<batch>_<precision>_<repeat>.log``.

    Parameters that are not at the profile's default follow the precision; a retry ends in ``-a2``,
    so that the failed attempt's log stays; a profiled run has no number. Where two profiles share
    framework and model, the one that finds its name ``taken`` puts its own name in front.
    """
    model = safe_name(profile.model.lower())
    parts = [model]
    if case.batch_size is not None:
        parts.append(f"b{case.batch_size}")
    parts.append(safe_name(case.precision or "fp32"))
    parts += [f"{safe_name(k)}-{safe_name(str(v))}" for k, v in _others(profile, case).items()]
    number = "profiled" if profiled else str(repeat)
    parts.append(f"{number}-a{attempt}" if attempt > 1 else number)
    folder = PurePosixPath("logs", safe_name(profile.framework.lower()), model, case.tag)
    path = str(folder / ("_".join(parts) + ".log"))
    if path in taken:
        path = str(folder / ("_".join([safe_name(profile.name), *parts]) + ".log"))
    return path


def run_log_path(profile: Profile, run: RunRecord, taken: Container[str]) -> str:
    """:func:`log_path` of a run; ``taken``: those of the campaign's other runs."""
    return log_path(profile, run.case, run.repeat, run.attempt, taken, profiled=run.profiled)


def _others(profile: Profile, case: Case) -> Mapping[str, object]:
    return {
        name: value
        for name, value in sorted(case.parameters.items())
        if name not in ("batch_size", "precision")
        and (name not in profile.parameters or profile.parameters[name].default != value)
    }


def host_log_path(rank0: str, host: str) -> str:
    """The log of another host beside rank 0's: ``….<host>.log``."""
    return rank0.removesuffix(".log") + f".{safe_name(host)}.log"


def log_of(run: RunView, host: str) -> Path | None:
    """The local raw log of one of the run's hosts; rank 0's where it has none of that name."""
    if run.log is None or host not in run.hosts[1:]:
        return run.log
    return Path(host_log_path(str(run.log), host))


def diagnosis_path(rank0: str) -> str:
    return rank0.removesuffix(".log") + ".diagnosis.txt"


def telemetry_path(run_id: str, host: str) -> str:
    return f"telemetry/{safe_name(run_id)}.{safe_name(host)}.csv"
