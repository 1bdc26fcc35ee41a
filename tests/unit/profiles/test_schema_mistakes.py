"""What is wrong in any file that a person writes is told in that file's words, on one line."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.campaign.plan.campaign_request import read_request
from backends.inventory.hosts_toml import read_hosts_file
from backends.results.entered_figures import import_figures
from profiles.errors import DlperfError
from profiles.format.catalog import load_file

INTERNALS = re.compile(
    r"function|0x|validator|union\[|tuple\[|literal\[|constrained|nullable|pydantic|input should"
    r"|instance of|valid (?:string|integer|number|tuple|dictionary)|datetime\.|is-instance|\n",
    re.IGNORECASE,
)

FILES: dict[str, tuple[Callable[[Path], object], dict[str, Any]]] = {
    "figures": (
        import_figures,
        {
            "framework": "F",
            "model": "M",
            "parameters": {"batch_size": 8, "amp": True},
            "metrics": {"top1": 76.5},
            "figures": [
                {"case": "1n1g", "throughput": 5.5, "gpu_memory_mib": 100},
                {"case": "1n2g", "throughput": [5, 6.5], "log": ["a", "b"], "repeat": 2},
            ],
            "groups": [{"unit": "x", "figures": [{"case": "1n4g", "metrics": {"loss": 1.5}}]}],
        },
    ),
    "profile": (
        load_file,
        {
            "name": "p",
            "framework": "F",
            "model": "M",
            "parameters": {"size": {"choices": ["a", 2], "default": "a", "free": True}},
            "settings": {"data": {"description": "d", "check": "directory"}},
            "matrix": {"cases": ["1n1g"], "repeats": 3, "exclude": ["gpus > 8"]},
            "launch": {"launcher": "per_node", "command": "x", "environment": {"A": "b"}},
            "measure": {
                "reading": "r (?P<value>[0-9]+)",
                "scale": 1.5,
                "ranks": [0, 1],
                "window": {"skip": 1},
                "metrics": {"loss": {"reading": "l (?P<value>[0-9]+)", "scale": 2.5}},
                "stated": {"world_size": "w (?P<value>[0-9]+)"},
                "computed": {"layers": ["width // 2"]},
                "failure": [{"pattern": "bad", "reason": "it is"}],
                "variant": [{"when": "gpus > 1", "ranks": "all", "trim": {"fraction": 0.1}}],
            },
            "import": {"values": {"size": {"x": 2}}, "gpus_per_node": 8},
        },
    ),
    "inventory": (
        lambda path: read_hosts_file(path, path.parent / "none"),
        {
            "defaults": {"user": "bench", "port": 22, "share": "group"},
            "labels": {"ib": {"environment": {"A": "b"}, "mpi_arguments": ["-x"]}},
            "hosts": [{"name": "a", "labels": ["ib"], "slots": 2, "price_per_hour": 2.5}],
        },
    ),
    "campaign": (
        read_request,
        {
            "campaign": {
                "profiles": ["p"],
                "cases": ["1n1g"],
                "repeats": 3,
                "explain": True,
                "values": {"size": ["a"], "depth": 3},
            },
            "profile_dirs": ["d"],
            "hosts": [{"name": "a", "address": "b", "slots": 2, "labels": ["x"]}],
        },
    ),
}

VALUES = st.one_of(
    st.sampled_from(
        [-1, 0, 10**30, True, "", "abc", "1,234.5", 1.5, float("nan"), float("inf"), [], {}]
    ),
    st.sampled_from([[1], ["a", 1.5], [[]], [{}], {"a": 1}, {"a b": [1]}, {"reading": 3}]),
    st.just(datetime.datetime(2020, 1, 2, 3, 4)),
)


@pytest.mark.parametrize("kind", FILES)
def test_files_are_right_before_they_are_made_wrong(kind: str, tmp_path: Path) -> None:
    read, document = FILES[kind]
    path = tmp_path / "file.toml"
    path.write_text(tomli_w.dumps(document), encoding="utf-8")
    read(path)


@settings(
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(data=st.data())
@pytest.mark.parametrize("kind", FILES)
def test_no_mistake_is_told_in_the_checkers_words(
    kind: str, tmp_path: Path, data: st.DataObject
) -> None:
    read, document = FILES[kind]
    path = tmp_path / "file.toml"
    path.write_text(tomli_w.dumps(changed(document, data)), encoding="utf-8")
    try:
        read(path)
    except DlperfError as error:
        line = str(error).replace(str(tmp_path), "")
    else:
        return
    assert not INTERNALS.search(line), line
    assert line.startswith("/file.toml"), line


def changed(value: Any, data: st.DataObject, *, top: bool = True) -> Any:
    """With one value replaced, one key renamed or one taken away, at any depth."""
    if (
        not isinstance(value, dict | list)
        or not value
        or (not top and data.draw(st.integers(0, 5)) == 0)
    ):
        return data.draw(VALUES)
    if isinstance(value, list):
        index = data.draw(st.integers(0, len(value) - 1))
        return [*value[:index], changed(value[index], data, top=False), *value[index + 1 :]]
    key = data.draw(st.sampled_from(sorted(value)))
    rest = {name: one for name, one in value.items() if name != key}
    match data.draw(st.sampled_from(["inside", "inside", "inside", "renamed", "gone"])):
        case "inside":
            return {**rest, key: changed(value[key], data, top=False)}
        case "renamed":
            return {**rest, data.draw(st.sampled_from(["speed", "a b", "é"])): value[key]}
        case _:
            return rest


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 5000, "x = " + "1" * 5000, "x = {", "x = 1\n\nx = 2"]
)
@pytest.mark.parametrize("kind", FILES)
def test_what_is_no_toml_is_told(kind: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DlperfError, match="not valid TOML"):
        FILES[kind][0](path)
