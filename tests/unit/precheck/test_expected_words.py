"""What a precheck's result says of its figures: which can name a host, and which are told only."""

from hypothesis import given
from hypothesis import strategies as st

from backends.precheck.figures import METRICS, Figure
from backends.precheck.ranking import Measured
from backends.precheck.words import expected_text, main_figures


@given(st.sets(st.sampled_from(sorted(METRICS))))
def test_of_each_figure_in_sight_it_is_told_whether_it_can_name_its_host(names: set[str]) -> None:
    measured = Measured(("a",), tuple(Figure(n, 1.0, METRICS[n].unit, ("a",)) for n in names))
    judges, _, told_only = expected_text(measured).partition(". Told, but never called slow: ")
    in_sight = [n for n in names if f"{METRICS[n].title} 1" in main_figures(measured, "a")]
    if any(METRICS[n].judged for n in in_sight):
        for metric in (METRICS[n] for n in in_sight):
            assert (f"({metric.title})" in judges) is metric.judged
            assert (metric.title in told_only.split("; ")) is not metric.judged
