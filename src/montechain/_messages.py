"""Parts of error messages that tell what to type next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(given: str, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the allowed name nearest to `given`, or an empty string.

    >>> nearest("geedy", ["greedy", "beam"])
    "; did you mean 'greedy'?"
    """
    close = difflib.get_close_matches(str(given).lower(), list(allowed), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
