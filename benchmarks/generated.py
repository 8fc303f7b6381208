"""Generated data whose true distribution is known; also with rare labels and sparse inputs, like MediaMill's.

Plain numpy throughout: it shares no code with the chains it judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import brentq

from montechain import Dataset

MAX_PARENTS = 10
"""Maximum number of earlier labels that influence a label, so that many labels do not drown the inputs."""
SIGNAL = 2.0
"""Standard deviation of the inputs' part of a score, in units of log-odds."""
EFFECT = 2.0
"""Standard deviation of what an earlier label adds to a score if `dependence` is one."""
MAX_CELLS = 2**27
"""Maximum number of probabilities that are enumerated: rows times label vectors."""
CALIBRATION_ROWS = 2000
"""Number of rows drawn to find the intercepts for the wanted shares of the classes."""
LARGEST_SHARE = 0.8
"""Maximum share of rows in which a label is relevant, if a cardinality is given."""


class BayesScores(NamedTuple):
    """The best possible scores: exact match, Hamming score, and the joint log-loss of the true probabilities."""

    exact_match: float
    hamming_score: float
    joint_log_loss: float


@dataclass(frozen=True)
class ChainTruth:
    """The true p(y | x) of generated data: a chain of multinomial logistic models with known weights.

    The classes of a label are 0, 1, ...; class 0 has score 0, every other one is an *active class* with a
    score of ``intercept + x @ coef`` plus what the active classes of earlier labels add to it. The columns of
    the arrays are the active classes, label by label. X may be an array, a CSR array or a data frame.

    Parameters
    ----------
    n_classes : tuple of int
        Number of classes of each label.
    order : tuple of int
        The label at each position of the chain; a label is influenced by those before it.
    coef : ndarray of shape (d, A)
    intercept : ndarray of shape (A,)
    effects : ndarray of shape (A, A)
        ``effects[b, a]`` is added to the score of active class a where active class b holds.
    """

    n_classes: tuple[int, ...]
    order: tuple[int, ...]
    coef: np.ndarray
    intercept: np.ndarray
    effects: np.ndarray

    @cached_property
    def active(self) -> list[slice]:
        """The columns of each label's active classes."""
        stops = np.cumsum(np.array(self.n_classes) - 1)
        return [slice(int(stop) - k + 1, int(stop)) for stop, k in zip(stops, self.n_classes, strict=True)]

    def log_joint(self, X: Any, Y: Any) -> np.ndarray:
        """Return log p(y | x) for each row."""
        codes = np.asarray(Y).astype(np.int64)
        if codes.shape != (X.shape[0], len(self.order)):
            raise ValueError(f"`Y` has the shape {codes.shape}; ({X.shape[0]}, {len(self.order)}) was expected.")
        for row, label in np.argwhere((codes < 0) | (codes >= np.array(self.n_classes)))[:1]:
            classes = f"whose classes are 0 to {self.n_classes[label] - 1}"
            raise ValueError(f"`Y` holds {codes[row, label]} in row {row}, label {label}, {classes}.")
        total = np.zeros(len(codes))
        for label, scores in self.walk(X, codes):
            total += np.take_along_axis(log_softmax(scores), codes[:, [label]], axis=1)[:, 0]
        return total

    def sample(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        """Draw one label vector per row, of shape (n, L)."""
        labels = np.zeros((X.shape[0], len(self.order)), dtype=np.int64)
        uniforms = np.asarray(rng.random(labels.shape))
        for position, (label, scores) in enumerate(self.walk(X, labels)):
            labels[:, label] = draw(scores, uniforms[:, position])
        return labels

    def distribution(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return all label vectors, of shape (V, L), and log p(y | x) of each, of shape (n, V)."""
        if X.shape[0] * math.prod(self.n_classes) > MAX_CELLS:
            raise ValueError(
                f"{len(self.order)} labels have too many combinations to enumerate them for {X.shape[0]} rows. Take "
                "fewer rows, or compare vectors of your own by `log_joint`."
            )
        vectors = np.indices(self.n_classes).reshape(len(self.order), -1).T
        tables = [self.log_joint(X, np.broadcast_to(vector, (X.shape[0], len(vector)))) for vector in vectors]
        return vectors, np.column_stack(tables)

    def bayes_scores(self, X: Any) -> BayesScores:
        """Return the expected scores of the best possible decisions for these inputs."""
        vectors, table = self.distribution(X)
        proba = np.exp(table)
        right = [
            np.max([proba[:, vectors[:, label] == c].sum(axis=1) for c in range(k)], axis=0)
            for label, k in enumerate(self.n_classes)
        ]
        entropy = -(proba * table).sum(axis=1).mean()
        return BayesScores(float(proba.max(axis=1).mean()), float(np.mean(right)), float(entropy))

    def walk(self, X: Any, codes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Go along the chain: yield each label and the scores of its active classes, then look at its codes."""
        scores = (X.to_numpy(np.float64) if isinstance(X, pd.DataFrame) else X) @ self.coef + self.intercept
        for label in self.order:
            columns = self.active[label]
            yield label, scores[:, columns]
            # Most labels of most rows are class 0, which adds nothing: only the others cost anything.
            for active, effects in enumerate(self.effects[columns], 1):
                changed = np.flatnonzero(effects)
                scores[np.ix_(codes[:, label] == active, changed)] += effects[changed]


def make_known_chain(
    n_rows: int,
    n_features: int,
    n_labels: int,
    n_classes: int | Sequence[int] = 2,
    *,
    dependence: float = 1.0,
    random_state: int | None = None,
) -> tuple[Dataset, ChainTruth]:
    """Draw standard normal inputs, and labels from a random chain, which is returned too.

    Every label follows a multinomial logistic model of the inputs and of at most ten labels before it, in a random
    order, so linear links can learn the truth and, with enough rows, reach the scores ``truth.bayes_scores(X)``. With
    a `dependence` of 0, labels are independent given the inputs.
    """
    classes = [n_classes] * n_labels if isinstance(n_classes, int) else list(n_classes)
    of_weights, of_inputs, of_labels = map(np.random.default_rng, np.random.SeedSequence(random_state).spawn(3))
    truth = random_truth(classes, n_features, dependence, of_weights)
    names = [f"x{feature}" for feature in range(n_features)]
    X = pd.DataFrame(of_inputs.normal(size=(n_rows, n_features)), columns=names)
    Y = pd.DataFrame(truth.sample(X, of_labels), columns=[f"label_{label}" for label in range(n_labels)])
    return Dataset(X, Y, names, [list(range(k)) for k in classes], name="generated"), truth


def random_truth(n_classes: Sequence[int], n_features: int, dependence: float, rng: np.random.Generator) -> ChainTruth:
    """Return a chain with random weights and order, in which all classes are about equally common."""
    n_labels, n_active = len(n_classes), sum(n_classes) - len(n_classes)
    label_of = np.repeat(np.arange(n_labels), np.array(n_classes) - 1)
    coef = rng.normal(scale=SIGNAL / np.sqrt(n_features), size=(n_features, n_active))
    order = tuple(rng.permutation(n_labels).tolist())
    effects = rng.normal(scale=EFFECT, size=(n_active, n_active)) * dependence
    influences = np.zeros((n_labels, n_labels), dtype=bool)
    for position, label in enumerate(order):
        influences[[order[parent] for parent in rng.permutation(position)[:MAX_PARENTS]], label] = True
    effects[~influences[np.ix_(label_of, label_of)]] = 0.0
    # What the earlier labels add to a score is zero on average.
    intercept = -(effects / np.array(n_classes)[label_of, None]).sum(axis=0)
    return ChainTruth(tuple(map(int, n_classes)), order, coef, intercept, effects)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return log-probabilities of all classes from the scores of all but the first, whose score is zero."""
    full = np.concatenate([np.zeros((*scores.shape[:-1], 1)), scores], axis=-1)
    full -= full.max(axis=-1, keepdims=True)
    return full - np.log(np.exp(full).sum(axis=-1, keepdims=True))


def draw(scores: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return a class for each row, drawn from its scores."""
    cumulative = np.exp(log_softmax(scores)).cumsum(axis=1)[:, :-1]
    return (uniforms[:, None] >= cumulative).sum(axis=1)


class Generated(NamedTuple):
    """Inputs, labels as codes, and the distribution that these were drawn from."""

    X: Any
    Y: np.ndarray
    truth: ChainTruth


def mediamill_like() -> Generated:
    """Return data of MediaMill's shape: 30,000 × 120 with 101 labels."""
    return make_rare_labels(30_000, 120, 101, cardinality=4.38, tail=1.2)


def delicious_like() -> Generated:
    """Return data of Delicious' shape: 12,920 × 500, sparse, with 983 labels."""
    return make_rare_labels(12_920, 500, 983, density=0.036, cardinality=19.02, tail=0.8)


def make_rare_labels(
    n_rows: int,
    n_features: int,
    n_labels: int,
    n_classes: int = 2,
    *,
    density: float = 1.0,
    cardinality: float | None = None,
    tail: float = 0.0,
    random_state: int = 0,
) -> Generated:
    """Generate inputs, and draw labels for them from a random chain whose intercepts make labels as rare as wanted.

    Parameters
    ----------
    n_rows, n_features, n_labels, n_classes : int
    density : float in (0, 1], default=1.0
        Share of non-zero inputs. With 1, the inputs are an array of standard normal numbers; below, a CSR array of
        zeros and ones, like the words of a text.
    cardinality : float, optional
        Mean number of relevant labels (class other than 0) per row, at most 80 % of them. Default: all classes are
        equally common.
    tail : float, default=0.0
        With a cardinality: how unequal the labels are. The i-th most common one is relevant in proportion to
        ``i ** -tail``, but in at most 80 % of the rows.
    random_state : int, default=0
    """
    of_weights, of_calibration, of_inputs, of_labels = map(
        np.random.default_rng, np.random.SeedSequence(random_state).spawn(4)
    )
    classes = (n_classes,) * n_labels
    shares = of_weights.permutation(_relevant_shares(classes, cardinality, tail))
    truth = random_truth(classes, n_features, 1.0, of_weights)
    spread = 1.0 if density == 1 else np.sqrt(density * (1 - density))
    truth = replace(truth, coef=truth.coef / spread, intercept=np.zeros_like(truth.intercept))
    inputs = _inputs(CALIBRATION_ROWS, n_features, density, of_calibration)
    truth = replace(truth, intercept=_intercept(truth, shares, inputs, of_calibration))
    X = _inputs(n_rows, n_features, density, of_inputs)
    return Generated(X, truth.sample(X, of_labels), truth)


def _inputs(n_rows: int, n_features: int, density: float, rng: np.random.Generator) -> np.ndarray | sp.csr_array:
    if density == 1:
        return rng.normal(size=(n_rows, n_features))
    return sp.csr_array(rng.random((n_rows, n_features)) < density, dtype=np.float64)


def _relevant_shares(classes: tuple[int, ...], cardinality: float | None, tail: float) -> np.ndarray:
    """Return how often each label is relevant: all classes equally often, or such that the sum is the cardinality."""
    if cardinality is None:
        return 1 - 1 / np.array(classes)
    common = np.arange(1, len(classes) + 1) ** -float(tail)

    def shares(scale: float) -> np.ndarray:
        return np.minimum(LARGEST_SHARE, scale * common)

    return shares(brentq(lambda scale: shares(scale).sum() - cardinality, 0, LARGEST_SHARE / common[-1]))


def _intercept(truth: ChainTruth, shares: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
    """Return intercepts that make each label relevant as often as wanted, with equally common relevant classes."""
    intercept = np.zeros_like(truth.intercept)
    labels = np.zeros((X.shape[0], len(truth.order)), dtype=np.int64)
    for label, scores in truth.walk(X, labels):
        n_relevant = truth.n_classes[label] - 1
        offsets = _offsets(scores, np.full(n_relevant, shares[label] / n_relevant))
        intercept[truth.active[label]] = offsets
        labels[:, label] = draw(scores + offsets, rng.random(len(scores)))
    return intercept


def _offsets(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return what to add to the scores so that the mean probabilities are `shares`, by Newton's method."""
    offsets = np.log(shares / (1 - shares.sum()))
    for _ in range(100):
        proba = np.exp(log_softmax(scores + offsets))[:, 1:]
        excess = proba.mean(axis=0) - shares
        if np.abs(excess).max() < 1e-6:
            break
        curvature = np.diag(proba.mean(axis=0)) - proba.T @ proba / len(proba)
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(shares)), excess)
        offsets -= step / max(1.0, float(np.abs(step).max()))  # a full step may be far too long
    return offsets
