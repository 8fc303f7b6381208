"""Generated data of any size and shape, drawn from a known chain.

Plain numpy throughout: it shares no code with the chains it judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import brentq

from montechain._messages import check_positive_argument
from montechain.datasets.dataset import Dataset

__all__ = ["BayesScores", "ChainTruth", "GeneratedData", "make_chain_data"]

MAX_PARENTS = 10
"""Maximum number of earlier labels that influence a label, so that many labels do not drown the inputs."""
SIGNAL = 2.0
"""Standard deviation of the inputs' part of a score, in units of log-odds."""
EFFECT = 2.0
"""Standard deviation of what an earlier label adds to a score if `dependence` is one."""
CALIBRATION_ROWS = 2000
"""Number of rows drawn to find the intercepts for the wanted shares of the classes."""
LARGEST_SHARE = 0.8
"""Maximum share of rows in which a label is relevant, if a cardinality is given."""
MAX_CELLS = 2**27
"""Maximum number of probabilities that are enumerated: rows times label vectors."""


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

    Examples
    --------
    >>> data = make_chain_data(n_rows=500, n_labels=4, random_state=0)
    >>> data.truth.log_joint(data.dataset.X, data.dataset.Y).shape
    (500,)
    >>> scores = data.truth.bayes_scores(data.dataset.X)
    >>> 0 < scores.exact_match < scores.hamming_score < 1
    True
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
        for label, scores in self._walk(X, codes):
            total += np.take_along_axis(_log_softmax(scores), codes[:, [label]], axis=1)[:, 0]
        return total

    def sample(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        """Draw one label vector per row, of shape (n, L)."""
        labels = np.zeros((X.shape[0], len(self.order)), dtype=np.int64)
        uniforms = np.asarray(rng.random(labels.shape))
        for position, (label, scores) in enumerate(self._walk(X, labels)):
            labels[:, label] = _draw(scores, uniforms[:, position])
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

    def _walk(self, X: Any, codes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Go along the chain: yield each label and the scores of its active classes, then look at its codes."""
        scores = _matrix(X) @ self.coef + self.intercept
        for label in self.order:
            columns = self.active[label]
            yield label, scores[:, columns]
            # Most labels of most rows are class 0, which adds nothing: only the others cost anything.
            for active, effects in enumerate(self.effects[columns], 1):
                changed = np.flatnonzero(effects)
                scores[np.ix_(codes[:, label] == active, changed)] += effects[changed]


class GeneratedData(NamedTuple):
    """A data set, and the distribution that its labels were drawn from."""

    dataset: Dataset
    truth: ChainTruth


def make_chain_data(
    n_rows: int = 1000,
    n_features: int = 20,
    n_labels: int = 6,
    n_classes: int | Sequence[int] = 2,
    *,
    density: float = 1.0,
    dependence: float = 1.0,
    cardinality: float | None = None,
    tail: float = 0.0,
    random_state: int | None = None,
) -> GeneratedData:
    """Generate inputs, and draw labels for them from a random chain, which is returned too.

    Every label follows a multinomial logistic model of the inputs and of at most ten labels before it, in a random
    order. Linear links can therefore learn the truth and, with enough rows, reach the best possible scores,
    ``truth.bayes_scores(X)``.

    Parameters
    ----------
    n_rows, n_features, n_labels : int
    n_classes : int or sequence of n_labels ints, default=2
        Number of classes of every label, or one number per label.
    density : float in (0, 1], default=1.0
        Share of non-zero inputs. With 1, the inputs are a frame of standard normal numbers; below, a CSR array of
        zeros and ones, like the words of a text.
    dependence : float, default=1.0
        How strongly labels influence each other; with 0 they are independent given the inputs.
    cardinality : float, optional
        Mean number of relevant labels (class other than 0) per row. Default: all classes are equally common.
    tail : float, default=0.0
        With a cardinality: how unequal the labels are. The i-th most common one is relevant in proportion to
        ``i ** -tail``, but in at most 80 % of the rows.
    random_state : int, optional
        Seed; None gives different data at each call.

    Returns
    -------
    GeneratedData
        `dataset` and `truth`.

    Examples
    --------
    >>> data = make_chain_data(5000, 300, 50, density=0.02, cardinality=1.5, tail=1.0, random_state=0)
    >>> round(float(data.dataset.Y.sum(axis=1).mean()), 1)
    1.5
    """
    n_rows = check_positive_argument("n_rows", n_rows, "n_rows=1000")
    n_features = check_positive_argument("n_features", n_features, "n_features=20")
    n_labels = check_positive_argument("n_labels", n_labels, "n_labels=6")
    given: list[Any] = [n_classes] * n_labels if isinstance(n_classes, Integral) else list(n_classes)  # type: ignore[arg-type]
    if len(given) != n_labels:
        raise ValueError(f"`n_classes` names {len(given)} labels, but `n_labels={n_labels}`.")
    if any(not isinstance(k, Integral) or k < 2 for k in given):
        raise ValueError(f"`n_classes={n_classes!r}`: a label has at least two classes, as in `n_classes=2`.")
    classes = tuple(map(int, given))
    _check_number("density", density, np.nextafter(0, 1), 1, 0.05)
    _check_number("dependence", dependence, 0, np.inf, 1.0)
    _check_number("tail", tail, 0, np.inf, 1.0)
    if cardinality is not None:  # no label is relevant in more than the largest share of the rows
        _check_number("cardinality", cardinality, np.nextafter(0, 1), LARGEST_SHARE * n_labels, 1.0)

    of_weights, of_calibration, of_inputs, of_labels = map(
        np.random.default_rng, np.random.SeedSequence(random_state).spawn(4)
    )
    shares = of_weights.permutation(_relevant_shares(classes, cardinality, tail))
    truth = _random_chain(classes, n_features, density, dependence, of_weights)
    # Weights alone would leave the labels as common as chance has it.
    inputs = _inputs(CALIBRATION_ROWS, n_features, density, of_calibration)
    truth = replace(truth, intercept=_intercept(truth, shares, inputs, of_calibration))
    X = _inputs(n_rows, n_features, density, of_inputs)
    names = [f"x{feature}" for feature in range(n_features)]
    dataset = Dataset(
        X=X if sp.issparse(X) else pd.DataFrame(X, columns=names),
        Y=pd.DataFrame(truth.sample(X, of_labels), columns=[f"label_{label}" for label in range(n_labels)]),
        feature_names=names,
        classes=[list(range(k)) for k in classes],
        name="generated",
        description=(
            f"Generated: {n_rows} rows of {n_features} inputs, with labels drawn from a chain with known weights "
            f"(dependence={dependence:g}, density={density:g}, random_state={random_state})."
        ),
    )
    return GeneratedData(dataset, truth)


def _random_chain(
    classes: tuple[int, ...], n_features: int, density: float, dependence: float, rng: np.random.Generator
) -> ChainTruth:
    n_active = sum(classes) - len(classes)
    label_of = np.repeat(np.arange(len(classes)), np.array(classes) - 1)
    variance = 1.0 if density == 1 else density * (1 - density)
    coef = rng.normal(scale=SIGNAL / np.sqrt(n_features * variance), size=(n_features, n_active))
    order = tuple(rng.permutation(len(classes)).tolist())
    effects = rng.normal(scale=EFFECT, size=(n_active, n_active)) * dependence
    influences = np.zeros((len(classes), len(classes)), dtype=bool)
    for position, label in enumerate(order):
        influences[[order[parent] for parent in rng.permutation(position)[:MAX_PARENTS]], label] = True
    effects[~influences[np.ix_(label_of, label_of)]] = 0.0
    return ChainTruth(classes, order, coef, np.zeros(n_active), effects)


def _inputs(n_rows: int, n_features: int, density: float, rng: np.random.Generator) -> np.ndarray | sp.csr_array:
    if density == 1:
        return rng.normal(size=(n_rows, n_features))
    return sp.csr_array(rng.random((n_rows, n_features)) < density, dtype=np.float64)


def _relevant_shares(classes: tuple[int, ...], cardinality: float | None, tail: float) -> np.ndarray:
    """Return how often each label is relevant: all classes alike, or so that the sum is the cardinality."""
    if cardinality is None:
        return 1 - 1 / np.array(classes)
    common = np.arange(1, len(classes) + 1) ** -float(tail)

    def shares(scale: float) -> np.ndarray:
        return np.minimum(LARGEST_SHARE, scale * common)

    return shares(brentq(lambda scale: shares(scale).sum() - cardinality, 0, LARGEST_SHARE / common[-1]))


def _intercept(truth: ChainTruth, shares: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
    """Return the intercepts with which each label is relevant as often as wanted, its relevant classes alike."""
    intercept = np.zeros_like(truth.intercept)
    labels = np.zeros((X.shape[0], len(truth.order)), dtype=np.int64)
    for label, scores in truth._walk(X, labels):
        n_relevant = truth.n_classes[label] - 1
        offsets = _offsets(scores, np.full(n_relevant, shares[label] / n_relevant))
        intercept[truth.active[label]] = offsets
        labels[:, label] = _draw(scores + offsets, rng.random(len(scores)))
    return intercept


def _offsets(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return what to add to the scores so that the mean probabilities are `shares`, by Newton's method."""
    offsets = np.log(shares / (1 - shares.sum()))
    for _ in range(100):
        proba = np.exp(_log_softmax(scores + offsets))[:, 1:]
        excess = proba.mean(axis=0) - shares
        if np.abs(excess).max() < 1e-6:
            break
        curvature = np.diag(proba.mean(axis=0)) - proba.T @ proba / len(proba)
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(shares)), excess)
        offsets -= step / max(1.0, float(np.abs(step).max()))  # far away the curve is flat and a full step too long
    return offsets


def _matrix(X: Any) -> Any:
    return X if sp.issparse(X) else np.asarray(X, dtype=np.float64)


def _log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return log-probabilities of all classes from the scores of all but the first, whose score is zero."""
    full = np.concatenate([np.zeros((*scores.shape[:-1], 1)), scores], axis=-1)
    full -= full.max(axis=-1, keepdims=True)
    return full - np.log(np.exp(full).sum(axis=-1, keepdims=True))


def _draw(scores: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return a class for each row, drawn from its scores."""
    cumulative = np.exp(_log_softmax(scores)).cumsum(axis=1)[:, :-1]
    return (uniforms[:, None] >= cumulative).sum(axis=1)


def _check_number(name: str, value: Any, least: float, most: float, example: float) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not least <= value <= most:
        low = "above 0" if 0 < least < 1 else f"at least {least:g}"
        high = "" if most == np.inf else f" and at most {most:g}"
        raise ValueError(f"`{name}={value!r}` must be a number {low}{high}. Try `{name}={example}`.")
