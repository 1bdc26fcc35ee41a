"""What the program's exit code says to the script that called it."""

OK = 0
"""All good."""

FAILED = 1
"""Some run failed, something is left, or a regression."""

WRONG = 2
"""The request was wrong, and nothing was started."""

INTERRUPTED = 3
"""The console let go; runs continue detached."""
