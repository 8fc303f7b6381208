"""scikit-learn's chain as the peer, and chains of ours with the very same links."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from montechain import ChainClassifier
from montechain.chain import Chain
from montechain.links.linear import SOFTMAX, FittedLinearLink
from tests.real_data import Split, load_split

MAX_ITER = 1000


@cache
def trainable_split(name: str) -> Split:
    """Return the split without the labels that are constant in its training part, which scikit-learn refuses."""
    X_train, Y_train, X_test, Y_test = load_split(name)
    varies = Y_train.min(axis=0) != Y_train.max(axis=0)
    return Split(X_train, np.ascontiguousarray(Y_train[:, varies]), X_test, np.ascontiguousarray(Y_test[:, varies]))


def peer_chain() -> ClassifierChain:
    """Return scikit-learn's chain of logistic regressions, labels in their given order, unfitted."""
    return ClassifierChain(LogisticRegression(max_iter=MAX_ITER))


@cache
def fitted_peer(name: str) -> ClassifierChain:
    """Return the peer, fitted on the training part of a data set."""
    split = trainable_split(name)
    return peer_chain().fit(split.X_train, split.Y_train)


def same_links(peer: ClassifierChain) -> Chain:
    """Return our chain with the links of a fitted peer: the last k coefficients of link k belong to its parents."""
    links = []
    for k, estimator in enumerate(peer.estimators_):
        weights = estimator.coef_[0]
        n_features = len(weights) - k
        links.append(
            FittedLinearLink(
                n_classes=2,
                response=SOFTMAX,
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
