"""A dependency network with Gibbs sampling: CDN."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from montechain._messages import check_memory, check_positive_integer
from montechain.estimators.checks import remembered
from montechain.estimators.linked import LinkedClassifier
from montechain.joint import JointModel
from montechain.network import DependencyNetwork


def _no_joint(estimator: Any) -> Any:
    raise AttributeError("a dependency network has no joint probability; use a chain, such as ChainClassifier().")


@dataclass(eq=False, repr=False)
class DependencyNetworkClassifier(LinkedClassifier):
    """Predict several targets at once with a conditional dependency network (CDN).

    Every label has a link to all others: p(label | x, all other labels). No order has to be chosen. In return, the
    links need not belong to one joint distribution, and inference is never exact: the labels are drawn one after the
    other, in the order of the columns, each given the current classes of the others, starting from the first class of
    every label. Unlike a chain, a network has no `log_joint`, no certificates and no most probable vectors.

    Cost: ``n_iterations`` times L conditionals per row. With label-linear links (the default, "svm", or linear models
    of scikit-learn) a conditional is a comparison. Other classifiers are called at most once per label and sweep, for
    all rows together and only for new combinations of the other labels. Slow ones still take long if there are many
    labels: try fewer iterations.

    A link is learned from the rows in which its own label is known. Other labels that are unknown are filled by draws
    from a chain over the columns of y in their order, which is learned for this purpose.

    Parameters
    ----------
    n_iterations : int, default=1000
        Number of sweeps over the labels.
    n_collected : int, default=100
        Number of sweeps at the end that are collected. Those before them are burn-in.
    loss : str, Loss or callable, default="hamming"
        What the best label vector is: "hamming" takes the class of each label that was collected most often;
        "exact_match" the vector; "f1", "jaccard" or ``loss(y, y_hat)`` what costs least on average over the vectors
        collected.
    estimator, n_jobs, random_state, verbose
        As in `ChainClassifier`. All rows use the same uniform numbers, so that a prediction does not depend on the rows
        beside it.

    Attributes
    ----------
    network_ : DependencyNetwork
        The learned links.
    classes_, target_names_, n_features_in_, feature_names_in_
        As in `ChainClassifier`.

    References
    ----------
    Guo and Gu (2011), Multi-label classification using conditional dependency networks, IJCAI.

    Read, Martino and Luengo (2013), Efficient Monte Carlo methods for multi-dimensional learning with classifier
    chains, Section 3.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import DependencyNetworkClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = DependencyNetworkClassifier(random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (200, 5)
    >>> model.sample(X[:2], n_samples=10).shape
    (2, 10, 5)
    """

    _: KW_ONLY
    n_iterations: int = 1000
    n_collected: int = 100
    loss: Any = "hamming"
    verbose: bool = False

    # Without a joint probability, nothing can be ranked or proven.
    decide = predict_top_k = log_joint = property(_no_joint)  # type: ignore[assignment]

    def _check_choices(self) -> None:
        super()._check_choices()
        self._n_sweeps()

    def _n_sweeps(self) -> tuple[int, int]:
        """Return how many sweeps are left out and how many are collected."""
        n_iterations = check_positive_integer(self, "n_iterations", 1000)
        n_collected = check_positive_integer(self, "n_collected", 100)
        if n_collected > n_iterations:
            raise ValueError(
                f"`n_collected={n_collected}` must not exceed `n_iterations={n_iterations}`: try "
                f"n_collected={max(1, n_iterations // 10)}."
            )
        n_labels = len(self.codec_.classes) if "codec_" in vars(self) else 1
        check_memory(8 * n_iterations * n_labels, f"`{n_iterations=}` of {n_labels} labels", "Make fewer sweeps.")
        return n_iterations - n_collected, n_collected

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        n_classes = self.codec_.n_classes
        with self._reported(f"learned {len(n_classes)} links"):
            self.network_ = DependencyNetwork.learn(
                self._learner(seed), X, codes, n_classes,
                seed=seed, names=self.codec_.names, n_jobs=self.n_jobs, **options,
            )  # fmt: skip

    def _model(self) -> JointModel:
        sources = [self.network_, self.n_iterations, self.n_collected]
        return remembered(self, "model", sources, lambda own: DependencyNetwork(own[0].links, *self._n_sweeps()))
