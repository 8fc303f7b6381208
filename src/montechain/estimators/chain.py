"""One chain, one order: IC, CC, BCC, PCC and its kin, MCC, MsCC."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from montechain.chain import Chain, PrefixTree
from montechain.distributions import LabelDistribution, Marginals
from montechain.estimators.base import remembered
from montechain.estimators.chains import EVIDENCE_RESIDUAL, SAMPLING_RESIDUAL, ChainsClassifier
from montechain.estimators.progress import link_progress
from montechain.inference import BranchAndBound, Decision, TopK, check_inference
from montechain.inference.enumeration import Effort, evidence
from montechain.links import LinkLearner
from montechain.links.base import UNKNOWN
from montechain.ordering import OrderFinder, check_order
from montechain.parents import arrange

__all__ = ["ChainClassifier"]


class ChainClassifier(ChainsClassifier):
    """Predict several targets at once with a probabilistic classifier chain.

    The chain models p(y | x) as the product of p(label | x, its parents) over the labels in an order;
    a label may have any number of classes.

    Parameters
    ----------
    estimator : None, "logistic", "svm", link or classifier, default=None
        How a link is learned. None is `LogisticLink()`; `SVMLink()` is the paper's; any other
        scikit-learn classifier must have `predict_proba`.
    order : None, "random", sequence or OrderFinder, default="random"
        The order of the labels: as they stand in y, at random, a permutation by number or name, or
        one that is searched for, as by ``OrderSearch(n_iterations=50)``.
    parents : {"all", "none", "tree"}, int or graph, default="all"
        Which earlier labels a link sees: all of them (a chain), none (independent classifiers), one
        (the maximum spanning tree of the labels' mutual information: Bayesian chain), the k most
        informative ones, or an explicit acyclic graph ``{label: its parents}``. A tree is directed
        away from the first label of the order; a tree or graph re-arranges the order so that
        parents come first.
    inference : str or strategy, default="branch_and_bound"
        How the best label vector is found: "greedy", "exhaustive", "epsilon_approximate", "beam",
        "branch_and_bound", "monte_carlo", or a strategy such as ``Beam(width=5)``.
    loss : str, Loss or callable, default="exact_match"
        What "best" means: "exact_match", "hamming", "f1", "jaccard", or ``loss(y, y_hat)``.
    unknown : scalar, default=None
        A value in y that means "this label is not known", besides NaN and None.
    n_jobs : int, default=None
        Links learned, and chunks of rows predicted, at a time.
    random_state : int, RandomState or None, default=None
        For the order, for learning, and for strategies that draw: with None these may answer
        differently from call to call.
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
    Read, Martino and Luengo (2013), Efficient Monte Carlo methods for multi-dimensional learning
    with classifier chains.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = ChainClassifier(random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (200, 5)
    >>> model.score(X, Y) > 0.3
    True
    >>> bool(model.decide(X).certified.all())
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        order: Any = "random",
        parents: Any = "all",
        inference: Any = "branch_and_bound",
        loss: Any = "exact_match",
        unknown: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.order = order
        self.parents = parents
        self.inference = inference
        self.loss = loss
        self.unknown = unknown
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, learner: LinkLearner, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        n_classes = [len(classes) for classes in self._classes]
        names = self._target_format.names
        is_search = isinstance(self.order, OrderFinder)
        rng = np.random.default_rng(seed)
        order, fixed = check_order("random" if is_search else self.order, len(n_classes), names=names, rng=rng)
        if is_search:
            order = list(self._search_orders(self.order, learner, X, codes, order, seed, options).orders[0])
        chosen, parents = arrange(
            self.parents, order, codes, n_classes,
            fixed=fixed, names=names, sample_weight=options.get("sample_weight"),
        )  # fmt: skip
        with link_progress(self, len(chosen), X, codes) as on_link:
            self.chain_ = Chain.learn(
                learner, X, codes, n_classes, chosen, parents,
                seed=seed, names=names, n_jobs=self.n_jobs, on_link=on_link, **options,
            )  # fmt: skip
        self.order_ = np.array(chosen)
        self.parents_ = list(parents)

    def _decide_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> Decision:
        strategy, loss = check_inference(self.inference), self._bound_loss(self.order_)
        decision = strategy.decide(self.chain_, rows, loss=loss, given=self._by_position(known), rng=rng)
        return decision.with_labels(self._by_label(decision.labels))

    def _marginals_of_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> Marginals:
        strategy = check_inference(self.inference)
        by_position = strategy.marginals(self.chain_, rows, given=self._by_position(known), rng=rng)
        return by_position.in_order(self._positions)

    def _top_k_of_rows(self, rows: Any, k: int, known: np.ndarray | None) -> TopK:
        top = check_inference(self.inference).top_k(self.chain_, rows, k, given=self._by_position(known))
        return replace(top, labels=self._by_label(top.labels))

    def _log_joint_of_rows(self, rows: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        by_position = codes[:, self.order_]
        if (codes != UNKNOWN).all():
            return self.chain_.log_joint(rows, by_position)
        return evidence(PrefixTree(self.chain_, rows, np.ascontiguousarray(by_position)), rng=rng)[0]

    def _evidence_of_rows(
        self, rows: Any, known: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        tree = PrefixTree(self.chain_, rows, self._by_position(known))
        return evidence(tree, Effort(EVIDENCE_RESIDUAL), rng=rng)

    def _sample_of_rows(self, rows: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        uniforms = rng.random((rows.shape[0], n_samples, self.chain_.n_labels))
        return self._by_label(self.chain_.sample(rows, uniforms)[0])

    def _distribution_of_rows(self, rows: Any, known: np.ndarray, rng: np.random.Generator) -> LabelDistribution:
        strategy = BranchAndBound(residual=SAMPLING_RESIDUAL)
        agreeing = strategy.distribution(self.chain_, rows, given=self._by_position(known), rng=rng)
        return replace(agreeing, labels=self._by_label(agreeing.labels))

    @property
    def _n_scores(self) -> int:
        return self.chain_.n_scores

    def _by_position(self, codes: np.ndarray | None) -> np.ndarray | None:
        """Return columns in the order of the labels as columns in the order of the chain; None stays None."""
        return None if codes is None else np.ascontiguousarray(codes[:, self.order_])

    def _by_label(self, labels: np.ndarray) -> np.ndarray:
        """Return columns in the order of the chain as columns in the order of the labels."""
        return labels[..., self._positions]

    @property
    def _positions(self) -> np.ndarray:
        """The position of each label."""
        return remembered(self, "positions", [self.order_], lambda sources: np.argsort(sources[0]))
