"""The command line: words in, one line or one document out. Imports nothing heavy at the top.

Exit codes: 0 all good; 1 some run failed, or a regression; 2 the request was wrong and nothing was
started; 3 interrupted, runs continue detached.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from profiles.errors import DlperfError

OK, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 3

Command = Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """Usage errors in one line: what, where, how to mend it."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG, f"{self.prog}: {message}; see '{self.prog} --help'\n")


def main(argv: Sequence[str] | None = None) -> int:
    """The console script. Returns the exit code; :class:`DlperfError` becomes its one line."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in (["--version"], ["-V"]):
        from backends import version  # noqa: PLC0415 (this path must stay quick)

        print(f"dlperf-tui {version()}")
        return OK
    parser = build_parser()
    try:
        arguments = parser.parse_args(words)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else WRONG
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal in ASCII shows ? for a dash
            stream.reconfigure(errors="replace")
    try:
        return _dispatch(arguments)
    except DlperfError as error:
        if arguments.debug:
            raise
        print(f"dlperf-tui: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _dispatch(arguments: argparse.Namespace) -> int:
    command: Command = arguments.command
    if arguments.readonly and command in _CHANGING:
        raise DlperfError(
            "this command changes something", where="--readonly", remedy="leave --readonly out"
        )
    return command(arguments)


def build_parser() -> argparse.ArgumentParser:
    """All of the command line; its help texts are the reference."""
    parser = _Parser(
        prog="dlperf-tui",
        description="Measure how fast deep-learning frameworks train and how well they scale. "
        "Without a command: the console.",
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    parser.add_argument("--readonly", action="store_true", help="look only; start nothing")
    _common(parser)
    parser.set_defaults(command=_console)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=_Parser)
    _add_cluster_commands(commands)
    _add_campaign_commands(commands)
    _add_log_commands(commands)
    return parser


def _common(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
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


def _add(
    commands: argparse._SubParsersAction[_Parser], name: str, command: Command, summary: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=summary)
    _common(parser, again=True)
    parser.set_defaults(command=command)
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("selection")
    group.add_argument(
        "-p",
        "--profile",
        metavar="P",
        action="append",
        default=[],
        help="a profile's name or .toml file; may be given several times",
    )
    group.add_argument(
        "-c", "--case", metavar="TAG", nargs="+", action="extend", default=[], help="such as 2n8g"
    )
    group.add_argument(
        "--set",
        metavar="NAME=V[,V]",
        nargs="+",
        action="extend",
        default=[],
        help="choices of a parameter, or a setting's value",
    )
    group.add_argument("-r", "--repeats", metavar="N", type=int, help="repeats of every case")
    group.add_argument(
        "--attempts", metavar="N", type=int, help="tries of a run that another try can help (2)"
    )
    group.add_argument("--hosts", metavar="NODESET", help="such as node[1-4] or @v100")
    group.add_argument("--name", default="", help="the campaign's name, after the date")
    group.add_argument(
        "--from", dest="from_file", metavar="FILE", type=Path, help="a campaign.toml, to do again"
    )


def _add_cluster_commands(commands: argparse._SubParsersAction[_Parser]) -> None:
    hosts = _add(commands, "hosts", _hosts, "probe and print hosts, GPUs, topology, who is busy")
    hosts.add_argument("--hosts", metavar="NODESET", help="only these")
    _add_json(hosts)

    profiles = _add(commands, "profiles", _profiles, "list the profiles, show one, check a file")
    profiles.add_argument("action", nargs="?", choices=("list", "show", "check"), default="list")
    profiles.add_argument("target", nargs="?", metavar="NAME|FILE")

    sweep = _add(commands, "sweep", _sweep, "find what runs of ours left on the hosts, and end it")
    sweep.add_argument("--hosts", metavar="NODESET", help="only these")
    sweep.add_argument(
        "--running", action="store_true", help="also what a console may be measuring right now"
    )
    sweep.add_argument("--yes", action="store_true", help="end leftovers without asking")


def _add_campaign_commands(commands: argparse._SubParsersAction[_Parser]) -> None:
    plan = _add(commands, "plan", _plan, "every run, its hosts, its exact commands; starts nothing")
    _add_selection(plan)
    _add_json(plan)

    run = _add(commands, "run", _run, "run a selection without the console")
    _add_selection(run)
    run.add_argument(
        "--force", action="store_true", help="override what preflight stops; the report will say so"
    )
    _add_json(run)

    resume = _add(commands, "resume", _resume, "go on with a campaign")
    resume.add_argument("campaign", metavar="CAMPAIGN")
    resume.add_argument(
        "--take-over", action="store_true", help="end the claim of a console that gives no sign"
    )
    _add_json(resume)

    cancel = _add(commands, "cancel", _cancel, "end a campaign's runs on all hosts")
    cancel.add_argument("campaign", metavar="CAMPAIGN")
    cancel.add_argument("--take-over", action="store_true", help="see resume")

    status = _add(commands, "status", _status, "how far campaigns have come")
    status.add_argument("campaign", metavar="CAMPAIGN", nargs="?")
    _add_json(status)


def _add_log_commands(commands: argparse._SubParsersAction[_Parser]) -> None:
    parse = _add(commands, "parse", _parse, "throughput of existing logs")
    parse.add_argument("-p", "--profile", metavar="P", required=True)
    parse.add_argument("--gpus", metavar="N", type=int, help="devices of the run in all")
    parse.add_argument("--batch-size", metavar="B", type=int, help="samples per device and step")
    parse.add_argument("--case", metavar="TAG", help="such as 4n8g; instead of --gpus")
    parse.add_argument("logs", metavar="LOG", nargs="+", type=Path)
    _add_json(parse)

    imports = _add(commands, "import", _import, "make a campaign of a tree of existing logs")
    imports.add_argument("-p", "--profile", metavar="P", help="how to read the logs")
    imports.add_argument("tree", metavar="LOGTREE", type=Path)
    imports.add_argument("-o", "--output", metavar="CAMPAIGN", type=Path, required=True)

    report = _add(commands, "report", _report, "tables of one or more campaigns")
    report.add_argument("campaigns_named", metavar="CAMPAIGN", nargs="+")
    report.add_argument(
        "--layout", choices=("speedup", "pivot", "compare", "airank", "dlperf-json")
    )
    report.add_argument("--format", choices=("md", "csv", "json"))
    report.add_argument("--lang", choices=("en", "zh"), default="en")
    report.add_argument("--center", choices=("median", "mean"), default="median")
    report.add_argument(
        "--style", choices=("full", "oneflow"), default="full", help="of the speedup layout"
    )
    report.add_argument("--columns", metavar="NAME,NAME", help="of the speedup layout")
    report.add_argument(
        "--decimals", metavar="N", type=int, choices=range(10), help="of the throughput, 0 to 9"
    )
    report.add_argument("--figures", action="store_true", help="SVG figures beside the markdown")
    report.add_argument("-o", "--output", metavar="FILE", type=Path)

    compare = _add(commands, "compare", _compare, "exit 1 when the candidate is slower")
    compare.add_argument("baseline", metavar="BASELINE")
    compare.add_argument("candidate", metavar="CANDIDATE")
    compare.add_argument("--threshold", metavar="PERCENT", default="2%")
    _add_json(compare)


# Each command lives in tui.headless; what it needs is imported when it is called.


def _console(arguments: argparse.Namespace) -> int:
    from tui.headless.console import open_console  # noqa: PLC0415

    return open_console(arguments)


def _hosts(arguments: argparse.Namespace) -> int:
    from tui.headless.cluster import hosts  # noqa: PLC0415

    return asyncio.run(hosts(arguments))


def _sweep(arguments: argparse.Namespace) -> int:
    from tui.headless.cluster import sweep  # noqa: PLC0415

    return asyncio.run(sweep(arguments))


def _profiles(arguments: argparse.Namespace) -> int:
    from tui.headless.catalogue import profiles  # noqa: PLC0415

    return profiles(arguments)


def _plan(arguments: argparse.Namespace) -> int:
    from tui.headless.campaigns import plan  # noqa: PLC0415

    return asyncio.run(plan(arguments))


def _run(arguments: argparse.Namespace) -> int:
    from tui.headless.campaigns import run  # noqa: PLC0415

    return asyncio.run(run(arguments))


def _resume(arguments: argparse.Namespace) -> int:
    from tui.headless.campaigns import resume  # noqa: PLC0415

    return asyncio.run(resume(arguments))


def _cancel(arguments: argparse.Namespace) -> int:
    from tui.headless.campaigns import cancel  # noqa: PLC0415

    return asyncio.run(cancel(arguments))


def _status(arguments: argparse.Namespace) -> int:
    from tui.headless.campaigns import status  # noqa: PLC0415

    return status(arguments)


def _parse(arguments: argparse.Namespace) -> int:
    from tui.headless.logs import parse  # noqa: PLC0415

    return parse(arguments)


def _import(arguments: argparse.Namespace) -> int:
    from tui.headless.logs import import_tree  # noqa: PLC0415

    return import_tree(arguments)


def _report(arguments: argparse.Namespace) -> int:
    from tui.headless.reports import report  # noqa: PLC0415

    return report(arguments)


def _compare(arguments: argparse.Namespace) -> int:
    from tui.headless.reports import compare  # noqa: PLC0415

    return compare(arguments)


_CHANGING: tuple[Command, ...] = (_run, _resume, _cancel, _sweep, _import)


if __name__ == "__main__":
    sys.exit(main())
