"""Who may read a campaign that the command line made, whatever the umask: each of its files."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from tests.support.campaigns import Bench, kill_hard
from tests.support.program import run_program
from tests.support.waiting import wait_until


@pytest.fixture
def bench(tmp_path: Path, local_host: Host) -> Bench:
    return Bench(tmp_path, [local_host])


def modes(directory: Path, apart: Collection[Path] = ()) -> tuple[set[int], set[int]]:
    """Of the directories and of the files, the topmost included; not of what nobody else reads, and
    not of those ``apart``."""
    private = set(directory.rglob("debug.log"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} <= {0o600}
    found = {directory, *directory.rglob("*")} - private - set(apart)
    return (
        {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()},
        {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()},
    )


def does(
    bench: Bench, *words: str, umask: int = 0o022, code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = run_program(bench.words(*words), umask=umask, timeout=120)
    assert done.returncode == code, done.stderr
    return done


def measured(bench: Bench, *more: str, umask: int) -> Path:
    """A campaign from its start to its report; one of its runs stalls and is diagnosed."""
    bench.profile(name="quiet", stall_timeout='"2s"')
    words = ["--set", f"copies={bench.copies}", "lines=3"]
    done = does(bench, "run", "-p", "steady", *words, *more, umask=umask)
    assert "1/1" in done.stderr
    stalls = [*words, "after=time.sleep(600)"]
    does(bench, "run", "-p", "quiet", "--name", "stalls", *stalls, *more, umask=umask, code=1)
    assert list(bench.campaigns.rglob("*.diagnosis.txt"))
    return bench.campaigns


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_a_campaign_is_the_operators_alone(bench: Bench, umask: int) -> None:
    assert modes(measured(bench, umask=umask)) == ({0o700}, {0o600})


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_a_shared_campaign_is_for_the_group_to_read(bench: Bench, umask: int) -> None:
    campaigns = measured(bench, "--share", "group", umask=umask)
    requests = set(campaigns.rglob("spool/requests"))  # colleagues may ask
    assert {stat.S_IMODE(path.stat().st_mode) for path in requests} == {0o3770}
    assert modes(campaigns, apart=requests) == ({0o750}, {0o640})


def test_the_inventory_says_for_whom_campaigns_are(bench: Bench) -> None:
    text = bench.inventory.read_text()
    bench.inventory.write_text(f'[defaults]\nshare = "group"\n{text}')
    bench.campaigns.mkdir()
    bench.campaigns.chmod(0o2770)
    does(bench, "run", *bench.steady_words("1n1g", lines=3), umask=0o077)
    requests = bench.campaign / "spool/requests"
    assert stat.S_IMODE(requests.stat().st_mode) == 0o3770
    assert modes(bench.campaign, apart={requests}) == ({0o2750}, {0o640})
    # What is said on the command line goes first.
    does(bench, "run", "--name", "own", "--share", "private", *bench.steady_words("1n1g", lines=3))
    [own] = bench.campaigns.glob("*-own")
    assert modes(own) == ({0o2700}, {0o600})


def test_a_campaign_that_was_readable_for_all_gets_private_files_when_it_goes_on(
    bench: Bench,
) -> None:
    """One that was made by an earlier version, say."""
    running = bench.spawn("run", *bench.steady_words("1n1g", lines=100))
    wait_until(lambda: bench.campaigns.is_dir() and any(bench.campaigns.glob("*/logs/**/*.log")))
    kill_hard(running)
    campaign = bench.campaign
    old = [campaign, *campaign.rglob("*")]
    for path in old:
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = {path: path.stat().st_ino for path in old}
    does(bench, "resume", str(campaign), umask=0)
    for path in (campaign, *campaign.rglob("*")):
        same = path in before and path.stat().st_ino == before[path]
        private, public = (0o700, 0o755) if path.is_dir() else (0o600, 0o644)
        expected = public if same and "spool" not in path.parts else private
        assert stat.S_IMODE(path.stat().st_mode) == expected, path
    assert (campaign / "report.md").stat().st_mode & 0o077 == 0


def test_a_campaign_with_a_link_out_of_it_is_not_resumed(bench: Bench) -> None:
    running = bench.spawn("run", *bench.steady_words("1n1g", lines=100))
    wait_until(lambda: bench.campaigns.is_dir() and any(bench.campaigns.glob("*/logs/**/*.log")))
    kill_hard(running)
    logs, outside = bench.campaign / "logs", bench.directory / "outside"
    kept = bench.directory / "kept"
    logs.rename(kept)
    outside.mkdir()
    logs.symlink_to(outside)
    for verb in ("resume", "cancel"):
        said = does(bench, verb, str(bench.campaign), code=2).stderr
        assert f"logs is a link out of the campaign, to {outside}" in said.splitlines()[-1]
    assert list(outside.iterdir()) == []
    logs.unlink()
    kept.rename(logs)
    does(bench, "resume", str(bench.campaign))


@pytest.mark.parametrize(
    ("more", "expected"),
    [((), ({0o700}, {0o600})), (("--share", "group"), ({0o750}, {0o640}))],
)
def test_an_imported_campaign_is_kept_like_any_other(
    bench: Bench, more: tuple[str, ...], expected: tuple[set[int], set[int]]
) -> None:
    log = bench.directory / "logs" / "1n1g" / "r50_b128_fp32_1.log"
    log.parent.mkdir(parents=True)
    line = "train: epoch 0, iter {}, loss: 6.5, top_1: 0.0, top_k: 0.0, samples/s: 380\n"
    log.write_text("".join(map(line.format, (20, 40, 60))))
    there = bench.directory / "there"
    there.mkdir(mode=0o755)
    for output in (bench.directory / "new", there):
        words = ("-p", "oneflow-resnet50", str(log.parents[1]), "-o", str(output), *more)
        does(bench, "import", *words, umask=0)
        assert modes(output) == expected


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_campaigns_that_may_not_be_read_hide_no_others(bench: Bench) -> None:
    """Another user lists a directory where one campaign is shared and one is not."""
    bench.campaigns.mkdir()
    does(bench, "run", "--name", "own", *bench.steady_words("1n1g", lines=3))
    does(bench, "run", "--name", "all", *bench.steady_words("1n1g", lines=3))
    [shared] = bench.campaigns.glob("*-all")
    for path in (shared, *shared.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (shared / "writer.lock").touch(mode=0o600)

    async def names() -> list[str]:
        return [campaign.path.name for campaign in bench.workspace().campaigns()]

    for directory in (bench.campaigns, *bench.campaigns.parents):
        if directory != Path("/tmp") and str(directory).startswith("/tmp/"):
            directory.chmod(0o755)
    assert len(asyncio.run(names())) == 2, "and now everything is imported"
    os.seteuid(65534)
    try:
        found = asyncio.run(names())
    finally:
        os.seteuid(0)
    assert [name.split("-")[-1] for name in found] == ["all"]
