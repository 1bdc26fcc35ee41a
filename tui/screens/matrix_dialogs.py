"""The dialogs of the matrix: each opens over the page, and hands on what it was told.

Each is there when its key has been handled, so that no key behind it comes to the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from backends.results.auto_repeats import AutoRepeats
from profiles.errors import SelectionError
from tui.matrix_marks import Marks
from tui.matrix_request import parse_rule, rule_text

if TYPE_CHECKING:
    from textual.app import App

    from profiles.format.presets import Preset
    from tui.hosts_now import HostsNow
    from tui.session import Session

Take = Callable[[Marks], None]


def _given(take: Take) -> Callable[[Marks | None], None]:
    return lambda changed: None if changed is None else take(changed)


def add_case(app: App[Any], part: Marks, take: Callable[[str], None]) -> None:
    """``take``: its tag."""
    from tui.screens.dialogs import Prompt  # noqa: PLC0415 - seldom needed

    def check(tag: str) -> object:
        if not tag.strip():
            raise SelectionError("type a case, e.g. 2n4g")
        return part.with_case(tag)

    prompt = Prompt(
        f"Add a case · {part.profile.name}",
        "Nodes and devices per node.",
        placeholder="e.g. 2n4g",
        check=check,
    )
    app.push_screen(prompt, lambda tag: take(tag) if tag else None)


def edit_parameters(app: App[Any], part: Marks, take: Take) -> None:
    from tui.screens.editors import ParameterEditor  # noqa: PLC0415 - seldom needed

    app.push_screen(ParameterEditor(part), _given(take))


def edit_scaling(app: App[Any], part: Marks, take: Take) -> None:
    from tui.screens.scaling_kinds_dialog import ScalingEditor  # noqa: PLC0415 - seldom needed

    app.push_screen(ScalingEditor(part), _given(take))


def edit_settings(app: App[Any], part: Marks, take: Take) -> None:
    from tui.screens.editors import SettingsEditor  # noqa: PLC0415 - seldom needed

    app.push_screen(SettingsEditor(part), _given(take))


def pick_hosts(
    app: App[Any],
    session: Session,
    hosts_now: HostsNow,
    chosen: str,
    take: Callable[[str | None], None],
) -> None:
    from tui.screens.editors import HostPicker  # noqa: PLC0415 - seldom needed

    app.push_screen(HostPicker(session, hosts_now, chosen), take)


def ask_target(app: App[Any], rule: AutoRepeats, take: Callable[[str | None], None]) -> None:
    from tui.screens.dialogs import Prompt  # noqa: PLC0415 - seldom needed

    prompt = Prompt(
        "Repeat until it is known",
        'Half of the 95% interval, as a share of the figure; "speedup" where that is to be '
        "known; and a budget of GPU time, where there is one. Such as 0.5% speedup 2h.",
        value=rule_text(rule),
        check=parse_rule,
    )
    app.push_screen(prompt, take)


def pick_preset(
    app: App[Any],
    part: Marks,
    offered: Sequence[tuple[Preset, str]],
    take: Callable[[Preset], None],
) -> None:
    """``offered``: each with what it comes to here, in words."""
    from tui.screens.dialogs import Answer, Choice  # noqa: PLC0415 - seldom needed

    answers = [
        Answer(str(number), f"{preset.name}: {words}", str(number))
        for number, (preset, words) in enumerate(offered, 1)
    ]
    question = Choice(
        f"As in the source · {part.profile.name}",
        "Marks, parameter values, repeats and settings become those of the source; what today's "
        "hosts cannot run stays named on the grid.",
        answers,
    )
    app.push_screen(question, lambda key: take(offered[int(key) - 1][0]) if key else None)
