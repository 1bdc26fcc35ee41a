"""A campaign goes on, and is reported, as it began: whatever became of its files meanwhile."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from backends.campaign.folder import frozen
from backends.campaign.folder.reader import read_campaign
from backends.campaign.record.state import CampaignState, RunState
from backends.inventory.host_entry import Host
from profiles.errors import DlperfError
from tests.support.campaigns import Bench, kill_hard, until_running
from tests.support.waiting import until

CHANGED = "changed since the campaign began: "


@pytest.fixture
async def bench(tmp_path: Path, local_host: Host) -> AsyncIterator[Bench]:
    found = Bench(tmp_path, [local_host])
    yield found
    await found.close()


def dlperf(bench: Bench, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    process = bench.spawn(*words)
    out, err = process.communicate(timeout=90)
    assert process.returncode == code, f"{process.returncode}: {out}\n{err}"
    return subprocess.CompletedProcess(words, process.returncode, out, err)


async def killed_after(bench: Bench, *words: str, when: Callable[[CampaignState], bool]) -> Path:
    """``dlperf-tui run`` killed as soon as its campaign is so; its runs go on."""
    console = bench.spawn("run", *words)

    def ready() -> bool:
        assert console.poll() is None, console.communicate()
        try:
            return when(read_campaign(bench.campaign))
        except (ValueError, FileNotFoundError, DlperfError):  # not there yet
            return False

    await until(ready)
    kill_hard(console)
    return bench.campaign


def reading(state: CampaignState) -> bool:
    """The first run is on its way, and none has ended."""
    return next(iter(state.runs.values())).reading_count >= 2


def throughputs(document: dict[str, Any]) -> list[float]:
    return [run["throughput"] for run in document["runs"]]


async def test_a_profile_that_is_edited_meanwhile_changes_no_figure(bench: Bench) -> None:
    path = await killed_after(
        bench, *bench.steady_words("1n1g", lines=30), "--repeats", "2", when=reading
    )
    bench.profile(
        reading=r"'iter (?P<step>\d+), loss: (?P<value>[\d.]+)'", command='"false"', timeout='"1s"'
    )
    resumed = dlperf(bench, "resume", path.name, "--json")
    document = json.loads(resumed.stdout)
    assert throughputs(document) == [pytest.approx(115.5), pytest.approx(115.5)]
    told = [text for _, _, text in read_campaign(path).notes if CHANGED in text]
    assert told == [f"{CHANGED}profile steady; it goes by what it began with"]
    for command in ("status", "report"):
        assert dlperf(bench, command, path.name).stderr.count(f"{CHANGED}profile steady;") == 1
    bench.nothing_is_left()


async def test_one_note_names_all_that_changed_and_is_not_repeated(bench: Bench) -> None:
    path = await killed_after(
        bench, *bench.steady_words("1n1g", lines=30), "--repeats", "2", when=reading
    )
    bench.profile(statistic='"median"')
    program = bench.profiles / "steady.py"
    program.write_text(program.read_text().replace("100 + i", "900 + i"))
    asked = path / "campaign.toml"
    asked.write_text(asked.read_text().replace("lines = [", "every = ['9']\nlines = ["))
    for _ in range(2):
        document = json.loads(dlperf(bench, "resume", path.name, "--json").stdout)
        assert throughputs(document) == [pytest.approx(115.5)] * 2
        notes = [text for _, _, text in read_campaign(path).notes if CHANGED in text]
        assert notes == [
            f"{CHANGED}profile steady, steady.py, campaign.toml; it goes by what it began with"
        ]


async def test_profiles_files_and_request_may_be_gone(bench: Bench, tmp_path: Path) -> None:
    """A profile given by its path, and everything beside it."""
    given = tmp_path / "given"
    shutil.copytree(bench.profiles, given)
    words = ["-p", str(given / "steady.toml"), *bench.steady_words("1n1g", lines=30)[2:]]
    path = await killed_after(bench, *words, "--repeats", "2", when=reading)
    shutil.rmtree(given)
    shutil.rmtree(bench.profiles)
    bench.profiles.mkdir()
    (path / "campaign.toml").unlink()
    document = json.loads(dlperf(bench, "resume", path.name, "--json").stdout)
    assert throughputs(document) == [pytest.approx(115.5)] * 2
    bench.nothing_is_left()


async def test_what_was_frozen_is_there_byte_for_byte(bench: Bench) -> None:
    dlperf(bench, "run", *bench.steady_words("1n1g", lines=3))
    folder = bench.campaign / "frozen"
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    manifest = json.loads((folder / "manifest.json").read_text())
    [profile] = manifest["profiles"]
    [stage] = profile["stage"]
    assert names == ["manifest.json", "profiles/steady.toml", f"stage/{stage['digest']}.tar"]
    text = (bench.profiles / "steady.toml").read_bytes()
    assert (folder / "profiles" / "steady.toml").read_bytes() == text
    assert profile["settings"]["lines"] == "3"
    assert [host["name"] for host in manifest["hosts"]] == [bench.hosts[0].name]
    [(run_id, case, repeat)] = manifest["runs"]
    assert [run_id] == list(read_campaign(bench.campaign).runs)
    assert (case, repeat, manifest["cases"][0]["profile"]) == (0, 1, "steady")


def edit(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


@pytest.mark.parametrize("harm", [edit, Path.unlink])
@pytest.mark.parametrize("name", ["manifest.json", "profiles/steady.toml", "stage/*.tar"])
async def test_damage_to_what_is_frozen_stops_the_campaign_and_is_reported(
    bench: Bench, name: str, harm: Callable[[Path], None]
) -> None:
    path = await killed_after(
        bench, *bench.steady_words("1n1g", lines=1000), "--repeats", "2", when=reading
    )
    [harmed] = (path / "frozen").glob(name)
    harm(harmed)
    before = (path / "events.jsonl").read_bytes()
    [line] = dlperf(bench, "resume", path.name, code=2).stderr.splitlines()
    assert f"frozen/{harmed.relative_to(path / 'frozen')} " in line
    assert "dlperf-tui cancel" in line
    assert (path / "events.jsonl").read_bytes() == before
    assert (
        f"frozen/{harmed.relative_to(path / 'frozen')} "
        in dlperf(bench, "status", path.name).stdout
    )
    assert "frozen/" in dlperf(bench, "report", path.name).stderr
    dlperf(bench, "cancel", path.name)
    assert {run.state for run in read_campaign(path).runs.values()} == {RunState.CANCELLED}
    assert "frozen/" in (path / "report.md").read_text()
    bench.nothing_is_left()


async def test_files_too_large_to_keep_must_be_as_they_were(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen, "KEPT_BYTES", 100)
    controller = await bench.start(lines=1000)
    await until_running(controller)
    await controller.detach()
    assert not list((controller.path / "frozen" / "stage").iterdir())
    resumed = await bench.workspace().resume(controller.path)
    await until_running(resumed, readings=3)
    await resumed.detach()
    program = bench.profiles / "steady.py"
    text = program.read_text()
    program.write_text(text.replace("100 + i", "900 + i"))
    with pytest.raises(frozen.FrozenError, match=r"steady\.py was changed since"):
        await bench.workspace().resume(controller.path)
    program.write_text(text)
    resumed = await bench.workspace().resume(controller.path)
    resumed.cancel_all()
    await resumed.wait()
    bench.nothing_is_left()


async def test_a_host_is_reached_as_today_and_has_its_files_where_they_were(
    bench: Bench, tmp_path: Path
) -> None:
    path = await killed_after(bench, *bench.steady_words("1n1g", lines=30), when=reading)
    text = bench.inventory.read_text()
    bench.inventory.write_text(text.replace(str(tmp_path / "work"), str(tmp_path / "elsewhere")))
    assert bench.inventory.read_text() != text
    document = json.loads(dlperf(bench, "resume", path.name, "--json").stdout)
    assert throughputs(document) == [pytest.approx(115.5)]
    bench.nothing_is_left()


async def test_a_campaign_that_froze_nothing_goes_on_with_todays_profile(bench: Bench) -> None:
    """As campaigns of the first schema did."""
    path = await killed_after(bench, *bench.steady_words("1n1g", lines=30), when=reading)
    journal = path / "events.jsonl"
    first, *rest = journal.read_bytes().splitlines(keepends=True)
    begun = json.loads(first)
    del begun["frozen"]
    begun["schema"] = 1
    journal.write_bytes(json.dumps(begun).encode() + b"\n" + b"".join(rest))
    shutil.rmtree(path / "frozen")
    document = json.loads(dlperf(bench, "resume", path.name, "--json").stdout)
    assert throughputs(document) == [pytest.approx(115.5)]
    told = [text for _, _, text in read_campaign(path).notes]
    assert any("which froze nothing: today's profiles are used" in text for text in told)


def test_two_profiles_of_one_name_are_not_mixed(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(bench.profiles, other)
    words = ["-p", str(other / "steady.toml"), *bench.steady_words("1n1g")]
    line = dlperf(bench, "run", *words, code=2).stderr.splitlines()[-1]
    assert "two profiles are called 'steady'" in line
    assert not bench.campaigns.exists()
