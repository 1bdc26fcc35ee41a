from profiles.logs.ranks import RankFilter
from tests.unit.profiles.builders import READING, parse, profile


def parts_of_ranks(line: str, ranks: tuple[int, ...]) -> list[str]:
    return RankFilter(ranks).parts(line)


def test_a_line_without_prefix_belongs_to_all() -> None:
    assert parts_of_ranks("iter 1", (0,)) == ["iter 1"]


def test_other_ranks_are_left_out() -> None:
    assert parts_of_ranks("[1,0]<stdout>:a", (0,)) == ["a"]
    assert parts_of_ranks("[1,3]<stderr>:a", (0,)) == []
    assert parts_of_ranks("[1,3]<stderr>:a", (0, 3)) == ["a"]


def test_a_timestamp_before_the_prefix_is_part_of_it() -> None:
    assert parts_of_ranks("Wed Jun  1 10:54:24 2022[1,0]<stdout>:DLL", (0,)) == ["DLL"]


def test_glued_ranks_are_taken_apart() -> None:
    line = "0%|bar|Thu Jun  9 09:15:17 2022[1,1]<stdout>:one[1,0]<stdout>:two[1,2]<stdout>:"
    assert parts_of_ranks(line, (0,)) == ["0%|bar|", "two"]
    assert parts_of_ranks(line, (1,)) == ["0%|bar|", "one"]


def test_prefixes_of_other_launchers_are_declared() -> None:
    srun = profile(READING + "\nrank_prefix = '^(?P<rank>[0-9]+): '")
    log = "0: iter 20, samples/s: 1\n1: iter 20, samples/s: 2\niter 40, samples/s: 3\n"
    assert [reading.value for reading in parse(srun, log).readings] == [1, 3]
    torchrun = profile(
        READING
        + r"""
ranks = [1]
rank_prefix = '\[default(?P<rank>\d+)\]:'
"""
    )
    log = "[default0]:iter 20, samples/s: 1\n[default1]:iter 20, samples/s: 2\n"
    assert [reading.value for reading in parse(torchrun, log).readings] == [2]
