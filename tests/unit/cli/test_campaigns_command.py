"""``campaigns``: listed, removed only where nothing is lost that only they know, tagged, noted."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from backends.campaign.folder.index import list_campaigns
from backends.campaign.folder.past_index import PastIndex
from backends.campaign.folder.tags_and_note import NOTE_CAP, read_about
from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from backends.hosts.preflight_finding import Bearing
from profiles.errors import SelectionError
from tests.support.waiting import wait_until
from tests.unit.cli.conftest import (
    BEGUN,
    FINISHED,
    Cli,
    OnTerminal,
    append,
    assigned,
    hold,
    planned,
    succeeded,
)
from tui.cli import main
from tui.cli.arguments import build_parser
from tui.screens.campaign_list import name_of
from tui.screens.campaign_text import COLUMNS, campaign_rows, summary_words

Campaign = Callable[..., Path]
DAY = 86400.0
DONE = (planned("a"), assigned("a"), succeeded("a"), FINISHED)
AWAY = Cleanup(True, (Doubt("node7", Why.AWAY),))


def names(cli: Cli) -> list[str]:
    return sorted(path.name for path in cli.campaigns.iterdir())


def inside(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_they_are_listed_with_size_state_tags_and_note(cli: Cli, campaign: Campaign) -> None:
    path = campaign("done", *DONE, age_s=2 * DAY)
    (path / "logs").mkdir()
    (path / "logs" / "a.log").write_bytes(b"x" * 3 * 1024 * 1024)
    campaign("open", planned("a"), age_s=DAY)
    cli("campaigns", "tag", "done", "baseline", "v100")
    cli("campaigns", "note", "done", "new  driver\n| on rack1")
    answer = cli("campaigns", "ls")
    assert [row[8][:2] for row in answer.rows] == ["20", "20"]  # when each began
    assert [row[9] for row in answer.rows] == ["cpu-smoke 1n1g"] * 2
    assert [[*row[:4], row[10]] for row in answer.rows] == [
        ["open", *answer.rows[0][1:2], "unfinished", "0/1", ""],
        ["done", "3.0 MiB", "finished", "1/1", "#baseline #v100 · note: new driver | on rack1"],
    ]
    figures = [row[4:8] for row in answer.rows]
    assert figures[0] == ["–", "–", "–", "–"]
    assert "speedup, grade and device: of the fastest case\n" in answer.err
    assert "fastest case" not in cli("campaigns", "ls", "--tag", "x").err
    listed = cli.document("campaigns", "ls")
    assert [(one["campaign"], one["tags"], one["note"]) for one in listed] == [
        ("open", [], ""),
        ("done", ["baseline", "v100"], "new driver | on rack1"),
    ]
    assert [one["campaign"] for one in cli.document("campaigns", "ls", "--tag", "v100")] == ["done"]
    assert "no campaigns with the tag x" in cli("campaigns", "ls", "--tag", "x").err
    assert [one["tags"] for one in cli.document("status")] == [[], ["baseline", "v100"]]


WORN, IN_USE = Bearing(hosts=(("node2",),), gpus=(2,)), Bearing(hosts=(("node1",),))


@pytest.mark.parametrize(
    ("on", "forced"),
    [
        ((WORN, IN_USE), "forced past node[1-2]"),
        ((WORN, WORN), "forced past node2"),
        ((WORN,), "forced"),  # nobody says of which the other is
        ((WORN, Bearing()), "forced"),
        ((WORN, Bearing(hosts=(("node1",), ("node2",)))), "forced"),  # of what these do to others
        ((), "forced"),  # an older journal
    ],
)
def test_a_list_says_what_was_forced_and_which_hosts_were_left_out(
    cli: Cli, campaign: Campaign, on: tuple[Bearing, ...], forced: str
) -> None:
    campaign("plain", planned("a"), age_s=DAY)
    left = ("node3: in use", "node4: did not answer", "cpu-smoke 4n1g b64: takes 4 hosts")
    path = campaign("decided")
    (path / "events.jsonl").unlink()
    begun = ev.CampaignCreated(
        t=time.time(),
        campaign="decided",
        forced=True,
        overridden=("node2: 3 memory errors", "node1: in use"),
        forced_on=on,
        left_out=left,
    )
    append(path, begun, planned("a"))
    words = f"{forced}, left out: node[3-4]"
    assert [(row[0], row[10]) for row in cli("campaigns", "ls").rows] == [
        ("decided", words),
        ("plain", ""),
    ]
    told = [(one["forced"], one["left_out"]) for one in cli.document("campaigns", "ls")]
    assert told == [(True, [*left]), (False, [])]
    assert [one["forced"] for one in cli.document("status")] == [True, False]
    newest, other = list_campaigns(cli.campaigns, time.time)
    assert f"{forced} · left out: node[3-4]" in summary_words(newest, BEGUN).plain
    row, plain = campaign_rows([newest, other], BEGUN)
    remarks = next(n for n, column in enumerate(COLUMNS) if column.key == "said")
    assert row.cells[remarks].plain == words
    assert plain.cells[remarks].plain == ""


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ("NVIDIA H200", "H200"),
        ("H200-SXM5-141GB", "H200"),
        ("NVIDIA H200 + Tesla V100-SXM2-16GB", "H200 + V100-SXM2-16GB"),
        ("NVIDIA A100-SXM4-40GB + A100-SXM4-40GB", "A100-SXM4-40GB"),
        ("Intel(R) Xeon(R) Gold 6230", "Intel(R) Xeon(R) Gold 6230"),
    ],
)
def test_a_list_spells_a_gpu_model_in_one_way(
    cli: Cli, campaign: Campaign, devices: str, said: str
) -> None:
    one = replace(succeeded("a"), fingerprint=f"{devices}, driver 1")
    campaign("c", planned("a"), assigned("a"), one, FINISHED)
    (row,) = cli("campaigns", "ls").rows
    assert row[7] == said


@pytest.mark.parametrize(
    ("other", "marks"),
    [
        ({}, []),
        ({"statistic": "median"}, ["‡"]),
        ({"fingerprint": "B, driver 1"}, ["†"]),
        ({"statistic": "median", "fingerprint": "B, driver 1"}, ["†", "‡"]),
    ],
)
def test_a_speedup_in_the_list_has_the_marks_that_it_has_in_tables(
    cli: Cli, campaign: Campaign, other: dict[str, str], marks: list[str]
) -> None:
    base = replace(succeeded("a"), fingerprint="A, driver 1")
    wide = replace(base, run_id="b", throughput=190.0, **other)
    two = replace(planned("b"), gpus_per_node=2)
    path = campaign("c", planned("a"), two, assigned("a"), base, assigned("b"), wide, FINISHED)
    answer = cli("campaigns", "ls")
    (row,) = answer.rows
    assert row[5] == " ".join(["1.90", *marks])
    assert [line[0] for line in answer.err.splitlines() if line[0] in "†‡"] == marks
    assert row[5] in cli("report", "c", "--layout", "speedup").out
    (listed,) = cli.document("campaigns", "ls")
    assert listed["fastest"]["speedup_marks"] == marks
    past = PastIndex(cli.campaigns)
    past.read()
    (summary,) = list_campaigns(cli.campaigns, time.time)
    below = summary_words(summary, BEGUN, {path: past.by_campaign[path]}).plain
    assert f"speedup {row[5]}" in below
    assert ("another rule than its base" in below) == ("‡" in marks)


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 2), (2, 4), (1, 2, 4)])
@pytest.mark.parametrize("slower", [False, True])
def test_the_list_says_of_the_fastest_case_where_it_is_the_base_of_the_speedups(
    cli: Cli, campaign: Campaign, sizes: Sequence[int], slower: bool
) -> None:
    events: list[ev.Event] = []
    for place, size in enumerate(sizes):
        run_id = f"r{place}"
        rate = 100.0 / size if slower else 100.0 * size
        of_size = replace(planned(run_id), gpus_per_node=size)
        events += [of_size, assigned(run_id), replace(succeeded(run_id), throughput=rate)]
    path = campaign("c", *events, FINISHED)
    (row,) = cli("campaigns", "ls").rows
    several = len(sizes) > 1
    scaled = f"{sizes[-1] / sizes[0]:.2f}"
    assert row[5] == ("–" if not several else "base" if slower else scaled)
    past = PastIndex(cli.campaigns)
    past.read()
    (summary,) = list_campaigns(cli.campaigns, time.time)
    below = summary_words(summary, BEGUN, {path: past.by_campaign[path]}).plain
    assert ("base of the speedups" in below) == (several and slower)


@pytest.mark.parametrize("word", ["mv", "rename"])
def test_without_an_action_they_are_listed_and_a_moved_one_by_its_new_name(
    cli: Cli, campaign: Campaign, word: str
) -> None:
    campaign("done", *DONE, age_s=DAY)
    campaign("open", planned("a"))
    cli("campaigns", word, "done", "baseline")
    listed = cli("campaigns")
    assert [row[0] for row in listed.rows] == ["open", "baseline"]
    assert "begun as done" in " ".join(listed.rows[1])
    assert listed.rows == cli("campaigns", "ls").rows
    assert [row[0] for row in cli("status").rows] == ["open", "baseline"]
    assert cli("status", "baseline").code == 0


@pytest.mark.parametrize(
    "words",
    [
        *(("pause", "unpause", "retry")),
        *(f"{verb} --run {run}" for verb in ("pause", "unpause", "retry") for run in "ax"),
        "cancel --run x",
        "report --layout collectives",
    ],
)
def test_a_refusal_names_a_moved_campaign_as_the_list_does(
    cli: Cli, campaign: Campaign, words: str
) -> None:
    campaign("begun-so", *DONE)
    cli("campaigns", "mv", "begun-so", "called-so")
    verb, *options = words.split()
    said = cli(verb, "called-so", *options, code=2).err.splitlines()[-1]
    assert "called-so: " in said
    assert "begun-so" not in said


def test_tags_are_added_once_and_taken_away(cli: Cli, campaign: Campaign) -> None:
    path = campaign("done", *DONE)
    cli("campaigns", "tag", "done", "b", "a")
    cli("campaigns", "tag", "done", "a", "c")
    assert read_about(path).tags == ("b", "a", "c")
    cli("campaigns", "tag", "done", "b", "zzz", "--remove")
    assert read_about(path).tags == ("a", "c")
    cli("campaigns", "tag", "done", "a", "c", "--remove")
    assert not (path / "about.toml").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tag", "done", "a b"], "'a b' is no tag"),
        (["tag", "done", "ok", "\x1b[2J"], "is no tag"),
        (["tag", "done", "../x/.."], "is no tag"),
        (["tag", "done", "--", "-x"], "is no tag"),
        (["note", "done", "x" * (NOTE_CAP + 1)], "at most 2,000 characters"),
        (["tag", "nothere", "a"], "no campaign 'nothere'"),
        (["note", "done"], "TEXT"),
        (["tag", "done"], "TAG"),
        (["rm"], "CAMPAIGN"),
        (["rm", "done", "nothere"], "no campaign 'nothere'"),
        (["prune", "--keep", "-1"], "--keep: must be 0 or more"),
        (["prune", "--older-than", "90"], "'90' is not a duration"),
        (["ls", "done"], "unrecognized arguments: done"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_changed(
    cli: Cli, campaign: Campaign, words: Sequence[str], says: str
) -> None:
    path = campaign("done", *DONE)
    before = inside(path)
    # Options may stand before what is to be taken as it is.
    line = cli.complaint("campaigns", *words) if "--" not in words else cli_before(cli, words)
    assert says in line
    assert inside(path) == before
    assert not read_about(path).tags


def cli_before(cli: Cli, words: Sequence[str]) -> str:
    from tui.cli import main  # noqa: PLC0415

    assert main(["--campaigns", str(cli.campaigns), "campaigns", *words]) == 2
    return cli.capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["rm", "done", "--yes"], ["prune", "--yes"], ["tag", "done", "a"]]
)
def test_looking_only_changes_nothing(cli: Cli, campaign: Campaign, words: list[str]) -> None:
    campaign("done", *DONE)
    assert "--readonly" in cli.complaint("--readonly", "campaigns", *words)
    assert names(cli) == ["done"]


def test_a_note_of_somebody_else_cannot_act_on_the_terminal(cli: Cli, campaign: Campaign) -> None:
    path = campaign("done", *DONE)
    (path / "about.toml").write_text(
        'tags = ["ok", 3, "a b", "\\u001b[2J"]\nnote = "x\\u001b[2Jy"\n'
    )
    assert (read_about(path).tags, read_about(path).note) == (("ok",), "xy")
    for text in ("tags = ", "tags = 3\nnote = 4", "\0", "[" * 5000):
        (path / "about.toml").write_text(text)
        assert read_about(path).tags == ()
    (path / "about.toml").unlink()
    os.mkfifo(path / "about.toml")
    assert read_about(path).tags == ()


def test_what_is_said_is_in_the_report(cli: Cli, tmp_path: Path) -> None:
    figures = tmp_path / "figures.toml"
    figures.write_text(
        'framework = "F"\nmodel = "M"\nfigures = [{ case = "1n1g", throughput = [1.0, 2.0] }]\n'
    )
    cli("import", figures, "-o", cli.campaigns / "one")
    report = cli.campaigns / "one" / "report.md"
    assert "new driver" not in report.read_text()
    cli("campaigns", "note", "one", "new driver [x](y)")
    cli("campaigns", "tag", "one", "baseline")
    assert "# one\n\nnew driver \\[x\\](y)\n\n`baseline`\n" in report.read_text()
    assert not (cli.campaigns / "one" / "writer.lock").exists()
    cli("campaigns", "note", "one", "")
    assert "new driver" not in report.read_text()


def test_a_tag_can_be_given_while_a_console_is_at_work(cli: Cli, campaign: Campaign) -> None:
    path = campaign("live", planned("a"), assigned("a"))
    (path / "report.md").write_text("the console's\n")
    hold(path)
    cli("campaigns", "tag", "live", "baseline")
    assert read_about(path).tags == ("baseline",)
    assert (path / "report.md").read_text() == "the console's\n"


# Removing ----------------------------------------------------------------------------------------


def test_one_is_removed_with_all_that_is_ours_and_nothing_that_a_link_leads_to(
    cli: Cli, campaign: Campaign, tmp_path: Path
) -> None:
    path, other = campaign("done", *DONE), campaign("other", *DONE)
    (path / "logs").mkdir()
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").write_text("x")
    (path / "logs" / "link").symlink_to(precious)
    (path / "telemetry").symlink_to(precious)
    answer = cli("campaigns", "rm", "done", "--yes")
    assert answer.err == f"removed: {path}\n"
    assert names(cli) == ["other"]
    assert (precious / "data").read_text() == "x"
    assert (other / "events.jsonl").is_file()


def test_without_a_terminal_and_without_yes_nothing_is_removed(
    cli: Cli, campaign: Campaign
) -> None:
    campaign("done", *DONE)
    answer = cli("campaigns", "rm", "done", code=2)
    assert answer.err.startswith("dlperf-tui: nothing removed of 1 campaign, ")
    assert answer.err.endswith("; add --yes\n")
    assert names(cli) == ["done"]


@pytest.mark.parametrize(("typed", "left"), [(b"y\n", []), (b"n\n", ["done"]), (b"\n", ["done"])])
def test_the_question_is_answered_at_the_terminal(
    cli: Cli,
    campaign: Campaign,
    terminal: Callable[..., OnTerminal],
    typed: bytes,
    left: list[str],
) -> None:
    campaign("done", *DONE)
    asked = terminal("campaigns", "rm", "done")
    wait_until(lambda: asked.shows(b"with their logs? [y/N]"))
    asked.type(typed)
    assert asked.end() == (2 if left else 0)
    assert names(cli) == left


def test_what_begins_while_somebody_thinks_about_the_question_is_kept(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    path = campaign("idle", planned("a"))
    asked = terminal("campaigns", "rm", "idle")
    wait_until(lambda: asked.shows(b"[y/N]"))
    append(path, assigned("a", "node3"))
    asked.type(b"y\n")
    assert asked.end() == 2
    assert b"1 run may be at work on node3" in asked.shown
    assert inside(path) == ["events.jsonl"]


@pytest.mark.parametrize(
    "words", [["rm", "idle"], ["rm", "idle", "--force"], ["prune", "--older-than", "1d"]]
)
def test_what_has_changed_since_the_question_is_kept(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal], words: list[str]
) -> None:
    path = campaign("idle", *DONE, age_s=9 * DAY)
    asked = terminal("campaigns", *words)
    wait_until(lambda: asked.shows(b"[y/N]"))
    append(path, planned("b"))
    asked.type(b"y\n")
    assert asked.end() == 2
    assert b"has changed since it was asked about" in asked.shown
    assert inside(path) == ["events.jsonl"]


def test_one_that_never_began_is_asked_about_as_one(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal]
) -> None:
    path = campaign("idle")
    (path / "events.jsonl").write_bytes(b"")
    asked = terminal("campaigns", "rm", "idle")
    wait_until(lambda: asked.shows(b"[y/N]"))
    assert b"not started" in asked.shown
    asked.type(b"y\n")
    assert asked.end() == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((planned("a"), assigned("a", "node3")), "1 run may be at work on node3"),
        ((planned("a"), ev.RunQueued(t=BEGUN, run_id="a")), "1 run may be at work"),
        (
            (planned("a"), assigned("a"), ev.RunCancelled(t=BEGUN, run_id="a", cleanup=AWAY)),
            "what is left on node7 is unverified",
        ),
        (
            (planned("a"), assigned("a"), ev.RunCancelling(t=BEGUN, run_id="a")),
            "1 run may be at work on node1",
        ),
    ],
)
def test_what_may_be_left_on_a_host_keeps_a_campaign_unless_told(
    cli: Cli, campaign: Campaign, more: Sequence[ev.Event], says: str
) -> None:
    path = campaign("doubtful", *more)
    assert says in cli.complaint("campaigns", "rm", "doubtful", "--yes")
    assert inside(path) == ["events.jsonl"]
    cli("campaigns", "rm", "doubtful", "--yes", "--force")
    assert names(cli) == []


@pytest.mark.parametrize(
    "more",
    [
        (),
        (assigned("a", "sim1"),),
        (ev.RunQueued(t=BEGUN, run_id="a"),),
        (assigned("a", "sim1"), ev.RunCancelled(t=BEGUN, run_id="a", cleanup=AWAY)),
    ],
)
def test_of_a_demo_nothing_is_left_on_a_host_so_that_it_is_removed_unless_somebody_is_at_work(
    cli: Cli, campaign: Campaign, more: Sequence[ev.Event]
) -> None:
    path = campaign("demo", planned("a"), *more, simulated=True)
    hold(path)
    assert "writes the campaign" in cli.complaint("campaigns", "rm", "demo", "--yes")
    (path / "writer.lock").unlink()
    cli("campaigns", "rm", "demo", "--yes")
    assert names(cli) == []


def test_one_that_a_console_is_at_work_on_is_never_removed(cli: Cli, campaign: Campaign) -> None:
    path = campaign("live", *DONE)
    hold(path)
    for more in ([], ["--force"]):
        line = cli.complaint("campaigns", "rm", "live", "--yes", *more)
        assert "bob on elsewhere (pid 3) writes the campaign" in line
    assert inside(path) == ["events.jsonl", "writer.lock"]


def test_one_that_is_locked_by_who_gives_no_sign_is_removed_when_told(
    cli: Cli, campaign: Campaign
) -> None:
    hold(campaign("locked", *DONE), age_s=3600)
    assert "writes the campaign, last sign" in cli.complaint("campaigns", "rm", "locked", "--yes")
    assert names(cli) == ["locked"]
    cli("campaigns", "rm", "locked", "--yes", "--force")
    assert names(cli) == []


def test_files_of_others_keep_a_campaign_unless_told(cli: Cli, campaign: Campaign) -> None:
    path = campaign("done", *DONE)
    (path / "analysis.ipynb").write_text("hours of work")
    line = cli.complaint("campaigns", "rm", "done", "--yes")
    assert "holds analysis.ipynb, which dlperf-tui did not write" in line
    assert (path / "analysis.ipynb").read_text() == "hours of work"
    cli("campaigns", "rm", "done", "--yes", "--force")
    assert names(cli) == []


@pytest.mark.parametrize("name", ["speedup.md", "pivot.zh.md", "dlperf-json.json", "report.html"])
def test_what_was_exported_into_a_campaign_goes_with_it_and_is_named(
    cli: Cli, campaign: Campaign, terminal: Callable[..., OnTerminal], name: str
) -> None:
    path = campaign("done", *DONE)
    (path / name).write_text("exported")
    asked = terminal("campaigns", "rm", "done")
    wait_until(lambda: asked.shows(f"with their logs and exports ({name})? [y/N]".encode()))
    asked.type(b"y\n")
    assert asked.end() == 0
    assert names(cli) == []


def test_a_link_or_a_directory_under_the_name_of_an_export_is_none(
    cli: Cli, campaign: Campaign
) -> None:
    path = campaign("done", *DONE)
    (path / "speedup.md").mkdir()
    assert "holds speedup.md" in cli.complaint("campaigns", "rm", "done", "--yes")
    (path / "speedup.md").rmdir()
    (path / "speedup.md").symlink_to(path / "events.jsonl")
    assert "holds speedup.md" in cli.complaint("campaigns", "rm", "done", "--yes")


def test_a_link_to_a_campaign_is_not_a_campaign_to_remove(
    cli: Cli, campaign: Campaign, tmp_path: Path
) -> None:
    path = campaign("done", *DONE)
    moved = tmp_path / "elsewhere"
    path.rename(moved)
    path.symlink_to(moved)
    for more in ([], ["--force"]):
        assert "is a link" in cli.complaint("campaigns", "rm", "done", "--yes", *more)
    assert (moved / "events.jsonl").is_file()
    assert path.is_symlink()


def test_one_that_cannot_be_read_is_removed_only_when_told(cli: Cli, campaign: Campaign) -> None:
    path = campaign("newer", *DONE)
    (path / "events.jsonl").write_text('{"kind":"CampaignBegun","schema":9}\n')
    line = cli.complaint("campaigns", "rm", "newer", "--yes")
    assert "what it left on hosts is not known: written by a newer dlperf-tui" in line
    cli("campaigns", "rm", "newer", "--yes", "--force")
    assert names(cli) == []


def test_a_directory_that_is_no_campaign_is_not_removed(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "thesis"
    home.mkdir()
    (home / "chapter1").write_text("x")
    for more in ([], ["--force"]):
        assert "not a campaign" in cli.complaint("campaigns", "rm", home, "--yes", *more)
    assert (home / "chapter1").read_text() == "x"


def test_of_several_none_is_removed_where_one_may_not_be(cli: Cli, campaign: Campaign) -> None:
    campaign("done", *DONE)
    campaign("doubtful", planned("a"), assigned("a"))
    assert "may be at work" in cli.complaint("campaigns", "rm", "done", "doubtful", "--yes")
    assert names(cli) == ["done", "doubtful"]


# Pruning -----------------------------------------------------------------------------------------


def test_prune_removes_by_itself_only_what_nothing_was_started_in(
    cli: Cli, campaign: Campaign
) -> None:
    campaign("done", *DONE, age_s=900 * DAY)
    (cli.campaigns / "empty").mkdir()
    unbegun = cli.campaigns / "unbegun"
    unbegun.mkdir()
    (unbegun / "campaign.toml").write_text("")
    half = cli.campaigns / ".gone.removed-00ff"
    shutil.copytree(cli.campaigns / "done", half)
    (cli.campaigns / ".mine").mkdir()
    answer = cli("campaigns", "prune", "--yes")
    assert names(cli) == [".mine", "done"]
    assert "removed what was left of .gone.removed-00ff" in answer.err
    assert "nothing to prune" in cli("campaigns", "prune", "--yes").err


def test_prune_goes_by_age_and_number_and_keeps_what_somebody_said_something_of(
    cli: Cli, campaign: Campaign
) -> None:
    for number in range(5):
        campaign(f"c{number}", *DONE, age_s=(10 * number + 1) * DAY)
    campaign("open", planned("a"), age_s=900 * DAY)
    cli("campaigns", "tag", "c4", "baseline")
    assert "3 campaigns" in cli("campaigns", "prune", "--older-than", "5d", code=2).err
    cli("campaigns", "prune", "--older-than", "5d", "--keep", "3", "--yes")
    assert names(cli) == ["c0", "c1", "c2", "c4", "open"]
    cli("campaigns", "prune", "--keep", "1", "--yes")
    assert names(cli) == ["c0", "c4", "open"]


def test_prune_never_touches_what_is_at_work_locked_or_unverified(
    cli: Cli, campaign: Campaign
) -> None:
    old = 900 * DAY
    campaign("open", planned("a"), assigned("a"), age_s=old)
    campaign(
        "doubtful",
        *(planned("a"), assigned("a")),
        ev.RunCancelled(t=BEGUN, run_id="a", cleanup=AWAY),
        FINISHED,
        age_s=old,
    )
    hold(campaign("live", *DONE, age_s=old))
    hold(campaign("locked", *DONE, age_s=old), age_s=3600)
    (campaign("notes", *DONE, age_s=old) / "notes.txt").write_text("x")
    append(campaign("done", *DONE, age_s=old))
    answer = cli("campaigns", "prune", "--older-than", "1d", "--yes", code=2)
    assert names(cli) == ["doubtful", "live", "locked", "notes", "open"]
    assert "kept: doubtful: what is left on node7 is unverified" in answer.err
    assert "kept: notes: holds notes.txt" in answer.err
    assert answer.err.count("writes the campaign") == 2


@pytest.mark.parametrize("new", ["a\x1b[31mb", "a\nb", "a\u202eb", "-", "-x", "--json", "-漢"])
def test_no_campaign_gets_a_name_that_cannot_be_shown_or_is_taken_for_an_option(
    cli: Cli, campaign: Campaign, tmp_path: Path, new: str
) -> None:
    why = "begin with -" if new[0] == "-" else "characters that cannot be shown"
    path = campaign("done", *DONE)
    for where in (new, tmp_path / "new" / new):
        words = ("campaigns", "mv", "--campaigns", cli.campaigns, "done", "--", where)
        assert main([*map(str, words)]) == 2
        [line] = cli.capsys.readouterr().err.splitlines()
        assert why in line
    assert path.exists()
    figures = tmp_path / "f.csv"
    figures.write_text("profile,case,throughput\ncpu-smoke,1n1g,5\n")
    packed = tmp_path / "done.tar.zst"
    cli("report", "done", "--bundle", packed, code=1)  # it has no log
    for source in (figures, packed):
        assert why in cli.complaint("import", source, f"--output={tmp_path / 'new' / new}")
    assert not (tmp_path / "new").exists()
    with pytest.raises(SelectionError):
        name_of(new)


def test_one_whose_name_is_taken_for_an_option_is_read_by_what_is_proposed(
    cli: Cli, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = campaign("-x", planned("a"))
    monkeypatch.setattr("backends.use_cases.default_campaigns_dir", lambda: cli.campaigns)
    [line, _] = [
        line for line in cli("status", path).err.splitlines() if line.startswith(("go", "or"))
    ]
    proposed = shlex.split(line.partition(": dlperf-tui ")[2].partition(",")[0])
    assert build_parser().parse_args(proposed).campaign == str(path)
    cli("campaigns", "mv", path, "y")
    assert cli("status", "y").out.startswith("y: ")


def test_what_a_diagnosis_wrote_is_ours_to_remove(cli: Cli, campaign: Campaign) -> None:
    path = campaign("c", *DONE)
    (path / "diagnosis" / "a").mkdir(parents=True)
    (path / "diagnosis" / "a" / "node1.txt").write_text("rank 0 is in recv\n")
    cli("campaigns", "rm", "c", "--yes")
    assert not path.exists()
