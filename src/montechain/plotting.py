"""Figures. They need matplotlib: ``pip install "montechain[plot]"``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["plot_reliability", "plot_search_trace", "reliability_curve", "search_curve"]

LABELS = {
    "J_EM": r"$J_{\mathrm{EM}}$",
    "J_EM_prod": r"log $J_{\mathrm{EM-prod}}$",
    "J_Ham": r"$J_{\mathrm{Ham}}$",
    "J_Ham_prod": r"log $J_{\mathrm{Ham-prod}}$",
}
COLOURS = ("#0b5394", "#b45f06")


def search_curve(trace: Any, payoff: str = "payoff", restart: int = 0) -> pd.DataFrame:
    """Return the numbers behind `plot_search_trace`: the columns `iteration`, `payoff` held after it, and `accepted`.

    `trace` is the `search_trace_` of an estimator, `payoff` the one that was maximised or a recorded one, `restart` the
    number of the search, if there were several.

    Examples
    --------
    >>> steps = [{"restart": 0, "iteration": t, "payoff": p, "accepted": p > 1} for t, p in enumerate([1, 3, 3])]
    >>> search_curve(steps)["payoff"].tolist()
    [1.0, 3.0, 3.0]
    """
    steps = _steps(trace)
    own = steps[steps["restart"] == restart]
    if own.empty:
        raise ValueError(f"`restart={restart}` is not in the trace: it has {steps['restart'].nunique()}.")
    if payoff not in own:
        known = [name for name in own if name == "payoff" or name in LABELS]
        raise ValueError(
            f"`payoff={payoff!r}` was not recorded; the trace has {known}. Use OrderSearch(record=[{payoff!r}])."
        )
    return own[["iteration", payoff, "accepted"]].rename(columns={payoff: "payoff"}).reset_index(drop=True)


def reliability_curve(proba: Any, correct: Any, n_bins: int = 10) -> pd.DataFrame:
    """Return the numbers behind `plot_reliability`: for each bin its mean `proba`, its share `right` and its `rows`.

    Parameters are those of `montechain.metrics.set_calibration_error`; bins without a row are left out.

    Examples
    --------
    >>> reliability_curve([0.95, 0.92, 0.55], [True, False, True])["right"].tolist()
    [1.0, 0.5]
    """
    table = pd.DataFrame({"proba": np.asarray(proba, dtype=float), "right": np.asarray(correct, dtype=float)})
    bins = table.groupby(np.minimum((table["proba"] * n_bins).astype(int), n_bins - 1))
    return bins.mean().assign(rows=bins.size()).reset_index(drop=True)


def plot_reliability(curves: Mapping[str, pd.DataFrame], *, title: str | None = None, ax: Any = None) -> Any:
    """Draw how often predictions of each probability are right; on the diagonal, probabilities mean what they say.

    Parameters
    ----------
    curves : dict of str to DataFrame
        For each model, what `reliability_curve` returns. Larger points stand for more rows.
    title : str, optional
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    ax = _axes(ax, (4.2, 4.0))
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
    for name, curve in curves.items():
        (line,) = ax.plot(curve["proba"], curve["right"], linewidth=1.2, label=name)
        size = 4 + 300 * curve["rows"] / curve["rows"].sum()
        ax.scatter(curve["proba"], curve["right"], s=size, color=line.get_color(), alpha=0.7)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of the prediction", ylabel="share that is right", title=title)
    ax.legend(frameon=False)
    return ax


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
    restarts = sorted(_steps(trace)["restart"].unique())
    sides = [(name, [search_curve(trace, name, restart) for restart in restarts]) for name in (left, right) if name]
    ax = _axes(ax, (5.5, 3.6))
    lines = []
    for side, (name, curves) in enumerate(sides):
        axes, colour, label = ax.twinx() if side else ax, COLOURS[side], LABELS.get(name, name)
        for i, curve in enumerate(curves):
            # A logarithmic axis has no place for iteration 0, so everything moves on by one.
            (line,) = axes.step(
                curve["iteration"] + 1, curve["payoff"], where="post", color=colour, linestyle="--" if side else "-",
                linewidth=1.4, alpha=0.35 if i else 1.0, label=label,
            )  # fmt: skip
            accepted = curve[curve["accepted"]]
            axes.plot(accepted["iteration"] + 1, accepted["payoff"], ".", color=colour, markersize=5)
            lines += [line] if i == 0 else []
        axes.set_ylabel(label, color=colour)
        axes.tick_params(axis="y", labelcolor=colour)
    ax.set(xscale="log", xlabel="iteration + 1", title=title or "")
    ax.grid(True, which="major", linewidth=0.3)
    ax.legend(handles=lines, loc="lower right", frameon=False)
    return ax


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the given axes, or new ones of `size` inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Drawing needs matplotlib: pip install "montechain[plot]".') from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def _steps(trace: Any) -> pd.DataFrame:
    """Return the trace of a search as a data frame."""
    try:
        steps = pd.DataFrame(trace)
        return steps.astype({"restart": int, "iteration": int, "payoff": float, "accepted": bool})
    except (KeyError, TypeError, ValueError):
        message = "`trace` must be the `search_trace_` of an estimator whose `order` is an OrderSearch."
        raise TypeError(message) from None
