"""Predict several targets of one thing at once: probabilistic classifier chains, exact with a certificate."""

from montechain import metrics
from montechain.estimators import ChainClassifier, ChainPopulationClassifier
from montechain.inference import (
    Beam,
    BranchAndBound,
    Decision,
    EpsilonApproximate,
    Exhaustive,
    Greedy,
    MonteCarlo,
    TopK,
)
from montechain.links import LogisticLink, SVMLink
from montechain.losses import F1, ExactMatch, Hamming, Jaccard
from montechain.ordering import (
    AllOrders,
    BeamOrder,
    Insertion,
    LocalSwap,
    Metropolis,
    OrderSearch,
    SubsetOrder,
    Swap,
    TemperedSwap,
)
from montechain.population import Algorithm4, Mixture, Vote

__version__ = "0.1.0"

__all__ = [
    "F1",
    "Algorithm4",
    "AllOrders",
    "Beam",
    "BeamOrder",
    "BranchAndBound",
    "ChainClassifier",
    "ChainPopulationClassifier",
    "Decision",
    "EpsilonApproximate",
    "ExactMatch",
    "Exhaustive",
    "Greedy",
    "Hamming",
    "Insertion",
    "Jaccard",
    "LocalSwap",
    "LogisticLink",
    "Metropolis",
    "Mixture",
    "MonteCarlo",
    "OrderSearch",
    "SVMLink",
    "SubsetOrder",
    "Swap",
    "TemperedSwap",
    "TopK",
    "Vote",
    "metrics",
]
