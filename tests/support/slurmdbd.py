"""The Slurm of the tests with a real accounting: ``slurmdbd`` and a MariaDB, all on loopback.

Its user root has the account ml and the qos normal; no other account is taken. Jobs are forgotten
by the controller a few seconds after they ended.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.slurm import NODES, SlurmCluster, program, why_no_slurm
from tests.support.sshd import free_port
from tests.support.waiting import wait_until

_DAEMONS = ("slurmdbd", "mariadbd", "mariadb-install-db", "mariadb-admin")

_CONFIGURATION = """\
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser=root
StorageLoc=slurm
LogFile={directory}/slurmdbd.log
PidFile={directory}/slurmdbd.pid
"""
_ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={directory}/munge/socket
AccountingStorageEnforce=associations,qos
MinJobAge=2
"""


def why_no_accounting() -> str:
    """What this machine lacks to run one; empty: nothing."""
    missing = [name for name in _DAEMONS if program(name) is None]
    return why_no_slurm() or (f"not installed: {', '.join(missing)}" if missing else "")


class AccountedSlurm(SlurmCluster):
    """Starts with :meth:`start`, as the other does."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._port, self._database_port = free_port("127.0.0.1"), free_port("127.0.0.1")

    def accounting(self) -> str:
        return _ACCOUNTING.format(directory=self.directory, port=self._port)

    def before_the_controller(self) -> None:
        data = self.directory / "database"
        install = [program("mariadb-install-db") or "", "--no-defaults", f"--datadir={data}"]
        words = ["--auth-root-authentication-method=normal", "--skip-test-db", "--user=root"]
        subprocess.run([*install, *words], check=True, capture_output=True, timeout=120)
        self.begin(
            "mariadbd",
            "mariadbd",
            "--no-defaults",
            "--user=root",
            f"--datadir={data}",
            f"--socket={self.directory}/database.socket",
            f"--port={self._database_port}",
            "--bind-address=127.0.0.1",
            "--innodb-buffer-pool-size=64M",
            "--innodb-flush-log-at-trx-commit=0",
        )
        wait_until(self._database_answers, what="MariaDB answers")
        conf = self.directory / "slurmdbd.conf"
        ports = {"port": self._port, "database_port": self._database_port}
        conf.write_text(_CONFIGURATION.format(directory=self.directory, **ports))
        conf.chmod(0o600)
        self.begin("slurmdbd", "slurmdbd", "-D")
        told = ("sacctmgr", "--immediate", "add")
        wait_until(
            lambda: self.answers("sacctmgr", "--noheader", "show", "cluster"),
            what="slurmdbd answers",
        )
        self.run(*told, "cluster", "test")
        self.run(*told, "account", "ml")
        self.run(*told, "user", "root", "account=ml", "defaultaccount=ml")

    def knows(self, job: str) -> bool:
        """Whether the accounting has heard of its start: the controller tells that some seconds
        late, and of a job that is over by then the name is never told."""
        words = ("--allocations", "--noheader", "--parsable2", "--format=JobName")
        return self.run("sacct", *words, f"--jobs={job}").startswith("dlperf-")

    def ended_as(self, job: str) -> str:
        """What the accounting says of its state."""
        return self.run(
            "sacct", "--allocations", "--noheader", "--format=State%30", f"--jobs={job}"
        )

    def forget_everything(self) -> None:
        """The controller comes back without a job and without what it knew of nodes; those whose
        slurmd is at work have told it how they are."""
        self.stop_controller()
        shutil.rmtree(self.directory / "state")
        (self.directory / "state").mkdir()
        self.start_controller()
        well = {node for node in NODES if self.at_work(node)}

        def heard_of() -> bool:
            words = ("sinfo", "-h", "-N", "-p", "gpu", "-t", "idle", "-o", "%N")
            return well == set(self.run(*words, check=False).split())

        wait_until(heard_of, what="nodes are idle")

    def _database_answers(self) -> bool:
        words = ("--protocol=tcp", "--host=127.0.0.1", f"--port={self._database_port}")
        asked = (program("mariadb-admin") or "", "--no-defaults", *words, "--user=root", "ping")
        return self.answers(*asked)
