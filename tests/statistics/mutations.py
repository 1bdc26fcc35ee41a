"""``python -m tests.statistics.mutations [WORD…]``: change each constant of the statistical rules,
one at a time, and see whether a test fails. WORDs: only constants that have one in their name.

Each mutant has a process of its own, in which nothing of the project was imported before: it is
compiled from a changed source as the tests import it, and no file is touched.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, ModuleType

from tests.statistics.constants import ROOT, RULES, Constant, constants

OFTEN_IMPORTED = (
    *("pytest", "hypothesis", "syrupy", "textual.pilot", "asyncssh", "pydantic"),
    *("numpy", "pandas", "scipy.stats", "scipy.optimize"),
)


class Outcome(Enum):
    KILLED = "killed"
    SURVIVED = "survived"
    BROKEN = "broken"  # nobody imported it, or nothing could be collected


@dataclass(frozen=True)
class Mutant:
    """``other``: what stands in the source instead."""

    constant: Constant
    other: str
    tests: tuple[str, ...]
    root: Path = ROOT

    def __str__(self) -> str:
        return f"{self.constant} → {self.other}"


@dataclass(frozen=True)
class Tried:
    """``said``: what pytest had to say."""

    mutant: Mutant
    outcome: Outcome
    said: str

    def __str__(self) -> str:
        by = re.search(r"^FAILED \S+::(.+?)(?: - .*)?$", self.said, re.MULTILINE)
        told = f" by {by[1]}" if by else ""
        return f"{self.outcome.value}{told}: {self.mutant}"


def mutants(of: Iterable[Constant]) -> list[Mutant]:
    """Of what is no rule there are none."""
    return [
        Mutant(constant, other, RULES[constant.path])
        for constant in of
        if not constant.reason
        for other in constant.others
    ]


def unchanged(of: Iterable[Constant]) -> list[Mutant]:
    """One per module, with its source as it is: where a test fails anyway all would be killed."""
    first = {constant.path: constant for constant in of}
    return [Mutant(one, one.text, RULES[path]) for path, one in first.items()]


def try_all(
    chosen: Sequence[Mutant], jobs: int, imported: Sequence[str] = OFTEN_IMPORTED
) -> Iterator[Tried]:
    """In their order. What takes long to import and is not ours is ``imported`` before."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*imported])

    def tried(mutant: Mutant) -> Tried:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_try, args=(mutant, sender))
        process.start()
        sender.close()
        try:
            outcome, said = receiver.recv()
        except EOFError:
            outcome, said = Outcome.BROKEN, "its process ended before it was tried"
        process.join()
        return Tried(mutant, outcome, said)

    with ThreadPoolExecutor(jobs) as threads:
        yield from threads.map(tried, chosen)


def _try(mutant: Mutant, answer: Connection) -> None:
    import hypothesis  # noqa: PLC0415 (who only looks for constants needs neither)
    import pytest  # noqa: PLC0415

    finder = _Finder(mutant)
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, str(mutant.root))
    os.chdir(mutant.root)
    # The same examples as ever. One that fails is enough, it need not become small.
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("mutation", deadline=None, derandomize=True, phases=phases)
    os.environ["DLPERF_HYPOTHESIS"] = "mutation"
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as kept, contextlib.redirect_stdout(said):
        options = ["-x", "-q", "-n0", "-p", "no:cacheprovider"]
        code = pytest.main([*options, "--basetemp", f"{kept}/tests", *mutant.tests])
    outcomes = {pytest.ExitCode.OK: Outcome.SURVIVED, pytest.ExitCode.TESTS_FAILED: Outcome.KILLED}
    outcome = outcomes.get(pytest.ExitCode(code), Outcome.BROKEN)
    answer.send((outcome if finder.imported else Outcome.BROKEN, said.getvalue()))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, and gives it another source."""

    def __init__(self, mutant: Mutant) -> None:
        constant = mutant.constant
        self._name = constant.path.removesuffix(".py").replace("/", ".")
        self._file = mutant.root / constant.path
        self._source = constant.changed(mutant.other)
        self.imported = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        self.imported = True
        loader = _Changed(fullname, str(self._file))
        loader.source = self._source
        return importlib.util.spec_from_file_location(fullname, self._file, loader=loader)


class _Changed(importlib.machinery.SourceFileLoader):
    """Compiles a source that is not the file's; nothing is cached."""

    source = b""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec", dont_inherit=True)


def main(words: Sequence[str]) -> int:
    found = [constant for path in RULES for constant in constants(path)]
    wanted = [one for one in found if not words or any(word in str(one) for word in words)]
    before, chosen = unchanged(wanted), mutants(wanted)
    began = time.monotonic()
    left: list[Tried] = []
    for at, tried in enumerate(try_all([*before, *chosen], os.cpu_count() or 1)):
        expected = Outcome.SURVIVED if at < len(before) else Outcome.KILLED
        print(tried, flush=True)
        if tried.outcome is not expected:
            left.append(tried)
    for tried in left:
        told = "" if tried.outcome is Outcome.SURVIVED else f"\n{tried.said}"
        print(f"\nNOT NOTICED: {tried}{told}")
    took = time.monotonic() - began
    print(f"{len(chosen)} changes in {took:.0f} s, {len(left)} of them not noticed")
    return bool(left)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
