"""Images that are missing are fetched where that is allowed, and told about while they come."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from backends.hosts.image_pull import pull_images
from backends.inventory.host_entry import Host
from backends.transports.local import LocalTransport
from backends.transports.transport import Transport
from tests.unit.hosts.test_preflight import planned

DOCKER = """#!/bin/sh
echo "$@" >>"$TOOLS/asked"
case $1 in
image) [ -e "$TOOLS/there" ] || { echo "Error: No such image: $3" >&2; exit 1; } ;;
pull)
    case $2 in *gone*) echo "manifest unknown" >&2; exit 1 ;; esac
    printf 'a1: Pulling'; sleep 0.1
    printf ' layer\\n\\033[31ma1: Done\\033[0m\\nStatus: fetched' >&2
    : >"$TOOLS/there"
    ;;
esac
"""


class Hosts:
    """By name; all of them this machine, with a docker of its own."""

    def __init__(self, tools: Path) -> None:
        tools.mkdir()
        (tools / "docker").write_text(DOCKER)
        (tools / "docker").chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        self._environment = {**os.environ, "TOOLS": str(tools), "PATH": path}
        self._asked = tools / "asked"

    def get(self, host: Host) -> Transport:
        return LocalTransport(host, environment=self._environment)

    @property
    def asked(self) -> list[str]:
        return self._asked.read_text().splitlines() if self._asked.exists() else []


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    return Hosts(tmp_path / "tools")


def case(image: str, runtime: str = "docker") -> Any:
    return planned({"container": {"image": image, "runtime": runtime}})


def host(pull: str) -> Host:
    return Host("here", transport="local", pull=pull)


async def test_a_missing_image_is_fetched_once_and_its_lines_are_told(hosts: Hosts) -> None:
    said: list[str] = []
    cases = [case("org/x y:1"), case("org/x y:1")]
    assert await pull_images(hosts, [host("missing")], cases, said.append) == ("here",)
    assert said == ["here: a1: Pulling layer", "here: a1: Done", "here: Status: fetched"]
    assert hosts.asked == ["image inspect org/x y:1", "pull org/x y:1"]
    assert await pull_images(hosts, [host("missing")], cases, said.append) == ()
    assert len(said) == 3


async def test_without_leave_nothing_is_even_asked(hosts: Hosts) -> None:
    assert await pull_images(hosts, [host("never")], [case("org/x:1")], print) == ()
    assert hosts.asked == []


async def test_what_a_runtime_fetches_by_itself_or_reads_from_a_file_is_left_to_it(
    hosts: Hosts,
) -> None:
    cases = [case("docker://x", "apptainer"), case("/x.sqsh", "enroot"), case("x", "pyxis")]
    assert await pull_images(hosts, [host("missing")], cases, print) == ()
    assert hosts.asked == []


async def test_why_it_cannot_be_fetched_is_told(hosts: Hosts) -> None:
    said: list[str] = []
    await pull_images(hosts, [host("missing")], [case("org/gone:1")], said.append)
    assert said == ["here: manifest unknown"]
