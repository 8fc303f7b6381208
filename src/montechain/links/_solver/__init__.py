"""Many logistic problems that share X, solved together."""

from montechain.links._solver.problems import LogisticProblems, Solution

__all__ = ["LogisticProblems", "Solution"]
