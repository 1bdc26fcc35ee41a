"""Whose hosts to use, where there is no GPU and no inventory, but the programs of a queue."""

from __future__ import annotations

from rich.text import Text

from tui.screens.dialogs import Answer, Choice


def engine_question(engine: str) -> Choice:
    """The result is the engine, or None for this machine alone."""
    text = Text(
        f"There is no inventory and no GPU here, but the programs of {engine.capitalize()}.\n\n"
        f'For good: engine = "{engine}" below [defaults] in hosts.toml.'
    )
    answers = [
        Answer("y", f"Show its hosts (--engine {engine})", engine),
        Answer("n", "This machine alone", ""),
    ]
    return Choice("Hosts", text, answers)
