"""A real Slurm on this machine: one controller and four nodes of eight GPUs that are no GPUs.

All of it is in one directory and ends with :meth:`SlurmCluster.close`: ``munged`` with a key and a
socket of its own, ``slurmctld``, and one ``slurmd`` for each of node1 … node4, all on 127.0.0.1.
Without accounting (``slurmdbd``); what has ended, ``sacct -c`` tells from a text file.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import subprocess
from pathlib import Path

from tests.support.processes import kill
from tests.support.sshd import free_port
from tests.support.waiting import wait_until

NODES = ("node1", "node2", "node3", "node4")
_DAEMONS = ("munged", "slurmctld", "slurmd")
_CLIENTS = ("sinfo", "squeue", "scontrol", "sacct", "sbatch", "scancel", "srun")
_FREEZER = Path("/sys/fs/cgroup/freezer")

_CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/%n.pid
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ProctrackType={tracking}
TaskPlugin=task/none
GresTypes=gpu
{accounting}JobCompType=jobcomp/filetxt
JobCompLoc={directory}/jobcomp.log
Prolog={directory}/prolog.sh
# Jobs begin and end as soon as they can.
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
KillWait=2
SlurmdTimeout=10
MessageTimeout=10
ReturnToService=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=gpu Nodes=node[1-4] Default=YES MaxTime=INFINITE PriorityTier=1
PartitionName=short Nodes=node[1-2] MaxTime=60 PriorityTier=1
PartitionName=urgent Nodes=node[1-4] MaxTime=60 PriorityTier=10
"""
_PROLOG = """\
#!/bin/sh
[ ! -e {directory}/prolog-fails-on.$SLURMD_NODENAME ]
"""
_NODE = (
    "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
    "CPUs=16 RealMemory=4000 Gres=gpu:h200:8\n"
)
_GRES = "AutoDetect=off\nNodeName=node[1-4] Name=gpu Type=h200 File={directory}/dev/gpu[0-7]\n"
_CGROUP = "CgroupPlugin=cgroup/v1\nCgroupMountpoint={directory}/cgroup\n"


def why_no_slurm() -> str:
    """What this machine lacks to run one; empty: nothing."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root here"
    missing = [name for name in (*_DAEMONS, *_CLIENTS) if program(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


def program(name: str) -> str | None:
    """Where it is. Daemons often lie where only root looks, unless :mod:`tests.without_tools`
    hides them."""
    beyond = "" if os.environ.get("DLPERF_WITHOUT_TOOLS") else ":/usr/sbin:/sbin"
    return shutil.which(name, path=os.environ.get("PATH", os.defpath) + beyond)


class SlurmCluster:
    """Starts with :meth:`start`. ``environment``: what its clients see.

    Partitions: gpu (the default, all nodes), short (node1 and node2, an hour at most), urgent (all
    nodes; takes them from jobs of the others, which are requeued).
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.conf = directory / "slurm.conf"
        theirs = {k: v for k, v in os.environ.items() if not k.startswith("SLURM_")}
        self.environment = {**theirs, "SLURM_CONF": str(self.conf)}
        self._cgroup: Path | None = None
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        self._write()
        munge = self.directory / "munge"
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
        words = [f"--{option}={munge / name}" for option, name in files.items()]
        self.begin("munged", "munged", "--foreground", "--force", *words)
        wait_until((munge / "socket").exists, what="munged listens")
        self.before_the_controller()
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        wait_until(self._all_idle, what="four nodes are idle")

    def accounting(self) -> str:
        """What slurm.conf says of it."""
        return "AccountingStorageType=accounting_storage/none\n"

    def before_the_controller(self) -> None:
        """Once munged is there."""

    def close(self) -> None:
        """End all jobs, then the daemons, and what is left of the cgroups."""
        with contextlib.suppress(AssertionError):
            self.reset()
        for name in list(self._daemons):
            self._stop(name)
        if self._cgroup is not None:
            for path, _, _ in os.walk(self._cgroup, topdown=False):
                with contextlib.suppress(OSError):
                    Path(path).rmdir()

    def reset(self) -> None:
        """As at the beginning: no job, all daemons at work, all nodes idle."""
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        wait_until(lambda: self.answers("scontrol", "ping"), what="the controller answers")
        self.run("scancel", "--user", "root")
        for path in self.directory.glob("prolog-fails-on.*"):
            path.unlink()
        wait_until(lambda: not self.run("squeue", "-h"), what="no job is left")
        for line in self.run("sinfo", "-h", "--reservation").splitlines():
            self.answers("scontrol", "delete", f"reservation={line.split()[0]}")
        for node in NODES:  # refused where nothing is to be resumed
            self.answers("scontrol", "update", f"nodename={node}", "state=resume")
        wait_until(self._all_idle, what="four nodes are idle")

    def run(self, *words: str, check: bool = True, timeout_s: float = 60.0) -> str:
        """What a Slurm command prints. AssertionError where it fails, unless not to ``check``."""
        done = subprocess.run(
            words,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            cwd=self.directory,
        )
        assert not check or done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def submit(self, script: str, *options: str) -> str:
        """``sbatch``: the job's id. ``script``: lines of sh."""
        return self.run("sbatch", "--parsable", *options, "--wrap", script).strip()

    # Daemons -------------------------------------------------------------------------------------

    def start_controller(self) -> None:
        """Nothing where it is at work."""
        self.begin("slurmctld", "slurmctld", "-D", "-f", str(self.conf))

    def stop_controller(self) -> None:
        """As ``systemctl stop slurmctld``: it saves what it knows."""
        self._stop("slurmctld")

    def start_node(self, node: str) -> None:
        """Nothing where its slurmd is at work."""
        self.begin(node, "slurmd", "-D", "-f", str(self.conf), "-N", node)

    def kill_node(self, node: str) -> None:
        """Its slurmd is gone at once; steps of jobs live on, as with a real one."""
        daemon = self._daemons.pop(node)
        kill(daemon.pid)
        daemon.wait(20)

    def at_work(self, name: str) -> bool:
        """A daemon, by the name of its node or its own."""
        daemon = self._daemons.get(name)
        return daemon is not None and daemon.poll() is None

    def fail_prolog(self, node: str) -> None:
        """From now on no job can begin there."""
        (self.directory / f"prolog-fails-on.{node}").touch()

    def fail_node(self, node: str) -> None:
        """The controller is told that the node is down: its jobs end with NODE_FAIL."""
        self.kill_node(node)
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=power lost")

    def log(self, name: str) -> str:
        """Of munged, slurmctld or a node."""
        return (self.directory / f"{name}.log").read_text("utf-8", "replace")

    def begin(self, name: str, command: str, *words: str) -> None:
        """A daemon, whose output is ``name``'s log; nothing where it is at work."""
        if self.at_work(name):
            return
        with (self.directory / f"{name}.log").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                [program(command) or command, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
                cwd=self.directory,
            )

    def _stop(self, name: str) -> None:
        daemon = self._daemons.pop(name, None)
        if daemon is None:
            return
        daemon.terminate()
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            kill(daemon.pid)
            daemon.wait(20)

    def answers(self, *words: str) -> bool:
        """Whether a command is there and does not fail."""
        done = subprocess.run(
            words, env=self.environment, capture_output=True, timeout=60, check=False
        )
        return done.returncode == 0

    def _all_idle(self) -> bool:
        states = self.run("sinfo", "-h", "-N", "-p", "gpu", "-o", "%t", check=False).split()
        return states == ["idle"] * len(NODES)

    # Files ---------------------------------------------------------------------------------------

    def _write(self) -> None:
        self.directory.mkdir(parents=True)
        for name in ("munge", "state", "dev", "cgroup", *(f"spool-{node}" for node in NODES)):
            (self.directory / name).mkdir()
        key = self.directory / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        for number in range(8):  # each is a /dev/null
            device = self.directory / "dev" / f"gpu{number}"
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        prolog = self.directory / "prolog.sh"
        prolog.write_text(_PROLOG.format(directory=self.directory))
        prolog.chmod(0o755)
        tracking = self._tracking()
        conf = _CONFIGURATION.format(
            directory=self.directory,
            controller_port=free_port("127.0.0.1"),
            tracking=tracking,
            accounting=self.accounting(),
        )
        for node in NODES:
            conf += _NODE.format(name=node, port=free_port("127.0.0.1"))
        self.conf.write_text(conf)
        (self.directory / "gres.conf").write_text(_GRES.format(directory=self.directory))
        (self.directory / "cgroup.conf").write_text(_CGROUP.format(directory=self.directory))

    def _tracking(self) -> str:
        """``proctrack/cgroup`` where root has the freezer of cgroup v1, below a directory of our
        own, for the cgroups of another one's node1 … node4 are called the same."""
        own = _FREEZER / f"dlperf-{secrets.token_hex(4)}"
        try:
            own.mkdir()
        except OSError:
            return "proctrack/linuxproc"
        self._cgroup = own
        (self.directory / "cgroup" / "freezer").symlink_to(own)
        return "proctrack/cgroup"
