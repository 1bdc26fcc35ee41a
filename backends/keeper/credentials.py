"""Which logins a keeper cannot make again when nobody is there, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from backends.inventory.nodesets import fold_nodeset
from backends.transports.credential import Credential


def by_hand(let_in_by: Mapping[str, Credential], hosts: Collection[str]) -> str:
    """Those of ``hosts`` whose login somebody has answered a question of; or empty."""
    return _of(Credential.HAND, let_in_by, hosts)


def why_by_hand(let_in_by: Mapping[str, Credential], hosts: Collection[str]) -> str:
    """Why no keeper can begin on ``hosts``; empty where one can."""
    names = by_hand(let_in_by, hosts)
    asks = "the login asks for what only you can answer, and a keeper asks nobody"
    return f"{names}: {asks}" if names else ""


def what_may_expire(
    let_in_by: Mapping[str, Credential], hosts: Collection[str], environ: Mapping[str, str]
) -> list[str]:
    """What is said once, early: connections that are held stay, and cannot be made again when what
    let them in has gone."""
    told = []
    if agent := _of(Credential.AGENT, let_in_by, hosts):
        socket = environ.get("SSH_AUTH_SOCK", "")
        goes = "ends"
        if environ.get("SSH_CONNECTION") and "/ssh-" in socket:
            goes = "ends, which is forwarded and goes with your login"
        told.append(
            f"{agent}: the login is made with a key of the ssh agent ({socket}). When that {goes}, "
            "connections stay, and cannot be made again once they are lost"
        )
    if ticket := _of(Credential.TICKET, let_in_by, hosts):
        told.append(
            f"{ticket}: the login is made with neither a key nor a password. If it is a Kerberos "
            "ticket, connections stay when that expires, and cannot be made again once they are "
            "lost"
        )
    return told


def _of(credential: Credential, let_in_by: Mapping[str, Credential], hosts: Collection[str]) -> str:
    return fold_nodeset(host for host in hosts if let_in_by.get(host) is credential)
