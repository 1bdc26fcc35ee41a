"""Who has a host, told to a campaign that waits for it."""

from __future__ import annotations

import pytest

from backends.remote.lease import Lease

OURS = "alice@login01, campaign new"


@pytest.mark.parametrize(
    ("holder", "run_id", "owner", "said"),
    [
        ("alice@login01, campaign old", "c0ffee-0001-a1", "", "another campaign of yours: "),
        (OURS, "c0ffee-0001-a1", "alice", "another campaign of yours of the same name: "),
        (OURS, "beef-0001-a1", "", "an earlier run of this campaign: "),
        ("alice@login02, campaign old", "c0ffee-0001-a1", "", ""),
        ("alice@login01, precheck", "c0ffee-0001-a1", "", ""),
        ("alice@login01, campaign old", "c0ffee-0001-a1", "mallory", ""),
        (OURS, "beef-0001-a1", "mallory", ""),
    ],
)
def test_a_campaign_of_the_reader_is_called_so(
    holder: str, run_id: str, owner: str, said: str
) -> None:
    """Not where only the holder itself says so, and the kernel names another user."""
    lease = Lease(f"{holder}, run {run_id}", owner=owner, run_id=run_id)
    assert lease.told_to(OURS, "beef") == f"{said}{lease.explained}"
    mine = holder.startswith("alice@login01") and owner != "mallory"
    rest = f"{holder.partition(', ')[2]}, run {run_id}"
    assert lease.of("alice@login01") == (rest if mine else "")
    assert lease.of("alice@login0") == lease.of("") == ""
