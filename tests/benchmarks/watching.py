"""What watching costs the run that is watched: bare, and through the program, in alternating pairs.

``python -m tests.benchmarks.watching CAMPAIGN.toml [PAIRS]``: of a campaign of one case on this
machine. The bare run is the very command that ``plan`` prints, in a directory with the staged files
and its output in a file, nothing beside it; the other is ``run``, with host probe, wrapper, log
follower, telemetry and journal. Both logs are measured by the profile's rule. Who goes first
changes from pair to pair, so that what drifts favours neither.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import profiles
from backends.results.student import quantile
from profiles.format.catalog import Catalog
from tests.benchmarks.report import headline, line

PAIRS = 8
WITHIN = 0.005
SETTLE_S = 5.0


def main(arguments: Sequence[str] | None = None) -> None:
    asked = sys.argv[1:] if arguments is None else arguments
    campaign, pairs = Path(asked[0]), int(asked[1]) if asked[1:] else PAIRS
    planned = _program("plan", campaign)["runs"]
    if len(planned) != 1 or len(planned[0]["commands"]) != 1:
        sys.exit(f"{campaign}: one case, one repeat and one host make a pair")
    headline(f"{planned[0]['label']}, bare and watched, {pairs} pairs")
    print(f"  {planned[0]['commands'][0]}", flush=True)
    ratios = []
    for number in range(pairs):
        kinds = (_bare, _watched) if number % 2 == 0 else (_watched, _bare)
        speeds = {kind: kind(campaign, planned[0]) for kind in kinds}
        ratios.append(speeds[_watched] / speeds[_bare])
        both = f"{speeds[_bare]:.1f} and {speeds[_watched]:.1f}"
        line(f"pair {number + 1}: {both}", f"{ratios[-1]:.4f}")
    middle, half = _interval(ratios)
    low, high = math.exp(middle - half), math.exp(middle + half)
    met = low >= 1 - WITHIN and high <= 1 + WITHIN
    ratio = f"{math.exp(middle):.4f} [{low:.4f}, {high:.4f}]"
    line("watched / bare, 95%", ratio, target="within ±0.5%", met=met)


def _interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Mean of the logarithms and half of its 95% interval, by Student's t of the pairs."""
    logs = [math.log(ratio) for ratio in ratios]
    half = quantile(0.95, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return fmean(logs), half


def _bare(_campaign: Path, planned: dict[str, Any]) -> float:
    name, tag = planned["label"].split()[:2]
    profile = Catalog.load().get(name)
    with tempfile.TemporaryDirectory() as directory:
        for staged in profile.launch.stage:
            shutil.copy(Path(profiles.__file__).parent / staged, directory)
        log = Path(directory, "log.txt")
        with log.open("wb") as output:
            subprocess.run(
                ["sh", "-c", planned["commands"][0]],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=True,
            )
        measured = _cli("parse", str(log), "--profile", name, "--case", tag, "--json")
    time.sleep(SETTLE_S)
    return float(measured[0]["throughput"])


def _watched(campaign: Path, _planned: dict[str, Any]) -> float:
    with tempfile.TemporaryDirectory() as directory:
        told = _program("run", campaign, "--campaigns", directory, "--yes")
    time.sleep(SETTLE_S)
    return float(told["runs"][0]["throughput"])


def _program(command: str, campaign: Path, *more: str) -> dict[str, Any]:
    told: dict[str, Any] = _cli(command, "--from", str(campaign), *more, "--json")
    return told


def _cli(*arguments: str) -> Any:  # JSON
    done = subprocess.run(
        [sys.executable, "-m", "tui.cli", *arguments], stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
