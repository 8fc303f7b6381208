"""The branch and bound kernels, against a sorted list of all vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from montechain._kernels.branch_and_bound import bound_of_links, most_probable
from montechain._kernels.depth_first import k_best, search_depth_first
from montechain.links.linear import FittedLinearLink, LinearScorer
from montechain.prefix_tree import PrefixTree, no_knowledge
from random_chains import NO_LIMIT, PARENTS, SEEDS, random_case
from reference import branch_and_bound as reference

BINARY = {"most_classes": 2}


@pytest.mark.parametrize("options", [{}, BINARY], ids=["several classes", "binary"])
@given(seed=SEEDS, parents=PARENTS, is_known=st.booleans(), n_labels=st.sampled_from([1, 2, 7, 8]))
def test_the_proven_best_is_the_best(options, seed, parents, is_known, n_labels):
    options = options and {**options, "n_labels": n_labels, "n_rows": 2}
    chain, X, known, _ = random_case(seed, parents, is_known=is_known, **options)
    arrays = PrefixTree(chain, X, known).arrays
    labels, log_proba, upper_bound, _ = most_probable(*arrays, max_nodes=NO_LIMIT)
    _, *searched, _, complete, _ = search_depth_first(*arrays, NO_LIMIT)
    assert complete.all()
    np.testing.assert_allclose(searched, [log_proba, log_proba], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(upper_bound, log_proba)
    np.testing.assert_allclose(log_proba, chain.log_joint(X, labels), rtol=0, atol=1e-10)
    for i, (_, value) in enumerate(reference.most_probable(chain, X, known)):
        np.testing.assert_allclose(log_proba[i], value, rtol=0, atol=1e-10)
    if known is not None:
        assert (labels[known >= 0] == known[known >= 0]).all()


@given(seed=SEEDS, n_labels=st.integers(9, 26), is_known=st.booleans())
def test_binary_labels_in_several_lines_against_the_best_first_search(seed, n_labels, is_known):
    chain, X, known, _ = random_case(seed, is_known=is_known, n_rows=4, n_labels=n_labels, **BINARY)
    arrays = PrefixTree(chain, X, known).arrays
    labels, log_proba, upper_bound, nodes, complete, _ = search_depth_first(*arrays, 3000)
    np.testing.assert_allclose(log_proba, chain.log_joint(X, labels), rtol=0, atol=1e-10)
    if is_known:
        assert (labels[known >= 0] == known[known >= 0]).all()
    _, best, bound, _, _, _ = k_best(*arrays, 1, 3000)
    assert (best[complete, 0] <= log_proba[complete] + 1e-9).all()
    assert (log_proba <= bound + 1e-9).all()
    assert (best[:, 0] <= upper_bound + 1e-9).all()
    np.testing.assert_array_equal(upper_bound[complete], log_proba[complete])
    assert (nodes <= 3000).all()
    for max_nodes in (1, n_labels, n_labels + 1, 100):
        _, found, bound, nodes, _, _ = search_depth_first(*arrays, max_nodes)
        assert (found <= log_proba + 1e-12).all()
        assert (bound >= upper_bound - 1e-12).all()
        assert (nodes <= max(max_nodes, n_labels)).all()


def test_probabilities_that_would_underflow_are_left_to_logarithms():
    # 40 labels, each known to have the class of probability exp(-50).
    rare = FittedLinearLink(2, np.zeros((1, 1)), np.array([-50.0]))
    arrays = LinearScorer([rare] * 40, [()] * 40).scores(np.zeros((1, 1)))
    labels, log_proba, _, nodes, complete, _ = search_depth_first(*arrays, np.ones((1, 40), dtype=np.int32), NO_LIMIT)
    assert complete.all()
    assert (labels == 1).all()
    np.testing.assert_allclose(log_proba, -2000.0, rtol=1e-12)
    assert (nodes == 40).all()


@given(seed=SEEDS, parents=PARENTS, is_known=st.booleans())
def test_the_bound_holds_and_never_rises_with_the_budget(seed, parents, is_known):
    chain, X, known, _ = random_case(seed, parents, is_known=is_known)
    arrays = PrefixTree(chain, X, known).arrays
    best = np.array([value for _, value in reference.most_probable(chain, X, known)])
    assert (bound_of_links(*arrays) >= best - 1e-10).all()
    before = np.full(len(X), np.inf)
    found_before = np.full(len(X), -np.inf)
    for max_nodes in [*range(1, 60), NO_LIMIT]:
        _, log_proba, upper_bound, nodes = most_probable(*arrays, max_nodes=max_nodes)
        assert (upper_bound >= best - 1e-10).all()
        assert (upper_bound <= before + 1e-12).all()
        assert (log_proba >= found_before - 1e-12).all()
        # The first vector is completed whatever the budget is.
        assert (nodes <= max(max_nodes, chain.n_labels)).all()
        before, found_before = upper_bound, log_proba


@given(seed=SEEDS, parents=PARENTS, is_known=st.booleans(), k=st.integers(1, 40))
def test_the_k_best_are_the_k_best(seed, parents, is_known, k):
    chain, X, known, _ = random_case(seed, parents, is_known=is_known)
    arrays = PrefixTree(chain, X, known).arrays
    labels, log_proba, _, _, complete, _ = k_best(*arrays, k, NO_LIMIT)
    assert complete.all()
    for i, expected in enumerate(reference.k_best(chain, X, k, known)):
        m = len(expected)
        np.testing.assert_allclose(log_proba[i, :m], [value for _, value in expected], rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            chain.log_joint(np.repeat(X[[i]], m, 0), labels[i, :m]), log_proba[i, :m], atol=1e-10
        )
        assert len({tuple(vector) for vector in labels[i, :m]}) == m
        assert (labels[i, m:] == -1).all()
        assert (log_proba[i, m:] == -np.inf).all()


def test_k_best_within_a_budget_still_returns_k_vectors():
    chain, X, *_ = random_case(5)
    arrays = PrefixTree(chain, X).arrays
    labels, log_proba, _, _, complete, _ = k_best(*arrays, 3, 1)
    assert not complete.all()
    assert np.isfinite(log_proba).all()
    np.testing.assert_allclose(chain.log_joint(X, labels[:, 0]), log_proba[:, 0], atol=1e-10)


def posterior_like_cal500(n_rows, effect):
    """174 labels, of which about 26 are on, many of them with a probability between 0.3 and 0.5."""
    rng = np.random.default_rng(0)
    links = [
        FittedLinearLink(
            2, np.eye(174)[:, [k]], np.zeros(1), tuple(np.array([[0.0], [effect * rng.normal()]]) for _ in range(k))
        )
        for k in range(174)
    ]
    return LinearScorer(links, [range(k) for k in range(174)]).scores(rng.normal(-1.3, 1.2, size=(n_rows, 174)))


@pytest.mark.parametrize("effect", [0.02, 0.1, 0.3])
def test_a_hopeless_search_ends_with_a_bound_below_zero_that_falls(effect):
    arrays = posterior_like_cal500(3, effect)
    before, found_before = np.zeros(3), np.full(3, -np.inf)
    for max_nodes in [1, 10, 200, 990, 1000, 1010, 1100, 1500, 3000, 40_000, 160_000]:
        labels, log_proba, upper_bound, nodes = most_probable(*arrays, no_knowledge(174), max_nodes=max_nodes)
        assert (upper_bound < 0.0).all()
        assert (upper_bound <= before).all()
        assert (log_proba <= upper_bound).all()
        assert (log_proba >= found_before).all()
        assert (nodes == max(max_nodes, 174)).all()
        before, found_before = upper_bound, log_proba
    assert 15 < labels.sum(axis=1).mean() < 60


def test_without_effects_between_labels_the_bound_of_the_links_proves_the_first_vector():
    arrays = posterior_like_cal500(3, 0.0)
    _, log_proba, upper_bound, nodes = most_probable(*arrays, no_knowledge(174), max_nodes=300)
    np.testing.assert_allclose(upper_bound, log_proba, rtol=0, atol=1e-9)
    assert (nodes == 300).all()


def test_known_classes_of_probability_zero():
    never = FittedLinearLink.constant(np.array([0.0, -np.inf]), 1, ())
    free = FittedLinearLink.constant(np.log([0.3, 0.7]), 1, ())
    arrays = LinearScorer([never, free], [(), ()]).scores(np.zeros((2, 1)))
    known = np.array([[1, -1], [-1, 0]], dtype=np.int32)
    labels, log_proba, upper_bound, _ = most_probable(*arrays, known, max_nodes=NO_LIMIT)
    np.testing.assert_array_equal(labels, [[1, 1], [0, 0]])
    np.testing.assert_allclose(log_proba, [-np.inf, np.log(0.3)])
    np.testing.assert_allclose(upper_bound, log_proba)
    np.testing.assert_allclose(bound_of_links(*arrays, known), log_proba)
