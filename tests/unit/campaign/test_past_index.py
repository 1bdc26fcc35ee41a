from __future__ import annotations

import hashlib
import json
import math
import os
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest

from backends.campaign.folder import frozen, past_index
from backends.campaign.folder.past_index import PastIndex
from backends.campaign.record.state import CampaignState
from backends.results.past_result import PastOfCase, by_case, other_settings, past_of_case
from profiles.format.case import Case
from profiles.format.case_matrix import expand
from profiles.format.catalog import Catalog
from tests.support.past_campaigns import RUN_S, V100, past_campaign

SOURCE = Catalog.load((), None).source("torch-resnet50")
PROFILE = SOURCE.profile
T = 1_000_000.0
H200 = "NVIDIA H200, driver 580, CUDA 13.0"


def case(tag: str = "1n1g", **parameters: str) -> Case:
    (found,) = expand(PROFILE, [tag], {name: (text,) for name, text in parameters.items()})
    return found


def past(
    index: PastIndex,
    wanted: Case,
    settings: Mapping[str, str] | None = None,
    devices: tuple[str, ...] = (),
    *,
    simulated: bool = False,
) -> PastOfCase:
    results = by_case(index.found.get((PROFILE.name, wanted.tag), ()), PROFILE)
    return past_of_case(results, PROFILE, wanted, settings or {}, devices, simulated=simulated)


def test_a_result_has_the_median_of_its_successful_repeats_and_says_where_it_is_from(
    tmp_path: Path,
) -> None:
    values = [390.0, None, 380.0, 400.0]
    path = past_campaign(tmp_path / "one", SOURCE, {case(): values}, at=5000.0)
    index = PastIndex(tmp_path)
    index.read()
    (found,) = past(index, case()).same
    assert (found.throughput, found.unit, found.repeats) == (390.0, "images/s", 3)
    assert (found.campaign, found.path, found.at) == ("one", path, 5000.0)
    assert found.run_s == RUN_S
    assert found.devices == "Tesla V100-SXM2-16GB"
    assert found.grade is not None


def test_only_what_would_be_the_same_run_today_stands_for_a_case(tmp_path: Path) -> None:
    here = case("1n2g")
    made = {
        "same": {},
        "other-setting": {"settings": {"iterations": "160"}},
        "other-gpu": {"fingerprint": H200},
        "unknown-gpu": {"fingerprint": ""},
        "mixed-gpus": {"fingerprint": "A100 + Tesla V100-SXM2-16GB, driver 1"},
        "simulated": {"simulated": True},
        "unsaid-settings": {"keeps_settings": False},
        "other-place": {"settings": {"torchrun": "/opt/bin/torchrun"}},
    }
    for number, (name, how) in enumerate(made.items()):
        past_campaign(tmp_path / name, SOURCE, {here: [100.0]}, at=T + number, **how)  # type: ignore[arg-type]
    others = {case("1n2g", precision="amp"): [200.0], case("1n4g"): [300.0]}
    past_campaign(tmp_path / "other-cases", SOURCE, others, at=T + 9)
    past_campaign(tmp_path / "failed", SOURCE, {here: [None, None]}, at=T + 9)
    index = PastIndex(tmp_path)
    index.read()
    today = V100.partition(",")[0]
    same = past(index, here, devices=(today,)).same
    assert [one.campaign for one in same] == ["other-place", "same"], "the newest first"
    assert [one.campaign for one in past(index, here, simulated=True).same] == ["simulated"]
    other = past(index, here, {"iterations": "160"}, (today,))
    assert [one.campaign for one in other.same] == ["other-setting"]
    for both in (("A100", today), (f"A100 + {today}",), ("A100", today, "T4")):
        of_both = {one.campaign for one in past(index, here, devices=both).same}
        assert of_both == {"same", "other-place", "mixed-gpus"}, "all its models are there"
    unknown = {one.campaign for one in past(index, here).same}
    assert unknown == {"same", "other-place", "other-gpu", "unknown-gpu", "mixed-gpus"}


def test_a_result_with_other_settings_is_told_apart_with_what_differs(tmp_path: Path) -> None:
    given = {"iterations": "160", "torchrun": "/opt/torchrun"}
    past_campaign(tmp_path / "a", SOURCE, {case(): [100.0]}, at=T, settings=given)
    index = PastIndex(tmp_path)
    index.read()
    found = past(index, case())
    assert found.same == ()
    assert found.other is not None
    assert other_settings(found.other, PROFILE, {}) == {"iterations": "160"}


def test_a_case_that_failed_says_why_until_it_succeeds(tmp_path: Path) -> None:
    here, today, index = case("1n2g"), V100.partition(",")[0], PastIndex(tmp_path)

    def now() -> tuple[str | None, int]:
        index.read()
        of = past(index, here, devices=(today,))
        return of.failed and of.failed.reason, len(of.same)

    past_campaign(tmp_path / "b-old", SOURCE, {here: [100.0, None]}, at=T)
    assert now() == (None, 1), "one of its repeats succeeded"
    elsewhere = {"other": {"settings": {"iterations": "160"}}, "gpu": {"fingerprint": H200}}
    for number, (name, how) in enumerate(elsewhere.items(), 1):
        past_campaign(tmp_path / name, SOURCE, {here: [None]}, at=T + number, **how)  # type: ignore[arg-type]
    past_campaign(tmp_path / "simulated", SOURCE, {here: [None]}, at=T + 5, simulated=True)
    assert now() == (None, 1), "none of them ran as it would now"
    past_campaign(tmp_path / "failed", SOURCE, {here: [None, None]}, at=T + 6)
    assert now() == ("out of memory", 1)
    assert past(index, case("1n4g")).failed is None
    past_campaign(tmp_path / "at-last", SOURCE, {here: [None, 120.0]}, at=T + 7)
    assert now() == (None, 2)


def test_a_parameter_that_the_profile_gained_later_had_its_default(tmp_path: Path) -> None:
    now = case()
    then = Case(now.profile, 1, 1, {"batch_size": 256, "precision": "fp32"})
    past_campaign(tmp_path / "a", SOURCE, {then: [100.0]}, at=T)
    index = PastIndex(tmp_path)
    index.read()
    assert len(past(index, now).same) == 1
    assert past(index, case(compile="on")).same == ()


def test_a_campaign_is_read_once_and_again_when_its_journal_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    reading = past_index._results

    def counted(directory: Path, state: CampaignState) -> object:
        read.append(directory.name)
        return reading(directory, state)

    monkeypatch.setattr(past_index, "_results", counted)
    for name in ("a", "b"):
        past_campaign(tmp_path / name, SOURCE, {case(): [100.0]}, at=T)
    index = PastIndex(tmp_path)
    index.read()
    before = index.found
    index.read()
    assert sorted(read) == ["a", "b"]
    assert index.found is before, "who looks sees that nothing has changed"
    journal = tmp_path / "b" / "events.jsonl"
    os.utime(journal, ns=(1, 1))
    index.read()
    assert sorted(read) == ["a", "b", "b"]
    journal.unlink()
    index.read()
    assert [one.campaign for one in past(index, case()).same] == ["a"]


def test_of_thousands_the_campaigns_written_last_are_read_first_and_no_more_than_so_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_index, "MOST_CAMPAIGNS", 40)
    seen: list[int] = []
    for number in range(50):
        path = past_campaign(tmp_path / f"c{number:02d}", SOURCE, {case(): [1.0]}, at=T + number)
        os.utime(path / "events.jsonl", (number + 1, number + 1))
    index = PastIndex(tmp_path)

    def look() -> bool:
        seen.append(len(past(index, case()).same))
        return True

    index.read(look)
    found = [one.campaign for one in past(index, case()).same]
    assert found == [f"c{number:02d}" for number in range(49, 9, -1)]
    assert sorted(set(seen)) == [0, 16, 32], "some can be seen before all were read"


def test_reading_ends_when_it_is_not_wanted_any_more_and_goes_on_later(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        past_campaign(tmp_path / name, SOURCE, {case(): [1.0]}, at=T)
    index = PastIndex(tmp_path)
    asked = iter([True, False])
    index.read(lambda: next(asked))
    assert not index.complete
    index.read()
    assert index.complete
    assert len(past(index, case()).same) == 3


def test_what_cannot_be_read_is_left_out_and_holds_nothing_up(tmp_path: Path) -> None:
    past_campaign(tmp_path / "good", SOURCE, {case(): [1.0]}, at=T)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "events.jsonl")
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "events.jsonl").write_bytes(b"\x00\xff{ not json")
    (tmp_path / "empty").mkdir()
    (tmp_path / "newer").mkdir()
    line = b'{"kind":"CampaignCreated","t":1,"campaign":"x","schema":99}\n'
    (tmp_path / "newer" / "events.jsonl").write_bytes(line)
    odd = past_campaign(tmp_path / "odd", SOURCE, {case(): [1.0]}, at=T)
    os.mkfifo(odd / "frozen" / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    past_campaign(tmp_path / "no-sum", SOURCE, {case(): [1.7e308, 1.7e308]}, at=T)
    index = PastIndex(tmp_path)
    index.read()
    assert index.complete
    assert [one.campaign for one in past(index, case()).same] == ["good"]
    PastIndex(tmp_path / "nowhere").read()


def test_settings_that_were_changed_afterwards_are_not_believed(tmp_path: Path) -> None:
    path = past_campaign(tmp_path / "a", SOURCE, {case(): [1.0]}, at=T)
    manifest = path / "frozen" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"120"', '"999"'))
    index = PastIndex(tmp_path)
    index.read()
    (one,) = index.found[PROFILE.name, "1n1g"]
    assert one.settings is None


@pytest.mark.parametrize(
    ("key", "value"),
    [("attempts", math.inf), ("attempts", math.nan), ("profiles", [{"stage": 1}]), ("runs", "x")],
)
def test_a_manifest_that_its_own_journal_vouches_for_is_not_believed_either(
    tmp_path: Path, key: str, value: object
) -> None:
    path = past_campaign(tmp_path / "a", SOURCE, {case(): [1.0]}, at=T)
    _vouch_for(path, {key: value})
    index = PastIndex(tmp_path)
    index.read()
    (one,) = index.found[PROFILE.name, "1n1g"]
    assert one.settings is None


def test_a_size_that_is_no_number_makes_a_manifest_one_that_cannot_be_understood(
    tmp_path: Path,
) -> None:
    path = past_campaign(tmp_path / "a", SOURCE, {case(): [1.0]}, at=T)
    document = json.loads((path / "frozen" / "manifest.json").read_text())
    (profile,) = document["profiles"]
    profile["stage"] = [{"source": "/x", "digest": "0", "size": math.inf}]
    digest = _vouch_for(path, document)
    with pytest.raises(frozen.FrozenError, match="cannot be understood"):
        frozen.read_manifest(path, digest)


def test_a_manifest_of_a_terabyte_is_not_read(tmp_path: Path) -> None:
    path = past_campaign(tmp_path / "a", SOURCE, {case(): [1.0]}, at=T)
    os.truncate(path / "frozen" / "manifest.json", 1 << 40)
    tracemalloc.start()
    try:
        index = PastIndex(tmp_path)
        index.read()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    (one,) = index.found[PROFILE.name, "1n1g"]
    assert one.settings is None
    assert most < 16 << 20
    with pytest.raises(frozen.FrozenError, match="too large"):
        frozen.read_manifest(path, "0")


def _vouch_for(path: Path, changed: Mapping[str, object]) -> str:
    """Change the manifest, and the digest of it in the journal; returns that."""
    manifest, journal = path / "frozen" / "manifest.json", path / "events.jsonl"
    data = manifest.read_bytes()
    manifest.write_text(json.dumps({**json.loads(data), **changed}))
    before, now = (hashlib.sha256(text).hexdigest() for text in (data, manifest.read_bytes()))
    assert before in journal.read_text()
    journal.write_text(journal.read_text().replace(before, now))
    return now


def test_the_campaigns_of_the_documentation_are_found(tmp_path: Path) -> None:
    index = PastIndex(Path(__file__).parents[3] / "docs" / "examples")
    index.read()
    values = {"precision": "amp", "compile": "on", "graphs": "on"}
    settings = {"iterations": "160", "print_every": "16"}
    of = past(index, case("1n4g", **values), settings, ("NVIDIA H200",))
    assert of.newest is not None
    assert round(of.newest.throughput, 2) == 26595.91
    assert (of.newest.repeats, str(of.newest.grade)) == (3, "B")
