"""``completion``: what a shell needs to complete commands, options and names.

shtab makes a script of the parsers, so that a Tab starts no Python at all. Names that come and go,
of campaigns and of the operator's own profiles, are looked up by the shell itself.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from string import Template

from tui.cli.arguments import CommandParser, build_parser
from tui.cli.shared.exit_codes import OK
from tui.cli.shared.options import open_workspace

SHELLS = ("bash", "zsh", "fish")
_CAMPAIGNS = ("CAMPAIGN", "BASELINE", "CANDIDATE")
_DIRECTORIES = ("DIR",)
_FILES = ("FILE", "LOG", "NAME|FILE", "SOURCE")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def run(arguments: argparse.Namespace) -> int:
    """The script, on stdout."""
    import shtab  # noqa: PLC0415 (only here)

    profiles = open_workspace(arguments).catalog.names
    parser = build_parser()
    for action in _actions(parser):
        if (found := _kind(action)) is not None:
            action.complete = _FUNCTIONS.get(found) or getattr(shtab, found)  # type: ignore[attr-defined]
    names = _NAMES[arguments.shell].substitute(profiles=" ".join(map(shlex.quote, profiles)))
    print(shtab.complete(parser, arguments.shell, preamble=names))
    return OK


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Those of all commands, each of which is asked for its own now."""
    if isinstance(parser, CommandParser):
        parser.complete()
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for nested in action.choices.values():
                yield from _actions(nested)


def _kind(action: argparse.Action) -> str | None:
    """What an option or an argument takes; None: what nobody could list."""
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if action.dest == "profile":
        return "profiles"
    if metavar in _CAMPAIGNS:
        return "DIRECTORY" if action.option_strings else "campaigns"
    if metavar in _DIRECTORIES:
        return "DIRECTORY"
    return "FILE" if metavar in _FILES else None


_FUNCTIONS = {
    kind: {
        "bash": f"_dlperf_tui_{kind}",
        "zsh": f"_dlperf_tui_{kind}",
        "fish": f"(_dlperf_tui_{kind})",
    }
    for kind in ("campaigns", "profiles")
}

_POSIX = r"""
_dlperf_tui_campaigns_dir() {  # of the words of the command line
  local dir="$${XDG_DATA_HOME:-$$HOME/.local/share}/dlperf-tui/campaigns" word before=""
  for word in "$$@"; do
    case "$$word" in =) continue ;; esac  # bash takes --campaigns=DIR apart
    case "$$before" in --campaigns) dir="$$word" ;; esac
    case "$$word" in --campaigns=*) dir="$${word#--campaigns=}" ;; esac
    before="$$word"
  done
  case "$$dir" in "~/"*) dir="$$HOME/$${dir#\~/}" ;; esac
  printf '%s\n' "$$dir"
}
_dlperf_tui_profile_names() {
  printf '%s\n' ${profiles}
  sed -n 's/^name *= *"\([A-Za-z0-9._-]*\)".*/\1/p' \
    "$${XDG_CONFIG_HOME:-$$HOME/.config}/dlperf-tui/profiles/"*.toml /dev/null 2>/dev/null
}
"""
_NAMES = {
    "bash": Template(
        _POSIX
        + r"""
_dlperf_tui_campaigns() {
  local path dir
  dir="$$(_dlperf_tui_campaigns_dir "$${COMP_WORDS[@]}")"
  for path in "$$dir"/"$$1"*/events.jsonl; do
    path="$${path%/events.jsonl}"
    [ -f "$$path/events.jsonl" ] && printf '%q\n' "$${path##*/}"
  done
}
_dlperf_tui_profiles() {
  compgen -W "$$(_dlperf_tui_profile_names)" -- "$$1"
}
"""
    ),
    "zsh": Template(
        _POSIX.replace("*.toml", "*.toml(N)")
        + r"""
_dlperf_tui_campaigns() {
  local dir="$$(_dlperf_tui_campaigns_dir "$${(Q)$${(z)BUFFER}[@]}")"
  local -a found=("$$dir"/*/events.jsonl(N:h:t))
  compadd -a found
}
_dlperf_tui_profiles() {
  local -a found=("$${(@f)$$(_dlperf_tui_profile_names)}")
  compadd -a found
}
"""
    ),
    "fish": Template(
        r"""
function _dlperf_tui_campaigns
  set -l data $$XDG_DATA_HOME
  test -n "$$data"; or set data $$HOME/.local/share
  set -l dir $$data/dlperf-tui/campaigns
  set -l before ''
  for word in (commandline -opc)
    test "$$before" = --campaigns; and set dir (string replace -r '^~/' "$$HOME/" -- $$word)
    set before $$word
  end
  for path in $$dir/*/events.jsonl
    string replace -r '.*/([^/]*)/events.jsonl$$' '$$1' -- $$path
  end
end
function _dlperf_tui_profiles
  printf '%s\n' ${profiles}
  set -l config $$XDG_CONFIG_HOME
  test -n "$$config"; or set config $$HOME/.config
  for path in $$config/dlperf-tui/profiles/*.toml
    string replace -rf '^name *= *"([A-Za-z0-9._-]*)".*' '$$1' < $$path
  end
end
"""
    ),
}
