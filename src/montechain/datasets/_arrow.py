"""pyarrow, which only Parquet and Feather files need."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["require_pyarrow"]


def require_pyarrow(format: str) -> None:
    """Say what to install, if pyarrow is not there."""
    if find_spec("pyarrow") is None:
        raise ImportError(f'{format.capitalize()} files need pyarrow: pip install "montechain[parquet]"')
