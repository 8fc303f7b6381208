"""One multi-class problem over the label vectors seen in training: LP."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from montechain._compat import check_method_params
from montechain._rows import take_rows
from montechain.estimators.base import SeenVectorsMixin
from montechain.estimators.linked import LinkedClassifier
from montechain.estimators.progress import link_progress
from montechain.links import FittedLinearLink, FittedLink, LinkLearner, LinkProblem, LogisticLink, SVMLink
from montechain.links.linear import ONE_VERSUS_REST
from montechain.seen_vectors import (
    PowersetModel,
    commonest_classes,
    count_vectors,
    informative_rows,
    posterior_weights,
)
from montechain.targets import CODE, UNKNOWN

__all__ = ["LabelPowersetClassifier"]

TOLERANCE = 1e-4
"""Of the default learner, as in scikit-learn. Hundreds of vectors with a few rows each are a problem to which a more
exact solution takes long and adds nothing."""
MAX_PAIRED = 64
"""Up to so many vectors an `SVMLink` has a machine for each pair of them. Their number grows with the square, and so
does the time in which the pairs are joined for each row predicted."""


class LabelPowersetClassifier(SeenVectorsMixin, LinkedClassifier):
    """Predict several targets at once by taking each label vector seen in training for one class.

    The label powerset method: p(y | x) is one multi-class problem. Dependence between labels costs nothing, but a
    vector that was never seen has probability zero (`log_joint` returns minus infinity), and with many labels most
    vectors are seen once. As all vectors are weighed, decisions are exact: certified for exact match, Hamming
    loss and F1.

    A row in which some labels are unknown gets one of the complete vectors that agree with it, drawn by a first model
    of the complete rows; if none agrees, the unknown labels take their commonest classes, and the result is a
    vector of its own. Rows without any known label are left out.

    If no vector agrees with what is `given` at prediction, those that agree with the most of it stand in, with the
    given classes put in; the probability is then zero and nothing is certified.

    Parameters
    ----------
    estimator : None, "logistic", "svm", link or classifier, default=None
        What learns the multi-class problem. None and "logistic": multinomial logistic regression,
        ``LogisticLink(tol=1e-4)``. "svm" or `SVMLink()`: a machine for each pair of vectors, as in the paper; above 64
        vectors one machine for each vector against the rest, whose probabilities are poor. Any other
        scikit-learn classifier must have `predict_proba`.
    min_count : float, default=1
        Vectors that occur less often (by the sum of their rows' weights) are left out, with their rows.
    loss, unknown, n_jobs, random_state
        As in `ChainClassifier`.

    Attributes
    ----------
    vectors_ : ndarray of shape (V, L)
        The label vectors, in y's own classes.
    vector_counts_ : ndarray of shape (V,)
        How often each occurs, weighted.
    model_ : PowersetModel
        The learned p(vector | x).
    classes_, target_names_, n_features_in_, feature_names_in_
        As in `ChainClassifier`.

    References
    ----------
    Tsoumakas and Katakis (2007). Multi-label classification: an overview. International Journal of Data
    Warehousing and Mining 3.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain.estimators import LabelPowersetClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=3, random_state=0)
    >>> model = LabelPowersetClassifier().fit(X, Y)
    >>> len(model.vectors_), bool(model.decide(X).certified.all())
    (8, True)
    >>> model.score(X, Y) > 0.5
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        loss: Any = "exact_match",
        min_count: float = 1,
        unknown: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.loss = loss
        self.min_count = min_count
        self.unknown = unknown
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_choices(self) -> None:
        super()._check_choices()
        if not isinstance(self.min_count, Real) or isinstance(self.min_count, bool) or not self.min_count > 0:
            raise ValueError(f"`min_count={self.min_count!r}` must be a positive number, e.g. min_count=2.")

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        learner = self._learner(seed)
        if self.estimator is None or (isinstance(self.estimator, str) and self.estimator == "logistic"):
            learner = LogisticLink(tol=TOLERANCE)
        X, codes, options = informative_rows(X, codes, options)
        codes = self._completed(learner, X, codes, options, np.random.default_rng([seed, 1]))
        vectors, numbers, counts = count_vectors(codes, options.get("sample_weight"))
        # Weights that are meant to be one may sum to a little less than their number.
        frequent = counts >= self.min_count * (1.0 - 1e-9)
        if not frequent.any():
            raise ValueError(
                f"`min_count={self.min_count!r}` leaves no label vector: the commonest one occurs "
                f"{counts.max():g} times. Use min_count={max(int(counts.max()), 1)} at most."
            )
        rows = np.flatnonzero(frequent[numbers])
        if len(rows) < len(codes):
            options = check_method_params(X, options, rows)
            X, numbers = take_rows(X, rows), (np.cumsum(frequent) - 1)[numbers[rows]]
        vectors, counts = vectors[frequent], counts[frequent]
        with link_progress(self, 1, X, codes) as on_link:
            link = self._learn_link(learner, X, numbers, len(vectors), options)
            on_link(LinkProblem(0, ()))
        self.model_ = PowersetModel(vectors, counts, self.codec_.n_classes, link)

    def _completed(
        self, learner: LinkLearner, X: Any, codes: np.ndarray, options: dict[str, Any], rng: np.random.Generator
    ) -> np.ndarray:
        """Return the codes with unknown labels filled in."""
        lacks = (codes == UNKNOWN).any(axis=1)
        if not lacks.any():
            return codes
        filled = np.where(codes == UNKNOWN, commonest_classes(codes, options.get("sample_weight")), codes)
        complete, partly = np.flatnonzero(~lacks), np.flatnonzero(lacks)
        if len(complete) == 0:
            return filled
        own_options = check_method_params(X, options, complete)
        vectors, numbers, counts = count_vectors(codes[complete], own_options.get("sample_weight"))
        link = self._learn_link(learner, take_rows(X, complete), numbers, len(vectors), own_options)
        log_proba = PowersetModel(vectors, counts, self.codec_.n_classes, link).log_proba(take_rows(X, partly))
        weights, agrees = posterior_weights(log_proba, vectors, counts, codes[partly])
        # One uniform number for each row: which vector its place among the cumulated weights falls to.
        drawn = (weights.cumsum(axis=1) <= rng.random((len(partly), 1))).sum(axis=1)
        drawn = np.minimum(drawn, len(vectors) - 1)
        filled[partly[agrees]] = vectors[drawn[agrees]]
        return filled

    def _learn_link(
        self, learner: LinkLearner, X: Any, numbers: np.ndarray, n_vectors: int, options: dict[str, Any]
    ) -> FittedLink:
        """Return p(number of the vector | x)."""
        if isinstance(learner, SVMLink) and n_vectors > MAX_PAIRED:
            return self._learn_against_the_rest(learner, X, numbers, n_vectors, options)
        column = numbers.astype(CODE)[:, None]
        problem = LinkProblem(0, ())
        return learner.fit_links(X, column, column, [n_vectors], [problem], n_jobs=self.n_jobs, **options)[0]

    def _learn_against_the_rest(
        self, learner: SVMLink, X: Any, numbers: np.ndarray, n_vectors: int, options: dict[str, Any]
    ) -> FittedLinearLink:
        is_vector = (numbers[:, None] == np.arange(n_vectors)).astype(CODE)
        problems = [LinkProblem(v, ()) for v in range(n_vectors)]
        links: Any = learner.fit_links(
            X, is_vector, is_vector, [2] * n_vectors, problems, n_jobs=self.n_jobs, **options
        )
        coef = np.column_stack([link.coef for link in links])
        intercept = np.concatenate([link.intercept for link in links])
        return FittedLinearLink(n_vectors, ONE_VERSUS_REST, coef, intercept)
