"""The face that all classifiers made of learned links have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter

from montechain.errors import NonFiniteError
from montechain.estimators.base import TargetsClassifier, is_finite, map_chunks, remembered
from montechain.estimators.progress import CallbackSupportMixin, with_callbacks
from montechain.links import EstimatorLink, LinkLearner, check_estimator
from montechain.links.base import UNKNOWN
from montechain.losses import Loss, check_loss

__all__ = ["LinksClassifier"]

CHUNK_CELLS = 2**19
"""About so many numbers (of x, scores, labels) are worked on at a time while predicting: they fit into a cache."""
MIN_CHUNK_CELLS = 2**15
"""At least so many scores, since each chunk costs some time of its own,"""
MIN_CHUNK_ROWS = 64
"""and so many rows."""
N_SHARES = 16
"""Rows are cut into so many chunks if they are then neither too small nor too large, for threads to share."""
GENERIC_CHUNK_ROWS = 2048
"""At most so many rows at a time where links are not label-linear: each may have thousands of open prefixes."""


class LinksClassifier(CallbackSupportMixin, TargetsClassifier):
    """Base class of classifiers that learn p(label | x, other labels): chains, populations of them, networks.

    A subclass learns its links (`_learn`) and answers for some rows in codes, one column per label
    (`_marginals_of_rows`, `_draw_rows`). Checking, what goes to the links' own fit, chunks of rows, and
    the user's classes are dealt with here.
    """

    estimator: Any
    loss: Any
    n_jobs: int | None
    verbose: bool

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
            self._check_choices()
            self._bound_loss(np.arange(codes.shape[1]))
            options = self._fit_options(X, learner, sample_weight, fit_params)
            self._learn(learner.for_classes(self._classes), X, codes, seed, options)
        return self

    # -- what a subclass supplies: everything in codes, one column per label ------------------

    @abstractmethod
    def _check_choices(self) -> None:
        """Raise an error that says what to type if a parameter of inference is not allowed."""

    @abstractmethod
    def _learn(self, learner: LinkLearner, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        """Learn the links and set the fitted attributes."""

    @abstractmethod
    def _marginals_of_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> Any: ...

    @abstractmethod
    def _draw_rows(self, rows: Any, n_samples: int, known: np.ndarray | None, seed: int, start: int) -> np.ndarray:
        """Return draws, of shape (n, n_samples, L), that are independent between rows; `start` is the first row."""

    @property
    @abstractmethod
    def _n_scores(self) -> int:
        """How many scores a row has under all links; 0 if they are not label-linear."""

    @property
    def _width(self) -> int:
        """How many label vectors a row counts for when rows are cut into chunks."""
        return 1

    # -- helpers ------------------------------------------------------------------------------

    def _predict_proba(self, X: Any, given: Any) -> Any:
        checked, known, seed = self._prepare(X, given)
        sequence = np.random.SeedSequence(seed)

        def one(rows: Any, known: np.ndarray | None, start: int) -> list[np.ndarray]:
            return self._marginals_of_rows(rows, known, np.random.default_rng(sequence))

        marginals = self._map(one, checked, known, effort=2)
        return marginals[0] if self._target_format.is_1d else marginals

    def _sample(self, X: Any, n_samples: Any, given: Any, n_before: int = 0) -> np.ndarray:
        """Return draws in the user's classes; `n_before` are drawn in each row, but not returned."""
        checked, known, seed = self._prepare(X, given)
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"`n_samples={n_samples!r}` must be a positive whole number, e.g. n_samples=100.")

        def one(rows: Any, known: np.ndarray | None, start: int) -> np.ndarray:
            return self._draw_rows(rows, int(n_samples), known, seed, start)

        return self._decode_many(self._map(one, checked, known, int(n_samples) + n_before, shared=False))

    def _bound_loss(self, order: np.ndarray) -> Loss:
        if not isinstance(self.loss, str):  # its own parameters may have changed
            return check_loss(self.loss, classes=self._classes, order=order)
        sources = [self.loss, order, *self._classes]
        return remembered(self, "loss", sources, lambda _: check_loss(self.loss, classes=self._classes, order=order))

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
        """Return X checked, but for the cells of arrays, the codes of what is known, and a seed."""
        if "classes_" not in vars(self):
            check_is_fitted(self)
        checked = X if self._is_plain(X) else self._check_inputs(X, check_estimator(self.estimator), reset=False)
        return checked, self._encode_given(given, checked.shape[0]), self._seed()

    def _map(
        self,
        function: Callable,
        X: Any,
        known: np.ndarray | None,
        width: int | None = None,
        *,
        effort: int = 1,
        shared: bool = True,
    ) -> Any:
        """Apply `function` to chunks of rows, and join the results.

        Parameters
        ----------
        function : callable
            As in `map_chunks`.
        X, known
            As `_prepare` returns them.
        width : int, optional
            How many label vectors a row counts for; `_width` by default.
        effort : int, default=1
            How much longer than to decide a row takes, roughly: chunks may be so much smaller.
        shared : bool, default=True
            Whether there may be more chunks if there are more rows. Not where a row's draws depend on its chunk.
        """
        is_plain = self._is_plain(X)

        def checked(rows: Any, known: np.ndarray | None, start: int) -> Any:
            # Here, because what was just looked at is in the cache.
            if is_plain and not is_finite(rows):
                self._check_inputs(rows, check_estimator(self.estimator), reset=False)
            try:
                return function(rows, known, start)
            except NonFiniteError as error:
                names = getattr(self, "target_names_", None), getattr(self, "feature_names_in_", None)
                raise error.named(*names) from None

        n_rows, n_scores = X.shape[0], self._n_scores
        n_cells = len(self._classes) * (self._width if width is None else width) + (n_scores or X.shape[1])
        if is_plain and n_scores:
            n_cells += X.shape[1]
        n_rows_each = CHUNK_CELLS // n_cells
        if not n_scores:
            n_rows_each = min(n_rows_each, GENERIC_CHUNK_ROWS)
        elif shared:
            least = MIN_CHUNK_CELLS // (n_scores * effort)
            n_rows_each = min(n_rows_each, max(-(-n_rows // N_SHARES), least))
        # Products of fewer than four rows at a time have another rounding.
        n_rows_each = -(-max(n_rows_each, MIN_CHUNK_ROWS) // 4) * 4
        return map_chunks(checked, X, known, n_rows_each=n_rows_each, n_jobs=self.n_jobs, in_kernels=n_scores > 0)

    def _decode_many(self, labels: np.ndarray) -> np.ndarray:
        """Return several vectors per row, of shape (n, S, L), in the user's classes."""
        vectors = self._decoder(np.maximum(labels, 0).reshape(-1, labels.shape[-1])).reshape(labels.shape)
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
