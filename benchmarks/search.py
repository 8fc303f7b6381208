"""What a search of label orders costs: in links, against one chain, and over long runs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from benchmarks.peers import trainable_split
from benchmarks.timing import Measurement, interleaved
from montechain import AllOrders, ChainClassifier, ChainPopulationClassifier, LocalSwap, LogisticLink, OrderSearch
from montechain.chain import Chain
from montechain.ordering import OrderEvaluator
from montechain.parents import arrange
from tests.real_data import load_split

N_ITERATIONS = 50
LONG_RUN = 10_000


def measure(n_runs: int) -> Iterator[Measurement]:
    """Links fitted, PtMsCC against one chain, and all orders of Music."""
    yield from links_fitted()
    yield from population(n_runs)
    yield all_orders_of_music()


def links_fitted() -> Iterator[Measurement]:
    """Links fitted beyond the first chain by 50 proposals, as a share of a whole chain for each."""
    for name in ("scene", "yeast", "enron"):
        split = trainable_split(name)
        n_labels = split.Y_train.shape[1]
        for proposal, target in (("swap", 0.5), (LocalSwap(reach=2), 3 / n_labels)):
            search = OrderSearch(proposal, n_iterations=N_ITERATIONS)
            start = time.perf_counter()
            model = ChainClassifier(order=search, random_state=0).fit(split.X_train, split.Y_train)
            seconds = time.perf_counter() - start
            fitted = model.search_trace_[-1]["n_links_fitted"] - n_labels
            # Chains can be alike for several proposals in a row, so that fewer links than allowed are needed.
            yield Measurement(
                f"links fitted, 50 × {proposal if isinstance(proposal, str) else 'LocalSwap(2)'}",
                name,
                peer=N_ITERATIONS * n_labels,
                ours=fitted,
                target=target * (1 + 1e-9),
                at_least=False,
                unit="links",
                note=f"{seconds:.1f} s with the final fit",
            )


def population(n_runs: int) -> Iterator[Measurement]:
    """PtMsCC (50 iterations, 10 orders) against one chain of scikit-learn's with its default parameters."""
    for name in ("scene", "yeast"):
        split = trainable_split(name)
        search = OrderSearch("tempered_swap", n_iterations=N_ITERATIONS, keep=10, pool="evaluated")
        model = ChainPopulationClassifier(order=search, combine="algorithm-4", random_state=0)
        peer, ours = interleaved(
            lambda split=split: ClassifierChain(LogisticRegression()).fit(split.X_train, split.Y_train),  # type: ignore[misc]
            lambda split=split, model=model: model.fit(split.X_train, split.Y_train),  # type: ignore[misc]
            min(n_runs, 3),
        )
        yield Measurement("PtMsCC fit", name, peer, ours, 8.0, at_least=False, note=f"{len(model.orders_)} orders kept")


def all_orders_of_music() -> Measurement:
    """Payoffs of all 720 orders of Music against 720 separate fits of a chain (without any payoff)."""
    split = load_split("music")
    X = np.vstack([split.X_train, split.X_test])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    codes = np.vstack([split.Y_train, split.Y_test])
    n_classes = [2] * codes.shape[1]
    learner = LogisticLink()

    def separately() -> None:
        for order in itertools.permutations(range(len(n_classes))):
            Chain.learn(learner, X, codes, n_classes, *arrange("all", order, codes, n_classes))

    def together() -> OrderEvaluator:
        evaluator = OrderEvaluator(learner, X, codes, n_classes, validation=None)
        AllOrders().find(evaluator, start=tuple(range(len(n_classes))), rng=np.random.default_rng(0))
        return evaluator

    evaluator = together()
    start = time.perf_counter()
    together()
    middle = time.perf_counter()
    separately()
    seconds = time.perf_counter() - middle
    return Measurement(
        "all 720 orders", "music", seconds, middle - start, 15.0, note=f"{evaluator.n_links_fitted} links fitted"
    )


def measure_long_runs() -> Iterator[Measurement]:
    """10,000 iterations, as in the paper's figures."""
    for name in ("yeast", "enron"):
        split = trainable_split(name)
        search = OrderSearch(n_iterations=LONG_RUN)
        start = time.perf_counter()
        model = ChainClassifier(order=search, random_state=0).fit(split.X_train, split.Y_train)
        seconds = time.perf_counter() - start
        trace = model.search_trace_
        n_accepted = sum(row["accepted"] for row in trace[1:])
        note = (
            f"J_EM {trace[0]['payoff']:.2f} to {trace[-1]['payoff']:.2f}, {n_accepted} accepted, "
            f"{trace[-1]['n_links_fitted']:,} links fitted"
        )
        yield Measurement(f"{LONG_RUN:,} iterations", name, None, seconds, None, note=note)
