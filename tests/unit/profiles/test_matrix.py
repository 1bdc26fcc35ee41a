"""Cases: tags, expansion, exclusion, feasibility."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from profiles.case_tag import parse_tag
from profiles.errors import SelectionError
from profiles.format.case import read_key
from profiles.format.case_matrix import exclusion, expand, infeasible, make_case
from profiles.format.host_capacity import HostCapacity
from tests.unit.profiles.builders import HEAD, READING, case, profile


def test_a_tag_is_nodes_and_devices_per_node() -> None:
    assert parse_tag("2n8g") == (2, 8)
    assert parse_tag(" 4N8G ") == (4, 8)


@given(st.integers(1), st.integers(1), st.sampled_from(["", "0", "00"]))
@example(1, 9999, "")
@example(100_000, 8, "")
def test_a_case_that_is_too_large_is_told_to_be_so_and_not_to_be_of_another_form(
    nodes: int, gpus: int, zeros: str
) -> None:
    tag = f"{nodes}n{zeros}{gpus}g"
    if nodes <= 99_999 and gpus <= 999:
        assert zeros or parse_tag(tag) == (nodes, gpus)
        return
    with pytest.raises(SelectionError, match="is too large a case; ") as refused:
        parse_tag(tag)
    assert "write nodes" not in str(refused.value)


@pytest.mark.parametrize("tag", ["", "8g", "2n", "0n8g", "2n0g", "2n8", "n8g", "2n8g4", "-1n8g"])
def test_other_tags_are_refused(tag: str) -> None:
    with pytest.raises(SelectionError, match="such as 1n1g or 2n8g"):
        parse_tag(tag)


def test_a_case_names_its_size_and_batch() -> None:
    it = case(profile(), 2, 8, batch_size=160, precision="amp")
    assert (it.tag, it.gpus, it.batch_size, it.global_batch) == ("2n8g", 16, 160, 2560)
    assert it.key == "sample/2n8g/batch_size=160,precision=amp"
    assert it.precision == "amp"


def test_cases_are_equal_by_their_key() -> None:
    one, other = case(profile(), batch_size=128), case(profile(), batch_size="128")
    assert one == other
    assert len({one, other}) == 1
    assert one != case(profile(), batch_size=160)


def test_expansion_takes_defaults_and_goes_tag_by_tag() -> None:
    cases = expand(profile(), None, {})
    assert [it.tag for it in cases] == ["1n1g", "1n8g", "2n8g"]
    assert {it.batch_size for it in cases} == {128}


def test_overrides_span_the_axes_in_the_profiles_order() -> None:
    cases = expand(profile(), ["1n1g"], {"batch_size": ["160", "128"], "precision": ["amp"]})
    assert [it.key for it in cases] == [
        "sample/1n1g/batch_size=160,precision=amp",
        "sample/1n1g/batch_size=128,precision=amp",
    ]


def batches(*tags: str, **overrides: list[str]) -> list[tuple[str, object, object]]:
    cases = expand(profile(), tags, overrides)
    return [(it.tag, it.batch_size, it.parameters.get("global_batch")) for it in cases]


def test_a_global_batch_is_shared_out_among_the_devices_of_each_case() -> None:
    assert batches("1n2g", "2n1g", global_batch=["320"]) == [("1n2g", 160, 320), ("2n1g", 160, 320)]
    (it,) = expand(profile(), ["1n2g"], {"global_batch": ["256"]})
    assert it.key == "sample/1n2g/batch_size=128,global_batch=256,precision=fp32"
    assert it.global_batch == it.values()["global_batch"] == 256


def test_weak_and_strong_scaling_can_be_in_one_matrix() -> None:
    found = batches("1n2g", batch_size=["128"], global_batch=["256", "320"])
    assert found == [("1n2g", 128, None), ("1n2g", 128, 256), ("1n2g", 160, 320)]


@pytest.mark.parametrize("text", ["0", "-2", "many", "1e3", ""])
def test_a_global_batch_that_is_no_number_is_told(text: str) -> None:
    for tags in ((), ("1n2g",)):
        with pytest.raises(SelectionError, match=f"global_batch={text} is no number of samples"):
            batches(*tags, global_batch=[text])


@pytest.mark.parametrize("text", ["255", "1"])
def test_a_batch_that_cannot_be_shared_out_is_told(text: str) -> None:
    with pytest.raises(SelectionError, match=rf"global_batch={text} cannot be shared out evenly"):
        batches("1n2g", global_batch=[text])


def test_a_share_that_is_no_choice_is_told() -> None:
    with pytest.raises(SelectionError, match="batch_size=64 is not a choice"):
        batches("1n2g", global_batch=["128"])


def test_the_profiles_own_cases_are_left_out_where_a_batch_cannot_be_shared_out() -> None:
    assert [tag for tag, *_ in batches(global_batch=["1280"])] == ["1n8g"]
    with pytest.raises(SelectionError, match="excludes every case of this selection"):
        batches(global_batch=["7"])


def test_a_tag_or_value_given_twice_is_one_case() -> None:
    assert len(expand(profile(), ["1n1g", "1n1g"], {"batch_size": ["128", "128"]})) == 1


def test_a_tag_that_the_profile_does_not_list_is_allowed() -> None:
    assert [it.tag for it in expand(profile(), ["3n2g"], {})] == ["3n2g"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"batch": ["1"]}, "has no parameter 'batch'; it has batch_size, precision"),
        ({"batch_size": ["64"]}, "batch_size=64 is not a choice; choose from 128, 160"),
        ({"precision": ["AMP"]}, "choose from fp32, amp"),
    ],
)
def test_what_is_no_choice_is_told_with_the_choices(
    overrides: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(SelectionError, match=message):
        expand(profile(), None, overrides)


def test_a_free_parameter_takes_other_values_of_its_kind() -> None:
    free = profile(READING, HEAD.replace("default = 128 }", "default = 128, free = true }"))
    assert expand(free, ["1n1g"], {"batch_size": ["96"]})[0].batch_size == 96
    with pytest.raises(SelectionError, match="batch_size=many is not a choice"):
        expand(free, None, {"batch_size": ["many"]})


EXCLUDING = HEAD.replace(
    "[matrix]", "[matrix]\nexclude = [\"precision == 'amp' and nodes > 1\", 'gpus == 3']"
)


def test_excluded_cases_are_left_out_and_the_condition_is_known() -> None:
    it = profile(READING, EXCLUDING)
    assert [c.tag for c in expand(it, None, {"precision": ["amp"]})] == ["1n1g", "1n8g"]
    excluded = case(it, 2, 8, precision="amp")
    assert exclusion(it, excluded) == "precision == 'amp' and nodes > 1"
    assert exclusion(it, case(it, 2, 8)) is None


def test_a_selection_that_excludes_everything_says_why() -> None:
    with pytest.raises(SelectionError, match=r"excludes every case .*gpus == 3"):
        expand(profile(READING, EXCLUDING), ["1n3g"], {})


HOSTS = (HostCapacity("a", 4, 8), HostCapacity("b", 4, 8), HostCapacity("c", 4, 0))


@pytest.mark.parametrize(
    ("nodes", "gpus", "reason"),
    [
        (1, 8, None),
        (2, 8, None),
        (3, 4, None),  # c has no GPU and offers its slots
        (4, 1, "needs 4 hosts, there are 3"),
        (1, 16, "needs 16 devices per host, 8 at most"),
        (3, 8, "needs 3 hosts with 8 devices, 2 have them"),
    ],
)
def test_what_the_hosts_cannot_run_has_a_reason(nodes: int, gpus: int, reason: str | None) -> None:
    it = profile()
    assert infeasible(it, case(it, nodes, gpus), HOSTS) == reason


def test_slots_are_of_no_use_to_a_profile_that_needs_gpus() -> None:
    it = profile(READING, HEAD.replace("unit =", 'devices = "gpu"\nunit ='))
    assert infeasible(it, case(it, 3, 4), HOSTS) == "needs 3 hosts with 4 GPUs, 2 have them"
    assert infeasible(it, case(it, 1, 1), HOSTS[2:]) == "needs 1 GPU per host, 0 at most"


def test_what_is_refused_for_gpus_that_the_driver_does_not_tell_says_so() -> None:
    silent = "nvidia-smi did not answer within 5 s"
    hosts = (HOSTS[0], HostCapacity("c", 4, 0, gpu_problem=silent))
    on_gpus = profile(READING, HEAD.replace("unit =", 'devices = "gpu"\nunit ='))
    told = f"needs 2 hosts with 4 GPUs, 1 has them (c: GPUs unknown, {silent})"
    assert infeasible(on_gpus, case(on_gpus, 2, 4), hosts) == told
    assert infeasible(on_gpus, case(on_gpus, 1, 4), hosts) is None
    on_cpus = profile(READING, HEAD.replace("unit =", 'devices = "cpu"\nunit ='))
    told = "needs 16 devices per host, 8 at most"
    assert infeasible(on_cpus, case(on_cpus, 1, 16), hosts) == told


def test_a_log_that_exists_may_have_any_batch_but_no_unknown_precision() -> None:
    it = profile()
    assert make_case(it, 1, 1, {"batch_size": "77"}).batch_size == 77
    with pytest.raises(SelectionError, match="precision=int8 is not a choice"):
        make_case(it, 1, 1, {"precision": "int8"})
    with pytest.raises(SelectionError, match="both are 1 or more"):
        make_case(it, 0, 8, {})


FREE = """
name = "wide"
framework = "F"
model = "M"
[parameters]
a = { choices = [1], default = 1, free = true }
b = { choices = [1], default = 1, free = true }
[matrix]
cases = ["1n1g"]
[launch]
launcher = "per_node"
command = "train"
"""


def test_too_many_cases_are_refused_before_any_of_them_is_made() -> None:
    it = profile(head=FREE)
    values = [str(number) for number in range(1, 1001)]
    tracemalloc.start()
    try:
        with pytest.raises(SelectionError, match="1,000,000 cases of wide"):
            expand(it, None, {"a": values, "b": values})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
    assert len(expand(it, None, {"a": values, "b": values[:50]})) == 50_000
    assert len(expand(it, None, {"a": values * 3, "b": values[:50] * 2})) == 50_000


def test_a_case_is_found_again_by_its_key() -> None:
    for one in (case(profile(), 2, 8), case(profile())):
        assert read_key(one.key) == (one.profile, one.nodes, one.gpus_per_node)
    with pytest.raises(SelectionError, match="not the key of a case"):
        read_key("cpu-smoke")
