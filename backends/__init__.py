"""Where runs happen and what is kept of them. No user interface: usable without a terminal."""


def version() -> str:
    """dlperf-tui's own version."""
    from importlib.metadata import version as installed_version  # noqa: PLC0415 (30 ms)

    return installed_version("dlperf-tui")
