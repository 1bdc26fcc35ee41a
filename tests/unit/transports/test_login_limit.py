"""How many logins go on at once, and who makes room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from backends.transports import login_limit
from backends.transports.login_limit import LoginLimit
from backends.transports.turns import Turn
from tests.support.waiting import until


class Login:
    """In progress from :meth:`begin` on until it is told to end."""

    def __init__(self, limit: LoginLimit, server: str) -> None:
        self.begun = False
        self._end = asyncio.Event()
        self._task = asyncio.create_task(self._go(limit, server))

    async def _go(self, limit: LoginLimit, server: str) -> None:
        async with limit.one(server) as self.turn:
            self.begun = True
            await self._end.wait()

    async def end(self) -> None:
        self._end.set()
        await self._task


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def begun(logins: list[Login]) -> list[bool]:
    return [login.begun for login in logins]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_limit, "CONNECTING_S", 100.0)


async def ended(logins: list[Login]) -> None:
    await asyncio.gather(*(login.end() for login in logins))


@pytest.mark.usefixtures("patient")
async def test_so_many_at_one_server_and_so_many_in_all() -> None:
    limit = LoginLimit(total=3, at_one_server=2)
    logins = [Login(limit, server) for server in ("a", "a", "a", "b", "b")]
    await settled()
    assert begun(logins) == [True, True, False, True, False]
    await logins[0].end()
    await until(lambda: sum(begun(logins)) == 4)
    await ended(logins)
    assert all(begun(logins))


async def test_who_waits_for_a_dead_host_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_limit, "CONNECTING_S", 0.01)
    limit = LoginLimit(total=2, at_one_server=8)
    dead = [Login(limit, f"dead{number}") for number in range(10)]
    alive = Login(limit, "alive")
    await until(lambda: alive.begun)
    await ended([*dead, alive])
    assert limit._turns._total._value == 2, "nothing is given back twice"


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("wait", [lambda turn: turn.give_back(), lambda turn: turn.last(0.01)])
async def test_a_turn_is_given_back_once_and_taken_again(
    wait: Callable[[Turn], None],
) -> None:
    limit = LoginLimit(total=1, at_one_server=8)
    first, second = Login(limit, "a"), Login(limit, "b")
    await settled()
    assert begun([first, second]) == [True, False]
    wait(first.turn)
    await until(lambda: second.begun)
    again = asyncio.create_task(first.turn.take(100.0))
    await settled()
    assert not again.done()
    await second.end()
    await again
    await first.end()
    assert limit._turns._total._value == 1
