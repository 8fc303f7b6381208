"""Dates in text: the formats that are recognised, and when day and month cannot be told apart."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["DATE_LIKE", "dates_of_objects", "recognise_dates"]

DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y"),
)
TIMES = (
    "",
    *(start + time + end for start in " T" for time in ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f") for end in ("", "%z")),
)
FORMATS = [day + time for day in DAYS for time in TIMES]
"""Formats of dates. Where day and month could be swapped, some cell must settle which is which."""
DATE_LIKE = re.compile(
    r"(?=.*\d{4})(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[ -]\w{3,9}[ -]\d{4}|\w{3,9} \d{1,2}, \d{4})"
)


def recognise_dates(
    words: list[str], counts: np.ndarray, most: float, form: str | None = None
) -> tuple[str, Any] | None:
    """Return the format of dates and the dates themselves, with NaT for words that are not dates.

    Parameters
    ----------
    words : list of str
        The different cells of a column.
    counts : ndarray of int
        How often each occurs.
    most : float
        Maximum number of cells that are not dates.
    form : str, optional
        The format, if it is known.

    Returns
    -------
    tuple or None
        None if no format fits. The dates are None if day and month could be swapped.

    Examples
    --------
    >>> form, dates = recognise_dates(["31.12.2024", "1.2.2025"], np.ones(2), 0)
    >>> form, dates[1]
    ('%d.%m.%Y', Timestamp('2025-02-01 00:00:00'))
    """
    sample = next(filter(DATE_LIKE.match, words), "")
    fitting: dict[str, pd.Series] = {}
    for candidate in FORMATS if form is None else [form]:
        if form is not None or _is_date(sample, candidate):
            dates = pd.to_datetime(pd.Series(words, dtype=object), format=candidate, errors="coerce", utc=True)
            if counts[dates.isna()].sum() <= most:
                fitting[candidate] = dates
    if not fitting:
        return None
    best = min(fitting, key=lambda candidate: int(counts[fitting[candidate].isna()].sum()))
    dates = fitting[best]
    other = fitting.get(best.replace("%d", "%x").replace("%m", "%d").replace("%x", "%m"))
    if other is not None and form is None and (dates.isna() == other.isna()).all() and (dates != other).any():
        return best, None
    return best, (dates if "%z" in best else dates.dt.tz_localize(None)).dt.as_unit("us")


def dates_of_objects(series: pd.Series, unknown: np.ndarray) -> Any:
    """Return Python's dates as datetime64 of microseconds, in UTC if they have time zones."""
    is_zoned = any(getattr(value, "tzinfo", None) is not None for value in series[~unknown])
    moments = np.full(len(series), np.datetime64("NaT"), dtype="datetime64[us]")
    for row in np.flatnonzero(~unknown):
        value = series.iloc[row]
        if getattr(value, "tzinfo", None) is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        moments[row] = np.datetime64(value, "us")
    return pd.Series(moments).dt.tz_localize("UTC").array if is_zoned else moments


def _is_date(word: str, form: str) -> bool:
    try:
        datetime.datetime.strptime(word, form)
    except ValueError:
        return False
    return True
