"""Runs that stop moving in jobs of a real Slurm: what its variables say of who is which rank."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.hangs.processes import read_processes
from backends.hangs.sections import split
from tests.support.campaigns import Bench, finish, only_run
from tests.support.slurm import SlurmCluster
from tests.support.slurm_campaigns import slurm_bench


@pytest.fixture
async def bench(tmp_path: Path, slurm: SlurmCluster) -> AsyncIterator[Bench]:
    found = slurm_bench(tmp_path)
    yield found
    await found.close()


@pytest.mark.parametrize(
    ("launcher", "prefix", "ranks"),
    [("per_node", "", []), ("srun", "rank_prefix = '^(?P<rank>\\d+): '", [0, 1, 2, 3])],
)
async def test_ranks_are_those_of_a_step_within_the_run_and_nobody_is_named(
    bench: Bench, launcher: str, prefix: str, ranks: list[int]
) -> None:
    """What srun starts on the other node carries the first one's name; one machine plays both."""
    say = "for i in 1 2 3; do echo iter $i, samples/s: 5; sleep 0.2; done; exec sleep 600"
    bench.profile(
        launcher=f'"{launcher}"',
        command=f"""'''sh -c "{say}" {{lines}}{{every}}{{copies}}{{after}}'''""",
        window=f"{{ skip = 1 }}\n{prefix}",
        stall_timeout='"3s"',
    )
    controller = await bench.start("2n2g")
    run = only_run(await finish(controller))
    found = run.diagnosis
    assert found is not None, run.reason
    assert found.suspects == ()
    assert len(found.files) == 2
    listed = {}
    for path in found.files:
        told = {one.name: one for one in split((controller.path / path).read_bytes())}
        processes = read_processes(told["processes"].text)
        listed[Path(path).stem] = sorted(p.rank for p in processes if p.rank is not None)
    assert listed[run.hosts[0]] == ranks
    assert listed[run.hosts[1]] == []
