"""What an order is worth: from an order to its links, to the labels of the validation rows, to the payoff."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from montechain._compat import check_method_params
from montechain._messages import check_choice
from montechain._rows import take_rows
from montechain.chain import Chain
from montechain.inference import Inference, check_inference
from montechain.joint import ChainModel
from montechain.links import LinkLearner, LinkProblem, LogisticLink
from montechain.losses import check_loss
from montechain.ordering.candidate import Candidate, Fold
from montechain.ordering.link_cache import MAX_BYTES, LinkCache
from montechain.ordering.orders import Order, SearchResult
from montechain.ordering.payoffs import Payoff, check_payoff
from montechain.ordering.validation import split_rows
from montechain.parents import arrange, mutual_information
from montechain.targets import UNKNOWN, TargetCodec

__all__ = ["OrderEvaluator", "OrderFinder"]

ACCURACY = 2e-5
"""Share by which payoffs may differ when links are fitted together and from warm starts."""
LINK_TOLERANCE = 0.05
"""Share of the accuracy of payoffs to which logistic links are learned (`LogisticLink.tol`). With links learned to
1e-6, payoffs were off by 4e-6 on Yeast and by 1.1e-5 on Enron; with 1e-5, by 6e-5 and 1.6e-4."""
MAX_CACHED = 2**14
"""Maximum number of orders, and of links, whose payoffs are cached."""
EVALUATION = ("payoff", "on", "record", "validation", "warm_start", "max_cache_bytes")
"""Parameters of a finder that say how orders are judged, as far as it has them."""


class OrderEvaluator:
    """Says what an order is worth. All that a search of orders needs to know of the data.

    The links of an order are learned from one part of the rows, as far as they are not known already; the payoff is
    that of the chain on the other part.

    Parameters
    ----------
    learner : LinkLearner
    X : array, CSR matrix or data frame of n rows
    codes : int32 ndarray of shape (n, L)
        One column per label, -1 where a label is not known. Unknown parents are filled, once for all orders, by draws
        from a chain with the order `start`.
    n_classes : sequence of int
        Number of classes of each label.
    payoff, on, record, validation, warm_start, max_cache_bytes
        How orders are judged, as in `OrderSearch`. Payoffs are summed over folds; of scorers, the mean is taken.
    parents, inference, loss
        The chain, and how the predicted labels are found, as in `ChainClassifier`.
    classes : sequence of L arrays, optional
        The user's classes of each label, for scorers and losses; by default the codes.
    names : sequence, optional
        Names of the labels.
    start : sequence of int, optional
        Order of the chain that fills unknown labels; by default, as the labels stand.
    sample_weight : ndarray of shape (n,), optional
        For the links, and for the rows in all payoffs but scorers.
    seed : int, default=0
        For the choice of validation rows, the filling, and the draws of the inference: those are the same for all
        orders.
    n_jobs : int, optional
    accuracy : float, default=2e-5
        Share by which payoffs may be off when links are fitted together and from warm starts; logistic links are
        learned as exactly as that takes. A candidate must gain more than this share to count as better.
    fit_params : dict, optional
        Passed on to the classifier's ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import LogisticLink
    >>> X, Y = make_multilabel_classification(n_samples=90, n_classes=3, random_state=0)
    >>> evaluator = OrderEvaluator(LogisticLink(), X, Y.astype(np.int32), [2, 2, 2], record=["J_Ham", "exact_match"])
    >>> round(evaluator.payoff((0, 1, 2)), 1)
    23.9
    >>> sorted(evaluator.payoffs((0, 1, 2)))
    ['J_EM', 'J_Ham', 'exact_match']
    >>> _ = evaluator.payoff((1, 0, 2))  # the first two links are new, the third is the same
    >>> evaluator.n_links_fitted
    5
    """

    def __init__(
        self,
        learner: LinkLearner,
        X: Any,
        codes: np.ndarray,
        n_classes: Sequence[int],
        *,
        payoff: Any = "J_EM",
        on: str = "prediction",
        record: Sequence[Any] = (),
        validation: Any = 1 / 3,
        parents: Any = "all",
        inference: str | Inference = "branch_and_bound",
        loss: Any = "exact_match",
        classes: Sequence[np.ndarray] | None = None,
        names: Sequence[Any] | None = None,
        start: Sequence[int] | None = None,
        sample_weight: np.ndarray | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
        warm_start: bool = True,
        max_cache_bytes: int = MAX_BYTES,
        accuracy: float = ACCURACY,
        fit_params: dict[str, Any] | None = None,
    ):
        self.main = check_payoff(payoff)
        self.on = on
        check_choice(self, "on", ("prediction", "truth"))
        self.recorded = self._others([check_payoff(other) for other in record])
        if isinstance(learner, LogisticLink):
            learner = clone(learner).set_params(tol=min(learner.tol, LINK_TOLERANCE * accuracy))
        self.accuracy = accuracy
        self.n_classes = tuple(int(k) for k in n_classes)
        self.parents = parents
        self.inference = check_inference(inference)
        self.codec = TargetCodec([np.arange(k) for k in self.n_classes] if classes is None else list(classes))
        self.loss = check_loss(loss, classes=self.codec.classes, order=range(self.n_labels))
        self.names = names
        self.seed = seed
        self.n_jobs = n_jobs
        self.codes = codes
        by_information = parents == "tree" if isinstance(parents, str) else isinstance(parents, int | np.integer)
        self.information = mutual_information(codes, self.n_classes, sample_weight) if by_information else None
        # Here, so that impossible parents are refused before any link is fitted.
        start, graph = self.arranged(tuple(range(self.n_labels)) if start is None else tuple(start))

        self._n_links_for_filling = 0
        self._folds = []
        splits = split_rows(validation, X, codes, np.random.default_rng([seed, 0]))
        for train, test in splits:
            X_train, X_test = (X, X) if validation is None else (take_rows(X, train), take_rows(X, test))
            options: dict[str, Any] = {"names": names, "n_jobs": n_jobs}
            if sample_weight is not None:
                options["sample_weight"] = sample_weight[train]
            options |= check_method_params(X, fit_params or {}, train)
            filled = codes
            if (codes == UNKNOWN).any():
                chain = Chain.learn(learner, X_train, codes[train], self.n_classes, start, graph, seed=seed, **options)
                self._n_links_for_filling += self.n_labels
                filled = fill(chain, X, codes, np.random.default_rng([seed, 1]))
            cache = LinkCache(
                learner, X_train, codes[train], filled[train], self.n_classes,
                warm_start=warm_start, max_bytes=max_cache_bytes // len(splits), **options,
            )  # fmt: skip
            weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[test]
            self._folds.append(Fold(X_test, codes[test], filled[test], weight, cache))
        self._values: dict[Hashable, dict[str, float]] = {}
        self._link_values: dict[LinkProblem, float] = {}

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.n_classes)

    @property
    def n_links_fitted(self) -> int:
        """How many links have been fitted so far, in all folds together."""
        return self._n_links_for_filling + sum(fold.cache.n_fitted for fold in self._folds)

    @property
    def n_bytes(self) -> int:
        """About how much memory the cached links take."""
        return sum(fold.cache.n_bytes for fold in self._folds)

    @property
    def is_logarithmic(self) -> bool:
        """Whether `payoff` is the logarithm of what the paper calls the payoff."""
        return self.main.is_logarithm

    @property
    def tolerance(self) -> float:
        """Share of a payoff that a candidate must gain to count as better: zero if fits are exact."""
        return 0.0 if all(fold.cache.is_exact for fold in self._folds) else self.accuracy

    def payoff(self, order: Order) -> float:
        """Return what an order is worth; more is better."""
        return self._payoffs(order, [self.main])[self.main.name]

    def payoffs(self, order: Order) -> dict[str, float]:
        """Return the payoff that is maximised and all that are recorded, by name."""
        return self._payoffs(order, [self.main, *self.recorded])

    def link_payoff(self, label: int, earlier: frozenset[int]) -> float:
        """Return the log-likelihood of one label on the validation rows, if the labels `earlier` come before it.

        It is about the true classes, where they are known; over all labels of an order it sums up to
        ``J_EM_prod`` on the truth if every label is known.
        """
        problem = self._link(label, earlier)
        if problem not in self._link_values:
            _keep(self._link_values, problem, sum(fold.log_likelihood(problem) for fold in self._folds))
        return self._link_values[problem]

    def prefetch(self, links: Iterable[tuple[int, Iterable[int]]]) -> None:
        """Fit links together, pairs of a label and the labels before it, that will be asked for next."""
        problems = [self._link(label, earlier) for label, earlier in links]
        for fold in self._folds:
            fold.cache.links(problems)

    def distinct(self, order: Order) -> Hashable:
        """Return what two orders have in common if and only if their chains are the same.

        With all earlier labels for parents that is the order itself; otherwise, who is whose parent.
        """
        return order if isinstance(self.parents, str) and self.parents == "all" else self.arranged(order)[1]

    def arranged(self, order: Order) -> tuple[Order, tuple[tuple[int, ...], ...]]:
        """Return the order in which the labels stand, and the parents of each."""
        return arrange(self.parents, order, self.codes, self.n_classes, names=self.names, information=self.information)

    def _others(self, payoffs: Sequence[Payoff]) -> list[Payoff]:
        """Return each payoff once, without the main one."""
        by_name = {self.main.name: self.main}
        for payoff in payoffs:
            if by_name.setdefault(payoff.name, payoff).function is not payoff.function:
                raise ValueError(
                    f"two different payoffs are called {payoff.name!r}: give the functions different names."
                )
        return list(by_name.values())[1:]

    def _link(self, label: int, earlier: Iterable[int]) -> LinkProblem:
        if isinstance(self.parents, str) and self.parents == "tree":
            raise ValueError(
                "`parents='tree'` does not go with an order that is built link by link: who is whose parent depends on "
                "the first label. Use OrderSearch() or AllOrders()."
            )
        before = sorted(int(j) for j in earlier)
        after = sorted(set(range(self.n_labels)) - {label, *before})
        return LinkProblem(label, self.arranged((*before, label, *after))[1][label])

    def _payoffs(self, order: Order, wanted: Sequence[Payoff]) -> dict[str, float]:
        key = self.distinct(order)
        known = self._values.get(key, {})
        missing = [payoff for payoff in wanted if payoff.name not in known]
        if missing:
            known = {**known, **self._evaluate(order, missing)}
            _keep(self._values, key, known)
        return {payoff.name: known[payoff.name] for payoff in wanted}

    def _evaluate(self, order: Order, payoffs: Sequence[Payoff]) -> dict[str, float]:
        order, graph = self.arranged(order)
        position = {label: k for k, label in enumerate(order)}
        problems = [LinkProblem(label, graph[label]) for label in order]
        parents = [[position[j] for j in problem.parents] for problem in problems]
        values: dict[str, list[float]] = {payoff.name: [] for payoff in payoffs}
        for fold in self._folds:
            model = ChainModel(Chain(order, parents, fold.cache.links(problems)), self.inference)
            candidate = Candidate(model, fold, self.loss, self.codec, self.on, self.seed)
            for payoff in payoffs:
                values[payoff.name].append(float(candidate.value(payoff)))
        return {
            payoff.name: float(np.mean(values[payoff.name]) if payoff.of == "estimator" else sum(values[payoff.name]))
            for payoff in payoffs
        }


class OrderFinder(BaseEstimator, ABC):
    """From an evaluator of orders to good orders. What `order` of an estimator may be."""

    def evaluator(
        self, learner: LinkLearner, X: Any, codes: np.ndarray, n_classes: Sequence[int], **options: Any
    ) -> OrderEvaluator:
        """Return an `OrderEvaluator` with the payoff and the validation rows of this finder; parameters as there."""
        own = {name: getattr(self, name) for name in EVALUATION if hasattr(self, name)}
        return OrderEvaluator(learner, X, codes, n_classes, **own, **options)

    @abstractmethod
    def find(self, evaluator: Any, *, start: Order, rng: np.random.Generator) -> SearchResult:
        """Return the best orders found.

        Parameters
        ----------
        evaluator : OrderEvaluator
            Or anything with its `n_labels`, `n_links_fitted`, `tolerance`, `payoff` and `link_payoff`.
        start : tuple of int
            An order to start from; finders that need none ignore it.
        rng : numpy.random.Generator
        """


def fill(chain: Chain, X: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the codes (one column per label) with unknown labels drawn from the chain, each given those before it."""
    filled = codes.copy()
    rows = np.flatnonzero((codes == UNKNOWN).any(axis=1))
    order = list(chain.order)
    known = np.ascontiguousarray(codes[rows][:, order])
    drawn, _ = chain.sample(take_rows(X, rows), rng.random((len(rows), 1, len(order))), known)
    filled[rows[:, None], order] = drawn[:, 0]
    return filled


def _keep(values: dict, key: Hashable, value: Any) -> None:
    """Keep a value, and forget the first if there are too many."""
    values[key] = value
    if len(values) > MAX_CACHED:
        del values[next(iter(values))]
