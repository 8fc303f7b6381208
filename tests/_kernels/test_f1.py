"""The kernels for set-valued losses against the search over all decisions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain._kernels.f1 import maximise_f1, minimise_jaccard
from tests.reference import losses as reference

NOTHING = np.int32(-1)


def random_problem(rng, n_rows, n_labels, max_classes, with_known):
    """Return kernel arguments and, for each row, the distribution and what is known, as plain Python."""
    n_classes = rng.integers(1, max_classes + 1, n_labels)
    # -1: no class of the label is negative.
    negative = np.array([rng.integers(-1, k) for k in n_classes])
    known = np.full((n_rows, n_labels), NOTHING)
    if with_known:
        hidden = rng.random(known.shape) < 0.6
        known = np.where(hidden, NOTHING, rng.integers(0, n_classes, known.shape)).astype(np.int32)
    counts = rng.integers(1, 9, n_rows)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    rows = np.repeat(np.arange(n_rows), counts)
    labels = rng.integers(0, n_classes, (len(rows), n_labels)).astype(np.int32)
    labels = np.where(known[rows] >= 0, known[rows], labels)
    weights = rng.gamma(0.5, size=len(rows)) + 1e-6
    weights = np.concatenate([np.sort(part)[::-1] / part.sum() for part in np.split(weights, indptr[1:-1])])
    plain = [[(tuple(labels[v].tolist()), weights[v]) for v in range(indptr[i], indptr[i + 1])] for i in range(n_rows)]
    given_rows = known if with_known else np.empty((0, n_labels), dtype=np.int32)
    return n_classes, negative, given_rows, indptr, labels, weights, plain


problems = {
    "seed": st.integers(0, 2**32 - 1),
    "n_labels": st.integers(1, 5),
    "max_classes": st.integers(1, 4),
    "with_known": st.booleans(),
}


@settings(max_examples=150)
@given(**problems)
def test_maximise_f1_finds_the_maximum(seed, n_labels, max_classes, with_known):
    rng = np.random.default_rng(seed)
    n_classes, negative, known, indptr, labels, weights, plain = random_problem(
        rng, 3, n_labels, max_classes, with_known
    )
    decisions, expectation = maximise_f1(indptr, labels, weights, negative, n_classes, known)
    for row, distribution in enumerate(plain):
        known_row = known[row] if with_known else None
        best = reference.maximise_f1(distribution, negative, n_classes, known_row)
        decision = tuple(decisions[row].tolist())
        assert decision in reference.all_vectors(n_classes, known_row)
        achieved = 1.0 - reference.expected_loss(lambda y, h: reference.f1(y, h, negative), distribution, decision)
        assert expectation[row] == pytest.approx(achieved, abs=1e-12)
        assert achieved == pytest.approx(best, abs=1e-12)


@settings(max_examples=100)
@given(**problems, max_candidates=st.sampled_from([0, 20, 2000]))
def test_minimise_jaccard_finds_the_best_candidate(seed, n_labels, max_classes, with_known, max_candidates):
    rng = np.random.default_rng(seed)
    n_classes, negative, known, indptr, labels, weights, plain = random_problem(
        rng, 3, n_labels, max_classes, with_known
    )
    starts = labels[indptr[:-1]]
    decisions, expected_loss, tried_all = minimise_jaccard(
        indptr, labels, weights, negative, n_classes, known, starts, 3, max_candidates
    )

    def loss(y, h):
        return reference.jaccard(y, h, negative)

    for row, distribution in enumerate(plain):
        everything = reference.all_vectors(n_classes, known[row] if with_known else None)
        assert tried_all[row] == (len(everything) <= max_candidates)
        candidates = (
            everything if tried_all[row] else reference.jaccard_candidates([y for y, _ in distribution], negative, 3)
        )
        decision = tuple(decisions[row].tolist())
        assert decision in everything
        achieved = reference.expected_loss(loss, distribution, decision)
        assert expected_loss[row] == pytest.approx(achieved, abs=1e-12)
        assert achieved == pytest.approx(reference.least_expected_loss(loss, distribution, candidates), abs=1e-12)


def test_a_row_is_decided_alike_alone_or_in_a_batch():
    rng = np.random.default_rng(0)
    n_classes, negative, known, indptr, labels, weights, _ = random_problem(rng, 20, 6, 3, True)
    decisions, expectation = maximise_f1(indptr, labels, weights, negative, n_classes, known)
    for row in range(20):
        part = slice(indptr[row], indptr[row + 1])
        alone = maximise_f1(
            np.array([0, part.stop - part.start]),
            labels[part],
            weights[part],
            negative,
            n_classes,
            known[row : row + 1],
        )
        np.testing.assert_array_equal(alone[0][0], decisions[row])
        assert alone[1][0] == expectation[row]
