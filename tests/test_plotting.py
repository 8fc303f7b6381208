"""The numbers behind the figures, and that they are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from montechain import ChainClassifier, OrderSearch
from montechain.plotting import plot_reliability, plot_search_trace


@pytest.fixture(scope="module")
def trace():
    X, Y = make_multilabel_classification(n_samples=80, n_classes=4, random_state=0)
    order = OrderSearch(n_iterations=12, n_restarts=2, record=["J_EM_prod"])
    return ChainClassifier(order=order, random_state=0).fit(X, Y).search_trace_


@pytest.fixture
def agg():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


def test_the_course_of_a_search_is_drawn(trace, agg):
    axes = plot_search_trace(trace, "payoff", "J_EM_prod", title="two restarts")
    assert (axes.get_xscale(), len(axes.figure.axes)) == ("log", 2)
    for side, name in zip(axes.figure.axes, ("payoff", "J_EM_prod"), strict=True):
        first = side.get_lines()[0]
        np.testing.assert_array_equal(first.get_xdata(), np.arange(1, 14))
        np.testing.assert_array_equal(first.get_ydata(), [row[name] for row in trace if row["restart"] == 0])
        assert len(side.get_lines()) == 2 * 2


def test_what_cannot_be_drawn_is_refused(trace):
    for wrong, payoff, message in (
        (trace, "J_Ham", r"OrderSearch\(record=\['J_Ham'\]\)"),
        ([1, 2], "payoff", "search_trace_"),
    ):
        with pytest.raises(ValueError, match=message):
            plot_search_trace(wrong, payoff)


def test_reliability_is_drawn_from_its_bins(agg):
    rng = np.random.default_rng(0)
    proba = rng.random(2000)
    axes = plot_reliability({"model": (proba, rng.random(2000) < proba)}, title="calibrated")
    mean, share = axes.get_lines()[-1].get_data()
    assert (len(mean), axes.get_title()) == (10, "calibrated")
    assert np.abs(mean - share).max() < 0.12
