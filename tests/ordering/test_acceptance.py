"""Whether to accept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.base import clone

from montechain.ordering.acceptance import ACCEPTANCES, Metropolis, NotWorse, Strict, check_acceptance

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("candidate", "current", "tolerance", "strict", "not_worse"),
    [
        (2.0, 1.0, 0.0, True, True),
        (1.0, 1.0, 0.0, False, True),
        (np.nextafter(1.0, 2.0), 1.0, 0.0, True, True),
        (np.nextafter(1.0, 0.0), 1.0, 0.0, False, False),
        # Payoffs are logarithms as often as not: the tolerance is a share of the size.
        (-99.95, -100.0, 1e-3, False, True),
        (-100.05, -100.0, 1e-3, False, True),
        (-99.85, -100.0, 1e-3, True, True),
        (-100.15, -100.0, 1e-3, False, False),
        (0.0, 0.0, 1e-3, False, True),
        (1e-9, 0.0, 1e-3, True, True),
        # A product of probabilities may be zero, and a scorer may fail.
        (-1.0, -INF, 0.0, True, True),
        (-1.0, -INF, 1e-3, True, True),
        (-INF, -1.0, 1e-3, False, False),
        (-INF, -INF, 1e-3, False, True),
        (NAN, -1.0, 0.0, False, False),
        (-1.0, NAN, 1e-3, True, True),
    ],
)
def test_rules(candidate, current, tolerance, strict, not_worse):
    rng = np.random.default_rng(0)
    assert Strict().accept(candidate, current, rng, tolerance) is strict
    assert NotWorse().accept(candidate, current, rng, tolerance) is not_worse
    if not_worse:
        assert Metropolis(temperature=1e-300).accept(candidate, current, rng, tolerance) is True


def test_only_metropolis_draws_one_number_and_always():
    for candidate in (0.0, 1.0, 2.0, -INF, NAN):
        for rule, n_draws in ((Strict(), 0), (NotWorse(), 0), (Metropolis(), 1)):
            rng, expected = np.random.default_rng(0), np.random.default_rng(0)
            rule.accept(candidate, 1.0, rng)
            expected.random(n_draws)
            assert rng.random() == expected.random()


@pytest.mark.parametrize("temperature", [0.3, 1.0, 5])
@pytest.mark.parametrize("loss", [0.05, 0.5, 2.0])
def test_metropolis_accepts_losses_as_often_as_it_should(temperature, loss):
    rng, rule, n_draws = np.random.default_rng(1), Metropolis(temperature=temperature), 20_000
    accepted = sum(rule.accept(-10.0 - loss, -10.0, rng) for _ in range(n_draws))
    assert binomtest(accepted, n_draws, math.exp(-loss / temperature)).pvalue > 0.001


def test_metropolis_accepts_ties_and_gains_and_never_the_impossible():
    rng, rule = np.random.default_rng(2), Metropolis(temperature=0.001)
    for candidate, tolerance in ((-10.0, 0.0), (-9.0, 0.0), (-10.5, 0.1)):
        assert all(rule.accept(candidate, -10.0, rng, tolerance) for _ in range(200))
    assert not any(Metropolis(temperature=1e6).accept(-INF, -10.0, rng) for _ in range(200))


def test_rules_by_name():
    for name, kind in ACCEPTANCES.items():
        assert type(check_acceptance(name)) is kind
        assert clone(kind()).get_params() == kind().get_params()
    rule = Metropolis(temperature=2.0)
    assert check_acceptance(rule) is rule


@pytest.mark.parametrize(
    ("acceptance", "hint"), [("strikt", "; did you mean 'strict'?"), ("zzz", "."), (None, "."), (Strict, ".")]
)
def test_unknown_rules(acceptance, hint):
    with pytest.raises(ValueError, match="is not known") as error:
        check_acceptance(acceptance)
    assert f"is not known{hint} Allowed are 'strict', 'not_worse', 'metropolis'" in str(error.value)


@pytest.mark.parametrize("temperature", [0, -1.0, INF, NAN, True, None, "1"])
def test_bad_temperature(temperature):
    with pytest.raises(ValueError, match=r"`temperature=.*` of Metropolis must be a positive number, e.g."):
        Metropolis(temperature=temperature).accept(0.0, 1.0, np.random.default_rng(0))
