from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.plan.planner import make_plan
from backends.hosts.host_facts import HostSnapshot, HostState
from backends.inventory.host_entry import Host
from profiles.errors import SelectionError
from profiles.format.case import Case
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from profiles.format.launch_section import LAUNCHERS
from profiles.format.profile import Matrix, Parameter, Profile
from profiles.format.rule_for_case import rule_for
from tests.console.fakes import FakeWorkspace, frozen_catalog, unprobed, v100_hosts
from tui.hosts_now import HostsNow
from tui.matrix_labels import column_kinds, column_labels
from tui.matrix_marks import Marks, new_marks
from tui.matrix_request import Asked, selection
from tui.rule_words import RULES
from tui.screens.matrix_text import profile_text
from tui.screens.scaling_kinds_dialog import offered
from tui.session import Session

HOSTS = v100_hosts()
CATALOG = Catalog.load((), None)
VARIED = [name for name in CATALOG.names if CATALOG.get(name).measure.variant]


def profile(name: str = "oneflow-resnet50") -> Profile:
    return frozen_catalog().get(name)


def resnet() -> Marks:
    return new_marks(profile()).with_defaults()


def tags(marks: Marks, hosts: tuple[HostSnapshot, ...] = HOSTS) -> list[str]:
    return [case.tag for case in marks.marked(hosts)]


def test_a_new_profile_has_nothing_marked_and_its_defaults_are_its_own_cases() -> None:
    marks = new_marks(profile())
    assert tags(marks) == []
    assert tags(marks.with_defaults()) == ["1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g"]


def test_a_mark_waits_while_no_host_can_run_it_and_comes_back() -> None:
    marks = resnet()
    assert tags(marks, HOSTS[:1]) == ["1n1g", "1n2g", "1n4g", "1n8g"]
    lost = (replace(HOSTS[0], state=HostState.UNREACHABLE), *HOSTS[1:])
    assert "4n8g" not in tags(marks, lost)
    assert "4n8g" in tags(marks, HOSTS)


def test_an_impossible_cell_says_why() -> None:
    cells = resnet().cells(HOSTS[:1])
    assert cells[5][0].state == "impossible"
    assert cells[5][0].reason == "needs 4 hosts, there is 1"


def test_what_hosts_that_have_not_answered_decide_can_be_wished_and_counts_once_they_have() -> None:
    marks = resnet()
    cells = [row[0] for row in marks.cells((*HOSTS[:1], *unprobed(HOSTS[1:])))]
    decided = {cell.case.tag: cell.awaits for cell in cells}
    others = tuple(host.name for host in HOSTS[1:])
    assert decided == dict.fromkeys(("1n1g", "1n2g", "1n4g", "1n8g"), ()) | dict.fromkeys(
        ("2n8g", "4n8g"), others
    )
    assert {cell.state for cell in cells} == {"marked"}
    assert tags(marks, unprobed(HOSTS)) == []
    assert tags(new_marks(profile()).with_all(unprobed(HOSTS)), HOSTS)[-1] == "4n8g"
    assert tags(marks.toggled(cells[-1:])) == ["1n1g", "1n2g", "1n4g", "1n8g", "2n8g"]


def test_what_no_answer_can_make_possible_is_impossible_at_once() -> None:
    last = resnet().cells(unprobed(HOSTS[:3]))[-1][0]
    assert (last.state, last.reason) == ("impossible", "needs 4 hosts, there are 3")
    away = replace(HOSTS[0], state=HostState.UNREACHABLE, facts=None)
    assert resnet().cells((away,))[0][0].reason == (
        f"needs 1 host, there are 0 ({away.name} does not answer)"
    )
    rest = (away, replace(HOSTS[1], state=HostState.UNREACHABLE), *HOSTS[2:4])
    assert resnet().cells(rest)[-1][0].reason == (
        "needs 4 hosts, there are 2 (node[1-2] do not answer)"
    )


def test_slots_of_the_inventory_count_before_the_first_probe() -> None:
    local = (HostSnapshot("here", "", HostState.UNKNOWN, slots=2),)
    marks = new_marks(profile("cpu-smoke")).with_defaults()
    assert tags(marks, local) == ["1n1g", "1n2g"]


def test_an_excluded_case_says_which_condition_excludes_it() -> None:
    base = profile()
    excluding = base.model_copy(
        update={"matrix": Matrix(cases=base.matrix.cases, exclude=("batch_size > 128",))}
    )
    cells = new_marks(excluding).cells(HOSTS)
    assert cells[0][1].state == "impossible"
    assert "batch_size > 128" in cells[0][1].reason


def test_toggling_a_row_marks_all_of_it_and_then_none() -> None:
    marks = new_marks(profile())
    row = marks.cells(HOSTS)[0]
    marked = marks.toggled(row)
    assert len(marked.marked(HOSTS)) == 2
    assert marked.toggled(marked.cells(HOSTS)[0]).marked(HOSTS) == ()


def test_a_further_case_becomes_a_row_in_order_and_is_marked() -> None:
    marks = new_marks(profile()).with_case("2n4g")
    assert marks.tags == ("1n1g", "1n2g", "1n4g", "1n8g", "2n4g", "2n8g", "4n8g")
    assert tags(marks) == ["2n4g"]
    with pytest.raises(SelectionError, match="is not a case"):
        marks.with_case("two")


def test_fewer_values_of_a_parameter_take_their_columns_and_marks_away() -> None:
    marks = resnet()
    wide = marks.toggled([row[1] for row in marks.cells(HOSTS)])
    assert len(wide.marked(HOSTS)) == 12
    narrow = wide.with_values("batch_size", ["160"])
    assert [case.text("batch_size") for case in narrow.marked(HOSTS)] == ["160"] * 6
    assert len(narrow.columns) == 1


def test_a_value_that_is_no_choice_is_refused_unless_the_parameter_is_free() -> None:
    with pytest.raises(SelectionError, match="choose from 128, 160"):
        resnet().with_values("batch_size", ["96"])
    with pytest.raises(SelectionError, match="at least one value"):
        resnet().with_values("batch_size", [])
    free = profile().model_copy(
        update={
            "parameters": {"batch_size": Parameter(choices=(128,), default=128, free=True)},
        }
    )
    marks = new_marks(free).with_values("batch_size", ["96"])
    assert [column["batch_size"] for column in marks.columns] == [96]
    with pytest.raises(SelectionError, match="not a number"):
        marks.with_values("batch_size", ["many"])


def test_columns_are_headed_by_what_differs() -> None:
    assert column_labels(new_marks(profile())) == ("b128 fp32", "b160 fp32")
    assert "b16" in column_labels(new_marks(profile("cpu-smoke")))


def test_many_choices_do_not_make_many_columns() -> None:
    parameters = {f"p{i}": Parameter(choices=(1, 2, 3), default=1) for i in range(4)}
    marks = new_marks(profile().model_copy(update={"parameters": parameters}))
    assert len(marks.columns) == 3
    assert marks.shown["p3"] == (1,)


def marked(marks: Mapping[str, Marks]) -> dict[str, tuple[Case, ...]]:
    return {name: part.marked(HOSTS) for name, part in marks.items()}


def test_the_selection_holds_exactly_what_is_marked() -> None:
    marks = {"oneflow-resnet50": replace(resnet(), settings={"data_root": "/d"})}
    asked = selection(marks, marked(marks), repeats=3, hosts="node1")
    assert asked.profiles == ("oneflow-resnet50",)
    assert asked.cases[0] == "1n1g"
    assert len(asked.picked) == 6
    assert asked.values["batch_size"] == ("128",)
    assert asked.values["data_root"] == ("/d",)
    assert (asked.repeats, asked.hosts) == (3, "node1")


def test_strong_scaling_takes_the_place_of_weak_or_stands_beside_it() -> None:
    marks = new_marks(profile("cpu-smoke")).with_case("1n2g")
    both = marks.with_scaling(weak=True, totals=[128, 64, 64])
    assert column_labels(both) == ("b16", "b32", "b64", "b128", "Σ64", "Σ128")
    assert column_kinds(both) == ("weak scaling",) * 4 + ("strong scaling",) * 2
    found = [(case.tag, case.batch_size, case.text("global_batch")) for case in both.marked(HOSTS)]
    assert found == [("1n2g", 32, ""), ("1n2g", 32, "64"), ("1n2g", 64, "128")]
    strong = both.with_scaling(weak=False, totals=[64])
    assert [case.key for case in strong.marked(HOSTS)] == [
        "cpu-smoke/1n2g/batch_size=32,global_batch=64"
    ]
    back = strong.with_scaling(weak=True, totals=[])
    assert [case.key for case in back.marked(HOSTS)] == ["cpu-smoke/1n2g/batch_size=32"]
    assert column_kinds(back) == ()


def test_strong_scaling_of_a_matrix_without_marks_marks_all_that_can_be_shared_out() -> None:
    marks = new_marks(profile("cpu-smoke")).with_scaling(weak=False, totals=[32])
    assert tags(marks) == ["1n1g", "1n2g", "2n1g"]
    left_out = marks.cells(HOSTS)[2][0]
    assert (left_out.case.tag, left_out.state) == ("1n4g", "impossible")
    assert left_out.reason == "batch_size=8 is not a choice"
    assert marks.shares(32) == {
        "1n1g": 32,
        "1n2g": 16,
        "1n4g": "batch_size=8 is not a choice",
        "2n1g": 16,
        "2n2g": "batch_size=8 is not a choice",
        "4n1g": "batch_size=8 is not a choice",
    }
    assert tags(marks.with_case("2n4g")) == ["1n1g", "1n2g", "2n1g"]
    assert tags(marks.with_scaling(weak=False, totals=[256]).with_case("2n4g"))[-1] == "2n4g"
    assert offered(marks) == [32, 64, 128, 256]
    assert offered(resnet()) == [], "none that two cases can share"


def test_scaling_that_comes_to_nothing_is_refused() -> None:
    marks = new_marks(profile())
    with pytest.raises(SelectionError, match="neither weak nor strong"):
        marks.with_scaling(weak=False, totals=[])
    with pytest.raises(SelectionError, match="batch_size=7 is not a choice"):
        marks.with_scaling(weak=True, totals=[7])
    with pytest.raises(SelectionError, match="a grid of 6 ×"):
        marks.with_scaling(weak=True, totals=range(1280, 128_000, 128))


def shown_cells(part: Marks, choice: int) -> Marks:
    cells = [cell for row in part.cells(HOSTS) for cell in row]
    return part.toggled([cells[choice % len(cells)]])


TOTALS = {"cpu-smoke": (32, 64, 128, 256), "oneflow-resnet50": (256, 320, 1280, 4096)}


@given(st.data())
def test_the_plan_is_exactly_what_is_marked(data: st.DataObject) -> None:
    """Whatever the kinds of scaling, the choices of each profile, and the profiles beside it."""
    marks = {}
    for name, totals in TOTALS.items():
        weak = data.draw(st.booleans())
        some = data.draw(st.sets(st.sampled_from(totals), min_size=not weak))
        part = new_marks(profile(name)).with_scaling(weak=weak, totals=some)
        for choice in data.draw(st.lists(st.integers(0, 99), max_size=4)):
            part = shown_cells(part, choice)
        marks[name] = part
    paths = {"benchmark_root": "/b", "data_root": "/d"}
    marks["oneflow-resnet50"] = replace(marks["oneflow-resnet50"], settings=paths)
    asked = selection(marks, marked(marks), repeats=None, hosts="")
    wanted = [case.key for part in marks.values() for case in part.marked(HOSTS)]
    if wanted:
        hosts = [Host(host.name) for host in HOSTS]
        plan = make_plan(asked, frozen_catalog(), hosts, HOSTS)
        assert sorted(planned.case.key for planned in plan.cases) == sorted(wanted)
        assert not plan.refused


def test_a_profile_without_marks_takes_no_part() -> None:
    marks = {"oneflow-resnet50": new_marks(profile())}
    assert selection(marks, marked(marks), repeats=None, hosts="").profiles == ()


def test_a_grid_takes_no_more_cells_than_it_can_show() -> None:
    many = [str(number) for number in range(1, 168)]
    parameters = {
        name: Parameter(choices=(1,), default=1, free=True) for name in ("batch_size", "width")
    }
    marks = new_marks(profile().model_copy(update={"parameters": parameters}))
    assert len(marks.tags) == 6
    with pytest.raises(SelectionError, match="a grid of 6 × 167 cells is more than the 1,000"):
        marks.with_values("batch_size", many)
    full = marks.with_values("batch_size", many[:166])
    assert len(full.columns) == 166
    with pytest.raises(SelectionError, match="a grid of 7 × 166 cells"):
        full.with_case("9n8g")
    with pytest.raises(SelectionError, match="a grid of 6 × 332 cells"):
        full.with_values("width", ["1", "2"])


@given(
    st.dictionaries(
        st.sampled_from(["cpu-smoke", "oneflow-resnet50"]),
        st.integers(1, 9),
        min_size=1,
    ),
    st.lists(st.sampled_from([1, -1]), max_size=12),
)
def test_each_profile_gets_one_repeat_more_or_fewer_of_the_number_that_it_had(
    own: dict[str, int], changes: list[int]
) -> None:
    with TemporaryDirectory() as directory:
        session = Session(FakeWorkspace(Path(directory)))
        asked = Asked(session, HostsNow(session))
    for name, repeats in own.items():
        part = asked.marks(name)
        matrix = part.profile.matrix.model_copy(update={"repeats": repeats})
        profile = part.profile.model_copy(update={"matrix": matrix})
        asked.put(replace(part, profile=profile).with_defaults())

    def numbers() -> list[int]:
        return [asked.repeats_of(part) for part in asked.taking_part]

    for change in changes:
        before = numbers()
        asked.repeats = asked.repeats_changed(change, asked.taking_part[0])
        assert numbers() == [max(1, was + change) for was in before]
        assert asked.can_be_fewer(asked.taking_part[0]) == (max(numbers()) > 1)


@pytest.mark.parametrize("name", VARIED)
def test_what_a_profile_measures_is_told_of_the_case_where_that_depends_on_it(name: str) -> None:
    one = CATALOG.get(name)
    said: dict[str, str] = {}
    for case in expand(one, None, {}):
        line = next(
            line for line in profile_text(one, case).plain.splitlines() if "measures" in line
        )
        assert f"of {case.tag}" in line
        rule = rule_for(one, case)
        key = "sums up" if rule.summary else f"{rule.statistic} {rule.window}"
        assert said.setdefault(line.partition(". That is")[0], key) == key
    assert len(said) == len(set(said.values()))
    assert "depends on the case" in profile_text(one).plain


@pytest.mark.parametrize("name", ["cpu-smoke", "oneflow-resnet50"])
def test_a_profile_says_what_its_launcher_and_its_rule_do(name: str) -> None:
    one = profile(name)
    lines = profile_text(one).plain.splitlines()
    launcher, rule = one.launch.launcher, one.measure.statistic
    assert f"launcher {launcher}: {LAUNCHERS[launcher]}" in lines
    assert f"measures {rule.replace('_', ' ')}: {RULES[rule]}" in lines
