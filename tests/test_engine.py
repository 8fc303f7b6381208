"""Coarse work goes where `joblib.parallel_config` says, and gives the same results there."""

import os

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.tree import DecisionTreeClassifier

from montechain import ChainClassifier, SVMLink
from montechain._threads import count_threads, run_tasks


def process(task, *shared):
    return os.getpid(), task, sum(own.sum() for own in shared)


def test_tasks_go_to_the_cluster_and_large_inputs_only_once(client):
    large = np.ones(50_000)
    assert {pid for pid, _, _ in run_tasks(process, range(4), 2, large)} == {os.getpid()}
    with joblib.parallel_config(backend="dask"):
        for _ in range(2):
            found = run_tasks(process, range(6), None, large)
            assert [(task, total) for _, task, total in found] == [(task, 50_000.0) for task in range(6)]
            assert os.getpid() not in {pid for pid, _, _ in found}
            held = [key for keys in client.has_what().values() for key in keys if "ndarray" in str(key)]
            assert len(set(held)) == 1
        assert count_threads(None) <= joblib.cpu_count()
        assert {pid for pid, _, _ in run_tasks(process, range(4), 1, large)} == {os.getpid()}


def nested(task):
    return count_threads(4)


def test_tasks_elsewhere_have_one_thread(client):
    with joblib.parallel_config(backend="dask"):
        assert run_tasks(nested, range(2), None) == [1, 1]
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert run_tasks(nested, range(2), None) == [1, 1]


@pytest.mark.parametrize("estimator", [SVMLink(), DecisionTreeClassifier(max_depth=3)], ids=["svm", "tree"])
def test_links_are_the_same_on_a_cluster(client, estimator):
    X, Y = make_multilabel_classification(n_samples=120, n_features=8, n_classes=3, random_state=0)
    here = ChainClassifier(estimator, random_state=0).fit(X, Y)
    with joblib.parallel_config(backend="dask"):
        there = ChainClassifier(estimator, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(here.predict(X), there.predict(X))
