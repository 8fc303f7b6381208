"""Chains in one order or in several: IC, CC, BCC, the PCC variants, MCC, MsCC; ECC, PMsCC, PtMsCC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np

from montechain._compat import check_method_params
from montechain._messages import check_positive_integer
from montechain._rows import take_rows
from montechain._savable import require
from montechain.chain import Chain
from montechain.estimators.checks import remembered
from montechain.estimators.linked import LinkedClassifier
from montechain.inference import check_inference
from montechain.joint import ChainModel, JointModel
from montechain.links import LinkLearner, LinkProblem, LogisticLink, check_estimator
from montechain.links.row_blocks import RowBlocks
from montechain.ordering import OrderFinder, SearchResult, check_order
from montechain.parents import arrange
from montechain.population import Population, check_combine
from montechain.population.population import checked_weights
from montechain.targets import UNKNOWN


@dataclass(eq=False, repr=False)
class ChainsClassifier(LinkedClassifier):
    """Base class of classifiers made of chains."""

    _: KW_ONLY
    order: Any = "random"
    parents: Any = "all"
    inference: Any = "branch_and_bound"
    verbose: bool = False

    def _check_choices(self) -> None:
        super()._check_choices()
        check_inference(self.inference)

    def _check_blocks(self) -> None:
        if not isinstance(check_estimator(self.estimator), LogisticLink):
            raise TypeError(
                f"`estimator={self.estimator!r}` learns from rows in memory. For Dask collections leave it out, or use "
                "LogisticLink()."
            )
        if isinstance(self.order, OrderFinder) or getattr(self, "bootstrap", False):
            raise TypeError(
                "Searching for an order and bootstrapping take rows in memory. Fit to a sample first, and give the "
                "order that it found: order=model.order_.tolist()."
            )

    def _search_orders(
        self, learner: LinkLearner, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]
    ) -> SearchResult:
        """Return the orders that the parameter `order` finds on these rows, and set `search_trace_`."""
        start = tuple(np.random.default_rng(seed).permutation(codes.shape[1]).tolist())
        with self._reported("searched orders"):
            evaluator = self.order.evaluator(
                learner, X, codes, self.codec_.n_classes, parents=self.parents, inference=self.inference,
                loss=self.loss, classes=self.codec_.classes, names=self.codec_.names, start=start, seed=seed,
                n_jobs=self.n_jobs, **options,
            )  # fmt: skip
            rng = np.random.default_rng([seed, 1])
            result = self.order.find(evaluator, start=start, rng=rng, verbose=self.verbose)
        self.search_trace_ = result.trace
        return result


@dataclass(eq=False, repr=False)
class ChainClassifier(ChainsClassifier):
    """Predict several targets at once with a probabilistic classifier chain.

    The chain models p(y | x) as the product of p(label | x, its parents) over the labels in an order; a label may have
    any number of classes.

    Parameters
    ----------
    estimator : None, "logistic", "svm", link or classifier, default=None
        How a link is learned. None is `LogisticLink()`; `SVMLink()` is the paper's; any other scikit-learn classifier
        must have `predict_proba`.
    order : None, "random", sequence or OrderFinder, default="random"
        The order of the labels: as in y, random, a permutation by number or name, or one found by a search such as
        ``OrderSearch(n_iterations=50)``.
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
    n_jobs : int, default=None
        Number of links learned, or chunks of rows predicted, in parallel.
    random_state : int, RandomState or None, default=None
        For the order, for learning, and for strategies that draw: with None, their answers may differ from call to
        call.
    verbose : bool, default=False
        Print what was learned and in what time, and show the progress of an order search.

    Attributes
    ----------
    chain_ : Chain
        The learned chain.
    order_ : ndarray of shape (L,)
        The label at each position.
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

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        learner, n_classes, names = self._learner(seed), self.codec_.n_classes, self.codec_.names
        order: Sequence[int]
        if isinstance(self.order, OrderFinder):
            order, fixed = self._search_orders(learner, X, codes, seed, options).orders[0], False
        else:
            rng = np.random.default_rng(seed)
            order, fixed = check_order(self.order, len(n_classes), names=names, rng=rng)
        chosen, parents = arrange(
            self.parents, order, codes, n_classes, fixed=fixed, names=names, sample_weight=options.get("sample_weight")
        )
        with self._reported(f"learned {len(chosen)} links"):
            self.chain_ = Chain.learn(
                learner, X, codes, n_classes, chosen, parents, seed=seed, names=names, n_jobs=self.n_jobs, **options
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


@dataclass(eq=False, repr=False)
class ChainPopulationClassifier(ChainsClassifier):
    """Predict several targets at once with a weighted population of classifier chains.

    The order of a chain matters, and no single one is right. Several chains in different orders are more reliable: as
    an ensemble that votes (ECC), or as the mixture p(y | x) = sum_j w_j p(y | x, s_j), whose most probable label vector
    is found with a proof.

    Parameters
    ----------
    order : "random", sequence of sequences, or OrderFinder, default="random"
        The orders: random, given, or found by a search such as ``OrderSearch(keep=10)``.
    n_chains : int, default=10
        Number of random orders. Given orders, and the `keep` of a search, have their own number.
    combine : {"mixture", "algorithm-4", "vote"} or combination, default="mixture"
        How the chains are combined: the mixture's best label vector, Algorithm 4 of the paper, or a vote on each label
        (then `predict_proba` returns the shares of votes).
    weights : sequence of float, default=None
        Weights of the chains. None: for searched orders their payoffs (for logarithms of payoffs,
        ``exp(payoff - largest)``), else equal.
    bootstrap : bool, default=False
        Whether each chain learns from rows drawn with replacement.
    inference : str or strategy, default="branch_and_bound"
        How a single chain is searched, if the combination does that.
    estimator, parents, loss, n_jobs, random_state, verbose
        As in `ChainClassifier`.

    Attributes
    ----------
    chains_ : list of M Chain
        The learned chains.
    orders_ : ndarray of shape (M, L)
        The label at each position of each chain.
    weights_ : ndarray of shape (M,)
        Sum to one.
    search_trace_, classes_, target_names_, n_features_in_, feature_names_in_
        As in `ChainClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainPopulationClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = ChainPopulationClassifier(n_chains=3, random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (200, 5)
    >>> model.orders_.shape
    (3, 5)
    """

    _: KW_ONLY
    n_chains: int = 10
    combine: Any = "mixture"
    weights: Any = None
    bootstrap: bool = False

    def _check_choices(self) -> None:
        super()._check_choices()
        check_combine(self.combine)

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        learner, n_classes, names = self._learner(seed), self.codec_.n_classes, self.codec_.names
        orders, fixed, payoffs = self._choose_orders(learner, X, codes, seed, options)
        weights = checked_weights(payoffs if self.weights is None else self.weights, len(orders))
        kept = np.flatnonzero(weights).tolist()
        given: dict[str, Any] = {"fixed": fixed, "names": names, "sample_weight": options.get("sample_weight")}
        arranged = [arrange(self.parents, orders[j], codes, n_classes, **given) for j in kept]
        is_complete = not (codes.n_unknown if isinstance(codes, RowBlocks) else codes == UNKNOWN).any()
        with self._reported(f"learned {len(kept)} chains"):
            chains, shared = [], {"names": names, "n_jobs": self.n_jobs}
            if is_complete and not self.bootstrap:  # links shared by several chains are learned once
                wanted = [LinkProblem(label, parents[label]) for order, parents in arranged for label in order]
                problems = list(dict.fromkeys(wanted))
                links = learner.fit_links(X, codes, codes, n_classes, problems, **shared, **options)
                known = dict(zip(problems, links, strict=True))
                for order, parents in arranged:
                    own_links = [known[LinkProblem(label, parents[label])] for label in order]
                    chains.append(Chain.of_labels(order, parents, own_links))
            else:
                for j, (order, parents) in zip(kept, arranged, strict=True):
                    rows, labels, own = X, codes, options
                    if self.bootstrap:
                        drawn = np.random.default_rng([seed, 2, j]).choice(len(codes), size=len(codes))
                        rows, labels, own = take_rows(X, drawn), codes[drawn], check_method_params(X, options, drawn)
                    own = {"seed": seed, **shared, **own}
                    chains.append(Chain.learn(learner, rows, labels, n_classes, order, parents, **own))
        self.chains_ = chains
        self.orders_ = np.array([chain.order for chain in chains], dtype=np.int64)
        self.weights_ = weights[kept]

    def _model(self) -> JointModel:
        def build(_: Any) -> Population:
            inference = check_inference(self.inference)
            models = [ChainModel(chain, inference) for chain in self.chains_]
            return Population(models, self.weights_, combine=check_combine(self.combine))

        return remembered(self, "model", [self.chains_, self.weights_, self.inference, self.combine], build)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if "chains_" in vars(self):
            orders = [chain.order for chain in self.chains_]
            require(np.array_equal(self.orders_, orders), "the orders are not those of the chains")

    def _choose_orders(
        self, learner: LinkLearner, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]
    ) -> tuple[Sequence[Sequence[int]], bool, np.ndarray | None]:
        """Return the orders, whether the user chose them, and their weights, if any."""
        n_labels, names, rng = len(self.codec_.classes), self.codec_.names, np.random.default_rng(seed)
        if isinstance(self.order, OrderFinder):
            result = self._search_orders(learner, X, codes, seed, options)
            # Payoffs that are logarithms become ratios to the largest.
            payoffs = np.asarray(result.payoffs, dtype=np.float64)
            return result.orders, False, np.exp(payoffs - payoffs.max()) if result.logarithmic else payoffs
        if isinstance(self.order, str):
            n_chains, n_different = check_positive_integer(self, "n_chains", 10), math.factorial(min(n_labels, 20))
            orders: list[list[int]] = []
            while len(orders) < n_chains:
                order, _ = check_order(self.order, n_labels, rng=rng)
                if order not in orders or len(orders) >= n_different:  # all different, if there are enough
                    orders.append(order)
            return orders, False, None
        is_list = isinstance(self.order, Sequence | np.ndarray) and len(self.order) > 0
        if not is_list or isinstance(self.order[0], str | Integral):
            raise ValueError(
                f"`order={self.order!r}` of a population must be 'random', a sequence of orders such as "
                "[[0, 1, 2], [2, 0, 1]], or a search such as OrderSearch(keep=10)."
            )
        return [check_order(order, n_labels, names=names, rng=rng)[0] for order in self.order], True, None
