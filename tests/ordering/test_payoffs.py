import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import make_scorer

from montechain.metrics import SCORERS
from montechain.ordering.payoffs import PAYOFFS, check_payoff, weighted_total


def value(name, values, weight=None):
    weight = np.ones(len(values)) if weight is None else weight
    return weighted_total(PAYOFFS[name].function(values), weight)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4))
def test_formulas_as_printed_and_weights_as_repetitions(seed, n_rows, n_labels):
    rng = np.random.default_rng(seed)
    joint = rng.uniform(0.01, 1.0, n_rows)
    proba = rng.uniform(0.01, 1.0, (n_rows, n_labels))
    np.testing.assert_allclose(value("J_EM", np.log(joint)), sum(joint))
    np.testing.assert_allclose(np.exp(value("J_EM_prod", np.log(joint))), np.prod(joint))
    np.testing.assert_allclose(value("J_Ham", proba), sum(sum(row) for row in proba))
    np.testing.assert_allclose(np.exp(value("J_Ham_prod", proba)), np.prod([sum(row) for row in proba]))
    weight = rng.integers(0, 4, n_rows)
    for name, payoff in PAYOFFS.items():
        values = np.log(joint) if payoff.of == "joint" else proba
        repeated = value(name, np.repeat(values, weight, axis=0))
        np.testing.assert_allclose(value(name, values, weight.astype(float)), repeated, atol=1e-12)


def test_rows_of_no_weight_do_not_count_even_if_impossible():
    assert value("J_EM_prod", np.array([-np.inf, -1.0]), np.array([0.0, 2.0])) == -2.0
    assert value("J_EM_prod", np.array([-np.inf, -1.0])) == -np.inf


def test_unknown_labels_are_left_out():
    proba = np.array([[0.5, np.nan], [np.nan, np.nan], [0.25, 0.5]])
    assert value("J_Ham", proba) == 1.25
    assert value("J_Ham_prod", proba) == np.log(0.5) + np.log(0.75)


def test_scorers_by_name_and_as_functions():
    assert check_payoff("f1_micro").function is SCORERS["f1_micro"]  # ours before scikit-learn's
    assert check_payoff("accuracy").of == "estimator"
    scorer = make_scorer(lambda y, p: 1.0)
    assert check_payoff(scorer).function is scorer
    assert check_payoff(value).name == "value"
    assert [name for name, payoff in PAYOFFS.items() if payoff.is_logarithm] == ["J_EM_prod", "J_Ham_prod"]
