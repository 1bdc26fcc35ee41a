from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from backends.hosts.telemetry_summary import Telemetry
from backends.results.run_result import RunResult
from profiles.case_tag import parse_tag
from tui.cli import main

Dlperf = Callable[..., str]


@pytest.fixture
def dlperf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Dlperf:
    """``dlperf-tui`` with a home and a directory of campaigns of its own; its standard output."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)

    def dlperf(*words: str | Path, code: int = 0) -> str:
        assert main([*map(str, words)]) == code, capsys.readouterr().err
        return capsys.readouterr().out

    return dlperf


@pytest.fixture
def runs_of() -> Callable[..., list[RunResult]]:
    """Succeeded runs of one case: a throughput per repeat, None for a failed one."""

    def runs_of(tag: str, values: Sequence[float | None], **fields: Any) -> list[RunResult]:
        nodes, gpus = parse_tag(tag)
        common: dict[str, Any] = {
            "profile": "cpu-smoke",
            "framework": "Python",
            "model": "MLP",
            "parameters": {"batch_size": 64, "precision": "fp32"},
            "unit": "samples/s",
            "window": "all readings but the first",
            "statistic": "mean",
            "telemetry": Telemetry(),  # watched, and nothing seen
        }
        common |= fields
        return [
            RunResult(
                run_id=f"{tag}-r{repeat}",
                case_tag=tag,
                nodes=nodes,
                gpus_per_node=gpus,
                repeat=repeat,
                state="succeeded" if value is not None else "failed",
                reason="" if value is not None else "out of memory",
                throughput=value,
                log=f"logs/python/mlp/{tag}/mlp_b64_fp32_{repeat}.log",
                **common,
            )
            for repeat, value in enumerate(values, start=1)
        ]

    return runs_of
