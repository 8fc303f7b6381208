"""From an order to the next candidate: one proposal, one file."""

from __future__ import annotations

from typing import Any

from montechain._messages import nearest
from montechain.ordering.proposals.base import Proposal
from montechain.ordering.proposals.insertion import Insertion
from montechain.ordering.proposals.local_swap import LocalSwap
from montechain.ordering.proposals.swap import Swap
from montechain.ordering.proposals.tempered_swap import TemperedSwap

__all__ = ["PROPOSALS", "Insertion", "LocalSwap", "Proposal", "Swap", "TemperedSwap", "check_proposal"]

PROPOSALS: dict[str, type[Proposal]] = {
    "swap": Swap,
    "tempered_swap": TemperedSwap,
    "local_swap": LocalSwap,
    "insertion": Insertion,
}
"""The proposals by name."""


def check_proposal(proposal: Any) -> Proposal:
    """Return a proposal: the given one, or the one of this name with its default parameters.

    Examples
    --------
    >>> check_proposal("tempered_swap")
    TemperedSwap()
    >>> check_proposal("tempered")
    Traceback (most recent call last):
        ...
    ValueError: `proposal='tempered'` is not known; did you mean 'tempered_swap'? Allowed are 'swap', ...
    """
    if isinstance(proposal, Proposal):
        return proposal
    if isinstance(proposal, str) and proposal in PROPOSALS:
        return PROPOSALS[proposal]()
    hint = (nearest(proposal, PROPOSALS) if isinstance(proposal, str) else "") or "."
    raise ValueError(
        f"`proposal={proposal!r}` is not known{hint} Allowed are {', '.join(map(repr, PROPOSALS))}, "
        "or a proposal such as TemperedSwap(beta=0.03)."
    )
