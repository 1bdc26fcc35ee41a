"""Taking up a campaign of 1,000 runs and a million readings: time, memory, and one snapshot.

The journal is what the engine writes for logs with five readings a second. Resuming is measured in
a process of its own, which has loaded what the console loads, from the call to the first snapshot.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from backends.campaign.plan.campaign_request import Request, write_request
from backends.campaign.plan.selection import Selection
from backends.campaign.record import events as ev
from backends.campaign.record.codec import encode
from backends.campaign.record.run_record import stride_of
from backends.inventory.host_entry import Host, Inventory
from backends.use_cases import Workspace
from profiles.format.catalog import Catalog
from tests.benchmarks.report import headline, line, middle

RUNS = 1000
READINGS = 1000  # of each run
BATCH = 10  # readings that the engine writes at once
REPEATS = 3
TARGET_S = 2.0
TARGET_MIB = 250

START = 1_795_226_400.0


def main() -> None:
    headline(f"resuming a campaign of {RUNS} runs and {RUNS * READINGS:,} readings")
    with tempfile.TemporaryDirectory() as directory:
        campaign = Path(directory) / "campaigns" / "large"
        campaign.mkdir(parents=True)
        host = Host("here", transport="local", work_dir=str(Path(directory) / "work"))
        write_request(
            campaign / "campaign.toml", Request(Selection(profiles=("cpu-smoke",)), (host,))
        )
        with (campaign / "events.jsonl").open("wb") as file:
            file.writelines(map(encode, journal()))
        size = (campaign / "events.jsonl").stat().st_size / 1e6
        answers = [_measure(campaign) for _ in range(REPEATS)]
    seconds = middle([answer["seconds"] for answer in answers])
    memory = max(answer["mib"] for answer in answers)
    snapshot = middle([answer["snapshot_ms"] for answer in answers])
    line(f"resume, journal of {size:.0f} MB", f"{seconds:.2f} s", target="< 2 s", met=seconds < 2)
    line(
        "memory of the process, console's libraries loaded",
        f"{memory:.0f} MiB",
        target=f"< {TARGET_MIB} MiB",
        met=memory < TARGET_MIB,
    )
    line("one snapshot of it", f"{snapshot:.1f} ms")


def _measure(campaign: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.resume", str(campaign)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def journal() -> list[ev.Event]:
    """All runs but the last have ended; the last one is not due yet."""
    events: list[ev.Event] = [ev.CampaignCreated(t=START, campaign="large")]
    names = [f"0badcafe-{number:04d}-a1" for number in range(1, RUNS + 1)]
    for number, run_id in enumerate(names):
        events.append(
            ev.RunPlanned(
                t=START,
                run_id=run_id,
                profile="cpu-smoke",
                framework="Python",
                model="MLP",
                unit="samples/s",
                nodes=1,
                gpus_per_node=1,
                parameters={"batch_size": 32},
                repeat=number + 1,
                not_before=1e11 if number == RUNS - 1 else 0.0,
            )
        )
    for number, run_id in enumerate(names[:-1]):
        began = START + number * 220
        events.append(
            ev.RunAssigned(
                t=began,
                run_id=run_id,
                hosts=("here",),
                commands=("python3 cpu_smoke.py --nodes 1 --node-rank 0 --devices 1",),
                port=29500,
                log=f"logs/python/mlp/1n1g/mlp_b32_fp32_{number + 1}.log",
            )
        )
        events.append(ev.RunLaunched(t=began + 0.3, run_id=run_id, boot_ids=("boot",)))
        for first in range(0, READINGS, BATCH):
            rows = tuple(
                (20 * k, round(3000 + (k * 7919 % 1000) / 7, 3), round(began + 1 + k / 5, 3))
                for k in range(first, first + BATCH)
            )
            stride = stride_of(first + BATCH)
            events.append(
                ev.ReadingsSampled(
                    t=rows[-1][2],
                    run_id=run_id,
                    first=first,
                    count=BATCH,
                    stride=stride,
                    points=rows[-first % stride :: stride],
                    last=(rows[-1],),
                )
            )
        events.append(
            ev.RunSucceeded(
                t=began + 210,
                run_id=run_id,
                throughput=3000.0,
                readings=READINGS,
                used=READINGS - 1,
                window="readings after the first",
                statistic="elapsed",
            )
        )
    return events


async def _resume(campaign: Path) -> None:
    import asyncssh  # noqa: F401, PLC0415 (what the console holds in memory)
    import pandas  # noqa: F401, PLC0415
    import textual.app  # noqa: F401, PLC0415

    host = Host("here", transport="local", work_dir=str(campaign.parent.parent / "work"))
    workspace = Workspace(Inventory((host,)), Catalog.load((), None), campaign.parent)
    await workspace.cluster.probe()
    began = time.perf_counter()
    controller = await workspace.resume(campaign)
    snapshot = controller.snapshot()
    seconds = time.perf_counter() - began
    assert snapshot.done == RUNS - 1
    assert all(view.readings == READINGS for view in snapshot.runs[:-1])
    began = time.perf_counter()
    for _ in range(5):
        controller.snapshot()
    snapshot_ms = (time.perf_counter() - began) / 5 * 1000
    await workspace.close()
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "mib": mib, "snapshot_ms": snapshot_ms}))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(_resume(Path(sys.argv[1])))
    else:
        main()
