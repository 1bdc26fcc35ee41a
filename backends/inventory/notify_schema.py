"""``[notify]`` of hosts.toml, checked."""

from __future__ import annotations

import shlex
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from backends.inventory.notify_settings import (
    OCCASIONS,
    TERMINALS,
    NotifySettings,
    Occasions,
    Terminals,
)
from profiles.schema_mistakes import shown

_WRITE_COMMAND = "write a command as in a terminal, or its words as a list"


def _mistake(what: str) -> PydanticCustomError:
    return PydanticCustomError(
        "mistake", "{what}", {"what": what, "remedy": _WRITE_COMMAND, "key": ""}
    )


def _words_of(value: object) -> object:
    """Of a command, as a shell would take it apart; there is no shell when it is started."""
    if not isinstance(value, str):
        return value
    try:
        words = tuple(shlex.split(value))
    except ValueError as error:
        raise _mistake(f"{shown(value)} is no command: {str(error).lower()}") from None
    if not words:
        raise _mistake("is empty")
    return words


class Notify(BaseModel):
    """``[notify]``: whom to tell what happens in campaigns."""

    model_config = ConfigDict(extra="forbid", frozen=True, regex_engine="python-re")

    command: Annotated[
        tuple[Annotated[str, Field(pattern=r"\A[^\x00]+\Z")], ...], BeforeValidator(_words_of)
    ] = Field(default=(), description=_WRITE_COMMAND)
    on: tuple[Occasions, ...] = Field(
        default=OCCASIONS, description=f"write some of {list(OCCASIONS)}"
    )
    metrics: Annotated[str, Field(pattern=r"\A(?:~?/[^\x00-\x1f\x7f]+)?\Z")] = Field(
        default="", description="give an absolute path, or one that starts with ~/"
    )
    terminal: Terminals = Field(default="auto", description=f"write one of {list(TERMINALS)}")

    @property
    def settings(self) -> NotifySettings:
        return NotifySettings(**self.model_dump())
