"""The value of an order: from an order to its links, to the labels of the validation rows, to the payoff."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from montechain._compat import check_method_params
from montechain._messages import check_choice
from montechain._rows import take_rows
from montechain.chain import Chain
from montechain.inference import Inference, check_inference
from montechain.joint import ChainModel
from montechain.links import FittedLinearLink, FittedLink, LinkLearner, LinkProblem, LogisticLink
from montechain.links.base import OneByOne
from montechain.losses import check_loss
from montechain.ordering.payoffs import Candidate, check_payoff, weighted_total
from montechain.parents import arrange, mutual_information
from montechain.targets import UNKNOWN, TargetCodec

Order = tuple[int, ...]
"""The label at each position."""
ACCURACY = 2e-5
"""Relative error of payoffs when links are fitted together and from warm starts."""
LINK_TOLERANCE = 0.05
"""Tolerance of logistic links (`LogisticLink.tol`), relative to the accuracy of payoffs. With links learned to 1e-6,
payoffs were off by 4e-6 on Yeast and by 1.1e-5 on Enron; with 1e-5, by 6e-5 and 1.6e-4."""
BATCH = 128
"""Number of prefetched links that are fitted together."""
MAX_BYTES = 2**28
"""Default size limit of a cache."""
N_NEIGHBOURS = 256
"""Number of recently used links per label that are considered for a warm start."""
UNKNOWN_SIZE = 2**20
"""Bytes that a link counts for if it cannot be pickled."""


@dataclass(eq=False)
class LinkCache:
    """Fits links, and keeps them, by label and set of parents, as long as memory allows.

    A link does not depend on the order of its parents. Two orders therefore share all links whose label has the same
    labels before it: swapping positions l < m changes the links at l, ..., m and no others.

    `fit_links` is what the learner's `prepared` returns: from problems to their links. With `warm_start`, as in
    `OrderEvaluator`, a link depends, within the solver's tolerance, on what was fitted before. The limit `max_bytes` is
    divided equally among the labels. The least recently used links go first, and are fitted again if they are needed
    again.
    """

    learner: LinkLearner
    fit_links: Callable[..., list[FittedLink]]
    n_labels: int
    _: KW_ONLY
    warm_start: bool = True
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        self.n_fitted = 0
        self.is_exact = not self.warm_start or isinstance(self.learner, OneByOne)
        """Whether a link is the same to the last bit whenever it is fitted."""
        # By label. Parents are the bits of an integer, so that two sets are compared quickly.
        self._known = [OrderedDict[int, tuple[LinkProblem, FittedLink, int]]() for _ in range(self.n_labels)]
        self._n_bytes = [0] * self.n_labels

    def links(self, problems: Sequence[LinkProblem]) -> list[FittedLink]:
        """Return the links of these problems, fitting those that are missing."""
        keys = [(label, _bits(parents)) for label, parents in problems]
        missing = {
            (label, bits): LinkProblem(label, tuple(sorted(problem.parents)))
            for (label, bits), problem in zip(keys, problems, strict=True)
            if bits not in self._known[label]
        }
        for (label, bits), link in zip(missing, self._fit(list(missing.values())), strict=True):
            if isinstance(link, FittedLinearLink):
                # Links fitted together may be pieces of one array, which would live as long as any of them.
                link = replace(link, coef=link.coef.copy(), intercept=link.intercept.copy())
            self._known[label][bits] = missing[label, bits], link, _size(link)
            self._n_bytes[label] += self._known[label][bits][2]
        found = [self._known[label][bits][1] for label, bits in keys]
        for label, bits in keys:
            self._known[label].move_to_end(bits)
        for label, _ in missing:
            while self._n_bytes[label] > self.max_bytes / self.n_labels:
                self._n_bytes[label] -= self._known[label].popitem(last=False)[1][2]
        return found

    def _fit(self, problems: list[LinkProblem]) -> list[FittedLink]:
        self.n_fitted += len(problems)
        if self.is_exact and not isinstance(self.learner, OneByOne):
            return [self.fit_links([problem])[0] for problem in problems]
        if isinstance(self.learner, LogisticLink):
            return self.fit_links(problems, initial=[self._nearest(problem) for problem in problems])
        return self.fit_links(problems)

    def _nearest(self, problem: LinkProblem) -> tuple[LinkProblem, FittedLink] | None:
        """Return the link of the same label whose parents differ least, of those used recently."""
        own, known = _bits(problem.parents), self._known[problem.label]
        recent = islice(reversed(known), N_NEIGHBOURS)
        nearest = min(recent, key=lambda other: (own ^ other).bit_count(), default=None)
        return None if nearest is None else known[nearest][:2]


def _bits(parents: Sequence[int]) -> int:
    return sum(1 << int(j) for j in parents)


def _size(link: FittedLink) -> int:
    try:
        return len(pickle.dumps(link, protocol=5))
    except Exception:  # a user's classifier may raise anything, and the size is only an estimate
        return UNKNOWN_SIZE


@dataclass(frozen=True)
class Fold:
    """Validation rows, and the links learned from the other rows."""

    X: Any
    codes: np.ndarray
    filled: np.ndarray
    weight: np.ndarray
    cache: LinkCache


class OrderEvaluator:
    """Evaluate label orders on data.

    The links of an order are learned from one part of the rows, unless they are known already; the payoff is that of
    the chain on the other part. `learner`, `X`, `codes` and `n_classes` are those of `Chain.learn`, `payoff`, `on`,
    `record` and `validation` those of `OrderSearch`, and `parents`, `inference` and `loss` those of `ChainClassifier`.
    Payoffs are summed over folds; scores are averaged. Scorers and losses get the user's `classes` of each label, by
    default the codes. Unknown parents are filled once for all orders, by draws from a chain in the order `start`. Other
    options are those of `LinkLearner.fit_links`; `sample_weight` also weights the rows in all payoffs but scorers.

    With `warm_start`, the new links of an order are learned together, starting from the most similar known ones;
    without, one by one and from scratch, so that payoffs are the same to the last bit whatever was learned before.
    `accuracy` is the relative error allowed in payoffs when links are fitted together and from warm starts; logistic
    links are learned as exactly as that takes. A candidate must gain more than this share to count as better.
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
        seed: int = 0,
        warm_start: bool = True,
        accuracy: float = ACCURACY,
        **options: Any,
    ):
        self.on = on
        check_choice(self, "on", ("prediction", "truth"))
        self.main = check_payoff(payoff)
        by_name = {self.main.name: self.main}
        for other in map(check_payoff, record):
            if by_name.setdefault(other.name, other).function is not other.function:
                raise ValueError(f"two different payoffs are named {other.name!r}: give the functions different names.")
        self.recorded = list(by_name.values())
        self.is_logarithmic = self.main.is_logarithm
        if isinstance(learner, LogisticLink):
            learner = clone(learner).set_params(tol=min(learner.tol, LINK_TOLERANCE * accuracy))
        self.n_classes = tuple(int(k) for k in n_classes)
        self.n_labels = len(self.n_classes)
        self.parents = parents
        self.inference = check_inference(inference)
        self.codec = TargetCodec([np.arange(k) for k in self.n_classes] if classes is None else list(classes))
        self.loss = check_loss(loss, classes=self.codec.classes, order=range(self.n_labels))
        self.names = names
        self.seed = seed
        self.codes = codes
        sample_weight = options.get("sample_weight")
        weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        by_information = parents == "tree" if isinstance(parents, str) else isinstance(parents, int | np.integer)
        self.information = mutual_information(codes, self.n_classes, sample_weight) if by_information else None
        # Here, so that impossible parents are refused before any link is fitted.
        start, graph = self.arranged(tuple(range(self.n_labels)) if start is None else tuple(start))

        self._folds = []
        splits = split_rows(validation, X, codes, np.random.default_rng([seed, 0]))
        for train, test in splits:
            X_train, X_test = (X, X) if validation is None else (take_rows(X, train), take_rows(X, test))
            own = {"names": names, **check_method_params(X, options, train)}
            filled, n_fitted = codes, 0
            if (codes == UNKNOWN).any():
                chain = Chain.learn(learner, X_train, codes[train], self.n_classes, start, graph, seed=seed, **own)
                filled, n_fitted = chain.complete(X, codes, np.random.default_rng([seed, 1])), self.n_labels
            fit_links = learner.prepared(X_train, codes[train], filled[train], self.n_classes, **own)
            max_bytes = MAX_BYTES // len(splits)
            cache = LinkCache(learner, fit_links, self.n_labels, warm_start=warm_start, max_bytes=max_bytes)
            cache.n_fitted = n_fitted
            self._folds.append(Fold(X_test, codes[test], filled[test], weight[test], cache))
        self.tolerance = 0.0 if cache.is_exact else accuracy
        """Share of a payoff that a candidate must gain to count as better: zero if fits are exact."""
        self._values: dict[Hashable, dict[str, float]] = {}

    @property
    def n_links_fitted(self) -> int:
        """Number of links fitted so far, in all folds together."""
        return sum(fold.cache.n_fitted for fold in self._folds)

    def payoff(self, order: Order) -> float:
        """Return the value of an order; more is better."""
        return self._evaluate(order, [self.main])[self.main.name]

    def payoffs(self, order: Order) -> dict[str, float]:
        """Return the payoff that is maximised and all that are recorded, by name."""
        return self._evaluate(order, self.recorded)

    def link_payoffs(self, links: Sequence[tuple[int, Iterable[int]]]) -> list[float]:
        """Return the log-likelihood of some labels, where they are known, each given the labels before it.

        Over all labels of an order it sums up to ``J_EM_prod`` on the truth if every label is known.
        """
        if self.parents == "tree":
            raise ValueError(
                "`parents='tree'` does not work with an order that is built link by link: the tree depends on the "
                "first label. Use OrderSearch() or AllOrders()."
            )
        problems = []
        for label, earlier in links:
            before = sorted(int(j) for j in earlier)
            after = sorted(set(range(self.n_labels)) - {label, *before})
            problems.append(LinkProblem(label, self.arranged((*before, label, *after))[1][label]))
        totals = [0.0] * len(problems)
        for fold in self._folds:
            for i, link in enumerate(fold.cache.links(problems)):
                label, parents = problems[i]
                known = np.flatnonzero(fold.codes[:, label] != UNKNOWN)
                log_proba = link.log_proba(fold.X, fold.filled[:, list(parents)])[known, fold.codes[known, label]]
                totals[i] += weighted_total(log_proba, fold.weight[known])
        return totals

    def prefetch(self, orders: Iterable[Order]) -> None:
        """Fit the links of several orders together, those with few parents first."""
        graphs = {self.arranged(order)[1] for order in orders}
        found = {LinkProblem(label, parents) for graph in graphs for label, parents in enumerate(graph)}
        problems = sorted(found, key=lambda problem: (len(problem.parents), problem))
        for fold in self._folds:
            for start in range(0, len(problems), BATCH):
                fold.cache.links(problems[start : start + BATCH])

    def distinct(self, order: Order) -> Hashable:
        """Return a key that two orders share if and only if their chains are the same: the parents of each label."""
        return order if self.parents == "all" else self.arranged(order)[1]

    def arranged(self, order: Order) -> tuple[Order, tuple[tuple[int, ...], ...]]:
        """Return the order in which the labels stand, and the parents of each."""
        return arrange(self.parents, order, self.codes, self.n_classes, names=self.names, information=self.information)

    def _evaluate(self, order: Order, payoffs: Sequence[Any]) -> dict[str, float]:
        known = self._values.setdefault(self.distinct(order), {})
        missing = [payoff for payoff in payoffs if payoff.name not in known]
        if missing:
            by_fold = [self._payoffs_on(fold, order, missing) for fold in self._folds]
            for payoff, values in zip(missing, zip(*by_fold, strict=True), strict=True):
                known[payoff.name] = float(np.mean(values) if payoff.of == "estimator" else sum(values))
        return {payoff.name: known[payoff.name] for payoff in payoffs}

    def _payoffs_on(self, fold: Fold, order: Order, payoffs: Sequence[Any]) -> list[float]:
        """Return payoffs of the chain with this order, learned from the other rows, on the rows of one fold."""
        order, graph = self.arranged(order)
        links = fold.cache.links([LinkProblem(label, graph[label]) for label in order])
        model = ChainModel(Chain.of_labels(order, graph, links), self.inference)
        candidate = Candidate(model, self.loss, self.codec, self.seed)
        wanted = {payoff.of for payoff in payoffs} - {"estimator"}
        proba = candidate.proba_of(fold.X, fold.codes if self.on == "truth" else None, wanted) if wanted else {}
        return [
            float(payoff.function(candidate, fold.X, self.codec.decode_array(fold.codes)))
            if payoff.of == "estimator"
            else weighted_total(payoff.function(proba[payoff.of]), fold.weight)
            for payoff in payoffs
        ]


def split_rows(validation: Any, X: Any, codes: np.ndarray, rng: np.random.Generator) -> list[Any]:
    """Return pairs of row numbers, to learn from and to validate on; `validation` as in `OrderSearch`."""
    everything = np.arange(len(codes))
    if validation is None:
        return [(everything, everything)]
    if isinstance(validation, Real) and 0.0 < float(validation) < 1.0:
        return [hold_out(codes, float(validation), rng)]
    pairs = validation.split(X, codes) if hasattr(validation, "get_n_splits") else validation
    try:
        folds = [(everything[train], everything[test]) for train, test in pairs]
    except (TypeError, ValueError, IndexError):
        raise ValueError(
            f"`validation={validation!r}` must be a share of the rows between 0 and 1, e.g. 1/3; a splitter, e.g. "
            "KFold(3); pairs of row numbers; or None for the training rows themselves."
        ) from None
    if not folds or any(len(train) == 0 or len(test) == 0 for train, test in folds):
        advice = "Give a share such as 1/3, or a splitter such as KFold(3)."
        raise ValueError(f"`validation={validation!r}` leaves no rows to learn from or to validate on. {advice}")
    return folds


def hold_out(codes: np.ndarray, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from and, stratified by label set, the rows held out.

    The rows are sorted by label set, those of one set in random order, and taken at regular intervals. So each set has
    its share among the rows held out, up to one row, and rare sets are grouped with similar ones. A class that would be
    missing among the rows to learn from gets one of its rows back. A single row, which cannot be split, is in both
    parts.

    >>> codes = np.array([[0], [0], [0], [1], [1], [1]])
    >>> train, test = hold_out(codes, 1 / 3, np.random.default_rng(0))
    >>> np.bincount(codes[test, 0])
    array([1, 1])
    """
    n_rows = len(codes)
    if n_rows < 2:
        return np.arange(n_rows), np.arange(n_rows)
    n_held_out = min(max(round(share * n_rows), 1), n_rows - 1)
    shuffled = rng.permutation(n_rows)
    by_label_set = shuffled[np.lexsort(codes[shuffled].T[::-1])]
    places = np.floor((np.arange(n_held_out) + rng.random()) * (n_rows / n_held_out)).astype(np.intp)
    held_out = np.zeros(n_rows, dtype=bool)
    held_out[by_label_set[np.minimum(places, n_rows - 1)]] = True
    for label in codes.T:
        lacking = np.setdiff1d(label[held_out], label[~held_out])
        for code in lacking[lacking >= 0]:
            if held_out.sum() > 1:
                held_out[np.flatnonzero(held_out & (label == code))[0]] = False
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
