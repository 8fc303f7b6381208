"""Checks of parameters, and parts of error messages that tell what to type next."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

ADVICE = {
    "contains NaN": " Use TableClassifier(ChainClassifier()), which fills in missing values, or links that accept "
    "them, such as ChainClassifier(HistGradientBoostingClassifier()).",
    "contains infinity": " Replace these cells by numbers, or by NaN and use TableClassifier(ChainClassifier()).",
    "could not convert string|bytes/strings": "\n`X` holds text. TableClassifier(ChainClassifier()) takes such tables.",
    "Complex data": ": give the real and the imaginary parts as columns of their own.",
    r"2D array|2-dimensional|with dim \d|element with a sequence|only 0-dimensional": " Give `X` as a table: one row "
    "per sample, all of the same length, and one column per input. Call collect() on a lazy frame.",
    "unique column names": " Give the columns of `X` different names.",
    r"float\(\) argument|real number|Cannot cast|promoted|too large to convert": " `X` must hold numbers; "
    "TableClassifier(ChainClassifier()) also takes words, dates and missing cells.",
}
"""What to do about the errors that scikit-learn, numpy and pandas raise for inputs that are not tables of numbers."""
KINDS: dict[str, Callable[[Any], bool]] = {
    "a positive integer": lambda value: isinstance(value, Integral) and 0 < int(value) < 2**63,
    "a positive integer or 0": lambda value: isinstance(value, Integral) and 0 <= int(value) < 2**63,
    "a positive number": lambda value: 0.0 < value < math.inf,
    "a number from 0 to 1": lambda value: 0.0 <= value <= 1.0,
    "a number from 0 to less than 1": lambda value: 0.0 <= value < 1.0,
}
"""What `check_number` can ask for."""


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
    close = difflib.get_close_matches(str(given).casefold(), spelled, n=1, cutoff=0.65)
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


def check_choice(owner: Any, name: str, allowed: Sequence[str]) -> None:
    """Raise an error that says what to type unless the parameter `name` of `owner` is one of these."""
    value = getattr(owner, name)
    if not isinstance(value, str) or value not in allowed:
        hint, listed = nearest(str(value), allowed) or ".", " and ".join(map(repr, allowed))
        raise ValueError(f"`{name}={value!r}` of {type(owner).__name__} is not known{hint} Allowed are {listed}.")


def check_positive_integer(owner: Any, name: str, example: int, *, or_zero: bool = False) -> int:
    """Return the parameter `name` of `owner`, or say what to type instead."""
    check_number(owner, name, example, "a positive integer or 0" if or_zero else "a positive integer")
    return int(getattr(owner, name))


def check_number(owner: Any, name: str, example: float, kind: str = "a positive number") -> float:
    """Return the parameter `name` of `owner`, a number of this kind in `KINDS`, or say what to type instead."""
    value = getattr(owner, name)
    if not _is_number(value, kind):
        own = type(owner).__name__
        raise ValueError(f"`{name}={value!r}` of {own} must be {kind}, e.g. {own}({name}={example}).")
    return float(value)


def check_positive_argument(name: str, value: Any, example: str) -> int:
    """Return a value that may be the argument of a function, or say what to type instead."""
    if not _is_number(value, "a positive integer"):
        raise ValueError(f"`{name}={value!r}` is not a positive integer. Try `{example}`.")
    return int(value)


def check_names(owner: Any, name: str, columns: Sequence[Any], table: str) -> list[Any]:
    """Return the names in a parameter that holds one name, or several, of the columns of a table."""
    value = getattr(owner, name)
    names = [value] if isinstance(value, str | Integral) else value
    if not isinstance(names, Iterable):
        raise TypeError(f"`{name}={value!r}` of {type(owner).__name__} must be a name or a list, e.g. {name}=['a'].")
    names = list(names)
    if absent := [own for own in names if own not in columns]:
        hint = nearest(str(absent[0]), map(str, columns)) or f". Its columns are {', '.join(map(repr, columns[:10]))}."
        raise ValueError(f"`{name}` names {absent[0]!r}, which is not a column of `{table}`{hint}")
    return names


def check_time_limit(limit: Any) -> float | None:
    """Return a number of seconds, or None for no limit."""
    if limit is None:
        return None
    if not isinstance(limit, Real) or isinstance(limit, bool) or not float(limit) > 0:
        raise ValueError(f"`time_limit={limit!r}` must be a positive number of seconds, e.g. time_limit=60, or None.")
    return float(limit)


def check_seed(random_state: Any) -> int:
    """Return a seed from what scikit-learn accepts as `random_state`."""
    # Avoid creating a Mersenne Twister in the common case: it can take longer than a prediction.
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    if random_state is not None and not hasattr(random_state, "randint"):
        raise ValueError(
            f"`random_state={random_state!r}` must be a whole number, 0 or more, a numpy RandomState, or None, "
            "e.g. random_state=0."
        )
    from sklearn.utils import check_random_state  # as late as possible: `montechain --help` does not need it

    return int(check_random_state(random_state).randint(2**31 - 1))


def check_memory(n_bytes: int, what: str, advice: str) -> None:
    """Refuse an answer that is larger than the memory of the machine, before hours of work or a crash.

    The limit is `MONTECHAIN_MAX_MEMORY`, in bytes, if that is set in the environment.
    """
    limit = memory_limit()
    if n_bytes > limit:
        raise ValueError(
            f"{what} needs {n_bytes / 1e9:,.3g} GB of memory; the limit is {limit / 1e9:,.3g} GB. {advice} "
            "(MONTECHAIN_MAX_MEMORY sets another limit, in bytes.)"
        )


def memory_limit() -> int:
    """Return the number of bytes that an answer or a file may take."""
    if given := os.environ.get("MONTECHAIN_MAX_MEMORY"):
        return int(float(given))
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        return 2**40


@contextmanager
def explained_input(model: Any = "ChainClassifier()") -> Iterator[None]:
    """Add what to do with this classifier to errors about `X`, and leave out the cells that some of them print."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        text = re.sub(r"(?s):?\s*array=.*?(?=Reshape|$)", ". ", str(error))
        text = re.sub(r"(?s)(Complex data not supported|contains NaN\.)\s.*", r"\1", text)
        more = next((advice for pattern, advice in ADVICE.items() if re.search(pattern, text)), "")
        more = more.replace("TableClassifier(ChainClassifier())", f"TableClassifier({' '.join(str(model).split())})")
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{text}{more}") from error


@contextmanager
def noted(*parts: Any) -> Iterator[None]:
    """Add a note to errors of other people's code: for which label, in which fold."""
    try:
        yield
    except Exception as error:
        error.add_note(" ".join(map(str, parts)))
        raise


def with_notes(error: BaseException) -> str:
    """Return the message of an error with its notes."""
    return " ".join([str(error), *getattr(error, "__notes__", ())])


def _is_number(value: Any, kind: str) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and KINDS[kind](value)
