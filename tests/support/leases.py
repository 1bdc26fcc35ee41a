"""Who holds a host."""

from __future__ import annotations

from backends.remote.client import RemoteHost


async def lease_holder(remote: RemoteHost, group: str = "") -> str:
    """In its own words; empty when it is free, or held by runs that share it in ``group`` alone."""
    lease = await remote.lease(group)
    return "" if lease is None else lease.holder
