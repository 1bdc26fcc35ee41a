"""A user, or a process table, of one's own, so that what others start here is not taken for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backends.inventory.host_entry import Host
from backends.transports.local import LocalTransport
from tests.support.unique import NUMBER
from tests.support.users import AsUser

FIRST_UID = 700_000
PYTHON = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or sys.executable
"""An interpreter that any user can run, where there is one; ours may lie in our home."""


def transport_of_somebody(
    host: Host, directory: Path, environment: Mapping[str, str]
) -> LocalTransport:
    """This machine as a user sees it who has nothing else here; ``directory`` becomes theirs.

    Only root can become somebody else: where we are not, it is this user.
    """
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        return LocalTransport(host, environment=environment)
    uid = FIRST_UID + NUMBER
    for parent in directory.parents:
        if parent.stat().st_uid == 0 and len(parent.parts) > 2:
            parent.chmod(parent.stat().st_mode | 0o055)
    directory.chmod(0o755)
    os.chown(directory, uid, uid)
    ids = (f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
    return AsUser((setpriv, *ids), host, environment)


def owner_of(directory: Path) -> dict[str, Any]:
    """What makes a subprocess.Popen that of the user whose ``directory`` is."""
    owner = directory.stat()
    if owner.st_uid == os.geteuid():
        return {}
    return {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": ()}


def process_namespace() -> list[str]:
    """What a command runs inside of to have a process table of its own, with an init that waits for
    orphans, until SIGTERM ends all of it; nothing where that is not permitted."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0 or shutil.which(unshare[0]) is None:
        return []
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        return []
    # unshare itself blocks SIGTERM.
    ended = 'trap "kill -KILL \\$inside" TERM; "$@" & inside=$!; wait $inside'
    return ["sh", "-c", ended, "namespace", *unshare, "sh", "-c", '"$@" & wait', "init"]
