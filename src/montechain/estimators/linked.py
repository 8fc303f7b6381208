"""Classifiers whose model is made of learned links: what goes to the links' own fit, and progress."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter

from montechain._compat import check_sample_weight
from montechain._compilation import watch_compilation
from montechain.estimators.base import JointClassifier
from montechain.estimators.checks import fit_options, route_to
from montechain.links import EstimatorLink, LinkLearner, check_estimator


@dataclass(eq=False, repr=False)
class LinkedClassifier(JointClassifier):
    """Base class of classifiers with a parameter `estimator` that says how a link is learned."""

    estimator: Any = None
    _: KW_ONLY
    loss: Any = "exact_match"
    n_jobs: int | None = None
    random_state: Any = None

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
        """Return the weights and, for classifiers, the metadata that they request."""
        within = getattr(check_estimator(self.estimator), "estimator", None)
        options = fit_options(self, "estimator", within, sample_weight, fit_params)
        if options.get("sample_weight") is not None:
            options = {**options, "sample_weight": check_sample_weight(options["sample_weight"], X)}
        return options

    @contextmanager
    def _reported(self, step: str) -> Iterator[None]:
        """With `verbose`, print the time that a step took, without the compilation of kernels."""
        started = time.perf_counter()
        with watch_compilation() as compilation:
            yield
        if self.verbose:
            print(f"[{type(self).__name__}] {step} in {time.perf_counter() - started - compilation.seconds:.1f} s")

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata goes: see scikit-learn's guide to metadata routing."""
        return route_to(self, "estimator")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "predict_proba"):
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags
