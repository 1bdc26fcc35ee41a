"""Journals that could be, and many that could not: events of three runs in any order."""

from __future__ import annotations

from hypothesis import strategies as st

from backends.campaign.record import events as ev
from backends.campaign.record.cleanup_doubts import Cleanup, Doubt, Why
from profiles.throughput.rank_times import RankTime
from profiles.throughput.steady import Disturbance, Shape

RUN_IDS = ("r-0001-a1", "r-0002-a1", "r-0002-a2")
HOSTS = ("node1", "node2")

times = st.floats(0, 2e9, allow_nan=False)
run_ids = st.sampled_from(RUN_IDS)
texts = st.text(max_size=12)
rates = st.floats(0, 1e6, allow_nan=False)
doubts = st.builds(Doubt, st.sampled_from(HOSTS), st.sampled_from(Why), texts)
cleanups = st.builds(Cleanup, st.booleans(), st.lists(doubts, max_size=2).map(tuple))


def planned(run_id: str, t: float = 0.0, expected_s: float = 0.0) -> ev.RunPlanned:
    stem, _, attempt = run_id.rpartition("-a")
    return ev.RunPlanned(
        t=t,
        run_id=run_id,
        profile="p",
        framework="F",
        model="M",
        unit="samples/s",
        nodes=2,
        gpus_per_node=1,
        parameters={"batch_size": 32, "precision": "amp", "xla": True},
        repeat=int(stem[-1]),
        attempt=int(attempt),
        retry_of=f"{stem}-a{int(attempt) - 1}" if int(attempt) > 1 else "",
        expected_s=expected_s,
    )


def sampled(
    run_id: str, first: int, count: int, stride: int = 1, *, t: float = 1.0, warmup: int = 1
) -> ev.ReadingsSampled:
    """Readings of which every one is told by its number."""
    rows = [(float(n), 100.0 + n, float(n)) for n in range(first, first + count)]
    return ev.ReadingsSampled(
        t=t,
        run_id=run_id,
        first=first,
        count=count,
        stride=stride,
        points=tuple(rows[-first % stride :: stride]),
        last=(rows[-1],),
        warmup=warmup,
        offset=10 * (first + count),
    )


@st.composite
def readings(draw: st.DrawFn) -> ev.ReadingsArrived | ev.ReadingsSampled:
    first, count = draw(st.integers(0, 12)), draw(st.integers(1, 9))
    t, run_id, warmup = draw(times), draw(run_ids), draw(st.integers(0, 3))
    if draw(st.booleans()):
        stride = draw(st.sampled_from((1, 2, 4)))
        return sampled(run_id, first, count, stride, t=t, warmup=warmup)
    rows = tuple((float(first + k), 100.0 + first + k, float(first + k)) for k in range(count))
    return ev.ReadingsArrived(t=t, run_id=run_id, first=first, readings=rows, warmup=warmup)


events = st.one_of(
    st.builds(ev.CampaignCreated, t=times, campaign=texts, forced=st.booleans()),
    st.builds(planned, run_ids, times),
    st.builds(
        ev.RepeatsAsked,
        t=times,
        target=st.floats(0.0001, 0.5),
        quantity=st.sampled_from(["throughput", "speedup", "beauty"]),
        max_repeats=st.integers(6, 99),
        budget_gpu_s=st.none() | rates,
    ),
    st.builds(
        ev.CaseSettled,
        t=times,
        profile=st.just("p"),
        nodes=st.just(2),
        gpus_per_node=st.just(1),
        parameters=st.just({"batch_size": 32, "precision": "amp", "xla": True}),
        why=st.sampled_from(["reached", "budget", "boredom"]),
    ),
    st.builds(
        ev.RunAssigned,
        t=times,
        run_id=run_ids,
        hosts=st.just(HOSTS),
        commands=st.tuples(texts, texts),
        port=st.integers(0, 65535),
        log=st.just("logs/x.log"),
        devices=st.dictionaries(st.sampled_from(HOSTS), st.tuples(st.integers(0, 7)), max_size=2),
        job_id=texts,
    ),
    st.builds(ev.RunQueued, t=times, run_id=run_ids, job_id=texts),
    st.builds(ev.RunRequeued, t=times, run_id=run_ids, next_id=run_ids, reason=texts),
    st.builds(
        ev.RunLaunched,
        t=times,
        run_id=run_ids,
        boot_ids=st.just(("b1", "b2")),
        hosts=st.sampled_from([(), HOSTS]),
        log=st.just("logs/x.log"),
    ),
    st.builds(ev.RunOver, t=times, run_id=run_ids),
    st.builds(ev.RunDeferred, t=times, run_id=run_ids, reason=texts),
    readings(),
    readings(),
    st.builds(
        ev.ContactChanged,
        t=times,
        run_id=run_ids,
        host=st.sampled_from(HOSTS),
        lost=st.booleans(),
        reason=texts,
    ),
    st.builds(ev.RunCancelling, t=times, run_id=run_ids),
    st.builds(
        ev.RunSucceeded,
        ranks=st.lists(
            st.builds(
                RankTime,
                rank=st.integers(0, 99),
                step_s=st.floats(0.001, 10),
                compute_s=st.floats(0, 10),
                communication_s=st.floats(0, 10),
                input_s=st.floats(0, 10),
            ),
            max_size=2,
        ).map(tuple),
        t=times,
        run_id=run_ids,
        throughput=rates,
        readings=st.integers(0, 30),
        used=st.integers(0, 30),
        window=texts,
        statistic=st.just("mean"),
        metrics=st.dictionaries(texts, rates, max_size=2),
        hosts=st.sampled_from([(), HOSTS]),
        steady=st.none()
        | st.lists(
            st.builds(
                Disturbance,
                shape=st.sampled_from(Shape),
                size=st.floats(-1, 9),
                cost=st.floats(0, 1),
                reading=st.integers(0, 99),
                step=st.none() | st.floats(0, 1e9),
                count=st.integers(1, 9),
                every=st.none() | st.integers(1, 9),
            ),
            max_size=2,
        ).map(tuple),
    ),
    st.builds(
        ev.RunFailed,
        t=times,
        run_id=run_ids,
        reason=texts,
        evidence=st.tuples(texts),
        cleanup=cleanups,
    ),
    st.builds(ev.RunCancelled, t=times, run_id=run_ids, cleanup=cleanups),
    st.builds(ev.HostVerified, t=times, run_id=run_ids, host=st.sampled_from(HOSTS)),
    st.builds(ev.ReadingsRestarted, t=times, run_id=run_ids),
    st.builds(ev.CancelAsked, t=times),
    st.builds(ev.RunPaused, t=times, run_id=run_ids, by=texts),
    st.builds(ev.RunUnpaused, t=times, run_id=run_ids),
    st.builds(ev.Noted, t=times, text=texts, of_results=st.booleans()),
    st.builds(ev.Told, t=times, key=texts, occasion=texts, text=texts),
    st.builds(ev.CampaignFinished, t=times),
    st.builds(ev.CampaignReopened, t=times),
)


def begun(run_id: str) -> list[ev.Event]:
    assigned = ev.RunAssigned(
        t=1.0, run_id=run_id, hosts=HOSTS, commands=("a", "b"), port=1, log="logs/x.log"
    )
    return [planned(run_id), assigned]


anything = st.lists(events, max_size=40)
# Out of the blue few runs get far: most journals here begin with two that are on their way.
on_their_way = [event for run_id in RUN_IDS[:2] for event in begun(run_id)]
journals = st.one_of(anything, *[anything.map(lambda more: on_their_way + more)] * 3)
