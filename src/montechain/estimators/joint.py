"""The face that classifiers with a joint distribution of all labels have in common."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from montechain.distributions import LabelDistribution, Marginals
from montechain.errors import EstimateWarning
from montechain.estimators.links import LinksClassifier
from montechain.inference import Decision, TopK
from montechain.inference.decision import blocks
from montechain.inference.marginals import ROWS_AT_ONCE

__all__ = ["JointClassifier"]


class JointClassifier(LinksClassifier):
    """Base class of classifiers that know p(y | x) of whole label vectors: chains, populations, label powersets.

    A subclass learns (`_learn`) and answers for some rows in codes, one column per label (`_decide_rows`
    and its kin).
    """

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
        layout = getattr(self, "_target_format", None)
        if layout is not None and not self._is_array(layout):
            return self.decide(X, given=given).labels
        checked, known, seed = self._prepare(X, given)
        sequence, is_1d = np.random.SeedSequence(seed), self._target_format.is_1d

        def one(rows: Any, known: np.ndarray | None, start: int) -> np.ndarray:
            labels = self._decide_rows(rows, known, np.random.default_rng(sequence)).labels
            return self._decoder(labels, is_1d=is_1d)

        return self._map(one, checked, known)

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
            any label vector, the expected loss, a bound on the regret, and which rows are certified. The last
            three are conditional on what is given.
        """
        checked, known, seed = self._prepare(X, given)
        sequence = np.random.SeedSequence(seed)

        def one(rows: Any, known: np.ndarray | None, start: int) -> Decision:
            decision = self._decide_rows(rows, known, np.random.default_rng(sequence))
            return decision if known is None else self._relative_to_given(decision, rows, known)

        decision = self._map(one, checked, known)
        return decision.with_labels(self._decode(decision.labels, X))

    def predict_proba(self, X: Any, *, given: Any = None) -> Any:
        """Return the marginal probabilities p(label | x, what is given) of each label.

        They are exact where the labels have few combinations; else within the `residual` of the strategy, 0.01 by
        default (``BranchAndBound(residual=0.001)`` makes it smaller), as long as its node budget lasts. Rows whose
        budget ends first get estimates from random draws, whose error can be larger; an `EstimateWarning` says how
        many they are. `MonteCarlo` always estimates. `predict_marginals` also returns a bound on the error of each row.

        Parameters
        ----------
        X, given
            As in `predict`.

        Returns
        -------
        list of L ndarrays of shape (n, K), or one ndarray if y was one-dimensional
        """
        found = self.predict_marginals(X, given=given)
        n_estimated = int(found.estimated.sum())
        if n_estimated and not self._is_sampling:
            worst = found.error_bound[found.estimated].max()
            warnings.warn(
                f"The probabilities of {n_estimated} of {len(found.estimated)} rows are estimates: their search ran "
                f"out of nodes. Their error is proven to be at most {worst:.2g}; `predict_marginals` returns the bound "
                "of each row. For smaller errors, raise `max_nodes`, e.g. inference=BranchAndBound(max_nodes=200_000).",
                EstimateWarning,
                stacklevel=2,
            )
        return found.proba[0] if self._target_format.is_1d else found.proba

    def predict_marginals(self, X: Any, *, given: Any = None) -> Marginals:
        """Return the marginal probabilities of each label with what is proven about them.

        Parameters
        ----------
        X, given
            As in `predict`.

        Returns
        -------
        Marginals
            With `proba`, a list of L ndarrays of shape (n, K); `error_bound`, of shape (n,), a proven bound on the
            error of every probability in a row; and `estimated`, of shape (n,), the rows that rest on random draws.
        """
        checked, known, seed = self._prepare(X, given)
        sequence = np.random.SeedSequence(seed)

        def one(rows: Any, known: np.ndarray | None, start: int) -> list[np.ndarray]:
            found = self._marginals_of_rows(rows, known, np.random.default_rng(sequence))
            return [*found.proba, *found.lower, found.unresolved, found.estimated]

        *tables, unresolved, estimated = self._map(one, checked, known, effort=2)
        n_labels = len(self._classes)
        return Marginals(tables[:n_labels], tables[n_labels:], unresolved, estimated)

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
    def _marginals_of_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> Marginals: ...

    @abstractmethod
    def _top_k_of_rows(self, rows: Any, k: int, known: np.ndarray | None) -> TopK: ...

    @abstractmethod
    def _log_joint_of_rows(self, rows: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray: ...

    @abstractmethod
    def _sample_of_rows(self, rows: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray: ...

    @abstractmethod
    def _distribution_of_rows(self, rows: Any, known: np.ndarray, rng: np.random.Generator) -> LabelDistribution:
        """Return the label vectors that agree with what is known, but for a thousandth of their mass at most."""

    _is_sampling = False
    """Whether marginals are estimated from draws by choice."""

    # -- helpers ------------------------------------------------------------------------------

    def _relative_to_given(self, decision: Decision, rows: Any, known: np.ndarray) -> Decision:
        """Return a decision with its expected loss and regret conditional on what is known, if they are not yet."""
        return decision

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
