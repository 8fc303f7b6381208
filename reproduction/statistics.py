"""Which methods differ: the paper's tests, and those recommended today."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scikit_posthocs import posthoc_nemenyi_friedman
from scipy import stats
from statsmodels.stats.multitest import multipletests

from reproduction.paper import published_average_ranks
from reproduction.tables import greater_is_better

__all__ = ["ALPHA", "bayesian_signed_rank", "critical_difference", "nemenyi", "significance", "wilcoxon_holm"]

ALPHA = 0.10
"""Level of significance in the paper."""
ROPE = 0.01
"""Half the width of the region of practical equivalence: differences up to it do not matter."""
N_PUBLISHED = 11
"""Number of data sets in the paper's cross-validation."""


def significance(scores: pd.DataFrame, measure: str) -> dict[str, Any]:
    """Return the tests of a table of scores.

    Parameters
    ----------
    scores : data frame of shape (n_datasets, n_methods)
        NaN where a method did not finish.
    measure : str

    Returns
    -------
    dict
        ``average_ranks`` by method, ties sharing the best rank, as in the paper, and ``published_average_ranks``;
        ``published_nemenyi`` from the latter; and, over the data sets on which all methods finished, ``friedman``,
        ``nemenyi``, ``wilcoxon_holm`` and ``bayesian``, None or empty if there are fewer than two.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = pd.DataFrame(rng.normal([0.5, 0.3, 0.3], 0.02, (8, 3)), columns=["MCC", "CC", "IC"])
    >>> found = significance(scores, "exact_match")
    >>> sorted(found["nemenyi"]["pairs"]), found["bayesian"][0]["first_better"] > 0.95
    ([['MCC', 'CC'], ['MCC', 'IC']], True)
    """
    # Rounded, so that means that differ by rounding errors only are tied; greater is better from here on.
    scores = scores.dropna(axis=0, how="all").dropna(axis=1, how="all").round(12)
    scores = scores if greater_is_better(measure) else -scores
    printed = published_average_ranks(measure)
    found: dict[str, Any] = {
        "datasets": list(scores.index),
        "average_ranks": scores.rank(axis=1, method="min", ascending=False).mean().to_dict(),
        "published_average_ranks": printed,
        "published_nemenyi": nemenyi(printed, N_PUBLISHED) if printed else None,
        "friedman": None, "nemenyi": None, "wilcoxon_holm": [], "bayesian": [],
    }  # fmt: skip
    complete = scores.dropna(axis=0)
    if len(complete) < 2 or complete.shape[1] < 3:
        return found
    # As in Demšar (2006), without a correction for ties.
    each = complete.rank(axis=1, ascending=False)
    n, k = complete.shape
    statistic = 12.0 * n / (k * (k + 1)) * float(((each.mean() - (k + 1) / 2.0) ** 2).sum())
    found["friedman"] = {
        "datasets": list(complete.index), "statistic": statistic, "p_value": float(stats.chi2.sf(statistic, k - 1)),
    }  # fmt: skip
    p_values = posthoc_nemenyi_friedman(complete.to_numpy())
    named = pd.DataFrame(np.asarray(p_values), index=complete.columns, columns=complete.columns)
    found["nemenyi"] = nemenyi(each.mean().to_dict(), n) | {"p_values": named.to_dict()}
    found["wilcoxon_holm"] = wilcoxon_holm(scores)
    for first, second in combinations(scores.columns, 2):
        both = scores[[first, second]].dropna()
        better, equivalent, worse = bayesian_signed_rank((both[first] - both[second]).to_numpy())
        probabilities = {"first_better": better, "equivalent": equivalent, "second_better": worse}
        found["bayesian"].append({"first": first, "second": second, "n_datasets": len(both), **probabilities})
    return found


def critical_difference(n_methods: int, n_datasets: int, alpha: float = ALPHA) -> float:
    """Return by how much average ranks must differ for Nemenyi's test to call two methods different.

    >>> round(critical_difference(4, 14, alpha=0.05), 2), round(critical_difference(9, 11), 2)
    (1.25, 3.33)
    """
    q = stats.studentized_range.ppf(1.0 - alpha, n_methods, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_datasets)))


def nemenyi(average_ranks: dict[str, float], n_datasets: int, alpha: float = ALPHA) -> dict[str, Any]:
    """Compare methods by their average ranks.

    Returns
    -------
    dict
        ``average_ranks``, best first; ``critical_difference``; ``pairs`` of a better and a worse method.

    Examples
    --------
    >>> nemenyi({"C4.5": 3.143, "m": 2.0, "cf": 2.893, "m+cf": 1.964}, 14)["pairs"]
    [['m+cf', 'C4.5'], ['m', 'C4.5']]
    """
    names = sorted(average_ranks, key=average_ranks.__getitem__)
    values = np.array([average_ranks[name] for name in names])
    distance = critical_difference(len(names), n_datasets, alpha)
    pairs = combinations(range(len(names)), 2)
    return {
        "average_ranks": {name: average_ranks[name] for name in names},
        "critical_difference": distance,
        "pairs": [[names[i], names[j]] for i, j in pairs if values[j] - values[i] > distance],
    }


def wilcoxon_holm(scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Compare each pair of methods by Wilcoxon's signed-rank test, with Holm's correction; greater is better.

    Examples
    --------
    >>> scores = pd.DataFrame({"A": [0.9, 0.8, 0.7, 0.9, 0.6, 0.8], "B": [0.8, 0.6, 0.4, 0.5, 0.1, 0.2]})
    >>> [(row["first"], row["p_holm"]) for row in wilcoxon_holm(scores)]
    [('A', 0.03125)]
    """
    rows = []
    for first, second in combinations(scores.columns, 2):
        difference = (scores[first] - scores[second]).dropna().round(12).to_numpy()
        p_value = 1.0
        if (difference != 0).any():
            # The exact distribution holds for few data sets without zeros and ties.
            untied = len(np.unique(np.abs(difference[difference != 0]))) == len(difference) <= 50
            method = "exact" if untied else "asymptotic"
            p_value = float(stats.wilcoxon(difference, zero_method="zsplit", method=method).pvalue)
        rows.append({"first": first, "second": second, "n_datasets": len(difference), "p_value": p_value})
    adjusted = multipletests([row["p_value"] for row in rows], method="holm")[1] if rows else []
    return [{**row, "p_holm": float(p)} for row, p in zip(rows, adjusted, strict=True)]


def bayesian_signed_rank(difference: np.ndarray, rope: float = ROPE, n_samples: int = 50_000) -> list[float]:
    """Return how probable it is that the first method is practically better, equivalent, or worse.

    The Bayesian counterpart of Wilcoxon's test: the differences have a Dirichlet process as their prior, with one
    pseudo-observation of no difference, of weight 0.5 (Benavoli, Corani, Demšar, Zaffalon, JMLR 18, 2017).

    >>> bayesian_signed_rank(np.array([0.10, 0.15, 0.05, 0.15]))[0] > 0.95
    True
    """
    padded = np.concatenate([[0.0], difference])
    mean = np.round((padded[:, None] + padded) / 2.0, 12)
    alpha = np.r_[0.5, np.ones(len(difference))]
    weights = np.random.default_rng(0).dirichlet(alpha, n_samples)
    above = ((weights @ (mean > rope)) * weights).sum(axis=1)
    below = ((weights @ (mean < -rope)) * weights).sum(axis=1)
    winners = np.argmax([above, 1.0 - above - below, below], axis=0)
    return (np.bincount(winners, minlength=3) / n_samples).tolist()
