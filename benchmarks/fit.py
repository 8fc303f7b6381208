"""`fit` of one chain against scikit-learn's, and the objective that both reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from benchmarks import THREADS
from benchmarks.peers import (
    MAX_ITER,
    MEDIAMILL_LIKE,
    OTHER_OBJECTIVE,
    SETS,
    best_solver,
    fit_quietly,
    peer_chain,
    same_links,
    solver_seconds,
    trainable_split,
)
from benchmarks.report import Measurement
from benchmarks.timing import interleaved
from montechain import ChainClassifier
from montechain.chain import Chain
from montechain.links.linear import FittedLinearLink

WIDE = ("genbase", "medical", "enron")
TARGET, WIDE_TARGET = 5.0, 3.0
TOO_LONG = 10.0
"""Maximum seconds of a comparison without a target; longer ones are skipped."""


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


def measure(n_runs: int, data: Sequence[str] = SETS, *, only_targets: bool = False) -> Iterator[Measurement]:
    """Fit both on the same training part, labels in their given order; `only_targets` skips those without a target."""
    for name in data:
        X, Y = trainable_split(name)[:2]
        ours = ChainClassifier(order=None, random_state=0, n_jobs=THREADS)
        solver = best_solver(name)
        peer = peer_chain(solver)
        peer_seconds, our_seconds = interleaved(partial(fit_quietly, peer, X, Y), partial(ours.fit, X, Y), n_runs)
        wanted, reached = objective(same_links(peer), X, Y), objective(ours.chain_, X, Y)
        yield Measurement(
            "fit one chain",
            name,
            our_seconds,
            peer_seconds,
            f"scikit-learn {solver}",
            WIDE_TARGET if name in WIDE else TARGET,
            # The last digits of both depend on the order of summation.
            correct=reached <= wanted * (1 + 1e-9),
            threads=THREADS,
            note=f"objective {reached:.4f}, the peer's {wanted:.4f}",
        )
        if only_targets:
            continue
        if solver_seconds(name)[OTHER_OBJECTIVE] < TOO_LONG:
            other = peer_chain(OTHER_OBJECTIVE)
            peer_seconds, our_seconds = interleaved(
                partial(fit_quietly, other, X, Y), partial(ours.fit, X, Y), min(n_runs, 3)
            )
            yield Measurement(
                "fit one chain, another objective",
                name,
                our_seconds,
                peer_seconds,
                f"scikit-learn {OTHER_OBJECTIVE}",
                threads=THREADS,
                note="the peer penalises the intercept",
            )
        if name != MEDIAMILL_LIKE:
            yield _independent(name, solver, min(n_runs, 3))


def _independent(name: str, solver: str, n_runs: int) -> Measurement:
    """Compare independent classifiers: labels without parents."""
    X, Y = trainable_split(name)[:2]
    peer = MultiOutputClassifier(LogisticRegression(solver=solver, max_iter=MAX_ITER))
    ours = ChainClassifier(order=None, parents="none", random_state=0, n_jobs=THREADS)
    peer_seconds, our_seconds = interleaved(partial(fit_quietly, peer, X, Y), partial(ours.fit, X, Y), n_runs)
    against = f"scikit-learn MultiOutputClassifier, {solver}"
    return Measurement("fit, no parents", name, our_seconds, peer_seconds, against, threads=THREADS)
