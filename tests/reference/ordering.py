"""Searching for label orders, the slow and obvious way; and an evaluator without data."""

from collections import deque
from itertools import combinations, permutations, product
from math import fsum


class TableEvaluator:
    """Stands in for the evaluator: the payoff of an order is the sum of its links', which a table holds."""

    tolerance = 0.0
    is_logarithmic = False

    def __init__(self, n_labels, link_payoffs):
        self.n_labels = n_labels
        self.table = link_payoffs
        self.asked = set()

    @classmethod
    def random(cls, rng, n_labels, values=None):
        """Draw the table; `values`, if given, are the only ones that occur, so that there are ties."""
        links = [
            (label, frozenset(earlier))
            for label in range(n_labels)
            for size in range(n_labels)
            for earlier in combinations([other for other in range(n_labels) if other != label], size)
        ]
        drawn = rng.normal(size=len(links)) if values is None else rng.choice(values, size=len(links))
        return cls(n_labels, dict(zip(links, drawn.tolist(), strict=True)))

    @property
    def n_links_fitted(self):
        return len(self.asked)

    def distinct(self, order):
        return order

    def prefetch(self, orders):
        """Do nothing: the table is complete."""

    def link_payoffs(self, links):
        self.asked.update(links)
        return [self.table[link] for link in links]

    def payoff(self, order):
        return fsum(self.link_payoffs([(label, frozenset(order[:k])) for k, label in enumerate(order)]))


def all_payoffs(evaluator):
    """Return the payoff of every order."""
    return {order: evaluator.payoff(order) for order in permutations(range(evaluator.n_labels))}


def exchange(order, i, j):
    """Return the order after a swap."""
    return tuple({i: order[j], j: order[i]}.get(k, label) for k, label in enumerate(order))


def swaps(order):
    """Return all orders that are one swap away."""
    return [exchange(order, i, j) for i, j in combinations(range(len(order)), 2)]


def local_optima(payoffs):
    """Return the orders that no single swap improves."""
    return {order for order in payoffs if all(payoffs[other] <= payoffs[order] for other in swaps(order))}


def reachable(start, neighbours):
    """Return all orders that can be reached."""
    seen, queue = {start}, deque([start])
    while queue:
        new = [order for order in neighbours(queue.popleft()) if order not in seen]
        seen.update(new)
        queue.extend(new)
    return seen


def tempered_pairs(n_labels, t, beta, warmup=0):
    """Return the probability of drawing positions ℓ, then m (from 1), by the formulas of Section 3.2 as printed."""

    def weight(base, position):
        return 1 / base if t <= warmup else (1 / base) ** (beta * t / position)

    positions = range(1, n_labels + 1)
    first = {position: weight(n_labels, position) for position in positions}
    pairs = {}
    for ell, m in product(positions, positions):
        if ell != m:
            others = [weight(n_labels - 1, position) for position in positions if position != ell]
            pairs[ell, m] = first[ell] / sum(first.values()) * weight(n_labels - 1, m) / sum(others)
    return pairs


def algorithm_1(payoff, start, proposal, n_iterations, rng):
    """Return s_0, ..., s_T of Algorithm 1."""
    s = [start]
    for t in range(1, n_iterations + 1):
        candidate = proposal.propose(s[t - 1], t, rng)
        if payoff(candidate) > payoff(s[t - 1]):
            s.append(candidate)
        else:
            s.append(s[t - 1])
    return s


def algorithm_2(payoff, start, proposal, n_iterations, rng):
    """Return s_1, ..., s_T of Algorithm 2 and their weights, before they are sorted."""
    s, w = [start], [None]
    for t in range(1, n_iterations + 1):
        candidate = proposal.propose(s[t - 1], t, rng)
        if payoff(candidate) >= payoff(s[t - 1]):
            s.append(candidate)
            w.append(payoff(candidate))
        else:
            s.append(s[t - 1])
            w.append(payoff(s[t - 1]))
    return s[1:], w[1:]
