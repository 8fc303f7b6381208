"""How fitted estimators are written down for pickles and model files."""

from __future__ import annotations

import json
from operator import methodcaller
from typing import Any

__all__ = ["StateMixin"]

LONG_LISTS = ("search_trace_", "parents_")
"""Lists of plain values with very many members: the course of a search may have ten thousand rows."""


class StateMixin:
    """Writes long lists of plain values as one text each: far shorter than every number as an object of its own."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, for pickles and model files."""
        own: Any = super().__getstate__()
        state = dict(own)
        for name in LONG_LISTS:
            if name in state:
                state[name] = json.dumps(state[name], separators=(",", ":"), default=methodcaller("item"))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes back."""
        state = dict(state)
        for name in LONG_LISTS:
            if isinstance(state.get(name), str):
                state[name] = [_with_tuples(value) for value in json.loads(state[name])]
        super().__setstate__(state)  # type: ignore[misc]


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_tuples(part) for key, part in value.items()}
    return tuple(_with_tuples(part) for part in value) if isinstance(value, list) else value
