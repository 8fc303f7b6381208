"""What every way of learning links has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import BaseEstimator

UNKNOWN = -1
"""The code of a label that is not known."""


class LinkProblem(NamedTuple):
    """One link to be learned: p(label | x, parents), both given as columns of Y."""

    label: int
    parents: tuple[int, ...]


class FittedLink(Protocol):
    """A learned p(label | x, parents)."""

    @property
    def n_classes(self) -> int:
        """Number of classes K of the label."""
        ...

    def log_proba(self, X: Any, parent_codes: np.ndarray) -> np.ndarray:
        """Return log-probabilities of shape (n, n_classes); `parent_codes` has one column per parent."""
        ...


class LinkLearner(BaseEstimator, ABC):
    """Learns links. `LogisticLink`, `SVMLink` and `EstimatorLink` are the members."""

    @abstractmethod
    def fit_links(
        self,
        X: Any,
        codes: np.ndarray,
        filled: np.ndarray,
        n_classes: Sequence[int],
        problems: Sequence[LinkProblem],
        *,
        sample_weight: np.ndarray | None = None,
        names: Sequence[Any] | None = None,
        n_jobs: int | None = None,
        on_link: Callable[[LinkProblem], None] | None = None,
        **fit_params: Any,
    ) -> list[FittedLink]:
        """Learn all `problems` on the same rows.

        Parameters
        ----------
        X : array, CSR matrix or data frame of n rows
        codes : int32 ndarray of shape (n, L)
            Classes as codes 0..K-1; `UNKNOWN` where a label is not known. A link is learned from the
            rows in which its own label is known.
        filled : int32 ndarray of shape (n, L)
            The same with unknown labels filled in; parents are read here.
        n_classes : sequence of L ints
            Number of classes of every label, whether or not all occur in these rows.
        problems : sequence of LinkProblem
        sample_weight : ndarray of shape (n,), optional
        names : sequence of L names, optional
            What the parents' columns are called if X is a data frame.
        n_jobs : int, optional
        on_link : callable, optional
            Called with each problem when its link is learned.
        **fit_params
            Passed on to the classifier's ``fit`` by `EstimatorLink`; the others take none.

        Returns
        -------
        list of FittedLink, one for each problem, in the same order.
        """

    def for_classes(self, classes: Sequence[np.ndarray]) -> LinkLearner:
        """Return this learner with what it says about classes put into codes; `classes` of each label."""
        return self
