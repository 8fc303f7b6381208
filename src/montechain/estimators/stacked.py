"""A mixture of joint models of any kind, weighted by held-out likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from montechain._compat import BaseComposition, check_method_params
from montechain._messages import noted
from montechain._rows import split_folds, take_rows
from montechain.estimators.base import JointClassifier
from montechain.estimators.checks import remembered
from montechain.joint import JointModel
from montechain.population import Population
from montechain.population.pool import stacking_weights
from montechain.seen_vectors import informative_rows


@dataclass(eq=False, repr=False)
class StackedMixtureClassifier(JointClassifier, BaseComposition):
    """Mix several classifiers, each weighted by how probable it makes label vectors that it has not learned from.

    The mixture p(y | x) = sum_m w_m p_m(y | x) is itself a joint distribution: its most probable label vector is found
    with a proof, and `given`, `predict_top_k`, `sample` and every loss work as for a single model.

    Parameters
    ----------
    estimators : list of (str, classifier)
        Classifiers of this library that have `log_joint`.
    cv : int or splitter, default=5
        How rows are held out.
    loss, n_jobs, random_state
        As in `ChainClassifier`.

    Attributes
    ----------
    estimators_ : list of classifiers
        Fitted to the codes of the labels, all rows.
    weights_ : ndarray of shape (M,)
        Sum to one.
    log_likelihoods_ : ndarray of shape (M,)
        Mean log-probability of held-out rows under each classifier.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier, LabelPowersetClassifier, StackedMixtureClassifier
    >>> X, Y = make_multilabel_classification(n_samples=100, n_classes=3, random_state=0)
    >>> models = [("chain", ChainClassifier(random_state=0)), ("powerset", LabelPowersetClassifier())]
    >>> mixture = StackedMixtureClassifier(models, random_state=0).fit(X, Y)
    >>> bool(mixture.decide(X).certified.all())
    True
    """

    estimators: Sequence[tuple[str, Any]]
    _: KW_ONLY
    cv: Any = 5
    loss: Any = "exact_match"
    n_jobs: int | None = None
    random_state: Any = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those of the classifiers as ``name__parameter``."""
        return self._get_params("estimators", deep=deep)

    def set_params(self, **parameters: Any) -> Any:
        """Set parameters, those of the classifiers as ``name__parameter``."""
        return self._set_params("estimators", **parameters)

    def _check_choices(self) -> None:
        pairs = self.estimators if isinstance(self.estimators, Sequence) else ()
        if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise TypeError("`estimators` must be a list of pairs, at least one: [('chain', ChainClassifier()), ...].")
        for name, model in self.estimators:
            if not isinstance(model, JointClassifier):
                raise TypeError(
                    f"`estimators`: {name!r} is a {type(model).__name__}, which has no joint distribution of this "
                    "library's kind. Use ChainClassifier(estimator=...) around it."
                )

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        X, codes, options = informative_rows(X, codes, options)
        weight = options.get("sample_weight")
        logs = np.full((len(codes), len(self.estimators)), np.nan)
        for fold, (train, rows) in enumerate(split_folds(self, codes, seed)):
            own = check_method_params(X, options, train)
            # One label vector with probability zero must not exclude a classifier.
            floor = -10.0 * np.log(2.0 * len(train) + codes.shape[1])
            for m, (name, model) in enumerate(self.estimators):
                with noted(f"It was raised by {name!r} of StackedMixtureClassifier in fold {fold}."):
                    fitted = clone(model).fit(take_rows(X, train), codes[train], **own)
                    logs[rows, m] = np.maximum(fitted.log_joint(take_rows(X, rows), codes[rows]), floor)
        held_out = ~np.isnan(logs).any(axis=1)
        weight = None if weight is None else weight[held_out]
        self.weights_ = stacking_weights(logs[held_out], sample_weight=weight)
        self.log_likelihoods_ = np.average(logs[held_out], axis=0, weights=weight)
        self.estimators_ = [clone(model).fit(X, codes, **options) for _, model in self.estimators]

    def _model(self) -> JointModel:
        sources = [self.estimators_, self.weights_]
        return remembered(self, "model", sources, lambda own: Population([model._model() for model in own[0]], own[1]))
