"""Which methods differ, by the paper's statistics and by those advised today."""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations
from typing import Any

import pandas as pd

from montechain.experiments import statistics
from montechain.experiments.paper import published_average_ranks
from montechain.experiments.reproduction import greater_is_better

__all__ = ["ALPHA", "ROPE", "significance"]

ALPHA = 0.10
"""As in the paper."""
ROPE = 0.01
"""Half the width of the region of practical equivalence: differences up to a hundredth do not matter."""
N_PUBLISHED = 11
"""Number of data sets in the paper's cross-validation."""


def significance(scores: pd.DataFrame, measure: str) -> dict[str, Any]:
    """Return the statistics of a table of scores; see `montechain.experiments.reproduction.Reproduction`.

    Parameters
    ----------
    scores : data frame of shape (n_datasets, n_methods)
        NaN where a method did not finish.
    measure : str

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = pd.DataFrame(rng.normal([0.5, 0.3, 0.3], 0.02, (8, 3)), columns=["MCC", "CC", "IC"])
    >>> found = significance(scores, "exact_match")
    >>> sorted(found["nemenyi"]["pairs"]), found["bayesian"][0]["first_better"] > 0.95
    ([['MCC', 'CC'], ['MCC', 'IC']], True)
    """
    greater = greater_is_better(measure)
    # Rounded, so that means that are equal but for the order of summation are tied.
    scores = scores.dropna(axis=0, how="all").dropna(axis=1, how="all").round(12)
    found: dict[str, Any] = {
        "methods": [str(name) for name in scores.columns],
        "datasets": [str(name) for name in scores.index],
        "average_ranks": {},
        "published_average_ranks": published_average_ranks(measure),
        "published_pairs": [],
        "friedman": None,
        "nemenyi": None,
        "wilcoxon_holm": [],
        "bayesian": [],
    }
    if found["published_average_ranks"]:
        printed = statistics.nemenyi_from_ranks(found["published_average_ranks"], N_PUBLISHED, alpha=ALPHA)
        found["published_pairs"] = [list(pair) for pair in printed.significant]
    if scores.shape[0] < 1 or scores.shape[1] < 2:
        return found
    ranks = statistics.average_ranks(scores, greater_is_better=greater, ties="min")
    found["average_ranks"] = {str(name): float(rank) for name, rank in ranks.items()}
    complete = scores.dropna(axis=0)
    if len(complete) >= 2:
        test = statistics.friedman(complete, greater_is_better=greater)
        found["friedman"] = {"datasets": [str(name) for name in complete.index], **asdict(test)}
        found["nemenyi"] = _nemenyi(complete, greater)
        found["wilcoxon_holm"] = statistics.pairwise_wilcoxon(scores, greater_is_better=greater).to_dict("records")
        found["bayesian"] = _bayesian(scores, greater)
    return found


def _nemenyi(scores: pd.DataFrame, greater: bool) -> dict[str, Any]:
    try:
        result = statistics.nemenyi(scores, alpha=ALPHA, greater_is_better=greater)
    except ImportError:  # scikit-posthocs is optional; the decision does not need it, only the p-values do
        mean = statistics.average_ranks(scores, greater_is_better=greater)
        result = statistics.nemenyi_from_ranks(mean, len(scores), alpha=ALPHA)
    p_values = None if result.p_values is None else result.p_values.to_dict()
    return {
        "alpha": ALPHA,
        "critical_difference": result.critical_difference,
        "average_ranks": {str(name): float(rank) for name, rank in result.average_ranks.items()},
        "pairs": [list(pair) for pair in result.significant],
        "groups": [list(group) for group in result.groups],
        "p_values": p_values,
    }


def _bayesian(scores: pd.DataFrame, greater: bool) -> list[dict[str, Any]]:
    found = []
    for first, second in combinations(scores.columns, 2):
        both = scores[[first, second]].dropna()
        if len(both):
            posterior = statistics.bayesian_signed_rank(
                both[first].to_numpy(), both[second].to_numpy(), rope=ROPE, greater_is_better=greater
            )
            found.append({"first": first, "second": second, "n_datasets": len(both), "rope": ROPE, **asdict(posterior)})
    return found
