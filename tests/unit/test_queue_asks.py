"""What jobs ask for that has to be there, and where it is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.inventory.host_entry import Inventory, this_machine
from backends.inventory.job_options import JobOptions
from backends.inventory.queue_asks import Ask, asks, partitions_of
from profiles.errors import SelectionError

FILE = Path("/etc/hosts.toml")
SPELLINGS = {
    "partition": ("-p {}", "-p{}", "--partition={}", "--partition {}", "--part={}"),
    "account": ("-A {}", "--account={}"),
    "qos": ("-q {}", "--qos={}"),
    "reservation": ("--reservation={}", "--reservation {}"),
}


def inventory(clusters: dict[str, JobOptions] | None = None, **options: object) -> Inventory:
    return Inventory(
        (),
        FILE,
        engine="slurm",
        login=this_machine("login"),
        job_options=JobOptions(**options),  # type: ignore[arg-type]
        clusters=clusters or {},
    )


def told(key: str, of: Inventory, **profile: object) -> Ask:
    [ask] = [ask for ask in asks(of, {"gpt": profile}) if ask.key == key]
    return ask


@pytest.mark.parametrize("key", SPELLINGS)
@given(st.data())
def test_what_sbatch_would_go_by_is_found_with_where_it_is_said(
    key: str, data: st.DataObject
) -> None:
    """A profile wins over the inventory, words for sbatch over both, the nearest over others."""
    names = st.none() | st.sampled_from(["a", "b-1", "c_2"])

    def words(name: str | None) -> tuple[str, ...]:
        spelled = data.draw(st.sampled_from(SPELLINGS[key]))
        return () if name is None else ("--comment=x", spelled.format(name), "--nice")

    own, of_profile, extra, extra_of_profile, line = data.draw(st.tuples(*[names] * 5))
    profile = {k: v for k, v in ((key, of_profile), ("extra", words(extra_of_profile))) if v}
    of = inventory(**{key: own or ""}, extra=words(extra), asked=words(line))
    levels = (
        (line, "--sbatch"),
        (extra_of_profile, "profile gpt: extra of [slurm]"),
        (extra, "/etc/hosts.toml: extra of [slurm]"),
        (of_profile, "profile gpt: [slurm]"),
        (own, "/etc/hosts.toml: [slurm]"),
        ("", ""),
    )
    expected = next(level for level in levels if level[0] is not None)
    assert told(key, of, **profile) == Ask(key, *expected)


def test_each_cluster_asks_for_itself() -> None:
    of = inventory({"a": JobOptions(partition="x"), "b": JobOptions(account="y")})
    found = [(ask.key, ask.value, ask.where) for ask in asks(of) if ask.value]
    assert found == [("partition", "x", "cluster a"), ("account", "y", "cluster b")]


def test_partitions_that_are_not_there_are_one_line() -> None:
    asked = [Ask("partition", "gpu,shrot", "hosts.toml: [slurm]")]
    with pytest.raises(SelectionError) as error:
        partitions_of(asked, {"short", "gpu"})
    assert str(error.value) == (
        "hosts.toml: [slurm]: there is no partition 'shrot', did you mean 'short'? "
        "There are gpu, short"
    )


def test_where_somebody_names_no_partition_it_may_be_any() -> None:
    named, unnamed = Ask("partition", "gpu", ""), Ask("partition", "", "")
    assert partitions_of([named, Ask("account", "ml", "")], {"gpu"}) == {"gpu"}
    assert partitions_of([named, unnamed], {"gpu"}) is None


@given(st.lists(st.text(max_size=20), max_size=4))
def test_words_that_nobody_understands_are_for_sbatch_to_judge(words: list[str]) -> None:
    for ask in asks(inventory(extra=tuple(words))):
        assert isinstance(ask.value, str)
