"""What an SSH login asks of the operator: secrets, and whether to trust an unknown host."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text
from textual.app import App

from tui.text import plain, shorten
from tui.theme import MUTED

if TYPE_CHECKING:
    from tui.screens.dialogs import Choice, Dialog

Result = TypeVar("Result")

LONGEST_PROMPT = 400


class ConsolePrompter:
    """A :class:`~backends.transports.transport.Prompter` that asks in dialogs, one after the other.

    Others' logins go on while the operator thinks. Esc is "not given", or "no". A secret is handed
    to the login and kept nowhere.
    """

    def __init__(self) -> None:
        self._app: App[str] | None = None
        self._turn = asyncio.Lock()

    def attach(self, app: App[str]) -> None:
        """From now on questions are asked there; before, nobody is there to answer."""
        self._app = app

    async def secret(self, host: str, prompt: str) -> str | None:
        from tui.screens.dialogs import Prompt  # noqa: PLC0415 - seldom needed

        words = shorten(plain(prompt), LONGEST_PROMPT)
        text = Text.assemble((plain(host), "bold"), " asks:\n\n", words)
        return await self._ask(Prompt("Logging in", text, secret=True))

    async def trust_key(self, host: str, fingerprint: str, key_type: str) -> bool:
        return await self._ask(trust_question(host, fingerprint, key_type)) == "trust"

    async def _ask(self, dialog: Dialog[Result]) -> Result | None:
        async with self._turn:
            if self._app is None:
                return None
            answer: asyncio.Future[Result | None] = asyncio.get_running_loop().create_future()

            def answered(result: Result | None) -> None:
                if not answer.done():
                    answer.set_result(result)

            # From the app's own queue: the login that asks runs outside of any screen.
            self._app.call_later(self._app.push_screen, dialog.by_itself(), answered)
            try:
                return await answer
            except asyncio.CancelledError:  # nobody wants to know any more
                self._app.call_later(dialog.finish)
                raise


def trust_question(host: str, fingerprint: str, key_type: str) -> Choice:
    """The answer is "trust" or "no"; what Enter takes without a thought is "no"."""
    from tui.screens.dialogs import Answer, Choice  # noqa: PLC0415 - seldom needed

    text = Text.assemble(
        (plain(host), "bold"),
        " was never seen before: nothing proves that it is the right one. It shows this key:\n\n",
        (f"  {plain(key_type)}\n  {plain(fingerprint)}\n\n", "bold"),
        (
            "Compare it with a fingerprint that did not come over this connection: from the "
            "host's console, or its administrator.",
            MUTED,
        ),
    )
    return Choice(
        "Unknown host key",
        text,
        (
            Answer("n", "no: do not log in there", "no"),
            Answer("t", "trust this key from now on; it is added to known_hosts", "trust"),
        ),
    )
