"""A dependency network with Gibbs sampling: CDN."""

from __future__ import annotations

from typing import Any

import numpy as np

from montechain._messages import check_positive_integer, nearest
from montechain.dependency_network import DependencyNetwork
from montechain.estimators.links import LinksClassifier
from montechain.estimators.progress import link_progress
from montechain.links import LinkLearner
from montechain.losses import Hamming, LabelDistribution

__all__ = ["DependencyNetworkClassifier"]

MARGINALS = ("counts", "conditionals")


class DependencyNetworkClassifier(LinksClassifier):
    """Predict several targets at once with a conditional dependency network (CDN).

    Every label has a link to all others: p(label | x, all other labels). No order has to be chosen; in
    return, the links need not belong to one joint distribution, and there is no exact inference. So all
    labels are drawn anew, one after the other in the order of the columns and each given the others as
    they are then. Such sweeps are repeated `n_iterations` times, from the first class of every label on,
    and the last `n_collected` of them are what predictions are made from.

    Not to be confused with a chain, whose links see earlier labels only: a chain has a joint probability
    (`ChainClassifier.log_joint`), certificates and the most probable vectors; a network has none of these.

    Cost: ``n_iterations`` times L conditionals per row. With label-linear links (the default, "svm", or
    linear models of scikit-learn) a conditional is a comparison. Other classifiers are asked at most
    once per label and sweep, for all rows together and only for combinations of the other labels that a
    row has not met before; slow ones still take long if there are many labels: try fewer iterations.

    Parameters
    ----------
    estimator : None, "logistic", "svm", link or classifier, default=None
        How a link is learned. None is `LogisticLink()`; `SVMLink()` is the paper's; any other
        scikit-learn classifier must have `predict_proba`.
    n_iterations : int, default=1000
        Number of sweeps over the labels.
    n_collected : int, default=100
        How many of these, the last ones, are collected. Before them, the sweeps forget where they started.
    marginals : {"counts", "conditionals"}, default="counts"
        What the marginal probabilities are: the shares of the classes in the vectors collected (so they
        are multiples of ``1 / n_collected``), or the means of p(label | x, all others) over these
        vectors, which estimate the same and vary less.
    loss : str, Loss or callable, default="hamming"
        What the best label vector is: "hamming" takes the most probable class of each label by the
        marginals; "exact_match" the vector that was collected most often; "f1", "jaccard" or
        ``loss(y, y_hat)`` what costs least on average over the vectors collected.
    unknown : scalar, default=None
        A value in y that means "this label is not known", besides NaN and None.
    n_jobs : int, default=None
        Links learned, and chunks of rows predicted, at a time.
    random_state : int, RandomState or None, default=None
        For learning and for the draws: with None, predictions may differ from call to call. All rows
        use the same uniform numbers, so that a prediction does not depend on the rows beside it.
    verbose : bool, default=False
        Print a line for each link learned.

    Attributes
    ----------
    network_ : DependencyNetwork
        The learned links.
    classes_ : list of L ndarrays, or ndarray for a one-dimensional y
    target_names_ : list
        Names of the labels; only if y has names.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X is a data frame with names that are strings.

    Notes
    -----
    A link is learned from the rows in which its own label is known. Other labels that are unknown are
    filled by draws from a chain over the columns of y as they stand, which is learned for this purpose.

    References
    ----------
    Guo and Gu (2011), Multi-label classification using conditional dependency networks, IJCAI.

    Read, Martino and Luengo (2013), Efficient Monte Carlo methods for multi-dimensional learning
    with classifier chains, Section 3.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain.estimators import DependencyNetworkClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = DependencyNetworkClassifier(random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (200, 5)
    >>> model.score(X, Y) > 0.3
    True
    >>> model.sample(X[:2], n_samples=10).shape
    (2, 10, 5)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_iterations: int = 1000,
        n_collected: int = 100,
        marginals: str = "counts",
        loss: Any = "hamming",
        unknown: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.n_iterations = n_iterations
        self.n_collected = n_collected
        self.marginals = marginals
        self.loss = loss
        self.unknown = unknown
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any, *, given: Any = None) -> Any:
        """Return the label vectors of least expected loss, as far as the sweeps collected can tell.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
        given : array or data frame of shape (n, L), optional
            Labels known beforehand, NaN or None elsewhere: they keep their class, and the others are
            drawn given them. A data frame may hold some of the targets only.

        Returns
        -------
        ndarray of shape (n, L) in y's own classes, a data frame if y was one, (n,) if y was one-dimensional
        """
        checked, known, seed = self._prepare(X, given)

        def one(rows: Any, known: np.ndarray | None, start: int) -> np.ndarray:
            return self._decide_rows(rows, known, np.random.default_rng(seed))

        return self._decode(self._map(one, checked, known), X)

    def predict_proba(self, X: Any, *, given: Any = None) -> Any:
        """Return the marginal probabilities of each label, as the parameter `marginals` says.

        Parameters
        ----------
        X, given
            As in `predict`.

        Returns
        -------
        list of L ndarrays of shape (n, K), or one ndarray if y was one-dimensional
        """
        return self._predict_proba(X, given)

    def sample(self, X: Any, n_samples: int = 100, *, given: Any = None) -> np.ndarray:
        """Draw label vectors: those after successive sweeps, the first ``n_iterations - n_collected`` left out.

        Rows are independent of each other. The draws of one row are not: each sweep starts from the
        vector that the one before it ended with.

        Parameters
        ----------
        X, given
            As in `predict`.
        n_samples : int, default=100

        Returns
        -------
        ndarray of shape (n, n_samples, L)
        """
        n_before, _ = self._n_sweeps()
        return self._sample(X, n_samples, given, n_before)

    def _check_choices(self) -> None:
        self._n_sweeps()
        if self.marginals not in MARGINALS:
            raise ValueError(
                f"`marginals={self.marginals!r}` must be 'counts' or 'conditionals'"
                f"{nearest(self.marginals, MARGINALS) or '.'}"
            )

    def _n_sweeps(self) -> tuple[int, int]:
        """Return how many sweeps are left out and how many are collected."""
        n_iterations = check_positive_integer(self, "n_iterations", 1000)
        n_collected = check_positive_integer(self, "n_collected", 100)
        if n_collected > n_iterations:
            raise ValueError(
                f"`n_collected={n_collected}` is more than `n_iterations={n_iterations}`, of which it is a part: try "
                f"n_collected={max(1, n_iterations // 10)}."
            )
        return n_iterations - n_collected, n_collected

    def _learn(self, learner: LinkLearner, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        n_classes = [len(classes) for classes in self._classes]
        with link_progress(self, len(n_classes), X, codes) as on_link:
            self.network_ = DependencyNetwork.learn(
                learner, X, codes, n_classes,
                seed=seed, names=self._target_format.names, n_jobs=self.n_jobs, on_link=on_link, **options,
            )  # fmt: skip

    def _decide_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        loss = self._bound_loss(np.arange(self.network_.n_labels))
        if isinstance(loss, Hamming):
            marginals = self._marginals_of_rows(rows, known, rng)
            unresolved = np.ones((rows.shape[0], len(marginals)))
            return loss.decide_marginals(marginals, unresolved, given=known)[0]
        labels, _ = self._collect(rows, known, rng)
        n_rows, n_collected, n_labels = labels.shape
        collected = LabelDistribution(
            indptr=np.arange(n_rows + 1) * n_collected,
            labels=labels.reshape(-1, n_labels),
            weights=np.full(n_rows * n_collected, 1.0 / n_collected),
            residual=np.ones(n_rows),
            estimated=np.ones(n_rows, dtype=bool),
        )
        return loss.decide(collected, given=known)[0]

    def _marginals_of_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        _, marginals = self._collect(rows, known, rng)
        return [marginals[:, k, :n] for k, n in enumerate(self.network_.n_classes)]

    def _collect(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        self._check_choices()
        n_before, n_collected = self._n_sweeps()
        uniforms = rng.random((1, n_before + n_collected, self.network_.n_labels))
        average = self.marginals == "conditionals"
        return self.network_.gibbs(rows, uniforms, n_collected, given=known, average=average)

    def _draw_rows(self, rows: Any, n_samples: int, known: np.ndarray | None, seed: int, start: int) -> np.ndarray:
        n_before, _ = self._n_sweeps()
        shape = (n_before + n_samples, self.network_.n_labels)
        # A stream for each row, so that its draws do not depend on how many rows are drawn for at a time.
        tables = [np.random.default_rng([seed, start + i]).random(shape) for i in range(rows.shape[0])]
        return self.network_.gibbs(rows, np.stack(tables), n_samples, given=known)[0]

    @property
    def _width(self) -> int:
        return self._n_sweeps()[1]

    @property
    def _n_scores(self) -> int:
        return self.network_.n_scores
