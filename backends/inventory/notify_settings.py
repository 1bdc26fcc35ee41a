"""Whom to tell, of what and how: ``[notify]`` of the inventory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Occasions = Literal["end", "failure", "grade", "host_lost", "disk"]
Terminals = Literal["auto", "bell", "osc9", "osc777", "off"]
OCCASIONS: tuple[Occasions, ...] = get_args(Occasions)
TERMINALS: tuple[Terminals, ...] = get_args(Terminals)


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """``command``: words of what is started for each occasion, without a shell; empty: nothing.

    ``on``: of :data:`OCCASIONS`. ``metrics``: path of an OpenMetrics file, empty for none;
    ``{campaign}`` in it is the campaign's name. ``terminal``: one of :data:`TERMINALS`.
    """

    command: tuple[str, ...] = ()
    on: tuple[Occasions, ...] = OCCASIONS
    metrics: str = ""
    terminal: Terminals = "auto"
