"""Published logs and what was published for them.

They are other people's and not part of this project: ``$DLPERF_LOG_CORPUS`` names the directory
that holds them, with ``manifest.json`` and ``hazards.json``; ``$DLPERF_LLM_CORPUS`` another one.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from profiles.format.case import Case
from profiles.format.catalog import Catalog
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser
from profiles.logs.log_paths import recognise
from profiles.throughput.measure_log_file import measure_file
from profiles.throughput.measure_run import Measurement, measure_run

CATALOG = Catalog.load()

_PROFILES = {
    "paddleclas": "paddleclas-resnet50",
    "ngc-mxnet-resnet": "ngc-mxnet-resnet50",
    "ngc-pytorch-resnet": "ngc-pytorch-resnet50",
    "ngc-tf-resnet": "ngc-tensorflow-resnet50",
    "paddlenlp-bert": "paddlenlp-bert",
    "ngc-tf-bert": "ngc-tensorflow-bert",
    "ngc-pytorch-bert": "ngc-pytorch-bert",
    "paddlenlp-transformer": "paddlenlp-transformer",
}
_MODELS = {"DeepLabV3P": "deeplabv3p", "HRNetW18": "hrnet"}

PRECISIONS = {
    "FP32": {"fp32"},
    "AMP": {"amp", "fp16"},
    "AMP(O1)": {"amp"},
    "FP16(O2)": {"pure_fp16"},
}
"""What the reports' names for a precision may be called in a profile."""


@dataclass(frozen=True)
class Log:
    """A published log, read by its family's bundled profile as the case that its path tells."""

    entry: dict[str, Any]
    profile: Profile
    case: Case
    measurement: Measurement
    parser: LogParser

    @property
    def error(self) -> float:
        """Measured less published, relative to published."""
        assert self.measurement.throughput is not None, self.measurement.reason
        return float(self.measurement.throughput / self.entry["published"] - 1)


def corpus(variable: str = "DLPERF_LOG_CORPUS") -> Path:
    """The directory that the variable names; skips the test without one."""
    directory = os.environ.get(variable)
    if not directory:
        pytest.skip(f"{variable} is not set: it names a directory of published logs")
    path = Path(directory)
    if not (path / "manifest.json").is_file():
        pytest.skip(f"no {path / 'manifest.json'}")
    return path


def document(name: str) -> Any:
    return json.loads((corpus() / name).read_text(encoding="utf-8"))


def profile_of(entry: dict[str, Any]) -> Profile:
    family = entry["format"].split("/")[0]
    if family in ("paddleseg", "mmseg"):
        return CATALOG.get(f"{family}-{_MODELS[entry['path'].split('/')[0]]}")
    return CATALOG.get(_PROFILES[family])


@cache
def logs() -> dict[str, Log]:
    """Every log of the manifest by id."""
    found: dict[str, Log] = {}
    for entry in document("manifest.json"):
        profile = profile_of(entry)
        recognised = recognise(profile, entry["path"])
        assert recognised is not None, f"{profile.name} does not know the name {entry['path']}"
        case = recognised.case
        measurement, _ = measure_file(profile, corpus() / entry["path"], case)
        parser = LogParser(profile, case)  # one that keeps its readings
        parser.feed((corpus() / entry["path"]).read_bytes())
        parser.finish()
        assert measure_run(profile, case, parser) == measurement
        found[entry["id"]] = Log(entry, profile, case, measurement, parser)
    return found


def log_at(path: str) -> Log:
    return next(log for log in logs().values() if log.entry["path"] == path)
