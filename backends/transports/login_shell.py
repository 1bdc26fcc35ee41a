"""A command for ``sh`` that passes any login shell, and a mark behind what its rc files print."""

from __future__ import annotations

from shlex import quote

# Between this line and the end, stdout is the command's, and so is stderr: what the login shell's
# rc files print comes before it. Both streams need it, since neither waits for the other on the
# way. Single-quoted without \, ' or newline inside, so that csh and fish take it, too.
MARK = b"\x1edlperf\x1e\n"
_PREFIX = (
    r"""exec /bin/sh -c 'printf "\036dlperf\036\n"; printf "\036dlperf\036\n" >&2; """
    r"""eval "$(printf %b "$0")"' """
)
_HIDDEN = str.maketrans({"\\": r"\0134", "\n": r"\n", "'": r"\0047", "!": r"\0041"})


def login_shell_command(command: str) -> str:
    """A command for ``sh`` as one line that any login shell hands on unchanged."""
    return _PREFIX + quote(command.translate(_HIDDEN))
