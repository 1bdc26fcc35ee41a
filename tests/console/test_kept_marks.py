"""What was marked on Matrix is marked again in the next console on the same inventory."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from tests.console.conftest import console, settled, shows, until
from tests.console.fakes import FakeWorkspace, v100_hosts
from tests.console.test_matrix import open_matrix
from tui import kept_marks
from tui.app import DlperfApp
from tui.hosts_now import HostsNow
from tui.matrix_request import Asked
from tui.screens.matrix_page import KEPT, MatrixPage
from tui.session import Session


def new_asked(directory: Path) -> Asked:
    session = Session(FakeWorkspace(directory))
    return Asked(session, HostsNow(session, spare_ours=True))


VALUES = {"batch_size": ["16", "32", "64", "128"]}


@given(
    st.lists(st.sampled_from(["1n1g", "1n2g", "2n8g", "4n8g", "3n1g"]), max_size=4, unique=True),
    st.lists(st.sampled_from(VALUES["batch_size"]), min_size=1, max_size=3, unique=True),
    st.sets(st.sampled_from([64, 128]), max_size=2),
    st.one_of(st.none(), st.integers(1, 9)),
    st.tuples(*[st.booleans()] * 4),
    st.sampled_from(["", "node2", "node1,node3"]),
)
def test_what_is_asked_for_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    tags: list[str],
    sizes: list[str],
    totals: set[int],
    repeats: int | None,
    switches: tuple[bool, ...],
    hosts: str,
) -> None:
    directory = tmp_path_factory.mktemp("state")
    before, after = new_asked(directory), new_asked(directory)
    part = before.marks("cpu-smoke").with_values("batch_size", sizes)
    part = part.with_scaling(weak=True, totals=totals)
    for tag in tags:
        part = part.with_case(tag)
    part = part.with_wanted(part.wanted)  # a wish for a column that is not shown is none
    before.put(part)
    before.repeats, before.hosts = repeats, hosts
    before.auto, before.explain, before.pack, before.linked = switches
    file = directory / "deep" / "marks.json"
    assert kept_marks.keep(file, "hosts.toml", kept_marks.document(before))
    assert kept_marks.restore(file, "hosts.toml", after) == bool(part.wanted)
    assert kept_marks.document(after) == kept_marks.document(before)
    assert after.begun == bool(part.wanted)
    other = new_asked(directory)
    assert not kept_marks.restore(file, "another.toml", other)
    assert kept_marks.document(other) == kept_marks.document(new_asked(directory))


FIELDS = ["tags", "shown", "weak", "totals", "settings", "wanted", "profiles", "rule", "repeats"]
FIELDS += ["hosts", "auto", "cpu-smoke", "batch_size", "gone"]
ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just("1n1g")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(FIELDS), inner, max_size=9),
    ),
    max_leaves=20,
)


@given(ANY_JSON, ANY_JSON)
def test_a_file_that_somebody_else_wrote_breaks_nothing(
    tmp_path_factory: pytest.TempPathFactory, told: Any, inside: Any
) -> None:
    """What it says of a profile counts or not, and something can be started either way."""
    directory = tmp_path_factory.mktemp("state")
    file = directory / "marks.json"
    profiles = {
        "cpu-smoke": {"tags": ["1n1g"], "shown": {}, "totals": [], "weak": True} | told
        if isinstance(told, dict)
        else told
    }
    for document in (told, {"": told}, {"": {"profiles": profiles, "rule": "1%", "hosts": inside}}):
        file.write_text(json.dumps(document))
        asked = new_asked(directory)
        kept_marks.restore(file, "", asked)
        asked.begin(["cpu-smoke"])
        asked.make_plan()
        kept_marks.document(asked)


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', "[" * 5000, '{"": {"profiles": 3}}'])
def test_a_file_that_is_none_is_as_if_nothing_had_been_marked(tmp_path: Path, text: str) -> None:
    file = tmp_path / "marks.json"
    file.write_text(text)
    assert not kept_marks.restore(file, "", new_asked(tmp_path))
    assert not kept_marks.restore(tmp_path / "none", "", new_asked(tmp_path))
    assert kept_marks.keep(file, "", kept_marks.document(new_asked(tmp_path)))


def test_only_the_newest_inventories_are_kept_and_what_cannot_be_written_is_left(
    tmp_path: Path,
) -> None:
    file = tmp_path / "marks.json"
    for number in range(kept_marks.MOST_INVENTORIES + 5):
        assert kept_marks.keep(file, f"{number}.toml", {})
    kept = json.loads(file.read_text())
    assert [*kept] == [f"{n}.toml" for n in range(5, kept_marks.MOST_INVENTORIES + 5)]
    (tmp_path / "no").write_text("")
    assert not kept_marks.keep(tmp_path / "no" / "marks.json", "", {})


async def marked(app: DlperfApp, pilot: Pilot[str]) -> dict[str, Any]:
    await open_matrix(app, pilot)
    await settled(app)
    page = app.screen
    assert isinstance(page, MatrixPage)
    return kept_marks.document(page._asked)


async def test_the_next_console_begins_with_the_marks_of_the_last_and_says_so(
    tmp_path: Path,
) -> None:
    """Only an operator's marks: what is marked by itself is found anew."""
    file = tmp_path / "marks.json"
    for _ in range(2):
        async with console(FakeWorkspace(tmp_path), marks_file=file) as (app, pilot):
            by_itself = await marked(app, pilot)
            assert not shows(app, KEPT)
    assert not file.exists()
    async with console(FakeWorkspace(tmp_path), marks_file=file) as (app, pilot):
        await marked(app, pilot)
        await pilot.press("space", "plus")
        left = await marked(app, pilot)
        assert left != by_itself
    async with console(FakeWorkspace(tmp_path), marks_file=file) as (app, pilot):
        await open_matrix(app, pilot)
        await until(pilot, partial(shows, app, KEPT))
        assert await marked(app, pilot) == left
        await pilot.press("n")
        await until(pilot, partial(shows, app, "nothing marked"))
    async with console(FakeWorkspace(tmp_path), marks_file=file) as (app, pilot):
        assert (await marked(app, pilot))["profiles"] == by_itself["profiles"]


@pytest.mark.parametrize("why", ["simulated", "readonly"])
async def test_a_demo_and_a_console_that_only_looks_keep_nothing(tmp_path: Path, why: str) -> None:
    file = tmp_path / "marks.json"
    workspace = FakeWorkspace(tmp_path, hosts=v100_hosts(), simulated=why == "simulated")
    readonly = why == "readonly"
    async with console(workspace, marks_file=file, readonly=readonly) as (app, pilot):
        before = await marked(app, pilot)
        await pilot.press("space", "plus")
        assert await marked(app, pilot) != before
    assert not file.exists()
