"""Predictions of a method for the test rows, and their scores."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.accuracy.data import UNKNOWN, Task

LOSSES = ("exact_match", "hamming", "f1")
LOWEST_LOG = float(np.log(1e-12))
"""Probabilities of true label vectors count as at least 1e-12 in the joint log-loss, for all methods."""
LARGEST_SET = 40
"""Maximum number of relevant labels that the search for the best expected F1 considers under independence."""
N_BINS = 10
"""Bins of equal width for the calibration error."""
FIRST_GUESS = 10.0
"""Seconds after which the remaining cost is estimated."""


class TooCostly(Exception):
    """A method would exceed its limit of CPU time."""


class Clock:
    """CPU seconds of fitting and predicting; `check` gives up early if the limit will not be enough."""

    def __init__(self, limit: float = np.inf):
        self.limit = limit
        self.seconds = {"fit": 0.0, "predict": 0.0}

    @contextmanager
    def __call__(self, work: str) -> Iterator[None]:
        """Add the CPU time of a block to that of "fit" or "predict"."""
        start = time.process_time()
        yield
        self.seconds[work] += time.process_time() - start

    def check(self, share: float) -> None:
        """Raise `TooCostly` if this share of the work suggests that the whole exceeds the limit."""
        taken = sum(self.seconds.values())
        if taken > FIRST_GUESS and taken / share > self.limit:
            raise TooCostly(f"about {taken / share:.0f} s of CPU, above the limit of {self.limit:.0f} s")


@dataclass(frozen=True)
class Answers:
    """Label vectors for each loss and, where the method has a joint distribution, its probabilities.

    Attributes
    ----------
    vectors : dict of str to int ndarray of shape (n, L)
        By loss: "exact_match", "hamming" and "f1".
    log_truth : ndarray of shape (n,) or None
        log p of the true label vectors, if known; rows with unknown labels do not count.
    confidence : ndarray of shape (n,)
        p of the label vectors for exact match.
    certified : float, optional
        Share of rows whose most probable vector is proven.
    notes : dict
        Anything else worth keeping with the result.
    """

    vectors: dict[str, np.ndarray]
    log_truth: np.ndarray | None
    confidence: np.ndarray
    certified: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)


def from_product(marginals: Sequence[np.ndarray], task: Task) -> Answers:
    """Return the answers of independent labels with these marginals, each of shape (n, K)."""
    best = np.stack([proba.argmax(axis=1) for proba in marginals], axis=1)
    vectors = {"exact_match": best, "hamming": best}
    if task.is_binary:
        vectors["f1"] = best_f1(_sizes_of_product(np.stack([proba[:, 1] for proba in marginals], axis=1)))
    confidence = np.prod([proba.max(axis=1) for proba in marginals], axis=0)
    return Answers(vectors, _log_product(marginals, task.Y_test), confidence)


def _log_product(marginals: Sequence[np.ndarray], Y: np.ndarray) -> np.ndarray:
    rows, codes = np.arange(len(Y)), np.where(Y == UNKNOWN, 0, Y)
    with np.errstate(divide="ignore"):
        return np.sum([np.log(proba[rows, codes[:, j]]) for j, proba in enumerate(marginals)], axis=0)


def from_seen_vectors(
    proba: np.ndarray, vectors: np.ndarray, unseen: float, priors: Sequence[np.ndarray], task: Task
) -> Answers:
    """Return the answers of a distribution over seen label vectors.

    For the joint log-loss, a share `unseen` of the probability goes to all label vectors, in proportion to the product
    of the class frequencies `priors`.
    """
    chosen = {"exact_match": vectors[proba.argmax(axis=1)]}
    marginals = [
        np.stack([proba @ (vectors[:, j] == code) for code in range(k)], axis=1) for j, k in enumerate(task.n_classes)
    ]
    chosen["hamming"] = np.stack([own.argmax(axis=1) for own in marginals], axis=1)
    if task.is_binary:
        sizes = vectors.sum(axis=1)
        joint = np.zeros((len(proba), vectors.shape[1], sizes.max() + 1))
        for size in np.unique(sizes):
            joint[:, :, size] = proba[:, sizes == size] @ vectors[sizes == size]
        chosen["f1"] = best_f1((joint, proba[:, sizes == 0].sum(axis=1)))
    place = {tuple(vector): position for position, vector in enumerate(vectors.tolist())}
    positions = np.array([place.get(tuple(truth), -1) for truth in task.Y_test.tolist()])
    own = np.where(positions >= 0, proba[np.arange(len(proba)), positions], 0.0)
    broad = _log_product([np.broadcast_to(p, (len(proba), len(p))) for p in priors], task.Y_test)
    log_truth = np.log((1.0 - unseen) * own + unseen * np.exp(broad) + 1e-300)
    return Answers(chosen, log_truth, (1.0 - unseen) * proba.max(axis=1))


def _sizes_of_product(relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p(label relevant, number of relevant labels) and p(none relevant) for independent labels."""
    n_rows, n_labels = relevant.shape
    n_sizes = min(n_labels, LARGEST_SET) + 1
    joint = np.zeros((n_rows, n_labels, n_sizes))
    for label in range(n_labels):
        others = np.zeros((n_rows, n_sizes))
        others[:, 0] = 1.0
        for other in range(n_labels):
            if other != label:
                p = relevant[:, [other]]
                others[:, 1:] = others[:, 1:] * (1.0 - p) + others[:, :-1] * p
                others[:, 0] *= 1.0 - p[:, 0]
        joint[:, label, 1:] = relevant[:, [label]] * others[:, :-1]
    return joint, np.prod(1.0 - relevant, axis=1)


def best_f1(sizes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the label sets of the largest expected F1 (Waegeman and others 2014).

    Parameters
    ----------
    sizes : tuple of ndarrays of shapes (n, L, S) and (n,)
        p(label relevant, s labels relevant) for s from zero, and p(none relevant).
    """
    joint, none = sizes
    n_rows, n_labels, n_sizes = joint.shape
    best, value = np.zeros((n_rows, n_labels), dtype=np.int64), none.copy()
    for k in range(1, min(n_labels, LARGEST_SET) + 1):
        gain = joint[:, :, 1:] @ (2.0 / (np.arange(1, n_sizes) + k))
        top = np.argsort(-gain, axis=1, kind="stable")[:, :k]
        expected = np.take_along_axis(gain, top, axis=1).sum(axis=1)
        better = np.flatnonzero(expected > value)
        value[better] = expected[better]
        best[better] = 0
        best[better[:, None], top[better]] = 1
    return best


def measure(answers: Answers, task: Task) -> dict[str, dict[str, float]]:
    """Return mean, standard error and number of rows of each metric, over the test rows."""
    Y, known = task.Y_test, task.Y_test != UNKNOWN
    rows = known.any(axis=1)
    equal = {loss: (vectors == Y) & known for loss, vectors in answers.vectors.items()}
    per_row: dict[str, np.ndarray] = {
        "exact_match": (equal["exact_match"] | ~known).all(axis=1)[rows],
        # Scaled so that the mean is the share of all known cells.
        "hamming": equal["hamming"][rows].sum(axis=1) / known[rows].sum(axis=1).mean(),
    }
    if "f1" in answers.vectors and task.is_binary:
        per_row["f1"] = _f1(Y, answers.vectors["f1"])[rows]
        per_row["f1_plain"] = _f1(Y, answers.vectors["exact_match"])[rows]
    complete = known.all(axis=1)
    if complete.any() and answers.log_truth is not None:
        per_row["log_loss"] = -np.maximum(answers.log_truth[complete], LOWEST_LOG)
    result = {name: _summary(values.astype(float)) for name, values in per_row.items()}
    return result


def calibration_bins(answers: Answers, task: Task) -> dict[str, list[float]]:
    """Return the number of rows, total confidence and hits per bin of confidence; these can be summed over splits."""
    known = task.Y_test != UNKNOWN
    rows = known.any(axis=1)
    hits = ((answers.vectors["exact_match"] == task.Y_test) | ~known).all(axis=1)[rows]
    confidence = np.clip(answers.confidence[rows], 0.0, 1.0)
    chosen = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    sums = {"rows": np.ones(len(hits)), "confidence": confidence, "hits": hits.astype(float)}
    return {name: np.bincount(chosen, values, N_BINS).tolist() for name, values in sums.items()}


def calibration_error(bins: Sequence[dict[str, list[float]]]) -> float:
    """Return the expected calibration error of whole label vectors, over the rows of all `bins` together."""
    rows, confidence, hits = (np.sum([own[name] for own in bins], axis=0) for name in ("rows", "confidence", "hits"))
    return float(np.abs(confidence - hits).sum() / rows.sum())


def error_of_calibrated(bins: Sequence[dict[str, list[float]]]) -> float:
    """Return the mean calibration error of a perfectly calibrated model with these confidences: it is never zero."""
    rows, confidence = (np.sum([own[name] for own in bins], axis=0) for name in ("rows", "confidence"))
    mean = confidence / np.maximum(rows, 1.0)
    # The mean absolute deviation of a normal distribution with the variance of the number of hits.
    return float(np.sqrt(2.0 / np.pi * rows * mean * (1.0 - mean)).sum() / rows.sum())


def _summary(values: np.ndarray) -> dict[str, float]:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {"mean": float(values.mean()), "error": float(error), "n": len(values)}


def _f1(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return F1 by row; one where neither has a relevant label. Unknown cells count as not relevant."""
    true, own = truth == 1, predicted == 1
    total = true.sum(axis=1) + own.sum(axis=1)
    return np.where(total == 0, 1.0, 2.0 * (true & own).sum(axis=1) / np.maximum(total, 1))
