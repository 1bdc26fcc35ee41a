"""Make the screenshots of the documentation: SVG and PNG, from the console itself.

    python screenshots/make.py [NAME …]

A picture that shows a warning which the text of its page does not mention is not written.

The console is the real one; what is drawn is what a terminal of that size shows. ``smoke`` and
``smoke-results`` are a campaign that runs on this machine while they are made, ``results-h200`` is
the one of docs/examples, measured on H200. The others are of ``dlperf-tui demo``, and each of them
says SIMULATED. Text is placed character by character, so that columns stand whatever fixed-width
font the viewer has.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import resvg_py  # noqa: E402
from rich.cells import cell_len  # noqa: E402
from textual.pilot import Pilot  # noqa: E402

from backends.campaign.plan.selection import Selection  # noqa: E402
from backends.campaign.record.run_record import RunRecord  # noqa: E402
from backends.campaign.record.run_state import RunState  # noqa: E402
from backends.demo import SELECTION, open_demo  # noqa: E402
from backends.inventory.host_entry import Host, Inventory  # noqa: E402
from backends.use_cases import Workspace  # noqa: E402
from tests.console.conftest import console, shows, tick  # noqa: E402
from tui.app import DlperfApp  # noqa: E402
from tui.widgets.keyed_table import KeyedTable  # noqa: E402
from warnings_in_pictures import CELL, unmentioned  # noqa: E402

H200 = HERE.parent / "docs" / "examples" / "h200-x4-resnet50-graphs"
PATIENCE_S = 120.0
FONTS = "Fira Code, DejaVu Sans Mono, Menlo, Consolas, monospace"


BEGUN = 1_795_226_400.0  # 2026-11-21 02:00 UTC
COMFORTABLE, SMALL = (120, 40), (80, 24)


@asynccontextmanager
async def sitting(speed: float) -> AsyncIterator[tuple[Workspace, DlperfApp, Pilot[str]]]:
    """With the demo, once its hosts have answered."""
    workspace = open_demo(Path("campaigns"), speed, BEGUN)
    workspace.cluster.login_host = "login01"
    async with console(workspace, COMFORTABLE) as (app, pilot):
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
        await until(pilot, lambda: at_work(app, "1n8g", 0.6))
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
        await go_to(app, pilot, lambda run: run.category == "named")
        pictures["failure"] = await picture(app, pilot)
        await pilot.press("4", "j", "j")
        pictures["results"] = await picture(app, pilot)
    return pictures


async def go_to(app: DlperfApp, pilot: Pilot[str], wanted: Callable[[RunRecord], bool]) -> None:
    """Down to the first such run."""
    await pilot.press("g")
    for _ in live_runs(app):
        key = app.screen.query_one(KeyedTable).current_key
        if any(run.run_id == key and wanted(run) for run in live_runs(app)):
            return
        await pilot.press("j")


def live_runs(app: DlperfApp) -> Sequence[RunRecord]:
    live = app.session.live
    return () if live is None else tuple(live.state.runs.values())


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
    live = app.session.live
    runs = live.runs if live else ()
    return any(r.case.tag == tag and (r.progress or 0.0) >= progress for r in runs)


async def results_h200() -> dict[str, str]:
    """The campaign of docs/examples, opened as any other."""
    workspace = real_workspace()
    async with console(workspace, (120, 40), readonly=True) as (app, pilot):
        await workspace.cluster.probe()
        await app.session.open(H200)
        await pilot.press("4")
        await until(pilot, lambda: shows(app, "1n4g"))
        await pilot.press("j", "j")
        await settle(pilot)
        shown = {"results-h200": await picture(app, pilot)}
        await app.session.close()
    return shown


async def picture(app: DlperfApp, pilot: Pilot[str]) -> str:
    for _ in range(2):
        tick(app)
        await settle(pilot)
    return on_grid(app.export_screenshot(title="dlperf-tui"))


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


def to_png(svg: str) -> bytes:
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg, monospace_family="DejaVu Sans Mono", font_family="DejaVu Sans Mono"
        )
    )


async def collect(take: Callable[[], Awaitable[dict[str, str]]]) -> dict[str, str]:
    return await take()


def main(names: Sequence[str]) -> int:
    known: dict[str, Callable[[], Awaitable[dict[str, str]]]] = {
        "demo": demo,
        "demo-results": demo_results,
        "smoke": smoke,
        "results-h200": results_h200,
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no screenshot {unknown[0]}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    refused = 0
    for name in names or known:
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            for made, svg in asyncio.run(collect(known[name])).items():
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
