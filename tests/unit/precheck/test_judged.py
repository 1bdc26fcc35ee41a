"""What the latest prechecks say of hosts: as long as it is of the last day, and nothing newer says
otherwise."""

from __future__ import annotations

from pathlib import Path
from time import localtime, strftime
from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from backends.campaign.plan.plan import Plan
from backends.campaign.plan.selection import Selection
from backends.cluster import Cluster
from backends.hosts.preflight_finding import Level
from backends.inventory.host_entry import Host, Inventory
from backends.precheck.judged import OLD_S, judgements
from backends.precheck.naming import UNNAMED, RankedHost, Ranking, Verdict
from backends.precheck.ranking import Measured
from backends.precheck.record import PRECHECKS, Precheck
from backends.prechecking import Prechecks, write
from backends.use_cases import Workspace
from profiles.durations import format_duration

NOW = 1_795_226_100.0
SAID = strftime("precheck of %Y-%m-%d %H:%M", localtime(NOW - 125.0))
UNJUDGED = (Verdict.NOT_JUDGED, Verdict.NOT_MEASURED)


def that_said(verdict: Verdict, age: float, *, finished: bool = True) -> Precheck:
    ranking = Ranking((RankedHost("b", verdict), RankedHost("a", Verdict.WELL)))
    measured = Measured(("a", "b"))
    return Precheck("p", Path("p"), NOW - age, 60.0, measured, ranking, finished=finished)


KEPT = st.tuples(st.sampled_from(Verdict), st.floats(0.0, 3 * OLD_S), st.booleans())


@given(st.lists(KEPT, max_size=5))
def test_the_latest_verdict_of_the_last_day_counts_and_no_other(
    kept: list[tuple[Verdict, float, bool]],
) -> None:
    kept.sort(key=lambda one: one[1])
    newest_first = [that_said(verdict, age, finished=over) for verdict, age, over in kept]
    told = [(v, age) for v, age, over in kept if over and age - 60.0 <= OLD_S]
    told.sort(key=lambda one: one[0] in UNJUDGED)  # those that judged it go first
    said = judgements(newest_first, NOW).get("b")
    if not told:
        assert said is None
    else:
        assert said is not None
        verdict, age = told[0]
        assert (said.ranked.verdict, said.began) == (verdict, NOW - age)
        assert (not said.named, said.known) == (verdict in UNNAMED, verdict not in UNJUDGED)
        assert said.text(NOW).startswith(f"precheck {format_duration(age - 60.0)} ago: {verdict}")


def test_preflight_warns_of_it_with_its_time_and_what_to_do(
    tmp_path: Path,
) -> None:
    directory = tmp_path / PRECHECKS / "2026-11-22-010203"
    directory.mkdir(parents=True)
    write(that_said(Verdict.FAULTY, 125.0), directory)
    inventory = Inventory((Host("a"), Host("b")))
    prechecks = Prechecks(Cluster(inventory), tmp_path, lambda: NOW)
    [found] = prechecks.doubted(["b", "a"])
    assert (found.host, found.level) == ("b", Level.WARN)
    assert found.what.startswith(f"{SAID}: faulty")
    assert found.remedy.startswith("leave it out")
    assert prechecks.doubted(["a"]) == ()


async def test_a_start_is_told_of_it_unless_the_hosts_are_measured_next(tmp_path: Path) -> None:
    directory = tmp_path / PRECHECKS / "2026-11-22-010203"
    directory.mkdir(parents=True)
    write(that_said(Verdict.FAULTY, 125.0), directory)
    here = tuple(Host(n, transport="local", work_dir=str(tmp_path / n)) for n in ("a", "b"))
    async with Workspace(Inventory(here), None, tmp_path, clock=lambda: NOW) as workspace:
        await workspace.cluster.probe()
        plan = SimpleNamespace(job_keys={}, hosts=here, cases=(), selection=Selection(()))
        found = await workspace.preflight(cast(Plan, plan))
        [told] = [one for one in found if one.what.startswith(f"{SAID}: faulty")]
        assert (told.host, told.level) == ("b", Level.WARN)
        assert not any(one.host == "b" and one.level == Level.OK for one in found)
        found = await workspace.preflight(cast(Plan, plan), measured_next=True)
        assert not any("precheck" in one.what for one in found)
