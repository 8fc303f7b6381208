"""Figures. They need matplotlib: ``pip install "montechain[plot]"``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibrationDisplay

__all__ = ["plot_reliability", "plot_search_trace"]

LABELS = {
    "J_EM": r"$J_{\mathrm{EM}}$",
    "J_EM_prod": r"log $J_{\mathrm{EM-prod}}$",
    "J_Ham": r"$J_{\mathrm{Ham}}$",
    "J_Ham_prod": r"log $J_{\mathrm{Ham-prod}}$",
}
COLOURS = ("#0b5394", "#b45f06")


def plot_reliability(
    predictions: Mapping[str, tuple[Any, Any]], *, n_bins: int = 10, title: str | None = None, ax: Any = None
) -> Any:
    """Draw how often predictions of each probability are right; on the diagonal, probabilities mean what they say.

    Parameters
    ----------
    predictions : dict of str to (proba, correct)
        For each model, what `montechain.metrics.set_calibration_error` takes.
    n_bins : int, default=10
    title : str, optional
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    ax = _axes(ax, (4.2, 4.0))
    for name, (proba, correct) in predictions.items():
        CalibrationDisplay.from_predictions(correct, np.minimum(proba, 1.0), n_bins=n_bins, name=name, ax=ax)
    ax.set(xlabel="probability of the prediction", ylabel="share that is right", title=title)
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
    steps = pd.DataFrame(trace)
    shown = [left] if right is None else [left, right]
    if missing := [name for name in ["restart", "iteration", "accepted", *shown] if name not in steps]:
        raise ValueError(
            f"`trace` has no {missing[0]!r}. It must be the `search_trace_` of an estimator with OrderSearch; payoffs "
            f"other than the one that was maximised must be recorded: OrderSearch(record=[{missing[0]!r}])."
        )
    ax = _axes(ax, (5.5, 3.6))
    sides = [ax] if right is None else [ax, ax.twinx()]
    lines = []
    for name, side, colour, style in zip(shown, sides, COLOURS, ("-", "--"), strict=False):
        label = LABELS.get(name, name)
        for number, (_, own) in enumerate(steps.groupby("restart")):
            # A logarithmic axis has no place for iteration 0, so everything moves on by one.
            (line,) = side.step(
                own["iteration"] + 1, own[name], where="post", color=colour, linestyle=style, linewidth=1.4,
                alpha=0.35 if number else 1.0, label=label,
            )  # fmt: skip
            accepted = own[own["accepted"].astype(bool)]
            side.plot(accepted["iteration"] + 1, accepted[name], ".", color=colour, markersize=5)
            lines += [line] if number == 0 else []
        side.set_ylabel(label, color=colour)
        side.tick_params(axis="y", labelcolor=colour)
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
