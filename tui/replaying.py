"""The console over a recorded campaign: all of it looks, none of it asks a host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from textual import work

from backends.replay.replay_workspace import ReplayWorkspace
from profiles.durations import format_duration
from profiles.errors import DlperfError
from tui.app import DlperfApp
from tui.key_bindings import NOT_IN_A_REPLAY, bindings

LOOK_S = 0.25


class ReplayApp(DlperfApp, inherit_bindings=False):
    """Plays the workspace's campaign from its beginning."""

    PANEL = "replay"
    BINDINGS = bindings("replay")

    def __init__(self, workspace: ReplayWorkspace) -> None:
        super().__init__(workspace, readonly=True)
        self._replay = workspace
        self.session.playing = self._words

    def _words(self) -> str:
        clock = self._replay.replay_clock
        mark = "■ end" if clock.over else "▶" if clock.plays else "■"
        at, whole = clock() - clock.begin, clock.end - clock.begin
        return f"{mark} ×{clock.speed:g} {format_duration(at)} of {format_duration(whole)}"

    def _first(self) -> None:
        self.play()
        self.follow_opened()

    @work(group="play", description="let the recorded campaign grow as it did")
    async def play(self) -> None:
        await self._open()
        self.action_page("runs")
        while True:
            try:
                await asyncio.to_thread(self._replay.show)
            except DlperfError as error:
                self.show_problem(error)
                return
            await asyncio.sleep(LOOK_S)

    async def _open(self) -> None:
        try:
            await self.session.open(self._replay.playback)
        except DlperfError as error:
            self.show_problem(error)

    @property
    def labels_now(self) -> Mapping[str, str]:
        """For the footer."""
        clock = self._replay.replay_clock
        return {"play": "Pause" if clock.plays and not clock.over else "Play"}

    def action_play(self) -> None:
        """At the end there is only the beginning to go on with."""
        clock = self._replay.replay_clock
        if clock.over:
            self.restart()
        else:
            clock.toggle()
            self.screen.refresh_bindings()

    def action_faster(self, steps: int) -> None:
        self._replay.replay_clock.faster(steps)

    @work(exclusive=True, group="campaigns", description="begin again")
    async def restart(self) -> None:
        try:
            await asyncio.to_thread(self._replay.restart)
        except DlperfError as error:
            self.show_problem(error)
            return
        await self._open()

    def action_restart(self) -> None:
        self.restart()

    async def _leave(self, message: str) -> None:
        for worker in self.workers:
            if worker.group == "follow":  # what it follows goes
                worker.cancel()
        await super()._leave(message)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        named = f"{action}({', '.join(map(repr, parameters))})" if parameters else action
        return named not in NOT_IN_A_REPLAY and super().check_action(action, parameters)

    def action_page(self, name: str) -> None:
        if name != "matrix":
            super().action_page(name)
