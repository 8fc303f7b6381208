"""Compile every kernel once, for example when a container image is built."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import scipy.sparse as sp

from montechain._compilation import watch_compilation
from montechain.estimators import ChainClassifier, ChainPopulationClassifier, DependencyNetworkClassifier
from montechain.label_forest import LabelForest
from montechain.links import LogisticLink, SVMLink
from montechain.links.linear import FittedLinearLink
from montechain.losses import F1, Jaccard
from montechain.population.pool import candidate_log_proba


def warm_up() -> float:
    """Compile all kernels, or load them from the cache, by fitting and querying small models.

    Returns the seconds spent compiling: zero if everything was in the cache.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    binary = (X[:, :3] + rng.normal(size=(60, 3)) > 0.0).astype(int)
    several = binary.copy()
    several[:, 0] += binary[:, 1]
    with watch_compilation() as compilation, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for link, inputs, Y in product((LogisticLink(), SVMLink()), (X, sp.csr_matrix(X)), (binary, several)):
            ChainClassifier(link, random_state=0).fit(inputs, Y).predict(inputs)
        # Larger problems are learned in single precision first.
        many = rng.normal(size=(1200, 60))
        for inputs in (many, sp.csr_matrix(np.maximum(many, 0.0))):
            ChainClassifier(random_state=0).fit(inputs, (many[:, :2] > rng.normal(size=(1200, 2))).astype(int))
        for Y in (binary, several):
            known = np.where(rng.random(Y.shape) < 0.3, Y.astype(float), np.nan)
            for inference in ("greedy", "exhaustive", "beam", "epsilon_approximate", "monte_carlo"):
                ChainClassifier(inference=inference, random_state=0).fit(X, Y).predict(X)
            losses = "hamming", F1(negative=0), Jaccard(negative=0)
            for loss, inference in product(losses, ("exhaustive", "monte_carlo", "branch_and_bound")):
                ChainClassifier(inference=inference, loss=loss, random_state=0).fit(X, Y).predict(X)
            chain = ChainClassifier(random_state=0).fit(X, Y)
            chain.predict_proba(X)
            chain.predict_proba(X, given=known)
            chain.predict_top_k(X, k=2)
            chain.log_joint(X, Y)
            chain.sample(X, n_samples=2)
            ChainClassifier(parents="tree", random_state=0).fit(X, Y).predict_proba(X)
            DependencyNetworkClassifier(random_state=0).fit(X, Y).predict(X)
            population = ChainPopulationClassifier(n_chains=2, random_state=0).fit(X, Y)
            for combine in ("mixture", "algorithm-4"):
                population.set_params(combine=combine).predict(X)
            population.predict_proba(X, given=known)
            forest, _ = LabelForest.grow(X, Y, np.arange(len(X)), n_trees=1)
            forest.shares(X)
            candidate_log_proba(chain.chain_, X, Y.astype(np.int32), np.zeros((len(X), 1), dtype=np.int64))
        fitted = FittedLinearLink(2, np.ones((4, 1)), np.zeros(1))
        fitted.log_proba(X, np.empty((len(X), 0), dtype=np.int32))
    return compilation.seconds
