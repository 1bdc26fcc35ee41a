"""What two environments differ in, and what is not known of one of them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from backends.hosts.fingerprint import (
    apart,
    devices_alone,
    fields_apart,
    fingerprint_text,
    joined,
    several,
    side_by_side,
    tells_devices_alone,
)

OLD = "H200, driver 580, CUDA 13.0, Debian, 6.1, x86_64"  # as written before there were parts
KEYS = ("ECC", "power limit", "python", "checkout changes")
PARTS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["on", "off", "700 W", "a; b: c"]))
TEXTS = st.builds(fingerprint_text, st.sampled_from(["A100", "V100 + A100; ECC: x", OLD]), PARTS)


def test_what_differs_is_told_and_nothing_else() -> None:
    one = fingerprint_text(OLD, {"ECC": "on", "power limit": "700 W", "python": "torch 2.3"})
    other = fingerprint_text(OLD, {"ECC": "on", "power limit": "350 W", "python": "torch 2.4"})
    assert several([one, other])
    assert apart([one, other]) == (
        "power limit: 700 W, python: torch 2.3",
        "power limit: 350 W, python: torch 2.4",
    )
    assert apart(["V100; ECC: on", "A100; ECC: on"]) == ("V100", "A100")


def test_what_one_of_them_does_not_know_makes_no_difference() -> None:
    known = fingerprint_text(OLD, {"ECC": "on", "image": "sha256:1"})
    silent = fingerprint_text(OLD, {"ECC": "on", "image": "unknown, docker does not answer"})
    assert silent == f"{OLD}; ECC: on"
    assert not several([known, silent, OLD])
    assert several([known, silent, f"{OLD}; ECC: off"])
    assert apart([known, f"{OLD}; image: sha256:2", OLD]) == (
        "image: sha256:1",
        "image: sha256:2",
        "image: unknown",
    )


def test_of_a_gpu_that_a_log_states_the_rest_is_not_known() -> None:
    stated = devices_alone("NVIDIA H100-SXM5-80GB")
    assert stated == "NVIDIA H100 80GB HBM3"
    probed = fingerprint_text("NVIDIA H100 80GB HBM3, driver 550, Ubuntu", {"ECC": "on"})
    assert not several([stated, probed])
    assert several([devices_alone("NVIDIA H200"), probed])
    assert (tells_devices_alone(stated), tells_devices_alone(probed)) == (True, False)
    assert devices_alone("G1") == devices_alone("") == ""


def test_the_hosts_of_one_run_have_one_fingerprint() -> None:
    assert joined([OLD, OLD]) == OLD
    assert joined(["V100", "A100"]) == "A100 + V100"
    assert joined(["A; ECC: on; MIG: off", "A; ECC: off"]) == "A; ECC: off + on"
    assert joined([]) == ""


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_hosts_of_several_runs_are_told_once_however_often_they_are_joined(
    texts: list[str],
) -> None:
    whole = joined(texts)
    assert joined([whole, whole]) == whole
    assert not several([joined([whole, *texts]), joined([*texts, whole, texts[0]])])
    for value in re.split("; (?:ECC|power limit|python|checkout changes): ", whole):
        values = value.split(" + ")
        assert len({*values}) == len(values)


def test_a_record_that_repeats_a_value_is_like_one_that_does_not() -> None:
    repeated = f"{OLD}; power limit: 700 W + 300 W + 300 W"
    assert not several([repeated, f"{OLD}; power limit: 700 W + 300 W"])
    assert not several([f"{OLD} + {OLD}", OLD])


def test_of_hosts_that_differ_only_what_differs_is_told() -> None:
    v100, h200 = (
        fingerprint_text(f"{model}, driver {driver}, Debian 12, 6.1", {"power limit": limit})
        for model, driver, limit in (
            ("Tesla V100-SXM2-16GB", "440.33", "300 W"),
            ("NVIDIA H200", "580.1", "700 W"),
        )
    )
    both = joined([v100, h200])
    assert fields_apart([both, v100]) == {
        "GPU model": ("H200 + V100-SXM2-16GB / V100-SXM2-16GB",),
        "driver": ("580.1 + 440.33 / 440.33",),
        "power limit": ("700 W + 300 W / 300 W",),
    }
    assert apart([v100, h200]) == (
        "V100-SXM2-16GB, driver 440.33, power limit: 300 W",
        "H200, driver 580.1, power limit: 700 W",
    )


def test_hosts_that_only_pair_otherwise_are_told_whole() -> None:
    one, other = (
        "A, driver 1, x + B, driver 2, x",
        "A, driver 1, x + A, driver 2, x + B, driver 2, x",
    )
    assert fields_apart([one], [other]) == {"platform": (one, other)}


@given(TEXTS, TEXTS)
def test_a_fingerprint_is_like_itself_and_difference_has_no_direction(one: str, other: str) -> None:
    assert not several([one, one])
    assert several([one, other]) == several([other, one])
    assert joined([one]) == one
    assert joined([one, other]) == joined([other, one])
    assert bool(apart([one, other])[0]) == several([one, other])


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_can_be_compared(one: str, other: str) -> None:
    assert several([one, other]) == any(apart([one, other]))
    assert not several([joined([one, other]), joined([other, one])])


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_side_by_side_is_all_that_is_said_and_what_differs_is_what_tells_them_apart(
    texts: list[str],
) -> None:
    parts = side_by_side(texts)
    for place, text in enumerate(texts):
        said = {part.key: part.values[place] for part in parts if part.values[place] != "unknown"}
        assert not several([fingerprint_text(said.pop(""), said), text])
        assert len(text) == len(fingerprint_text(parts[0].values[place], said))
    assert any(part.differs for part in parts) == several(texts)
