"""What the program's exit code says to the script that called it."""

OK = 0
"""All good."""

FAILED = 1
"""Some run failed, something is left, a regression, or a bundle whose logs do not carry it."""

WRONG = 2
"""The request was wrong, and nothing was started."""

INTERRUPTED = 3
"""The console let go; runs continue detached."""
