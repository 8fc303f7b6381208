"""What a search of label orders costs: in links, and against one chain."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.peers import best_solver, fit_quietly, peer_chain, trainable_split
from benchmarks.report import Measurement
from benchmarks.timing import interleaved, seconds
from montechain import AllOrders, ChainClassifier, ChainPopulationClassifier, LogisticLink, OrderSearch, Swap
from montechain.chain import Chain
from montechain.ordering import OrderEvaluator
from montechain.parents import arrange
from tests.real_data import load_split

N_ITERATIONS = 50
TARGET = 3.0


def measure(n_runs: int) -> Iterator[Measurement]:
    """Links fitted, PtMsCC against one chain, and all orders of Music."""
    yield from links_fitted()
    yield from population(n_runs)
    yield all_orders_of_music()


def links_fitted() -> Iterator[Measurement]:
    """Links fitted beyond the first chain by 50 proposals, as a share of a whole chain for each."""
    for name in ("scene", "yeast", "enron"):
        X, Y = trainable_split(name)[:2]
        n_labels = Y.shape[1]
        for what, proposal, target in (
            ("swap", "swap", 0.5),
            ("Swap(reach=2)", Swap(reach=2), 3 / n_labels * (1 + 1e-9)),
        ):
            model = ChainClassifier(order=OrderSearch(proposal, n_iterations=N_ITERATIONS), random_state=0)
            taken = seconds(partial(model.fit, X, Y))
            yield Measurement(
                f"links fitted, 50 × {what}",
                name,
                model.search_trace_[-1]["n_links_fitted"] - n_labels,
                N_ITERATIONS * n_labels,
                "a new chain for each",
                target,
                at_least=False,
                unit="links",
                note=f"{taken:.1f} s with the final fit",
            )


def population(n_runs: int, data: Sequence[str] = ("scene", "yeast", "enron", "reuters")) -> Iterator[Measurement]:
    """PtMsCC (50 iterations, 10 orders) against one chain of scikit-learn's with its fastest solver."""
    for name in data:
        X, Y = trainable_split(name)[:2]
        # Always ten orders: the paper's search may visit fewer, which would cost less.
        search = OrderSearch("tempered_swap", n_iterations=N_ITERATIONS, keep=10)
        model = ChainPopulationClassifier(order=search, combine="algorithm-4", random_state=0)
        solver = best_solver(name)
        peer, ours = interleaved(
            partial(fit_quietly, peer_chain(solver), X, Y), partial(model.fit, X, Y), min(n_runs, 3)
        )
        yield Measurement(
            "PtMsCC fit",
            name,
            ours,
            peer,
            f"scikit-learn, one chain, {solver}",
            TARGET,
            at_least=False,
            correct=len(model.orders_) == 10,
            note=f"{len(model.orders_)} orders kept",
        )


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

    note = f"{together().n_links_fitted} links fitted"
    ours, peer = seconds(together), seconds(separately)
    return Measurement("all 720 orders", "music", ours, peer, "ours, each by itself", 15.0, note=note)
