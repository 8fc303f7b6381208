"""The face that one chain and a population of chains have in common."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from montechain.estimators.links import LinksClassifier
from montechain.inference import Decision, TopK, check_inference
from montechain.inference.branch_and_bound import ROWS_AT_ONCE, blocks
from montechain.links import LinkLearner
from montechain.losses import LabelDistribution
from montechain.ordering import OrderFinder, OrderSearch, SearchResult, search_progress

__all__ = ["ChainsClassifier"]

SAMPLING_RESIDUAL = 1e-3
"""Mass that may be left out when label vectors are drawn given some of the labels."""


class ChainsClassifier(LinksClassifier):
    """Base class of `ChainClassifier` and `ChainPopulationClassifier`.

    A subclass learns its chains (`_learn`) and answers for some rows in codes, one column per label
    (`_decide_rows` and its kin).
    """

    order: Any
    parents: Any
    inference: Any

    # -- the public face ----------------------------------------------------------------------

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
        return self._predict_proba(X, given)

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
        return self._sample(X, n_samples, given)

    # -- what a subclass supplies: everything in codes, one column per label ------------------

    @abstractmethod
    def _decide_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> Decision: ...

    @abstractmethod
    def _top_k_of_rows(self, rows: Any, k: int, known: np.ndarray | None) -> TopK: ...

    @abstractmethod
    def _log_joint_of_rows(self, rows: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray: ...

    @abstractmethod
    def _sample_of_rows(self, rows: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray: ...

    @abstractmethod
    def _distribution_of_rows(self, rows: Any, known: np.ndarray, rng: np.random.Generator) -> LabelDistribution:
        """Return the label vectors that agree with what is known, but for `SAMPLING_RESIDUAL` of their mass."""

    # -- helpers ------------------------------------------------------------------------------

    def _check_choices(self) -> None:
        check_inference(self.inference)

    def _draw_rows(self, rows: Any, n_samples: int, known: np.ndarray | None, seed: int, start: int) -> np.ndarray:
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
