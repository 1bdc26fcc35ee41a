"""What let a login in, and so whether the same login can be made again when nobody is there."""

from __future__ import annotations

from enum import StrEnum


class Credential(StrEnum):
    FILE = "file"  # a key that lies on this disk, unlocked
    AGENT = "agent"  # a key that the ssh agent holds
    HAND = "hand"  # a question was answered: a password, a code, the passphrase of a key
    TICKET = "ticket"  # none of them: Kerberos, or the hosts trust each other
