"""How long SSH may take, and how much of it may go on at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SshSettings:
    """Limits and timeouts, in seconds.

    A dead network is noticed ``keepalive_interval_s`` × (``keepalive_count`` + 1) after its last
    byte. A command must have begun within ``answer_timeout_s``, or the host counts as silent. An
    sshd as it is installed drops some of more than 10 logins at once and refuses more than 10
    sessions per connection, hence 8 and 8; all that log in at once through a ProxyCommand count as
    one server's. More than ``handshakes`` in all would hold up the console.
    """

    connect_timeout_s: float = 10.0
    login_timeout_s: float = 20.0
    answer_timeout_s: float = 8.0
    keepalive_interval_s: float = 5.0
    keepalive_count: int = 3
    handshakes: int = 32
    handshakes_at_one_server: int = 8
    channels: int = 8
