"""``python -m tests.statistics``: run every simulation and bring docs/statistics.md up to them.

``--quick``: with few cases, and without writing. Names of tables: only these.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.statistics import comparisons, histories, intervals, projections, steadiness, stopping
from tests.statistics.table import replaced

DOCUMENT = Path(__file__).parents[2] / "docs" / "statistics.md"
SIMULATIONS = (
    *comparisons.SIMULATIONS,
    *intervals.SIMULATIONS,
    *steadiness.SIMULATIONS,
    *stopping.SIMULATIONS,
    *projections.SIMULATIONS,
    *histories.SIMULATIONS,
)


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    text = DOCUMENT.read_text(encoding="utf-8")
    named = [argument for argument in arguments if not argument.startswith("-")]
    for simulation in SIMULATIONS:
        if named and simulation.name not in named:
            continue
        count = simulation.quick if quick else simulation.count
        table = simulation.run(count).markdown()
        heading = simulation.name if simulation.exact else f"{simulation.name}, {count} each"
        print(f"{heading}\n\n{table}", flush=True)
        text = replaced(text, simulation.name, table)
    if not quick:
        DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
