"""Reliability diagrams show how often predictions of each probability are right."""

import numpy as np
import pytest

from montechain.plotting import plot_reliability


def test_reliability_is_drawn_from_its_bins():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    rng = np.random.default_rng(0)
    proba = rng.random(2000)
    axes = plot_reliability({"model": (proba, rng.random(2000) < proba)}, title="calibrated")
    mean, share = axes.get_lines()[-1].get_data()
    assert (len(mean), axes.get_title()) == (10, "calibrated")
    assert np.abs(mean - share).max() < 0.12
    matplotlib.pyplot.close("all")
