"""``completion``: what a shell needs to complete commands, options and names.

shtab makes a script of the parsers, so that a Tab starts no Python at all. Names that come and go,
of campaigns and of the operator's own profiles, are looked up by the shell itself; cases and values
are those that the profiles on the line had when the script was made.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from string import Template

from profiles.format.catalog import Catalog
from profiles.scalars import scalar_text
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

    catalog = open_workspace(arguments).catalog
    parser = build_parser()
    for action in _actions(parser):
        if (found := _kind(action)) is not None:
            action.complete = _FUNCTIONS.get(found) or getattr(shtab, found)  # type: ignore[attr-defined]
    names = _NAMES[arguments.shell].substitute(
        profiles=" ".join(map(shlex.quote, catalog.names)), told=_told(catalog, arguments.shell)
    )
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
    if "--case" in action.option_strings:
        return "cases"
    if "--set" in action.option_strings:
        return "values"
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
    for kind in ("campaigns", "profiles", "cases", "values")
}


def _told(catalog: Catalog, shell: str) -> str:
    """Of each profile its cases, and what its parameters can be set to, as branches of a choice."""
    lines = []
    for name in catalog.names:
        profile = catalog.get(name)
        values = [
            f"{parameter}={scalar_text(value)}"
            for parameter, known in profile.parameters.items()
            for value in known.choices
        ]
        for kind, words in (("cases", profile.matrix.cases), ("values", values)):
            says = " ".join(map(shlex.quote, words))
            if says:
                key = shlex.quote(f"{kind} {name}")
                case = f"case {key}; " if shell == "fish" else f"{key}) "
                lines.append(f"{case}printf '%s\\n' {says}" + " ;;" * (shell != "fish"))
    return "\n".join(lines)


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
_dlperf_tui_told() {  # cases or values of a profile
  case "$$1 $$2" in
${told}
  esac
}
_dlperf_tui_of_profiles() {  # the same of those among the words of the command line
  local kind="$$1" word before=""
  shift
  for word in "$$@"; do
    case "$$word" in =) continue ;; esac
    case "$$before" in -p|--profile) _dlperf_tui_told "$$kind" "$$word" ;; esac
    case "$$word" in --profile=*) _dlperf_tui_told "$$kind" "$${word#--profile=}" ;; esac
    before="$$word"
  done | sort -u
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
_dlperf_tui_cases() {
  compgen -W "$$(_dlperf_tui_of_profiles cases "$${COMP_WORDS[@]}")" -- "$$1"
}
_dlperf_tui_values() {
  local name="" word="$$1"
  if [ "$$word" = = ]; then  # bash takes NAME=V apart
    name="$${COMP_WORDS[COMP_CWORD-1]}=" word=""
  elif [ "$${COMP_WORDS[COMP_CWORD-1]}" = = ]; then
    name="$${COMP_WORDS[COMP_CWORD-2]}="
  fi
  compgen -W "$$(_dlperf_tui_of_profiles values "$${COMP_WORDS[@]}")" -- "$$name$$word" |
    sed "s/^$$name//"
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
_dlperf_tui_cases() {
  local -a found=("$${(@f)$$(_dlperf_tui_of_profiles cases "$${(Q)$${(z)BUFFER}[@]}")}")
  compadd -a found
}
_dlperf_tui_values() {
  local -a found=("$${(@f)$$(_dlperf_tui_of_profiles values "$${(Q)$${(z)BUFFER}[@]}")}")
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
function _dlperf_tui_told
  switch "$$argv"
${told}
  end
end
function _dlperf_tui_of_profiles
  set -l before ''
  for word in (commandline -opc)
    contains -- "$$before" -p --profile; and _dlperf_tui_told $$argv $$word
    string match -q -- '--profile=*' $$word
    and _dlperf_tui_told $$argv (string replace -- --profile= '' $$word)
    set before $$word
  end
end
function _dlperf_tui_cases
  _dlperf_tui_of_profiles cases
end
function _dlperf_tui_values
  _dlperf_tui_of_profiles values
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
