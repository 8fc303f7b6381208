"""Reliability diagrams. They need matplotlib: ``pip install "montechain[plot]"``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.calibration import CalibrationDisplay


def plot_reliability(
    predictions: Mapping[str, tuple[Any, Any]], *, n_bins: int = 10, title: str | None = None, ax: Any = None
) -> Any:
    """Plot how often predictions of each probability are right; calibrated models lie on the diagonal.

    `predictions` holds for each model, by name, what `montechain.metrics.set_calibration_error` takes: probabilities
    and whether they were right. The result are matplotlib axes, the given ones or new ones.
    """
    for name, (proba, correct) in predictions.items():
        clipped = np.minimum(proba, 1.0)  # exp may round to just above one
        ax = CalibrationDisplay.from_predictions(correct, clipped, n_bins=n_bins, name=name, ax=ax).ax_
    ax.set(xlabel="probability of the prediction", ylabel="share that is right", title=title)
    return ax
