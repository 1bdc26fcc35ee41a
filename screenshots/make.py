"""Make the screenshots of the documentation: SVG and PNG, from the console itself.

    python screenshots/make.py [NAME …]

A picture that shows a warning which the text of its page does not mention is not written.

The console is the real one; what is drawn is what a terminal of that size shows. ``smoke`` and
``smoke-results`` are a campaign that runs on this machine while they are made; those that end in
``h200`` are of docs/examples, measured on H200. The others are of ``dlperf-tui demo``, and each of
them says SIMULATED, as each frame of ``demo.gif`` does (film.py). None names the place that it was
made from. Text is placed character by character, so that columns stand whatever fixed-width font
the viewer has.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import resvg_py  # noqa: E402
from rich.cells import cell_len  # noqa: E402
from textual.pilot import Pilot  # noqa: E402

from backends.campaign.plan.selection import Selection  # noqa: E402
from backends.campaign.record.run_state import RunState  # noqa: E402
from backends.campaign.record.status_view import RunView  # noqa: E402
from backends.demo import SELECTION, open_demo  # noqa: E402
from backends.inventory.host_entry import Host, Inventory  # noqa: E402
from backends.replay.replay_workspace import ReplayWorkspace  # noqa: E402
from backends.use_cases import Workspace  # noqa: E402
from tests.console.conftest import Operator, console, shows, tick  # noqa: E402
from tui.app import DlperfApp  # noqa: E402
from tui.replaying import ReplayApp  # noqa: E402
from tui.screens.campaign_list import CampaignList  # noqa: E402
from tui.screens.compare_screen import Compare  # noqa: E402
from tui.screens.export_sheet import ExportSheet  # noqa: E402
from tui.screens.start_dialog import StartDialog  # noqa: E402
from tui.widgets.keyed_table import KeyedTable  # noqa: E402
from film import Frame, frame, write_film  # noqa: E402
from warnings_in_pictures import CELL, rows, unmentioned  # noqa: E402

EXAMPLES = HERE.parent / "docs" / "examples"
H200, H200_X2 = EXAMPLES / "h200-x4-resnet50-graphs", EXAMPLES / "h200-x2-resnet50-graphs"
REPLAYED_AT, REPLAYED_S = 10.0, 257.0
"""How fast, and where it stands still: a run trains on all four GPUs, and its readings count."""
PATIENCE_S = 400.0
FONTS = "Fira Code, DejaVu Sans Mono, Menlo, Consolas, monospace"


BEGUN = 1_795_226_400.0  # 2026-11-21 02:00 UTC
COMFORTABLE, SMALL = (120, 40), (80, 24)
FILM_SIZE, FILM_ZOOM, FILM_SPEED = (100, 34), 0.9, 20.0
FILM_STEP = 0.6
"""By how many runs the campaign goes on from one frame to the next."""


@asynccontextmanager
async def sitting(
    speed: float, size: tuple[int, int] = COMFORTABLE
) -> AsyncIterator[tuple[Workspace, DlperfApp, Pilot[str]]]:
    """With the demo, once its hosts have answered."""
    workspace = open_demo(Path("campaigns"), speed, BEGUN)
    workspace.cluster.login_host = "login01"
    async with console(workspace, size) as (app, pilot):
        await until(pilot, lambda: all(host.facts for host in app.session.hosts))
        yield workspace, app, pilot
        await app.session.close()


async def demo() -> dict[str, str]:
    """Its hosts, its matrix, its runs at work."""
    pictures = {}
    async with sitting(10.0) as (workspace, app, pilot):
        await pilot.press("1", "j")
        pictures["hosts"] = await picture(app, pilot)
        await pilot.press("2", "tab", "j", "j", "space", "shift+tab")
        pictures["matrix"] = await picture(app, pilot)
        tags = ("1n1g", "1n4g", "1n8g", "2n8g", "4n8g")
        plan = workspace.plan(Selection(("oneflow-resnet50",), tags, repeats=3))
        await app.session.start(plan)
        await pilot.press("3")
        await until(pilot, lambda: at_work(app, "1n8g", 0.7))
        await go_to(app, pilot, lambda run: run.state is RunState.RUNNING)
        pictures["runs"] = await picture(app, pilot)
        await pilot.resize_terminal(*SMALL)
        pictures["runs-80x24"] = await picture(app, pilot)
        await pilot.press("question_mark")
        pictures["help"] = await picture(app, pilot)
        await pilot.press("escape")
    return pictures


async def demo_results() -> dict[str, str]:
    """Its whole campaign at its end: a run that failed, and what came out."""
    pictures = {}
    async with sitting(60.0) as (workspace, app, pilot):
        await app.session.start(workspace.plan(SELECTION))
        await pilot.press("3")
        await until(pilot, lambda: app.session.live is not None and app.session.live.finished)
        app.clear_notifications()
        await pilot.press("s")
        pictures["schedule"] = await picture(app, pilot)
        await pilot.press("s")
        await go_to(app, pilot, lambda run: "GPU memory" in run.reason)
        pictures["failure"] = await picture(app, pilot)
        await pilot.press("4", "j", "j")
        pictures["results"] = await picture(app, pilot)
    return pictures


async def go_to(app: DlperfApp, pilot: Pilot[str], wanted: Callable[[RunView], bool]) -> None:
    """Down to the first such run."""
    await pilot.press("g")
    for _ in shown_runs(app):
        key = app.screen.query_one(KeyedTable).current_key
        if any(run.run_id == key and wanted(run) for run in shown_runs(app)):
            return
        await pilot.press("j")


def shown_runs(app: DlperfApp) -> Sequence[RunView]:
    return app.session.viewed.runs if app.session.viewed else ()


def real_workspace() -> Workspace:
    """This machine alone, called login01, so that a picture says nothing of where it was made."""
    here = Host("login01", transport="local", work_dir=str(Path("work").resolve()))
    workspace = Workspace(Inventory((here,), None), None, Path("campaigns").resolve())
    workspace.cluster.login_host = here.name
    return workspace


async def smoke() -> dict[str, str]:
    """What a newcomer sees: start, Enter; once in the middle of the second run, once at the end."""
    workspace = real_workspace()
    pictures = {}
    async with console(workspace, (120, 40)) as (app, pilot):
        await until(pilot, lambda: app.current_mode == "matrix" and shows(app, "2 cases"))
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "runs")
        await until(pilot, lambda: at_work(app, "1n2g", 0.7))
        pictures["smoke"] = await picture(app, pilot)
        await until(pilot, lambda: app.session.live is not None and app.session.live.finished)
        app.clear_notifications()
        await pilot.press("4", "j")
        pictures["smoke-results"] = await picture(app, pilot)
        await app.session.close()
    return pictures


def at_work(app: DlperfApp, tag: str, progress: float) -> bool:
    return any(r.case.tag == tag and (r.progress or 0.0) >= progress for r in shown_runs(app))


async def h200() -> dict[str, str]:
    """Two campaigns of docs/examples: one looked at, both compared; nothing is run."""
    for example in (H200_X2, H200):
        shutil.copytree(example, Path("campaigns") / example.name)
    workspace = real_workspace()
    shown = {}
    async with console(workspace, COMFORTABLE, readonly=True) as (app, pilot):
        await workspace.cluster.probe()
        await app.session.open(Path("campaigns").resolve() / H200.name)
        await pilot.press("3")
        await until(pilot, lambda: shows(app, "1n4g"))
        await go_to(app, pilot, lambda run: run.case.tag == "1n4g")
        await until(pilot, lambda: shows(app, "util ") and shows(app, "iter 160"))
        shown["runs-h200"] = await picture(app, pilot)
        await pilot.press("4")
        await until(pilot, lambda: shows(app, "1n4g"))
        await pilot.press("j", "j")
        shown["results-h200"] = await picture(app, pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, ExportSheet) and shows(app, "26595"))
        shown["export-h200"] = await picture(app, pilot)
        await pilot.press("escape", "O")
        await until(pilot, lambda: isinstance(app.screen, CampaignList) and shows(app, "finished"))
        await pilot.press("home", "space", "j", "space", "c")
        await until(pilot, lambda: isinstance(app.screen, Compare) and shows(app, "Against"))
        shown["compare-h200"] = await picture(app, pilot)
        await app.session.close()
    return shown


async def replay() -> dict[str, str]:
    """The same campaign as it went, stood still while it trains on all of its GPUs."""
    passed = 0.0
    workspace = ReplayWorkspace(H200, REPLAYED_AT, monotonic=lambda: passed)
    app = ReplayApp(workspace)
    app.animation_level = "none"
    async with app.run_test(size=COMFORTABLE, notifications=True):
        pilot = Operator(app)
        await until(pilot, lambda: app.session.opened is not None and app.current_mode == "runs")
        passed = REPLAYED_S / REPLAYED_AT
        await until(pilot, lambda: any(r.throughput_now for r in shown_runs(app)))
        await pilot.press("full_stop")
        await go_to(app, pilot, lambda run: run.state is RunState.RUNNING)
        return {"replay-h200": await picture(app, pilot)}


async def film() -> list[Frame]:
    """A campaign of the demo, from its hosts to its curves; the title says which key was pressed."""
    frames: list[Frame] = []

    async with sitting(FILM_SPEED, FILM_SIZE) as (_, app, pilot):

        async def shown(seconds: float, title: str) -> None:
            svg = await picture(app, pilot, title)
            frames.append(frame(svg, to_png(svg.replace('rx="8"', ""), FILM_ZOOM), seconds))

        async def press(seconds: float, title: str, *keys: str) -> None:
            for key in keys:
                await pilot.press(key)
                await shown(seconds, title)

        await shown(1.5, "dlperf-tui demo")
        await press(0.4, "j   down", "j", "j", "j")
        await shown(1.3, "a host that is too hot says so")
        await press(1.0, "2   Matrix: what to measure", "2")
        await pilot.press("tab")
        await press(0.6, "space   not this profile", "space")
        await pilot.press(*["j"] * app.session.workspace.catalog.names.index("oneflow-resnet50"))
        await press(0.8, "space   this one", "space")
        await pilot.press("shift+tab", "n")
        for down in (0, 3, 1, 1):  # 1n1g, 1n8g, 2n8g, 4n8g
            await press(0.2, "j   down", *["j"] * down)
            await press(0.6, "space   mark a case", "space")
        await pilot.press(*["minus"] * 3)
        await press(1.2, "-   fewer repeats", "minus")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StartDialog))
        await until(pilot, lambda: not shows(app, "checking the hosts"))
        await shown(3.0, "Enter   what would run, and what the checks found")
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "runs")
        while not finished(app):
            await shown(0.35, "Enter   the runs, as they train")
            next_at = done(app) + FILM_STEP
            await until(pilot, lambda: done(app) >= next_at or finished(app))
        app.clear_notifications()
        await shown(1.5, "all of them have ended")
        await press(1.5, "4   Results", "4")
        await press(0.5, "j   down", "j", "j", "j")
        await press(1.8, "c   the next curve", "c", "c")
        await press(2.5, "c   the next curve", "c")
        await app.session.close()
    return frames


def finished(app: DlperfApp) -> bool:
    return app.session.live is not None and app.session.live.finished


def done(app: DlperfApp) -> float:
    """Runs that have ended, and parts of those at work."""
    return sum(1.0 if run.state.ended else run.progress or 0.0 for run in shown_runs(app))


async def picture(app: DlperfApp, pilot: Pilot[str], title: str = "dlperf-tui") -> str:
    for _ in range(2):
        tick(app)
        await settle(pilot)
    return on_grid(app.export_screenshot(title=title))


async def until(pilot: Pilot[str], condition: Callable[[], object]) -> None:
    """Wait for what really happens."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await pilot.pause(0.05)


async def settle(pilot: Pilot[str]) -> None:
    for _ in range(3):
        await pilot.pause()


def on_grid(svg: str) -> str:
    """Every character at its column's x: independent of the widths of the viewer's font."""
    placed = re.sub(r"<text( [^>]*textLength[^>]*)>([^<]*)</text>", _place, svg)
    placed = re.sub(r"@font-face \{.*?\}\s*", "", placed, flags=re.DOTALL)
    placed = placed.replace("font-family: arial", f"font-family: {FONTS}")
    return placed.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")


def _place(match: re.Match[str]) -> str:
    attributes, body = match.group(1), html.unescape(match.group(2)).replace("\xa0", " ")
    found = re.search(r' x="([\d.]+)"', attributes)
    text = body.strip(" ")
    if found is None or not text:
        return ""
    at = float(found.group(1)) + (len(body) - len(body.lstrip(" "))) * CELL
    places = []
    for character in text:
        places.append(f"{at:.1f}".removesuffix(".0"))
        at += cell_len(character) * CELL
    attributes = re.sub(r' x="[^"]*"', f' x="{" ".join(places)}"', attributes)
    attributes = re.sub(r' textLength="[^"]*"', "", attributes)
    return f"<text{attributes}>{html.escape(text).replace(' ', '&#160;')}</text>"


def to_png(svg: str, zoom: float = 1.0) -> bytes:
    font = "DejaVu Sans Mono"
    drawn = resvg_py.svg_to_bytes(
        svg_string=svg, monospace_family=font, font_family=font, zoom=zoom
    )
    return bytes(drawn)


PICTURES: dict[str, Callable[[], Coroutine[None, None, dict[str, str]]]] = {
    "demo": demo,
    "demo-results": demo_results,
    "smoke": smoke,
    "h200": h200,
    "replay": replay,
}
FILM = "film"


def main(names: Sequence[str]) -> int:
    every = [*PICTURES, FILM]
    unknown = [name for name in names if name not in every]
    if unknown:
        print(f"no screenshot {unknown[0]}; there are {', '.join(every)}", file=sys.stderr)
        return 2
    refused = 0
    for name in names or every:
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            if name == FILM:
                size = write_film(asyncio.run(film()), HERE / "demo.gif")
                print(f"screenshots/demo.gif, {size:,} bytes")
                continue
            for made, svg in asyncio.run(PICTURES[name]()).items():
                if str(HERE.parent) in " ".join(rows(svg)):
                    print(f"screenshots/{made}: shows {HERE.parent}", file=sys.stderr)
                    refused += 1
                    continue
                if said := unmentioned(made, svg):
                    print(f"screenshots/{made}: shows {said[0]!r}", file=sys.stderr)
                    print("which its page does not mention; not written", file=sys.stderr)
                    refused += 1
                    continue
                (HERE / f"{made}.svg").write_text(svg, encoding="utf-8")
                (HERE / f"{made}.png").write_bytes(to_png(svg))
                print(f"screenshots/{made}.svg, .png")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
