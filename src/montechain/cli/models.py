"""Models as they are named on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from montechain._messages import nearest
from montechain.errors import ModelFileError

__all__ = ["open_model"]


def open_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return a model, and what its file says of it."""
    from montechain.persistence import describe, load

    try:
        return load(path), describe(path)
    except FileNotFoundError:
        folder = path.parent
        beside = [other.name for other in folder.glob("*.mchain")] if folder.is_dir() else []
        raise ModelFileError(f"there is no file {path}{nearest(path.name, beside) or '.'}") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error
