"""How values become words on the screen. Everything from outside goes through :func:`plain`."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import localtime, strftime

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from backends.campaign.record.run_state import RunState
from backends.hosts.host_facts import Concern, HostSnapshot, HostState
from backends.results.numbers import readable, rounded
from backends.results.run_result import BANDWIDTH
from profiles.cleantext import clean_text
from profiles.counted import counted
from profiles.durations import format_duration, in_largest_unit
from profiles.errors import DlperfError
from tui.theme import ACCENT, BAD, GOOD, LINE, MUTED, TEXT, WARN

_LEAD = re.compile(r"\s*(?:[^\w\s]\s+)?(?:(?:stop|warn) )?")
"""What stands before the words of a line: spaces, a symbol, how grave it is."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ATTEMPT = re.compile(r"\battempt (?=\d+$)")
_LEFT_OUT = re.compile("[- ]?\0(?:[- ]\0)*[- ]")


@dataclass(eq=True)
class Hanging:
    """Lines that go on, where they have no room, below the words that they began with, or
    ``deeper``; those of :func:`named_rows` below their value."""

    text: Text
    deeper: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.text.split(allow_blank=True):
            lead, words = line.divide([_lead_of(line, options.max_width)])
            room = options.max_width - lead.cell_len
            whole = words.cell_len <= room
            parts = [words] if whole else wrapped(words, console, max(1, room - self.deeper))
            for number, part in enumerate(parts):
                before = Text(" " * (lead.cell_len + self.deeper)) if number else lead
                yield Text.assemble(before, part, no_wrap=True)


_SMALL = "a an and as at by in is it of on or than that the there this to what"
SMALL_WORDS = frozenset(_SMALL.split())
"""By which nothing is looked for."""


def wrapped(words: Text, console: Console, width: int) -> list[Text]:
    """Lines that end between words; a word that no line has room for, as a path, breaks behind a
    ``/`` or ``_`` where that leaves no line half empty."""
    cuts: list[int] = []
    for found in re.finditer(r"\S+", words.plain):
        word, at = found.group(), found.start()
        if cell_len(word) > width:
            cuts.append(at)
        while cell_len(word) > width:
            head = chop_cells(word, width)[0]
            ends = (head.rfind(mark) + 1 for mark in "/_")
            end = next((end for end in ends if end > len(head) // 2), max(1, len(head)))
            word, at = word[end:], at + end
            cuts.append(at)
    return [line for part in words.divide(cuts) for line in part.wrap(console, width) if line]


def begun_in(words: Text, console: Console, width: int, lines: int) -> Text:
    """As much of the words as so many lines of a width have room for, "…" behind them where that is
    not all."""
    found = wrapped(words, console, width) if width > 0 else []
    if len(found) <= lines:
        return words
    last = Text(" ").join(found[lines - 1 : lines + 1])
    return Text("\n").join([*found[: lines - 1], whole_words(last, width)])


def _lead_of(line: Text, width: int) -> int:
    """How many characters of a line stand before its words: a symbol, or a row's name where that
    leaves them some room."""
    name = line.spans[0] if line.spans else None
    if name is not None and name.start == 0 and line.plain[: name.end].endswith(BETWEEN):
        return name.end if width - cell_len(line.plain[: name.end]) >= _LEAST_OF_A_VALUE else 0
    found = _LEAD.match(line.plain)
    return found.end() if found else 0


HOST_STATES = {
    HostState.UNKNOWN: ("○", MUTED),
    HostState.PROBING: ("…", MUTED),
    HostState.READY: ("●", GOOD),
    HostState.BUSY: ("◐", WARN),
    HostState.DEGRADED: ("▲", WARN),
    HostState.UNREACHABLE: ("✗", BAD),
    HostState.OFFLINE: ("✗", BAD),
}

RUN_STATES = {
    RunState.PLANNED: ("·", "planned", MUTED),
    RunState.QUEUED: ("·", "queued", MUTED),
    RunState.STARTING: ("◌", "starting", ACCENT),
    RunState.RUNNING: ("▶", "running", ACCENT),
    RunState.CANCELLING: ("◌", "cancelling", WARN),
    RunState.SUCCEEDED: ("✓", "succeeded", GOOD),
    RunState.FAILED: ("✗", "failed", BAD),
    RunState.CANCELLED: ("–", "cancelled", MUTED),
}


_FRESH_S = 5
_LEAST_OF_A_WORD = 8
_LEAST_OF_A_VALUE = 12
_OF_A_NOTE = 24
"""Columns of a note that are kept behind the path that it begins with; and of a path of which both
ends are."""
_DATE = re.compile(r"^\d{4}-\d\d-\d\d-")
_FIRST_WORDS = re.compile(r"[;,] ")
"""Where they end, of what is said of a path."""
BETWEEN = "  "
"""A row's name and its value."""
BY_THE_WAY = "info"
"""The level of notes of what its operator decided, or may as well know."""
GRAVE = ("stop", "error")
"""Levels of notes that say what a campaign cannot do, or what of it is lost."""


def plain(text: object) -> str:
    """Display-safe text on one line: no control sequence, no line break."""
    return " ".join(clean_text(str(text)).split())


def cell(text: object, style: str = "", *, right: bool = False) -> Text:
    """A table cell: literal, one line, shortened with an ellipsis."""
    return Text(
        plain(text),
        style=style,
        no_wrap=True,
        overflow="ellipsis",
        justify="right" if right else "left",
        end="",
    )


def join(parts: Iterable[Text | str | tuple[str, str]], separator: str = "") -> Text:
    """Parts in a row, each a ``Text``, plain words, or words with a style; literal."""
    result = Text(no_wrap=True, overflow="ellipsis", end="")
    for number, part in enumerate(parts):
        if number and separator:
            result.append(separator, MUTED)
        if isinstance(part, Text):
            result.append_text(part)
        elif isinstance(part, tuple):
            result.append(*part)
        else:
            result.append(part)
    return result


def named_rows(rows: Iterable[tuple[str, str]], heading: str = "") -> Text:
    """A line each, the values below one another behind the longest name; nothing of no rows."""
    listed = [(plain(name), plain(value)) for name, value in rows]
    text = Text(end="")
    if heading and listed:
        text.append(f"{heading}\n", MUTED)
    width = max((cell_len(name) for name, _ in listed), default=0)
    for name, value in listed:
        text.append(f"{name}{' ' * (width - cell_len(name))}{BETWEEN}", MUTED).append(f"{value}\n")
    return text


def host_state(host: HostSnapshot) -> Text:
    symbol, colour = HOST_STATES[host.state]
    if host.in_use:
        symbol, colour = "◐", ACCENT
    elif host.recorded and host.state is HostState.READY:
        symbol, colour = "○", MUTED
    return cell(f"{symbol} {host.state_word}", colour)


def all_of(concerns: Sequence[Concern], noun: str) -> str:
    """How many stands first: the end of a remark is what a narrow list cuts."""
    count = f"{counted(len(concerns), noun)}: " if len(concerns) > 1 else ""
    return count + "; ".join(plain(concern.what) for concern in concerns)


def age(host: HostSnapshot, now: float | None) -> str:
    """How long ago all this was so: ``now``, ``25s``, ``3m00s``; a dash: it was never asked."""
    if host.probed_at is None or now is None:
        return "–"
    return age_text(max(0.0, now - host.probed_at))


def age_text(passed: float) -> str:
    """Of so many seconds, as for :func:`age`."""
    if passed < _FRESH_S:
        return "now"
    step = _FRESH_S if passed < 60 else 60
    return format_duration(passed // step * step)


def run_state(
    state: RunState,
    *,
    paused: bool = False,
    over: str = "",
    begun: bool = True,
    silent: bool = False,
    warming: bool = False,
    flagged: bool = False,
) -> Text:
    """``begun``: it was started; a run that was cancelled before that is skipped. ``silent``: no
    reading comes any more. ``over``: what is so of one whose program has ended. ``warming``: those
    that came do not count. ``flagged``: its figure is to be distrusted."""
    symbol, word, colour = RUN_STATES[state]
    if state is RunState.CANCELLED and not begun:
        word = "skipped"
    elif paused:
        symbol, word, colour = "‖", "paused", WARN
    elif over:
        symbol, word = "◌", over
    elif silent:
        symbol, word, colour = "▲", "silent", WARN
    elif warming:
        word = "warming up"
    if flagged:
        return join([(symbol, colour), ("▲", WARN), (f" {word}", colour)])
    return cell(f"{symbol} {word}", colour)


def problem(error: DlperfError) -> Text:
    """What is wrong and where; below it, how to mend it."""
    where = f"{plain(error.where)}: " if error.where else ""
    text = Text(f"✗ {where}{plain(error.what)}", BAD, end="")
    if error.remedy:
        text.append(f"\n→ {plain(error.remedy)}", TEXT)
    return text


def problem_line(error: DlperfError) -> str:
    """The same on one line, where there is no room for another."""
    return f"✗ {plain(error)}"


def fitting(parts: Sequence[str], width: int, separator: str = "  ") -> str:
    """As many of the first parts as have room beside each other; the first one in any case."""
    kept = list(parts)
    while len(kept) > 1 and cell_len(separator.join(kept)) > width:
        kept.pop()
    return shorten(separator.join(kept), width)


def shorten(text: str, width: int) -> str:
    """At most ``width`` columns, with an ellipsis where something is left out; of a number all or
    nothing is there."""
    kept = _beginning(text, width)
    if kept == text:
        return text
    end = len(kept) - 1
    parts = (one.start() for one in _NUMBER.finditer(text) if one.start() < end < one.end())
    return f"{text[: next(parts, end)]}…" if kept else ""


def _beginning(text: str, width: int) -> str:
    """As :func:`shorten`, but of a name, in which any character may tell it from others."""
    if cell_len(text) <= width:
        return text
    kept = ""
    for character in text:
        if cell_len(kept + character) > width - 1:
            break
        kept += character
    return kept + "…" if width > 0 else ""


def without_middles(texts: Collection[Text], width: int) -> Mapping[str, Text]:
    """:func:`without_middle` of each, by its plain words, but no two different ones alike; what all
    of them share goes first, then the date that one begins with."""
    short = _without_shared({text.plain for text in texts}, width, "-")
    shorter = _without_shared(short.values(), width, " ")
    short = {name: shorter[said] for name, said in short.items()}
    cut = {}
    for text in texts:
        brief = _ATTEMPT.sub("a", text.plain) if cell_len(text.plain) > width else text.plain
        said = brief if cell_len(brief) <= width else short[text.plain]
        said = _DATE.sub("…", said) if cell_len(said) > width else said
        shown = text if said == text.plain else cell(said, str(text.style))
        cut[text.plain] = without_middle(shown, width)
    known = Counter(said.plain for said in cut.values())
    alike = [words for words, said in cut.items() if known[said.plain] > 1]
    styles = {text.plain: str(text.style) for text in texts}
    others = (said.plain for said in cut.values() if known[said.plain] == 1)
    apart = told_apart(alike, width, others)
    cut.update({words: cell(said, styles[words]) for words, said in apart.items()})
    return cut


def without_last_middles(texts: Collection[Text], width: int) -> Mapping[str, Text]:
    """As :func:`without_middles`, but nothing before the last word of a text is cut while there is
    room behind that for what tells the last words apart."""
    parts = {text.plain: text.plain.rpartition(" ") for text in texts}
    room = width - max((cell_len(before + " ") for before, _, _ in parts.values()), default=0)
    if room < LEAST_PART:
        return without_middles(texts, width)
    told = told_apart({last for _, _, last in parts.values()}, room)
    cut = {}
    for text in texts:
        before, between, last = parts[text.plain]
        style = text.spans[-1].style if text.spans else text.style
        first = text[: len(before + between)]
        cut[text.plain] = _joined(first, Text(told[last], style), text)
    return cut


def _without_shared(names: Collection[str], width: int, between: str) -> Mapping[str, str]:
    """Without words that all have in the same place, as a date, the first of them first, until all
    have room; of each its last word stays. ``between``: what parts them."""
    words = {name: name.split(between) for name in names}
    places = list(zip(*(parts[:-1] for parts in words.values()), strict=False))
    shared = [n for n, place in enumerate(places) if len(names) > 1 and len({*place}) == 1]
    said = {name: name for name in names}
    for last in shared:
        if max(map(cell_len, said.values())) <= width:
            break
        out = {n for n in shared if n <= last}
        for name, parts in words.items():
            kept = between.join("\0" if n in out else part for n, part in enumerate(parts))
            said[name] = _LEFT_OUT.sub("…", kept)
    return said


def without_middle(text: Text, width: int) -> Text:
    """At most ``width`` columns without the middle of its longest word: of a name both ends stay,
    for either may be what tells it from others. Where that is not enough as much of the end stays
    as there is room for: of a run that is its case. Before that ``attempt 2`` becomes ``a2``."""
    if text.cell_len > width and (found := _ATTEMPT.search(text.plain)):
        text = _joined(text[: found.start()].append("a"), text[found.end() :], text)
    over = text.cell_len - width
    if over <= 0 or width < _LEAST_OF_A_WORD:
        return text
    word = max(text.plain.split(" "), key=cell_len)
    begin, left = text.plain.index(word), cell_len(word) - over
    if left >= _LEAST_OF_A_WORD:
        return _without_middle(text, begin, begin + len(word), left, (left - 1) // 2)
    return _without_middle(text, 0, len(text.plain), width, width - 4)


def _without_middle(text: Text, begin: int, end: int, room: int, behind: int) -> Text:
    """From ``begin`` to ``end`` at most ``room`` columns, so many of them ``behind`` the mark."""
    part = text.plain[begin:end]
    first = len(_beginning(part, room - behind)) - 1
    last = len(_beginning(part[::-1], behind + 1)) - 1
    return _joined(text[: begin + first].append("…"), text[end - last :], text)


def _joined(first: Text, last: Text, whole: Text) -> Text:
    """Parts of one text as it is itself."""
    first.append_text(last)
    first.no_wrap, first.end = whole.no_wrap, whole.end  # which a part of it does not have
    return first


LEAST_PART = 6
"""Columns of a part's beginning, with its ellipsis."""


def whole_words(text: Text, width: int) -> Text:
    """What ends behind a word where there is no room for all of it."""
    if text.cell_len <= width:
        return text
    kept = _beginning(text.plain, width).removesuffix("…")
    if text.plain[len(kept)] != " ":  # in the middle of a word
        kept = kept.rpartition(" ")[0] or kept
    return text[: len(kept.rstrip(" :;,("))].append("…")


def whole_parts(text: Text, width: int) -> Text:
    """At most ``width`` columns of ``▲ one, two, three``: whole parts, and how many more there are:
    ``▲ one +2``; of the first a beginning where it has no room, ``▲ begin… +2``. A single part is
    left as it is."""
    parts = text.plain.split(", ")
    if text.cell_len <= width or len(parts) == 1:
        return text
    sign = parts[0].partition(" ")[0]
    counts = range(len(parts) - 1, 0, -1)
    forms = [f"{', '.join(parts[:n])} +{len(parts) - n}" for n in counts]
    behind = f" +{len(parts) - 1}"
    if (room := width - cell_len(behind)) > cell_len(sign) + LEAST_PART:
        forms.append(shorten(parts[0], room) + behind)
    said = next((one for one in forms if cell_len(one) <= width), f"{sign} +{len(parts)}")
    return cell(said, str(text.style))


def first_part(text: Text) -> Text:
    """The shortest of :func:`whole_parts` in which the first part is whole: ``▲ one +2``."""
    first, *others = text.plain.split(", ")
    return cell(f"{first} +{len(others)}" if others else first, str(text.style))


def gravest_parts(text: Text, width: int) -> Text:
    """At most ``width`` columns of ``▶ live, 2 failed, 1 skipped``, whose counts begin with the
    gravest: whole parts from the beginning, ``▶ live, 2 failed, …``; else, without what the sign
    says, the gravest alone, ``▶ 2 failed, …``; ``▶ 2 failed`` where it is all."""
    sign, _, words = text.plain.partition(" ")
    parts = words.split(", ")
    counts = [part for part in parts if part[:1].isdigit()]
    if text.cell_len <= width or not counts:
        return text
    least = len(parts) - len(counts) + 1
    kept = [f"{sign} {', '.join(parts[:n])}" for n in range(len(parts) - 1, least - 1, -1)]
    alone = f"{sign} {counts[0]}{', …' * (len(counts) > 1)}"
    forms = [f"{one}, …" for one in kept]
    said = next((one for one in forms if cell_len(one) <= width), alone)
    return cell(said, str(text.style))


def shared_of_all(alike: str, parameters: str) -> str:
    """What all rows share, and none says, of their profiles' names and their ``parameters``:
    ``all compile=on, profile names without …-resnet50``; empty where that is nothing."""
    names = f"profile names without {plain(alike)}" if alike else ""
    return ", ".join(filter(None, [f"all {parameters}" * bool(parameters), names]))


def both_ends(words: str, width: int) -> str:
    """At most ``width`` columns of a path or a name: without its middle, if need be."""
    if cell_len(words) <= width:
        return words
    end = _beginning(words[::-1], width // 2)[-2::-1]  # its mark stands last, and goes
    return _beginning(words, width - cell_len(end)) + end


def with_ends(words: str, width: int) -> str:
    """At most ``width`` columns of a sentence; one that begins with a path, as ``logs/a/b.log: …``,
    keeps the first words behind it, then that path's end, then both its ends: ``…b.log: missing``.
    """
    path, colon, said = words.partition(": ")
    if cell_len(words) <= width or "/" not in path or " " in path or not colon:
        return shorten(words, width)
    said = f": {said}"
    matters = cell_len(_FIRST_WORDS.split(said, maxsplit=1)[0]) + 1  # and a mark behind them
    most = max(_OF_A_NOTE // 2, width // 3, width - _OF_A_NOTE)
    room = max(width - cell_len(said), min(width - matters, most))
    if room < _LEAST_OF_A_WORD:
        return shorten(said[2:], width)
    end = both_ends(path, room) if room > _OF_A_NOTE else _end_of(path, room)
    return shorten(f"{end}{said}", width)


def _end_of(words: str, width: int) -> str:
    end = _beginning(words[::-1], width)[::-1]
    return "…" * (cell_len(words) > width) + end.removeprefix("…")


def told_apart(names: Collection[str], width: int, others: Iterable[str] = ()) -> Mapping[str, str]:
    """Each of ``names`` in at most ``width`` columns, no two different ones alike, nor like one of
    ``others``: those whose ends are the same from where they differ on, or, as a last resort,
    numbered."""
    told = _told_apart(set(names), width)
    taken = set(others)
    for name, once in sorted(told.items()):
        number = 1
        while told[name] in taken:
            number += 1
            told[name] = f"{_beginning(once, width - 1 - len(str(number)))}~{number}"
        taken.add(told[name])
    return told


def _told_apart(names: Collection[str], width: int) -> dict[str, str]:
    told = {name: both_ends(name, width) for name in names}
    alike: dict[str, list[str]] = {}
    for name, said in told.items():
        alike.setdefault(said, []).append(name)
    for group in alike.values():
        same = len(os.path.commonprefix(group))
        begin = _beginning(group[0][:same], max(1, width // 4)).removesuffix("…") + "…"
        if len(group) > 1 and same and width >= _LEAST_OF_A_WORD:
            rests = _told_apart({name[same:] for name in group}, width - cell_len(begin))
            told.update({name: begin + rests[name[same:]] for name in group})
    return told


def ago(seconds: float) -> str:
    """How long something is past: "now", "40s ago", "12m ago", "3h ago", "5d ago"."""
    return f"{in_largest_unit(seconds)} ago" if seconds >= 1 else "now"


def clock_time(t: float) -> str:
    """When something was, by the clock of who sits here: "14:03:27"."""
    return strftime("%H:%M:%S", localtime(t))


number = readable


def throughput_heading(units: Collection[str]) -> str:
    """The unit of the figures below it; where they have several, each figure has its own."""
    (unit,) = units if len(units) == 1 else ("throughput",)
    return "busbw GB/s" if unit == BANDWIDTH else plain(unit)


def rate_text(value: float | None, unit: str) -> str:
    """ "2,942", or with its ``unit`` where none stands over it."""
    return f"{number(value)} {plain(unit)}".rstrip() if value is not None else number(value)


def gib(mib: int | None) -> str:
    """Mebibytes as gibibytes without unit: 32510 → "31.7"; None → "–"."""
    if mib is None:
        return "–"
    value = mib / 1024
    return str(rounded(value, 0 if value >= 100 else 1))


def bar(fraction: float | None, width: int, colour: str = ACCENT) -> Text:
    """A progress bar of ``width`` columns; an empty track where nothing is known."""
    result = Text(no_wrap=True, end="")
    if fraction is None:
        return result.append("┄" * width, LINE)
    fraction = min(1.0, max(0.0, fraction))
    full, rest = divmod(round(fraction * width * 2), 2)
    filled = "━" * full + "╸" * rest
    result.append(filled, colour)
    return result.append("┄" * (width - len(filled)), LINE)


def ranges(numbers: Iterable[int], between: str = ",") -> str:
    """{0, 1, 2, 5} → "0-2,5"."""
    parts: list[list[int]] = []
    for value in sorted(numbers):
        if parts and value == parts[-1][1] + 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    return between.join(f"{low}-{high}" if high > low else f"{low}" for low, high in parts)
