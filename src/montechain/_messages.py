"""Checks of parameters, and parts of error messages that tell what to type next."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any


def nearest(given: str, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the allowed name nearest to `given`, or an empty string.

    >>> nearest("geedy", ["greedy", "beam"])
    "; did you mean 'greedy'?"
    >>> nearest("LENGHT", ["LENGTH", "lanes"])
    "; did you mean 'LENGTH'?"
    """
    spelled: dict[str, str] = {}
    for name in allowed:
        spelled.setdefault(name.casefold(), name)
    close = difflib.get_close_matches(str(given).casefold(), spelled, n=1, cutoff=0.5)
    return f"; did you mean {spelled[close[0]]!r}?" if close else ""


def by_name(parameter: str, given: Any, kind: type, known: Mapping[str, Any], example: str) -> Any:
    """Return an instance of `kind`: the given one, or the one of this name with its default parameters."""
    if isinstance(given, kind):
        return given
    if isinstance(given, str) and given in known:
        return known[given]()
    if isinstance(given, type):
        raise TypeError(f"`{parameter}` is the class {given.__name__}: pass an instance, {given.__name__}().")
    hint = (nearest(given, known) if isinstance(given, str) else "") or "."
    raise ValueError(
        f"`{parameter}={given!r}` is not known{hint} Allowed are {', '.join(map(repr, known))}, or {example}."
    )


def check_choice(owner: Any, name: str, allowed: Sequence[Any]) -> None:
    """Raise an error that says what to type unless the parameter `name` of `owner` is one of these."""
    value = getattr(owner, name)
    if not isinstance(value, Hashable) or value not in allowed:
        hint = nearest(str(value), [choice for choice in allowed if isinstance(choice, str)]) or "."
        listed = " and ".join(map(repr, allowed))
        raise ValueError(f"`{name}={value!r}` of {type(owner).__name__} is not known{hint} Allowed are {listed}.")


def check_positive_integer(owner: Any, name: str, example: int) -> int:
    """Return the parameter `name` of `owner`, or say what to type instead."""
    value = getattr(owner, name)
    if not _is_positive_integer(value):
        kind = type(owner).__name__
        raise ValueError(f"`{name}={value!r}` of {kind} must be a positive integer, e.g. {kind}({name}={example}).")
    return int(value)


def check_positive_argument(name: str, value: Any, example: str) -> int:
    """Return a value that may be the argument of a function, or say what to type instead."""
    if not _is_positive_integer(value):
        raise ValueError(f"`{name}={value!r}` is not a positive integer. Try `{example}`.")
    return int(value)


def _is_positive_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
