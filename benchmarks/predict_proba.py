"""Marginals within 0.01 against scikit-learn's chain, whose `predict_proba` follows one greedy path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks import THREADS
from benchmarks.peers import classifier_with_links, fitted_peer, same_links, trainable_split
from benchmarks.reference import Enumerated
from benchmarks.report import Measurement
from benchmarks.timing import interleaved

DATA = ("yeast", "scene", "tmc2007")
ERROR = 0.01
VECTORS = 2**27
"""Maximum number of label vectors enumerated to check a data set, which limits the number of rows checked."""


def measure(n_runs: int, data: Sequence[str] = DATA) -> Iterator[Measurement]:
    """Time both on all test rows; our error, and the peer's, is the largest over some rows and all labels."""
    for name in data:
        split, peer = trainable_split(name), fitted_peer(name)
        X = split.X_test
        chain = same_links(peer)
        ours = classifier_with_links(chain, split, n_jobs=THREADS)
        some = X[: VECTORS >> chain.n_labels]
        exact = Enumerated(chain).marginals(some)
        found = np.column_stack([proba[:, 1] for proba in ours.predict_proba(X)])[: some.shape[0]]
        error = np.abs(found - exact).max()
        greedy_error = np.abs(peer.predict_proba(some) - exact).max()
        peer_seconds, our_seconds = interleaved(partial(peer.predict_proba, X), partial(ours.predict_proba, X), n_runs)
        yield Measurement(
            "predict_proba",
            name,
            our_seconds,
            peer_seconds,
            "scikit-learn greedy",
            1.0,
            correct=bool(error <= ERROR),
            threads=THREADS,
            note=(
                f"{1e6 * our_seconds / X.shape[0]:.1f} µs a row; largest error on {some.shape[0]} rows {error:.4f}, "
                f"the peer's {greedy_error:.2f}"
            ),
        )
