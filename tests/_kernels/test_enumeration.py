"""The enumeration kernels, against a dictionary of all vectors."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain._kernels import enumeration as kernels
from montechain._kernels.conditional import new_path
from montechain.chain import no_knowledge
from montechain.links.linear import FittedLinearLink, LinearScorer
from random_chains import random_given, random_linear_chain
from reference import enumeration as reference

SEEDS = st.integers(0, 2**32 - 1)
PARENTS = st.sampled_from(["all", "none", "tree", 2])
RESIDUALS = st.sampled_from([0.0, 0.01, 0.1, 0.5, 0.9])
NO_LIMIT = 10**9


def make_case(seed, parents, is_known, n_rows=3):
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([0.2, 1.0, 3.0]))
    chain = random_linear_chain(rng, int(rng.integers(1, 6)), int(rng.integers(2, 6)), parents, scale=scale)
    X = rng.normal(size=(n_rows, 3))
    known = random_given(rng, n_rows, chain.n_classes) if is_known else None
    return chain, X, known, chain.scores(X).arrays, no_knowledge(chain.n_labels) if known is None else known, rng


def rows_of(indptr, labels, weights):
    """Return for each row {vector: weight}; a vector drawn several times has the sum."""
    result = []
    for start, stop in itertools.pairwise(indptr):
        row = {}
        for vector, weight in zip(labels[start:stop], weights[start:stop], strict=True):
            row[tuple(vector.tolist())] = row.get(tuple(vector.tolist()), 0.0) + weight
        result.append(row)
    return result


def enumerate_rows(arrays, known, residual, max_nodes, uniforms, full_depth=None):
    n_rows, n_labels = len(arrays[0]), uniforms.shape[1]
    full_depth = np.full(n_rows, n_labels) if full_depth is None else full_depth
    return kernels.distribution(*arrays, known, full_depth, residual, max_nodes, 0.5, uniforms)


def log_evidence(arrays, known, residual, uniforms):
    full_depth = np.where(known >= 0, np.arange(1, known.shape[1] + 1), 0).max(axis=1)
    *_, left, _, log_mass, _ = enumerate_rows(arrays, known, residual, NO_LIMIT, uniforms, full_depth)
    return log_mass, left


def worst_difference(row, expected):
    """Return the largest difference of the probabilities of any set of vectors."""
    differences = np.array([p - row.get(vector, 0.0) for vector, p in expected.items()])
    return max(differences.clip(0).sum(), -differences.clip(max=0).sum())


@given(seed=SEEDS, parents=PARENTS, is_known=st.booleans(), residual=RESIDUALS)
@settings(deadline=None, max_examples=150)
def test_no_set_of_vectors_is_off_by_more_than_the_residual(seed, parents, is_known, residual):
    chain, X, known, arrays, known_array, rng = make_case(seed, parents, is_known)
    uniforms = rng.random((5, chain.n_labels))
    indptr, labels, weights, left, estimated, *_ = enumerate_rows(arrays, known_array, residual, NO_LIMIT, uniforms)
    assert not estimated.any()
    assert (left <= residual).all()
    for i, expected in enumerate(reference.distribution(chain, X, known)):
        row = rows_of(indptr, labels, weights)[i]
        assert set(row) <= set(expected)
        assert indptr[i + 1] - indptr[i] == len(row)
        assert worst_difference(row, expected) <= left[i] + 1e-9
        mass = sum(row.values())
        assert worst_difference({vector: w / mass for vector, w in row.items()}, expected) <= left[i] + 1e-9
        if residual == 0.0:
            assert set(row) == set(expected)
            np.testing.assert_allclose([row[vector] for vector in expected], list(expected.values()), atol=1e-10)


@given(seed=SEEDS, parents=PARENTS, is_known=st.booleans(), max_nodes=st.integers(1, 30))
@settings(deadline=None, max_examples=100)
def test_where_the_budget_ends_the_bound_still_holds_and_draws_stand_for_the_rest(seed, parents, is_known, max_nodes):
    chain, X, known, arrays, known_array, rng = make_case(seed, parents, is_known)
    uniforms = rng.random((20, chain.n_labels))
    indptr, labels, weights, left, estimated, _, nodes = enumerate_rows(arrays, known_array, 0.0, max_nodes, uniforms)
    assert (nodes <= max_nodes).all()
    np.testing.assert_array_equal(estimated, left > 0.0)
    np.testing.assert_allclose([sum(row.values()) for row in rows_of(indptr, labels, weights)], 1.0, atol=1e-9)
    for i, expected in enumerate(reference.distribution(chain, X, known)):
        # Estimated weights, as much as true ones, are some distribution of the residual.
        row = rows_of(indptr, labels, weights)[i]
        assert set(row) <= set(expected)
        assert worst_difference(row, expected) <= left[i] + 1e-9


@given(seed=SEEDS, parents=PARENTS)
@settings(deadline=None, max_examples=60)
def test_evidence_is_the_sum_over_what_is_unknown(seed, parents):
    chain, X, known, arrays, known_array, rng = make_case(seed, parents, True)
    uniforms = rng.random((5, chain.n_labels))
    log_mass, left = log_evidence(arrays, known_array, 1e-6, uniforms)
    np.testing.assert_allclose(log_mass, reference.log_evidence(chain, X, known), rtol=0, atol=2e-6)
    assert (left <= 1e-6).all()


def test_evidence_of_nothing_is_one_and_of_everything_is_the_joint():
    chain, X, _, arrays, _, rng = make_case(3, "all", False)
    nothing = np.full((len(X), chain.n_labels), -1, dtype=np.int32)
    everything = np.column_stack([rng.integers(n, size=len(X)) for n in chain.n_classes]).astype(np.int32)
    uniforms = rng.random((5, chain.n_labels))
    np.testing.assert_array_equal(log_evidence(arrays, nothing, 0.0, uniforms)[0], 0.0)
    np.testing.assert_allclose(
        log_evidence(arrays, everything, 0.0, uniforms)[0],
        chain.log_joint(X, everything),
        atol=1e-12,
    )


def test_masses_far_below_the_smallest_number_do_not_vanish():
    # 40 labels, each known to have the class of probability exp(-50): the evidence is exp(-2000).
    rare = FittedLinearLink(2, 0, np.zeros((1, 1)), np.array([-50.0]))
    even = FittedLinearLink(2, 0, np.zeros((1, 1)), np.array([0.0]))
    arrays = LinearScorer([even, *[rare] * 40, even], [()] * 42).scores(np.zeros((1, 1))).arrays
    known = np.array([[-1, *[1] * 40, -1]], dtype=np.int32)
    uniforms = np.random.default_rng(0).random((10, 42))
    log_mass, _ = log_evidence(arrays, known, 0.0, uniforms)
    np.testing.assert_allclose(log_mass, -2000.0, rtol=1e-12)
    _, _, weights, left, *_ = enumerate_rows(arrays, known, 0.0, NO_LIMIT, uniforms)
    np.testing.assert_allclose(weights, 0.25)
    assert left == 0.0


@given(seed=SEEDS, parents=PARENTS, is_known=st.booleans(), max_nodes=st.integers(1, 8), offset=st.floats(0.01, 0.99))
@settings(deadline=None, max_examples=80)
def test_draws_equal_those_of_the_reference(seed, parents, is_known, max_nodes, offset):
    chain, X, known, arrays, _, rng = make_case(seed, parents, is_known, n_rows=1)
    n_labels = chain.n_labels
    row_known = np.empty(0, dtype=np.int32) if known is None else known[0]
    uniforms = rng.random((7, n_labels))
    (base, links), path = arrays, new_path(arrays[1])
    tree, frontier, _, size, _, remaining, _ = kernels.grow_tree(
        base[0], links, row_known, n_labels, 0.0, max_nodes, kernels.new_tree(64), path, np.empty(64, dtype=np.int64)
    )
    if size == 0:
        return
    parent, chosen, _, log_mass = tree[:4]
    prefixes = []
    for node in frontier[:size]:
        walk, prefix = node, []
        while walk > 0:
            prefix.insert(0, int(chosen[walk]))
            walk = parent[walk]
        prefixes.append((tuple(prefix), log_mass[node]))
    labels = np.empty((7, n_labels), dtype=np.int32)
    log_weight = np.empty(7)
    kernels.draw_completions(
        base[0], links, row_known, n_labels, tree, path, frontier, size, remaining, offset, uniforms, labels, log_weight
    )
    expected = reference.draw_completions(chain, X[0], None if known is None else known[0], prefixes, offset, uniforms)
    np.testing.assert_array_equal(labels, [vector for vector, _ in expected])
    np.testing.assert_allclose(log_weight, [weight for _, weight in expected], rtol=0, atol=1e-9)
