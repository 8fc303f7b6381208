"""Whether a search moves on to a candidate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain.ordering.orders import check_positive_number, comparable, named

__all__ = ["ACCEPTANCES", "Acceptance", "Metropolis", "NotWorse", "Strict", "check_acceptance"]


class Acceptance(BaseEstimator, ABC):
    """Whether a search moves on to a candidate.

    Links that are fitted together, or from a warm start, are exact to a tolerance only, and so are payoffs. Payoffs
    that differ by no more than ``tolerance * abs(payoff)`` count as equal, so that where they are equal in truth no
    decision depends on the rounding of a solver. A payoff that is not a number is worse than any other.
    """

    @abstractmethod
    def accept(self, candidate_payoff: float, payoff: float, rng: np.random.Generator, tolerance: float = 0.0) -> bool:
        """Return whether to move from an order with `payoff`, J(s), to one with `candidate_payoff`, J(s')."""


class Strict(Acceptance):
    """Accept a candidate that is better: J(s') > J(s), as Algorithm 1 does.

    Examples
    --------
    >>> import numpy as np
    >>> rng, accept = np.random.default_rng(0), Strict().accept
    >>> accept(2.0, 1.0, rng), accept(1.0, 1.0, rng), accept(1.01, 1.0, rng, tolerance=0.1)
    (True, False, False)
    """

    def accept(self, candidate_payoff, payoff, rng, tolerance=0.0):  # noqa: D102
        return gain(candidate_payoff, payoff, tolerance) > 0.0


class NotWorse(Acceptance):
    """Accept a candidate that is better or as good: J(s') >= J(s), as Algorithm 2 does.

    Payoffs within the tolerance count as equal, so a step may lose that much, and a walk of many such steps may sink.
    The orders kept in the end are the best that were met, and do not.

    Examples
    --------
    >>> import numpy as np
    >>> rng, accept = np.random.default_rng(0), NotWorse().accept
    >>> accept(1.0, 1.0, rng), accept(0.99, 1.0, rng), accept(0.99, 1.0, rng, tolerance=0.1)
    (True, False, True)
    """

    def accept(self, candidate_payoff, payoff, rng, tolerance=0.0):  # noqa: D102
        return gain(candidate_payoff, payoff, tolerance) >= 0.0


class Metropolis(Acceptance):
    """Accept what is not worse, and what is worse with probability ``exp((J(s') - J(s)) / temperature)``.

    So a search can leave an order that no single step improves. If J is a logarithm, as the product payoffs are, then
    at temperature 1 the walk visits orders in proportion to exp J in the long run. (With `TemperedSwap`, whose steps
    change with time, it need not.)

    Parameters
    ----------
    temperature : float, default=1.0
        A loss of this size is accepted with probability 1/e. In units of the payoff, which is a sum over the
        validation rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng, accept = np.random.default_rng(0), Metropolis(temperature=0.5).accept
    >>> round(sum(accept(-1.0, -0.5, rng) for _ in range(10_000)) / 10_000, 2)
    0.37
    """

    def __init__(self, temperature: float = 1.0):
        self.temperature = temperature

    def accept(self, candidate_payoff, payoff, rng, tolerance=0.0):  # noqa: D102
        temperature = check_positive_number(self, "temperature", 1.0, "Without any heat this is NotWorse().")
        # Drawn in any case, so that how many numbers a search has used depends on its length alone.
        uniform = rng.random()
        gained = gain(candidate_payoff, payoff, tolerance)
        return gained >= 0.0 or uniform < math.exp(gained / temperature)


def gain(candidate_payoff: float, payoff: float, tolerance: float) -> float:
    """Return by how much a candidate is better; a difference within the tolerance is none.

    >>> gain(0.5, 1.0, 0.1), gain(0.95, 1.0, 0.1)
    (-0.5, 0.0)
    """
    candidate_payoff, payoff = comparable(candidate_payoff), comparable(payoff)
    if candidate_payoff == payoff:  # both may be infinite
        return 0.0
    difference = candidate_payoff - payoff
    # Nothing lies within a share of an infinite payoff.
    return 0.0 if math.isfinite(payoff) and abs(difference) <= tolerance * abs(payoff) else difference


ACCEPTANCES: dict[str, type[Acceptance]] = {"strict": Strict, "not_worse": NotWorse, "metropolis": Metropolis}


def check_acceptance(acceptance: Any) -> Acceptance:
    """Return a rule: the given one, or the one of this name with its default parameters."""
    return named("acceptance", acceptance, Acceptance, ACCEPTANCES, "a rule such as Metropolis(temperature=1.0)")
