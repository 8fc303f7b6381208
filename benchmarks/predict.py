"""`predict`, many rows and one, against scikit-learn's chain, which is greedy, with the same links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks import THREADS
from benchmarks.peers import SETS, classifier_with_links, fitted_peer, same_links, trainable_split
from benchmarks.report import Measurement
from benchmarks.timing import interleaved
from montechain import BranchAndBound, MonteCarlo

AGAINST = "scikit-learn greedy"
STRATEGIES = (
    ("exact predict", BranchAndBound(), 20.0),
    ("MonteCarlo(100) predict", MonteCarlo(n_samples=100), 3.0),
)
LATENCY_TARGET = 20.0


def measure(n_runs: int, data: Sequence[str] = SETS) -> Iterator[Measurement]:
    """Certified-exact prediction, and Monte Carlo with 100 samples."""
    for name in data:
        split, peer = trainable_split(name), fitted_peer(name)
        X = split.X_test
        chain = same_links(peer)
        greedy = classifier_with_links(chain, split, inference="greedy")
        same = bool((greedy.predict(X) == peer.predict(X)).all())
        greedy_log_proba = greedy.decide(X).log_proba
        for what, strategy, target in STRATEGIES:
            ours = classifier_with_links(chain, split, inference=strategy, n_jobs=THREADS)
            decision = ours.decide(X)
            certified = decision.certified.mean()
            correct = same and bool((decision.log_proba >= greedy_log_proba - 1e-9).all())
            if isinstance(strategy, BranchAndBound):
                correct = correct and bool(certified == 1.0)
            peer_seconds, our_seconds = interleaved(partial(peer.predict, X), partial(ours.predict, X), n_runs)
            note = f"{1e6 * our_seconds / X.shape[0]:.1f} µs a row, {certified:.1%} certified"
            if not same:
                note += ", greedy DIFFERS from the peer"
            yield Measurement(
                what,
                name,
                our_seconds,
                peer_seconds,
                AGAINST,
                target,
                correct=correct,
                threads=THREADS,
                note=note,
            )


def measure_latency(n_runs: int, data: Sequence[str] = SETS) -> Iterator[Measurement]:
    """Measure one row at a time, where nearly all of the time is overhead around the search."""
    for name in data:
        split, peer = trainable_split(name), fitted_peer(name)
        row = split.X_test[:1]
        ours = classifier_with_links(same_links(peer), split)
        certified = bool(ours.decide(row).certified.all())
        peer_seconds, our_seconds = interleaved(partial(peer.predict, row), partial(ours.predict, row), n_runs)
        yield Measurement(
            "exact predict of one row", name, our_seconds, peer_seconds, AGAINST, LATENCY_TARGET, correct=certified
        )
