"""Data that several tests share."""

import pytest
from sklearn.datasets import make_multilabel_classification

from tests.estimators.test_chain import make_bridges


@pytest.fixture(scope="session")
def binary():
    """Return inputs and five binary labels."""
    return make_multilabel_classification(n_samples=150, n_features=8, n_classes=5, random_state=0)


@pytest.fixture(scope="session")
def bridges():
    """Return inputs and a table of words and numbers."""
    return make_bridges()
