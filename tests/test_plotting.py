"""The figures behind the figure, and that it draws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from montechain import ChainClassifier, OrderSearch
from montechain.plotting import plot_search_trace, search_curve


@pytest.fixture(scope="module")
def trace():
    X, Y = make_multilabel_classification(n_samples=80, n_classes=4, random_state=0)
    order = OrderSearch(n_iterations=12, n_restarts=2, record=["J_EM_prod"])
    return ChainClassifier(order=order, random_state=0).fit(X, Y).search_trace_


def test_the_curve_holds_the_payoff_after_each_iteration(trace):
    curve = search_curve(trace)
    assert curve.iteration.tolist() == list(range(13))
    assert (np.diff(curve.payoff) >= 0).all()
    assert set(np.flatnonzero(np.diff(curve.payoff) > 0) + 1) <= set(np.flatnonzero(curve.accepted))
    assert len(search_curve(trace, "J_EM_prod", restart=1).payoff) == 13


def test_what_was_not_recorded_is_refused(trace):
    with pytest.raises(ValueError, match=r"OrderSearch\(record=\['J_Ham'\]\)"):
        search_curve(trace, "J_Ham")
    with pytest.raises(ValueError, match="restart=7"):
        search_curve(trace, restart=7)


def test_two_axes(trace):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = plot_search_trace(trace, "payoff", "J_EM_prod", title="two restarts")
    assert axes.get_xscale() == "log"
    assert len(axes.figure.axes) == 2
    drawn = axes.get_lines()[0].get_ydata()
    np.testing.assert_array_equal(drawn, search_curve(trace).payoff)
