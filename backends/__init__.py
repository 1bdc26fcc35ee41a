"""Where runs happen and what is kept of them. No user interface: usable without a terminal."""

from importlib.metadata import version as _distribution_version


def version() -> str:
    """dlperf-tui's own version."""
    return _distribution_version("dlperf-tui")
