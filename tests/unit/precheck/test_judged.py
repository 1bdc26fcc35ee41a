"""What the latest prechecks say of hosts: as long as it is of the last day, and nothing newer says
otherwise."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
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
from backends.precheck.figures import About
from backends.precheck.judged import OLD_S, judgements
from backends.precheck.naming import UNNAMED, Named, RankedHost, Ranking, Verdict, Why
from backends.precheck.ranking import Measured
from backends.precheck.record import PRECHECKS, Precheck
from backends.prechecking import Prechecks, findings_of, write
from backends.use_cases import Workspace
from profiles.durations import format_duration
from profiles.format.catalog import Catalog
from profiles.format.profile import Profile

NOW = 1_795_226_100.0
SAID = strftime("precheck of %Y-%m-%d %H:%M", localtime(NOW - 125.0))
ON_CPUS, ON_GPUS = (Catalog.load().get(name) for name in ("cpu-smoke", "torch-resnet50"))
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
    [found] = prechecks.doubted(["b", "a"], [ON_CPUS])
    assert (found.host, found.level) == ("b", Level.WARN)
    assert found.what.startswith(f"{SAID}: faulty")
    assert found.remedy.startswith("leave it out")
    assert prechecks.doubted(["a"], [ON_CPUS]) == ()


REASONS = {  # and whether it is about GPUs alone
    Named(Why.SLOW, About.GPU, ("b",), (3,), "gemm", reason="slow"): True,
    Named(Why.SLOW, About.LINK, ("b",), (3, 5), "peer", reason="slow"): True,
    Named(Why.BROKEN, About.HOST, ("b",), metric="gpus", reason="it hangs"): True,
    Named(Why.FAULTY, About.GPU, ("b",), (3,), "ecc", reason="errors"): True,
    Named(Why.BROKEN, About.HOST, ("b",), metric="host", reason="it hangs"): False,
    Named(Why.IN_RUNS, About.HOST, ("b",), metric="runs", reason="2 × stalled"): False,
}


@given(
    st.lists(st.sampled_from([*REASONS]), min_size=1, unique=True),
    st.sampled_from([[ON_CPUS], [ON_GPUS], [ON_CPUS, ON_GPUS]]),
    st.sampled_from([Verdict.BROKEN, Verdict.FAULTY, Verdict.SLOW, Verdict.SUSPECT]),
)
def test_who_uses_no_gpus_is_told_nothing_that_is_about_gpus_alone(
    reasons: list[Named], profiles: list[Profile], verdict: Verdict
) -> None:
    ranked = RankedHost("b", verdict, tuple(reasons))
    measured = Measured(("a", "b"))
    precheck = Precheck("p", Path("p"), NOW, 60.0, measured, Ranking((ranked,)))
    about_gpus = all(REASONS[reason] for reason in reasons)
    with TemporaryDirectory() as there:
        directory = Path(there, PRECHECKS, "2026-11-22-010203")
        directory.mkdir(parents=True)
        write(precheck, directory)
        prechecks = Prechecks(Cluster(Inventory((Host("b"),))), Path(there), lambda: NOW)
        doubted = prechecks.doubted(["b"], profiles)
    for found in (doubted, findings_of(precheck, profiles)):
        [bearing] = [one.bearing for one in found] or [None]
        of = [one.name for one in profiles if bearing and bearing.concerns(one.name, ["b"], {})]
        assert of == [one.name for one in profiles if one is ON_GPUS or not about_gpus]


async def test_a_start_is_told_of_it_unless_the_hosts_are_measured_next(tmp_path: Path) -> None:
    directory = tmp_path / PRECHECKS / "2026-11-22-010203"
    directory.mkdir(parents=True)
    write(that_said(Verdict.FAULTY, 125.0), directory)
    here = tuple(Host(n, transport="local", work_dir=str(tmp_path / n)) for n in ("a", "b"))
    async with Workspace(Inventory(here), None, tmp_path, clock=lambda: NOW) as workspace:
        await workspace.cluster.probe()
        plan = SimpleNamespace(
            job_keys={}, hosts=here, cases=(), profiles=(), selection=Selection(())
        )
        found = await workspace.preflight(cast(Plan, plan))
        [told] = [one for one in found if one.what.startswith(f"{SAID}: faulty")]
        assert (told.host, told.level) == ("b", Level.WARN)
        assert not any(one.host == "b" and one.level == Level.OK for one in found)
        found = await workspace.preflight(cast(Plan, plan), measured_next=True)
        assert not any("precheck" in one.what for one in found)
