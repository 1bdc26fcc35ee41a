"""The parser of the whole command line; its help texts are the reference."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from profiles.nearest import did_you_mean
from tui.cli.commands import COMMANDS, CONSOLE, command_file
from tui.cli.shared.engine_option import add_engine
from tui.cli.shared.exit_codes import WRONG


class Parser(argparse.ArgumentParser):
    """Usage errors in one line: what, where, how to mend it; and what may have been meant."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG, f"{self.prog}: {message}; see '{self.prog} --help'\n")

    def parse_known_args(
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        known, rest = super().parse_known_args(args, namespace)
        if rest:  # told here, where the command and its options are known
            option = next((word for word in rest if word.startswith("-")), "")
            near = did_you_mean(option.partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(rest)}{near}")
        return known, rest

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type is not int:
                raise
            raise argparse.ArgumentError(action, f"{arg_string!r} is no whole number") from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        if isinstance(action.choices, range):
            low, high = action.choices[0], action.choices[-1]
            raise argparse.ArgumentError(action, f"must be {low} to {high}, not {value}")
        names = [str(name) for name in action.choices]
        near = did_you_mean(str(value), names) or f", choose from {', '.join(names)}"
        raise argparse.ArgumentError(action, f"there is no {value!r}{near}")


class CommandParser(Parser):
    """The parser of one command. Its options are asked of the command's file when it is called."""

    command = ""

    def parse_known_args(
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        self.complete()
        return super().parse_known_args(args, namespace)

    def complete(self) -> None:
        """Add the options of the command."""
        add_common(self, again=True)
        command_file(self.command).add(self)


class _PrintVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from backends import version  # noqa: PLC0415 (read only when asked for)

        print(f"dlperf-tui {version()}")
        parser.exit()


def build_parser() -> Parser:
    """The options before a command, and the commands by name; imports none of their files."""
    parser = Parser(
        prog="dlperf-tui",
        description="Measure how fast deep-learning frameworks train and how well they scale. "
        "Without a command: the console.",
        epilog="example: dlperf-tui run -p cpu-smoke -c 1n1g 1n2g",
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
