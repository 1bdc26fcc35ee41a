"""Runs a command as on a machine without the programs that integration tests would like to have.

python -m tests.without_tools COMMAND…: its PATH is a directory of links to everything else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

HIDDEN = (
    *("sshd", "ssh", "slogin", "ssh-add", "ssh-agent", "ssh-keygen", "ssh-keyscan", "scp", "sftp"),
    *("tmux", "mpirun*", "mpiexec*", "orterun", "orted", "prterun"),
    *("ip", "ss", "bridge", "tc", "nft", "iptables*", "ip6tables*", "xtables*"),
    *("sinfo", "squeue", "scontrol", "sacct", "sbatch", "scancel", "srun", "slurm*", "munge*"),
)
"""The programs of openssh, tmux, OpenMPI, iproute2, iptables and Slurm, as patterns."""


def link_all_but(hidden: Sequence[str], directory: Path) -> None:
    """Fill ``directory`` with links to all that PATH finds, less what is hidden."""
    for place in (*os.environ.get("PATH", os.defpath).split(os.pathsep), "/usr/sbin", "/sbin"):
        for program in sorted(Path(place).glob("*")) if place else ():
            link = directory / program.name
            if not any(fnmatch(program.name, name) for name in hidden) and not link.is_symlink():
                link.symlink_to(program.absolute())


def main(command: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="without-tools") as directory:
        Path(directory).chmod(0o755)  # tests become other users, who need programs as well
        link_all_but(HIDDEN, Path(directory))
        environment = {**os.environ, "PATH": directory, "DLPERF_WITHOUT_TOOLS": "1"}
        environment.pop("DLPERF_NO_SKIPS", None)
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
