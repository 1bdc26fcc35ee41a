"""The flags of a case, as the console's table says them."""

from dataclasses import replace

from backends.results.summary import summarise
from tui.screens.result_text import flags


def test_what_was_cancelled_is_not_said_to_have_failed(runs_of):
    failed = runs_of("1n1g", [None, None])
    cancelled = [replace(run, state="cancelled") for run in failed]
    for runs, said in (
        (cancelled, "cancelled"),
        (failed, "failed runs"),
        ([cancelled[0], failed[1]], "failed runs"),
    ):
        [group] = summarise(runs)
        assert flags(group.cases[0]).plain == f"✗ {said}"
