"""`fit` of one chain against scikit-learn's, and the objective that both reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.peers import peer_chain, same_links, trainable_split
from benchmarks.timing import Measurement, interleaved
from montechain import ChainClassifier
from montechain.chain import Chain
from montechain.links.linear import FittedLinearLink

DATA = ("yeast", "tmc2007")


def objective(chain: Chain, X: Any, Y: np.ndarray) -> float:
    """Return the sum over links of the logistic loss plus half the squared norm of the weights (C = 1).

    That is what scikit-learn's `LogisticRegression` minimises: weights of parents count, intercepts do not.
    """
    codes = Y[:, list(chain.order)].astype(np.int32)
    penalty = 0.0
    for link in chain.links:
        assert isinstance(link, FittedLinearLink)
        penalty += 0.5 * (link.coef**2).sum()
        penalty += sum(0.5 * ((effects[1:] - effects[0]) ** 2).sum() for effects in link.parent_effects)
    return float(penalty - chain.log_joint(X, codes).sum())


def measure(n_runs: int, data: Sequence[str] = DATA) -> Iterator[Measurement]:
    """Fit both on the same training part, labels in their given order."""
    for name in data:
        split = trainable_split(name)
        X, Y = split.X_train, split.Y_train
        ours = ChainClassifier(order=None, random_state=0)
        peer = peer_chain()
        peer_seconds, our_seconds = interleaved(lambda: peer.fit(X, Y), lambda: ours.fit(X, Y), n_runs)  # noqa: B023
        wanted, reached = objective(same_links(peer), X, Y), objective(ours.chain_, X, Y)
        # The last digits of both depend on the order of summation.
        no_higher = reached <= wanted * (1 + 1e-9)
        note = f"objective {reached:.4f}, the peer's {wanted:.4f}"
        yield Measurement("fit", name, peer_seconds, our_seconds, 1.0, correct=no_higher, note=note)
