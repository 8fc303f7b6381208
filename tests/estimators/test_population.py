"""ChainPopulationClassifier and order searches, from the user's point of view."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

import montechain as mc


def test_links_that_chains_share_are_learned_once(binary):
    X, Y = binary
    calls = []

    class Counting(DecisionTreeClassifier):
        def fit(self, X, y):
            calls.append(X.shape)
            return super().fit(X, y)

    mc.ChainPopulationClassifier(
        Counting(max_depth=2), order=[[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [0, 1, 2, 4, 3]], random_state=0
    ).fit(X, Y)
    assert len(calls) == 9  # 15 links, of which those after a swapped pair are the same


def test_the_order_found_is_the_best_of_the_trace(binary):
    X, Y = binary
    model = mc.ChainClassifier(order=mc.OrderSearch(n_iterations=15), random_state=0).fit(X, Y)
    trace = pd.DataFrame(model.search_trace_)
    assert tuple(model.order_) == trace.loc[trace["payoff"].idxmax(), "order"]
    refitted = mc.ChainClassifier(order=list(model.order_)).fit(X, Y)
    np.testing.assert_allclose(model.log_joint(X, Y), refitted.log_joint(X, Y), atol=1e-6)


@pytest.mark.parametrize(
    "order",
    [
        mc.OrderSearch(mc.Swap(reach=1), n_iterations=4),
        mc.OrderSearch("tempered_swap", payoff="J_Ham", n_iterations=4),
        mc.OrderSearch(payoff="J_EM_prod", on="truth", n_iterations=4, validation=KFold(3)),
        mc.OrderSearch(payoff="f1_macro", n_iterations=4),
        mc.OrderSearch(payoff="J_Ham_prod", n_iterations=4, validation=None, n_restarts=2),
        mc.AllOrders(),
        mc.BeamOrder(width=2),
    ],
    ids=repr,
)
def test_every_way_to_an_order(binary, order):
    X, Y = binary
    model = mc.ChainClassifier(order=order, random_state=0).fit(X, Y)
    assert sorted(model.order_) == list(range(5))
    assert len(model.search_trace_) > 0
    if not isinstance(order, mc.BeamOrder):
        mc.ChainClassifier(order=order, parents="tree", random_state=0).fit(X, Y)
    again = mc.ChainClassifier(order=order, random_state=0, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(again.order_, model.order_)
    assert not hasattr(model.set_params(order=None).fit(X, Y), "search_trace_")


def test_a_searched_population_is_weighted_by_its_payoffs(binary):
    X, Y = binary
    for payoff in ("J_EM", "J_EM_prod"):
        search = mc.OrderSearch(payoff=payoff, n_iterations=20, keep=2)
        model = mc.ChainPopulationClassifier(order=search, random_state=0).fit(X, Y)
        payoffs = sorted({row["payoff"] for row in model.search_trace_[1:]}, reverse=True)[:2]
        weights = np.array(payoffs) if payoff == "J_EM" else np.exp(np.array(payoffs) - payoffs[0])
        np.testing.assert_allclose(model.weights_, weights / weights.sum())
        assert len({tuple(order) for order in model.orders_}) == 2


def test_verbose_shows_how_far_the_search_is(binary, capsys):
    X, Y = binary
    mc.ChainClassifier(order=mc.OrderSearch(n_iterations=9), verbose=True, random_state=0).fit(X, Y)
    shown = capsys.readouterr().err
    assert "order search: 10 of 10, payoff" in shown


def test_routed_weights_follow_the_rows_of_each_chain(binary):
    X, Y = binary
    heard, rows = [], []

    class Listening(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            heard.append(np.allclose(X[:, 0], sample_weight))
            rows.append((len(X), len(np.unique(X[:, 0]))))
            return super().fit(X, y)

    X = np.column_stack([np.linspace(1, 2, len(X)), X])  # tells the rows apart
    with sklearn.config_context(enable_metadata_routing=True):
        link = Listening().set_fit_request(sample_weight=True)
        model = mc.ChainPopulationClassifier(link, n_chains=2, bootstrap=True, random_state=0)
        model.fit(X, Y, sample_weight=X[:, 0].tolist())
        assert all(n == 150 and n_distinct < 130 for n, n_distinct in rows)  # drawn with replacement
        order = mc.OrderSearch(n_iterations=2)
        mc.ChainClassifier(link, order=order, random_state=0).fit(X, Y, sample_weight=X[:, 0].tolist())
    assert all(heard)
