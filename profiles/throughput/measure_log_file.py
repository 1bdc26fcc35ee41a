"""The throughput of a log file on disk."""

from __future__ import annotations

from pathlib import Path

from profiles.errors import LogError
from profiles.format.case import Case
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser
from profiles.throughput.measure_run import Measurement, measure_run
from profiles.throughput.tally import Tally

_BLOCK = 384 * 1024  # measured: fits a core's cache, and few enough calls


def measure_file(profile: Profile, path: Path, case: Case) -> tuple[Measurement, LogParser]:
    """Read the log in blocks and measure it; memory does not grow with its size.

    Raises
    ------
    LogError: the file cannot be read.
    """
    parser = LogParser(profile, case, keep=False)
    tally = Tally(parser.rule)
    try:
        with path.open("rb", buffering=0) as log:
            while block := log.read(_BLOCK):
                tally.take(parser.feed(block))
    except OSError as error:
        raise LogError(
            f"cannot read the log: {error.strerror}",
            where=str(path),
            remedy="check the path and that you may read it",
        ) from error
    tally.take(parser.finish())
    return measure_run(profile, case, parser, tally), parser
