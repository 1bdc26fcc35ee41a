"""What a campaign begins with, on disk and back."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.campaign.folder.frozen import (
    FOLDER,
    FrozenError,
    changed_since,
    damage,
    freeze,
    read_manifest,
    thaw,
)
from backends.campaign.folder.reader import read_campaign
from backends.campaign.plan.campaign_request import Request, write_request
from backends.campaign.plan.profile_in_campaign import ProfileSetup, staged_files
from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.campaign.record.codec import encode
from backends.campaign.record.state import apply
from backends.inventory.host_entry import Host
from profiles.format.catalog import Catalog
from tests.unit.campaign.strategies import planned

HOSTS = (
    Host("a", address="10.0.0.1", port=2222, labels=("v100", "rack1"), slots=4, jump="b"),
    Host("here", transport="local", lease_dir="/var/lease"),
)


CATALOG = Catalog.load((), None)


def setup(name: str = "cpu-smoke") -> ProfileSetup:
    source = CATALOG.source(name)
    settings_ = {"python": "python3 ü"}
    return ProfileSetup(source, settings_, staged_files(source, settings_))


def frozen(directory: Path, runs: list[ev.RunPlanned]) -> str:
    directory.mkdir()
    write_request(directory / "campaign.toml", Request(Selection(("cpu-smoke",)), HOSTS))
    return freeze(directory, [setup()], HOSTS, 3, runs)


scalars = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=5),
    st.integers(-1000, 1000),
    st.floats(0, 9),
    st.booleans(),
)
cases = st.tuples(
    st.integers(1, 4), st.integers(1, 8), st.dictionaries(st.text(max_size=3), scalars, max_size=2)
)


@given(st.lists(cases, max_size=8))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_plan_comes_back_run_for_run(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[tuple[int, int, dict[str, object]]]
) -> None:
    runs = [
        ev.RunPlanned(
            t=0.0,
            run_id=f"0badcafe-{number:04d}-a1",
            profile="cpu-smoke",
            framework="F",
            model="M",
            unit="samples/s",
            nodes=nodes,
            gpus_per_node=gpus,
            parameters=parameters,  # type: ignore[arg-type]  # scalars
            repeat=number,
            expected_s=40.0 * nodes,
        )
        for number, (nodes, gpus, parameters) in enumerate(chosen, 1)
    ]
    directory = tmp_path_factory.mktemp("c") / "campaign"
    digest = frozen(directory, runs)
    manifest = read_manifest(directory, digest)
    assert list(manifest.planned) == runs
    assert (manifest.hosts, manifest.attempts) == (HOSTS, 3)
    assert thaw(directory, manifest)["cpu-smoke"].stage == setup().stage
    assert thaw(directory, manifest, stage=False)["cpu-smoke"].profile == setup().profile
    assert damage(directory, digest) == ""
    assert changed_since(directory, manifest, stage=True) == ()


def test_twenty_thousand_runs_take_less_than_a_megabyte(tmp_path: Path) -> None:
    runs = [
        ev.RunPlanned(
            t=0.0,
            run_id=f"0badcafe-{number:05d}-a1",
            profile="cpu-smoke",
            framework="F",
            model="M",
            unit="samples/s",
            nodes=1,
            gpus_per_node=1 + number % 8,
            parameters={"batch_size": 32},
            repeat=number,
        )
        for number in range(20_000)
    ]
    frozen(tmp_path / "c", runs)
    assert (tmp_path / "c" / FOLDER / "manifest.json").stat().st_size < 1 << 20


def test_a_manifest_of_a_wrong_shape_is_told_even_where_its_digest_is_right(tmp_path: Path) -> None:
    """A campaign may be somebody else's."""
    (tmp_path / FOLDER).mkdir()
    for document in ([], {}, {"cases": [], "runs": [["a", 7, 1]]}, {"hosts": [{"name": "../x"}]}):
        data = json.dumps(document).encode()
        (tmp_path / FOLDER / "manifest.json").write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        with pytest.raises(FrozenError, match="cannot be understood"):
            read_manifest(tmp_path, digest)
        assert "cannot be understood" in damage(tmp_path, digest)


def test_runs_whose_lines_the_journal_has_lost_are_known_from_the_plan(tmp_path: Path) -> None:
    runs = [planned("r-0001-a1"), planned("r-0002-a1")]
    digest = frozen(tmp_path / "c", runs)
    begun = ev.CampaignCreated(t=1.0, campaign="c", frozen=digest)
    failed = ev.RunFailed(t=2.0, run_id="r-0001-a1", reason="x")
    (tmp_path / "c" / "events.jsonl").write_bytes(encode(begun) + b"#damaged\n" + encode(failed))
    state = read_campaign(tmp_path / "c")
    assert {run_id: str(run.state) for run_id, run in state.runs.items()} == {
        "r-0001-a1": "failed",
        "r-0002-a1": "planned",
    }
    assert state.lost_lines == 1


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_who_goes_on_with_a_damaged_campaign_knows_what_is_read_of_it_later(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Also of runs that were tried again, whichever of their lines are lost."""
    directory = tmp_path_factory.mktemp("c") / "campaign"
    runs = [planned("r-0001-a1"), planned("r-0002-a1")]
    begun = ev.CampaignCreated(t=1.0, campaign="c", frozen=frozen(directory, runs))
    names = ("r-0001-a1", "r-0001-a2", "r-0001-a3", "r-0002-a1", "r-0002-a2", "r-0003-a1")
    lines: list[ev.Event] = [*runs, planned("r-0003-a1", 1.0)]
    for number, name in enumerate(names, 2):
        if name[-1] != "1":
            lines.append(planned(name, float(number)))
        launched = ev.RunLaunched(t=number + 0.3, run_id=name, hosts=("a",), log=f"{name}.log")
        lines += [launched, ev.RunFailed(t=number + 0.6, run_id=name, reason=f"{name} failed")]
    cut = data.draw(st.integers(0, len(lines)))
    lost = data.draw(st.sets(st.integers(0, max(0, cut - 1))))
    before = [b"#damaged\n" if at in lost else encode(line) for at, line in enumerate(lines[:cut])]
    path = directory / "events.jsonl"
    path.write_bytes(encode(begun) + b"".join(before))
    live = read_campaign(directory)
    for line in lines[cut:]:
        known = line.retry_of if isinstance(line, ev.RunPlanned) else line.run_id  # type: ignore[attr-defined]
        if known in {"", *live.runs}:  # of a run that nobody knows nobody writes
            live = apply(live, line)
            path.write_bytes(path.read_bytes() + encode(line))
    assert read_campaign(directory).runs == live.runs
