"""Marginals within 0.01 against drawing 1,000 label vectors a row with the chain's own kernel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.peers import classifier_with_links, fitted_peer, same_links, trainable_split
from benchmarks.timing import Measurement, interleaved
from montechain import BranchAndBound

DATA = ("yeast", "scene", "tmc2007")
RESIDUAL = 0.01
N_SAMPLES = 1000
CHUNK = 256
"""Rows drawn at a time, so that the draws stay in the cache: this favours the peer."""


def measure(n_runs: int) -> Iterator[Measurement]:
    """Certified marginals; the peer only draws, its averages are not even taken."""
    for name in DATA:
        split = trainable_split(name)
        X = split.X_test
        chain = same_links(fitted_peer(name))
        ours = classifier_with_links(chain, split, inference=BranchAndBound(residual=RESIDUAL))
        uniforms = np.random.default_rng(0).random((1, N_SAMPLES, chain.n_labels))

        def draw(chain=chain, X=X, uniforms=uniforms):
            for start in range(0, X.shape[0], CHUNK):
                chain.sample(X[start : start + CHUNK], uniforms)

        few = X[:100]
        exact = classifier_with_links(chain, split, inference=BranchAndBound(residual=RESIDUAL / 100))
        error = max(np.abs(a - b).max() for a, b in zip(ours.predict_proba(few), exact.predict_proba(few), strict=True))
        peer_seconds, our_seconds = interleaved(draw, lambda: ours.predict_proba(X), n_runs)  # noqa: B023
        note = f"{1e6 * our_seconds / X.shape[0]:.1f} µs a row, largest error found {error:.4f}"
        yield Measurement(
            "predict_proba", name, peer_seconds, our_seconds, 1.0, correct=bool(error <= RESIDUAL), note=note
        )
