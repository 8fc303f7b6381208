"""Is one method better than another, over several data sets? Pure functions of tables of scores.

A table has one row for each data set and one column for each method. Data frames keep their names; columns of
arrays are called by their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from montechain._messages import nearest

__all__ = [
    "Friedman",
    "Nemenyi",
    "SignedRank",
    "average_ranks",
    "bayesian_signed_rank",
    "critical_difference",
    "friedman",
    "holm",
    "nemenyi",
    "nemenyi_from_ranks",
    "pairwise_wilcoxon",
    "ranks",
]

TIES = ("average", "min")
DRAWS_AT_ONCE = 4096


def ranks(scores: Any, *, greater_is_better: bool = True, ties: str = "average") -> pd.DataFrame:
    """Rank the methods on each data set; rank 1 is best.

    Parameters
    ----------
    scores : data frame or array of shape (n_datasets, n_methods)
        NaN where a method did not finish: it gets no rank there, and the others are ranked without it.
    greater_is_better : bool, default=True
    ties : {"average", "min"}, default="average"
        Equal methods share the mean of their ranks, as the tests below need it (1, 2.5, 2.5, 4), or the best of
        them, as in tables of Read et al. (1, 2, 2, 4).

    Returns
    -------
    data frame of the same shape

    Examples
    --------
    >>> ranks([[0.9, 0.7, 0.7, 0.2], [0.5, 0.6, np.nan, 0.1]]).to_numpy().tolist()
    [[1.0, 2.5, 2.5, 4.0], [2.0, 1.0, nan, 3.0]]
    >>> ranks([[0.9, 0.7, 0.7, 0.2]], ties="min").to_numpy().tolist()
    [[1.0, 2.0, 2.0, 4.0]]
    """
    if ties not in TIES:
        allowed = " or ".join(map(repr, TIES))
        raise ValueError(f"`ties={ties!r}` is not known{nearest(str(ties), TIES) or '.'} Pass {allowed}.")
    return _table(scores).rank(axis=1, ascending=not greater_is_better, method=ties)  # type: ignore[arg-type]


def average_ranks(scores: Any, *, greater_is_better: bool = True, ties: str = "average") -> pd.Series:
    """Return the mean rank of each method over the data sets on which it has one; parameters as for `ranks`.

    Examples
    --------
    >>> average_ranks([[0.9, 0.7, 0.7], [0.5, 0.6, 0.4]]).tolist()
    [1.5, 1.75, 2.75]
    """
    return ranks(scores, greater_is_better=greater_is_better, ties=ties).mean(axis=0)


@dataclass(frozen=True)
class Friedman:
    """Whether the methods differ at all.

    Attributes
    ----------
    statistic, p_value : float
        Friedman's χ² with k - 1 degrees of freedom.
    f_statistic, f_p_value : float
        Iman and Davenport's F, which is less conservative, with k - 1 and (k - 1)(N - 1) degrees of freedom.
    """

    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float


def friedman(scores: Any, *, greater_is_better: bool = True, tie_correction: bool = False) -> Friedman:
    """Test whether all methods are equally good.

    Parameters
    ----------
    scores : data frame or array of shape (n_datasets, n_methods)
        At least two data sets and two methods, without missing values.
    greater_is_better : bool, default=True
    tie_correction : bool, default=False
        Without it, the statistic is as in Demšar (2006); with it, as in `scipy.stats.friedmanchisquare`.

    References
    ----------
    J. Demšar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.

    Examples
    --------
    >>> result = friedman([[0.9, 0.7, 0.5], [0.8, 0.6, 0.7], [0.9, 0.4, 0.3], [0.7, 0.6, 0.5]])
    >>> round(result.statistic, 2), round(result.f_statistic, 2)
    (6.5, 13.0)
    """
    table = _complete(scores, "the Friedman test")
    n, k = table.shape
    each = ranks(table, greater_is_better=greater_is_better)
    mean = each.mean(axis=0).to_numpy()
    statistic = 12.0 * n / (k * (k + 1)) * float(((mean - (k + 1) / 2.0) ** 2).sum())
    if tie_correction:
        counts = [table.iloc[i].value_counts().to_numpy() for i in range(n)]
        excess = sum(int((c**3 - c).sum()) for c in counts)
        # All methods equal on all data sets: then nothing can be told, and nothing is divided by zero.
        statistic = statistic / (1.0 - excess / (n * k * (k * k - 1.0))) if excess < n * k * (k * k - 1) else 0.0
    below = n * (k - 1) - statistic
    f_statistic = (n - 1) * statistic / below if below > 1e-12 * n * k else math.inf
    return Friedman(
        statistic,
        float(stats.chi2.sf(statistic, k - 1)),
        f_statistic,
        float(stats.f.sf(f_statistic, k - 1, (k - 1) * (n - 1))),
    )


def critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.10) -> float:
    """Return by how much average ranks must differ for Nemenyi's test to call two methods different.

    Examples
    --------
    >>> round(critical_difference(4, 14, alpha=0.05), 2), round(critical_difference(9, 11), 2)
    (1.25, 3.33)
    """
    if n_methods < 2 or n_datasets < 2:
        raise ValueError(f"{n_methods=} and {n_datasets=}: the test needs at least 2 methods and 2 data sets.")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"{alpha=} must lie between 0 and 1, e.g. alpha=0.10.")
    q = stats.studentized_range.ppf(1.0 - alpha, n_methods, np.inf) / math.sqrt(2.0)
    return float(q * math.sqrt(n_methods * (n_methods + 1) / (6.0 * n_datasets)))


@dataclass(frozen=True)
class Nemenyi:
    """Which methods differ.

    Attributes
    ----------
    average_ranks : Series
        Best first.
    critical_difference : float
    significant : list of (str, str)
        Pairs of a better and a worse method whose average ranks differ by more than that.
    groups : list of tuples
        The largest sets of neighbouring methods that do not differ: the bars of a critical-difference diagram.
    p_values : data frame or None
        Of each pair of methods; None if only the ranks are known.
    """

    average_ranks: pd.Series
    critical_difference: float
    significant: list[tuple[Any, Any]]
    groups: list[tuple[Any, ...]]
    p_values: pd.DataFrame | None = None


def nemenyi(scores: Any, *, alpha: float = 0.10, greater_is_better: bool = True) -> Nemenyi:
    """Compare all pairs of methods by their average ranks.

    Parameters
    ----------
    scores : data frame or array of shape (n_datasets, n_methods)
        Without missing values; for ranks with gaps, see `nemenyi_from_ranks`.
    alpha : float, default=0.10
    greater_is_better : bool, default=True

    Returns
    -------
    Nemenyi
        The p-values are those of scikit-posthocs, which must be installed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> result = nemenyi(pd.DataFrame(rng.normal([2, 0, 0], 0.5, (12, 3)), columns=["A", "B", "C"]))
    >>> result.significant[0], result.groups
    (('A', 'C'), [('C', 'B')])
    """
    try:
        from scikit_posthocs import posthoc_nemenyi_friedman  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError(
            'the p-values of Nemenyi\'s test need scikit-posthocs: pip install "montechain[reproduction]".'
        ) from error
    table = _complete(scores, "Nemenyi's test")
    mean = average_ranks(table, greater_is_better=greater_is_better)
    result = nemenyi_from_ranks(mean, len(table), alpha=alpha)
    p_values = pd.DataFrame(
        np.asarray(posthoc_nemenyi_friedman(table.to_numpy())), index=table.columns, columns=table.columns
    )
    return Nemenyi(result.average_ranks, result.critical_difference, result.significant, result.groups, p_values)


def nemenyi_from_ranks(average_ranks: Any, n_datasets: int, *, alpha: float = 0.10) -> Nemenyi:
    """Compare all pairs of methods whose average ranks are known, as from a published table.

    Parameters
    ----------
    average_ranks : Series, mapping or array of shape (n_methods,)
    n_datasets : int
    alpha : float, default=0.10

    Examples
    --------
    >>> result = nemenyi_from_ranks({"C4.5": 3.143, "m": 2.0, "cf": 2.893, "m+cf": 1.964}, 14)
    >>> result.significant
    [('m+cf', 'C4.5'), ('m', 'C4.5')]
    """
    mean = pd.Series(average_ranks, dtype="float64").sort_values(kind="stable")
    if mean.isna().any():
        raise ValueError(f"{mean[mean.isna()].index[0]!r} has no average rank: leave it out.")
    distance = critical_difference(len(mean), n_datasets, alpha)
    names, values = list(mean.index), mean.to_numpy()
    significant = [
        (names[i], names[j]) for i, j in combinations(range(len(names)), 2) if values[j] - values[i] > distance
    ]
    groups: list[tuple[Any, ...]] = []
    last = -1
    for i in range(len(names)):
        end = int(np.searchsorted(values, values[i] + distance, side="right"))
        if end > last and end - i > 1:
            groups.append(tuple(names[i:end]))
        last = max(last, end)
    return Nemenyi(mean, distance, significant, groups)


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return p-values adjusted for their number by Holm's step-down procedure.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def pairwise_wilcoxon(scores: Any, *, greater_is_better: bool = True) -> pd.DataFrame:
    """Compare each pair of methods by Wilcoxon's signed-rank test, with Holm's correction for their number.

    Parameters
    ----------
    scores : data frame or array of shape (n_datasets, n_methods)
        Pairs use the data sets on which both have a score.
    greater_is_better : bool, default=True

    Returns
    -------
    data frame
        With the columns `first`, `second`, `better` (the one whose ranks of differences are greater; None if
        neither), `n_datasets`, `statistic`, `p_value` and `p_holm`. Differences of zero are shared between both.

    Examples
    --------
    >>> scores = pd.DataFrame({"A": [0.9, 0.8, 0.7, 0.9, 0.6, 0.8], "B": [0.8, 0.6, 0.4, 0.5, 0.1, 0.2]})
    >>> table = pairwise_wilcoxon(scores)
    >>> table["better"].tolist(), table["p_holm"].tolist()
    (['A'], [0.03125])
    """
    table = _table(scores)
    rows = []
    for first, second in combinations(table.columns, 2):
        # Rounded, since 0.3 - 0.2 and 0.2 - 0.1 are meant to be tied.
        difference = (table[first] - table[second]).dropna().round(12).to_numpy()
        difference = difference if greater_is_better else -difference
        better, statistic, p_value = None, math.nan, 1.0
        if (difference != 0).any():
            method = "exact" if _is_exact(difference) else "asymptotic"
            test = stats.wilcoxon(difference, zero_method="zsplit", method=method)
            statistic, p_value = float(test.statistic), float(test.pvalue)
            signed = stats.rankdata(np.abs(difference)) @ np.sign(difference)
            better = None if signed == 0 else first if signed > 0 else second
        rows.append((first, second, better, len(difference), statistic, p_value))
    found = pd.DataFrame(rows, columns=["first", "second", "better", "n_datasets", "statistic", "p_value"])
    found["better"] = pd.Series([row[2] for row in rows], dtype=object)  # else pandas makes NaN of None
    found["p_holm"] = holm(found["p_value"].to_numpy())
    return found


def _is_exact(difference: np.ndarray) -> bool:
    """Whether the exact distribution of the statistic applies: few data sets, no zeros, no ties."""
    return len(difference) <= 50 and len(np.unique(np.abs(difference[difference != 0]))) == len(difference)


@dataclass(frozen=True)
class SignedRank:
    """Posterior probabilities that add up to one.

    Attributes
    ----------
    first_better, equivalent, second_better : float
    """

    first_better: float
    equivalent: float
    second_better: float


def bayesian_signed_rank(
    first: Any,
    second: Any,
    *,
    rope: float = 0.01,
    greater_is_better: bool = True,
    prior_strength: float = 0.5,
    n_samples: int = 50_000,
    random_state: Any = 0,
) -> SignedRank:
    """Return how probable it is that one method is practically better than another, or that they are equivalent.

    The Bayesian counterpart of Wilcoxon's test: the distribution of the differences has a Dirichlet process as
    its prior, with one pseudo-observation of no difference. Each draw of weights for the observations gives the
    weight of the pairs whose mean difference lies above, within and below the region of practical
    equivalence; the probabilities say how often each of the three is the largest.

    Parameters
    ----------
    first, second : array-like of shape (n_datasets,)
        Scores of the two methods on the same data sets, without missing values.
    rope : float, default=0.01
        Half the width of the region of practical equivalence: differences up to it, that included, do not count.
    greater_is_better : bool, default=True
    prior_strength : float, default=0.5
        Weight of the pseudo-observation.
    n_samples : int, default=50_000
    random_state : int or Generator, default=0

    References
    ----------
    A. Benavoli, G. Corani, J. Demšar, M. Zaffalon. Time for a change: a tutorial for comparing multiple
    classifiers through Bayesian analysis. JMLR 18, 2017.

    Examples
    --------
    >>> result = bayesian_signed_rank([0.90, 0.85, 0.80, 0.75], [0.80, 0.70, 0.75, 0.60])
    >>> result.first_better > 0.95
    True
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or len(a) == 0:
        raise ValueError(f"`first` and `second` must both have shape (n,), but they have {a.shape} and {b.shape}.")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("`first` and `second` must be finite: leave out data sets on which a method has no score.")
    if not rope >= 0.0:
        raise ValueError(f"{rope=} must be zero or more, e.g. rope=0.01.")
    if not prior_strength > 0.0:
        raise ValueError(f"{prior_strength=} must be positive, e.g. prior_strength=0.5.")
    if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(f"{n_samples=} must be a positive whole number, e.g. n_samples=50_000.")
    difference = np.concatenate([[0.0], a - b if greater_is_better else b - a])
    above, below = _walsh(difference, rope)
    rng = np.random.default_rng(random_state)
    alpha = np.ones(len(difference))
    alpha[0] = prior_strength
    wins = np.zeros(3)
    for start in range(0, n_samples, DRAWS_AT_ONCE):
        weights = rng.dirichlet(alpha, min(DRAWS_AT_ONCE, n_samples - start))
        wins += _winners(weights, above, below)
    return SignedRank(*(float(count / n_samples) for count in wins))


def _walsh(difference: np.ndarray, rope: float) -> tuple[np.ndarray, np.ndarray]:
    """Return which pairs of differences have a mean above, and which below, the region of equivalence."""
    # Rounded, so that a difference that equals the bound but for rounding lies within.
    mean = np.round((difference[:, None] + difference) / 2.0, 12)
    return (mean > rope).astype(np.float64), (mean < -rope).astype(np.float64)


def _winners(weights: np.ndarray, above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return in how many draws the first is better, both are equivalent, the second is better."""
    first = ((weights @ above) * weights).sum(axis=1)
    second = ((weights @ below) * weights).sum(axis=1)
    return np.bincount(np.argmax([first, 1.0 - first - second, second], axis=0), minlength=3).astype(np.float64)


def _table(scores: Any) -> pd.DataFrame:
    table = scores if isinstance(scores, pd.DataFrame) else pd.DataFrame(np.asarray(scores, dtype=np.float64))
    table = table.astype("float64")
    if table.shape[0] < 1 or table.shape[1] < 2:
        raise ValueError(f"`scores` has shape {table.shape}: it needs a row per data set and at least 2 methods.")
    return table


def _complete(scores: Any, what: str) -> pd.DataFrame:
    table = _table(scores)
    if len(table) < 2:
        raise ValueError(f"{what} needs at least 2 data sets, but `scores` has {len(table)} row.")
    missing = np.argwhere(table.isna().to_numpy())
    if len(missing):
        row, column = missing[0].tolist()
        raise ValueError(
            f"{what} needs a score of every method on every data set, but {table.columns[column]!r} has none on "
            f"{table.index[row]!r}. Try scores.dropna(axis=0) or scores.dropna(axis=1)."
        )
    return table
