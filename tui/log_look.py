"""Whether logs of an ended campaign are as they were, while a console shows it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backends.campaign.record.status_view import CampaignSnapshot
    from tui.backend_protocols import Workspace

AGAIN_S = 10.0


class LogLook:
    """``clock``: seconds."""

    def __init__(self, workspace: Workspace, clock: Callable[[], float] = monotonic) -> None:
        self._workspace = workspace
        self._clock = clock
        self._of: object = None
        self._looked_at = 0.0
        self._seen: tuple[object, ...] | None = None

    def differ(self, shown: CampaignSnapshot) -> bool:
        """Whether there may be more to say of its logs than before: looked at every
        :data:`AGAIN_S`, and True at the first look, which has nothing to go by. Blocking, for no
        longer than the disk is asked."""
        now = self._clock()
        if shown.identity != self._of:
            self._of, self._looked_at, self._seen = shown.identity, now, None
        if now - self._looked_at < AGAIN_S:
            return False
        seen = self._workspace.logs_as_known(shown.state, shown.path)
        before, self._seen, self._looked_at = self._seen, seen, now
        return seen != before
