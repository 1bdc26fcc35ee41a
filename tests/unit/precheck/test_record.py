"""precheck.json: written, read back as the same, and refused where it is something else."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.file_modes import Share
from backends.inventory.nodesets import ranked_nodeset
from backends.precheck.figures import Figure, Stage, Trouble, said_in
from backends.precheck.past import Past
from backends.precheck.ranking import Measured, rank
from backends.precheck.record import (
    FILE_NAME,
    Precheck,
    PrecheckError,
    document,
    figures_before,
    new_directory,
    prechecks,
    read_precheck,
    to_text,
)

FIGURES = (
    *(
        Figure("cpu_one", v, "MB/s", (h,), (), "x")
        for h, v in zip("abcd", (9, 9, 9, 4), strict=True)
    ),
    Figure("gemm", 777.0, "TFLOP/s", ("a",), (0,), "H200", {"size": 8192, "dtype": "bf16"}),
    Figure("exchange", 1.0, "GB/s", ("a", "b"), (), "tcp"),
)


def a_precheck(path: Path) -> Precheck:
    troubles = (Trouble(Stage.PAIRS, ("b", "c"), "timed out", kind="tcp", log="logs/x.log"),)
    what = Measured(tuple("abcd"), FIGURES, troubles, {"e": "held by alice"})
    ranking = rank(what, Past())
    return Precheck(
        "2026-11-22-010203", path, 1000.5, 61.0, what, ranking, ("by tcp",), left=("x",)
    )


def test_what_is_written_is_read_back_as_the_same(tmp_path: Path):
    precheck = a_precheck(tmp_path)
    (tmp_path / FILE_NAME).write_text(to_text(precheck))
    assert read_precheck(tmp_path) == precheck


def test_the_document_has_the_keys_that_are_documented(tmp_path: Path):
    told = json.loads(to_text(a_precheck(tmp_path)))
    page = (Path(__file__).parents[3] / "docs" / "precheck.md").read_text()
    rows = page.partition("| `schema`, `version` |")[2].partition("\n\n")[0].splitlines()
    listed = [key for row in rows[1:] for key in re.findall(r"`(\w+)`", row.split("|")[1])]
    for key in told:
        assert key in ("schema", "version", *listed), f"docs/precheck.md does not tell of {key}"
    ranked, figure = told["ranking"][0], told["figures"][0]
    for key in (*ranked, *ranked["reasons"][0], *figure, *told["troubles"][0]):
        assert f"`{key}`" in page, f"docs/precheck.md does not tell of {key}"
    assert told == json.loads(json.dumps(document(a_precheck(tmp_path))))


def test_who_is_kept_is_who_is_proposed_where_nobody_is_well(tmp_path: Path):
    precheck = a_precheck(tmp_path)
    busy = dict.fromkeys("abcd", "load 15.8 on 2 CPUs")
    ranking = rank(replace(precheck.measured, busy=busy), Past())
    told = document(replace(precheck, ranking=ranking))
    assert told["exclude"]
    assert not ranking.keep
    assert told["keep"] == ranked_nodeset(ranking.proposed) != ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": 2}',
        '{"schema": 1, "hosts": 3}',
        "[" * 100_000,
        '{"schema": 1, "hosts": ["a"], "figures": [{"metric": 1}]}',
    ],
)
def test_what_is_no_precheck_is_one_clear_line(tmp_path: Path, text: str):
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(PrecheckError, match="not a precheck"):
        read_precheck(tmp_path)


def test_neither_a_link_nor_a_pipe_is_followed(tmp_path: Path):
    os.mkfifo(tmp_path / FILE_NAME)
    with pytest.raises(PrecheckError):
        read_precheck(tmp_path)
    (tmp_path / FILE_NAME).unlink()
    (tmp_path / "elsewhere").write_text(to_text(a_precheck(tmp_path)))
    (tmp_path / FILE_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PrecheckError, match="cannot be read"):
        read_precheck(tmp_path)


def test_a_past_is_made_of_the_earlier_ones_of_the_same_hosts(tmp_path: Path):
    for number in range(4):
        directory = new_directory(tmp_path, 1e9 + number, Share.PRIVATE)
        precheck = replace(a_precheck(directory), name=directory.name, finished=number != 1)
        (directory / FILE_NAME).write_text(to_text(precheck))
    broken = new_directory(tmp_path, 1e9 + 9, Share.PRIVATE)
    (broken / FILE_NAME).write_text("{")
    kept = list(prechecks(tmp_path))
    assert [one.name for one in kept] == sorted((one.name for one in kept), reverse=True)
    before = figures_before(tmp_path, ("a",), but=kept[0].path)
    assert len(before) == 2  # neither itself nor the one that was stopped
    assert {figure.hosts for figure in before[0]} == {("a",), ("a", "b")}


@given(st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=6)))
def test_what_the_same_had_before_is_found_newest_first(before: list[list[tuple[str, int]]]):
    figures = [
        [Figure("copy", 100.0 * at + n, "GB/s", (host,), (gpu,), "H") for n, (host, gpu) in told]
        for at, told in ((at, list(enumerate(told))) for at, told in enumerate(before))
    ]
    past = Past(figures)
    for host, gpu in (("a", 0), ("b", 2)):
        asked = Figure("copy", 1.0, "GB/s", (host,), (gpu,), "H")
        same = [f.value for some in figures for f in some if f.subject == asked.subject]
        assert list(past.values_of(asked)) == same
        assert list(past.values_of(replace(asked, kind="another"))) == []


def test_a_past_of_many_prechecks_is_looked_through_once():
    """8 hosts of 8 GPUs each among which every link was measured, 50 times."""
    subjects = [((f"node{n}",), (a, b)) for n in range(8) for a in range(8) for b in range(8)]
    figures = [Figure("peer", 1.0, "GB/s", hosts, devices, "H") for hosts, devices in subjects]
    past = Past([figures] * 50)
    began = time.process_time()
    assert all(len(past.values_of(figure)) == 50 for figure in figures)
    assert time.process_time() - began < 2  # each for each it is 13 million comparisons


def test_two_of_the_same_second_have_a_directory_each(tmp_path: Path):
    first, second = (new_directory(tmp_path, 1e9, Share.PRIVATE) for _ in range(2))
    assert first != second
    assert first.stat().st_mode & 0o777 == 0o700


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_whatever_a_host_says_beside_a_figure_the_file_is_json(said: dict[str, object]):
    told = {**said, "metric": "cpu_one", "value": 1.0}
    found = tuple(said_in(f"precheck: {json.dumps(told)}\n".encode(), ("a",), "x"))
    what = Measured(("a",), found, (), {})
    text = to_text(Precheck("x", Path("/x"), 1.0, 1.0, what, rank(what, Past())))

    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads(text, parse_constant=refuse)
    assert found or {"device", "to", "from"} & said.keys()
