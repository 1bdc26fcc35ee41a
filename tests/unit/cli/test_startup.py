from __future__ import annotations

import subprocess
import sys

HEAVY = ("pandas", "numpy", "asyncssh", "cryptography", "plotext", "matplotlib")
ENGINE = (
    *("backends.campaign.record.events", "backends.campaign.record.state", "tarfile"),
    *("backends.campaign.record.status_view", "backends.campaign.plan.plan", "backends.engines"),
    *("backends.campaign.folder.frozen", "profiles.format.expression", "tui.screens.dialogs"),
)
PAGES = ("tui.screens.runs_page", "tui.screens.matrix_page", "tui.screens.results_page")
LATER = (*PAGES, "textual.widgets._text_area")


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    return set(result.stdout.split())


def test_the_console_starts_without_pandas_asyncssh_and_plotext() -> None:
    loaded = loaded_by("import tui.app")
    assert loaded.isdisjoint(HEAVY)


def test_until_the_first_paint_no_model_is_built() -> None:
    """Pydantic takes a tenth of a second; profiles are read when the first page is up."""
    assert "pydantic" not in loaded_by("import tui.cli.console, tui.app, backends.use_cases")


def test_the_first_paint_loads_one_page_only() -> None:
    assert loaded_by("import tui.app").isdisjoint(LATER)


def test_the_first_paint_needs_nothing_of_what_campaigns_are_made_of() -> None:
    """Some hundred classes, as slow as a third of Textual; they come with the first journal."""
    loaded = loaded_by("import tui.cli.console, tui.app, tui.screens.hosts_page")
    assert loaded.isdisjoint(ENGINE)


def test_the_first_paint_has_no_words_for_what_a_host_has() -> None:
    """None has answered by then."""
    known = ("tui.widgets.host_text", "tui.widgets.meters", "backends.hosts.live_telemetry")
    assert loaded_by("import tui.app, tui.screens.hosts_page").isdisjoint(known)


def test_no_page_needs_pandas_or_plotext_to_be_opened() -> None:
    loaded = loaded_by(f"import {', '.join(PAGES)}")
    assert loaded.isdisjoint(HEAVY)
