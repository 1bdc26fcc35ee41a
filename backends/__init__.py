"""Where runs happen and what is kept of them. No user interface: usable without a terminal."""


def version() -> str:
    """dlperf-tui's own version; "unknown" of source that nobody has installed."""
    from importlib.metadata import PackageNotFoundError  # noqa: PLC0415 (30 ms)
    from importlib.metadata import version as installed_version  # noqa: PLC0415

    try:
        return installed_version("dlperf-tui")
    except PackageNotFoundError:
        return "unknown"
