"""What an operator is told: of every occasion once, whatever happens in between."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import compress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.notify.command import run_command
from backends.campaign.notify.notifier import Notifier
from backends.campaign.notify.occasions import DISK_LOW, DISK_WELL, LOST_AFTER_S, occasions
from backends.campaign.notify.open_metrics import metrics_path, metrics_text
from backends.campaign.notify.results_so_far import ResultsSoFar
from backends.campaign.record import events as ev
from backends.campaign.record.journal import FILE_NAME, read_events
from backends.campaign.record.recorder import Recorder
from backends.campaign.record.run_results import run_results
from backends.campaign.record.state import CampaignState, apply, fold
from backends.inventory.hosts_toml import read_hosts_file
from backends.inventory.notify_settings import OCCASIONS, NotifySettings
from backends.results.run_result import RunResult
from backends.results.summary import Group, summarise
from profiles.errors import DlperfError
from tests.support.waiting import until
from tests.unit.campaign.strategies import begun, journals, planned
from tui.attention import Rung, attention

NOW = 1000.0
A, B, AGAIN = "r-1-a1", "r-2-a1", "r-1-a2"


def created(name: str = "c") -> ev.CampaignCreated:
    return ev.CampaignCreated(t=1.0, campaign=name)


def failed(run_id: str, retry: str = "never", reason: str = "out of memory") -> ev.RunFailed:
    return ev.RunFailed(t=5.0, run_id=run_id, reason=reason, retry=retry)


def succeeded(run_id: str, throughput: float = 10.0) -> ev.RunSucceeded:
    return ev.RunSucceeded(
        t=5.0, run_id=run_id, throughput=throughput, readings=3, used=3, window="all",
        statistic="mean",
    )  # fmt: skip


def results(state: CampaignState) -> tuple[Group, ...]:
    return summarise(run_results(state))


def due(state: CampaignState, *on: str, now: float = NOW, low: int | None = None) -> dict[str, str]:
    found = occasions(state, on or OCCASIONS, results(state), now=now, max_attempts=2, disk_low=low)
    return {one.key: one.kind for one in found if one.key not in state.told}


def told(state: CampaignState, now: float = NOW) -> CampaignState:
    found = occasions(state, OCCASIONS, results(state), now=now, max_attempts=2, disk_low=None)
    for one in list(found):
        state = apply(state, ev.Told(t=now, key=one.key, occasion=one.kind, text=one.text))
    return state


@given(journals)
def test_results_that_are_kept_tell_what_those_added_up_anew_do(events: list[ev.Event]):
    state, kept = CampaignState(), ResultsSoFar()
    begins = [isinstance(event, ev.CampaignCreated) for event in events]  # once, before all else
    rest = [event for event, first in zip(events, begins, strict=True) if not first]
    for event in (*list(compress(events, begins))[:1], *rest):
        state = apply(state, event)
        texts, said = set(), set()
        for groups in (kept.of(state), results(state)):
            texts.add(metrics_text(state, groups, now=NOW, free_bytes=5))
            found = occasions(state, OCCASIONS, groups, now=NOW, max_attempts=2, disk_low=5)
            said.add(repr(list(found)))  # a throughput may be NaN
        assert (len(texts), len(said)) == (1, 1)


async def test_results_are_added_up_when_a_run_has_ended_and_not_at_each_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    added: list[int] = []

    def counted(runs: tuple[RunResult, ...]) -> tuple[Group, ...]:
        added.append(len(runs))
        return summarise(runs)

    monkeypatch.setattr("backends.campaign.notify.results_so_far.summarise", counted)
    settings = NotifySettings(metrics=str(tmp_path / "{campaign}.prom"))
    recorder = recorder_in(tmp_path, created(), planned(A), planned(B), *begun(A), *begun(B))
    one = notifier(tmp_path, recorder, settings)
    counts = []
    for event in (
        ev.Noted(t=5.0, text="x"), succeeded(A), ev.Noted(t=5.0, text="y"), succeeded(B),
        ev.Noted(t=5.0, text="z"),
    ):  # fmt: skip
        recorder.note(event)
        await one.ended()
        counts.append(len(added))
    recorder.close()
    assert counts == [0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("on", "metrics", "adds_up"),
    [(("failure", "disk"), False, False), ((), True, True), (("grade",), False, True),
     (("end",), False, True)],
)  # fmt: skip
async def test_results_are_added_up_only_where_something_told_needs_them(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    on: tuple[str, ...],
    metrics: bool,
    adds_up: bool,
):
    added: list[int] = []

    def counted(runs: tuple[RunResult, ...]) -> tuple[Group, ...]:
        added.append(len(runs))
        return summarise(runs)

    monkeypatch.setattr("backends.campaign.notify.results_so_far.summarise", counted)
    where = str(tmp_path / "{campaign}.prom") if metrics else ""
    recorder = recorder_in(tmp_path, created(), planned(A), *begun(A), succeeded(A))
    await notifier(tmp_path, recorder, NotifySettings(on=on, metrics=where)).ended()
    recorder.close()
    assert bool(added) == adds_up


def test_a_failure_is_told_when_it_is_final():
    again = fold([created(), planned(A), failed(A, retry="now")])
    assert due(again) == {}
    tried = fold([*_twice(), failed(AGAIN, retry="now")])
    assert list(due(tried, "failure").values()) == ["failure"]
    assert list(due(fold([created(), planned(A), failed(A)]), "failure")) == [f"failure:{A}"]
    over = apply(again, ev.CampaignFinished(t=6.0))
    assert due(over, "failure") == {f"failure:{A}": "failure"}


def _twice() -> list[ev.Event]:
    return [
        created(),
        planned(A),
        failed(A, retry="now"),
        planned(AGAIN),
    ]


def test_the_end_is_told_again_only_when_the_campaign_was_taken_up_again():
    over = told(fold([created(), planned(A), failed(A), ev.CampaignFinished(t=6.0)]))
    assert due(over) == {}
    state = over
    for event in (ev.CampaignReopened(t=7.0), planned(AGAIN), *begun(AGAIN), succeeded(AGAIN)):
        state = apply(state, event)
    assert "end" not in due(told(state)).values()
    state = apply(state, ev.CampaignFinished(t=9.0))
    assert "end" in due(state).values()


def test_a_grade_below_b_is_told_when_its_case_is_complete():
    one = fold([created(), planned(A), planned(B), *begun(A), succeeded(A)])
    assert "grade" not in due(one).values()
    both = one
    for event in (*begun(B), succeeded(B, 50.0)):
        both = apply(both, event)
    assert "grade" in due(both).values()
    assert "grade" not in due(replace(both, simulated=True)).values()


def test_a_host_is_lost_after_a_minute_and_once_for_all_its_runs():
    state = fold([created(), planned(A), planned(B), *begun(A), *begun(B)])
    runs = {
        run_id: replace(run, lost_hosts={"n1": (100.0 + 3 * at, "no route\x1b[31m")})
        for at, (run_id, run) in enumerate(state.runs.items())
    }
    state = replace(state, runs=runs)
    assert due(state, "host_lost", now=100 + LOST_AFTER_S - 1) == {}
    assert list(due(state, "host_lost", now=100 + LOST_AFTER_S)) == ["lost:n1:100"]
    state = told(state, now=100 + LOST_AFTER_S)
    later = {B: replace(state.runs[B], lost_hosts={"n1": (103.0, "no route")})}
    assert due(replace(state, runs=later), "host_lost", now=500) == {}, "the same outage"
    anew = {B: replace(state.runs[B], lost_hosts={"n1": (400.0, "no route")})}
    assert list(due(replace(state, runs=anew), "host_lost", now=500)) == ["lost:n1:400"]
    assert all("\x1b" not in text for _, _, text in state.told.values())


@given(journals)
def test_of_any_journal_each_occasion_is_told_once(events: list[ev.Event]):
    """Looking after each event, and in a new process after each, tells the same."""
    state = CampaignState()
    keys: list[str] = []
    for event in events:
        state = apply(state, event)
        new = list(due(state))
        keys += new
        state = told(state)
        assert due(state) == {}
    assert len(keys) == len(set(keys))


# The notifier -----------------------------------------------------------------------------------


def notifier(path: Path, recorder: Recorder, settings: NotifySettings, free: int = 1 << 40):
    return Notifier(
        path, recorder, settings, clock=lambda: NOW, max_attempts=2, free_bytes=lambda _: free
    )


def recorder_in(path: Path, *events: ev.Event) -> Recorder:
    recorder = Recorder(path, CampaignState(), owned=lambda: True)
    for event in events:
        recorder.note(event)
    return recorder


def writing(path: Path) -> tuple[str, ...]:
    return ("sh", "-c", 'cat >> "$0"', str(path))


async def test_a_command_hears_each_occasion_once_also_after_a_restart(tmp_path: Path):
    settings = NotifySettings(command=writing(tmp_path / "heard"))
    events = [created("c $(touch x) ; `y`"), planned(A), failed(A), ev.CampaignFinished(t=6.0)]
    first = recorder_in(tmp_path, *events)
    await notifier(tmp_path, first, settings).ended()
    first.close()
    again = Recorder(tmp_path, fold(read_events(tmp_path / FILE_NAME)), owned=lambda: True)
    await notifier(tmp_path, again, settings).ended()
    again.close()
    heard = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    assert sorted(one["event"] for one in heard) == ["end", "failure"]
    assert all({"id", "text", "campaign", "path", "time"} <= set(one) for one in heard)
    assert heard[0]["campaign"] == "c $(touch x) ; `y`"
    assert not (tmp_path / "x").exists()


async def test_only_what_is_asked_for_is_told(tmp_path: Path):
    settings = NotifySettings(command=writing(tmp_path / "heard"), on=("end",))
    recorder = recorder_in(tmp_path, created(), planned(A), failed(A), ev.CampaignFinished(t=6))
    await notifier(tmp_path, recorder, settings).ended()
    recorder.close()
    assert [json.loads(x)["event"] for x in (tmp_path / "heard").read_text().splitlines()] == [
        "end"
    ]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("/no/such/program",), "cannot be started: No such file"),
        (("sh", "-c", "echo first; echo 'mail: \x1b[31mno' >&2; exit 3"), "ended with 3: mail: no"),
        (("sh", "-c", "kill -9 $$"), "ended with -9"),
        (("a\0b",), "cannot be started"),
    ],
)
async def test_a_command_that_fails_is_noted_and_never_fatal(
    tmp_path: Path, command: tuple[str, ...], says: str
):
    recorder = recorder_in(tmp_path, created(), planned(A), failed(A), ev.CampaignFinished(t=6))
    await notifier(tmp_path, recorder, NotifySettings(command=command)).ended()
    notes = [text for _, _, text in recorder.state.notes]
    recorder.close()
    assert len(notes) == 1, "the same problem is said once"
    assert says in notes[0]
    assert notes[0].isprintable()


async def test_a_command_that_hangs_is_ended_with_what_it_started(tmp_path: Path):
    pids = tmp_path / "pids"
    began = time.monotonic()
    script = f"sleep 1000 & echo $! $$ > {pids}; wait"
    problem = await run_command(("sh", "-c", script), {}, limit_s=0.5)
    assert "ended after 0.5 s" in problem
    assert time.monotonic() - began < 60
    for pid in pids.read_text().split():
        await until(lambda pid=pid: _gone(pid), what="the command's processes are gone")


def _gone(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_who_lets_go_leaves_a_command_at_work(tmp_path: Path):
    """It is told all of it, and nothing that waits for its turn counts as told."""
    heard, go_on = tmp_path / "heard", tmp_path / "go-on"
    script = f"until [ -e {go_on} ]; do sleep 0.05; done; cat >> {heard}"
    settings = NotifySettings(command=("sh", "-c", script), on=("failure",))
    names = [f"r-{n}-a1" for n in range(1, 10)]
    recorder = recorder_in(tmp_path, created(), *map(planned, names), *map(failed, names))
    one = notifier(tmp_path, recorder, settings)
    await one.look()
    await until(lambda: len(recorder.state.told) == 4, what="four are being told")
    await one.close()
    await recorder.commit()
    recorder.close()
    assert len(recorder.state.told) == 4
    assert fold(read_events(tmp_path / FILE_NAME)).told == recorder.state.told
    go_on.touch()
    await until(
        lambda: heard.exists() and len(heard.read_text().splitlines()) == 4,
        what="all are heard",
    )
    ids = {json.loads(line)["id"].partition("/")[2] for line in heard.read_text().splitlines()}
    assert ids == set(recorder.state.told)


async def test_a_disk_that_fills_is_told_once_until_there_is_room_again(tmp_path: Path):
    recorder = recorder_in(tmp_path, created(), planned(A))
    room = [DISK_WELL]
    one = Notifier(
        tmp_path, recorder, NotifySettings(on=("disk",)), clock=lambda: NOW, max_attempts=1,
        free_bytes=lambda _: room[0],
    )  # fmt: skip
    counts = []
    for free in (DISK_WELL, DISK_LOW - 1, 5, DISK_LOW + 1, 7, DISK_WELL, DISK_LOW - 1, 3):
        room[0] = free
        await one.ended()
        counts.append(len(recorder.state.told))
    restarted = notifier(tmp_path, recorder, NotifySettings(on=("disk",)), free=3)
    await restarted.ended()
    recorder.close()
    assert [*counts, len(recorder.state.told)] == [0, 1, 1, 1, 1, 1, 2, 2, 2]


# Metrics ----------------------------------------------------------------------------------------

SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+)')


@given(st.text(max_size=30), st.text(max_size=30))
def test_metrics_are_open_metrics_whatever_names_there_are(name: str, profile: str):
    state = fold([created(name), replace(planned(A), profile=profile), *begun(A)])
    state = apply(state, succeeded(A))
    text = metrics_text(state, results(state), now=NOW, free_bytes=5)
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""]
    families: list[str] = []
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            families.append(line.split()[2])
        elif line.startswith("#"):
            assert line.split()[2] == families[-1]
            assert not line.startswith("# UNIT") or families[-1].endswith(f"_{line.split()[3]}")
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            assert match[1] == families[-1]
            float(match[3])
    assert len(families) == len(set(families))


async def test_metrics_are_replaced_as_a_whole_and_a_wrong_path_is_noted(tmp_path: Path):
    settings = NotifySettings(metrics=str(tmp_path / "out" / "{campaign}.prom"))
    recorder = recorder_in(tmp_path, created("a b/../c"), planned(A))
    await notifier(tmp_path, recorder, settings).ended()
    (file,) = (tmp_path / "out").iterdir()
    assert file == metrics_path(settings.metrics, "a b/../c")
    assert 'state="planned"} 1.0' in file.read_text()
    file.unlink()
    file.mkdir()
    await notifier(tmp_path, recorder, settings).ended()
    recorder.close()
    assert "cannot write" in recorder.state.notes[-1][2]
    assert not list((tmp_path / "out").glob(".*"))


# The terminal -----------------------------------------------------------------------------------


@given(st.text(), st.sampled_from(["auto", "bell", "osc9", "osc777"]), st.booleans(), st.booleans())
def test_no_words_get_out_of_the_sequence_that_they_are_in(text, how, tmux, kitty):
    environ = {"TERM": "xterm-kitty" if kitty else "foot", **({"TMUX": "x"} if tmux else {})}
    written = attention(text, how, environ)
    assert written.startswith("\a")
    inside = written[1:]
    if tmux and inside:
        assert inside.startswith("\x1bPtmux;")
        assert inside.endswith("\x1b\\")
        inside = (
            inside.removeprefix("\x1bPtmux;").removesuffix("\x1b\\").replace("\x1b\x1b", "\x1b")
        )
    if inside:
        assert re.fullmatch(r"\x1b\](9|777;notify;dlperf-tui);[^\x00-\x1f\x7f-\x9f]*\a", inside)
        assert len(inside) < 250


def test_a_terminal_is_rung_once_for_what_came_since():
    rung = Rung("bell", {}, since=10.0)
    told = {"old": (5.0, "end", "x"), "new": (11.0, "end", "y")}
    assert rung.new("c", told) == "\a"
    assert rung.new("c", told) == ""
    assert rung.new("other", told) == "\a"
    assert rung.new("c", {**told, "a": (12.0, "f", "1"), "b": (12.0, "f", "2")}) == "\a"
    assert Rung("osc9", {}, 0.0).new("c", told) == "\a\x1b]9;y (and 1 more)\a"
    assert attention("x", "off", {}) == ""


# The inventory ----------------------------------------------------------------------------------

HOST = '[[hosts]]\nname = "a"\ntransport = "local"\n'


@pytest.fixture
def inventory(tmp_path: Path) -> Callable[[str], NotifySettings | None]:
    def read(text: str) -> NotifySettings | None:
        (tmp_path / "hosts.toml").write_text(f"{text}\n{HOST}")
        return read_hosts_file(tmp_path / "hosts.toml", tmp_path / "config").notify

    return read


def test_notify_is_read_from_the_inventory(inventory: Callable[[str], NotifySettings | None]):
    assert inventory("") is None
    assert inventory("[notify]") == NotifySettings()
    said = inventory(
        "[notify]\ncommand = \"mail -s 'a b' me\"\non = ['end']\nmetrics = '/x/{campaign}.prom'\n"
        "terminal = 'osc777'"
    )
    assert said == NotifySettings(
        ("mail", "-s", "a b", "me"), ("end",), "/x/{campaign}.prom", "osc777"
    )
    as_words = inventory("[notify]\ncommand = ['a b', '$HOME']")
    assert as_words is not None
    assert as_words.command == ("a b", "$HOME")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("command = ''", "is empty"),
        ('command = "it\'s"', "no command"),
        ("command = 3", "command"),
        ("on = ['ende']", "not allowed"),
        ("metrics = 'relative'", "metrics"),
        ("terminal = 'loud'", "not allowed"),
        ("comand = 'x'", "did you mean 'command'"),
    ],
)
def test_a_mistake_in_notify_is_one_line_with_a_remedy(inventory, text: str, says: str):
    with pytest.raises(DlperfError, match=re.escape(says)) as wrong:
        inventory(f"[notify]\n{text}")
    assert "[notify]" in str(wrong.value)
    assert len(str(wrong.value).splitlines()) == 1


# status --line ----------------------------------------------------------------------------------


def test_a_status_line_loads_nothing_heavy(tmp_path: Path):
    example = Path(__file__).parents[3] / "docs" / "examples" / "h200-x2-auto"
    (tmp_path / "camp#[bold]aign").symlink_to(example)
    script = (
        "import sys; from tui.cli import main; code = main(sys.argv[1:]);"
        "heavy = {'pandas', 'asyncssh', 'textual', 'numpy', 'scipy', 'rich'} & set(sys.modules);"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)"
    )
    words = ["--campaigns", str(tmp_path), "status", "--line"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == "camp[bold]aign · 18/18 runs · finished\n", "as its folder is called"
    nothing = [*words[:1], str(tmp_path / "none"), *words[2:]]
    done = subprocess.run(
        [sys.executable, "-c", script, *nothing], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


async def test_nobody_waits_for_what_was_never_begun(tmp_path: Path):
    recorder = recorder_in(tmp_path, created())
    async with asyncio.timeout(30):
        await notifier(tmp_path, recorder, NotifySettings()).close()
    recorder.close()


def test_the_manual_names_every_occasion_and_metric():
    manual = (Path(__file__).parents[3] / "docs" / "inventory.md").read_text(encoding="utf-8")
    section = manual.split("## Being told")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)`", section, re.M)
    state = fold([created(), *begun(A), planned(B)])
    state = apply(apply(state, succeeded(A)), failed(B))
    text = metrics_text(state, results(state), now=NOW, free_bytes=5)
    assert [row for row in rows if not row.startswith("dlperf_")] == list(OCCASIONS)
    families = re.findall(r"^# TYPE (\w+)", text, re.M)
    assert [row for row in rows if row.startswith("dlperf_")] == families
    labels = {name for line in text.splitlines() for name in re.findall(r'(\w+)="', line)}
    assert all(f"`{name}`" in section for name in labels)
    state = apply(state, ev.CampaignFinished(t=9.0))
    found = list(occasions(state, OCCASIONS, results(state), now=NOW, max_attempts=1, disk_low=5))
    keys = {key for one in found for key in one.to_json(state, Path("x"), NOW)}
    assert {one.kind for one in found} == {"disk", "failure", "grade", "end"}
    assert all(f'"{key}"' in section or f"`{key}`" in section for key in keys)
