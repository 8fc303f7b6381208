"""The figures behind the figure, and that it draws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_multilabel_classification

from montechain import ChainClassifier, OrderSearch
from montechain.plotting import (
    critical_difference_layout,
    plot_critical_difference,
    plot_search_trace,
    plot_time_against_accuracy,
    search_curve,
)

RANKS = {"A": 1.2, "B": 1.9, "C": 2.9, "D": 4.0}


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


@pytest.fixture
def agg():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


@given(st.lists(st.floats(1, 12), min_size=1, max_size=12), st.floats(0.1, 5))
def test_nothing_crosses_in_a_critical_difference_diagram(values, distance):
    ranks = {str(i): value for i, value in enumerate(values)}
    names = sorted(ranks, key=ranks.__getitem__)
    groups = [[other for other in names if 0 <= ranks[other] - ranks[name] <= distance] for name in names]
    layout = critical_difference_layout(ranks, distance, groups)
    assert [mark.rank for mark in layout.marks] == sorted(values)
    assert layout.lowest <= min(values) <= max(values) <= layout.highest
    for on_left in (True, False):
        # A stem that starts nearer to its end of the axis must turn off above the others.
        side = [mark.level for mark in layout.marks if mark.on_left is on_left]
        assert side == (list(range(len(side))) if on_left else list(range(len(side)))[::-1])
    for first, second in [(a, b) for a in layout.bars for b in layout.bars if a is not b and a.level == b.level]:
        assert first.end < second.start or second.end < first.start


def test_a_diagram_needs_a_rank_of_everything():
    with pytest.raises(ValueError, match="'X'"):
        critical_difference_layout(RANKS, 1.0, [("A", "X")])
    with pytest.raises(ValueError, match="finite"):
        critical_difference_layout({"A": np.nan}, 1.0)
    with pytest.raises(ValueError, match="no ranks"):
        critical_difference_layout({}, 1.0)


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
