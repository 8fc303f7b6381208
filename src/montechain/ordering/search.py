"""The search of the paper: propose, evaluate, accept or reject."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from montechain._messages import check_choice, check_positive_integer
from montechain.links import LinkLearner
from montechain.ordering.acceptance import Acceptance, NotWorse, Strict, check_acceptance
from montechain.ordering.evaluator import OrderEvaluator, OrderFinder
from montechain.ordering.link_cache import MAX_BYTES
from montechain.ordering.orders import Order, SearchResult, check_order
from montechain.ordering.proposals import Proposal, check_proposal

__all__ = ["OrderSearch", "OrderStep", "search"]

OnStep = Callable[[Mapping[str, Any]], Any]


class OrderStep(NamedTuple):
    """One iteration: where the search stands after it, and the candidate that led there or not."""

    iteration: int
    order: Order
    payoff: float
    candidate: Order
    candidate_payoff: float
    accepted: bool


def search(
    payoff: Callable[[Order], float],
    start: Order,
    proposal: Proposal,
    acceptance: Acceptance,
    rng: np.random.Generator,
    *,
    tolerance: float = 0.0,
) -> Iterator[OrderStep]:
    """Walk through the orders, endlessly: the caller decides when it is enough and what to keep.

    Algorithm 1 of Read, Martino and Luengo (2014) with `Strict`, the loop of Algorithm 2 with `NotWorse`.

    `payoff` is J(s) and `start` is s_0, the first item. Payoffs closer than the share `tolerance` are a tie.

    Examples
    --------
    >>> import numpy as np
    >>> from itertools import islice
    >>> from montechain.ordering.acceptance import Strict
    >>> from montechain.ordering.proposals import Swap
    >>> steps = search(lambda order: order[0], (0, 1, 2), Swap(), Strict(), np.random.default_rng(0))
    >>> [(step.iteration, step.order, step.accepted) for step in islice(steps, 4)]
    [(0, (0, 1, 2), True), (1, (0, 1, 2), False), (2, (1, 0, 2), True), (3, (1, 0, 2), False)]
    """
    order, value = start, payoff(start)
    yield OrderStep(0, order, value, order, value, True)
    for t in count(1):
        candidate = proposal.propose(order, t, rng)
        candidate_value = payoff(candidate)
        accepted = acceptance.accept(candidate_value, value, rng, tolerance)
        if accepted:
            order, value = candidate, candidate_value
        yield OrderStep(t, order, value, candidate, candidate_value, accepted)


class OrderSearch(OrderFinder):
    """Search for a good order, or for several, by Monte Carlo: Algorithms 1 and 2 of the paper.

    From a start, each iteration proposes another order, learns the links that it has and no order before it had,
    and moves there if its payoff on the validation rows is better (Algorithm 1) or not worse (Algorithm 2, with
    ``keep > 1``). An order costs as many links as its labels have new sets of labels before them: a swap of the
    positions l < m at most m - l + 1, a swap of neighbours two.

    Parameters
    ----------
    proposal : str or Proposal, default="swap"
        Where to go next: "swap", "tempered_swap", "local_swap", or a proposal such as ``TemperedSwap(beta=0.03)``.
    payoff : str or callable, default="J_EM"
        What is maximised: "J_EM", "J_EM_prod", "J_Ham", "J_Ham_prod", the name of a scorer, or a function
        ``scorer(estimator, X, Y)``; see `montechain.ordering.payoffs`.
    on : {"prediction", "truth"}, default="prediction"
        Whether the payoff is about the predicted labels, as in the paper, or the true ones.
    n_iterations : int, default=50
        T_s of the paper. Each restart has as many.
    keep : int, default=1
        How many orders to return. More than one: the best of the different orders that the search stood at, with a
        warning if there are fewer.
    validation : float, splitter, iterable of pairs, or None, default=1/3
        The rows that an order is judged by: a share held out of the training rows, stratified by label set; a
        scikit-learn splitter, over whose folds the payoff is summed; or None for the training rows themselves.
    acceptance : None, str or Acceptance, default=None
        When to move to a candidate: "strict", "not_worse", "metropolis" or a rule such as
        ``Metropolis(temperature=1.0)``. None: `Strict` if one order is kept, else `NotWorse`.
    start : None, "random" or sequence, default=None
        The order to start from; None: that of the estimator. Restarts begin at random orders.
    n_restarts : int, default=1
        How many independent searches to run. The best orders of all of them are kept.
    pool : {"visited", "evaluated"}, default="visited"
        Which orders may be kept: those that the search stood at, s_1, ..., s_T, or also rejected candidates and the
        start.
    warm_start : bool, default=True
        Learn the new links of a candidate together, starting from the most similar known ones. False: one by one
        and from nothing, so that payoffs are the same to the last bit whatever was learned before.
    max_cache_bytes : int, default=2**28
        Memory for known links. Those used longest ago are forgotten, and learned again if need be.
    record : sequence of str or callable, default=()
        More payoffs for the trace.

    References
    ----------
    Read, Martino and Luengo (2014), Efficient Monte Carlo methods for multi-dimensional learning with
    classifier chains. Pattern Recognition 47.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import LogisticLink
    >>> X, Y = make_multilabel_classification(n_samples=90, n_classes=3, random_state=0)
    >>> order_search = OrderSearch(n_iterations=5)
    >>> evaluator = order_search.evaluator(LogisticLink(), X, Y.astype(np.int32), [2, 2, 2])
    >>> result = order_search.find(evaluator, start=(0, 1, 2), rng=np.random.default_rng(0))
    >>> result.payoffs[0] >= result.trace[0]["payoff"]
    True
    >>> [row["accepted"] for row in result.trace].count(True) >= 1
    True
    """

    def __init__(
        self,
        proposal: str | Proposal = "swap",
        payoff: Any = "J_EM",
        *,
        on: str = "prediction",
        n_iterations: int = 50,
        keep: int = 1,
        validation: Any = 1 / 3,
        acceptance: str | Acceptance | None = None,
        start: Any = None,
        n_restarts: int = 1,
        pool: str = "visited",
        warm_start: bool = True,
        max_cache_bytes: int = MAX_BYTES,
        record: Sequence[Any] = (),
    ):
        self.proposal = proposal
        self.payoff = payoff
        self.on = on
        self.n_iterations = n_iterations
        self.keep = keep
        self.validation = validation
        self.acceptance = acceptance
        self.start = start
        self.n_restarts = n_restarts
        self.pool = pool
        self.warm_start = warm_start
        self.max_cache_bytes = max_cache_bytes
        self.record = record

    def evaluator(  # noqa: D102
        self, learner: LinkLearner, X: Any, codes: np.ndarray, n_classes: Sequence[int], **options: Any
    ) -> OrderEvaluator:
        self._check()
        return super().evaluator(learner, X, codes, n_classes, **options)

    @property
    def n_steps(self) -> int:
        """Number of steps of all restarts together, the starts included."""
        return self.n_restarts * (self.n_iterations + 1)

    def find(
        self, evaluator: Any, *, start: Order, rng: np.random.Generator, on_step: OnStep | None = None
    ) -> SearchResult:
        """Return the best orders found.

        An interrupt (Ctrl-C) ends the search early, with a warning; the orders found until then count.

        The trace has the columns restart, iteration, order, payoff (both after the iteration), candidate,
        candidate_payoff, accepted, n_links_fitted and seconds (both since the restart began), and those asked for by
        `record`. `on_step` is called with each new row; see `montechain.ordering.progress`. Restarts run one after the
        other and share their links.
        """
        proposal, acceptance = self._check()
        generators = rng.spawn(self.n_restarts)
        starts = [self._start(evaluator, start, generator, restart) for restart, generator in enumerate(generators)]
        trace: list[dict[str, Any]] = []
        try:
            for restart, (own_start, generator) in enumerate(zip(starts, generators, strict=True)):
                began, n_before = time.perf_counter(), evaluator.n_links_fitted
                steps = search(
                    evaluator.payoff, own_start, proposal, acceptance, generator, tolerance=evaluator.tolerance
                )
                for step in islice(steps, self.n_iterations + 1):
                    row = {"restart": restart, **step._asdict()}
                    if self.record:
                        row = {**evaluator.payoffs(step.order), **row}
                    row["n_links_fitted"] = evaluator.n_links_fitted - n_before
                    row["seconds"] = time.perf_counter() - began
                    trace.append(row)
                    if on_step is not None:
                        on_step(row)
        except KeyboardInterrupt:
            if not trace:
                raise
            warnings.warn(
                f"the search was interrupted after {len(trace)} of {self.n_steps} steps: the best of the orders found "
                "until then is kept.",
                stacklevel=2,
            )
        return SearchResult.best_of(
            self._candidates(evaluator, trace), self.keep, trace=trace, logarithmic=evaluator.is_logarithmic
        )

    def _check(self) -> tuple[Proposal, Acceptance]:
        keep = check_positive_integer(self, "keep", 10)
        check_positive_integer(self, "n_restarts", 5)
        if not isinstance(self.n_iterations, Integral) or isinstance(self.n_iterations, bool) or self.n_iterations < 0:
            raise ValueError(
                f"`n_iterations={self.n_iterations!r}` of OrderSearch must be a whole number, e.g. "
                "OrderSearch(n_iterations=50)."
            )
        check_choice(self, "pool", ("visited", "evaluated"))
        acceptance = (Strict() if keep == 1 else NotWorse()) if self.acceptance is None else self.acceptance
        return check_proposal(self.proposal), check_acceptance(acceptance)

    def _start(self, evaluator: Any, start: Order, rng: np.random.Generator, restart: int) -> Order:
        own = "random" if restart > 0 else start if self.start is None else self.start
        names = getattr(evaluator, "names", None)
        return tuple(check_order(own, evaluator.n_labels, names=names, rng=rng)[0])

    def _candidates(self, evaluator: Any, trace: Sequence[Mapping[str, Any]]) -> dict[Order, float]:
        """Return the orders that may be kept, the earliest of those that are the same chain, and their payoffs."""
        pool: dict[Any, tuple[Order, float]] = {}
        last = {row["restart"]: row["iteration"] for row in trace}
        for row in trace:
            if self.pool == "evaluated":
                order, payoff = row["candidate"], row["candidate_payoff"]
            elif row["iteration"] > 0 or last[row["restart"]] == 0:
                order, payoff = row["order"], row["payoff"]
            else:
                continue  # Algorithm 2 sorts s_1, ..., s_T: the start counts if the search stayed there
            pool.setdefault(evaluator.distinct(order), (order, payoff))
        return dict(pool.values())
