"""Every layout of the results on the screen, in every language; written, or copied, as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.widgets import Static

from backends.campaign.folder.export_report import (
    REPORT,
    Export,
    Written,
    export,
    exported,
    formats_of,
    laid_out,
)
from backends.campaign.record.status_view import CampaignSnapshot
from backends.results.layouts.arrange import AS_IT_IS, Arrangement
from backends.results.layouts.common import LayoutOptions
from backends.results.layouts.layout import footer
from backends.results.provenance import not_ended
from backends.results.publish import LAYOUTS, published
from backends.results.render import Column
from backends.results.summary import Group
from backends.results.translations import LANGUAGES, Lang
from profiles.errors import DlperfError
from tui.clipboard import hand_over
from tui.key_bindings import PANELS, bindings
from tui.messages import Problem, Said
from tui.program_name import for_shell
from tui.screens.dialogs import FRAME, Dialog, Prompt
from tui.screens.export_text import (
    chosen_line,
    columns_of,
    file_text,
    is_there,
    named_line,
    order_words,
    tables_text,
)
from tui.screens.front_screen import REFRESH_S
from tui.screens.named_file import destination, format_of, meant, whole
from tui.text import both_ends, plain, problem, wrapped
from tui.theme import GOOD, MUTED, WARN
from tui.typed_ahead import typed_ahead
from tui.widgets.text_lines import TextLines, folded

TABLE = "table"
FRAMES = "pandas"
"""What tables of the next layouts are made with; its import takes most of a second."""
DATA = "for programs: "
DOCUMENT = "every run and what the cases come to, the same of every layout"
AT_WORK = "laying it out …"
SHOWN_AFTER_S = 0.2
LOOK_S = 1.0
ALL_THE_SAME = "every one: json has all runs, laid out or not"
REPORT_HAS = "environment, tables, figures, what to distrust"

Chosen = tuple[str, str, Lang]


@dataclass(frozen=True, slots=True)
class LaidOut:
    """``text``: of the file, None where there is nothing to write. ``shown``: it, or its tables
    aligned, or why there is none. ``columns``: what it can be sorted by. ``headings``: of aligned
    tables, with where they end. ``exists``: the file that is proposed for it. ``gone``: the
    directory of that."""

    text: str | None
    shown: Sequence[Text]
    columns: tuple[Column, ...] = ()
    headings: Sequence[tuple[int, str]] = ()
    exists: bool = False
    gone: bool = False


class ExportSheet(Dialog[None]):
    """``chosen``: layout, format and language, as far as there are such now. ``renewed``: the
    campaign and its groups as they are now, the same groups while nothing has ended; None where
    nobody knows."""

    PANEL = "export"
    BINDINGS = bindings("export")
    AHEAD = Dialog.AHEAD | {key.action.partition("(")[0] for key in PANELS["export"].keys}

    def __init__(
        self, viewed: CampaignSnapshot, groups: Sequence[Group], chosen: Chosen | None = None
    ) -> None:
        super().__init__("Export")
        self._viewed = viewed
        self._groups = groups
        self.renewed: Callable[[], tuple[CampaignSnapshot, Sequence[Group]] | None] | None = None
        self._shown = ""
        layout, format, self._lang = chosen or ("", "", LANGUAGES[0])
        self._shown = layout if layout in self._layouts else self._layouts[0]
        self._format = format if format in self._formats else self._formats[0]
        self._asked = self._format  # that f chose; a layout may not have it
        self._order = AS_IT_IS
        self._columns: tuple[Column, ...] = ()
        self._written: str | None = None
        self._exists = self._gone = False  # the file that is proposed; the campaign's directory
        self._last: Path | None = None  # that was written
        self._writing = 0  # files, at this moment
        self._in_sight: Export | None = None  # what is shown; aligned or as text:
        self._aligned = False
        self._laid_out_now = asyncio.Event()
        self._laid_out_now.set()

    @property
    def chosen(self) -> Chosen:
        return self._shown, self._format, self._lang

    @property
    def _at_work(self) -> bool:
        return not self._laid_out_now.is_set()

    def compose(self) -> ComposeResult:
        with self.box(whole=True):
            yield Static(id="choices", markup=False)
            yield TextLines(id="laid-out")

    def on_mount(self) -> None:
        self.query_one("#laid-out").focus()
        self._renew()
        if self.renewed is not None:
            self.set_interval(REFRESH_S, self.tick)
        self.set_interval(LOOK_S, self._look)

    @work(exclusive=True, group="look", description="look whether the files are there")
    async def _look(self) -> None:
        """Others write and remove files meanwhile."""
        if not self.here or self._at_work:
            return
        wanted, last = self._wanted, self._last
        campaign_gone = not await asyncio.to_thread(is_there, self._viewed.path)
        exists = await asyncio.to_thread(is_there, self._viewed.path / wanted.file_name)
        gone = last is not None and not await asyncio.to_thread(is_there, last)
        if not self.here or self._at_work or wanted != self._wanted or last is not self._last:
            return
        if gone or exists is not self._exists or campaign_gone is not self._gone:
            self._exists, self._last = exists, None if gone else last
            self._gone = campaign_gone
            self._show_choices()

    def tick(self) -> None:
        """What has ended since is laid out, too; what was chosen stays so."""
        now = self.renewed() if self.renewed is not None and self.here else None
        if now is None or now[1] is self._groups:
            return
        self._viewed, self._groups = now
        self._lay_out_again()

    def on_resize(self) -> None:
        mark = " · SIMULATED" * self._viewed.simulated  # the page that says so is covered
        room = self.app.size.width - FRAME - cell_len(f"Export · {mark}")
        self._title = f"Export · {both_ends(plain(self._viewed.called), room)}{mark}"
        super().on_resize()
        self._show_choices()

    # What is chosen ----------------------------------------------------------------------------

    @property
    def _layouts(self) -> list[str]:
        """Those that fit what has ended; the one that is shown stays, which may be none of them."""
        fit = (one for one in LAYOUTS.values() if one.name == self._shown or one.fits(self._groups))
        return [*(one.name for one in fit), REPORT]

    @property
    def _laid_out_by(self) -> str | None:
        return None if self._shown == REPORT else self._shown

    @property
    def _formats(self) -> list[str]:
        """On the screen a table is one, too; it is written in the layout's own format."""
        return [*([TABLE] if self._lays_out_tables else []), *formats_of(self._laid_out_by)]

    @property
    def _lays_out_tables(self) -> bool:
        return self._laid_out_by is not None and LAYOUTS[self._laid_out_by].tables is not None

    @property
    def _arranges(self) -> bool:
        return self._lays_out_tables and self._format != "json"

    @property
    def _options(self) -> LayoutOptions:
        return LayoutOptions(
            lang=self._lang, arrangement=self._order if self._arranges else AS_IT_IS
        )

    @property
    def _wanted(self) -> Export:
        known = formats_of(self._laid_out_by)
        written: Written = next((one for one in known if one == self._format), known[0])
        return Export(self._laid_out_by, written, self._options)

    # What is shown -----------------------------------------------------------------------------

    def _renew(self) -> None:
        self._written = None
        self._lay_out_again()
        self._show_choices()
        self.sight.changed()
        self.refresh_bindings()

    def _lay_out_again(self) -> None:
        if not self._at_work:
            self._laid_out_now.clear()
            self._lay_out()
            self.set_timer(SHOWN_AFTER_S, self._say_at_work)

    def _show_choices(self) -> None:
        order = self._order if self._arranges else AS_IT_IS
        said = order_words(self._columns, order.column, descending=order.descending)
        turned = "yes" if order.transposed else "no"
        across = [Text("   "), chosen_line("p ", "Rows as columns ", ("no", "yes"), turned)]
        lines = [
            named_line(" " * 6, "Layout").append(ALL_THE_SAME, MUTED)
            if self._wanted.whole_document
            else chosen_line("v V   ", "Layout", self._layouts, self._shown),
            chosen_line("f     ", "Format", self._formats, self._format)
            .append(f" written as {self._wanted.format}" * (self._format == TABLE), MUTED)
            .append("   ")
            .append_text(
                chosen_line("L ", "Language", LANGUAGES, self._lang)
                if self._wanted.translated
                else named_line("  ", "Language").append("none", MUTED)
            ),
            named_line("s S   " if self._arranges else " " * 6, "Order")
            .append(said, MUTED)
            .append_text(Text().join(across * self._arranges)),
            self._file_line(),
        ]
        if self._last is not None:
            lines.append(self._written_line(self._last))
        self.query_one("#choices", Static).update(Text("\n").join(lines))
        self.query_one("#laid-out", TextLines).entitle(self._about())

    def _say_at_work(self) -> None:
        """What is shown is still what was chosen before."""
        if self._at_work and self.here:
            self.query_one("#laid-out", TextLines).entitle(AT_WORK)

    def _about(self) -> str:
        if self._laid_out_by is None:
            return REPORT_HAS
        if self._wanted.whole_document:
            return DATA + DOCUMENT
        data = self._lays_out_tables and self._format in ("csv", "json")
        return DATA * data + LAYOUTS[self._laid_out_by].help

    def _file_line(self) -> Text:
        """What is said of a path that leaves it no room stands whole below that."""
        line, said = named_line("⏎     ", "File"), self._file_words()
        words, width = said.plain, self.query_one("#choices").content_size.width
        at = words.rfind("  ")
        if at > 0 and 0 < width < line.cell_len + said.cell_len:
            path, below = said[:at], said[at + 2 :]
            return Text.assemble(line, path, "\n", " " * line.cell_len, below)
        return line.append_text(said)

    def _written_line(self, path: Path) -> Text:
        """A path without room breaks behind a ``/``."""
        line = named_line("      ", "Written")
        room = max(1, self.query_one("#choices").content_size.width - line.cell_len)
        parts = wrapped(Text(plain(for_shell(path)), GOOD), self.app.console, room)
        return line.append_text(Text("\n" + " " * line.cell_len).join(parts))

    def _file_words(self) -> Text:
        """What Enter proposes, and what would become of a file that is there."""
        if self._gone:
            return Text("–  the campaign's directory was moved or removed", WARN)
        if self._written is None and not self._at_work:
            return Text("–", MUTED)
        path = self._viewed.path / self._wanted.file_name
        text = Text(f"{path.name} in the campaign's directory")
        if self._at_work:
            return text.append("  …", MUTED)
        if not self._exists:
            return text.append("  a new file", MUTED).append(self._for_good, WARN)
        if _kept_up_to_date(self._viewed.path, self._wanted, path):
            does = "wrote it at its end" if self._viewed.finished else "keeps it up to date"
            return text.append(f"  exists; the campaign itself {does}", MUTED)
        return text.append(f"  exists; asks before it writes over it{self._for_good}", WARN)

    @property
    def _for_good(self) -> str:
        """Nobody writes such a file again when more has ended."""
        left = not_ended([case for group in self._groups for case in group.cases])
        return f"; stays as of now, with {left}" if left else ""

    @work(exclusive=True, group="preview", description="lay the results out")
    async def _lay_out(self) -> None:
        """One at a time, for a thread goes on when nobody waits for it any more: what was chosen
        meanwhile comes next, and what was chosen in between does not come at all."""
        while True:
            what, groups = (self._wanted, self._format == TABLE), self._groups
            laid_out = await asyncio.to_thread(self._laid_out, *what)
            if groups is self._groups and what == (self._wanted, self._format == TABLE):
                if (same := self._same_column(laid_out.columns)) == self._order:
                    break
                self._order = same
        self._laid_out_now.set()
        if not self.here:
            return
        self._written, self._columns = laid_out.text, laid_out.columns
        self._exists, self._gone = laid_out.exists, laid_out.gone
        self.query_one("#laid-out", TextLines).show(
            laid_out.shown,
            stay=what == (self._in_sight, self._aligned),
            csv=self._format == "csv",
            headings=laid_out.headings,
        )
        self._in_sight, self._aligned = what
        self._show_choices()
        self.sight.changed()
        self.refresh_bindings()
        await asyncio.to_thread(import_module, FRAMES)

    def _same_column(self, now: Sequence[Column]) -> Arrangement:
        """The order by the column of the same name: there may be others once more has ended."""
        before, column = self._in_sight, self._order.column
        if column is None or before is None or column >= len(self._columns):
            return self._order
        headed = before.layout, before.options.lang, before.format, self._aligned
        if headed != (self._wanted.layout, self._lang, self._wanted.format, self._format == TABLE):
            return self._order  # of which the headings are others
        heading = self._columns[column].heading
        places = (place for place, one in enumerate(now) if one.heading == heading)
        return replace(self._order, column=next(places, None))

    def _laid_out(self, what: Export, aligned: bool) -> LaidOut:
        exists, gone = is_there(self._viewed.path / what.file_name), not is_there(self._viewed.path)
        return replace(self._told(what, aligned), exists=exists, gone=gone)

    def _told(self, what: Export, aligned: bool) -> LaidOut:
        state, path = self._viewed.state, self._viewed.path
        layout = LAYOUTS[what.layout] if what.layout is not None else None
        try:
            if layout is None or what.format == "html" or (lays := layout.tables) is None:
                text = exported(state, path, what, path)
                return LaidOut(text, file_text(text))
            results = laid_out(state, path, what, layout.name, path)
            text = published(results, layout.name, what.format, what.options)
        except DlperfError as error:
            return LaidOut(None, [*map(folded, problem(error).split())])
        groups = results.groups
        columns = lays(groups, replace(what.options, arrangement=AS_IT_IS))[0].columns
        if not aligned:
            if what.format == "csv" and (names := layout.csv_columns(groups, what.options)):
                columns = tuple(map(Column, names))
            return LaidOut(text, file_text(text), columns)
        below = footer(groups, what.options, results.machines)
        tables = lays(groups, what.options)
        return LaidOut(text, tables_text(tables, below), columns, columns_of(tables))

    # Keys --------------------------------------------------------------------------------------

    def able(self, action: str) -> bool:
        always = {
            "leave": True,
            "help": True,
            "layout": not self._wanted.whole_document,
            "language": self._wanted.translated,
            "format": len(self._formats) > 1,
            "transpose": self._arranges,
        }
        if action in always:
            return always[action]
        if action == "sort":
            return self._arranges and (bool(self._columns) or self._at_work)
        if action == "reverse":
            return self._arranges and self._order.column is not None
        return self._written is not None or self._at_work

    def never(self, action: str) -> str:
        return ""

    def not_now(self, action: str) -> str:
        if action in ("write", "copy"):
            return "there is nothing to write, for the reason that is shown"
        why = {
            "format": f"this is written as {self._formats[0]} only",
            "layout": "json is the same of every layout; f goes on to another format",
            "language": f"this {self._wanted.format} is the same in every language",
        }
        if action in why:
            return why[action]
        if not self._arranges:
            done = "transposed" if action == "transpose" else "put in another order"
            return f"only a table can be {done}"
        return "sort by a column first" if action == "reverse" else ""

    def action_layout(self, step: int) -> None:
        place = (self._layouts.index(self._shown) + step) % len(self._layouts)
        self._shown, self._format = self._layouts[place], self._asked
        if self._format not in self._formats or self._wanted.whole_document:
            self._format = self._formats[0]  # from where the keys of layouts go on
        self._order, self._columns = replace(self._order, column=None), ()
        self._renew()

    def action_format(self) -> None:
        place = self._formats.index(self._format) + 1
        self._format = self._asked = self._formats[place % len(self._formats)]
        self._renew()

    def action_language(self) -> None:
        self._lang = LANGUAGES[(LANGUAGES.index(self._lang) + 1) % len(LANGUAGES)]
        self._renew()

    @work(group="wait", description="wait for what is laid out")
    async def _once_laid_out(self, do: Callable[[], None]) -> None:
        """What is typed meanwhile comes after it."""
        with typed_ahead(self).held():
            await self._laid_out_now.wait()
            if self.here:
                do()

    def action_sort(self) -> None:
        if self._columns:
            self._sort()
        else:
            self._once_laid_out(self._sort)

    def _sort(self) -> None:
        if not self._columns:
            return
        column = -1 if self._order.column is None else self._order.column
        following = column + 1 if column + 1 < len(self._columns) else None
        self._arrange(replace(self._order, column=following))

    def action_reverse(self) -> None:
        self._arrange(replace(self._order, descending=not self._order.descending))

    def action_transpose(self) -> None:
        self._arrange(replace(self._order, transposed=not self._order.transposed))

    def _arrange(self, order: Arrangement) -> None:
        self._order = order
        self._renew()

    def action_copy(self) -> None:
        if self._at_work:
            self._once_laid_out(self._copy)
        else:
            self._copy()

    def _copy(self) -> None:
        if self._written is not None:
            self.app.notify(hand_over(self.app, self._written), markup=False)

    # Writing -----------------------------------------------------------------------------------

    def action_write(self) -> None:
        """What is chosen, laid out or not: a name that is typed at once is none of our keys."""
        chosen = self._wanted

        def answered(answer: str | None) -> None:
            if answer:  # in the order that is shown by now
                self._export_to(_as_named(self._wanted, meant(answer)), answer)

        value = str(self._viewed.path / chosen.file_name)
        known = ", ".join(f".{one}" for one in formats_of(chosen.layout))
        words = f"Write it to this file ({known}):"
        self.app.push_screen(
            Prompt(
                "Export",
                words,
                value=value,
                meaning=lambda text: whole(text, lambda path: _as_named(chosen, path).format),
                check=lambda text: _as_named(chosen, meant(text)),
                does="Write",
            ),
            answered,
        )

    @work(exclusive=True, group="export", description="ask before writing over a file")
    async def _export_to(self, what: Export, answer: str) -> None:
        with typed_ahead(self).held():
            campaign = self._viewed.path
            try:
                path, question = await asyncio.to_thread(destination, answer, "Export", campaign)
            except DlperfError as error:
                self.app.post_message(Problem(error))
                return

            def answered(said: str | None) -> None:
                if said == "yes":
                    # The application's, for it is told how a file ended that was begun.
                    self.app.run_worker(
                        self._export(what, path), group="write", description="write an export"
                    )

            if question is None or _kept_up_to_date(self._viewed.path, what, path):
                answered("yes")
            else:
                self.app.push_screen(question, answered)

    async def _export(self, what: Export, path: Path) -> None:
        now = self.renewed() if self.renewed is not None else None
        viewed = self._viewed if now is None else now[0]
        self._writing += 1
        try:
            await asyncio.to_thread(export, viewed.state, viewed.path, path, what)
        except DlperfError as error:
            self.app.post_message(Problem(error))
        else:
            self._last = path
            if self.here:
                self.tick()
                self._renew()
            elif self.is_attached:
                self._show_choices()
            if not self.here or self._writing > 1:  # the sheet shows the last alone
                told = f"written {path.name} in {path.parent}"
                self.app.post_message(Said(told, ended="Export"))
        finally:
            self._writing -= 1


def _as_named(chosen: Export, path: Path) -> Export:
    """In the format that the file's name says; raises DlperfError where there is no such export."""
    format = format_of(path, formats_of(chosen.layout))
    options = chosen.options
    if format == "json":  # which has no rows to put in order
        options = replace(options, arrangement=AS_IT_IS)
    return replace(chosen, format=format, options=options)


def _kept_up_to_date(campaign: Path, what: Export, path: Path) -> bool:
    """The campaign rewrites it by itself."""
    return what == Export() and path == campaign / "report.md"
