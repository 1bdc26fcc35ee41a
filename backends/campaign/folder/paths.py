"""Where things lie in a campaign directory (DLPerf's own log layout), and safe names for them."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from backends.file_modes import Share, make_directory
from profiles.cleantext import clean_text
from profiles.errors import SelectionError
from profiles.logs.own_log_names import log_path, safe_name

if TYPE_CHECKING:
    from backends.campaign.record.run_record import RunRecord
    from backends.campaign.record.run_view import RunView
    from profiles.format.profile import Profile


SPOOL = "spool"
REQUESTS = f"{SPOOL}/requests"
"""Where others may put files: :mod:`backends.keeper.spool`."""
TAKEN = f"{SPOOL}/taken"
"""Where what they have put is moved to, whatever it is."""
KEEPER_LOG = "keeper.log"
SHORT_NAME = 40
"""Of a campaign that is named after two profiles, without its date."""


def campaign_name(now: float, slug: str) -> str:
    """``<date>-<slug>``."""
    return f"{datetime.fromtimestamp(now).strftime('%Y-%m-%d')}-{safe_name(slug, 'campaign')}"


def name_of(profiles: Iterable[str]) -> str:
    """What a campaign of these is called where nobody says: both names where they are short, else
    the first and how many more there are."""
    first, *more = dict.fromkeys(profiles)
    both = f"{first}-and-{more[0]}" if len(more) == 1 else ""
    if both and len(both) <= SHORT_NAME:
        return both
    return f"{first}-and-{len(more)}-more" if more else first


def check_name(directory: Path) -> None:
    """Raises SelectionError where the name of a new campaign cannot be read as it is shown, or
    every command would take it for an option."""
    if directory.name.startswith("-"):
        raise SelectionError(
            "the name of a campaign cannot begin with -: commands take it for an option",
            where=clean_text(directory.name),
            remedy="begin it with a letter or a digit",
        )
    if (shown := clean_text(directory.name)) != directory.name:
        raise SelectionError(
            "its name has characters that cannot be shown",
            where=shown,
            remedy="use letters, digits and . _ -",
        )


def create_directory(campaigns: Path, name: str, share: Share = Share.PRIVATE) -> Path:
    """Make the campaign's directory; a second one of the same name gets ``-2``, ``-3`` …, each
    above those that there are, so that the name of one that was removed is not given again while
    there is a later one."""
    make_directory(campaigns, share)
    for number in range(_last_number(campaigns, name) + 1, 10_000):
        path = campaigns / (name if number == 1 else f"{name}-{number}")
        try:
            make_directory(path, share, exist_ok=False)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(name)


def _last_number(campaigns: Path, name: str) -> int:
    """The greatest that a campaign of this name has: 1 is that without any; 0: there is none."""
    with os.scandir(campaigns) as entries:
        rest = [e.name.removeprefix(name) for e in entries if e.name.startswith(name)]
    numbers = (re.fullmatch(r"-([2-9]|[1-9][0-9]{1,2})", one) for one in rest)
    return max((1 if "" in rest else 0, *(int(found[1]) for found in numbers if found)))


def run_log_path(profile: Profile, run: RunRecord, taken: Container[str]) -> str:
    """:func:`log_path` of a run; ``taken``: those of the campaign's other runs."""
    return log_path(profile, run.case, run.repeat, run.attempt, taken, profiled=run.profiled)


def host_log_path(rank0: str, host: str) -> str:
    """The log of another host beside rank 0's: ``….<host>.log``."""
    return rank0.removesuffix(".log") + f".{safe_name(host)}.log"


def run_logs(directory: Path, run: RunRecord) -> list[Path]:
    """Of all its hosts, rank 0's first."""
    others = (host_log_path(run.log, host) for host in run.hosts[1:])
    return [directory / log for log in (run.log, *others)]


def log_of(run: RunView, host: str) -> Path | None:
    """The local raw log of one of the run's hosts; rank 0's where it has none of that name."""
    if run.log is None or host not in run.hosts[1:]:
        return run.log
    return Path(host_log_path(str(run.log), host))


def diagnosis_path(rank0: str) -> str:
    return rank0.removesuffix(".log") + ".diagnosis.txt"


def diagnosis_directory(run_id: str) -> str:
    """Of what the hosts said, byte for byte."""
    return f"diagnosis/{safe_name(run_id)}"


def telemetry_path(run_id: str, host: str) -> str:
    return f"telemetry/{safe_name(run_id)}.{safe_name(host)}.csv"
