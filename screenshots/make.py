"""Make the screenshots of the documentation: SVG and PNG, from the console itself.

    python screenshots/make.py [NAME …]

The cluster behind them is simulated, and every picture says so. The console is the real one; what
is drawn is what a terminal of that size shows. Text is placed character by character, so that the
columns stand whatever fixed-width font the viewer has.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import resvg_py  # noqa: E402
from rich.cells import cell_len  # noqa: E402
from textual.pilot import Pilot  # noqa: E402

from tests.console.conftest import begin, console, tick  # noqa: E402
from tests.console.fakes import FakeWorkspace  # noqa: E402

CELL = 12.2
"""Width of a character in Textual's SVG."""
FONTS = "Fira Code, DejaVu Sans Mono, Menlo, Consolas, monospace"


@dataclass(frozen=True)
class Shot:
    """Keys to press; a number lets that many seconds go by."""

    name: str
    keys: Sequence[str | float]
    size: tuple[int, int] = (120, 40)
    fails: str = ""


SETTINGS = ("s", "enter", *"/opt/cnns", "enter", "j", "enter", *"/data", "enter", "escape")
EIGHT_NODES = ("c", *"8n8g", "enter")
SHOTS = (
    Shot("hosts", ("1", "j", "j")),
    Shot("matrix", ("2", "n", "tab", "j", "space", *SETTINGS, "shift+tab", *EIGHT_NODES, "l")),
    Shot("runs", ("3", 30.0)),
    Shot("results", ("4", 900.0, "j", "j")),
    Shot("failure", ("3", 150.0, "k"), fails="1n8g"),
    Shot("runs-80x24", ("3", 30.0), (80, 24)),
    Shot("help", ("3", 20.0, "question_mark"), (80, 24)),
)


async def take(shot: Shot) -> str:
    """The SVG of one screen."""
    workspace = FakeWorkspace(Path("campaigns"), simulated=True)
    if shot.fails:
        workspace.fails = {shot.fails: "NCCL error: unhandled system error"}
    async with console(workspace, shot.size) as (app, pilot):
        begin(app, workspace, tags=("1n1g", "1n4g", "1n8g", "2n8g", "4n8g"), repeats=3)
        for key in shot.keys:
            if isinstance(key, str):
                await pilot.press(key)
            else:
                for _ in range(40):
                    workspace.clock.tick(key / 40)
                    tick(app)
            await settle(pilot)
        tick(app)
        await settle(pilot)
        return on_grid(app.export_screenshot(title="dlperf-tui"))


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


def main(names: Sequence[str]) -> int:
    known = {shot.name: shot for shot in SHOTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no screenshot {unknown[0]}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in names or known:
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            svg = asyncio.run(take(known[name]))
            (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")
            (HERE / f"{name}.png").write_bytes(to_png(svg))
            print(f"screenshots/{name}.svg, .png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
