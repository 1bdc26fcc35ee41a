"""``campaigns``: those on disk, with their sizes; moved, removed, and what is said of them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from backends.campaign.folder.adopt import size_of
from backends.campaign.folder.find_campaign import campaign_directory
from backends.campaign.folder.index import CampaignSummary, list_campaigns
from backends.campaign.folder.tags_and_note import About, checked_note, checked_tags
from backends.results.numbers import bytes_text
from backends.results.past_result import fastest, logs_changed
from backends.use_cases import Workspace, default_campaigns_dir
from profiles.durations import parse_duration
from profiles.errors import DlperfError, ProfileError, SelectionError
from tui.campaign_words import MARKS, grade_mark
from tui.cli.arguments import Parser, add_common
from tui.cli.shared.campaign_remarks import fastest_document, summary_document
from tui.cli.shared.campaign_rows import campaign_rows
from tui.cli.shared.confirm import agreed
from tui.cli.shared.exit_codes import OK, WRONG
from tui.cli.shared.options import add_campaign, add_json, find_first, open_workspace
from tui.cli.shared.output import print_json, say, say_folded
from tui.cli.shared.print_table import print_rows
from tui.cli.shared.readonly_option import refuse_change

if TYPE_CHECKING:
    from backends.campaign.folder.remove import Removable


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        metavar="ACTION", dest="action", required=False, parser_class=Parser
    )
    parser.set_defaults(action="ls", tag=None, json=False)

    def action(name: str, help: str, example: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = actions.add_parser(
            name,
            help=help,
            description=help,
            epilog=f"example:\n  dlperf-tui campaigns {name} {example}".rstrip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_common(added, again=True)
        return added

    ls = action("ls", "list them (also without ACTION), sizes, tags, notes", "--tag baseline")
    ls.add_argument("--tag", metavar="TAG", help="only those that have it")
    add_json(ls)

    for name, help in (("mv", "move one; it stays the campaign"), ("rename", "the same as mv")):
        mv = action(name, help, "2026-11-21-resnet50 baseline")
        add_campaign(mv)
        mv.add_argument("new", metavar="NEW", help="its new name, or a path")

    rm = action("rm", "remove some from this disk, logs and all", "2026-11-21-resnet50")
    add_campaign(rm, "campaigns_named", nargs="+")
    rm.add_argument("--yes", action="store_true", help="remove without asking")
    rm.add_argument(
        "--force",
        action="store_true",
        help="also what may be left on a host, is held by a console that gives no sign, "
        "cannot be read, or holds files of others",
    )

    prune = action(
        "prune", "remove those in which nothing was started, and old ones", "--older-than 90d"
    )
    prune.add_argument(
        "--older-than", metavar="TIME", help="finished ones of more than that, such as 90d"
    )
    prune.add_argument("--keep", metavar="N", type=int, help="finished ones but for the N newest")
    prune.add_argument("--yes", action="store_true", help="remove without asking")

    tag = action("tag", "give one tags, or take them away", "2026-11-21-resnet50 baseline v100")
    add_campaign(tag)
    tag.add_argument("tags", metavar="TAG", nargs="+")
    tag.add_argument("--remove", action="store_true", help="take these away")

    note = action(
        "note", "say something of one, which its report has", "2026-11-21-resnet50 'new driver'"
    )
    add_campaign(note)
    note.add_argument("text", metavar="TEXT", help="instead of what was said; '' for nothing")


def newest(where: Path | None) -> str:
    """The name of the newest campaign there, else where they are kept; empty without any."""
    found = list_campaigns(where or default_campaigns_dir(), time.time)
    return found[0].path.name if found else ""


def run(arguments: argparse.Namespace) -> int:
    """``campaigns ls|mv|rename|rm|prune|tag|note``."""
    if arguments.readonly and arguments.action != "ls":
        refuse_change()
    return _ACTIONS[arguments.action](open_workspace(arguments), arguments)


def _list(workspace: Workspace, arguments: argparse.Namespace) -> int:
    campaigns = [
        campaign
        for campaign in workspace.campaigns()
        if arguments.tag is None or arguments.tag in campaign.about.tags
    ]
    sizes = [size_of(campaign.path) for campaign in campaigns]
    workspace.past.read()
    workspace.past.look_at_logs()
    by_campaign = workspace.past.by_campaign
    figures = [fastest(by_campaign.get(campaign.path, ())) for campaign in campaigns]
    noted = {path for path, results in by_campaign.items() if logs_changed(results)}
    if arguments.json:
        print_json(
            [
                {
                    **summary_document(campaign),
                    "size_bytes": size,
                    "logs_changed": campaign.path in noted,
                    "fastest": None if figure is None else fastest_document(figure),
                }
                for campaign, size, figure in zip(campaigns, sizes, figures, strict=True)
            ]
        )
    elif campaigns:
        print_rows(campaign_rows(campaigns, sizes, figures, noted))
        told = [figure for figure in figures if figure is not None]
        marks = {mark for one in told for mark in (*one.marks, *grade_mark(one))}
        for mark in sorted(marks):
            say_folded(f"{mark} {MARKS[mark]}")
        if any(figures):
            say("speedup, grade and device: of the fastest case")
        say(f"{_many(campaigns)}, {bytes_text(sum(sizes))} in {workspace.campaigns_dir}")
    else:
        tagged = "" if arguments.tag is None else f" with the tag {arguments.tag}"
        say(f"no campaigns{tagged} in {workspace.campaigns_dir}")
    return OK


def _move(workspace: Workspace, arguments: argparse.Namespace) -> int:
    path = workspace.move_campaign(workspace.find_campaign(arguments.campaign), arguments.new)
    say(f"moved: {path}")
    return OK


def _remove(workspace: Workspace, arguments: argparse.Namespace) -> int:
    where = workspace.campaigns_dir
    paths = [campaign_directory(where, name)[0] for name in arguments.campaigns_named]
    unique = list(dict.fromkeys(paths))
    # Whether they may be is known before anything is asked; and looked at again then.
    found = [workspace.look_at_removable(path, force=arguments.force) for path in unique]
    return _remove_after_question(workspace, found, arguments.yes, force=arguments.force)


def _older_than(text: str) -> float:
    try:
        return parse_duration(text)
    except ProfileError as error:
        raise SelectionError(error.what, where="--older-than", remedy=error.remedy) from None


def _prune(workspace: Workspace, arguments: argparse.Namespace) -> int:
    from backends.campaign.folder.remove import (  # noqa: PLC0415 (loads more)
        half_removed,
        prunable,
        remove_half_removed,
    )

    if arguments.keep is not None and arguments.keep < 0:
        raise SelectionError("must be 0 or more", where="--keep")
    older = None if arguments.older_than is None else _older_than(arguments.older_than)
    for path in half_removed(workspace.campaigns_dir):
        remove_half_removed(path)
        say(f"removed what was left of {path.name}")
    chosen = []
    for campaign in prunable(
        workspace.campaigns(), workspace.clock(), older_than_s=older, keep=arguments.keep
    ):
        try:
            chosen.append(workspace.look_at_removable(campaign.path))
        except DlperfError as error:
            say(f"kept: {campaign.path.name}: {error.what}")
    if not chosen:
        say(f"nothing to prune in {workspace.campaigns_dir}")
        return OK
    return _remove_after_question(workspace, chosen, arguments.yes, force=False)


def _remove_after_question(
    workspace: Workspace, found: Sequence[Removable], yes: bool, *, force: bool
) -> int:
    campaigns, sizes = [one.summary for one in found], [one.size for one in found]
    what = f"{_many(campaigns)}, {bytes_text(sum(sizes))}"
    if not yes:
        print_rows(campaign_rows(campaigns, sizes))
        exports = dict.fromkeys(name for one in found for name in one.exports)
        also = f" and exports ({', '.join(exports)})" if exports else ""
        if not agreed(
            f"Remove {what}, with their logs{also}?", unasked=f"nothing removed of {what}"
        ):
            say("nothing removed")
            return WRONG
    code = OK
    for one in found:
        path = one.summary.path
        try:
            workspace.remove_campaign(path, force=force, asked=None if yes else one)
        except DlperfError as error:
            if len(found) == 1:
                raise
            say(f"kept: {error}")
            code = error.exit_code
        else:
            say(f"removed: {path}")
    return code


def _many(campaigns: Sequence[CampaignSummary]) -> str:
    return "1 campaign" if len(campaigns) == 1 else f"{len(campaigns)} campaigns"


def _tag(workspace: Workspace, arguments: argparse.Namespace) -> int:
    path = find_first(
        workspace.find_campaign, (arguments.campaign, *arguments.tags), "campaigns tag"
    )
    named = checked_tags(tuple(arguments.tags))

    def tagged(said: About) -> About:
        if arguments.remove:
            return replace(said, tags=tuple(tag for tag in said.tags if tag not in named))
        return replace(said, tags=checked_tags((*said.tags, *named)))

    return _describe(workspace, path, tagged)


def _note(workspace: Workspace, arguments: argparse.Namespace) -> int:
    words = (arguments.campaign, arguments.text)
    path = find_first(workspace.find_campaign, words, "campaigns note")
    note = checked_note(arguments.text)
    return _describe(workspace, path, lambda said: replace(said, note=note))


def _describe(workspace: Workspace, path: Path, change: Callable[[About], About]) -> int:
    about = workspace.describe_campaign(path, change)
    said = " ".join([*(f"#{tag}" for tag in about.tags), about.note]).strip()
    say(f"{path.name}: {said or 'nothing said'}")
    return OK


_ACTIONS: Mapping[str, Callable[[Workspace, argparse.Namespace], int]] = {
    "ls": _list,
    "mv": _move,
    "rename": _move,
    "rm": _remove,
    "prune": _prune,
    "tag": _tag,
    "note": _note,
}
