"""Commands as a simulated host executes them: the words of our own clients, and no others."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from backends.hosts.preflight import CHECK_SCRIPT
from backends.hosts.probe import PROBE_SCRIPT
from backends.hosts.telemetry import telemetry_command
from backends.simulated import probe_answers as answers
from backends.simulated.fake_run import FOREVER
from backends.simulated.kernel import Pause, Routine
from backends.simulated.machine import Machine
from backends.simulated.supervising import Asked
from backends.simulated.wrapper import BEYOND, FAILED, UNKNOWN, WRONG, Failed

NOT_INSTALLED, NOT_FOUND = 97, 127
LOOK_EVERY_S = 0.1

_WRAPPED = re.compile(r"cd -P -- (\S+) .*?\nexec sh \S+ (.*)", re.DOTALL)
_INSTALL = re.compile(r".*\numask 077\n.*?\nd=(\S+)\n.*mv -f .*", re.DOTALL)


@dataclass(slots=True, eq=False)
class Execution:
    """A command at work on a host: what it has printed so far, and its exit status at the end.

    ``clock``: the host's, and ``said_at`` what it showed when something was printed last.
    ``told``: called when there is more of either. ``deaf``: nobody reads any more.
    """

    clock: Callable[[], float]
    said_at: float = 0.0
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    status: int | None = None
    deaf: bool = False
    told: Callable[[], None] = lambda: None

    def say(self, text: str | bytes) -> None:
        self.stdout += text.encode() if isinstance(text, str) else text
        self.said_at = self.clock()
        self.told()

    def end(self, status: int) -> None:
        self.status = status
        self.told()


def execute(machine: Machine, command: str, stdin: bytes) -> Execution:
    """Begin a command; what it does is seen on the answer, as the machine's time goes on."""
    execution = Execution(lambda: machine.kernel.now)

    def whole() -> Routine:
        if machine.pace_s:
            yield Pause(machine.kernel.now + machine.pace_s)
        try:
            yield from _routine(machine, execution, command, stdin)
        except Failed as failed:
            if failed.reason:
                execution.stderr += f"error: {failed.reason}\n".encode()
            execution.end(failed.status)
        else:
            execution.end(0)

    machine.kernel.run(whole())
    return execution


def hang_up(machine: Machine, execution: Execution) -> None:
    """Its channel is closed: one that goes on printing ends of it, others go on."""
    execution.deaf = True
    execution.told = _nobody
    machine.kernel.changed()


def _nobody() -> None:
    return


def _routine(machine: Machine, execution: Execution, command: str, stdin: bytes) -> Routine:
    if wrapped := _WRAPPED.fullmatch(command):
        path, words = wrapped.groups()
        if path not in machine.disk.wrappers:
            raise Failed("", NOT_INSTALLED)
        return _wrapper(machine, execution, shlex.split(words), stdin)
    if installing := _INSTALL.fullmatch(command):
        return _install(machine, installing[1], stdin)
    if stdin in (PROBE_SCRIPT, CHECK_SCRIPT):
        return _look(machine, execution, shlex.split(command)[4:], stdin)
    return _program(machine, execution, command)


def _look(machine: Machine, execution: Execution, words: list[str], script: bytes) -> Routine:
    """One of the scripts that look at a host and change nothing."""
    if script == CHECK_SCRIPT:
        execution.say(answers.checks(words))
    else:
        _work_dir, lease_dir, *options = words
        seen = answers.probe(
            machine, lease_dir=lease_dir, gpus="nogpu" not in options, sought=options
        )
        execution.say(seen)
    yield from ()


def _program(machine: Machine, execution: Execution, command: str) -> Routine:
    for gpus in (False, True):
        if command.startswith(plain := telemetry_command(gpus=gpus)):
            chosen = [int(index) for index in command[len(plain) :].split(",") if index.strip()]
            return _telemetry(machine, execution, chosen, gpus=gpus)
    if "python3 -c" in command:
        return _reach(machine, execution, command)
    if "@free" in command:
        return _once(execution, lambda: answers.postmortem(machine))
    raise Failed("a simulated host does not know this command", NOT_FOUND)


def _once(execution: Execution, answer: Callable[[], str]) -> Routine:
    execution.say(answer())
    yield from ()


def _install(machine: Machine, path: str, wrapper: bytes) -> Routine:
    if machine.disk.take(len(wrapper)) < len(wrapper):
        raise Failed("No space left on device", FAILED)
    machine.disk.wrappers.add(path)
    yield from ()


def _wrapper(machine: Machine, execution: Execution, words: Sequence[str], stdin: bytes) -> Routine:
    verb, host, *arguments = words
    if host != machine.wrapper.host:
        raise Failed(f"this machine is {machine.wrapper.host}, not {host}", WRONG)
    if verb not in _VERBS:
        raise Failed(f"no such verb: {verb}", WRONG)
    return _VERBS[verb](machine, execution, arguments, stdin)


def _start(
    machine: Machine, execution: Execution, arguments: Sequence[str], stdin: bytes
) -> Routine:
    asked, size = _asked(machine.wrapper.host, arguments, stdin)
    return machine.launcher.start(execution.say, asked, size)


def _asked(host: str, arguments: Sequence[str], stdin: bytes) -> tuple[Asked, int]:
    run_id, size, timeout, grace, lease_dir, who, sharing, container, ticket, *digests = arguments
    asked = Asked(
        run_id=run_id,
        host=host,
        script=stdin,
        timeout_s=None if timeout == "-" else float(timeout),
        grace_s=int(grace) / 100,
        lease_dir=lease_dir,
        who=who,
        sharing=sharing,
        container=container,
        ticket=ticket,
        digests=tuple(digests),
    )
    return asked, int(size)


def _follow(machine: Machine, execution: Execution, run_id: str, offset: int) -> Routine:
    """The log's bytes from ``offset`` on, until the run has ended; the answer is on stderr."""
    wrapper, kernel = machine.wrapper, machine.kernel
    files = wrapper.files(run_id)
    if files is not None and not files.known and wrapper.starting(files):
        yield from wrapper.await_supervisor(files, 10.0)
    if files is None or not files.known or files.log is None:
        execution.stderr += str(wrapper.look(files)).encode()
        raise Failed("", UNKNOWN)
    log = files.log
    if offset > len(log):
        raise Failed(f"offset {offset} is beyond the end, {len(log)}", BEYOND)

    def more(than: int) -> Callable[[], bool]:
        return lambda: len(log) > than or wrapper.supervisor(files) is None or execution.deaf

    lives = True
    while (lives or offset < len(log)) and not execution.deaf:
        lives = wrapper.supervisor(files) is not None  # first: the last bytes count
        if offset < len(log):
            execution.say(bytes(log[offset:]))
            offset = len(log)
        if lives:
            yield Pause(kernel.now + LOOK_EVERY_S)
            yield Pause(FOREVER, more(offset))
    execution.stderr += str(wrapper.look(wrapper.files(run_id))).encode()


def _telemetry(
    machine: Machine, execution: Execution, chosen: Sequence[int], *, gpus: bool
) -> Routine:
    """What ``telemetry.sh`` prints, until nobody reads any more; of the chosen GPUs, if any.
    First a line that is none of its own."""
    execution.say("SIMULATED\n")
    execution.say(
        answers.host_line(machine) + (answers.gpu_header(answers.WATCHED) if gpus else "")
    )
    while not execution.deaf:
        for _ in range(5 if gpus else 0):
            execution.say(answers.gpu_rows(machine, answers.WATCHED, chosen, units=False))
            yield Pause(machine.kernel.now + 1.0)
        if not gpus:
            yield Pause(machine.kernel.now + 5.0)
        execution.say(answers.host_line(machine))


def _reach(machine: Machine, execution: Execution, command: str) -> Routine:
    """Our program that listens for a moment, or connects to those who do."""
    if not machine.spec.python:
        raise Failed("python3: not found", NOT_FOUND)
    network = machine.network
    _, listens, words = command.rpartition("' listen ")  # behind the program's own text
    if listens:
        token, seconds, count = shlex.split(words)
        port = network.listen(token, int(count))
        execution.say(f"port {port}\n")
        until = machine.kernel.now + float(seconds)
        yield Pause(until, lambda: execution.deaf or not network.listens(port))
        network.forget(port)
        return
    words = command.partition("' connect ")[2].partition(";")[0]
    targets = iter(shlex.split(words)[1:])
    for name, _address, to, token in zip(targets, targets, targets, targets, strict=True):
        execution.say(f"{name}\t{network.connect(int(to), token)}\n")


_Verb = Callable[["Machine", Execution, Sequence[str], bytes], Routine]

_VERBS: Mapping[str, _Verb] = {
    "start": _start,
    "follow": lambda machine, execution, words, _: _follow(
        machine, execution, words[0], int(words[1])
    ),
    "status": lambda machine, execution, words, _: machine.wrapper.status(execution.say, words[0]),
    "digest": lambda machine, execution, words, _: machine.wrapper.digest(
        execution.say, words[0], *map(int, words[1:])
    ),
    "cancel": lambda machine, execution, words, _: machine.wrapper.cancel(
        execution.say, words[0], words[1]
    ),
    "remove": lambda machine, execution, words, _: machine.wrapper.remove(*words),
    "sweep": lambda machine, execution, words, _: machine.wrapper.sweep(execution.say),
    "lease": lambda machine, execution, words, _: machine.wrapper.show_lease(execution.say, *words),
    "port": lambda machine, execution, words, _: machine.wrapper.port(execution.say),
    "stage": lambda machine, execution, words, stdin: machine.wrapper.stage(words, stdin),
    "diagnose": lambda machine, execution, words, _: _once(
        execution, lambda: answers.diagnosis(machine, words[0])
    ),
}
