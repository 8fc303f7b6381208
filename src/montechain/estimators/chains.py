"""The face that one chain and a population of chains have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter

from montechain._targets import decode
from montechain.estimators.base import TargetsClassifier, concatenate, map_chunks
from montechain.estimators.progress import CallbackSupportMixin, with_callbacks
from montechain.inference import Decision, TopK, check_inference
from montechain.inference.branch_and_bound import ROWS_AT_ONCE, blocks
from montechain.links import EstimatorLink, LinkLearner, check_estimator
from montechain.links.base import UNKNOWN
from montechain.losses import LabelDistribution, Loss, check_loss
from montechain.ordering import OrderFinder, OrderSearch, SearchResult, search_progress

__all__ = ["ChainsClassifier"]

CHUNK_CELLS = 2**21
"""About so many numbers (scores, labels) are held at a time while predicting."""
MIN_CHUNK_ROWS = 64
GENERIC_CHUNK_ROWS = 2048
"""At most so many rows at a time where links are not label-linear: each may have thousands of open prefixes."""
SAMPLING_RESIDUAL = 1e-3
"""Mass that may be left out when label vectors are drawn given some of the labels."""


class ChainsClassifier(CallbackSupportMixin, TargetsClassifier):
    """Base class of `ChainClassifier` and `ChainPopulationClassifier`.

    A subclass learns its chains (`_learn`) and answers for some rows in codes, one column per label
    (`_decide_rows` and its kin). Checking, chunks of rows, and the user's classes are dealt with here.
    """

    estimator: Any
    order: Any
    parents: Any
    inference: Any
    loss: Any
    n_jobs: int | None
    verbose: bool

    # -- the public face ----------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Learn from X and y.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
        y : array, sparse container or data frame of shape (n, L), or array of shape (n,)
            Classes of any kind, column by column; NaN and None where a label is not known.
        sample_weight : array of shape (n,), optional
        **fit_params
            Passed on to the classifier's `fit`, by metadata routing if that is enabled.
        """
        with self._unchanged_on_failure():
            seed = self._seed()
            learner = check_estimator(self.estimator, random_state=seed)
            X = self._check_inputs(X, learner, reset=True)
            codes = self._learn_classes(y, X.shape[0])
            check_inference(self.inference)
            self._bound_loss(np.arange(codes.shape[1]))
            options = self._fit_options(X, learner, sample_weight, fit_params)
            self._learn(learner.for_classes(self._classes), X, codes, seed, options)
        return self

    def predict(self, X: Any, *, given: Any = None) -> Any:
        """Return the label vectors of least expected loss.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
        given : array or data frame of shape (n, L), optional
            Labels known beforehand, NaN or None elsewhere: the best completion is returned. A data
            frame may hold some of the targets only.

        Returns
        -------
        ndarray of shape (n, L) in y's own classes, a data frame if y was one, (n,) if y was one-dimensional
        """
        return self.decide(X, given=given).labels

    def decide(self, X: Any, *, given: Any = None) -> Decision:
        """Return the predictions with what is proven about them.

        Parameters
        ----------
        X, given
            As in `predict`.

        Returns
        -------
        Decision
            With `labels` as `predict` returns them, their log-probability, an upper bound on that of
            any label vector, the expected loss, a bound on the regret, and which rows are certified.
        """
        checked, known, seed = self._prepare(X, given)

        def one(rows: Any, known: np.ndarray | None, start: int) -> Decision:
            return self._decide_rows(rows, known, np.random.default_rng(seed))

        decision = self._map(one, checked, known)
        return replace(decision, labels=self._decode(decision.labels, X))

    def predict_proba(self, X: Any, *, given: Any = None) -> Any:
        """Return the marginal probabilities p(label | x, what is given) of each label.

        They are exact where the labels have few combinations; else within the `residual` of the
        strategy, 0.01 by default (``BranchAndBound(residual=0.001)`` makes it smaller).

        Parameters
        ----------
        X, given
            As in `predict`.

        Returns
        -------
        list of L ndarrays of shape (n, K), or one ndarray if y was one-dimensional
        """
        checked, known, seed = self._prepare(X, given)

        def one(rows: Any, known: np.ndarray | None, start: int) -> list[np.ndarray]:
            return self._marginals_of_rows(rows, known, np.random.default_rng(seed))

        marginals = self._map(one, checked, known)
        return marginals[0] if self._target_format.is_1d else marginals

    def predict_top_k(self, X: Any, k: int = 5, *, given: Any = None) -> TopK:
        """Return the k most probable label vectors of each row, best first.

        Parameters
        ----------
        X, given
            As in `predict`.
        k : int, default=5

        Returns
        -------
        TopK
            With `labels` of shape (n, k, L), `log_proba` and `proba` of shape (n, k), and `certified`.
            There are fewer than k if the labels have fewer combinations. In rows where fewer agree
            with what is given, None and a probability of zero stand at the end.
        """
        checked, known, _ = self._prepare(X, given)

        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"`k={k!r}` must be a positive whole number, e.g. k=5.")

        def one(rows: Any, known: np.ndarray | None, start: int) -> TopK:
            return self._top_k_of_rows(rows, k, known)

        top = self._map(one, checked, known, width=int(k))
        return replace(top, labels=self._decode_many(top.labels))

    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """Return log p(y | x) of one label vector per row.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
        y : array or data frame of shape (n, L)
            Where a label is unknown, the probability of the known ones is returned.
        """
        checked, _, seed = self._prepare(X, None)
        codes = self._encode(y, checked.shape[0])

        def one(rows: Any, codes: np.ndarray, start: int) -> np.ndarray:
            return self._log_joint_of_rows(rows, codes, np.random.default_rng(seed))

        return self._map(one, checked, codes)

    def sample(self, X: Any, n_samples: int = 100, *, given: Any = None) -> np.ndarray:
        """Draw label vectors from p(y | x), or from p(y | x, given).

        With labels given, the label vectors that agree with them are enumerated until at most a
        thousandth of their mass is left, and the draws are made from these.

        Parameters
        ----------
        X, given
            As in `predict`.
        n_samples : int, default=100

        Returns
        -------
        ndarray of shape (n, n_samples, L)
        """
        checked, known, seed = self._prepare(X, given)
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"`n_samples={n_samples!r}` must be a positive whole number, e.g. n_samples=100.")

        def one(rows: Any, known: np.ndarray | None, start: int) -> np.ndarray:
            # Rows must be independent of each other: each chunk has draws of its own.
            rng = np.random.default_rng([seed, start])
            if known is None:
                return self._sample_of_rows(rows, n_samples, rng)
            uniforms = rng.random((rows.shape[0], n_samples))
            # A row can have as many vectors as the enumeration has nodes, so only some rows are held at a time.
            parts = [
                self._distribution_of_rows(_safe_indexing(rows, block), known[block], rng).draw(uniforms[block])
                for block in blocks(rows.shape[0], ROWS_AT_ONCE)
            ]
            return np.concatenate(parts)

        return self._decode_many(self._map(one, checked, known, width=n_samples))

    # -- what a subclass supplies: everything in codes, one column per label ------------------

    @abstractmethod
    def _learn(self, learner: LinkLearner, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        """Learn the chains and set the fitted attributes."""

    @abstractmethod
    def _decide_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> Decision: ...

    @abstractmethod
    def _marginals_of_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]: ...

    @abstractmethod
    def _top_k_of_rows(self, rows: Any, k: int, known: np.ndarray | None) -> TopK: ...

    @abstractmethod
    def _log_joint_of_rows(self, rows: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray: ...

    @abstractmethod
    def _sample_of_rows(self, rows: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray: ...

    @abstractmethod
    def _distribution_of_rows(self, rows: Any, known: np.ndarray, rng: np.random.Generator) -> LabelDistribution:
        """Return the label vectors that agree with what is known, but for `SAMPLING_RESIDUAL` of their mass."""

    @property
    @abstractmethod
    def _n_scores(self) -> int:
        """How many scores a row has under all chains; 0 if they are not label-linear."""

    # -- helpers ------------------------------------------------------------------------------

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

    def _bound_loss(self, order: Any) -> Loss:
        return check_loss(self.loss, classes=self._classes, order=order)

    def _check_inputs(self, X: Any, learner: Any, *, reset: bool) -> Any:
        of_classifier = isinstance(learner, EstimatorLink)
        allow_nan = of_classifier and get_tags(learner.estimator).input_tags.allow_nan
        return self._check_X(X, reset=reset, keep_frames=of_classifier, allow_nan=allow_nan)

    def _fit_options(self, X: Any, learner: Any, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return what goes to the links' own fit: the weights, and for classifiers any metadata asked for."""
        if get_config()["enable_metadata_routing"] and isinstance(learner, EstimatorLink):
            given = fit_params if sample_weight is None else {**fit_params, "sample_weight": sample_weight}
            routed = dict(process_routing(self, "fit", **given)["estimator"]["fit"]) if given else {}
            if routed.get("sample_weight") is not None:
                routed["sample_weight"] = _check_sample_weight(routed["sample_weight"], X)
            return routed
        if sample_weight is None:
            return fit_params
        if isinstance(learner, EstimatorLink) and not has_fit_parameter(learner.estimator, "sample_weight"):
            raise TypeError(
                f"`sample_weight` was given, but {type(learner.estimator).__name__}.fit does not take it. Leave it "
                "out, or use an estimator that does, such as LogisticLink()."
            )
        return {**fit_params, "sample_weight": _check_sample_weight(sample_weight, X)}

    def _prepare(self, X: Any, given: Any) -> tuple[Any, np.ndarray | None, int]:
        """Return X checked, the codes of what is known, and a seed."""
        check_is_fitted(self)
        checked = self._check_inputs(X, check_estimator(self.estimator), reset=False)
        return checked, self._encode_given(given, checked.shape[0]), self._seed()

    def _map(self, function: Callable, X: Any, known: np.ndarray | None, width: int = 1) -> Any:
        """Apply `function` to chunks of rows small enough for memory, and join the results."""
        cells = len(self._classes) * width + (self._n_scores or X.shape[1])
        n_rows_each = max(CHUNK_CELLS // cells, MIN_CHUNK_ROWS)
        if not self._n_scores:
            n_rows_each = min(n_rows_each, GENERIC_CHUNK_ROWS)
        return concatenate(map_chunks(function, X, known, n_rows_each=n_rows_each, n_jobs=self.n_jobs))

    def _decode_many(self, labels: np.ndarray) -> np.ndarray:
        """Return several vectors per row, of shape (n, S, L), in the user's classes."""
        vectors = decode(np.maximum(labels, 0).reshape(-1, labels.shape[-1]), self._classes).reshape(labels.shape)
        missing = labels == UNKNOWN  # fewer than k vectors agree with what is known
        if missing.any():
            vectors = vectors.astype(object)
            vectors[missing] = None
        return vectors

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata goes: see scikit-learn's guide to metadata routing."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.estimator, "get_metadata_routing"):
            router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_tags__(self):
        """Return scikit-learn's description of what this takes and gives."""
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "predict_proba"):
            of_estimator = get_tags(self.estimator).input_tags
            tags.input_tags.sparse = of_estimator.sparse
            tags.input_tags.allow_nan = of_estimator.allow_nan
        return tags
