"""Classifiers whose model is made of learned links: what goes to the links' own fit."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from montechain._compat import check_sample_weight
from montechain.estimators.base import JointClassifier
from montechain.links import EstimatorLink, LinkLearner, check_estimator

__all__ = ["LinkedClassifier"]


class LinkedClassifier(JointClassifier):
    """Base class of classifiers with a parameter `estimator` that says how a link is learned."""

    estimator: Any

    def _learner(self, seed: int) -> LinkLearner:
        """Return what learns the links, for the classes of y."""
        return check_estimator(self.estimator, random_state=seed).for_classes(self.codec_.classes)

    def _check_choices(self) -> None:
        check_estimator(self.estimator)

    def _takes(self) -> tuple[bool, bool]:
        learner = check_estimator(self.estimator)
        if not isinstance(learner, EstimatorLink):
            return False, False
        return True, get_tags(learner.estimator).input_tags.allow_nan

    def _fit_options(self, X: Any, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the weights and, for classifiers, any metadata asked for."""
        learner = check_estimator(self.estimator)
        if get_config()["enable_metadata_routing"] and isinstance(learner, EstimatorLink):
            given = fit_params if sample_weight is None else {**fit_params, "sample_weight": sample_weight}
            routed = dict(process_routing(self, "fit", **given)["estimator"]["fit"]) if given else {}
            if routed.get("sample_weight") is not None:
                routed["sample_weight"] = check_sample_weight(routed["sample_weight"], X)
            return routed
        if sample_weight is None:
            return fit_params
        if isinstance(learner, EstimatorLink) and not has_fit_parameter(learner.estimator, "sample_weight"):
            raise TypeError(
                f"`sample_weight` was given, but {type(learner.estimator).__name__}.fit does not take it. Leave it "
                "out, or use an estimator that does, such as LogisticLink()."
            )
        return {**fit_params, "sample_weight": check_sample_weight(sample_weight, X)}

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata goes: see scikit-learn's guide to metadata routing."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.estimator, "get_metadata_routing"):
            router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_tags__(self):
        """Return scikit-learn's description of inputs and outputs."""
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "predict_proba"):
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags
