"""``python -m tests.benchmarks [NAME…]``: all benchmarks, or the named ones."""

from __future__ import annotations

import importlib
import sys

NAMES = ("startup", "parsing", "llm_parsing", "gap", "tailing", "console", "resume", "readings")


def main() -> None:
    for name in sys.argv[1:] or NAMES:
        importlib.import_module(f"tests.benchmarks.{name}").main()


if __name__ == "__main__":
    main()
