"""What two campaigns were started from: whatever differs in it is told, and nothing else is."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.compare_campaigns import made_of
from backends.inventory.host_entry import Inventory
from backends.results.comparison_report import what_differs
from backends.results.recipes import (
    FEW,
    Recipe,
    recipe_words,
    recipes_apart,
    recorded_alone,
    recorded_alone_words,
)
from backends.results.summary import summarise
from backends.use_cases import Workspace
from tests.unit.results.conftest import Dlperf
from tui.screens.compare_text import below_rows, labels_of
from tui.side_by_side import Side, held_against

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
EXAMPLE = EXAMPLES / "h200-x4-resnet50-tf32"
PROFILE = "torch-resnet50"

names = st.text("abcxyz_.", min_size=1, max_size=6)
values = st.text("01", max_size=2)
kinds = st.sampled_from(["file", "profile", "setting"])
parts = st.dictionaries(st.tuples(kinds, names), st.text("01", max_size=2), max_size=5)
recipes = st.builds(
    Recipe,
    st.dictionaries(st.sampled_from(["p", "q"]), parts),
    st.dictionaries(names, st.text("01", max_size=2), max_size=3),
)


@given(recipes, recipes)
def test_every_difference_is_told_once_and_from_both_sides(ours: Recipe, theirs: Recipe) -> None:
    found = recipes_apart(ours, theirs, ["p", "q"])
    assert recipes_apart(ours, ours, ["p", "q"]) == ()
    expected = {
        ("", "variable", name)
        for name in {*ours.variables, *theirs.variables}
        if ours.variables.get(name) != theirs.variables.get(name)
    }
    for profile in {*ours.profiles} & {*theirs.profiles}:
        one, other = ours.profiles[profile], theirs.profiles[profile]
        expected |= {(profile, *key) for key in {*one, *other} if one.get(key) != other.get(key)}
    assert [(u.profile, u.kind, u.name) for u in found] == sorted(
        expected, key=lambda key: (["p", "q", ""].index(key[0]), key[1:])
    )
    back = recipes_apart(theirs, ours, ["p", "q"])
    assert [(u.name, u.candidate, u.baseline) for u in back] == [
        (u.name, u.baseline, u.candidate) for u in found
    ]
    said = " ".join(recipe_words(found))
    assert all(unlike.name in said for unlike in found)
    assert bool(said) == bool(found)


@given(recipes)
def test_nothing_is_told_of_a_side_that_is_not_known_or_of_another_profile(known: Recipe) -> None:
    assert recipes_apart(known, None, ["p"]) == recipes_apart(None, known, ["p"]) == ()
    assert not [u for u in recipes_apart(known, Recipe({}, {}), ["p", "q"]) if u.profile]
    assert recipes_apart(known, Recipe({}, known.variables), []) == ()


seen = st.none() | st.dictionaries(st.text("ABC_", min_size=1, max_size=3), values, max_size=6)


@given(seen, seen, st.dictionaries(st.sampled_from("ABC"), values))
def test_variables_that_one_side_alone_recorded_are_told_of_that_side(
    ours: dict[str, str] | None, theirs: dict[str, str] | None, here: dict[str, str]
) -> None:
    """A few by name, of the others how many; never where both sides recorded them or none did."""
    sides = [Recipe({}, here, None if own is None else {**own, **here}) for own in (ours, theirs)]
    found = recorded_alone(*sides)
    known = ours if theirs is None else theirs
    own = {name: value for name, value in sorted((known or {}).items()) if name not in here}
    if (ours is None) == (theirs is None) or not own:
        assert not found
        assert recorded_alone_words(found) == []
        return
    (said,) = recorded_alone_words(found)
    assert f"of the {'candidate' if ours is None else 'baseline'} alone: " in said
    told = said.partition(" alone: ")[2].removesuffix(".")
    named, _, more = told.partition(" and ")
    pairs = named.split(", ")
    assert pairs == [f"{name}={value}" for name, value in own.items()][: len(pairs)]
    assert len(pairs) + int(more.removesuffix(" more") or 0) == len(own)
    assert len(pairs) <= FEW


def test_a_secret_is_told_to_differ_and_not_shown() -> None:
    ours, theirs = (Recipe({}, {"HF_TOKEN": value}) for value in ("hf_first", "hf_second"))
    (unlike,) = recipes_apart(ours, theirs, [])
    (line,) = recipe_words([unlike])
    assert "HF_TOKEN is *** in the baseline, *** in the candidate" in line
    assert "hf_" not in f"{line}{unlike}"


class Copy:
    """A campaign with something else in what it froze, whole by all digests."""

    def __init__(self, path: Path) -> None:
        self.path = shutil.copytree(EXAMPLE, path)
        self.manifest: Any = json.loads((path / "frozen/manifest.json").read_text())

    @property
    def profile(self) -> dict[str, Any]:
        (profile,) = self.manifest["profiles"]
        return profile

    def text(self, old: str, new: str) -> None:
        path = self.path / "frozen/profiles/torch-resnet50.toml"
        text = path.read_text()
        assert old in text
        data = text.replace(old, new).encode()
        path.write_bytes(data)
        self.profile["sha256"] = hashlib.sha256(data).hexdigest()

    def found(self, **variables: str) -> None:
        """What the only host has by itself."""
        path = self.path / "environment.json"
        document = json.loads(path.read_text())
        document["hosts"][0]["variables"] = variables
        path.write_text(json.dumps(document))

    def write(self) -> Path:
        data = json.dumps(self.manifest).encode()
        (self.path / "frozen/manifest.json").write_bytes(data)
        journal = self.path / "events.jsonl"
        text = journal.read_text()
        before = json.loads(text.partition("\n")[0])["frozen"]
        journal.write_text(text.replace(before, hashlib.sha256(data).hexdigest(), 1))
        return self.path


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path / "other")


def unlike(dlperf: Dlperf, other: Path) -> list[dict[str, Any]]:
    document = json.loads(dlperf("compare", EXAMPLE, other, "--json"))
    return list(document["unlike"])


def test_another_version_of_a_script_is_said(copy: Copy, dlperf: Dlperf) -> None:
    copy.profile["stage"][0]["digest"] = "0123456789abcdef0123456789abcdef"
    said = dlperf("compare", EXAMPLE, copy.write())
    assert f"{PROFILE} was not run alike: other versions of torch_resnet50.py." in said
    assert "other variables" not in said
    (found,) = unlike(dlperf, copy.path)
    assert (found["kind"], found["name"]) == ("file", "torch_resnet50.py")
    assert found["candidate"] == "0123456789abcdef0123456789abcdef"


def test_another_setting_and_another_command_are_said(copy: Copy, dlperf: Dlperf) -> None:
    copy.profile["settings"]["iterations"] = "100"
    copy.text("--image-size {image_size}", "--image-size {image_size} --channels-last")
    said = dlperf("compare", EXAMPLE, copy.write())
    assert (
        f"{PROFILE} was not run alike: the profile says something else in launch.command; "
        "iterations is 72 in the baseline, 100 in the candidate."
    ) in said
    section = "the profile says something else in launch.command"
    changed = f"{PROFILE}: {section}, iterations 72 → 100"
    told = dlperf("history", EXAMPLE, copy.path)
    assert "the last with other scripts or settings" in told
    assert told.count(changed) == 1


def test_a_variable_of_the_hosts_is_said(copy: Copy, dlperf: Dlperf) -> None:
    copy.manifest["hosts"][0]["environment"] = ["NCCL_NVLS_ENABLE=1", "NCCL_DEBUG="]
    said = dlperf("compare", EXAMPLE, copy.write())
    assert (
        "Other variables are set on the hosts: NCCL_DEBUG is not set in the baseline, empty in the"
        in said
    )
    assert "NCCL_NVLS_ENABLE is 0 in the baseline, 1 in the candidate" in said
    assert "not run alike" not in said


def test_a_variable_that_a_host_has_by_itself_counts_as_one_of_the_inventory(
    copy: Copy, dlperf: Dlperf, tmp_path: Path
) -> None:
    """Where both campaigns recorded them: of one that did not, nothing is known."""
    recorded = Copy(tmp_path / "recorded")
    recorded.found(NCCL_ALGO="Ring", OMP_NUM_THREADS="1")
    ours = recorded.write()
    copy.manifest["hosts"][0]["environment"].append("NCCL_ALGO=Ring")
    other = copy.write()
    alone = (
        "Variables that hosts have by themselves are recorded of the {} alone: OMP_NUM_THREADS=1."
    )
    assert alone.format("baseline") in dlperf("compare", ours, other)
    assert alone.format("candidate") in dlperf("compare", other, ours)
    assert json.loads(dlperf("compare", ours, other, "--json"))["unlike"] == []
    assert "by themselves" not in dlperf("compare", EXAMPLE, other)
    copy.found(OMP_NUM_THREADS="8")
    found = json.loads(dlperf("compare", ours, other, "--json"))["unlike"]
    assert [(one["name"], one["baseline"], one["candidate"]) for one in found] == [
        ("OMP_NUM_THREADS", "1", "8")
    ]


def test_a_host_that_ran_nothing_is_not_held_against_anything(copy: Copy, dlperf: Dlperf) -> None:
    idle = {**copy.manifest["hosts"][0], "name": "idle", "environment": ["NCCL_DEBUG=INFO"]}
    copy.manifest["hosts"].append(idle)
    assert unlike(dlperf, copy.write()) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# as torchrun sets it for several", ""),
        ('description = "images per device and step"', 'description = "images"'),
        ('expected = "1m"', 'expected = "2m"'),
        ("repeats = 7", "repeats = 3"),
        ("\n--image-size", " --image-size"),
    ],
)
def test_what_changes_neither_a_run_nor_its_figure_is_not_said(
    copy: Copy, dlperf: Dlperf, old: str, new: str
) -> None:
    copy.text(old, new)
    assert unlike(dlperf, copy.write()) == []


@pytest.mark.parametrize("bad", ["frozen/manifest.json", "frozen/profiles/torch-resnet50.toml"])
def test_what_is_frozen_no_more_as_it_was_is_no_witness(
    copy: Copy, dlperf: Dlperf, bad: str
) -> None:
    copy.profile["settings"]["iterations"] = "100"
    path = copy.write() / bad
    path.write_text(path.read_text() + "\n")
    assert unlike(dlperf, copy.path) == []
    path.unlink()
    assert unlike(dlperf, copy.path) == []
    lacking = "What the runs of the candidate were started from is not recorded"
    document = json.loads(dlperf("compare", EXAMPLE, copy.path, "--json"))
    assert any(lacking in note for note in document["notes"])
    assert lacking in dlperf("compare", EXAMPLE, copy.path)
    assert "is not recorded" not in dlperf("compare", EXAMPLE, EXAMPLE)


def test_what_else_may_show_is_named_where_a_comparison_begins(copy: Copy) -> None:
    copy.profile["settings"]["iterations"] = "100"
    workspace = Workspace(Inventory(()), None, EXAMPLES)
    found = workspace.compare(EXAMPLE, copy.write(), 0.02)
    assert what_differs(found) == ("scripts or settings",)
    assert what_differs(workspace.compare(EXAMPLE, EXAMPLE, 0.02)) == ()
    others = held_against(
        tuple(
            Side(path, runs, summarise(runs), "", (), recipe=made_of(path, runs))  # type: ignore[arg-type]
            for path in (EXAMPLE, copy.path)
            for runs in (workspace.runs_together([path])[0][0],)
        ),
        0,
        0.02,
    )
    assert (
        "▲ other scripts or settings: see the panel Campaigns"
        in below_rows(others, labels_of(others)).plain
    )
