"""Whether to change runs: a question that goes by itself when its answer would change nothing, and
whose yes does what was shown of it, or nothing."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App

from backends.campaign.record.status_view import CampaignSnapshot
from tui.key_bindings import sign_of
from tui.messages import Said
from tui.screens.dialogs import Choice
from tui.session import Session

PAST_ASKING = "past"
_ANSWERS = frozenset({"y", "n"})
_ASKS = ("c", "C")


class EndQuestion:
    """The one that is asked now, if any. To skip a run is not to end one at work: where that is
    what it has come to meanwhile, nothing is done."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asked: tuple[Choice, object, Callable[[CampaignSnapshot], str]] | None = None
        self._unasked = frozenset[str]()  # keys that now would answer what is not asked any more
        self._past = ""  # why it is not

    def ask(
        self,
        app: App[str],
        words: Callable[[CampaignSnapshot], Choice],
        viewed: CampaignSnapshot,
        then: Callable[[], None],
        *,
        past: Callable[[CampaignSnapshot], str],
        kept: Callable[[CampaignSnapshot], str],
    ) -> None:
        """``words``: the question, of the campaign as it is. ``then``: what is done after a yes
        that came in time. ``past``: why it would change nothing, of the campaign as it is; "" while
        it would. ``kept``: what is said after a no."""
        question = words(viewed)
        question.renewed = lambda: words(self._as_asked(viewed))
        self._asked = question, viewed.identity, past

        def answered(said: str | None) -> None:
            why, self._asked = self._past_asking(), None
            if said == "no":
                app.post_message(Said(why or kept(self._as_asked(viewed))))
            if said not in ("yes", PAST_ASKING):
                return
            if why:
                app.post_message(Said(f"{why}; nothing was changed"))
            elif not question.does_as(now := words(self._as_asked(viewed))):
                app.post_message(Said(f"nothing was changed: {_by_now(question, now)}"))
            else:
                then()

        app.push_screen(question, answered)

    def _as_asked(self, before: CampaignSnapshot) -> CampaignSnapshot:
        """The campaign as it is now, of which something was asked ``before``."""
        now = self._session.viewed
        return now if now is not None and now.identity == before.identity else before

    def _past_asking(self) -> str:
        viewed = self._session.viewed
        if self._asked is None or viewed is None or viewed.identity != self._asked[1]:
            return ""
        return self._asked[2](viewed)

    def look(self) -> None:
        """Take it away where its answer would change nothing."""
        if self._asked is not None and (past := self._past_asking()):
            self._past = past
            self._unasked = _ANSWERS | {"enter", "escape"}
            self._asked[0].finish(PAST_ASKING)

    def too_late(self, key: str) -> str:
        """A key that was pressed on the page; what to say of it where it answers what is not asked
        any more."""
        said = f"{sign_of(key)}: {self._past}; nothing was changed" if key in self._unasked else ""
        self._unasked = _ANSWERS if key in _ASKS else frozenset()
        self._past = "nothing was asked"
        return said


def _by_now(shown: Choice, now: Choice) -> str:
    """What a yes would do that is not what was shown."""
    before, would = (one.text.plain.partition("?")[0] for one in (shown, now))
    if before == would:
        return "by now y would do it to other runs"
    return f"by now y would {would[:1].lower()}{would[1:]}"
