"""What comes from outside is shown as it is: never markup, never a live link, never an escape."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from backends.campaign.plan.selection import Selection
from backends.hosts.host_facts import GpuProcess, HostSnapshot, HostState, Topology
from backends.remote.lease import Lease
from backends.results.render import Column, Table
from profiles.errors import DlperfError
from tests.console.conftest import LARGE, ONEFLOW, begin, console, screen_text, shows, tick, until
from tests.console.fakes import FakeFinding, FakeSummary, FakeWorkspace, facts, v100_hosts
from tui.app import DlperfApp
from tui.clipboard import safe_text
from tui.screens.campaign_list import CampaignList
from tui.screens.dialogs import Choice, Prompt
from tui.screens.export_text import file_text, tables_text
from tui.screens.matrix_page import MatrixPage
from tui.screens.results_page import ResultsPage
from tui.screens.runs_page import RunsPage
from tui.screens.start_dialog import StartDialog
from tui.text import plain
from tui.widgets.keyed_table import KeyedTable

pytestmark = pytest.mark.painted

HOSTILE = [
    "[/nope]",
    "[@click=app.quit]x[/]",
    "[bold red]loud[/bold red]",
    "\x1b]52;c;Zm9v\x07clip",
    "\x1b[2J\x1b[31mred\x9b1m",
    "a\r\nb\tc\x00\x08",
    "\u202eright to left",
    "$(reboot) `id` {0} %s",
]


def unsafe(text: str) -> list[str]:
    return [c for c in text if c != "\n" and not c.isprintable()]


def assert_safe(app: DlperfApp, text: str) -> None:
    shown = screen_text(app)
    assert not unsafe(shown)
    visible = plain(text)[:8].split("…")[0]
    assert visible in shown, f"{visible!r} is not on the screen"


def hostile_hosts(text: str) -> tuple[HostSnapshot, ...]:
    base = facts(busy=(0,), user=text)
    topology = Topology(
        (text, "GPU1"), (("X", text), (text, "X")), (text, ""), (text, ""), {text: text}
    )
    base = replace(
        base,
        os=text,
        kernel=text,
        cpu_model=text,
        python=text,
        driver_version=text,
        cuda_version=text,
        container_runtimes=(text,),
        topology=topology,
        gpus=tuple(replace(gpu, name=text) for gpu in base.gpus),
        gpu_processes=(GpuProcess(0, 1, text, text, 1),),
        lease=Lease(text, 1.0, text, text, by_a_run=False),
    )
    good = v100_hosts()
    return (
        HostSnapshot("node1", text, HostState.BUSY, reason=text, facts=base, slots=8),
        HostSnapshot("node2", text, HostState.UNREACHABLE, reason=text),
        *good[2:],
    )


@pytest.mark.parametrize("text", HOSTILE)
async def test_hosts(workspace: FakeWorkspace, text: str) -> None:
    workspace = FakeWorkspace(
        workspace.campaigns_dir, hosts=hostile_hosts(text), login_host=f"x{text}"
    )
    async with console(workspace, LARGE) as (app, pilot):
        assert_safe(app, text)
        await pilot.press("j")
        await pilot.pause()
        assert_safe(app, text)


@pytest.mark.parametrize("text", HOSTILE)
async def test_runs_log_failure_notes_and_questions(workspace: FakeWorkspace, text: str) -> None:
    workspace.fails = {"1n1g": text}
    workspace.log_line = f"{text}\n"
    async with console(workspace, LARGE) as (app, pilot):
        controller = begin(app, workspace)
        controller.note(f"note {text}")
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunsPage))
        workspace.clock.tick(10)
        tick(app)
        await pilot.pause()
        assert_safe(app, text)
        workspace.clock.tick(15)
        tick(app)
        await pilot.pause()
        assert_safe(app, text)
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("escape", "N")
        await pilot.pause()
        assert_safe(app, text)


@pytest.mark.parametrize("text", HOSTILE)
async def test_matrix_findings_and_problems(workspace: FakeWorkspace, text: str) -> None:
    workspace.findings = (FakeFinding("stop", f"no {text}", text, text),)
    workspace.start_error = DlperfError(f"no {text}", where=text, remedy=text)
    async with console(workspace, LARGE) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, MatrixPage))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, StartDialog))
        await until(pilot, partial(shows, app, "stop"))
        assert_safe(app, text)
        await pilot.press("F")
        await pilot.pause(0.05)
        assert_safe(app, text)
        await pilot.press("escape")
        app.show_problem(DlperfError(f"no {text}", where=text, remedy=text))
        await pilot.pause()
        assert_safe(app, text)


@pytest.mark.parametrize("text", HOSTILE)
async def test_campaigns_results_and_repeats(workspace: FakeWorkspace, text: str) -> None:
    workspace.fails = {"1n8g": text}
    await workspace.probe()
    plan = workspace.plan(Selection(("oneflow-resnet50",), ("1n1g", "1n8g"), ONEFLOW, 1))
    controller = workspace.controller(plan, "safe")
    workspace.summaries.append(FakeSummary(text, controller.path, text, 1, 2))
    workspace.probed.clear()
    async with console(workspace, LARGE) as (app, pilot):
        app.session.controller = controller
        await pilot.press("4")
        await until(pilot, lambda: isinstance(app.screen, ResultsPage))
        for _ in range(4):
            workspace.clock.tick(30)
            tick(app)
        await pilot.pause()
        app.screen.query_one(KeyedTable).select(
            "oneflow-resnet50/1n8g/batch_size=128,precision=fp32"
        )
        await pilot.press("enter")
        await pilot.pause(0.05)
        assert_safe(app, text)
        await pilot.press("escape", "O")
        await until(pilot, lambda: isinstance(app.screen, CampaignList))
        await pilot.pause(0.05)
        assert_safe(app, text)


@pytest.mark.parametrize("text", HOSTILE)
async def test_dialogs(workspace: FakeWorkspace, text: str) -> None:
    async with console(workspace, LARGE) as (app, pilot):
        app.push_screen(Prompt(text, text, value=text, placeholder=text))
        await pilot.pause()
        assert plain(text)[:4] in screen_text(app)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_copied_or_shown_of_a_file_does_nothing(text: str) -> None:
    both = f"| a {text} |\n{text}"
    assert not unsafe(safe_text(both))
    assert not any(unsafe(line.plain) for line in file_text(both))
    table = Table(text, (Column(text),), ((text,), (text,)), text, (text,))
    assert not any(unsafe(line.plain) for line in tables_text([table]))
