"""Generated data of any size and shape, with a known true distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain._messages import check_positive_argument
from montechain.datasets.dataset import Dataset
from montechain.datasets.truth import CELLS_AT_ONCE, ChainTruth, draw, log_softmax

__all__ = ["InventedData", "delicious_like", "make_chain_data", "mediamill_like"]

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


class InventedData(NamedTuple):
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
    n_informative: int | None = None,
    cardinality: float | None = None,
    tail: float = 0.0,
    random_state: int | None = None,
) -> InventedData:
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
    n_informative : int, optional
        Number of inputs, the first ones, that influence the labels; default: all.
    cardinality : float, optional
        Mean number of relevant labels (class other than 0) per row. Default: all classes are equally common.
    tail : float, default=0.0
        With a cardinality: how unequal the labels are. The i-th most common one is relevant in proportion to
        ``i ** -tail``, but in at most 80 % of the rows.
    random_state : int, optional
        Seed; None gives different data at each call.

    Returns
    -------
    InventedData
        `dataset` and `truth`.

    Examples
    --------
    >>> data = make_chain_data(n_rows=200, n_labels=3, n_classes=[2, 3, 4], random_state=0)
    >>> data.dataset.Y.max().tolist()
    [1, 2, 3]
    >>> data.truth.bayes_scores(data.dataset.X).exact_match < 1
    True

    Rare labels, sparse inputs:

    >>> data = make_chain_data(5000, 300, 50, density=0.02, cardinality=1.5, tail=1.0, random_state=0)
    >>> round(float(data.dataset.Y.sum(axis=1).mean()), 1)
    1.5
    """
    n_rows = check_positive_argument("n_rows", n_rows, "n_rows=1000")
    n_features = check_positive_argument("n_features", n_features, "n_features=20")
    n_labels = check_positive_argument("n_labels", n_labels, "n_labels=6")
    n_informative = n_features if n_informative is None else n_informative
    check_positive_argument("n_informative", n_informative, f"n_informative={n_features}")
    given: list[Any] = [n_classes] * n_labels if isinstance(n_classes, Integral) else list(n_classes)  # type: ignore[arg-type]
    if len(given) != n_labels:
        raise ValueError(f"`n_classes` names {len(given)} labels, but `n_labels={n_labels}`.")
    if any(not isinstance(k, Integral) or k < 2 for k in given):
        raise ValueError(f"`n_classes={n_classes!r}`: a label has at least two classes, as in `n_classes=2`.")
    classes = tuple(map(int, given))
    _check_number("n_informative", n_informative, 1, n_features, n_features)
    _check_number("density", density, np.nextafter(0, 1), 1, 0.05)
    _check_number("dependence", dependence, 0, np.inf, 1.0)
    _check_number("tail", tail, 0, np.inf, 1.0)
    if cardinality is not None:  # no label is relevant in more than the largest share of the rows
        _check_number("cardinality", cardinality, np.nextafter(0, 1), LARGEST_SHARE * n_labels, 1.0)

    of_weights, of_calibration, of_inputs, of_labels = (
        np.random.default_rng(seed) for seed in np.random.SeedSequence(random_state).spawn(4)
    )
    shares = of_weights.permutation(_relevant_shares(classes, cardinality, tail))
    coef, effects, order = _weights(classes, n_features, n_informative, density, dependence, of_weights)
    truth = ChainTruth(classes, order, coef, np.zeros(coef.shape[1]), effects)
    # Weights alone would leave the labels as common as chance has it.
    inputs = _inputs(CALIBRATION_ROWS, n_features, density, of_calibration)
    truth = replace(truth, intercept=_intercept(truth, shares, inputs, of_calibration))
    X = _inputs(n_rows, n_features, density, of_inputs)
    Y = pd.DataFrame(truth.sample(X, of_labels), columns=[f"label_{label}" for label in range(n_labels)])
    names = [f"x{feature}" for feature in range(n_features)]
    dataset = Dataset(
        X=X if sp.issparse(X) else pd.DataFrame(X, columns=names),
        Y=Y,
        feature_names=names,
        classes=[list(range(k)) for k in classes],
        name="invented",
        description=(
            f"Generated: {n_rows} rows of {n_features} inputs, with labels drawn from a chain with known weights "
            f"(dependence={dependence:g}, density={density:g}, random_state={random_state})."
        ),
    )
    return InventedData(dataset, truth)


def mediamill_like(n_rows: int = 30_000, *, random_state: int | None = None) -> InventedData:
    """Generate data of MediaMill's shape: 120 inputs and 101 labels, 4.38 of them relevant on average.

    As in the original, a few labels are common and most are rare.

    Parameters
    ----------
    n_rows : int, default=30000
    random_state : int, optional

    Returns
    -------
    InventedData

    Examples
    --------
    >>> mediamill_like(n_rows=100, random_state=0).dataset.Y.shape
    (100, 101)
    """
    data = make_chain_data(n_rows, 120, 101, cardinality=4.38, tail=1.2, random_state=random_state)
    return data._replace(dataset=replace(data.dataset, name="mediamill-like"))


def delicious_like(n_rows: int = 12_920, *, random_state: int | None = None) -> InventedData:
    """Generate data of Delicious' shape: 500 words, 18 of them per row, and 983 labels, 19 of them relevant.

    As in the original, some labels are common and most are rare.

    Parameters
    ----------
    n_rows : int, default=12920
        The size of Delicious' training part.
    random_state : int, optional

    Returns
    -------
    InventedData

    Examples
    --------
    >>> delicious_like(n_rows=50, random_state=0).dataset.Y.shape
    (50, 983)
    """
    data = make_chain_data(n_rows, 500, 983, density=0.036, cardinality=19.02, tail=0.8, random_state=random_state)
    return data._replace(dataset=replace(data.dataset, name="delicious-like"))


def _weights(
    classes: tuple[int, ...],
    n_features: int,
    n_informative: int,
    density: float,
    dependence: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Draw the inputs' weights, of shape (d, A), the labels' effects on each other, (A, A), and the order."""
    n_active = sum(classes) - len(classes)
    label_of = np.repeat(np.arange(len(classes)), np.array(classes) - 1)
    variance = 1.0 if density == 1 else density * (1 - density)
    coef = np.zeros((n_features, n_active))
    coef[:n_informative] = rng.normal(scale=SIGNAL / np.sqrt(n_informative * variance), size=(n_informative, n_active))
    order = tuple(rng.permutation(len(classes)).tolist())
    effects = rng.normal(scale=EFFECT, size=(n_active, n_active)) * dependence
    influences = np.zeros((len(classes), len(classes)), dtype=bool)
    for position, label in enumerate(order):
        influences[[order[parent] for parent in rng.permutation(position)[:MAX_PARENTS]], label] = True
    effects[~influences[np.ix_(label_of, label_of)]] = 0.0
    return coef, effects, order


def _inputs(n_rows: int, n_features: int, density: float, rng: np.random.Generator) -> np.ndarray | sp.csr_array:
    if density == 1:
        return rng.normal(size=(n_rows, n_features))
    # In blocks, so that the whole table is never there with its zeros.
    sizes = [len(block) for block in np.array_split(range(n_rows), -(-n_rows * n_features // CELLS_AT_ONCE))]
    blocks = [sp.csr_array(rng.random((size, n_features)) < density, dtype=np.float64) for size in sizes]
    return sp.csr_array(sp.vstack(blocks, format="csr"))


def _relevant_shares(classes: tuple[int, ...], cardinality: float | None, tail: float) -> np.ndarray:
    """Return how often each label is relevant: all classes alike, or so that the sum is the cardinality."""
    if cardinality is None:
        return 1 - 1 / np.array(classes)
    common = np.arange(1, len(classes) + 1) ** -float(tail)
    low, high = 0.0, LARGEST_SHARE / common[-1]
    for _ in range(100):
        middle = (low + high) / 2
        if np.minimum(LARGEST_SHARE, middle * common).sum() < cardinality:
            low = middle
        else:
            high = middle
    return np.minimum(LARGEST_SHARE, high * common)


def _intercept(truth: ChainTruth, shares: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
    """Return the intercepts with which each label is relevant as often as wanted, its relevant classes alike."""
    intercept = np.zeros_like(truth.intercept)

    def choose(label: int, scores: np.ndarray) -> np.ndarray:
        n_relevant = truth.n_classes[label] - 1
        offsets = _offsets(scores, np.full(n_relevant, shares[label] / n_relevant))
        intercept[truth.active[label]] = offsets
        return draw(scores + offsets, rng.random(len(scores)))

    truth.walk(X, choose)
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
        offsets -= step / max(1.0, float(np.abs(step).max()))  # far away the curve is flat and a full step too long
    return offsets


def _check_number(name: str, value: Any, least: float, most: float, example: float) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not least <= value <= most:
        low = "above 0" if 0 < least < 1 else f"at least {least:g}"
        high = "" if most == np.inf else f" and at most {most:g}"
        raise ValueError(f"`{name}={value!r}` must be a number {low}{high}. Try `{name}={example}`.")
