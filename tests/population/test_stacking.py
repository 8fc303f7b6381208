from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from montechain.population.stacking import mixture_log_proba, stacking_weights


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_weights_maximise_the_likelihood(seed, n_models):
    rng = np.random.default_rng(seed)
    logs = rng.normal(size=(40, n_models)) * 2.0
    share = rng.random(40)
    found = stacking_weights(logs, sample_weight=share)
    np.testing.assert_allclose(found.sum(), 1.0)

    def loss(values):
        weights = np.exp(values - np.logaddexp.reduce(values))
        return -(share * mixture_log_proba(logs, weights)).sum()

    best = min(
        minimize(loss, rng.normal(size=n_models), method="Nelder-Mead", options={"maxiter": 5000}).fun for _ in range(2)
    )
    assert -(share * mixture_log_proba(logs, found)).sum() <= best + 1e-3


def test_rows_that_a_model_finds_impossible():
    logs = np.array([[-np.inf, -5.0], [-1.0, -4.0], [-1.0, -4.0]])
    weights = stacking_weights(logs)
    assert 0.2 < weights[1] < 0.6
    assert np.isfinite(mixture_log_proba(logs, weights)).all()
