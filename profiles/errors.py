"""The errors that a user is told about.

Every message says what is wrong, where, and how to mend it, on one line. The command line prints
that line and exits with :attr:`DlperfError.exit_code`; it never shows a traceback for one of these.
"""


class DlperfError(Exception):
    """What went wrong, where, and how to mend it.

    Parameters
    ----------
    what: what is wrong, as a sentence without a full stop.
    where: file, host, key or option it is wrong in; empty when ``what`` already says so.
    remedy: what the reader can do about it; empty only when nothing can be done.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        if self.remedy and line.endswith("?"):  # "…, did you mean 'base'?"
            line = f"{line} {self.remedy[0].upper()}{self.remedy[1:]}"
        elif self.remedy:
            line = f"{line}; {self.remedy}"
        return " ".join(line.split())


class ProfileError(DlperfError):
    """A profile file is missing, malformed, or contradicts itself."""


class SelectionError(DlperfError):
    """What was asked for does not exist or cannot run: a profile, case, parameter or host."""


class LogError(DlperfError):
    """A log file cannot be read, or does not hold what the profile looks for."""
