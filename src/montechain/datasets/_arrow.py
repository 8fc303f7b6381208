"""pyarrow, which only Parquet and Feather files need."""

from __future__ import annotations

__all__ = ["require_pyarrow"]


def require_pyarrow(format: str) -> None:
    """Say what to install, if pyarrow is not there."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(f'{format.capitalize()} files need pyarrow: pip install "montechain[parquet]"') from error
