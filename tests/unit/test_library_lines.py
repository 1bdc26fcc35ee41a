"""Every bundled pattern reads its own example line however the line comes: coloured, behind what
launchers put before a line, after a progress bar that another writer left on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from profiles.format.case import Case
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.format.every_pattern import PatternAt, every_pattern
from profiles.format.profile import Profile
from profiles.format.rule_for_case import rule_for
from profiles.logs.log_parser import LogParser

CATALOG = Catalog.load()
BAR = "Training:  45%|████▌     | 45/100 [00:12<00:15,  3.61it/s]"


def coloured(line: str) -> str:
    return re.sub(r"(\S+)", "\x1b[1;32m\\1\x1b[39m", line) + "\x1b[0m"


def before(prefix: str) -> Callable[[str], str]:
    return lambda line: prefix + line


DRESSED: dict[str, Callable[[str], str]] = {
    "coloured": coloured,
    "torchrun": before("[rank0]:"),
    "torchrun --tee": before("[default0]:"),
    "torchrun, coloured": lambda line: f"\x1b[36m[rank0]:\x1b[39m{coloured(line)}",
    "srun --label": before("0: "),
    "srun --label of many": before(" 0: "),
    "mpirun --tag-output": before("[1,0]<stdout>:"),
    "a host's name": before("node7: "),
    "a time": before("2025-01-02T03:04:05.678Z "),
    "Windows' line end": lambda line: line + "\r",
    "over a progress bar": lambda line: f"{BAR}\r{line}",
    "under a progress bar": lambda line: f"{line}\r{BAR}",
}
ANOTHER_RANK = {
    "torchrun": before("[rank3]:"),
    "srun --label": before("3: "),
    "mpirun --tag-output": before("[1,3]<stdout>:"),
}


@dataclass(frozen=True)
class Told:
    """What a log says; of its failures the reason of the first, which is the one that is told."""

    readings: tuple[tuple[str, float], ...]
    summary: float | None
    metrics: tuple[tuple[str, float], ...]
    stated: tuple[tuple[str, str], ...]
    failure: str


def told(profile: Profile, case: Case, line: str) -> Told:
    parser = LogParser(profile, case)
    parser.feed(f"{line}\n".encode())
    parser.finish()
    return Told(
        tuple((str(reading.step), reading.value) for reading in parser.readings),
        parser.summary_value,
        tuple(parser.metrics.items()),
        tuple(parser.stated.items()),
        next((failure.reason for failure in parser.failures), ""),
    )


def cases(profile: Profile) -> tuple[Case, ...]:
    """One for each rule that the profile has."""
    found = {}
    for name, parameter in (*profile.parameters.items(), (None, None)):
        chosen = {name: list(parameter.choice_texts)} if name and parameter else {}
        for case in expand(profile, None, chosen):
            found.setdefault(rule_for(profile, case).model_dump_json(), case)
    return tuple(found.values())


def examples(profile: Profile) -> Iterator[tuple[PatternAt, str]]:
    for at in every_pattern(profile):
        if at.example_key and not at.example_key.startswith("explain"):
            yield at, at.reading.example


@pytest.mark.parametrize("name", CATALOG.names)
def test_an_example_reads_the_same_however_it_comes(name: str) -> None:
    profile = CATALOG.get(name)
    for case in cases(profile):
        for at, line in examples(profile):
            plain = told(profile, case, line)
            for how, dressed in DRESSED.items():
                assert told(profile, case, dressed(line)) == plain, (at.key, how)


@pytest.mark.parametrize("name", CATALOG.names)
def test_what_another_rank_says_is_read_whole_or_not_at_all(name: str) -> None:
    profile = CATALOG.get(name)
    for case in cases(profile):
        everyone = rule_for(profile, case).ranks == "all"
        for at, line in examples(profile):
            if re.search(r"\[(?:rank|default|1,)\d", line):
                continue  # says itself whose it is
            plain = told(profile, case, line)
            nothing = Told((), None, (), (), plain.failure)
            for how, dressed in ANOTHER_RANK.items():
                found = told(profile, case, dressed(line))
                assert found == plain or (found == nothing and not everyone), (at.key, how)
