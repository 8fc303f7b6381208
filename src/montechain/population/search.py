"""The most probable label vectors of a weighted mixture of joint models, with a proof.

Label-linear chains are searched together by `montechain._kernels.mixture`, chains with links of any kind by sweeps over
the levels of their trees. If there are models of another kind, each model lists its own most probable vectors; a vector
that no model has listed is, under each of them, at most as probable as the last one listed. The lists grow until the
weighted sum of these bounds cannot exceed the best vectors found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from montechain._kernels.mixture import mixture
from montechain._messages import check_positive_argument
from montechain._rows import take_rows
from montechain.inference.decision import LOG_TOLERANCE
from montechain.inference.sweep import Swept, best_first, sweep
from montechain.joint import ChainModel, JointModel
from montechain.links.linear import LinearScores, Links
from montechain.prefix_tree import PrefixTree, distinct, no_knowledge
from montechain.targets import CODE

MAX_NODES = 20_000
"""Default maximum number of prefixes expanded, or labels listed, per row, over all models."""
FIRST_NODES, FIRST_LENGTH = 500, 5
"""Nodes with which each label-linear chain alone is searched first, and vectors that other models list at first. The
same for all budgets, so that the upper bound never rises with the budget."""
GROWTH = 8
"""Factor by which the lists grow."""

Found = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Labels (n, k, L), their log-probabilities (n, k), and an upper bound on the last and all others (n,)."""


def search(population: Any, X: Any, k: int, given: np.ndarray | None) -> Found:
    """Return the k best vectors of a `Population` that agree with `given`, and an upper bound on all others.

    Places that are left over are filled as by `montechain.inference.enumeration.top_k`.
    """
    check_positive_argument("max_nodes", population.max_nodes, "Mixture(max_nodes=20_000)")
    k = int(min(k, math.prod(population.n_classes)))
    scores = stacked_scores(population.models, X)
    if scores is None:
        are_chains = all(isinstance(model, ChainModel) for model in population.models)
        return (_search_trees if are_chains else _search_lists)(population, X, k, given)
    known = no_knowledge(population.n_labels) if given is None else given
    budget = (FIRST_NODES, population.max_nodes)
    return mixture(*scores, known, population.orders, np.log(population.weights), k, *budget)[:3]


def stacked_scores(models: tuple[JointModel, ...], X: Any) -> LinearScores | None:
    """Return the label-linear scores of a batch under all models, or None if some model is not a label-linear chain.

    The W score columns of the M chains lie side by side, so that chains with links of different kinds stack as well.
    All arrays of `Links` but `effects` get a first axis of length M; everything is in the positions of each chain.
    """
    if not all(isinstance(model, ChainModel) and model.n_scores for model in models):
        return None
    parts: list[LinearScores] = [model.chain.scores(X) for model in models]  # type: ignore[attr-defined]
    effects, score_start, *others = zip(*(part.links for part in parts), strict=True)
    first = np.cumsum([0] + [part.base.shape[1] for part in parts[:-1]])
    links = Links(np.concatenate(effects), np.stack(score_start) + first[:, None], *map(np.stack, others))
    return LinearScores(np.concatenate([part.base for part in parts], axis=1), links)


def _search_trees(population: Any, X: Any, k: int, given: np.ndarray | None) -> Found:
    """Search chains with links of any kind, without evaluating the same conditional twice.

    A beam under each chain gives first vectors; let t be the average of the k-th best of them. A better vector has more
    than t under some chain, so a second sweep keeps the prefixes above t, at most ``max_nodes // (L M)`` at each level.
    What it drops is part of the bound.
    """
    models, log_weights = population.models, np.log(population.weights)
    trees = [PrefixTree(model.chain, X, model.by_position(given)) for model in models]

    def log_joint(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        found = [tree.log_joint(model.by_position(vectors), rows) for model, tree in zip(models, trees, strict=True)]
        return log_sum(np.column_stack(found) + log_weights)

    def best(parts: Sequence[Swept]) -> tuple[np.ndarray, np.ndarray]:
        vectors = [part.vectors for part in parts]
        found = [(own.rows, model.by_label(own.labels)) for model, own in zip(cycle(models), vectors, strict=False)]
        return _k_best(found, population.n_classes, X.shape[0], k, log_joint)

    beams = [sweep(tree, width=max(k, FIRST_LENGTH)) for tree in trees]
    threshold = best(beams)[1][:, -1]
    width = max(k, population.max_nodes // max(1, population.n_labels * len(models)))
    swept = [sweep(tree, above=threshold, width=width) for tree in trees]
    labels, log_proba = best([*beams, *swept])
    unseen = np.column_stack([np.maximum(threshold, part.dropped) for part in swept])
    return labels, log_proba, np.maximum(log_proba[:, -1], log_sum(unseen + log_weights))


def _search_lists(population: Any, X: Any, k: int, given: np.ndarray | None) -> Found:
    n_rows, n_labels = X.shape[0], population.n_labels
    labels = np.full((n_rows, k, n_labels), -1, dtype=CODE)
    log_proba = np.full((n_rows, k), -np.inf)
    upper_bound = np.zeros(n_rows)
    length = max(k, FIRST_LENGTH)
    longest = max(length, population.max_nodes // (n_labels * len(population.models)))
    pending, log_weights = np.arange(n_rows), np.log(population.weights)

    def log_joint(models: Sequence[JointModel], X: Any, rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        return log_sum(np.column_stack([model.log_joint_at(X, rows, vectors) for model in models]) + log_weights)

    while True:
        block = X if len(pending) == n_rows else take_rows(X, pending)
        known = None if given is None else given[pending]
        models = [model.evaluated(block) for model in population.models]
        lists = [model.top_k(block, length, given=known) for model in models]
        numbers = np.arange(len(pending))
        found = [(np.repeat(numbers, top.labels.shape[1]), top.labels.reshape(-1, n_labels)) for top in lists]
        best = _k_best(found, population.n_classes, len(pending), k, partial(log_joint, models, block))
        labels[pending], log_proba[pending] = best
        unlisted = []  # of each model, an upper bound on the log-probability of a vector that is not on its list
        for top in lists:
            # All other vectors together have the rest of the mass.
            rest = np.log(np.maximum(1.0 - np.exp(top.log_proba).sum(axis=1), np.finfo(np.float64).tiny))
            last = top.log_proba[:, -1] if top.labels.shape[1] == length else -np.inf  # a shorter list holds all
            unlisted.append(np.where(top.certified, np.minimum(last, rest), rest))
        bound = log_sum(np.column_stack(unlisted) + log_weights)
        upper_bound[pending] = np.minimum(upper_bound[pending], np.maximum(bound, log_proba[pending, -1]))
        pending = pending[bound > log_proba[pending, -1] + LOG_TOLERANCE]
        if length >= longest or len(pending) == 0:
            return labels, log_proba, upper_bound
        length = min(length * GROWTH, longest)


def _k_best(
    found: list[tuple[np.ndarray, np.ndarray]], n_classes: tuple[int, ...], n_rows: int, k: int, log_joint: Callable
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best of the vectors found, and their log-probabilities; -1 and minus infinity if there are fewer."""
    rows, vectors = (np.concatenate(parts) for parts in zip(*found, strict=True))
    rows, vectors = rows[vectors[:, 0] >= 0], vectors[vectors[:, 0] >= 0]
    first = distinct(rows, vectors, n_classes)[1]
    rows, vectors = rows[first], vectors[first]
    value = log_joint(rows, vectors)
    order, rank = best_first(rows, value)
    order, rank = order[rank < k], rank[rank < k]
    labels = np.full((n_rows, k, vectors.shape[1]), -1, dtype=CODE)
    log_proba = np.full((n_rows, k), -np.inf)
    labels[rows[order], rank], log_proba[rows[order], rank] = vectors[order], value[order]
    return labels, log_proba


def log_sum(values: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exp(values) over the last axis; several times as fast as scipy's."""
    largest = values.max(axis=-1, keepdims=True)
    shift = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - shift).sum(axis=-1)) + shift[..., 0]
