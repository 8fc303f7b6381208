"""`predict` against scikit-learn's chain, which is greedy, with the same links."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.peers import classifier_with_links, fitted_peer, same_links, trainable_split
from benchmarks.timing import Measurement, interleaved
from montechain import BranchAndBound, MonteCarlo

DATA = ("yeast", "enron", "tmc2007", "reuters")


def measure(n_runs: int) -> Iterator[Measurement]:
    """Certified-exact prediction, and Monte Carlo with 100 samples."""
    for name in DATA:
        split, peer = trainable_split(name), fitted_peer(name)
        X = split.X_test
        chain = same_links(peer)
        greedy = classifier_with_links(chain, split, inference="greedy")
        same = (greedy.predict(X) == peer.predict(X)).all()
        greedy_log_proba = greedy.decide(X).log_proba
        for what, strategy, target in (
            ("exact predict", BranchAndBound(), 10.0),
            ("MonteCarlo(100) predict", MonteCarlo(n_samples=100), 1.0),
        ):
            ours = classifier_with_links(chain, split, inference=strategy)
            decision = ours.decide(X)
            certified = decision.certified.mean()
            correct = same and (decision.log_proba >= greedy_log_proba - 1e-9).all()
            if what == "exact predict":
                correct = correct and certified == 1.0
            peer_seconds, our_seconds = interleaved(lambda: peer.predict(X), lambda: ours.predict(X), n_runs)  # noqa: B023
            note = f"{1e6 * our_seconds / X.shape[0]:.1f} µs a row, {certified:.1%} certified"
            if not same:
                note += ", greedy DIFFERS from the peer"
            yield Measurement(what, name, peer_seconds, our_seconds, target, correct=bool(correct), note=note)
