"""A campaign as one file: the same bytes each time, and nothing that a stranger packs does harm."""

from __future__ import annotations

import gc
import hashlib
import io
import os
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.folder import bundle as format
from backends.campaign.folder import read_bundle
from backends.campaign.folder.bundle import BundleError, checksum_lines, is_plain
from backends.campaign.folder.read_bundle import unpack
from backends.campaign.folder.reader import read_campaign
from backends.campaign.folder.write_bundle import write_bundle
from profiles.errors import DlperfError
from tui.cli import main

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "h200-x2-auto"
Members = Iterable[tuple[tarfile.TarInfo, bytes]]


def copied(target: Path) -> Path:
    subprocess.run(["cp", "-a", EXAMPLE, target], check=True)
    return target


def member(name: str, data: bytes = b"x", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def packed(path: Path, members: Members) -> Path:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(zstandard.compress(raw.getvalue()))
    return path


def honest(**more: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
    """What a bundle of ours is made of; ``more``: logs by name."""
    files = {"events.jsonl": b"{}\n", **{f"logs/{name}.log": data for name, data in more.items()}}
    sums = checksum_lines({name: hashlib.sha256(data).hexdigest() for name, data in files.items()})
    made = [member(f"c/{name}", data) for name, data in sorted(files.items())]
    return [*made, member("c/SHA256SUMS", sums)]


def everything(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_the_same_campaign_gives_the_same_bytes_wherever_and_whenever(tmp_path: Path):
    here = write_bundle(EXAMPLE, "a name", tmp_path / "a.tar.zst")
    elsewhere = copied(tmp_path / "elsewhere")
    for at, path in enumerate(sorted(elsewhere.rglob("*"))):
        os.utime(path, (at, at))
        path.chmod(0o750 if path.is_dir() else 0o600)
    there = write_bundle(elsewhere, "a name", tmp_path / "b.tar.zst")
    assert here.sha256 == there.sha256
    assert (tmp_path / "a.tar.zst").read_bytes() == (tmp_path / "b.tar.zst").read_bytes()
    unpacked = unpack(here.path, _made(tmp_path / "into"))
    again = write_bundle(unpacked, "a name", tmp_path / "c.tar.zst")
    assert again.sha256 == here.sha256


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def test_the_usual_tools_unpack_and_check_it(tmp_path: Path):
    write_bundle(EXAMPLE, "name", tmp_path / "a.tar.zst")
    raw = zstandard.ZstdDecompressor().stream_reader((tmp_path / "a.tar.zst").read_bytes()).read()
    subprocess.run(["tar", "-x", "-C", tmp_path], input=raw, check=True)
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=tmp_path / "name", check=True)
    unpacked = everything(tmp_path / "name")
    del unpacked["SHA256SUMS"]
    assert unpacked == everything(EXAMPLE)


def test_what_is_not_evidence_stays_at_home(tmp_path: Path):
    ours = copied(tmp_path / "ours")
    (ours / "campaign.lock").write_text("mine")
    (ours / "notes of mine.txt").write_text("mine")
    (ours / "logs" / ".swp").write_text("mine")
    with_more = write_bundle(ours, "n", tmp_path / "a.tar.zst")
    assert with_more.sha256 == write_bundle(EXAMPLE, "n", tmp_path / "b.tar.zst").sha256


@pytest.mark.parametrize("kind", ["link", "pipe", "newline"])
def test_what_cannot_travel_is_refused_and_nothing_is_left(tmp_path: Path, kind: str):
    ours = copied(tmp_path / "ours")
    strange = ours / "logs" / ("a\nb" if kind == "newline" else "strange")
    if kind == "link":
        strange.symlink_to("/etc/passwd")
    elif kind == "pipe":
        os.mkfifo(strange)
    else:
        strange.write_text("x")
    with pytest.raises(DlperfError, match="logs/"):
        write_bundle(ours, "n", tmp_path / "out" / "a.tar.zst")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_journal_that_grows_meanwhile_is_taken_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from backends.campaign.folder import write_bundle as writer  # noqa: PLC0415

    ours = copied(tmp_path / "ours")
    looked = writer._files

    def growing(campaign: Path) -> Iterator[str]:
        if campaign != ours:
            return looked(campaign)
        with (campaign / "events.jsonl").open("ab") as journal:
            journal.write(b'{"of a run that came later"')
        return looked(campaign)

    monkeypatch.setattr(writer, "_files", growing)
    grown = write_bundle(ours, "n", tmp_path / "a.tar.zst")
    assert (ours / "events.jsonl").read_bytes() != (EXAMPLE / "events.jsonl").read_bytes()
    assert grown.sha256 == write_bundle(EXAMPLE, "n", tmp_path / "b.tar.zst").sha256


def test_what_was_packed_honestly_is_unpacked(tmp_path: Path):
    found = unpack(packed(tmp_path / "a.tar.zst", honest(one=b"1")), _made(tmp_path / "into"))
    assert (found / "logs/one.log").read_bytes() == b"1"


LINK, DEVICE, FIFO, HARD, FOLDER = (
    {"type": tarfile.SYMTYPE, "linkname": "/etc", "size": 0},
    {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3, "size": 0},
    {"type": tarfile.FIFOTYPE, "size": 0},
    {"type": tarfile.LNKTYPE, "linkname": "c/events.jsonl", "size": 0},
    {"type": tarfile.DIRTYPE, "size": 0},
)
HOSTILE: dict[str, Callable[[], Members]] = {
    "up": lambda: [member("c/logs/../../../escaped"), *honest()],
    "up at once": lambda: [member("../escaped"), *honest()],
    "absolute": lambda: [member("/tmp/escaped"), *honest()],
    "a dot": lambda: [member("c/./logs/a"), *honest()],
    "two slashes": lambda: [member("c//logs/a"), *honest()],
    "a symlink": lambda: [member("c/logs", **LINK), *honest()],
    "a device": lambda: [member("c/logs/null", **DEVICE), *honest()],
    "a pipe": lambda: [member("c/logs/pipe", **FIFO), *honest()],
    "a hard link": lambda: [*honest()[:-1], member("c/logs/x", **HARD), honest()[-1]],
    "a directory": lambda: [member("c/logs", **FOLDER), *honest()],
    "hidden": lambda: [member("c/logs/.bashrc"), *honest()],
    "another directory": lambda: [member("d/logs/a"), *honest()],
    "twice": lambda: [honest()[0], *honest()],
    "a file as a directory": lambda: [member("c/logs"), *honest(one=b"1")],
    "no such file of ours": lambda: [member("c/authorized_keys"), *honest()],
    "not in the checksums": lambda: [member("c/logs/more.log"), *honest()],
    "missing": lambda: honest(one=b"1")[::2],
    "changed": lambda: [member("c/events.jsonl", b"{ }\n"), honest()[-1]],
    "behind the checksums": lambda: [*honest(), member("c/logs/late.log")],
    "no checksums": lambda: honest()[:-1],
    "no campaign": lambda: [member("c/SHA256SUMS", b"")],
    "nothing": list,
    "a control character": lambda: [member("c/logs/\x1b]0;x\x07"), *honest()],
    "a long name": lambda: [member("c/logs/" + "x" * 2000), *honest()],
    "headers of its own": lambda: [
        member("c/logs/x", pax_headers={"GNU.sparse.major": "1"}),
        *honest(),
    ],
    "a header without an end": lambda: [
        member("c/logs/x", pax_headers={"comment": "x" * 10_000_000}),
        *honest(),
    ],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_no_bundle_of_ours_does_is_refused(tmp_path: Path, what: str):
    into = _made(tmp_path / "deep")
    with pytest.raises(BundleError):
        unpack(packed(tmp_path / "a.tar.zst", HOSTILE[what]()), into)
    assert not list(tmp_path.rglob("escaped"))
    assert not Path("/tmp/escaped").exists()
    outside = {path.name for path in tmp_path.iterdir()}
    assert outside == {"a.tar.zst", "deep"}


def test_a_bomb_stops_at_the_room_that_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    bomb = packed(tmp_path / "a.tar.zst", [member("c/logs/zeros", b"\0" * 50_000_000)])
    assert bomb.stat().st_size < 10_000
    monkeypatch.setattr(read_bundle, "MOST_BYTES", 1_000_000)
    into = _made(tmp_path / "into")
    with pytest.raises(BundleError, match="more than there is room for"):
        unpack(bomb, into)
    assert sum(map(len, everything(into).values())) == 0


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_of_any_size_takes_no_memory(tmp_path: Path, kind: bytes):
    long = member("././@LongLink", b"x" * 300_000, type=kind)
    with pytest.raises(BundleError, match="larger than any of ours"):
        unpack(packed(tmp_path / "a.tar.zst", [long, *honest()]), _made(tmp_path / "into"))


def test_a_bomb_of_many_files_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    many = packed(tmp_path / "a.tar.zst", [member(f"c/logs/{n}", b"") for n in range(50)])
    monkeypatch.setattr(read_bundle, "MOST_FILES", 20)
    with pytest.raises(BundleError, match="more than there is room for"):
        unpack(many, _made(tmp_path / "into"))


def test_every_cut_and_every_changed_byte_is_noticed(tmp_path: Path):
    """Either it is refused, or all that it holds is what was packed."""
    whole = packed(tmp_path / "a.tar.zst", honest(one=b"1" * 3000, two=os.urandom(300)))
    data = whole.read_bytes()
    told = everything(unpack(whole, _made(tmp_path / "whole")))
    said: list[str] = []
    for at in range(0, len(data), 7):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]):
            (tmp_path / "b.tar.zst").write_bytes(damaged)
            into = _made(tmp_path / f"at-{at}-{len(damaged)}")
            try:
                found = unpack(tmp_path / "b.tar.zst", into)
            except BundleError as error:
                said.append(str(error))
            else:
                assert everything(found) == told
    assert len(said) > 50
    assert all(len(text.splitlines()) == 1 for text in said)


@given(st.binary(max_size=600), st.booleans())
def test_any_bytes_are_refused_in_one_line(tmp_path_factory, data: bytes, compressed: bool):
    directory = tmp_path_factory.mktemp("any")
    (directory / "a.tar.zst").write_bytes(zstandard.compress(data) if compressed else data)
    with pytest.raises(BundleError) as refused:
        unpack(directory / "a.tar.zst", _made(directory / "into"))
    assert len(str(refused.value).splitlines()) == 1


def test_what_the_hosts_of_a_hang_said_travels_too(tmp_path: Path):
    campaign = copied(tmp_path / "campaign")
    said = campaign / "diagnosis" / "2f0a-0001-a1"
    said.mkdir(parents=True)
    (said / "node1.txt").write_bytes(b"\x00 what it said")
    bundle = write_bundle(campaign, "a name", tmp_path / "a.tar.zst")
    unpacked = unpack(bundle.path, _made(tmp_path / "into"))
    assert (unpacked / "diagnosis/2f0a-0001-a1/node1.txt").read_bytes() == b"\x00 what it said"


@given(st.text(max_size=60))
def test_a_plain_name_stays_below_its_directory(name: str):
    if is_plain(name):
        assert os.path.normpath(f"/x/{name}") == f"/x/{name}"
        assert name.split("/")[1] in (*format.EVIDENCE, format.CHECKSUMS)


# Through the command line ----------------------------------------------------------------------


def test_a_bundle_reports_the_same_bytes_and_leaves_nothing(
    dlperf: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", str(_made(tmp_path / "tmp")))
    monkeypatch.setattr("tempfile.tempdir", None)
    file = tmp_path / "a.tar.zst"
    cite = dlperf("report", EXAMPLE, "--bundle", file)
    assert f"sha256:{format.digest_of(file)}" in cite
    copy = _made(tmp_path / "copy") / EXAMPLE.name
    dlperf("import", file, "-o", copy)
    began = read_campaign(EXAMPLE).campaign
    for words in (["report"], ["report", "--format", "csv"]):
        told = dlperf(*words, file).replace(began, EXAMPLE.name)
        assert told == dlperf(*words, EXAMPLE) == dlperf(*words, copy)
    named = {began: file, EXAMPLE.name: copy}
    told = [dlperf("status", one).split(": ", 1) for one in (*named.values(), EXAMPLE)]
    assert [name for name, _ in told] == [*named, EXAMPLE.name], "by its directory, if it has one"
    assert len({status for _, status in told}) == 1
    assert str(file) in dlperf("report", file, "--format", "json")
    assert "| same |" in dlperf("compare", file, EXAMPLE)
    assert "1 campaign with a figure" in dlperf("history", file)
    assert str(file) in dlperf("history", file, "--json")
    assert dlperf("logs", file) == dlperf("logs", EXAMPLE)
    assert cite.split("sha256:")[1].strip() in dlperf("report", file, "--format", "html")
    gc.collect()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_figures_of_a_bundle_are_where_somebody_finds_them(
    dlperf: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_bundle(EXAMPLE, "a name", tmp_path / "a.tar.zst")
    monkeypatch.chdir(_made(tmp_path / "here"))
    dlperf("report", tmp_path / "a.tar.zst", "--figures")
    assert [path.suffix for path in (tmp_path / "here").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "words",
    [
        ["resume", "{bundle}"],
        ["cancel", "{bundle}"],
        ["report", "{bad}"],
        ["import", "{bad}", "-o", "{out}"],
        ["import", "{bundle}", "-o", "{there}"],
        ["report", str(EXAMPLE), "--bundle", "{out}/a.zip"],
        ["report", str(EXAMPLE), "{bundle}", "--bundle", "{out}/a.tar.zst"],
        ["report", str(EXAMPLE), "--bundle", "{out}/a.tar.zst", "--layout", "pivot"],
        ["report", str(EXAMPLE), "--format", "html", "--layout", "pivot"],
        ["report", str(EXAMPLE), "--bundle", "{out}/a.tar.zst", "--format", "csv"],
    ],
)
def test_a_wrong_request_is_one_line_and_leaves_nothing(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    bundle = write_bundle(EXAMPLE, "n", tmp_path / "good.tar.zst").path
    bad = packed(tmp_path / "bad.tar.zst", HOSTILE["changed"]())
    there = _made(tmp_path / "there")
    (there / "kept").touch()
    before = sorted(tmp_path.rglob("*"))
    places = {"bundle": bundle, "bad": bad, "out": tmp_path / "out", "there": there}
    assert main([word.format(**places) for word in words]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """What a command says beside its output."""
    monkeypatch.setenv("HOME", str(tmp_path))

    def said(*words: str | Path, code: int = 0) -> str:
        assert main([*map(str, words)]) == code
        return capsys.readouterr().err

    return said


@pytest.mark.parametrize(
    "example", sorted(p.name for p in EXAMPLE.parent.iterdir() if (p / "logs").is_dir())
)
def test_logs_that_give_their_figures_pass_without_a_word(said, tmp_path: Path, example: str):
    campaign = EXAMPLE.parent / example
    assert "warning" not in said("report", campaign, "--bundle", tmp_path / "a.tar.zst")
    assert "warning" not in said("report", campaign)


def test_a_log_that_was_edited_or_deleted_is_told_with_the_bundle_and_in_it(said, tmp_path: Path):
    campaign = copied(tmp_path / "c")
    state = read_campaign(campaign)
    edited, gone, *_ = [run for run in state.runs.values() if run.throughput]
    log = campaign / edited.log
    log.write_text(re.sub(r"(?m)^(.*samples/s: )(\d)", r"\g<1>9\2", log.read_text()))
    (campaign / gone.log).unlink()
    file = tmp_path / "a.tar.zst"
    told = said("report", campaign, "--bundle", file, code=1)
    assert "cite:" not in told
    assert "not to be cited: its logs do not give 2 figures" in told
    for one, why in ((edited, " gives "), (gone, ": missing; ")):
        assert f"warning: {one.log}{'' if one is gone else ':'}{why}" in told
        assert f"the campaign has {one.throughput:.2f}" in told
    assert told.count("warning:") == 2
    said("import", file, "-o", tmp_path / "copy")
    report = (tmp_path / "copy" / "report.md").read_text()
    notes = report.partition("## ")[0]
    assert notes.count("the campaign has ") == 3  # each log, and why the first case has its grade
    assert "missing" in said("report", campaign, "--bundle", tmp_path / "b.tar.zst", code=1)
    assert (tmp_path / "b.tar.zst").read_bytes() == file.read_bytes()
    again = said("report", file)
    assert "cite:" not in again
    assert again.count("warning: ") == 2


@pytest.mark.parametrize("lost", [0, 1, 4])
def test_an_import_says_which_figures_its_logs_do_not_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lost: int
):
    campaign = copied(tmp_path / "c")
    runs = read_campaign(campaign).runs.values()
    measured = [run for run in runs if run.throughput and not run.profiled]
    for run in measured[:lost]:
        (campaign / run.log).unlink()
    monkeypatch.chdir(tmp_path)
    assert main(["report", "./c", "--bundle", "b.tar.zst"]) == (1 if lost else 0)
    capsys.readouterr()
    assert main(["import", "b.tar.zst", "-o", "copy"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{tmp_path / 'copy'}: ")
    n = len(measured)
    if not lost:
        assert err == ""
        assert out.endswith(f" runs, {n} measured\n")
        return
    assert out.endswith(f" runs, {n - lost} of {n} measured figures are what their logs give\n")
    *warned, last = err.splitlines()
    figures = "1 figure" if lost == 1 else f"{lost} figures"
    assert last == f"copy: not to be cited: its logs do not give {figures}"
    assert main(["report", "./copy"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert warned == [line for line in told if line.startswith("warning: ")] != []


def test_logs_of_an_import_are_measured_by_the_profile_of_today(said, tmp_path: Path):
    log = tmp_path / "tree" / "1n1g" / "r50_b128_fp32_1.log"
    log.parent.mkdir(parents=True)
    line = "train: epoch 0, iter {}, loss: 6.5, top_1: 0.0, top_k: 0.0, samples/s: {}\n"
    log.write_text("".join(line.format(20 * n, 380 + n) for n in range(12)))
    campaign = tmp_path / "c"
    said("import", "-p", "oneflow-resnet50", tmp_path / "tree", "-o", campaign)
    assert "warning" not in said("report", campaign, "--bundle", tmp_path / "a.tar.zst")
    (copy,) = (campaign / "logs").rglob("*.log")
    copy.write_text(copy.read_text().replace("samples/s: 38", "samples/s: 48"))
    told = said("report", campaign, "--bundle", tmp_path / "b.tar.zst", code=1)
    assert "by the profile's rule of today" in told
