"""The console over a recorded campaign: all of it looks, none of it asks a host."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from textual import work

from backends.replay.replay_clock import SPEEDS
from backends.replay.replay_workspace import ReplayWorkspace
from profiles.durations import format_duration
from profiles.errors import DlperfError
from tui.app import DlperfApp
from tui.key_bindings import NOT_IN_A_REPLAY, PANELS, bindings
from tui.lent_terminal import LEADS_BACK
from tui.screens.page import Page
from tui.widgets.header import Tabs
from tui.widgets.seek_bar import SeekBar
from tui.widgets.telemetry_panel import TelemetryPanel

LOOK_S = 0.25


class ReplayApp(DlperfApp, inherit_bindings=False):
    """Plays the workspace's campaign from its beginning."""

    DEFAULT_MODE = "runs"  # on Hosts nothing happens
    PANEL = "replay"
    BINDINGS = bindings("replay")

    def __init__(self, workspace: ReplayWorkspace, theme_file: Path | None = None) -> None:
        super().__init__(workspace, readonly=True, theme_file=theme_file)
        self._replay = workspace
        self._sought = asyncio.Event()
        self._under_way = False  # to the moment that was sought
        self.session.playing = self._words
        self.session.seek_bar = self._seek_bar
        self.session.recorded_slots = workspace.recorded_slots

    @property
    def _moment(self) -> float:
        """That is shown, or sought."""
        return self._replay.replay_clock() if self._under_way else self._replay.moment

    def _seek_bar(self) -> SeekBar:
        clock, recorded = self._replay.replay_clock, self._replay.recording
        whole = (clock.end - clock.begin) or 1.0

        def share(moment: float) -> float:
            return (moment - clock.begin) / whole

        failed, found = map(share, recorded.failed), map(share, recorded.found_at)
        return SeekBar(share(self._moment), tuple(failed), tuple(found))

    def _words(self) -> str:
        clock, moment = self._replay.replay_clock, self._moment
        if self._under_way:
            said = "seeking"
        else:
            mark = "■ end" if moment >= clock.end else "▶" if clock.plays else "‖"
            said = f"{mark} ×{clock.speed:g}"
        at, whole = moment - clock.begin, clock.end - clock.begin
        return f"{said} {format_duration(at)} of {format_duration(whole)}"

    def _first(self) -> None:
        self.play()

    @work(group="play", description="let the recorded campaign grow as it did")
    async def play(self) -> None:
        """All that is in sight is of one moment: the journal is read before the log of it comes,
        so that no line is seen before the reading that it has."""
        while True:
            self._sought.clear()
            look_s: float | None = LOOK_S
            try:
                await self._bring()
            except DlperfError as error:
                self._under_way = False
                self.show_problem(error)
                look_s = None  # said once: until somebody seeks
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(look_s):
                    await self._sought.wait()

    async def _bring(self) -> None:
        replay = self._replay
        if self.session.opened is None:
            replay.replay_clock.seek(replay.moment)  # what nobody could see is not over
            await self.session.open(replay.playback)
        if comes := await asyncio.to_thread(replay.advance):
            await self.session.open(replay.playback)
            replay.reach()
            await asyncio.to_thread(replay.catch_up)
        if comes or self._under_way:
            self._under_way = self._sought.is_set()
            self._show_moment()

    def _show_moment(self) -> None:
        """At once, and not when a page looks next, as one does that is still being made."""
        if isinstance(self.screen, Page) and self.screen.is_mounted:
            self.screen.tick()
            for telemetry in self.screen.query(TelemetryPanel):
                telemetry.look()

    @property
    def labels_now(self) -> Mapping[str, str]:
        """For the footer."""
        clock = self._replay.replay_clock
        play = {"play": "Again" if clock.over else "Pause" if clock.plays else "Play"}
        return play | ({"quit": "Back"} if LEADS_BACK in os.environ else {})

    def action_play(self) -> None:
        """At the end there is only the beginning to go on with."""
        clock = self._replay.replay_clock
        if clock.over:
            self.action_restart()
            if clock.plays:
                return
        clock.toggle()
        self._sought.set()
        self.screen.refresh_bindings()
        self._show_moment()

    def action_faster(self, steps: int) -> None:
        self._replay.replay_clock.faster(steps)
        self._show_moment()

    def action_restart(self) -> None:
        self._seek(self._replay.replay_clock.begin)

    def action_skip(self, seconds: int) -> None:
        """Ahead, or back."""
        self._stand_still(back=seconds < 0)
        self._seek(self._replay.replay_clock() + seconds)

    def action_turn(self, direction: int) -> None:
        """To where a run began or ended."""
        self._stand_still(back=direction < 0)
        self._seek(self._replay.turn(direction))

    def _stand_still(self, *, back: bool) -> None:
        """Back from the end: it would be there again before anybody has seen the moment."""
        clock = self._replay.replay_clock
        if back and clock.over and clock.plays:
            clock.toggle()
            self.screen.refresh_bindings()

    def _seek(self, moment: float) -> None:
        self._replay.replay_clock.seek(moment)
        self._under_way = True
        for tabs in self.screen.query(Tabs):  # before what may take seconds
            tabs.replay, tabs.seek = self._words(), self._seek_bar()
        self._sought.set()

    async def _leave(self, message: str) -> None:
        for worker in self.workers:
            if worker.group == "play":  # what it shows goes
                worker.cancel()
        await super()._leave(message)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        named = f"{action}({', '.join(map(repr, parameters))})" if parameters else action
        if named in NOT_IN_A_REPLAY:
            return False
        clock = self._replay.replay_clock
        moments = clock(), self._replay.moment  # what is shown may have stayed behind
        begun, ends = max(moments) > clock.begin, min(moments) >= clock.end
        return {
            "turn(1)": not ends,
            "turn(-1)": begun,
            "skip(30)": not ends,
            "skip(-30)": begun,
            "restart": begun,
            "faster(1)": clock.speed < SPEEDS[-1],
            "faster(-1)": clock.speed > SPEEDS[0],
        }.get(named, True) and super().check_action(action, parameters)

    def _say_why(self, pressed: str) -> None:
        """Of a key that any other console has, too."""
        missing = (key for key in PANELS["app"].keys if key.action in NOT_IN_A_REPLAY)
        if pressed == "escape" and not self.screen.is_modal:
            self.flash("Esc: there is nothing to go back from; q leaves the replay")
        elif not self.screen.is_modal and any(pressed in key.keys.split(",") for key in missing):
            self.flash(f"{pressed}: not in a replay, which shows one campaign and starts none")
        else:
            super()._say_why(pressed)

    def never(self, action: str) -> str:
        return ""

    def not_now(self, action: str) -> str:
        clock = self._replay.replay_clock
        if action == "faster":
            most = "slow" if clock.speed <= SPEEDS[0] else "fast"
            return f"×{clock.speed:g} is as {most} as it goes"
        if action in ("campaigns", "page"):
            return "not in a replay, which shows one campaign"
        return "this is its end" if clock.over else "this is its beginning"
