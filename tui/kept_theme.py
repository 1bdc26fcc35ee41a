"""The colours that an operator chose last, for the next console."""

from __future__ import annotations

from pathlib import Path


def state_dir() -> Path:
    """``$XDG_STATE_HOME/dlperf-tui``, by default below ``~/.local/state``."""
    from platformdirs.unix import Unix  # noqa: PLC0415 (the XDG rule on every system)

    return Unix("dlperf-tui").user_state_path


def default_file() -> Path:
    return state_dir() / "theme"


def kept_theme(file: Path | None) -> str:
    """ "dark" or "light"; empty where neither was kept, or it cannot be read."""
    if file is None:
        return ""
    try:
        word = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return word if word in ("dark", "light") else ""


def keep_theme(file: Path | None, word: str) -> bool:
    """Whether it could be written; where not, this console has it all the same."""
    if file is None:
        return False
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{word}\n", encoding="ascii")
    except OSError:
        return False
    return True
