"""Options that several commands share, and what they ask for: the workspace, hosts, JSON."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from backends.campaign.record.lock import Role
from backends.file_modes import Share
from backends.inventory.host_entry import PULLS
from backends.inventory.job_options import JobsAsked
from backends.transports.transport import Prompter
from backends.use_cases import Workspace
from profiles.errors import DlperfError, SelectionError
from tui.cli.shared.engine_option import add_engine
from tui.cli.shared.ssh_prompt import terminal_prompter


def add_campaign(parser: argparse.ArgumentParser, name: str = "campaign", **settings: Any) -> None:
    """``settings``: as of ``add_argument``."""
    settings = {"metavar": "CAMPAIGN"} | settings
    settings.setdefault("help", "its name in --campaigns, its path, or the id it began with")
    parser.add_argument(name, **settings)


def find_first(find: Callable[[str], Path], words: Sequence[str], command: str) -> Path:
    """The campaign that the first of the words names.

    Raises
    ------
    DlperfError: as ``find`` does; where a later word names one it says in which order they stand.
    """
    try:
        return find(words[0])
    except DlperfError:
        meant = next((word for word in words[1:] if _finds(find, word)), None)
        if meant is None:
            raise
        rest = (word for word in words if word is not meant)
        right = shlex.join(["dlperf-tui", *command.split(), meant, *rest])
        raise SelectionError(
            f"{words[0]!r} is no campaign, {meant!r} is one",
            where=command,
            remedy=f"the campaign stands first: {right}",
        ) from None


def _finds(find: Callable[[str], Path], word: str) -> bool:
    try:
        find(word)
    except DlperfError:
        return False
    return True


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def add_threshold(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threshold",
        metavar="PERCENT",
        default="2%",
        help="the change that counts, by default 2%%",
    )


def add_hosts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hosts", metavar="NODESET", help="only these")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    add_engine(parser, again=True)
    parser.add_argument(
        "--sbatch",
        metavar="OPTIONS",
        action="append",
        default=[],
        help="more options for every job, as for sbatch: --sbatch='-p short --switches=1'",
    )

    parser.add_argument(
        "--allocation",
        choices=("run", "campaign"),
        metavar="run|campaign",
        help="a job for each run, or one for all of them; as the inventory says, or run",
    )
    parser.add_argument(
        "--clusters",
        metavar="NAMES",
        default="",
        help="every case on each of these, of the inventory or partitions: a100,h100",
    )


def add_pull(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pull",
        choices=PULLS,
        metavar="|".join(PULLS),
        help="fetch images that a host does not have; as the inventory says, or never",
    )


def add_share(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--share",
        type=Share,
        choices=tuple(Share),
        metavar="private|group",
        help="who may read the campaign; as the inventory says, or you alone",
    )


def open_workspace(
    arguments: argparse.Namespace,
    extra_profile_dirs: Sequence[str] = (),
    *,
    prompter: Prompter | None = None,
    role: Role = Role.COMMAND,
) -> Workspace:
    """``prompter``: who is asked during logins; None: whoever sits at the terminal, if anybody."""
    return Workspace.open(
        inventory=arguments.inventory,
        campaigns=arguments.campaigns,
        profile_dirs=[*arguments.profile_dir, *(Path(d) for d in extra_profile_dirs)],
        prompter=prompter or terminal_prompter(),
        engine=arguments.engine,
        jobs=_jobs_asked(arguments),
        role=role,
    )


def _jobs_asked(arguments: argparse.Namespace) -> JobsAsked:
    """Of a command that takes part in no queue: nothing."""
    words = [word for text in getattr(arguments, "sbatch", ()) for word in shlex.split(text)]
    clusters = [name for name in getattr(arguments, "clusters", "").split(",") if name]
    return JobsAsked(tuple(words), getattr(arguments, "allocation", None), tuple(clusters))


def chosen_hosts(arguments: argparse.Namespace) -> str:
    """--hosts as given, empty where it was not.

    Raises
    ------
    SelectionError: it was given as nothing, as an unset variable of a shell does.
    """
    if arguments.hosts is not None and not arguments.hosts.strip():
        raise SelectionError(
            "no host is named", where="--hosts", remedy="name some, or leave it out for all"
        )
    return arguments.hosts or ""
