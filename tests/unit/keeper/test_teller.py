"""What a keeper says to whoever has started it."""

from __future__ import annotations

import json
import os

from backends.keeper.process import Teller


def test_a_keeper_tells_once_and_touches_no_descriptor_that_came_after() -> None:
    reading, writing = os.pipe()
    teller = Teller(writing)
    teller.tell({"pid": 7})
    with os.fdopen(reading, "rb") as pipe:
        assert json.loads(pipe.read()) == {"pid": 7}  # to its end: the descriptor is closed
    again, taken = os.pipe()
    os.dup2(taken, writing)  # the number is in use for something else by now
    teller.tell({"error": "the hosts are gone", "code": 1})
    os.write(writing, b"mine")
    for fd in {taken, writing}:
        os.close(fd)
    with os.fdopen(again, "rb") as pipe:
        assert pipe.read() == b"mine"


def test_nobody_has_to_be_told() -> None:
    Teller(None).tell({"pid": 7})
    reading, writing = os.pipe()
    os.close(reading)
    Teller(writing).tell({"pid": 7})
