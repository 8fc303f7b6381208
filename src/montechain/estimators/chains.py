"""What one chain and a population of chains have in common."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from montechain.estimators.joint import JointClassifier
from montechain.inference import Decision, check_inference
from montechain.links import LinkLearner
from montechain.ordering import OrderFinder, OrderSearch, SearchResult, search_progress

__all__ = ["ChainsClassifier"]

SAMPLING_RESIDUAL = 1e-3
"""Mass that may be left out when label vectors are drawn given some of the labels."""

EVIDENCE_RESIDUAL = 1e-3
"""Relative error allowed in the probability of the given labels, by which `decide` divides."""


class ChainsClassifier(JointClassifier):
    """Base class of `ChainClassifier` and `ChainPopulationClassifier`: their joint distribution is that of chains."""

    order: Any
    parents: Any
    inference: Any

    @abstractmethod
    def _evidence_of_rows(
        self, rows: Any, known: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log p(known labels | x) and its relative error."""

    def _relative_to_given(self, decision: Decision, rows: Any, known: np.ndarray) -> Decision:
        if not self._bound_loss(np.arange(len(self._classes))).is_exact_match:
            return decision
        return decision.relative_to(*self._evidence_of_rows(rows, known, np.random.default_rng(0)))

    @property
    def _is_sampling(self) -> bool:  # type: ignore[override]
        return check_inference(self.inference).is_sampling

    def _check_choices(self) -> None:
        check_inference(self.inference)

    def _search_orders(
        self, finder: OrderFinder, learner: LinkLearner, X: Any, codes: np.ndarray, start: Any, seed: int, options: Any
    ) -> SearchResult:
        """Return the orders that the finder finds on these rows, and set `search_trace_`."""
        fit_params = {key: value for key, value in options.items() if key != "sample_weight"}
        evaluator = finder.evaluator(
            learner, X, codes, [len(classes) for classes in self._classes],
            parents=self.parents, inference=self.inference, loss=self.loss, classes=self._classes,
            names=self._target_format.names, start=start, sample_weight=options.get("sample_weight"), seed=seed,
            n_jobs=self.n_jobs, fit_params=fit_params,
        )  # fmt: skip
        rng = np.random.default_rng([seed, 1])
        if isinstance(finder, OrderSearch):
            with search_progress(finder.n_steps) if self.verbose else nullcontext() as on_step:
                result = finder.find(evaluator, start=tuple(start), rng=rng, on_step=on_step)
        else:
            result = finder.find(evaluator, start=tuple(start), rng=rng)
        if result.logarithmic is None:
            result = replace(result, logarithmic=evaluator.is_logarithmic)
        self.search_trace_ = result.trace
        return result
