"""Small profiles for tests, made from TOML as a user would write them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from profiles.format.case import Case
from profiles.format.case_matrix import make_case
from profiles.format.profile import Profile
from profiles.logs.log_parser import LogParser
from profiles.scalars import Scalar
from profiles.throughput.measure_run import Measurement, measure_run

HEAD = """
name = "sample"
framework = "F"
model = "M"
unit = "images/s"
[parameters]
batch_size = { choices = [128, 160], default = 128 }
precision = { choices = ["fp32", "amp"], default = "fp32" }
[matrix]
cases = ["1n1g", "1n8g", "2n8g"]
[launch]
launcher = "per_node"
command = "train {nodes} {arguments}"
"""
READING = r"reading = 'iter (?P<step>\d+), samples/s: (?P<value>[\w.,+-]+)'"
TIMED = (
    r"reading = '(?P<time>[\d-]+ [\d:,]+)-INFO: .*train batch (?P<step>\d+)\b"
    r".*elapse (?P<value>[\d.]+)'"
)


def profile(measure: str = READING, head: str = HEAD) -> Profile:
    return Profile.model_validate(tomllib.loads(f"{head}\n[measure]\n{measure}\n"))


def case(of: Profile, nodes: int = 1, gpus: int = 1, **values: Scalar) -> Case:
    return make_case(of, nodes, gpus, values)


def parse(of: Profile, log: bytes | str, at: Case | None = None) -> LogParser:
    parser = LogParser(of, at or case(of))
    parser.feed(log.encode() if isinstance(log, str) else log)
    parser.finish()
    return parser


def measure(of: Profile, log: bytes | str, at: Case | None = None) -> Measurement:
    at = at or case(of)
    return measure_run(of, at, parse(of, log, at))


def readings(*values: float, step: int = 20) -> str:
    """A log with these samples/s, one line every ``step`` iterations."""
    lines = (f"iter {(n + 1) * step}, samples/s: {value}" for n, value in enumerate(values))
    return "\n".join(lines) + "\n"


def write_profile(directory: Path, name: str, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path
