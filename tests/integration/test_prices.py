"""A price in the inventory becomes what 10^9 tokens cost, by way of a run on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import run_program

PROFILE = """
name = "tokens"
framework = "sh"
model = "GPT"
unit = "tokens/s"
[matrix]
cases = ["1n2g"]
[launch]
launcher = "per_node"
command = '''sh -c "echo tokens/s: 5000; echo tokens/s: 5000"'''
[measure]
reading = 'tokens/s: (?P<value>[0-9]+)'
statistic = "mean"
"""


@pytest.mark.parametrize(("price", "cost"), [("price_per_hour = 1.8", 200.0), ("", None)])
def test_a_billion_tokens_cost_their_gpu_hours(
    tmp_path: Path, price: str, cost: float | None
) -> None:
    (tmp_path / "tokens.toml").write_text(PROFILE, encoding="utf-8")
    host = f'[[hosts]]\nname = "here"\ntransport = "local"\nslots = 2\n{price}\n'
    host += f'lease_dir = "{tmp_path}/leases"\n'  # other tests may have this machine
    (tmp_path / "hosts.toml").write_text(host, encoding="utf-8")

    def dlperf(*words: str) -> str:
        home = {**os.environ, "HOME": str(tmp_path)}
        done = run_program(words, cwd=tmp_path, env=home, timeout=90)
        assert done.returncode == 0, done.stderr
        return done.stdout

    words = ("run", "--inventory", "hosts.toml", "--profile", "tokens.toml", "--json")
    written: dict[str, Any] = json.loads(dlperf(*words))
    (result,) = written["results"]
    found = result["cost_per_1e9_tokens"]  # two devices for an hour: 18 million tokens
    assert found == (None if cost is None else pytest.approx(cost))
    table = dlperf("report", written["path"], "--layout", "llm")
    assert ("| 200.00 |" in table) == (cost is not None)
