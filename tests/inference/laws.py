"""Laws that every inference strategy satisfies. To test a new strategy, add it to `STRATEGIES`."""

from montechain.inference import Beam, BranchAndBound, EpsilonApproximate, Exhaustive, Greedy, MonteCarlo

STRATEGIES = [
    Greedy(),
    Beam(width=1),
    Beam(width=3),
    Exhaustive(),
    EpsilonApproximate(epsilon=0.25),
    EpsilonApproximate(epsilon=0.0),
    BranchAndBound(),
    BranchAndBound(max_nodes=1),
    BranchAndBound(max_nodes=7),
    MonteCarlo(n_samples=20),
    MonteCarlo(n_samples=5),
]
"""All strategies, some of them several times."""

EXACT = [Exhaustive(), EpsilonApproximate(epsilon=0.0), Beam(width=5**5), BranchAndBound(max_nodes=10**6)]
"""Those that find the most probable label vector of the chains tested here."""

DISTRIBUTIONS = [Exhaustive(), BranchAndBound(max_nodes=10**6, residual=0.0)]
"""Those whose distribution is complete, so that they minimise every loss."""
