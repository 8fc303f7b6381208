"""From a chain and x to a label vector: see `montechain.inference.base.Inference`."""

from __future__ import annotations

from typing import Any

from montechain._messages import by_name
from montechain.inference.base import Decision, Inference, TopK
from montechain.inference.branch_and_bound import BranchAndBound
from montechain.inference.level_by_level import Beam, EpsilonApproximate, Exhaustive, Greedy
from montechain.inference.monte_carlo import MonteCarlo

__all__ = [
    "Beam",
    "BranchAndBound",
    "Decision",
    "EpsilonApproximate",
    "Exhaustive",
    "Greedy",
    "Inference",
    "MonteCarlo",
    "TopK",
]

STRATEGIES: dict[str, type[Inference]] = {
    "greedy": Greedy,
    "exhaustive": Exhaustive,
    "epsilon_approximate": EpsilonApproximate,
    "beam": Beam,
    "branch_and_bound": BranchAndBound,
    "monte_carlo": MonteCarlo,
}
"""The strategies by name."""


def check_inference(inference: Any) -> Inference:
    """Return a strategy: the given one, or the one of this name with its default parameters.

    >>> check_inference("beam")
    Beam()
    """
    return by_name("inference", inference, Inference, STRATEGIES, "a strategy such as Beam(width=5)")
