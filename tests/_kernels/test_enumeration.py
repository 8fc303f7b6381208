"""The enumeration of label vectors, compiled and level by level, against a dictionary of all vectors."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain._kernels import enumeration as kernels
from montechain._kernels.conditional import new_path
from montechain.chain import Chain
from montechain.inference.enumeration import Effort, distribution, evidence
from montechain.links.linear import FittedLinearLink
from montechain.prefix_tree import PrefixTree
from random_chains import NO_LIMIT, PARENTS, SEEDS, as_generic, log_proba_table, random_case
from reference import enumeration as reference

RESIDUALS = st.sampled_from([0.0, 0.01, 0.1, 0.5, 0.9])


@pytest.fixture(autouse=True)
def no_small_problems(monkeypatch):
    """Enumerate small problems like large ones, not completely."""
    monkeypatch.setattr("montechain.inference.enumeration.MAX_VECTORS_IN_FULL", 0)


def trees(chain, X, known):
    return [PrefixTree(view, X, known) for view in (chain, as_generic(chain))]


def rows_of(found):
    """Return for each row {vector: weight}; a vector drawn several times has the sum."""
    result = []
    for start, stop in itertools.pairwise(found.indptr):
        row = {}
        for vector, weight in zip(found.labels[start:stop], found.weights[start:stop], strict=True):
            row[tuple(vector.tolist())] = row.get(tuple(vector.tolist()), 0.0) + weight
        result.append(row)
    return result


def worst_difference(row, expected):
    """Return the largest difference of the probabilities of any set of vectors."""
    differences = np.array([p - row.get(vector, 0.0) for vector, p in expected.items()])
    return max(differences.clip(0).sum(), -differences.clip(max=0).sum())


@given(seed=SEEDS, parents=PARENTS, is_known=st.booleans(), residual=RESIDUALS)
def test_no_set_of_vectors_is_off_by_more_than_the_residual(seed, parents, is_known, residual):
    chain, X, known, rng = random_case(seed, parents, is_known=is_known)
    for tree in trees(chain, X, known):
        found = distribution(tree, Effort(residual, NO_LIMIT, 5), rng=rng)
        assert not found.estimated.any()
        assert (found.residual <= residual).all()
        for i, expected in enumerate(reference.distribution(chain, X, known)):
            row = rows_of(found)[i]
            assert set(row) <= set(expected)
            assert found.indptr[i + 1] - found.indptr[i] == len(row)
            assert worst_difference(row, expected) <= found.residual[i] + 1e-9
            mass = sum(row.values())
            shares = {vector: weight / mass for vector, weight in row.items()}
            assert worst_difference(shares, expected) <= found.residual[i] + 1e-9
            if residual == 0.0:
                assert set(row) == set(expected)
                np.testing.assert_allclose([row[vector] for vector in expected], list(expected.values()), atol=1e-10)


@given(seed=SEEDS, parents=PARENTS, is_known=st.booleans())
@settings(max_examples=50)
def test_where_the_budget_ends_the_bound_still_holds_and_draws_stand_for_the_rest(seed, parents, is_known):
    chain, X, known, rng = random_case(seed, parents, is_known=is_known)
    for tree in trees(chain, X, known):
        before = np.inf
        for max_nodes in (1, 5, 30):
            found = distribution(tree, Effort(0.0, max_nodes, 20), rng=rng)
            assert (found.residual <= before).all()
            before = found.residual + 1e-12
            np.testing.assert_array_equal(found.estimated, found.residual > 0.0)
            np.testing.assert_allclose([sum(row.values()) for row in rows_of(found)], 1.0, atol=1e-9)
            for i, expected in enumerate(reference.distribution(chain, X, known)):
                # Estimated weights, as much as true ones, are some distribution of the residual.
                row = rows_of(found)[i]
                assert set(row) <= set(expected)
                assert worst_difference(row, expected) <= found.residual[i] + 1e-9


@given(seed=SEEDS, parents=PARENTS)
def test_evidence_is_the_sum_over_what_is_unknown(seed, parents):
    chain, X, known, rng = random_case(seed, parents, is_known=True)
    everything = np.column_stack([rng.integers(n, size=len(X)) for n in chain.n_classes]).astype(np.int32)
    for view in (chain, as_generic(chain)):
        log_mass, left = evidence(PrefixTree(view, X, known), rng=rng)
        np.testing.assert_allclose(
            log_mass, np.logaddexp.reduce(log_proba_table(chain, X, known)[1], axis=1), rtol=0, atol=2e-6
        )
        assert (left <= 1e-6).all()
        np.testing.assert_allclose(evidence(PrefixTree(view, X), rng=rng)[0], 0.0, atol=1e-10)
        joint, _ = evidence(PrefixTree(view, X, everything), rng=rng)
        np.testing.assert_allclose(joint, chain.log_joint(X, everything), atol=1e-10)


def test_masses_far_below_the_smallest_number_do_not_vanish():
    # 40 labels, each known to have the class of probability exp(-50): the evidence is exp(-2000).
    rare = FittedLinearLink(2, np.zeros((1, 1)), np.array([-50.0]), (np.zeros((2, 1)),) * 2)
    even = FittedLinearLink(2, np.zeros((1, 1)), np.array([0.0]))
    parents = [(), (), *[(0, 1)] * 40]
    chain, known = (
        Chain(range(42), parents, [even, even, *[rare] * 40]),
        np.array([[-1, -1, *[1] * 40]], dtype=np.int32),
    )
    for tree in trees(chain, np.zeros((1, 1)), known):
        np.testing.assert_allclose(evidence(tree, rng=np.random.default_rng(0))[0], -2000.0, rtol=1e-12)
        found = distribution(tree, Effort(0.0), rng=np.random.default_rng(0))
        np.testing.assert_allclose(found.weights, 0.25)
        assert found.residual == 0.0


@given(seed=SEEDS, parents=PARENTS, is_known=st.booleans(), max_nodes=st.integers(1, 8), offset=st.floats(0.01, 0.99))
@settings(max_examples=50)
def test_draws_equal_those_of_the_reference(seed, parents, is_known, max_nodes, offset):
    chain, X, known, rng = random_case(seed, parents, is_known=is_known, n_rows=1)
    n_labels, row_known = chain.n_labels, None if known is None else known[0]
    uniforms = rng.random((7, n_labels))
    tree = PrefixTree(chain, X, known)
    (base, links, given), full = tree.arrays, np.array([n_labels])
    grown, _, n_open, *_ = kernels.grow_tree(
        base[0], links, given[0] if len(given) else given.ravel(), n_labels, 0.0, max_nodes, kernels.new_tree(64),
        new_path(links),
    )  # fmt: skip
    labels, prefixes = np.empty((1, n_labels), dtype=np.int32), []
    write_prefix = getattr(kernels.write_prefix, "py_func", kernels.write_prefix)
    for node in grown[6][:n_open]:
        length = write_prefix(grown, node, labels, 0)
        prefixes.append((tuple(labels[0, :length].tolist()), grown[3][node]))
    _, labels, depth, log_mass, *_ = kernels.enumerate_vectors(base, links, given, full, 0.0, max_nodes, offset, 7)
    drawn = np.flatnonzero(depth < n_labels)
    assert len(drawn) == (7 if prefixes else 0)
    labels, stop = labels[drawn], np.full(len(drawn), n_labels)
    log_weight = log_mass[drawn] + tree.complete(
        np.zeros_like(drawn), labels, uniforms, np.arange(7), depth[drawn], stop
    )
    if prefixes:
        expected = reference.draw_completions(chain, X[0], row_known, prefixes, offset, uniforms)
        np.testing.assert_array_equal(labels, [vector for vector, _ in expected])
        np.testing.assert_allclose(log_weight, [weight for _, weight in expected], rtol=0, atol=1e-9)
