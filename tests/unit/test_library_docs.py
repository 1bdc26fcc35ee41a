"""Every bundled profile says where it is from, and the manual what must be in place for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from profiles.format.catalog import Catalog

MANUAL = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")
CATALOG = Catalog.load()
SECTIONS = dict(re.findall(r"^### ([\w-]+)\n(.*?)(?=^###? |\Z)", MANUAL, re.M | re.S))


@pytest.mark.parametrize("name", CATALOG.names)
def test_a_profile_has_a_source_and_a_section_that_names_its_settings(name: str) -> None:
    profile = CATALOG.get(name)
    assert profile.source
    assert profile.description
    named = set(re.findall(r"`(\w+)[`=]", SECTIONS[name]))
    assert set(profile.settings) <= named
    given = {key for key, setting in profile.settings.items() if setting.default is None}
    bold = re.findall(r"\*\*`(\w+)`\*\*", SECTIONS[name])
    assert given <= set(bold)


def test_no_section_is_of_a_profile_that_is_not_there() -> None:
    bundled = MANUAL.partition("## Bundled profiles")[2]
    assert set(re.findall(r"^### ([\w-]+)$", bundled, re.M)) == set(CATALOG.names)


@pytest.mark.parametrize("name", CATALOG.names)
def test_preflight_has_something_to_look_for(name: str) -> None:
    """A directory, a file, a program or an image; without any, the program that is started."""
    profile = CATALOG.get(name)
    checked = [setting for setting in profile.settings.values() if setting.check != "none"]
    assert checked or profile.launch.container or profile.launch.command.split()[0] != "sh"
