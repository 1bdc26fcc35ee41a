"""Commands and settings: values can never split, join or quote words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import ProfileError, SelectionError
from profiles.format.choices import parameter_arguments, parameter_environment
from profiles.format.site_settings import resolve_settings, split_overrides
from profiles.format.template import placeholders, render_text, render_words
from tests.unit.profiles.builders import HEAD, READING, case, profile


def test_words_are_split_before_values_are_filled_in() -> None:
    words = render_words(
        "./run.sh {nodes} 'two words' --data={path}", {"nodes": 2, "path": "/a b; rm -rf $HOME"}
    )
    assert words == ("./run.sh", "2", "two words", "--data=/a b; rm -rf $HOME")


def test_arguments_become_as_many_words_as_there_are() -> None:
    values = {"arguments": ("--amp", "--batch", "1 2"), "none": ()}
    assert render_words("train {arguments} {none} end", values) == (
        "train", "--amp", "--batch", "1 2", "end",
    )  # fmt: skip


def test_a_sequence_inside_a_word_is_joined_with_commas() -> None:
    assert render_words("--ips={hosts}", {"hosts": ("a", "b")}) == ("--ips=a,b",)


def test_doubled_braces_are_braces() -> None:
    assert render_words("awk '{{print $1}}' {file}", {"file": "x"}) == ("awk", "{print $1}", "x")
    assert placeholders("{{a}} {b}") == ("b",)


def test_booleans_are_written_as_toml_writes_them() -> None:
    assert render_text("--xla={xla}", {"xla": True}) == "--xla=true"


def test_unknown_placeholders_are_told_with_the_known_ones() -> None:
    with pytest.raises(ProfileError, match=r"unknown placeholder \{gpu\} .*; known: gpus, nodes"):
        render_words("run {gpu}", {"nodes": 1, "gpus": 8})
    with pytest.raises(ProfileError, match="close the quotes"):
        render_words("run 'x", {})


@given(st.text())
def test_no_value_can_change_the_number_of_words(value: str) -> None:
    assert render_words("a {v} b{v}c", {"v": value}) == ("a", value, f"b{value}c")


ARGUMENTS = HEAD.replace(
    'default = "fp32" }',
    'default = "fp32", arguments = { amp = ["--amp", "--scale={batch_size}"] }, '
    'environment = { amp = { AMP = "1", GB = "{global_batch}" }, "*" = { AMP = "0" } } }',
)


def test_choices_add_arguments_and_environment() -> None:
    it = profile(READING, ARGUMENTS)
    amp, fp32 = case(it, 1, 8, precision="amp"), case(it)
    assert parameter_arguments(it, amp) == ("--amp", "--scale=128")
    assert parameter_arguments(it, fp32) == ()
    assert parameter_environment(it, amp) == {"AMP": "1", "GB": "1024"}
    assert parameter_environment(it, fp32) == {"AMP": "0"}


SETTINGS = HEAD.replace(
    "[matrix]",
    """
[settings.data]
description = "ImageNet"
check = "directory"
[settings.image]
description = "container image"
default = "torch:1"
[matrix]""",
)


def test_settings_are_given_or_have_defaults() -> None:
    it = profile(READING, SETTINGS)
    assert resolve_settings(it, {"data": "/d"}) == {"data": "/d", "image": "torch:1"}


def test_missing_settings_say_how_to_give_them() -> None:
    it = profile(READING, SETTINGS)
    with pytest.raises(SelectionError, match=r"needs data \(ImageNet\); give it with --set data=…"):
        resolve_settings(it, {})
    with pytest.raises(SelectionError, match="needs data"):
        resolve_settings(it, {"data": ""})


def test_unknown_settings_suggest_near_ones() -> None:
    it = profile(READING, SETTINGS)
    with pytest.raises(SelectionError, match=r"no setting 'imag'; did you mean 'image'\?"):
        resolve_settings(it, {"data": "/d", "imag": "x"})


def test_set_values_go_to_parameters_and_settings() -> None:
    it = profile(READING, SETTINGS)
    given_values = {"batch_size": ["128", "160"], "data": ["/a", "b"]}
    assert split_overrides(it, given_values) == ({"batch_size": ("128", "160")}, {"data": "/a,b"})
    with pytest.raises(SelectionError, match="no parameter or setting 'bach_size'; did you mean"):
        split_overrides(it, {"bach_size": ["1"]})


@pytest.mark.parametrize(
    ("value", "good"), [("12", True), ("4K", True), ("1e3", True), ("abc", False), ("8 s", False)]
)
def test_a_setting_that_is_a_number_stays_one(value: str, good: bool) -> None:
    it = profile(READING, SETTINGS.replace("torch:1", "8"))
    if good:
        assert resolve_settings(it, {"data": "/d", "image": value})["image"] == value
        return
    with pytest.raises(SelectionError, match=f"must be a number, not '{value}'.*such as 8"):
        resolve_settings(it, {"data": "/d", "image": value})
