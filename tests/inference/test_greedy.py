"""Greedy inference."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from montechain.chain import Chain
from montechain.inference import Greedy
from montechain.links.linear import SOFTMAX, FittedLinearLink
from random_chains import as_generic, log_proba_table, random_given, random_linear_chain, random_table_chain
from reference import greedy as reference

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_both_paths_agree_with_the_reference(share):
    rng = np.random.default_rng(1)
    for _ in range(20):
        chain = random_linear_chain(rng, int(rng.integers(1, 6)), 4)
        X = rng.normal(size=(5, 3))
        known = None if share is None else random_given(rng, 5, chain.n_classes, share)
        labels, log_proba, upper_bound = reference.greedy(chain, X, known)
        for view in (chain, as_generic(chain)):
            decision = Greedy().most_probable(view, X, given=known, rng=RNG)
            np.testing.assert_array_equal(decision.labels, labels)
            np.testing.assert_allclose(decision.log_proba, log_proba, rtol=0, atol=1e-10)
            np.testing.assert_allclose(decision.upper_bound, upper_bound, rtol=0, atol=1e-10)


def test_the_bound_holds_and_certifies_some_rows():
    rng = np.random.default_rng(2)
    certified = []
    for _ in range(20):
        chain, X = random_table_chain(rng, (2, 3, 2), 4)
        decision = Greedy().most_probable(chain, X, rng=RNG)
        _, table = log_proba_table(chain, X)
        assert (decision.upper_bound >= table.max(axis=1) - 1e-10).all()
        np.testing.assert_allclose(
            decision.log_proba[decision.certified], table.max(axis=1)[decision.certified], rtol=0, atol=1e-9
        )
        certified.extend(decision.certified)
    assert any(certified)
    assert not all(certified)


def test_one_conditional_per_label_for_all_rows_together():
    chain, X = random_table_chain(np.random.default_rng(3), (2, 2, 3, 2), 6)
    Greedy().most_probable(chain, X, rng=RNG)
    assert chain.n_calls == 4


def test_predicts_what_scikit_learns_chain_predicts():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 5))
    Y = (X[:, :4] + rng.normal(size=(200, 4)) > 0).astype(int)
    peer = ClassifierChain(LogisticRegression()).fit(X, Y)
    links = [
        FittedLinearLink(
            n_classes=2,
            response=SOFTMAX,
            coef=link.coef_[0, :5, None],
            intercept=link.intercept_,
            parent_effects=tuple(np.array([[0.0], [effect]]) for effect in link.coef_[0, 5:]),
        )
        for link in peer.estimators_
    ]
    chain = Chain(range(4), [range(k) for k in range(4)], links)
    np.testing.assert_array_equal(Greedy().most_probable(chain, X, rng=RNG).labels, peer.predict(X))


def test_equal_classes_and_impossible_knowledge():
    fair = FittedLinearLink.constant(np.log([0.5, 0.5]), 1, ())
    impossible = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([-np.inf]))
    chain = Chain(range(2), [(), ()], [fair, impossible])
    known = np.array([[-1, 1]], dtype=np.int32)
    assert Greedy().most_probable(chain, np.zeros((1, 1)), rng=RNG).labels.tolist() == [[0, 0]]
    decision = Greedy().most_probable(chain, np.zeros((1, 1)), given=known, rng=RNG)
    assert decision.labels.tolist() == [[0, 1]]
    assert decision.log_proba[0] == -np.inf


def test_labels_without_parents_are_all_certified():
    rng = np.random.default_rng(5)
    weights = [rng.normal(size=(3, 1)) for _ in range(4)]
    links = [FittedLinearLink(2, SOFTMAX, weight, np.zeros(1)) for weight in weights]
    chain, X = Chain(range(4), [()] * 4, links), rng.normal(size=(50, 3))
    for view in (chain, as_generic(chain)):
        decision = Greedy().most_probable(view, X, rng=RNG)
        assert decision.certified.all()
        np.testing.assert_allclose(decision.log_proba, log_proba_table(chain, X)[1].max(axis=1), atol=1e-10)
