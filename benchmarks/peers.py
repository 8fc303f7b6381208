"""The data, scikit-learn's chain as the peer, and chains of ours with the very same links."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from benchmarks.generated import mediamill_like
from benchmarks.timing import seconds
from montechain import ChainClassifier
from montechain.chain import Chain
from montechain.links.linear import FittedLinearLink
from tests.real_data import Split, load_split

MEDIAMILL_LIKE = "mediamill-like"
SETS = ("music", "scene", "yeast", "genbase", "medical", "enron", "reuters", "tmc2007", MEDIAMILL_LIKE)
MAX_ITER = 1000
SOLVERS = ("lbfgs", "newton-cholesky", "newton-cg")
"""scikit-learn's solvers that minimise our objective. liblinear's penalises the intercept, those of SAG's family are
slow on inputs that are not scaled."""
OTHER_OBJECTIVE = "liblinear"
WIDEST_CHOLESKY = 700
"""Maximum number of inputs for newton-cholesky, which factorises their Gram matrix in each iteration."""
LINKS_TRIED = 6
"""Number of links, spread evenly over the chain, that are timed to choose a solver."""


@cache
def trainable_split(name: str) -> Split:
    """Return the split without the labels that are constant in its training part, which scikit-learn refuses."""
    X_train, Y_train, X_test, Y_test = _generated_split() if name == MEDIAMILL_LIKE else load_split(name)
    varies = Y_train.min(axis=0) != Y_train.max(axis=0)
    return Split(X_train, np.ascontiguousarray(Y_train[:, varies]), X_test, np.ascontiguousarray(Y_test[:, varies]))


def _generated_split() -> Split:
    """Return data of MediaMill's shape, and 10,000 more rows from the same truth."""
    X, Y, truth = mediamill_like()
    rng = np.random.default_rng(1)
    X_test = rng.normal(size=(10_000, X.shape[1]))
    return Split(X, Y.astype(np.int32), X_test, truth.sample(X_test, rng).astype(np.int32))


@cache
def solver_seconds(name: str) -> dict[str, float]:
    """Return estimates of how long scikit-learn's solvers take for the whole chain, based on a few links."""
    X, Y = trainable_split(name)[:2]
    n_labels = Y.shape[1]
    positions = np.unique(np.linspace(0, n_labels - 1, LINKS_TRIED).astype(int))
    inputs = [sp.hstack([X, Y[:, :k]], format="csr") if sp.issparse(X) else np.hstack([X, Y[:, :k]]) for k in positions]
    estimated = {}
    for solver in (*SOLVERS, OTHER_OBJECTIVE):
        if solver == "newton-cholesky" and X.shape[1] > WIDEST_CHOLESKY:
            continue

        taken = [_fit_some(solver, inputs, Y[:, positions])]
        while sum(taken) < 1.0 and len(taken) < 3:  # otherwise noise would decide
            taken.append(_fit_some(solver, inputs, Y[:, positions]))
        estimated[solver] = min(taken) * n_labels / len(positions)
    return estimated


def _fit_some(solver: str, inputs: Sequence[Any], labels: np.ndarray) -> float:
    """Return the seconds that some links take, one by one."""
    model = LogisticRegression(solver=solver, max_iter=MAX_ITER)
    return sum(seconds(partial(fit_quietly, model, Z, y)) for Z, y in zip(inputs, labels.T, strict=True))


@cache
def best_solver(name: str) -> str:
    """Return the fastest of scikit-learn's solvers for a data set, among those with our objective."""
    estimated = solver_seconds(name)
    return min((solver for solver in SOLVERS if solver in estimated), key=estimated.__getitem__)


def peer_chain(solver: str = "lbfgs") -> ClassifierChain:
    """Return scikit-learn's chain of logistic regressions, labels in their given order, unfitted."""
    return ClassifierChain(LogisticRegression(solver=solver, max_iter=MAX_ITER))


def fit_quietly(model: Any, X: Any, Y: np.ndarray) -> Any:
    """Fit a scikit-learn model. It may stop before it has converged, which its objective will show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, Y)


@cache
def fitted_peer(name: str) -> ClassifierChain:
    """Return the peer, fitted on the training part of a data set with its default solver."""
    split = trainable_split(name)
    return fit_quietly(peer_chain(), split.X_train, split.Y_train)


def same_links(peer: ClassifierChain) -> Chain:
    """Return our chain with the links of a fitted peer: the last k coefficients of link k belong to its parents."""
    links = []
    for k, estimator in enumerate(peer.estimators_):
        weights = estimator.coef_[0]
        n_features = len(weights) - k
        links.append(
            FittedLinearLink(
                n_classes=2,
                coef=weights[:n_features, None],
                intercept=np.asarray(estimator.intercept_, dtype=float),
                parent_effects=tuple(np.array([[0.0], [effect]]) for effect in weights[n_features:]),
            )
        )
    return Chain(peer.order_, [range(k) for k in range(len(links))], links)


def classifier_with_links(chain: Chain, split: Split, **choices: Any) -> ChainClassifier:
    """Return a classifier that predicts with the links of `chain`.

    It is fitted on a few rows that hold both classes of every label, for its bookkeeping; then its links are replaced.
    """
    rows = np.unique(np.concatenate([split.Y_train.argmin(axis=0), split.Y_train.argmax(axis=0)]))
    classifier = ChainClassifier(order=None, random_state=0, **choices).fit(split.X_train[rows], split.Y_train[rows])
    classifier.chain_ = chain
    return classifier
