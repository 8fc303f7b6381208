"""Tests of significance, against published examples, scipy, statsmodels and slow formulas."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from montechain.experiments import statistics
from montechain.experiments.statistics import (
    average_ranks,
    bayesian_signed_rank,
    critical_difference,
    friedman,
    holm,
    nemenyi,
    nemenyi_from_ranks,
    pairwise_wilcoxon,
    ranks,
)

# Table 6 of Demšar (2006): AUC of four variants of C4.5 on fourteen data sets. On the last but one, cf and m+cf are
# both printed as 0.975, with ranks 2 and 3: the ranks are of more digits than are printed.
DEMSAR = pd.DataFrame(
    [
        [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
    ],
    columns=["C4.5", "m", "cf", "m+cf"],
)  # fmt: skip

# Average ranks of Read et al.: nine methods on eleven data sets.
READ_EXACT_MATCH = {
    "IC": 6.91, "CC": 4.82, "PCC": 4.00, "ECC": 5.55, "CDN": 6.91, "MCC": 3.45, "MsCC": 3.45, "PMsCC": 2.73,
    "PtMsCC": 2.82,
}  # fmt: skip
READ_HAMMING = {
    "IC": 4.00, "CC": 4.18, "PCC": 3.83, "ECC": 4.09, "CDN": 7.18, "MCC": 3.45, "MsCC": 4.36, "PMsCC": 2.82,
    "PtMsCC": 3.00,
}  # fmt: skip

tables = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).integers(0, 9, size=np.random.default_rng(seed).integers(2, 9, 2)) / 8.0
)


def test_the_example_of_demsar():
    mean = average_ranks(DEMSAR)
    assert mean.round(3).to_dict() == {"C4.5": 3.143, "m": 2.0, "cf": 2.893, "m+cf": 1.964}
    result = friedman(DEMSAR)
    assert result.statistic == pytest.approx(9.28, abs=0.005)
    assert result.f_statistic == pytest.approx(3.69, abs=0.005)
    assert result.f_p_value < 0.05
    assert critical_difference(4, 14, alpha=0.05) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, alpha=0.10) == pytest.approx(1.12, abs=0.005)
    # "C4.5 performs significantly worse than C4.5+m and C4.5+m+cf" at 0.10; nothing is told at 0.05.
    assert set(nemenyi(DEMSAR, alpha=0.10).significant) == {("m", "C4.5"), ("m+cf", "C4.5")}
    assert nemenyi(DEMSAR, alpha=0.05).significant == []
    assert nemenyi(DEMSAR, alpha=0.05).groups == [("m+cf", "m", "cf", "C4.5")]


def test_the_significance_printed_by_read_is_found_from_the_ranks_that_they_print():
    found = nemenyi_from_ranks(READ_EXACT_MATCH, 11)
    expected = set(itertools.product(["MCC", "MsCC", "PMsCC", "PtMsCC"], ["IC", "CDN"]))
    assert set(found.significant) == expected
    hamming = nemenyi_from_ranks(READ_HAMMING, 11)
    assert set(hamming.significant) == {(method, "CDN") for method in ("PCC", "MCC", "PMsCC", "PtMsCC")}


@given(tables)
def test_friedman_agrees_with_scipy(scores):
    if scores.shape[1] < 3 or (scores == scores[:, :1]).all():
        return
    expected = stats.friedmanchisquare(*scores.T)
    for greater in (True, False):
        found = friedman(scores, greater_is_better=greater, tie_correction=True)
        assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
        assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.10])
def test_critical_values_are_those_of_the_printed_table(alpha):
    """Table 5 of Demšar: q for two to ten classifiers."""
    printed = {
        0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
        0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
    }[alpha]
    for k, q in enumerate(printed, start=2):
        assert critical_difference(k, 20, alpha) / math.sqrt(k * (k + 1) / 120.0) == pytest.approx(q, abs=0.0011)


@given(tables)
def test_ranks_agree_with_scipy(scores):
    if scores.shape[1] < 2:
        return
    for ties in ("average", "min"):
        assert np.array_equal(ranks(scores, ties=ties), stats.rankdata(-scores, method=ties, axis=1))
        assert np.array_equal(
            ranks(scores, ties=ties, greater_is_better=False), stats.rankdata(scores, method=ties, axis=1)
        )


def test_methods_that_did_not_finish_have_no_rank():
    scores = pd.DataFrame({"A": [0.5, 0.4], "B": [0.6, None], "C": [0.1, 0.3]}, index=["one", "two"])
    assert average_ranks(scores).to_dict() == {"A": 1.5, "B": 1.0, "C": 2.5}
    with pytest.raises(ValueError, match=r"'B' has none on 'two'. Try scores.dropna"):
        friedman(scores)
    with pytest.raises(ValueError, match="leave it out"):
        nemenyi_from_ranks({"A": 1.0, "B": None}, 5)


def test_nemenyi_p_values_are_consistent_with_the_critical_difference():
    for seed in range(5):
        scores = np.random.default_rng(seed).normal([2, 1.5, 1, 0, 0], 1.0, (15, 5))
        found = nemenyi(scores, alpha=0.10)
        below = {(a, b) for a, b in itertools.permutations(range(5), 2) if found.p_values.loc[a, b] < 0.10}
        assert below == set(found.significant) | {(b, a) for a, b in found.significant}


def test_groups_are_the_largest_sets_of_methods_that_do_not_differ():
    found = nemenyi_from_ranks({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.5, "e": 8.0}, 12, alpha=0.10)
    assert 1.5 < found.critical_difference < 2.0
    assert found.groups == [("a", "b"), ("b", "c"), ("c", "d")]
    differing = {frozenset(pair) for pair in found.significant}
    for group in found.groups:
        assert not differing & {frozenset(pair) for pair in itertools.combinations(group, 2)}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_with_its_definition(p_values):
    """The i-th smallest of m is multiplied by m - i + 1, and is at least what smaller ones became."""
    m, ordered = len(p_values), sorted(p_values)
    adjusted = [min(1.0, max((m - j) * ordered[j] for j in range(i + 1))) for i in range(m)]
    found = holm(p_values)
    assert sorted(found) == pytest.approx(adjusted)
    assert [found[i] for i in np.argsort(p_values, kind="stable")] == pytest.approx(adjusted)


def test_holm_agrees_with_statsmodels():
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    for seed in range(5):
        p_values = np.random.default_rng(seed).random(8) ** 3
        assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_wilcoxon_is_that_of_scipy_for_each_pair():
    scores = pd.DataFrame(np.random.default_rng(0).normal([0.3, 0.0, 0.1], 0.3, (14, 3)), columns=list("ABC"))
    found = pairwise_wilcoxon(scores)
    for row in found.to_dict("records"):
        expected = stats.wilcoxon(scores[row["first"]], scores[row["second"]])
        assert row["p_value"] == pytest.approx(expected.pvalue)
        assert row["statistic"] == pytest.approx(expected.statistic)
    assert found["p_holm"].to_numpy() == pytest.approx(holm(found["p_value"]))
    reverse = pairwise_wilcoxon(scores, greater_is_better=False)
    assert reverse["p_value"].to_numpy() == pytest.approx(found["p_value"].to_numpy())
    assert (reverse["better"] != found["better"]).all()


def test_wilcoxon_of_equal_methods_and_of_gaps():
    scores = pd.DataFrame({"A": [0.5, 0.6, 0.7, 0.8], "B": [0.5, 0.6, 0.7, 0.8], "C": [0.1, None, 0.2, 0.9]})
    found = pairwise_wilcoxon(scores).set_index(["first", "second"])
    assert found.loc[("A", "B"), "p_value"] == 1.0
    assert found.loc[("A", "B"), "better"] is None
    assert found.loc[("A", "C"), "n_datasets"] == 3


def test_bayesian_test_counts_draws_as_the_definition_says():
    """The same draws, pair by pair."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.02, 0.05, 9), np.zeros(9)
    z, rope, n = [0.0, *(a - b)], 0.01, 300
    draws = np.random.default_rng(5).dirichlet([0.5, *[1.0] * 9], n)
    wins = [0, 0, 0]
    for w in draws:
        above = within = below = 0.0
        for i, j in itertools.product(range(10), repeat=2):
            mean = (z[i] + z[j]) / 2
            weight = w[i] * w[j]
            above += weight * (mean > rope)
            below += weight * (mean < -rope)
            within += weight * (-rope <= mean <= rope)
        wins[int(np.argmax([above, within, below]))] += 1
    found = bayesian_signed_rank(a, b, rope=rope, n_samples=n, random_state=5)
    assert (found.first_better, found.equivalent, found.second_better) == tuple(count / n for count in wins)


def test_bayesian_test_of_two_observations_by_integration():
    """With one observation beyond the region, it wins iff its weight does: a share of a beta distribution."""
    # z = (0, d), d far above: mean of (d, d) and of (0, d) lie above, only (0, 0) within: above = 1 - w0².
    found = bayesian_signed_rank([1.0], [0.0], rope=0.1, n_samples=200_000, random_state=0)
    expected = stats.beta(0.5, 1.0).cdf(math.sqrt(0.5))
    assert found.first_better == pytest.approx(expected, abs=0.005)
    assert found.second_better == 0.0
    # d slightly above the bound: the mean of (0, d) lies within, so above = w1².
    found = bayesian_signed_rank([0.15], [0.0], rope=0.1, n_samples=200_000, random_state=0)
    assert found.first_better == pytest.approx(stats.beta(1.0, 0.5).sf(math.sqrt(0.5)), abs=0.005)


def test_bayesian_test_is_fair_to_both_and_to_losses():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.5, 0.1, 20), rng.normal(0.45, 0.1, 20)
    one, other = bayesian_signed_rank(a, b), bayesian_signed_rank(b, a)
    assert (one.first_better, one.equivalent, one.second_better) == (
        other.second_better,
        other.equivalent,
        other.first_better,
    )
    assert bayesian_signed_rank(a, b, greater_is_better=False) == other
    assert bayesian_signed_rank(a, b, rope=5.0).equivalent == 1.0
    assert bayesian_signed_rank(a, a, rope=0.0).equivalent == 1.0
    assert bayesian_signed_rank(a, b) == one


def test_bad_arguments_say_what_to_type(monkeypatch):
    with pytest.raises(ValueError, match=r"`ties='mean'` is not known.* Pass 'average' or 'min'"):
        ranks([[1, 2]], ties="mean")
    with pytest.raises(ValueError, match="at least 2 methods"):
        ranks([[1], [2]])
    with pytest.raises(ValueError, match="needs at least 2 data sets"):
        friedman([[1, 2]])
    with pytest.raises(ValueError, match="alpha=2"):
        critical_difference(3, 4, alpha=2)
    with pytest.raises(ValueError, match="n_datasets=1"):
        critical_difference(3, 1)
    for arguments, options, message in (
        (([1], [1, 2]), {}, "must both have shape"),
        (([1], [np.nan]), {}, "must be finite"),
        (([1], [1]), {"rope": -1}, "rope=-1"),
        (([1], [1]), {"n_samples": 0}, "n_samples=0"),
        (([1], [1]), {"prior_strength": 0}, "prior_strength=0"),
    ):
        with pytest.raises(ValueError, match=message):
            bayesian_signed_rank(*arguments, **options)
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(ImportError, match=r'pip install "montechain\[experiments\]"'):
        statistics.nemenyi(DEMSAR)


def test_friedman_of_unanimous_methods():
    found = friedman([[3, 2, 1], [3, 2, 1], [3, 2, 1]])
    assert found.statistic == 6.0
    assert found.f_statistic == math.inf
    assert found.f_p_value == 0.0
    assert friedman(np.ones((3, 3)), tie_correction=True).statistic == 0.0
