"""The parser of the whole command line; its help texts are the reference."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Collection, Container, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from profiles.cleantext import clean_text
from profiles.nearest import did_you_mean, nearest
from tui.cli.commands import COMMANDS, CONSOLE, command_file
from tui.cli.shared.engine_option import add_engine
from tui.cli.shared.exit_codes import WRONG


class UnnamedError(Exception):
    """No campaign is named. ``parser``: of the command; where campaigns are, its caller knows."""

    def __init__(self, parser: Parser, message: str) -> None:
        super().__init__(message)
        self.parser = parser


_SAME = {"remove": "rm", "delete": "rm"}
"""What others call an action, and what it is called here."""


class Parser(argparse.ArgumentParser):
    """Usage errors in one line: what, where, how to mend it; and what may have been meant.

    An option is its whole name: of two that begin alike, the one that a command does not have would
    be taken for the other.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)
        self._intermixed = False

    def error(self, message: str) -> NoReturn:
        if "required: " in message and {"CAMPAIGN", "BASELINE"} & {*re.findall(r"\w+", message)}:
            raise UnnamedError(self, message)
        self.refuse(message)

    def refuse(self, message: str) -> NoReturn:
        """End the program with that line."""
        see = " See" if message.endswith("?") else "; see"
        self.exit(WRONG, f"{self.prog}: {clean_text(message)}{see} '{self.prog} --help'\n")

    def parse_known_args(
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        known, rest = super().parse_known_args(args, namespace)
        if rest and not (self._intermixed or any(word.startswith("-") for word in rest)):
            # argparse takes words behind an option for too many, where some may be left out.
            self._intermixed = True
            known, rest = self.parse_known_intermixed_args(args)
            self._intermixed = False
        if rest and not self._intermixed:  # told here, where the command's options are known
            option = next((word for word in rest if word.startswith("-")), "")
            near = did_you_mean(option.partition("=")[0], self._option_string_actions)
            near = near or _of_hosts(args, rest) or self._of_others(option or rest[0])
            self.error(f"unrecognized arguments: {' '.join(rest)}{near}")
        return known, rest

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type not in (int, float):
                raise
            number = "whole number" if action.type is int else "number"
            raise argparse.ArgumentError(action, f"{arg_string!r} is no {number}") from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        if isinstance(action.choices, range):
            low, high = action.choices[0], action.choices[-1]
            raise argparse.ArgumentError(action, f"must be {low} to {high}, not {value}")
        names = [str(name) for name in action.choices]
        near = did_you_mean(_SAME.get(value, str(value)), names)
        near = near or self._elsewhere(action, str(value))
        near = near or f", choose from {', '.join(names)}"
        raise argparse.ArgumentError(action, f"there is no {value!r}{near}")

    def _elsewhere(self, action: argparse.Action, value: str) -> str:
        """Where ``value`` is a word that is known, as :func:`did_you_mean` puts it."""
        return ""

    def _of_others(self, word: str) -> str:
        """What too much of a word or an option was to be, put in the same way."""
        return ""


def _of_hosts(args: Sequence[str] | None, rest: Sequence[str]) -> str:
    """Where ``rest`` are more hosts behind ``--hosts HOST``, which takes one word."""
    words = sys.argv[1:] if args is None else list(args)
    if "--hosts" not in words[:-2] or any(word.startswith("-") for word in rest):
        return ""
    first = words.index("--hosts") + 1
    if words[first + 1 : first + 1 + len(rest)] != list(rest):
        return ""
    meant = shlex.quote(",".join(words[first : first + 1 + len(rest)]))
    return f", did you mean '--hosts {meant}'?"


class ProgramParser(Parser):
    """The parser of what stands before a command."""

    def _elsewhere(self, action: argparse.Action, value: str) -> str:
        if value in ("export", "results"):
            return ", did you mean 'report'?"
        value = _SAME.get(value, value)
        owner = next((name for name in COMMANDS if value in _words_of(name)), "")
        return f", did you mean '{owner} {value}'?" if owner else ""

    def parse_known_args(
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        words = sys.argv[1:] if args is None else list(args)
        at = self._unknown_at(words)
        if at is not None:
            option = _option_of(words[at])
            owners = [name for name in COMMANDS if option in _options_of(name)]
            owner = next((w for w in words[at:] if w in COMMANDS), "")
            owner = owner or next((name for name in ("run", *owners) if name in owners), "")
            if owner in owners:
                rest = list(words)
                if owner in rest[at:]:
                    del rest[rest.index(owner, at)]
                meant = shlex.join(["dlperf-tui", *rest[:at], owner, *rest[at:]])
                self.error(f"{option} stands behind a command, did you mean {meant!r}?")
            if not owners:
                known = [*self._option_string_actions, *chain(*map(_options_of, COMMANDS))]
                near = did_you_mean(option, known) * option.startswith("--")
                self.error(f"unrecognized arguments: {option}{near}")
        try:
            return super().parse_known_args(args, namespace)
        except UnnamedError as unnamed:
            unnamed.parser.refuse(f"{unnamed}{_newest(words)}")

    def _unknown_at(self, words: Sequence[str]) -> int | None:
        """Where an option that is not one of all commands stands before any command."""
        value = False
        for at, word in enumerate(words):
            if value:
                value = False
            elif not word.startswith("-") or word == "--":
                return None
            else:
                action = self._option_string_actions.get(word.partition("=")[0])
                if action is None:
                    return at
                value = action.nargs != 0 and "=" not in word
        return None


def _newest(words: Sequence[str]) -> str:
    """``; the newest is NAME``, of the campaigns that the words are about; empty without any."""
    common = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_common(common)
    where: Path | None = common.parse_known_args(words)[0].campaigns
    name: str = import_module("tui.cli.campaigns").newest(where)  # only after a slip
    return f"; the newest is {shlex.quote(name)}" if name else ""


def _option_of(word: str) -> str:
    """``--profile`` of ``--profile=X``, ``-p`` of ``-pX``."""
    return word.partition("=")[0] if word.startswith("--") else word[:2]


def _options_of(command: str) -> Collection[str]:
    return _parser_of(command)._option_string_actions


def _words_of(command: str) -> Container[str]:
    """What may stand behind it first, where that is one of a few words."""
    first = next((a for a in _parser_of(command)._actions if not a.option_strings), None)
    return () if first is None or first.choices is None else list(first.choices)


def _parser_of(command: str) -> CommandParser:
    parser = CommandParser(add_help=False)
    command_file(command).add(parser)
    return parser


class CommandParser(Parser):
    """The parser of one command. Its options are asked of the command's file when it is called."""

    command = ""

    def parse_known_args(
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        if not self._intermixed:
            self.complete()
        return super().parse_known_args(args, namespace)

    def _elsewhere(self, action: argparse.Action, value: str) -> str:
        if (action.dest, value) == ("layout", "report"):
            return (
                ": for the whole report write '--format html' instead of '--layout report', "
                "or read CAMPAIGN/report.md"
            )
        if action.option_strings or "show" not in (action.choices or ()):
            return ""
        from profiles.format.catalog import Catalog  # noqa: PLC0415 (only after a slip)

        name = nearest(value, Catalog.load().names) or value
        return f", did you mean '{self.command} show {name}'?"

    def _of_others(self, word: str) -> str:
        if word == "--dry-run" and "--profile" in self._option_string_actions:
            return "; 'dlperf-tui plan' says what would run, and starts nothing"
        if word == "--json":
            if "--format" in self._option_string_actions:
                return ", did you mean '--format json'?"
            names = (name for name in COMMANDS if word in _options_of(name))
            return f"; {word} is of {', '.join(names)}"
        if not word.startswith("-") and "--run" in self._option_string_actions:
            return f"; a run is named by --run {shlex.quote(word)}"
        if word.startswith("-") or "--profile" not in self._option_string_actions:
            return ""
        from profiles.format.catalog import Catalog  # noqa: PLC0415 (only after a slip)

        name = nearest(word, Catalog.load().names)
        return f", did you mean '-p {name}'?" if name else ""

    def complete(self) -> None:
        """Add the options of the command."""
        add_common(self, again=True)
        command_file(self.command).add(self)


class _PrintVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from backends import version  # noqa: PLC0415 (read only when asked for)

        print(f"dlperf-tui {version()}")
        parser.exit()


def build_parser() -> ProgramParser:
    """The options before a command, and the commands by name; imports none of their files."""
    parser = ProgramParser(
        prog="dlperf-tui",
        description="Measure how fast deep-learning frameworks train and how well they scale. "
        "Without a command: the console.",
        epilog="example: dlperf-tui run -p cpu-smoke --case 1n1g 1n2g",
    )
    parser.add_argument("-V", "--version", action=_PrintVersion, nargs=0, help="print the version")
    parser.add_argument("--readonly", action="store_true", help="look only; start nothing")
    add_engine(parser)
    add_common(parser)
    parser.set_defaults(command=CONSOLE)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=CommandParser)
    for name, command in COMMANDS.items():
        added = commands.add_parser(
            name,
            help=command.summary,
            description=command.summary,
            epilog=f"example:\n  {command.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.command = name
        added.set_defaults(command=name)
    return parser


def add_common(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Options that every command takes, before or after its name."""
    default = argparse.SUPPRESS if again else None
    parser.add_argument(
        "--inventory", metavar="FILE", type=Path, default=default, help="hosts.toml to use"
    )
    parser.add_argument(
        "--campaigns", metavar="DIR", type=Path, default=default, help="where campaigns are kept"
    )
    parser.add_argument(
        "--profile-dir",
        metavar="DIR",
        type=Path,
        action="append",
        default=argparse.SUPPRESS if again else [],
        help="more profiles; may be given several times",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS if again else False,
        help="show a traceback instead of one line",
    )
