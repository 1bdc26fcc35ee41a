"""A campaign of which something may be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.keeper.spool import Spool


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    path = tmp_path / "campaign"
    path.mkdir(0o700)
    Spool(path).make()
    return path
