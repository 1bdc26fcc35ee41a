"""The HTML report in a real browser: it is drawn at any width, and nothing is asked of anybody."""

from __future__ import annotations

import shutil
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import matplotlib.image
import pytest

from backends.results.html_report import html_report
from tui.cli import main

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "h200-x2-auto"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
BLUE = (0x1F / 255, 0x77 / 255, 0xB4 / 255)
"""Of the figures' bars."""

pytestmark = [
    pytest.mark.optional,
    pytest.mark.skipif(not BROWSER, reason="no chromium is installed"),
]


class Proxy(socketserver.ThreadingTCPServer):
    """Every request of the browser comes here, and gets nothing."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    server: Proxy

    def handle(self) -> None:
        line = self.rfile.readline().decode("latin-1")
        if not line:  # connected ahead, for a request that never came
            return
        self.server.asked.append(line)
        self.wfile.write(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n")


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def browse(page: Path, proxy: Proxy, home: Path, *options: str) -> str:
    """What the browser says of the page, all its requests going through the proxy."""
    return subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--no-first-run", "--disable-background-networking", f"--user-data-dir={home}"),
            f"--proxy-server=http://127.0.0.1:{proxy.server_address[1]}",
            *options,
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


@pytest.mark.parametrize("width", [420, 1200])
def test_its_figures_are_drawn_at_any_width(tmp_path: Path, proxy: Proxy, width: int):
    page, picture = tmp_path / "r.html", tmp_path / "r.png"
    assert main(["report", str(EXAMPLE), "--format", "html", "-o", str(page)]) == 0
    browse(page, proxy, tmp_path, f"--screenshot={picture}", f"--window-size={width},2600")
    pixels = matplotlib.image.imread(picture)[..., :3]
    assert pixels.shape[1] == width
    assert (abs(pixels - BLUE).max(axis=-1) < 0.02).sum() > 2000
    asked_by_itself = ("google", "gvt1")
    assert not [line for line in proxy.asked if not any(map(line.__contains__, asked_by_itself))]


def test_a_hostile_page_asks_for_nothing_and_runs_nothing(tmp_path: Path, proxy: Proxy):
    page = tmp_path / "r.html"
    hostile = (
        "# <script>document.title='run'</script>\n\n![a](http://image.invalid/a.png) "
        "[b](http://link.invalid) <img src=http://tag.invalid/x onerror=\"document.title='run'\">"
    )
    page.write_text(html_report("quiet", hostile, {"x": "<svg/>"}))
    drawn = browse(page, proxy, tmp_path, "--dump-dom")
    assert "<title>quiet</title>" in drawn
    assert not [line for line in proxy.asked if ".invalid" in line]
    # Put the fault back: markup in the page, behind its policy, and then without that.
    bad = page.read_text().replace("<main>", "<main><img src='http://tag.invalid/x'>")
    page.write_text(bad + "<script>document.title='run'</script>")
    assert "<title>quiet</title>" in browse(page, proxy, tmp_path, "--dump-dom")
    assert not [line for line in proxy.asked if ".invalid" in line]
    page.write_text(page.read_text().replace("Content-Security-Policy", "x"))
    assert "<title>run</title>" in browse(page, proxy, tmp_path, "--dump-dom")
    assert [line for line in proxy.asked if "tag.invalid" in line]
