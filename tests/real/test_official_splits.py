"""On the published splits: scikit-learn's greedy answers, exhaustive ones, certificates and bounds."""

import itertools

import numpy as np
import pytest

from benchmarks.peers import classifier_with_links, fitted_peer, same_links, trainable_split
from montechain import ChainClassifier, Exhaustive, Greedy, MonteCarlo
from montechain.links.linear import FittedLinearLink
from tests.real_data import OFFICIAL_SPLITS


@pytest.mark.real_data
@pytest.mark.parametrize("name", OFFICIAL_SPLITS)
def test_greedy_predicts_what_scikit_learn_predicts_with_the_same_links(name, data_folder, recwarn):
    split, peer = trainable_split(name), fitted_peer(name)
    model = classifier_with_links(same_links(peer), split, inference=Greedy())
    np.testing.assert_array_equal(model.predict(split.X_test), peer.predict(split.X_test).astype(int))


@pytest.mark.real_data
def test_exhaustive_search_on_music_equals_an_independent_enumeration(data_folder, recwarn):
    split, peer = trainable_split("music"), fitted_peer("music")
    model = classifier_with_links(same_links(peer), split, inference=Exhaustive())
    best = np.full(len(split.X_test), -np.inf)
    labels = np.zeros_like(split.Y_test)
    for vector in itertools.product([0, 1], repeat=split.Y_test.shape[1]):
        log_proba = np.zeros(len(split.X_test))
        for k, estimator in enumerate(peer.estimators_):
            inputs = np.hstack([split.X_test, np.tile(vector[:k], (len(split.X_test), 1))])
            log_proba += estimator.predict_log_proba(inputs)[:, vector[k]]
        labels[log_proba > best] = vector
        best = np.maximum(best, log_proba)
    np.testing.assert_array_equal(model.predict(split.X_test), labels)
    assert model.score(split.X_test, split.Y_test) == (labels == split.Y_test).all(axis=1).mean()
    exact = classifier_with_links(same_links(peer), split).decide(split.X_test)
    np.testing.assert_allclose(exact.log_proba, best, atol=1e-9)
    assert exact.certified.all()


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["yeast", "scene", "enron", "medical", "tmc2007"])
def test_every_row_is_certified(name, data_folder):
    split = trainable_split(name)
    model = ChainClassifier(random_state=0).fit(split.X_train, split.Y_train)
    assert all(isinstance(link, FittedLinearLink) for link in model.chain_.links)
    decision = model.decide(split.X_test)
    assert decision.certified.all()
    sampled = model.set_params(inference=MonteCarlo(n_samples=100)).decide(split.X_test)
    assert (sampled.log_proba <= decision.log_proba + 1e-9).all()
    assert (np.abs(sampled.log_proba - decision.log_proba) < 1e-9).mean() > 0.9
    assert (sampled.upper_bound >= decision.log_proba - 1e-9).all()
