"""Counters of network ports, read twice a second apart."""

from __future__ import annotations

import re

from backends.hangs.evidence import Port

_LINE = re.compile(r"^([12]) (\S{1,64}) ([a-z_]{1,32}) (.{1,40})$", re.ASCII)
_MOVED = ("port_xmit_data", "port_rcv_data", "rx_bytes", "tx_bytes")
_NO_ERRORS = (*_MOVED, "port_xmit_wait", "state")
_WORDS = 4  # an InfiniBand port counts in words of four bytes


def read_ports(text: str) -> tuple[Port, ...]:
    """``moved``: bytes in that second, both ways. Loopback is no network."""
    values: dict[str, dict[str, list[int]]] = {}
    states: dict[str, str] = {}
    for line in text.splitlines()[:20_000]:
        match = _LINE.match(line)
        if match is None or match[2] == "lo":
            continue
        sample, name, counter, value = match.groups()
        if counter == "state":
            states[name] = value
            values.setdefault(name, {})
        elif value.isdecimal() and len(value) < 21:
            told = values.setdefault(name, {}).setdefault(counter, [])
            if len(told) == int(sample) - 1:
                told.append(int(value))
    return tuple(
        _port(name, counters, states.get(name, "")) for name, counters in sorted(values.items())
    )


def _port(name: str, counters: dict[str, list[int]], state: str) -> Port:
    grown = {key: told[1] - told[0] for key, told in counters.items() if len(told) == 2}
    moved = sum(
        grown.get(key, 0) * (_WORDS if key.startswith("port_") else 1)
        for key in _MOVED
        if grown.get(key, 0) > 0
    )
    errors = tuple(
        (key, more) for key, more in sorted(grown.items()) if more > 0 and key not in _NO_ERRORS
    )
    return Port(name, bool(state) and "ACTIVE" not in state, moved, errors)
