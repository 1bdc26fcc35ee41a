"""docs/api.md: the script in it does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_script_of_the_manual_measures_and_prints_the_table(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    [script] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    quick = script.replace('cases=("1n1g", "1n2g")', 'cases=("1n1g",), values={"seconds": ("1",)}')
    assert quick != script
    done = subprocess.run(
        [sys.executable, "-c", quick],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "| node num |" in done.stdout
    assert len(list((tmp_path / "campaigns").iterdir())) == 1
