"""From what was asked to runs, files and names on disk."""

from __future__ import annotations

import json
import tempfile
import tomllib
from dataclasses import replace
from itertools import product
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder.artifacts import report_context, rewrite_results
from backends.campaign.folder.create import CannotCreateError, open_campaign, planned_runs
from backends.campaign.folder.export_report import Export, exported
from backends.campaign.folder.paths import (
    campaign_name,
    create_directory,
    diagnosis_path,
    host_log_path,
    name_of,
    telemetry_path,
)
from backends.campaign.folder.reader import read_campaign
from backends.campaign.plan.campaign_request import Request, read_request, write_request
from backends.campaign.plan.plan import Plan
from backends.campaign.plan.planner import make_plan
from backends.campaign.plan.remarks import plan_remarks
from backends.campaign.plan.selection import Selection
from backends.campaign.record.state import fold
from backends.campaign.record.status_view import take
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.hosts.preflight_finding import InSpiteOf
from backends.inventory.host_entry import Host
from profiles.errors import SelectionError
from profiles.format.case import Case
from profiles.format.catalog import Catalog
from profiles.logs.own_log_names import log_path, safe_name
from tui.cli import main

SMOKE = Catalog.load().get("cpu-smoke")
EXPLAINED = ("rank", "step", "compute", "communication", "input")
PROFILE = """
name = "tiny"
framework = "Frame/../work"
model = "Möbius Net"
source = "a test"
[parameters.batch_size]
choices = [16, 32]
default = 16
[parameters.width]
choices = [1, 2]
default = 1
[settings.seconds]
description = "how long"
default = "3"
[settings.data]
description = "where the data lies"
[matrix]
cases = ["1n1g", "2n1g"]
repeats = 3
[launch]
launcher = "per_node"
command = "true {data}"
expected = "10s"
settle = "5s"
[measure]
reading = '(?P<value>\\d+)'
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    directory = tmp_path / "profiles"
    directory.mkdir()
    (directory / "tiny.toml").write_text(PROFILE)
    other = PROFILE.replace('"tiny"', '"other"').replace("[parameters.width]", "[parameters.depth]")
    (directory / "other.toml").write_text(other)
    return Catalog.load([directory], None)


def hosts(count: int) -> list[Host]:
    return [Host(f"node{n}", slots=2) for n in range(1, count + 1)]


def chosen(**values: object) -> Selection:
    settings = {"data": ("/data,with,commas",)}
    return Selection(profiles=("tiny",), **{"values": settings, **values})  # type: ignore[arg-type]


def test_repeats_go_round_robin_over_the_cases(catalog: Catalog) -> None:
    plan = make_plan(chosen(), catalog, hosts(2), ())
    assert [(repeat, planned.case.tag) for repeat, planned in plan.rounds()] == [
        (1, "1n1g"),
        (1, "2n1g"),
        (2, "1n1g"),
        (2, "2n1g"),
        (3, "1n1g"),
        (3, "2n1g"),
    ]
    assert plan.run_count == 6


def test_more_runs_than_a_campaign_takes_are_refused(tmp_path: Path) -> None:
    text = PROFILE.replace("choices = [16, 32]", "choices = [16, 32]\nfree = true")
    (tmp_path / "tiny.toml").write_text(text)
    wide = Catalog.load([tmp_path], None)
    values = {"data": ("/d",), "batch_size": tuple(map(str, range(1, 52)))}
    with pytest.raises(SelectionError, match="102,000 runs are more than one campaign takes"):
        make_plan(chosen(values=values, repeats=1000), wide, hosts(2), ())
    assert make_plan(chosen(values=values, repeats=900), wide, hosts(2), ()).run_count == 91_800


def test_what_the_hosts_cannot_do_is_refused_with_the_reason(catalog: Catalog) -> None:
    away = HostSnapshot("node2", "", HostState.UNREACHABLE, reason="connection refused")
    plan = make_plan(chosen(), catalog, hosts(2), (away,))
    assert [planned.case.tag for planned in plan.cases] == ["1n1g"]
    [refused] = plan.refused
    assert refused.infeasible == "needs 2 hosts, there is 1 (node2: connection refused)"


def test_the_estimate_fills_the_hosts_side_by_side(catalog: Catalog) -> None:
    plan = make_plan(chosen(), catalog, hosts(2), ())
    assert plan.expected_s == pytest.approx(3 * 15 + 15 + 10)  # two of 1n1g side by side


def test_several_profiles_take_the_values_that_they_know(catalog: Catalog) -> None:
    selection = Selection(
        profiles=("tiny", "other", "tiny"),
        values={"data": ("/d",), "width": ("2",), "depth": ("1", "2")},
        cases=("1n1g",),
    )
    plan = make_plan(selection, catalog, hosts(1), ())
    assert [(p.profile.name, p.case.text("width") or p.case.text("depth")) for p in plan.cases] == [
        ("tiny", "2"),
        ("other", "1"),
        ("other", "2"),
    ]


def test_a_value_that_no_profile_knows_is_an_error(catalog: Catalog) -> None:
    selection = Selection(profiles=("tiny", "other"), values={"wdith": ("2",)})
    with pytest.raises(SelectionError, match="wdith"):
        make_plan(selection, catalog, hosts(1), ())


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(profiles=()), "no profile was chosen"),
        (chosen(repeats=0), "repeats must be 1 "),
        (chosen(attempts=0), "attempts must be 1 or more"),
        (chosen(cases=("1x1g",)), "1x1g"),
        (chosen(values={}), "tiny needs data"),
        (chosen(picked=("tiny/9n9g/width=1",)), "tiny/9n9g"),
        (chosen(picked=("tiny",)), "'tiny' is not the key of a case"),
        (chosen(picked=("tiny/two/width=1",)), "two"),
    ],
)
def test_a_wrong_selection_says_what_is_wrong(
    catalog: Catalog, selection: Selection, message: str
) -> None:
    with pytest.raises(SelectionError, match=message):
        make_plan(selection, catalog, hosts(2), ())


def test_exact_cases_of_the_matrix_win_over_tags(catalog: Catalog) -> None:
    every = make_plan(
        chosen(values={"data": ("d",), "batch_size": ("16", "32")}), catalog, hosts(2), ()
    )
    one = every.cases[1]
    selection = chosen(
        values={"data": ("d",), "batch_size": ("16", "32")}, picked=(one.case.key,), cases=("2n1g",)
    )
    assert [planned.case for planned in make_plan(selection, catalog, hosts(2), ()).cases] == [
        one.case
    ]


def test_marks_of_profiles_with_different_choices_make_one_plan(
    tmp_path: Path, catalog: Catalog
) -> None:
    """What one profile is asked for is no mistake in another, weak scaling beside strong."""
    other = PROFILE.replace('"tiny"', '"other"').replace("[16, 32]", "[24, 48]")
    (tmp_path / "profiles" / "other.toml").write_text(other.replace("default = 16", "default = 24"))
    catalog = Catalog.load([tmp_path / "profiles"], None)
    keys = (
        "tiny/1n1g/batch_size=32,width=1",
        "other/1n1g/batch_size=48,global_batch=48,width=1",
        "other/2n1g/batch_size=24,global_batch=48,width=1",
    )
    selection = Selection(
        profiles=("tiny", "other"),
        cases=("1n1g", "2n1g"),
        values={"data": ("d",), "batch_size": ("32",), "global_batch": ("48",), "width": ("1",)},
        picked=keys,
    )
    plan = make_plan(selection, catalog, hosts(2), ())
    assert tuple(planned.case.key for planned in plan.cases) == keys
    strong, *_ = plan_remarks(plan)
    assert strong == (
        "strong scaling of other: global batch 48, 48 per device on 1n1g, 24 per device on 2n1g"
    )
    with pytest.raises(SelectionError, match="batch_size=48 is not a choice"):
        make_plan(replace(selection, picked=()), catalog, hosts(2), ())


def test_the_estimate_counts_the_profiled_runs(tmp_path: Path) -> None:
    groups = (rf"{name} (?P<{name}>\d+)" for name in EXPLAINED)
    explain = f"[explain]\nreading = '{', '.join(groups)}'\n"
    (tmp_path / "tiny.toml").write_text(PROFILE + explain)
    catalog = Catalog.load([tmp_path], None)
    plan = make_plan(chosen(explain=True), catalog, hosts(2), ())
    assert len(plan.profiled) == 2
    assert plan.expected_s == pytest.approx(5 * 15 + 15 + 10)  # when all repeats have settled


def test_a_request_survives_its_file(tmp_path: Path) -> None:
    selection = Selection(
        profiles=("tiny", 'qu"ote'),
        cases=("1n1g",),
        values={"data": ("/a b", "c,d"), "width": ("2",)},
        repeats=7,
        hosts="node[1-2]",
        picked=("tiny/1n1g/width=2",),
        name="näme",
        attempts=1,
    )
    described = (
        Host("a", address="10.0.0.1", port=2222, labels=("v100", "rack1"), slots=4, jump="b"),
        Host("here", transport="local"),
    )
    request = Request(replace(selection, explain=True), described, ("/profiles",), forced=True)
    write_request(tmp_path / "campaign.toml", request)
    assert read_request(tmp_path) == request
    assert read_request(tmp_path / "campaign.toml") == request
    assert tomllib.loads((tmp_path / "campaign.toml").read_text())["campaign"]["repeats"] == 7
    unlike = replace(request, selection=replace(selection, repeats={"a": 2, "b": 4}))
    write_request(tmp_path / "campaign.toml", unlike)
    assert read_request(tmp_path) == unlike


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such file"),
        ("[campaign", "not valid TOML"),
        ("[campaign]\n", "profiles"),
        ("[campaign]\nprofiles = ['a']\nrepaets = 2\n", "repaets"),
        ("[campaign]\nprofiles = ['a']\n[[hosts]]\nname = 'a'\nspeed = 3\n", "speed"),
    ],
)
def test_a_wrong_request_file_is_one_line_with_its_name(
    tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "campaign.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SelectionError, match=message) as caught:
        read_request(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return not path.startswith("/") and ".." not in parts and "\0" not in path and "." not in parts


@given(st.text(alphabet=st.characters(codec=None), max_size=200))
def test_no_name_from_outside_leaves_its_directory(text: str) -> None:
    for name in (safe_name(text), campaign_name(0.0, text)):
        assert PurePosixPath(name).name == name
        assert name not in ("", ".", "..")
        assert len(name) <= 120
        assert name.isascii()
    assert inside(host_log_path("logs/f/m/1n1g/m_b1_fp32_1.log", text))
    assert inside(telemetry_path(text, text))


@given(
    st.text(min_size=1, max_size=20),
    st.text(min_size=1, max_size=20),
    st.dictionaries(
        st.sampled_from(["batch_size", "precision"]),
        st.one_of(st.text(max_size=8), st.integers(0, 9)),
    ),
)
def test_a_log_lies_in_the_campaign_whatever_the_profile_is_called(
    framework: str, model: str, parameters: dict[str, str | int]
) -> None:
    profile = SMOKE.model_copy(update={"framework": framework, "model": model})
    case = Case("cpu-smoke", 1, 1, {**parameters, "batch_size": 32})
    assert inside(log_path(profile, case, 1, 1))


def test_two_repeats_of_one_case_and_a_retry_have_files_of_their_own(catalog: Catalog) -> None:
    profile = catalog.get("tiny")
    case = Case("tiny", 2, 1, {"batch_size": 16, "width": 2})
    paths = [
        log_path(profile, case, 1, 1),
        log_path(profile, case, 2, 1),
        log_path(profile, case, 1, 2),
    ]
    assert paths[0] == "logs/frame-.-work/mobius-net/2n1g/mobius-net_b16_fp32_width-2_1.log"
    assert paths[2].endswith("_1-a2.log")
    assert len(set(paths)) == 3
    assert log_path(profile, case, 1, 1, taken=paths) not in paths
    assert host_log_path(paths[0], "node2").endswith("_width-2_1.node2.log")
    assert diagnosis_path(paths[0]).endswith("_1.diagnosis.txt")


@pytest.mark.parametrize(
    ("profiles", "name"),
    [
        ("cpu-smoke cpu-smoke", "cpu-smoke"),
        ("cpu-smoke torch-resnet50 cpu-smoke", "cpu-smoke-and-torch-resnet50"),
        ("ngc-tensorflow-resnet50 paddle-mask-rcnn", "ngc-tensorflow-resnet50-and-1-more"),
        ("cpu-smoke torch-resnet50 torch-gpt2", "cpu-smoke-and-2-more"),
    ],
)
def test_a_campaign_is_named_after_all_its_profiles(profiles: str, name: str) -> None:
    assert name_of(profiles.split()) == name == safe_name(name)


def test_campaigns_of_one_day_and_name_do_not_meet(tmp_path: Path) -> None:
    paths = [create_directory(tmp_path / "c", "x") for _ in range(3)]
    assert [path.name for path in paths] == ["x", "x-2", "x-3"]


@given(removed=st.sets(st.integers(0, 3)))
def test_the_name_of_a_removed_campaign_is_not_given_again_while_a_later_one_is_there(
    removed: set[int],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        paths = [create_directory(Path(directory), "x") for _ in range(4)]
        create_directory(Path(directory), "x-more")
        for number in removed:
            paths[number].rmdir()
        made = create_directory(Path(directory), "x")
        last = max({0, 1, 2, 3} - removed, default=-1)
        assert made.name == ("x", "x-2", "x-3", "x-4", "x-5")[last + 1]


def plan_of(catalog: Catalog, count: int = 2) -> Plan:
    return make_plan(chosen(), catalog, hosts(count), ())


def test_a_plan_names_every_run_and_never_twice(catalog: Catalog) -> None:
    state = fold(planned_runs(plan_of(catalog), 5.0))
    assert len(state.runs) == 6
    assert len({run.log for run in state.runs.values()}) == 1
    assert all(isinstance(run.case, Case) for run in state.runs.values())
    again = planned_runs(plan_of(catalog), 5.0)
    assert not {planned.run_id for planned in again} & set(state.runs)


async def test_a_campaigns_directory_that_is_a_file_leaves_nothing(
    tmp_path: Path, catalog: Catalog
) -> None:
    (tmp_path / "file").write_text("")
    plan = plan_of(catalog)
    with pytest.raises(CannotCreateError) as caught:
        await open_campaign(
            tmp_path / "file", plan, Request(plan.selection, plan.hosts), (), (), lambda: 0.0
        )
    assert "--campaigns DIR" in str(caught.value)


async def test_hosts_that_a_campaign_began_without_are_in_its_notes_and_its_report(
    tmp_path: Path, catalog: Catalog
) -> None:
    for left_out in ((), ("node3: in use: alice", "node4: did not answer")):
        plan = replace(plan_of(catalog), left_out=left_out)
        request = Request(plan.selection, plan.hosts)
        path, lock = await open_campaign(tmp_path, plan, request, (), InSpiteOf(), lambda: 5.0)
        lock.release()
        state = read_campaign(path)
        said = "It began without node3: in use: alice; node4: did not answer"
        notes = [note[1:] for note in take(state, path, now=6.0).notes]
        assert notes == ([("info", said)] if left_out else [])
        assert list(report_context(state, path).notes) == ([f"{said}."] if left_out else [])


async def test_how_its_operator_began_it_is_in_all_documents_of_a_campaign(
    tmp_path: Path, catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which stops were forced, and which hosts were left out: on N and in each JSON."""
    stops = ("v100b: GPU2 has 3 uncorrected memory errors", "the hosts' GPU models differ")
    for forced, left_out in product(((), stops), ((), ("node3: in use",))):
        plan = replace(plan_of(catalog), left_out=left_out)
        request = Request(plan.selection, plan.hosts, forced=bool(forced))
        against = InSpiteOf(stops=forced)
        path, lock = await open_campaign(tmp_path, plan, request, (), against, lambda: 5.0)
        lock.release()
        state = read_campaign(path)
        said = [("info", "It began without node3: in use")] if left_out else []
        said += [("warn", f"Forced in spite of: {'; '.join(stops)}")] if forced else []
        assert [note[1:] for note in take(state, path, now=6.0).notes] == said
        rewrite_results(state, path)
        kept = json.loads((path / "results.json").read_text())
        assert main(["status", str(path), "--json"]) == 0
        status = json.loads(capsys.readouterr().out)
        report = json.loads(exported(state, path, Export("speedup", "json"), tmp_path))
        assert main(["report", str(path), "--layout", "speedup"]) == 0
        _, heard = capsys.readouterr()
        for _, text in said:
            assert text in " ".join(heard.split())
        for document in (kept, status, report):
            told = document.get("notes", [])
            assert told == [{"t": 5.0, "level": level, "text": text} for level, text in said]


def test_picked_cases_run_small_ones_first_whatever_the_order_of_marking() -> None:
    catalog = Catalog.load()
    hosts = tuple(Host(f"n{i}", "local", slots=2) for i in range(4))
    keys = [f"cpu-smoke/{tag}/batch_size=32" for tag in ("4n1g", "2n2g", "1n2g", "2n1g", "1n1g")]
    plan = make_plan(Selection(("cpu-smoke",), picked=tuple(keys)), catalog, hosts, ())
    tags = [planned.case.tag for planned in plan.cases]
    assert tags == ["1n1g", "1n2g", "2n1g", "2n2g", "4n1g"]


def test_a_case_that_was_named_and_that_the_profile_excludes_is_told(tmp_path: Path) -> None:
    text = PROFILE.replace("[matrix]", '[matrix]\nexclude = ["nodes > 1 and batch_size < 32"]')
    (tmp_path / "tiny.toml").write_text(text)
    narrow = Catalog.load([tmp_path], None)

    def told(*values: str) -> tuple[str, ...]:
        given = {"data": ("/d",), "batch_size": values}
        asked = chosen(cases=("1n1g", "2n1g"), values=given, repeats=3)
        return plan_remarks(make_plan(asked, narrow, hosts(2), ()))

    assert told("16") == ("tiny excludes 2n1g: nodes > 1 and batch_size < 32",)
    assert told("16", "32") == ()


@pytest.mark.parametrize(
    ("repeats", "says"),
    [
        (1, "1 repeat per case: it cannot tell how far repeats scatter"),
        (2, "2 repeats per case: they give a ratio no interval"),
        (3, None),
        (None, None),
    ],
)
def test_a_plan_says_what_too_few_repeats_cannot_tell(
    catalog: Catalog, repeats: int | None, says: str | None
) -> None:
    chosen_plan = make_plan(chosen(cases=("1n1g",), repeats=repeats), catalog, hosts(1), ())
    remarks = plan_remarks(chosen_plan)
    assert len(remarks) == (says is not None)
    assert all(remark.startswith(says or "") for remark in remarks)


def test_a_profile_of_one_repeat_is_told_apart_from_the_others() -> None:
    catalog = Catalog.load()
    selection = Selection(("cpu-smoke", "torch-resnet50"), cases=("1n1g",))
    made = make_plan(selection, catalog, hosts(1), ())
    (remark,) = plan_remarks(made)
    assert remark.startswith("1 repeat per case of cpu-smoke, the profile's own number: ")


def test_a_plan_says_what_is_profiled_and_what_cannot_be() -> None:
    catalog = Catalog.load()
    selection = Selection(("cpu-smoke",), cases=("1n1g", "1n2g"), repeats=3, explain=True)
    made = make_plan(selection, catalog, hosts(1), ())
    assert [planned.case.tag for planned in made.profiled] == ["1n1g", "1n2g"]
    assert made.run_count == 6
    (remark,) = plan_remarks(made)
    assert remark.startswith("2 profiled runs, one per case, when all repeats are done")


def test_a_profile_that_cannot_tell_is_named(catalog: Catalog) -> None:
    made = make_plan(
        replace(chosen(cases=("1n1g",), repeats=3), explain=True), catalog, hosts(1), ()
    )
    assert made.profiled == ()
    assert plan_remarks(made) == (
        "nothing will explain the cases of tiny: the profile has no [explain]",
    )
