"""What makes an order good: the payoffs of the paper, and any scorer.

The four payoffs are implemented as the paper prints them (Section 3.3), over the validation rows n and for the
predicted label vectors ŷ:

======================  =====================================  ==================
name                    value                                  for
======================  =====================================  ==================
``J_EM``                Σ_n p(ŷ | x)                           exact match
``J_EM_prod``           Σ_n log p(ŷ | x)                       exact match
``J_Ham``               Σ_n Σ_ℓ p(ŷ_ℓ | x)                     Hamming loss
``J_Ham_prod``          Σ_n log Σ_ℓ p(ŷ_ℓ | x)                 Hamming loss
======================  =====================================  ==================

The two products are kept as logarithms: a product over many rows is too small a number. Two remarks on the paper.
Its footnote on p(ŷ_ℓ | x) sums conditional probabilities over the prefixes without weighing each by the probability
of that prefix; here these are the true marginals. And its step from minimising Σ log(1 - p) to maximising Π p, by
which the products are derived, is not an identity: they are payoffs in their own right, not the multiplicative risk.

With ``on="truth"`` the true labels y stand in place of ŷ: the better choice where probabilities are not calibrated,
because a chain that is too sure of itself then loses by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names

from montechain._messages import nearest
from montechain.metrics import SCORERS

__all__ = ["J_EM", "PAYOFFS", "J_EM_prod", "J_Ham", "J_Ham_prod", "Payoff", "check_payoff"]


def J_EM(log_joint: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return Σ p(y | x), given log p(y | x) of each row's label vector and how often each row counts.

    >>> J_EM(np.log([0.5, 0.25]))
    0.75
    """
    return _total(np.exp(log_joint), weight)


def J_EM_prod(log_joint: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the logarithm of Π p(y | x); parameters as for `J_EM`."""
    return _total(log_joint, weight)


def J_Ham(label_proba: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return Σ_n Σ_ℓ p(y_ℓ | x), given the marginals of shape (n, L); NaN where a label is unknown and does not count.

    >>> J_Ham(np.array([[0.5, 0.75], [1.0, np.nan]]))
    2.25
    """
    return _total(np.nansum(label_proba, axis=1), weight)


def J_Ham_prod(label_proba: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the logarithm of Π_n Σ_ℓ p(y_ℓ | x), over the rows in which a label counts; parameters as for `J_Ham`."""
    counts = ~np.isnan(label_proba).all(axis=1)
    with np.errstate(divide="ignore"):
        values = np.log(np.nansum(label_proba[counts], axis=1))
    return _total(values, None if weight is None else weight[counts])


@dataclass(frozen=True)
class Payoff:
    """A payoff, and what it is computed from.

    `function` takes ``(log_joint, weight)`` if it is of the "joint", ``(label_proba, weight)`` if it is of the
    "marginals", and ``(estimator, X, Y)`` if it is a scorer, of an "estimator". If `is_logarithm`, the paper's payoff
    is the exponential of this one.
    """

    name: str
    function: Callable[..., float]
    of: str
    is_logarithm: bool = False


PAYOFFS: dict[str, Payoff] = {
    "J_EM": Payoff("J_EM", J_EM, "joint"),
    "J_EM_prod": Payoff("J_EM_prod", J_EM_prod, "joint", is_logarithm=True),
    "J_Ham": Payoff("J_Ham", J_Ham, "marginals"),
    "J_Ham_prod": Payoff("J_Ham_prod", J_Ham_prod, "marginals", is_logarithm=True),
}
"""The payoffs of the paper by name."""


def check_payoff(payoff: Any) -> Payoff:
    """Return a payoff: one of the paper's by name, or a scorer by name or as a function.

    Where a name is both one of `montechain.metrics.SCORERS` and scikit-learn's, it is ours, which knows labels of
    several classes and unknown ones. A function ``scorer(estimator, X, Y)`` returns a number, more of which is better.

    >>> check_payoff("j_ham")
    Traceback (most recent call last):
        ...
    ValueError: `payoff='j_ham'` is not known; did you mean 'J_Ham'? ...
    """
    if isinstance(payoff, Payoff):
        return payoff
    if isinstance(payoff, str):
        if payoff in PAYOFFS:
            return PAYOFFS[payoff]
        if payoff in SCORERS:
            return Payoff(payoff, SCORERS[payoff], "estimator")
        if payoff in get_scorer_names():
            return Payoff(payoff, get_scorer(payoff), "estimator")
        known = [*PAYOFFS, *SCORERS, *get_scorer_names()]
        raise ValueError(
            f"`payoff={payoff!r}` is not known{nearest(payoff.replace('-', '_'), known) or '.'} Allowed are "
            f"{', '.join(map(repr, PAYOFFS))}, the names of scorers such as 'exact_match' or 'f1_micro', or a function "
            "scorer(estimator, X, Y)."
        )
    if callable(payoff):
        return Payoff(getattr(payoff, "__name__", type(payoff).__name__), payoff, "estimator")
    raise TypeError(
        f"`payoff={payoff!r}` is neither the name of a payoff or scorer nor a function scorer(estimator, X, Y)."
    )


def _total(values: np.ndarray, weight: np.ndarray | None) -> float:
    if weight is None:
        return float(np.sum(values))
    # A row of no weight does not count even if its value is infinite.
    return float(np.sum(values[weight > 0.0] * weight[weight > 0.0]))
