"""The numbers behind the figures, and that they are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from montechain import ChainClassifier, OrderSearch
from montechain.metrics import set_calibration_error
from montechain.plotting import plot_reliability, plot_search_trace, reliability_curve


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
    correct = rng.random(2000) < proba
    curve = reliability_curve(proba, correct)
    assert len(curve) == 10
    assert (curve["proba"] - curve["right"]).abs().max() < 0.12
    gaps = (curve["proba"] - curve["right"]).abs() @ curve["rows"] / curve["rows"].sum()
    np.testing.assert_allclose(gaps, set_calibration_error(proba, correct))
    axes = plot_reliability({"model": curve}, title="calibrated")
    np.testing.assert_array_equal(axes.get_lines()[1].get_xdata(), curve["proba"])
