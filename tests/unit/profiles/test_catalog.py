"""Reading profiles: what is wrong is told with file, line, key and remedy; the rest still loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiles.errors import ProfileError
from profiles.format.catalog import Catalog, load_file
from tests.unit.profiles.builders import HEAD, READING, write_profile

GOOD = f"{HEAD}\n[measure]\n{READING}\n"


def problem(directory: Path, text: str) -> str:
    path = write_profile(directory, "wrong", text)
    with pytest.raises(ProfileError) as raised:
        load_file(path)
    message = str(raised.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('unit = "images/s"', "unit = images/s", ":5:8: not valid TOML: Invalid value; mend the"),
        ('framework = "F"', "", ": framework: 'framework' is missing; add it"),
        ("launcher =", "luncher =", "unknown key 'luncher'; did you mean 'launcher'?"),
        ("default = 128", "default = 99", "default 99 is not among the choices ['128', '160']"),
        ("[128, 160]", "[]", "parameters.batch_size.choices: "),
        ("[128, 160]", "[128, 128]", "repeat a value; list each once"),
        ('"1n8g"', '"8g"', "'8g' is not a case, did you mean '1n8g'? Write nodes"),
        ("{nodes}", "{nods}", ": launch.command: unknown placeholder {nods}; known: arguments, "),
        ("train {nodes}", "train 'x", "cannot be split into words"),
        (
            '"per_node"',
            '"ssh"',
            "launch.launcher: no launcher 'ssh'; choose from per_node, first_node",
        ),
        (r"\d+", "(", "does not compile: missing ), unterminated subpattern at column"),
        ("?P<value>", "?P<val>", "has an unknown group 'val'"),
        ("?P<value>", "", "has no group 'value'; put (?P<value>…) around what it should read"),
        (
            "[launch]",
            '[launch]\ntimeout = "2 hours"',
            "'2 hours' is not a duration; write a number",
        ),
        ("[matrix]", "[matrix]\nrepeats = 0", "matrix.repeats: must be 1 or more, not 0"),
        (
            "[matrix]",
            "[matrix]\nrepeats = true",
            "matrix.repeats: must be a whole number, not true",
        ),
        ("[matrix]", "[matrix]\nexclude = ['prec == 1']", "'prec' in 'prec == 1' is no parameter"),
        (
            "[matrix]",
            "[matrix]\nexclude = ['precision < 3']",
            ": matrix.exclude[0]: cannot order 'fp32' and 3 at column 1 of the condition",
        ),
        ("[matrix]", "[matrix]\nexclude = ['nodes =']", "cannot read '=' at column 7"),
        ("[matrix]", "[settings.nodes]\ndescription = 'x'\n[matrix]", "'nodes' is filled by the"),
        (
            "[matrix]",
            "[settings.precision]\ndescription = 'x'\n[matrix]",
            "'precision' is both a parameter and a setting; rename one",
        ),
        ("[measure]", "[measure]\nwindow = { skip = -1 }", "measure.window.skip: "),
        ("[measure]", "[measure]\nwindow = { skip = 1, last = 2 }", "remove skip and drop"),
        ("[measure]", "[measure]\nwindow = { skip = 1, from_step = 2 }", "remove one of the two"),
        ("[measure]", "[measure]\nwindow = { from_step = 9, to_step = 2 }", "is after to_step 2"),
        (
            "[measure]",
            "[measure]\nstatistic = 'best'",
            "measure.statistic: must be 'elapsed'",
        ),
        ("[measure]", "[measure]\nsummary = 'x'", "has no group 'value'"),
        ("[measure]", "[measure]\ntimestamp = '%H'", "has no group 'time'"),
    ],
)
def test_mistakes_name_the_place_and_the_remedy(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert GOOD.count(old) >= 1
    assert message in problem(tmp_path, GOOD.replace(old, new, 1))


def test_the_line_of_the_mistake_is_named(tmp_path: Path) -> None:
    text = GOOD.replace('launcher = "per_node"', 'launcher = "per_node"\nstall_timeuot = "1m"')
    line = text.splitlines().index('stall_timeuot = "1m"') + 1
    assert problem(tmp_path, text).startswith(f":{line}: launch.stall_timeuot: unknown key")


def test_a_mistake_in_a_variant_is_a_mistake_of_the_profile(tmp_path: Path) -> None:
    variant = "[[measure.variant]]\nwhen = 'gpus > 8'\nreading = 'x'\n"
    assert "has no group 'value'" in problem(tmp_path, GOOD + variant)
    assert "'cards' in 'cards > 8' is no parameter" in problem(
        tmp_path, GOOD + "[[measure.variant]]\nwhen = 'cards > 8'\n"
    )


def test_steps_are_needed_for_a_window_by_step(tmp_path: Path) -> None:
    text = GOOD.replace(r"(?P<step>\d+)", r"\d+") + "window = { from_step = 20 }\n"
    assert "has no group 'step'" in problem(tmp_path, text)


def test_a_missing_file_and_a_binary_one_are_told(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot read the profile: No such file"):
        load_file(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProfileError, match="cannot read the profile"):
        load_file(tmp_path / "binary.toml")


def test_a_broken_user_file_hides_nothing_but_itself(tmp_path: Path) -> None:
    write_profile(tmp_path, "mine", GOOD)
    write_profile(tmp_path, "broken", "name =")
    catalog = Catalog.load(user_dir=tmp_path)
    assert {"sample", "cpu-smoke"} <= set(catalog.names)
    assert [str(tmp_path / "broken.toml") in str(found) for found in catalog.problems] == [True]
    with pytest.raises(ProfileError, match=r"broken\.toml: not valid TOML"):
        catalog.get("broken")


def test_later_directories_win(tmp_path: Path) -> None:
    write_profile(tmp_path / "user", "a", GOOD)
    write_profile(tmp_path / "extra", "a", GOOD.replace('model = "M"', 'model = "Mine"'))
    catalog = Catalog.load([tmp_path / "extra"], tmp_path / "user")
    assert catalog.get("sample").model == "Mine"
    assert catalog.source("sample").path == tmp_path / "extra" / "a.toml"


def test_one_name_twice_in_a_directory_is_a_problem(tmp_path: Path) -> None:
    write_profile(tmp_path, "a", GOOD)
    write_profile(tmp_path, "b", GOOD)
    (found,) = Catalog.load(user_dir=tmp_path).problems
    assert "a.toml beside it is also called 'sample'" in str(found)


def test_an_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(ProfileError, match=r"did you mean .*oneflow-resnet50"):
        Catalog.load().get("oneflow-resnet")
    with pytest.raises(ProfileError, match="dlperf-tui profiles lists them"):
        Catalog.load().get("zzzzzz")


def test_a_path_works_in_place_of_a_name(tmp_path: Path) -> None:
    path = write_profile(tmp_path, "any", GOOD)
    assert Catalog.load().get(str(path)).name == "sample"


def test_a_profile_directory_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="check --profile-dir"):
        Catalog.load([tmp_path / "none"])
    assert Catalog.load(user_dir=tmp_path / "none").problems == ()


def test_every_bundled_profile_is_right() -> None:
    assert Catalog.load().problems == ()
