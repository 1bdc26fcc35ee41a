"""``init``: an inventory from the ssh config, its hosts probed, written after a look."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from backends.campaign.folder.regular_file import set_aside
from backends.hosts.first_inventory import first_inventory, usable
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.aliases import aliased_hosts
from backends.inventory.host_entry import Host, Inventory, InventoryError
from backends.inventory.load import default_inventory_path
from backends.transports.ssh_target import resolve
from backends.use_cases import Workspace
from profiles.counted import counted
from profiles.errors import DlperfError
from tui.cli.shared.confirm import agreed
from tui.cli.shared.exit_codes import FAILED, OK, WRONG
from tui.cli.shared.host_rows import print_hosts
from tui.cli.shared.options import add_hosts, chosen_hosts
from tui.cli.shared.output import say, say_folded
from tui.cli.shared.ssh_prompt import terminal_prompter

SSH_CONFIG = "~/.ssh/config"


def add(parser: argparse.ArgumentParser) -> None:
    add_hosts(parser)
    parser.add_argument("--yes", action="store_true", help="write a new file without asking")


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where a host could not be reached; it is in the file as a comment. A file that
    is there is replaced only after a question, and kept beside the new one."""
    path = arguments.inventory or default_inventory_path()
    _check(path)
    snapshots = asyncio.run(_probed(_aliases(), chosen_hosts(arguments)))
    print_hosts(snapshots, wide=False)
    for snapshot in snapshots:
        if snapshot.remedy:
            say_folded(f"{snapshot.name}: {snapshot.remedy}")
    if not usable(snapshots):
        say_folded(f"no host could be reached; nothing written to {path}")
        return FAILED
    text = first_inventory(snapshots, SSH_CONFIG, _addresses(snapshots))
    unasked = not (arguments.yes or _at_terminal())
    if sys.stdout.isatty() or unasked:
        print(f"\n{text}", end="", flush=True)
    if unasked:
        raise InventoryError("nothing written without a look", where=str(path), remedy="add --yes")
    if not _meant(path, yes=arguments.yes):
        say_folded("nothing written; --inventory FILE writes elsewhere")
        return WRONG
    _write(path, text)
    say_folded(f"written: {path}; the console opens on it: {_console(path)}")
    away = any(snapshot.state is HostState.UNREACHABLE for snapshot in snapshots)
    return FAILED if away else OK


def _check(path: Path) -> None:
    """What could not be written in the end is told before any host is asked."""
    if os.path.lexists(path) and not _at_terminal():
        raise InventoryError(
            "there is an inventory already",
            where=str(path),
            remedy="move it away, or write elsewhere: dlperf-tui init --inventory FILE",
        )


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _aliases() -> tuple[Host, ...]:
    config = Path(SSH_CONFIG).expanduser()
    hosts = aliased_hosts(config, {}, ())
    if not hosts:
        raise InventoryError(
            f"names no host{'' if config.exists() else ': there is no such file'}",
            where=SSH_CONFIG,
            remedy="add 'Host node1' and how to reach it there, or write an inventory by hand; "
            "a name has letters, digits, . _ and -",
        )
    return hosts


def _addresses(snapshots: Sequence[HostSnapshot]) -> dict[str, str]:
    """What the ssh config says that those stand for which were reached."""
    reached = [one.name for one in snapshots if one.state is not HostState.UNREACHABLE]
    return {name: resolve(Host(name=name, address=name)).address for name in reached}


async def _probed(hosts: tuple[Host, ...], nodeset: str) -> tuple[HostSnapshot, ...]:
    async with Workspace(Inventory(hosts), None, Path(), prompter=terminal_prompter()) as workspace:
        chosen = workspace.cluster.chosen(nodeset)
        say(f"looking at {counted(len(chosen), 'host')} of {SSH_CONFIG}")
        await workspace.cluster.probe([host.name for host in chosen])
        return tuple(workspace.cluster.snapshot(host) for host in chosen)


def _meant(path: Path, *, yes: bool) -> bool:
    if os.path.lexists(path):  # also with --yes, which speaks of a new file
        question = f"{path} is there already. Replace it? It is kept beside the new one."
        return agreed(question, unasked=f"{path} is there already")
    return yes or agreed(
        f"Write these lines to {path}? Enter alone writes nothing.",
        unasked="nothing written",
    )


def _console(path: Path) -> str:
    """The command that opens it, on which a file in another place has to be named."""
    named = [] if path == default_inventory_path() else ["--inventory", str(path)]
    return shlex.join(["dlperf-tui", *named])


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
        draft.write_text(text, encoding="utf-8")
        try:
            if os.path.lexists(path):
                say(f"kept: {path.with_name(set_aside(path))}")
            os.link(draft, path)  # never over what has come meanwhile
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise DlperfError(
            f"cannot write: {error.strerror}", where=str(path), remedy="name another --inventory"
        ) from error
