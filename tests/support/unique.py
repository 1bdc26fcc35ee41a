"""A number that no other worker of the tests has, on this machine and at this time."""

from __future__ import annotations

import os
import re
import zlib

_WORKER = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0)
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))

NUMBER = zlib.crc32(_RUN.encode()) % 20_000 + _WORKER
"""Process numbers will not do: workers may have process namespaces of their own."""
