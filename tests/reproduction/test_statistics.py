"""Tests of significance, against published examples, scipy, scikit-posthocs and slow formulas."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scikit_posthocs import posthoc_wilcoxon
from scipy import stats

from reproduction.statistics import bayesian_signed_rank, critical_difference, nemenyi, significance, wilcoxon_holm

# Table 6 of Demšar (2006): AUC of four variants of C4.5 on fourteen data sets. On the last but one, cf and m+cf are
# both printed as 0.975, with ranks 2 and 3: the ranks are those of more digits than are printed.
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


def test_the_example_of_demsar():
    found = significance(DEMSAR, "exact_match")
    assert found["friedman"]["statistic"] == pytest.approx(9.28, abs=0.005)
    ranks = {"m+cf": 1.964, "m": 2.0, "cf": 2.893, "C4.5": 3.143}
    assert found["nemenyi"]["average_ranks"] == pytest.approx(ranks, abs=0.0005)
    # "C4.5 performs significantly worse than C4.5+m and C4.5+m+cf" at 0.10; nothing is told at 0.05.
    assert found["nemenyi"]["pairs"] == [["m+cf", "C4.5"], ["m", "C4.5"]]
    assert nemenyi(ranks, 14, alpha=0.05)["pairs"] == []
    losses = significance(1.0 - DEMSAR, "exact_match_loss")
    assert losses["nemenyi"]["average_ranks"] == pytest.approx(found["nemenyi"]["average_ranks"])


@pytest.mark.parametrize("alpha", [0.05, 0.10])
def test_critical_values_are_those_of_the_printed_table(alpha):
    """Table 5 of Demšar: q for two to ten classifiers."""
    printed = {
        0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
        0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
    }[alpha]
    for k, q in enumerate(printed, start=2):
        assert critical_difference(k, 20, alpha) / math.sqrt(k * (k + 1) / 120.0) == pytest.approx(q, abs=0.0011)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=8)  # the distribution behind the p-values takes a tenth of a second
def test_friedman_is_that_of_scipy_and_nemenyi_agrees_with_its_p_values(seed):
    rng = np.random.default_rng(seed)
    scores = pd.DataFrame(rng.normal([2, 1.5, 0], 1.0, (rng.integers(3, 15), 3)), columns=list("abc"))
    found = significance(scores, "exact_match")
    expected = stats.friedmanchisquare(*scores.to_numpy().T)  # without ties, its correction does nothing
    assert found["friedman"]["statistic"] == pytest.approx(expected.statistic)
    assert found["friedman"]["p_value"] == pytest.approx(expected.pvalue)
    p_values = found["nemenyi"]["p_values"]
    below = {frozenset(pair) for pair in itertools.combinations("abc", 2) if p_values[pair[0]][pair[1]] < 0.10}
    assert below == {frozenset(pair) for pair in found["nemenyi"]["pairs"]}


def test_wilcoxon_is_that_of_scikit_posthocs_for_each_pair():
    scores = pd.DataFrame(np.random.default_rng(0).normal([0.3, 0.0, 0.1], 0.3, (14, 3)), columns=list("ABC"))
    expected = posthoc_wilcoxon(scores.melt(), "value", "variable", p_adjust="holm")
    for row in wilcoxon_holm(scores):
        assert row["p_holm"] == pytest.approx(expected.loc[row["first"], row["second"]])
    gaps = pd.DataFrame({"A": [0.5, 0.6, 0.7, 0.8], "B": [0.5, 0.6, 0.7, 0.8], "C": [0.1, None, 0.2, 0.9]})
    same, gap, _ = wilcoxon_holm(gaps)
    assert (same["p_value"], gap["n_datasets"]) == (1.0, 3)


def test_the_bayesian_test_counts_draws_as_its_definition_says():
    """The same draws, pair by pair."""
    z, rope, n = [0.0, *np.random.default_rng(0).normal(0.02, 0.05, 9)], 0.01, 300
    wins = [0, 0, 0]
    for w in np.random.default_rng(0).dirichlet([0.5, *[1.0] * 9], n):
        masses = [0.0, 0.0, 0.0]
        for i, j in itertools.product(range(10), repeat=2):
            mean = (z[i] + z[j]) / 2
            masses[0 if mean > rope else 2 if mean < -rope else 1] += w[i] * w[j]
        wins[int(np.argmax(masses))] += 1
    assert bayesian_signed_rank(np.array(z[1:]), rope, n) == [count / n for count in wins]


def test_methods_that_did_not_finish_have_no_rank_and_too_few_data_sets_no_test():
    scores = pd.DataFrame({"CC": [0.5, 0.5, 0.4], "IC": [0.4, 0.5, 0.3], "PCC": [0.6, np.nan, 0.5]}, index=list("abc"))
    found = significance(scores, "exact_match")
    assert found["average_ranks"] == {"CC": pytest.approx(5 / 3), "IC": pytest.approx(7 / 3), "PCC": 1.0}
    assert found["friedman"]["datasets"] == ["a", "c"]
    single = significance(scores.iloc[:1], "exact_match")
    assert single["average_ranks"] == {"CC": 2.0, "IC": 3.0, "PCC": 1.0}
    assert (single["friedman"], single["nemenyi"], single["bayesian"]) == (None, None, [])
    assert significance(scores.iloc[:0], "exact_match")["average_ranks"] == {}
