"""Learning p(y_k | x, parents)."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_regressor

from montechain._messages import by_name
from montechain.links.base import FittedLink, LinkLearner, LinkProblem
from montechain.links.estimator import EstimatorLink
from montechain.links.linear import FittedLinearLink
from montechain.links.logistic import LogisticLink
from montechain.links.svm import SVMLink

__all__ = ["EstimatorLink", "FittedLinearLink", "FittedLink", "LinkLearner", "LinkProblem", "LogisticLink", "SVMLink"]

LEARNERS: dict[str, type[LinkLearner]] = {"logistic": LogisticLink, "svm": SVMLink}


def check_estimator(estimator: Any, *, random_state: int | None = None) -> LinkLearner:
    """Return what learns the links: a learner itself or by name, or a classifier, which must have `predict_proba`.

    None is `LogisticLink()`. Classifiers that ask for a seed and have none get one made from `random_state`.
    """
    if estimator is None:
        return LogisticLink()
    if isinstance(estimator, LinkLearner | str | type):
        return by_name("estimator", estimator, LinkLearner, LEARNERS, "a classifier with `predict_proba`")
    if not hasattr(estimator, "fit") or is_regressor(estimator):
        what = "is a regressor" if hasattr(estimator, "fit") else f"is of type {type(estimator).__name__}"
        raise TypeError(f"`estimator={estimator!r}` {what}. Give None or a classifier with `predict_proba`.")
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"`estimator={estimator!r}` has no `predict_proba`, which a probabilistic chain needs. Wrap it as "
            f"CalibratedClassifierCV({type(estimator).__name__}(...), ensemble=False), use SVMLink() for a linear "
            "support vector machine, or take a classifier that has one."
        )
    return EstimatorLink(estimator, random_state=random_state)
