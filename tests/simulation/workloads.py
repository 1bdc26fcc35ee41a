"""What the runs of a simulated campaign do: train, fail, stall, leave children, take their time."""

from __future__ import annotations

import random
from dataclasses import replace

from backends.simulated.fake_run import FOREVER, Child, Workload
from backends.simulated.supervising import Asked
from tests.support.fake_training import Curve, training

PROFILE = """
name = "{name}"
framework = "test"
model = "{name}"
source = "tests"
[matrix]
cases = ["1n1g"]
[launch]
launcher = "{launcher}"
command = "train {{nodes}} {{run_id}}"
stage = [{stage}]
timeout = "90s"
stall_timeout = "15s"
lost_limit = "40s"
settle = "{settle}"
expected = "10s"
[measure]
reading = 'iter (?P<step>\\d+), .*samples/s: (?P<value>[\\d.]+)'
scope = "{scope}"
window = {{ {window} }}
statistic = "{statistic}"
[explain]
environment = {{ PROFILED = "1" }}
reading = '(?P<rank>\\d) (?P<step>\\d) (?P<compute>\\d) (?P<communication>\\d) (?P<input>\\d)'
"""


def profile_text(chance: random.Random, name: str) -> str:
    """A profile; another text from the same chance gives other figures from the same log."""
    return PROFILE.format(
        name=name,
        launcher=chance.choice(("per_node", "per_node", "per_node", "first_node", "mpirun")),
        stage=chance.choice(("", "", '"train.sh"')),
        settle=chance.choice(("0s", "0s", "1s")),
        scope=chance.choice(("global", "per_device")),
        window=chance.choice(("skip = 1", "skip = 2", "last = 4", "from_step = 2, to_step = 6")),
        statistic=chance.choice(("mean", "median", "harmonic_mean", "last")),
    )


def line(number: int, value: float) -> str:
    return f"iter {number}, loss: 1.0, samples/s: {value:.3f}"


class Workloads:
    """A run's behaviour by its id and host; the same each time it is asked.

    ``trouble``: the share of runs that do anything but train and end.
    """

    def __init__(self, seed: int, trouble: float) -> None:
        self._seed = seed
        self._trouble = trouble

    def __call__(self, asked: Asked) -> Workload:
        stem, _, attempt = asked.run_id.rpartition("-a")
        # The random part of a run id is left out: what happens is the plan's, not the id's.
        number = stem.rpartition("-")[2]
        chance = random.Random(f"{self._seed}/{number}/{attempt}/{asked.host}")
        curve = Curve(
            level=chance.choice((80.0, 100.0, 3000.0)),
            every_s=chance.choice((0.3, 1.0, 1.0, 2.5)),
            first_s=chance.choice((0.2, 1.0, 4.0)),
            noise=0.02,
        )
        plain = training(
            curve,
            chance.randint(6, 12),
            line,
            seed=(self._seed, number, asked.host),
            first=chance.choice(("start\n", "\x1b[31mstart\x1b[0m \r", "")),
            last=chance.choice(("", "end without a newline", "done\n")),
        )
        plain = replace(plain, on_term_s=chance.choice((0.0, 0.0, 0.5, 6.0)))
        if plain.on_term_s:
            plain = replace(plain, on_term_output=b"saved a checkpoint\n")
        saving = random.Random(f"saving/{self._seed}/{number}/{attempt}/{asked.host}")
        if plain.on_term_s is not None and saving.random() < 0.3:
            plain = replace(plain, on_term_child_s=saving.choice((0.4, 3.0, 8.0, 30.0)))
        if chance.random() >= self._trouble:
            return plain
        return self._troubled(chance, plain, curve, number)

    def _troubled(
        self, chance: random.Random, plain: Workload, curve: Curve, number: str
    ) -> Workload:
        kind = chance.randrange(7)
        if kind == 0:
            return replace(plain, exit_status=chance.choice((1, 137, 139)))
        if kind == 1:
            return training(
                curve,
                chance.randint(0, 4),
                line,
                seed=(self._seed, number),
                last="torch.cuda.OutOfMemoryError: CUDA out of memory.\n",
                fails_with=1,
            )
        if kind == 2:
            return training(
                curve, chance.randint(0, 4), line, seed=(self._seed, number), stalls=True
            )
        if kind == 3:
            return replace(plain, on_term_s=None, ends_after_s=FOREVER)
        if kind == 4:
            return replace(plain, output=lambda: iter(()))
        return replace(plain, children=tuple(_child(chance) for _ in range(chance.randint(1, 2))))


def _child(chance: random.Random) -> Child:
    return Child(
        lives_s=chance.choice((2.0, 30.0, FOREVER, FOREVER)),
        on_term_s=chance.choice((0.0, 0.0, 1.0, None)),
        marked=chance.random() < 0.6,
        hides=chance.random() < 0.5,
        holds_lease=chance.random() < 0.8,
    )
