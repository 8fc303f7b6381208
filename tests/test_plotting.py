"""The numbers behind the figures, and that they are drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_multilabel_classification

from montechain import ChainClassifier, OrderSearch
from montechain.metrics import set_calibration_error
from montechain.plotting import (
    _rank_layout,
    plot_critical_difference,
    plot_reliability,
    plot_search_trace,
    plot_time_against_accuracy,
    reliability_curve,
    search_curve,
)

RANKS = {"A": 1.2, "B": 1.9, "C": 2.9, "D": 4.0}


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


def test_the_curve_holds_the_payoff_after_each_iteration_and_is_drawn(trace, agg):
    curve = search_curve(trace)
    assert curve["iteration"].tolist() == list(range(13))
    assert (np.diff(curve["payoff"]) >= 0).all()
    assert set(np.flatnonzero(np.diff(curve["payoff"]) > 0) + 1) <= set(np.flatnonzero(curve["accepted"]))
    assert len(search_curve(pd.DataFrame(trace), "J_EM_prod", restart=1)) == 13
    axes = plot_search_trace(trace, "payoff", "J_EM_prod", title="two restarts")
    assert (axes.get_xscale(), len(axes.figure.axes)) == ("log", 2)
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), curve["payoff"])


@given(st.lists(st.floats(1, 12), min_size=1, max_size=12), st.floats(0.1, 5))
def test_nothing_crosses_in_a_critical_difference_diagram(values, distance):
    ranks = {str(i): value for i, value in enumerate(values)}
    names = sorted(ranks, key=ranks.__getitem__)
    groups = [[other for other in names if 0 <= ranks[other] - ranks[name] <= distance] for name in names]
    marks, bars = _rank_layout(ranks, groups)
    assert [ranks[name] for name, _, _ in marks] == sorted(values)
    for on_left in (True, False):
        # A stem that starts nearer to its end of the axis must turn off above the others.
        side = [level for _, is_left, level in marks if is_left is on_left]
        assert side == (list(range(len(side))) if on_left else list(range(len(side)))[::-1])
    for first, second in [(a, b) for a in bars for b in bars if a is not b and a[2] == b[2]]:
        assert first[1] < second[0] or second[1] < first[0]


def test_the_diagram_draws_the_layout(agg):
    axes = plot_critical_difference(pd.Series(RANKS), 1.1, iter([("A", "B"), ("B", "C"), ("C", "D")]), title="ranks")
    words = [text.get_text() for text in axes.texts]
    assert words == ["CD = 1.10", "A  1.20", "B  1.90", "C  2.90", "D  4.00"]
    assert axes.get_title() == "ranks"
    assert len(axes.get_lines()) == 1 + 4 + 3


def test_methods_without_a_time_are_left_out(agg):
    points = pd.DataFrame({"method": ["CC", "PCC", "IC"], "seconds": [0.2, np.nan, 0.0], "score": [0.3, 0.4, 0.2]})
    axes = plot_time_against_accuracy(points, score="exact match")
    assert axes.get_lines()[0].get_xdata().tolist() == [0.2]
    assert (axes.get_xscale(), axes.get_ylabel()) == ("log", "exact match")


def test_what_cannot_be_drawn_is_refused(trace):
    for call, error, message in (
        (lambda: search_curve(trace, "J_Ham"), ValueError, r"OrderSearch\(record=\['J_Ham'\]\)"),
        (lambda: search_curve(trace, restart=7), ValueError, "restart=7"),
        (lambda: search_curve([1, 2]), TypeError, "search_trace_"),
        (lambda: plot_critical_difference(RANKS, 1.0, [("A", "X")]), ValueError, "'X'"),
        (lambda: plot_critical_difference({"A": np.nan}, 1.0), ValueError, "finite"),
        (lambda: plot_critical_difference({}, 1.0), ValueError, "finite"),
    ):
        with pytest.raises(error, match=message):
            call()


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
