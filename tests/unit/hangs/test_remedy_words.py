from __future__ import annotations

from itertools import combinations

import pytest

from backends.hangs.diagnosis import Diagnosis, Finding, Sign, Suspect
from backends.hangs.remedy_words import NOBODY_NAMED, remedy_line


@pytest.mark.parametrize("sign", Sign)
def test_a_remedy_names_the_host_for_every_sign_whatever_else_is_known(sign: Sign) -> None:
    for rank, device, pid in ((None, None, None), (5, 3, 4711), (None, None, 4711)):
        found = Diagnosis((Suspect("node3", rank, device, pid, (Finding(sign),)),))
        said = remedy_line(found)
        assert "node3" in said
        assert "None" not in said
        assert "\n" not in said


def test_a_broken_gpu_comes_before_what_a_rank_of_it_does() -> None:
    broken = {Sign.XID, Sign.GPU_LOST, Sign.NVLINK, Sign.PCIE}
    for pair in combinations(Sign, 2):
        found = Diagnosis((Suspect("node3", 5, 3, None, tuple(map(Finding, pair))),))
        assert ("GPU3" in remedy_line(found)) is bool(broken & {*pair}), pair


def test_what_lets_a_stopped_rank_go_on_is_told_where_its_process_is_known() -> None:
    stopped, traced = ((Finding(sign),) for sign in (Sign.STOPPED, Sign.TRACED))
    said = remedy_line(Diagnosis((Suspect("node3", 5, 3, 4711, stopped),)))
    assert said == "rank 5 on node3 was stopped; this lets it go on there: kill -CONT 4711"
    for first in (Suspect("node3", 5, 3, None, stopped), Suspect("node3", 5, 3, 4711, traced)):
        assert "kill" not in remedy_line(Diagnosis((first,)))


@pytest.mark.parametrize("sign", list(Sign))
def test_nobody_is_told_to_let_go_on_what_has_ended(sign: Sign) -> None:
    found = Diagnosis((Suspect("node3", 5, 3, 4711, (Finding(sign),)),))
    said = remedy_line(found, over=True)
    assert not any(words in said for words in ("4711", "kill", "go on"))


def test_where_nobody_is_named_the_hosts_are_told_from_the_program() -> None:
    assert remedy_line(None) == remedy_line(Diagnosis()) == NOBODY_NAMED
