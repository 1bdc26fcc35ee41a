"""Commands that are written before anybody knows which hosts will run them: what only the hosts can
tell stands there as a variable of sh."""

from __future__ import annotations

import re
from dataclasses import replace
from shlex import quote

from backends.inventory.host_entry import Host
from backends.launchers.launcher import HostCommand, LaunchSite
from profiles.format.case import Case

RUN_ID, PORT, DEVICES = "DLPERF_RUN_ID", "DLPERF_PORT", "DLPERF_DEVICES"
NODE, ADDRESS, DEVICE = "DLPERF_NODE_", "DLPERF_ADDRESS_", "DLPERF_DEVICE_"
"""With a number behind them, from 1; :data:`DEVICES` are all of a node's with commas."""

_SYMBOL = re.compile("\0([A-Z0-9_]+)\0")  # no word of a command can hold a NUL


def symbol(name: str) -> str:
    """Stands in any text of a command for the value of that variable."""
    return f"\0{name}\0"


def symbolic_sites(host: Host, case: Case, *, gpus: bool) -> tuple[LaunchSite, ...]:
    """Hosts for a case that are like ``host``; those of a run on one reach it by its loopback."""
    count = case.gpus_per_node
    numbers = range(1, count + 1)
    devices = [symbol(f"{DEVICE}{n}") if gpus else n - 1 for n in numbers]
    sites = []
    for number in range(1, case.nodes + 1):
        name = symbol(f"{NODE}{number}")
        address = "127.0.0.1" if case.nodes == 1 else symbol(f"{ADDRESS}{number}")
        own = replace(host, name=name)
        sites.append(LaunchSite(own, address, gpus, tuple(devices), node_name=name))
    return tuple(sites)


def with_devices_together(command: HostCommand, count: int) -> HostCommand:
    """The list of all ``count`` of them as one symbol."""
    each = ",".join(symbol(f"{DEVICE}{number}") for number in range(1, count + 1))
    argv = tuple(word.replace(each, symbol(DEVICES)) for word in command.argv)
    told = {key: text.replace(each, symbol(DEVICES)) for key, text in command.environment.items()}
    return replace(command, argv=argv, environment=told)


def uses(command: HostCommand, *names: str) -> bool:
    """Whether a symbol that begins so stands in it."""
    texts = (*command.argv, *command.environment.values(), command.workdir or "")
    return any(f"\0{name}" in text for text in texts for name in names)


def shell_word(text: str) -> str:
    """One word of sh, whatever is in it."""
    parts = _SYMBOL.split(text)
    if len(parts) == 1:
        return quote(text)
    literals = [quote(part) if part else "" for part in parts[::2]]
    names = [f'"${name}"' for name in parts[1::2]]
    return "".join(word for pair in zip(literals, [*names, ""], strict=True) for word in pair)


def shell_lines(command: HostCommand) -> list[str]:
    """The lines of sh that execute it, in a script that goes on afterwards. A line of them may be
    several of the script: what is quoted stays as it is."""
    lines = [f"container={shell_word(command.container)}"] if command.container else []
    lines += [f"cd {_directory(command.workdir)} || exit"] if command.workdir else []
    lines += [f"export {name}={shell_word(value)}" for name, value in command.environment.items()]
    return [*lines, " ".join(map(shell_word, command.argv))]


def _directory(path: str) -> str:
    """A leading ~ is the user's home on the host."""
    if path == "~" or path.startswith("~/"):
        return '"$HOME"' + (f"/{shell_word(path[2:])}" if path[2:] else "")
    return shell_word(path)
