"""The search of the paper: propose, evaluate, accept or reject."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np

from montechain._messages import check_choice, check_positive_integer, check_time_limit
from montechain.ordering.evaluator import Order
from montechain.ordering.orders import OrderFinder, SearchResult, comparable
from montechain.ordering.proposals import Proposal, check_proposal

N_LINES = 10
"""Number of progress lines of a search."""


class OrderStep(NamedTuple):
    """One iteration: the order after it, and the candidate, accepted or not."""

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
    rng: np.random.Generator,
    *,
    accept_ties: bool = False,
    tolerance: float = 0.0,
) -> Iterator[OrderStep]:
    """Yield the steps of an endless search: the caller decides when to stop and what to keep.

    Algorithm 1 of Read, Martino and Luengo (2014), or with `accept_ties` the loop of Algorithm 2. `payoff` is J(s) and
    `start` is s_0, the first item.

    Payoffs that differ by no more than the share `tolerance` count as equal, so that no decision depends on the
    rounding of a solver. A payoff that is not a number is worse than any other.

    >>> from montechain.ordering.proposals import Swap
    >>> steps = search(lambda order: order[0], (0, 1, 2), Swap(), np.random.default_rng(0))
    >>> [(step.iteration, step.order, step.accepted) for step in islice(steps, 4)]
    [(0, (0, 1, 2), True), (1, (0, 1, 2), False), (2, (1, 0, 2), True), (3, (1, 0, 2), False)]
    """
    order, value = start, payoff(start)
    yield OrderStep(0, order, value, order, value, True)
    for t in count(1):
        candidate = proposal.propose(order, t, rng)
        candidate_value = payoff(candidate)
        new, old = comparable(candidate_value), comparable(value)
        is_tie = new == old or (math.isfinite(old) and abs(new - old) <= tolerance * abs(old))
        accepted = accept_ties if is_tie else new > old
        if accepted:
            order, value = candidate, candidate_value
        yield OrderStep(t, order, value, candidate, candidate_value, accepted)


@dataclass(eq=False, repr=False)
class OrderSearch(OrderFinder):
    """Search for a good order, or for several, by Monte Carlo: Algorithms 1 and 2 of the paper.

    Each iteration proposes another order, learns the links that no order before it had, and moves there if its payoff
    on the validation rows is better (Algorithm 1) or not worse (Algorithm 2, with ``keep > 1``). A swap of the
    positions l < m costs at most m - l + 1 links, a swap of neighbours two.

    Parameters
    ----------
    proposal : str or Proposal, default="swap"
        Where to go next: "swap", "tempered_swap", or a proposal such as ``TemperedSwap(beta=0.03)``.
    payoff : str or callable, default="J_EM"
        What is maximised: "J_EM", "J_EM_prod", "J_Ham", "J_Ham_prod", the name of a scorer, or a function
        ``scorer(estimator, X, Y)``; see `montechain.ordering.payoffs`.
    on : {"prediction", "truth"}, default="prediction"
        Whether the payoff is about the predicted labels, as in the paper, or the true ones.
    n_iterations : int, default=50
        T_s of the paper, for each restart.
    keep : int, default=1
        How many orders to return, all different; with a warning, fewer if fewer were found.
    validation : float, splitter, iterable of pairs, or None, default=1/3
        The rows that an order is judged by: a share held out of the training rows, stratified by label set; a
        scikit-learn splitter, over whose folds the payoff is summed; or None for the training rows themselves.
    n_restarts : int, default=1
        How many searches to run, all but the first from random orders. The best orders of all of them are kept.
    pool : {"visited", "evaluated"}, default="visited"
        Which orders may be kept: those that the search visited, or also rejected candidates and the start.
    record : sequence of str or callable, default=()
        More payoffs for the trace.
    time_limit : float, default=None
        Seconds after which no further order is tried: the best of those found by then is kept, with a warning. None:
        no limit.

    References
    ----------
    Read, Martino and Luengo (2014), Efficient Monte Carlo methods for multi-dimensional learning with
    classifier chains. Pattern Recognition 47.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier, OrderSearch
    >>> X, Y = make_multilabel_classification(n_samples=90, n_classes=3, random_state=0)
    >>> model = ChainClassifier(order=OrderSearch(n_iterations=5), random_state=0).fit(X, Y)
    >>> model.search_trace_[-1]["payoff"] >= model.search_trace_[0]["payoff"]
    True
    """

    proposal: str | Proposal = "swap"
    payoff: Any = "J_EM"
    _: KW_ONLY
    on: str = "prediction"
    n_iterations: int = 50
    keep: int = 1
    validation: Any = 1 / 3
    n_restarts: int = 1
    pool: str = "visited"
    record: Sequence[Any] = ()
    time_limit: float | None = None

    def find(self, evaluator: Any, *, start: Order, rng: np.random.Generator, verbose: bool = False) -> SearchResult:
        """Return the best orders found.

        The trace has the columns restart, iteration, order, payoff (both after the iteration), candidate,
        candidate_payoff, accepted, n_links_fitted and seconds (both since the restart began), and the payoffs in
        `record`. `verbose` prints the progress and the best payoff, in ten lines. An interrupt (Ctrl-C) ends the search
        early, with a warning.
        """
        check_positive_integer(self, "keep", 10)
        check_positive_integer(self, "n_restarts", 5)
        check_positive_integer(self, "n_iterations", 50, or_zero=True)
        check_choice(self, "pool", ("visited", "evaluated"))
        n_steps, best, ended = self.n_restarts * (self.n_iterations + 1), -math.inf, ""
        trace: list[dict[str, Any]] = []
        deadline = time.perf_counter() + (check_time_limit(self.time_limit) or math.inf)
        try:
            for row in self._steps(evaluator, start, rng):
                trace.append(row)
                n_done, best = len(trace), max(best, comparable(row["payoff"]))
                if time.perf_counter() > deadline and n_done < n_steps:
                    ended = f"ended by time_limit={self.time_limit:g}"
                    break
                if verbose and n_done * N_LINES // n_steps > (n_done - 1) * N_LINES // n_steps:
                    print(f"order search: {n_done} of {n_steps}, payoff {best:.6g}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            if not trace:
                raise
            ended = "interrupted"
        if ended:
            found = f"the search was {ended} after {len(trace)} of {n_steps} steps"
            warnings.warn(f"{found}: the best of the orders found by then is kept.", stacklevel=2)
        # Of orders that are the same chain, the earliest.
        pool: dict[Any, tuple[Order, float]] = {}
        last = {row["restart"]: row["iteration"] for row in trace}
        for row in trace:
            if self.pool == "evaluated":
                pool.setdefault(evaluator.distinct(row["candidate"]), (row["candidate"], row["candidate_payoff"]))
            elif row["iteration"] > 0 or last[row["restart"]] == 0:
                # Algorithm 2 sorts s_1, ..., s_T: the start counts if the search stayed there.
                pool.setdefault(evaluator.distinct(row["order"]), (row["order"], row["payoff"]))
        return SearchResult.best_of(dict(pool.values()), self.keep, trace, logarithmic=evaluator.is_logarithmic)

    def _steps(self, evaluator: Any, start: Order, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
        """Yield the rows of the trace, restart by restart."""
        proposal, rule = check_proposal(self.proposal), {"accept_ties": self.keep > 1, "tolerance": evaluator.tolerance}
        for restart, generator in enumerate(rng.spawn(self.n_restarts)):
            first = start if restart == 0 else tuple(generator.permutation(evaluator.n_labels).tolist())
            began, n_before = time.perf_counter(), evaluator.n_links_fitted
            steps = search(evaluator.payoff, first, proposal, generator, **rule)
            for step in islice(steps, self.n_iterations + 1):
                recorded = evaluator.payoffs(step.order) if self.record else {}
                n_fitted, seconds = evaluator.n_links_fitted - n_before, time.perf_counter() - began
                yield {**recorded, "restart": restart, **step._asdict(), "n_links_fitted": n_fitted, "seconds": seconds}
