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


def test_where_nobody_is_named_the_hosts_are_told_from_the_program() -> None:
    assert remedy_line(None) == remedy_line(Diagnosis()) == NOBODY_NAMED
