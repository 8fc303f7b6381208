"""Decisions of least expected loss over weighted label vectors, for losses that have no formula of their own.

Any loss is minimised by trying label vectors, the largest expected F1 is found exactly, and the unions of heavy vectors
are good candidates for the Jaccard loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from montechain._kernels.ties import first_largest, level
from montechain._rows import row_blocks
from montechain.distributions import LabelDistribution

CELLS_AT_ONCE = 2**20
"""Approximate number of numbers held in memory while F1 is maximised."""


def try_candidates(
    loss: Any,
    heaviest: LabelDistribution,
    given: np.ndarray | None,
    least: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[int, float]],
    more: Callable[[LabelDistribution, int], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Minimise an expected loss by trying label vectors as decisions.

    All label vectors are tried if there are at most ``loss.max_candidates``, else the vectors of the distribution and
    ``more(distribution of a row, row)``. ``least(candidates, vectors, weights)`` returns the index of the first best
    candidate and its expected loss.

    Returns the decision of each row, its expected loss (NaN in rows without vectors), and whether no other label vector
    can be better.
    """
    labels, has_vector = heaviest.any_labels(given)
    expected_loss, tried_all = np.full(len(labels), np.nan), np.zeros(len(labels), dtype=bool)
    for row in np.flatnonzero(has_vector):
        own = heaviest.take(slice(row, row + 1))
        known = np.full(labels.shape[1], -1) if given is None else given[row]
        choices = [np.arange(n) if c < 0 else np.array([c]) for n, c in zip(loss.n_classes_, known, strict=True)]
        n_vectors = math.prod(map(len, choices))
        tried_all[row] = n_vectors <= max(loss.max_candidates, len(own.labels))
        if n_vectors <= loss.max_candidates:
            others = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(choices))
        else:
            others = more(own, int(row))
        candidates = np.vstack([own.labels, others]).astype(np.int32)
        best, expected_loss[row] = least(candidates, own.labels, own.normalised_weights)
        labels[row] = candidates[best]
    return labels, expected_loss, tried_all


def maximise_f1(
    distribution: LabelDistribution, given: np.ndarray | None, negative: np.ndarray, n_classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row the label vector of the largest expected F1, and that expectation.

    Among decisions with k relevant labels, the expected F1 is the sum over them of
    ``gain(l, c, k) = sum_s P(y_l = c, |y| = s) * 2 / (s + k)``, so the best one takes for each label its best class,
    and the k best labels. All k are tried. `negative` is the code of the negative class at each position, or -1.
    """
    known = np.full((distribution.n_rows, len(n_classes)), -1) if given is None else given
    blocks = row_blocks(distribution.n_rows, max(1, CELLS_AT_ONCE // int(n_classes.sum() * len(n_classes))))
    parts = [_maximise_f1(distribution.take(rows), known[rows], negative, n_classes) for rows in blocks]
    labels, expectation = map(np.concatenate, zip(*parts, strict=True))
    return labels, expectation


def _maximise_f1(distribution, known, negative, n_classes):
    n_rows, rows, weights = distribution.n_rows, distribution.rows, distribution.normalised_weights
    is_relevant = distribution.labels != negative
    size = is_relevant.sum(axis=1)
    # Labels that are relevant in every decision, and columns for those that are in some.
    is_must = np.where(known >= 0, known != negative, negative < 0)
    columns = np.flatnonzero(is_relevant.any(axis=0) | is_must.any(axis=0))
    is_must, n_must = is_must[:, columns], is_must.sum(axis=1)
    decisions = np.where(known >= 0, known, negative).astype(np.int32)
    nothing = np.where(n_must == 0, np.bincount(rows[size == 0], weights[size == 0], minlength=n_rows), -np.inf)
    if len(columns) == 0:
        return decisions, nothing

    start = np.concatenate([[0], np.cumsum(n_classes[columns])])
    n_sizes, n_pairs = int(size.max(initial=0)) + 1, start[-1]
    own_start = np.zeros(len(negative), dtype=np.int64)
    own_start[columns] = start[:-1]
    vector, at_label = np.nonzero(is_relevant)
    cell = (rows[vector] * n_pairs + own_start[at_label] + distribution.labels[vector, at_label]) * n_sizes
    mass = np.bincount(cell + size[vector], weights[vector], minlength=n_rows * n_pairs * n_sizes)
    n_chosen = np.arange(1, len(columns) + 1)
    gain = mass.reshape(n_rows, n_pairs, n_sizes) @ (2.0 / (np.arange(n_sizes)[:, None] + n_chosen))
    label = np.repeat(columns, n_classes[columns])
    code = np.arange(n_pairs) - np.repeat(start[:-1], n_classes[columns])
    is_allowed = (code != negative[label]) & ((known[:, label] < 0) | (known[:, label] == code))
    gain[~is_allowed] = -np.inf
    # No gain is above one, so these come first.
    score = np.maximum.reduceat(gain, start[:-1], axis=1) + 4.0 * is_must[:, :, None]
    total = np.cumsum(-np.sort(-score, axis=1), axis=1).diagonal(axis1=1, axis2=2) - 4.0 * n_must[:, None]
    total = np.where(n_chosen < n_must[:, None], -np.inf, total)
    total = np.hstack([nothing[:, None], total])
    best = first_largest(total)

    at = np.arange(n_rows), slice(None), np.maximum(best, 1) - 1
    rank = np.argsort(np.argsort(-level(score[at]), axis=1, kind="stable"), axis=1)
    for c, j in enumerate(columns):
        own = first_largest(gain[at][:, start[c] : start[c + 1]])
        decisions[:, j] = np.where(rank[:, c] < best, own, decisions[:, j])
    return decisions, total[np.arange(n_rows), best]


def unions(vectors: np.ndarray, negative: np.ndarray, n_heaviest: int) -> np.ndarray:
    """Return the unions of the first 2, 3, ... vectors, and of any two of the first `n_heaviest`.

    Where both have a relevant class, the one of the earlier vector counts.
    """
    is_relevant = vectors != negative
    first = np.where(is_relevant.any(axis=0), is_relevant.argmax(axis=0), len(vectors))
    classes = vectors[np.minimum(first, len(vectors) - 1), np.arange(len(first))]
    growing = [np.where(first <= last, classes, negative) for last in np.unique(first)]
    one, other = np.triu_indices(min(len(vectors), n_heaviest), 1)
    pairs = np.where(is_relevant[one], vectors[one], vectors[other])
    return np.vstack([*growing, pairs]).astype(vectors.dtype)
