"""One chain, one order: IC, CC, BCC, the PCC variants, MCC, MsCC."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from montechain._savable import require
from montechain.chain import Chain
from montechain.estimators.checks import remembered
from montechain.estimators.linked import LinkedClassifier
from montechain.inference import check_inference
from montechain.joint import ChainModel, JointModel
from montechain.ordering import OrderFinder, check_order
from montechain.parents import arrange

__all__ = ["ChainClassifier"]


@dataclass(eq=False, repr=False)
class ChainClassifier(LinkedClassifier):
    """Predict several targets at once with a probabilistic classifier chain.

    The chain models p(y | x) as the product of p(label | x, its parents) over the labels in an order; a label may have
    any number of classes.

    Parameters
    ----------
    estimator : None, "logistic", "svm", link or classifier, default=None
        How a link is learned. None is `LogisticLink()`; `SVMLink()` is the paper's; any other scikit-learn classifier
        must have `predict_proba`.
    order : None, "random", sequence or OrderFinder, default="random"
        The order of the labels: as they stand in y, at random, a permutation by number or name, or one that is searched
        for, as by ``OrderSearch(n_iterations=50)``.
    parents : {"all", "none", "tree"}, int or graph, default="all"
        Which earlier labels a link sees: all of them (a chain), none (independent classifiers), one (the maximum
        spanning tree of the labels' mutual information: Bayesian chain), the k most informative ones, or an explicit
        acyclic graph ``{label: its parents}``. A tree is directed away from the first label of the order; a tree or
        graph re-arranges the order so that parents come first.
    inference : str or strategy, default="branch_and_bound"
        How the best label vector is found: "greedy", "exhaustive", "epsilon_approximate", "beam", "branch_and_bound",
        "monte_carlo", or a strategy such as ``Beam(width=5)``.
    loss : str, Loss or callable, default="exact_match"
        What "best" means: "exact_match", "hamming", "f1", "jaccard", or ``loss(y, y_hat)``.
    unknown : scalar, default=None
        A value in y that means "this label is not known", besides NaN and None.
    n_jobs : int, default=None
        Links learned, and chunks of rows predicted, at a time.
    random_state : int, RandomState or None, default=None
        For the order, for learning, and for strategies that draw: with None these may answer differently from call to
        call.
    verbose : bool, default=False
        Print a line for each link learned, and show how far a search of orders is.

    Attributes
    ----------
    chain_ : Chain
        The learned chain.
    order_ : ndarray of shape (L,)
        The label that stands at each position.
    parents_ : list of L tuples
        The parents of each label.
    search_trace_ : list of dict
        The course of the search, if `order` is one; ``pandas.DataFrame(search_trace_)`` is a table.
    classes_ : list of L ndarrays, or ndarray for a one-dimensional y
    target_names_ : list
        Names of the labels; only if y has names.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X is a data frame with names that are strings.

    References
    ----------
    Read, Martino and Luengo (2013), Efficient Monte Carlo methods for multi-dimensional learning with classifier
    chains.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = ChainClassifier(random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (200, 5)
    >>> bool(model.decide(X).certified.all())
    True
    """

    estimator: Any = None
    _: KW_ONLY
    order: Any = "random"
    parents: Any = "all"
    inference: Any = "branch_and_bound"
    loss: Any = "exact_match"
    unknown: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False

    def _check_choices(self) -> None:
        super()._check_choices()
        check_inference(self.inference)

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        learner, n_classes, names = self._learner(seed), self.codec_.n_classes, self.codec_.names
        is_search = isinstance(self.order, OrderFinder)
        rng = np.random.default_rng(seed)
        order, fixed = check_order("random" if is_search else self.order, len(n_classes), names=names, rng=rng)
        if is_search:
            order = list(self._search_orders(learner, X, codes, order, seed, options).orders[0])
        weight = options.get("sample_weight")
        chosen, parents = arrange(self.parents, order, codes, n_classes, fixed=fixed, names=names, sample_weight=weight)
        with self._progress(len(chosen)) as on_link:
            self.chain_ = Chain.learn(
                learner, X, codes, n_classes, chosen, parents,
                seed=seed, names=names, n_jobs=self.n_jobs, on_link=on_link, **options,
            )  # fmt: skip
        self.order_ = np.array(chosen)
        self.parents_ = list(parents)

    def _model(self) -> JointModel:
        sources = [self.chain_, self.inference]
        return remembered(self, "model", sources, lambda _: ChainModel(self.chain_, check_inference(self.inference)))

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if "chain_" in vars(self):
            require(np.array_equal(self.order_, self.chain_.order), "the order is not that of the chain")
