"""`decide` where a proof is out of reach: posteriors like CAL500's, with 174 labels, about 26 of them on."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.report import Measurement
from montechain import BranchAndBound
from montechain.chain import Chain
from montechain.links.linear import FittedLinearLink
from montechain.prefix_tree import PrefixTree

LABELS, LABELS_ON, FEATURES, ROWS = 174, 26, 68, 10
BUDGETS = (1_000, 5_000, 20_000)


def cal500_like(seed: int = 0) -> tuple[Chain, np.ndarray]:
    """Return a chain and rows in which nearly all labels are uncertain: weak inputs, many weak parents."""
    rng = np.random.default_rng(seed)
    share = rng.beta(0.8, 0.8 * (LABELS - LABELS_ON) / LABELS_ON, size=LABELS).clip(0.01, 0.9)
    links = []
    for k in range(LABELS):
        effects = rng.normal(scale=0.15, size=k)
        # Centred, so that the parents do not move a label's share on average.
        intercept = np.log(share[k] / (1 - share[k])) - effects @ share[:k]
        links.append(
            FittedLinearLink(
                n_classes=2,
                coef=rng.normal(scale=0.6 / np.sqrt(FEATURES), size=(FEATURES, 1)),
                intercept=np.array([intercept]),
                parent_effects=tuple(np.array([[0.0], [effect]]) for effect in effects),
            )
        )
    return Chain(range(LABELS), [range(k) for k in range(LABELS)], links), rng.normal(size=(ROWS, FEATURES))


def measure(n_runs: int) -> Iterator[Measurement]:
    """Measure the time that each budget takes, and the bound that it gives."""
    chain, X = cal500_like()
    drawn, _ = chain.sample(X, np.random.default_rng(0).random((1, 1000, LABELS)))
    n_on = drawn.sum(axis=2).mean()
    tightest = np.full(ROWS, np.inf)
    for budget in BUDGETS:
        strategy = BranchAndBound(max_nodes=budget)
        strategy.search(PrefixTree(chain, X[:1]), np.random.default_rng(0))
        start = time.perf_counter()
        decision = strategy.search(PrefixTree(chain, X), np.random.default_rng(0))
        seconds = time.perf_counter() - start
        correct = (decision.upper_bound < 0).all() and (decision.upper_bound <= tightest + 1e-9).all()
        tightest = decision.upper_bound
        note = (
            f"a mean of {n_on:.0f} labels on, best log-probability {decision.log_proba.mean():.2f}, "
            f"upper bound {decision.upper_bound.mean():.2f}, {decision.certified.mean():.0%} certified"
        )
        what = f"decide, max_nodes={budget:,}"
        yield Measurement(what, f"CAL500-like, {ROWS} rows", seconds, correct=bool(correct), note=note)
