from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import make_scorer

from montechain.metrics import f1_micro_scorer
from montechain.ordering.payoffs import J_EM, PAYOFFS, J_EM_prod, J_Ham, J_Ham_prod, check_payoff


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4))
def test_formulas_as_printed(seed, n_rows, n_labels):
    rng = np.random.default_rng(seed)
    joint = rng.uniform(0.01, 1.0, n_rows)
    proba = rng.uniform(0.01, 1.0, (n_rows, n_labels))
    np.testing.assert_allclose(J_EM(np.log(joint)), sum(joint))
    np.testing.assert_allclose(np.exp(J_EM_prod(np.log(joint))), np.prod(joint))
    np.testing.assert_allclose(J_Ham(proba), sum(sum(row) for row in proba))
    np.testing.assert_allclose(np.exp(J_Ham_prod(proba)), np.prod([sum(row) for row in proba]))


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    log_joint, proba = np.log(rng.random(5)), rng.random((5, 3))
    weight = np.array([0, 1, 2, 3, 1])
    rows = np.repeat(np.arange(5), weight)
    for payoff in PAYOFFS.values():
        values = log_joint if payoff.of == "joint" else proba
        np.testing.assert_allclose(payoff.function(values, weight.astype(float)), payoff.function(values[rows]))


def test_rows_of_no_weight_do_not_count_even_if_impossible():
    assert J_EM_prod(np.array([-np.inf, -1.0]), np.array([0.0, 2.0])) == -2.0
    assert J_EM_prod(np.array([-np.inf, -1.0])) == -np.inf


def test_unknown_labels_are_left_out():
    proba = np.array([[0.5, np.nan], [np.nan, np.nan], [0.25, 0.5]])
    assert J_Ham(proba) == 1.25
    assert J_Ham_prod(proba) == np.log(0.5) + np.log(0.75)


def test_only_products_are_logarithms():
    assert [name for name, payoff in PAYOFFS.items() if payoff.is_logarithm] == ["J_EM_prod", "J_Ham_prod"]


def test_scorers_by_name_and_as_functions():
    assert check_payoff("f1_micro").function is f1_micro_scorer  # ours before scikit-learn's
    assert check_payoff("accuracy").of == "estimator"
    scorer = make_scorer(lambda y, p: 1.0)
    assert check_payoff(scorer).function is scorer
    assert check_payoff(test_only_products_are_logarithms).name == "test_only_products_are_logarithms"
    assert check_payoff(check_payoff("J_Ham")) is PAYOFFS["J_Ham"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("j_em", "J_EM"), ("J_EM-prod", "J_EM_prod"), ("exact_mach", "exact_match"), ("acuracy", "accuracy")],
)
def test_nearest_names(wrong, right):
    with pytest.raises(ValueError, match=f"did you mean '{right}'"):
        check_payoff(wrong)


def test_other_faults():
    with pytest.raises(TypeError, match="neither the name of a payoff or scorer nor a function"):
        check_payoff(3)
