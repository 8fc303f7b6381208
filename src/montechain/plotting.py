"""Numbers in, figures out. Needs matplotlib: ``pip install "montechain[plot]"``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["SearchCurve", "plot_search_trace", "search_curve"]

LABELS = {
    "J_EM": r"$J_{\mathrm{EM}}$",
    "J_EM_prod": r"log $J_{\mathrm{EM-prod}}$",
    "J_Ham": r"$J_{\mathrm{Ham}}$",
    "J_Ham_prod": r"log $J_{\mathrm{Ham-prod}}$",
}
COLOURS = ("#0b5394", "#b45f06")


class SearchCurve(NamedTuple):
    """What one search went through: iterations, the payoff held after each, and where a new order was accepted."""

    iteration: np.ndarray
    payoff: np.ndarray
    accepted: np.ndarray


def search_curve(trace: Sequence[Mapping[str, Any]], payoff: str = "payoff", restart: int = 0) -> SearchCurve:
    """Return the figures behind `plot_search_trace`.

    Parameters
    ----------
    trace : list of dict
        `search_trace_` of an estimator.
    payoff : str, default="payoff"
        The payoff that was maximised, or one of those that were recorded.
    restart : int, default=0
        Which of several independent searches.

    Examples
    --------
    >>> steps = [{"restart": 0, "iteration": t, "payoff": p, "accepted": p > 1} for t, p in enumerate([1, 3, 3])]
    >>> search_curve(steps).payoff.tolist()
    [1.0, 3.0, 3.0]
    """
    rows = [row for row in _rows(trace) if row["restart"] == restart]
    if not rows:
        raise ValueError(f"`restart={restart}` is not in the trace: it has {len({row['restart'] for row in trace})}.")
    if payoff not in rows[0]:
        known = [name for name in rows[0] if name == "payoff" or name in LABELS]
        raise ValueError(
            f"`payoff={payoff!r}` was not recorded; the trace has {known}. Use OrderSearch(record=[{payoff!r}])."
        )
    return SearchCurve(
        np.array([row["iteration"] for row in rows]),
        np.array([row[payoff] for row in rows], dtype=float),
        np.array([row["accepted"] for row in rows], dtype=bool),
    )


def plot_search_trace(
    trace: Sequence[Mapping[str, Any]],
    left: str = "payoff",
    right: str | None = None,
    *,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw payoffs against iterations on a logarithmic axis, as the paper's figures do.

    Parameters
    ----------
    trace : list of dict
        `search_trace_` of an estimator.
    left, right : str
        What the left and right vertical axes show: the payoff that was maximised, or recorded ones
        (``OrderSearch(record=["J_EM_prod"])``).
    title : str, optional
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Drawing needs matplotlib: pip install "montechain[plot]".') from error

    if ax is None:
        _, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    trace = _rows(trace)
    restarts = sorted({row["restart"] for row in trace})
    lines = []
    for axes, name, colour, style in [
        (ax, left, COLOURS[0], "-"),
        (ax if right is None else ax.twinx(), right, COLOURS[1], "--"),
    ]:
        if name is None:
            continue
        for restart in restarts:
            curve = search_curve(trace, name, restart)
            # Iteration 0, the start, has no place on a logarithmic axis: everything moves on by one.
            (line,) = axes.step(
                curve.iteration + 1, curve.payoff, where="post", color=colour, linestyle=style, linewidth=1.4,
                alpha=1.0 if restart == 0 else 0.35, label=LABELS.get(name, name),
            )  # fmt: skip
            axes.plot(
                curve.iteration[curve.accepted] + 1, curve.payoff[curve.accepted], ".", color=colour, markersize=5
            )
            if restart == restarts[0]:
                lines.append(line)
        axes.set_ylabel(LABELS.get(name, name), color=colour)
        axes.tick_params(axis="y", labelcolor=colour)
    ax.set_xscale("log")
    ax.set_xlabel("iteration + 1")
    ax.set_title(title or "")
    ax.grid(True, which="major", linewidth=0.3)
    ax.legend(handles=lines, loc="lower right", frameon=False)
    return ax


def _rows(trace: Any) -> Sequence[Mapping[str, Any]]:
    """Return the trace as a list of dicts; an estimator's own and a data frame of it are understood."""
    trace = getattr(trace, "search_trace_", trace)
    if hasattr(trace, "to_dict"):
        trace = trace.to_dict("records")
    if not isinstance(trace, Sequence) or not trace or not isinstance(trace[0], Mapping):
        raise TypeError("`trace` must be the `search_trace_` of an estimator whose `order` is an OrderSearch.")
    return trace
