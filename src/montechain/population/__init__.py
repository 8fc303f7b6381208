"""Several joint models with weights, one answer."""

from __future__ import annotations

from typing import Any

from montechain._messages import nearest
from montechain.population.algorithm_4 import Algorithm4
from montechain.population.population import Combination, Mixture, Population
from montechain.population.vote import Vote

__all__ = ["COMBINATIONS", "Algorithm4", "Combination", "Mixture", "Population", "Vote", "check_combine"]

COMBINATIONS: dict[str, type[Combination]] = {"algorithm-4": Algorithm4, "mixture": Mixture, "vote": Vote}
"""The combinations by name."""


def check_combine(combine: Any) -> Combination:
    """Return a combination: the given one, or the one of this name with its default parameters.

    Examples
    --------
    >>> check_combine("vote")
    Vote()
    >>> check_combine("mixtures")
    Traceback (most recent call last):
        ...
    ValueError: `combine='mixtures'` is not known; did you mean 'mixture'? Allowed are 'algorithm-4', 'mixture', ...
    """
    if isinstance(combine, Combination):
        return combine
    if isinstance(combine, str) and combine in COMBINATIONS:
        return COMBINATIONS[combine]()
    if isinstance(combine, type):
        raise TypeError(f"`combine` is the class {combine.__name__}: pass an instance, {combine.__name__}().")
    hint = (nearest(combine, COMBINATIONS) if isinstance(combine, str) else "") or "."
    raise ValueError(
        f"`combine={combine!r}` is not known{hint} Allowed are {', '.join(map(repr, COMBINATIONS))}, "
        "or a combination such as Algorithm4(n_orders=50)."
    )
