"""Whether what is started here outlives the login that started it, and how.

Source: logind.conf(5), loginctl(1), systemd-run(1). All here is blocking, and only reads.
"""

from __future__ import annotations

import configparser
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

UNIT = "dlperf-tui-keeper"


@dataclass(frozen=True, slots=True)
class Survival:
    """``prefix``: goes before the command. ``warning``: why it may end with the login; or empty."""

    prefix: tuple[str, ...] = ()
    warning: str = ""


def survival(user: str, environ: Mapping[str, str], campaign: str, root: Path) -> Survival:
    """How a process outlives the logout of its user.

    Where the user may linger it is put beside the login, into a scope of the user's own manager;
    else it is a plain daemon. ``root``: of the file system, ``/``.
    """
    if not (root / "run/systemd/system").is_dir():
        return Survival()
    lingers = (root / "var/lib/systemd/linger" / user).exists()
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    manager = bool(runtime) and (Path(runtime) / "systemd/private").exists()
    program = shutil.which("systemd-run", path=environ.get("PATH"))
    if lingers and manager and program is not None:
        options = ("--user", "--scope", "--quiet", "--collect")
        return Survival((program, *options, f"--description={UNIT} {campaign}", "--"))
    if user == "root" or not _kills(user, root):
        return Survival()
    how = "'loginctl enable-linger' lets it stay, where the site allows that"
    if lingers:
        how = "it cannot be put beside your login from here"
    return Survival(
        warning="this machine ends what a user leaves behind at logout (KillUserProcesses): "
        f"{how}; or let 'dlperf-tui resume' go on inside a job, such as "
        "sbatch --wrap 'dlperf-tui resume CAMPAIGN'"
    )


def _kills(user: str, root: Path) -> bool:
    """Whether logind ends the processes of a session with it."""
    names = [root / "usr/lib/systemd/logind.conf", root / "etc/systemd/logind.conf"]
    for above in ("usr/lib", "run", "etc"):  # what comes later wins
        names += sorted((root / above / "systemd/logind.conf.d").glob("*.conf"))
    said: dict[str, str] = {}
    for name in names:
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        try:
            parser.read_string(name.read_text("utf-8", "replace"))
        except (OSError, configparser.Error):
            continue
        if parser.has_section("Login"):
            said |= dict(parser["Login"])
    only = said.get("killonlyusers", "").split()
    spared = said.get("killexcludeusers", "").split()
    kills = said.get("killuserprocesses", "no").lower() in ("yes", "true", "on", "1")
    return kills and user not in spared and (not only or user in only)
