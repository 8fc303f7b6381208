"""Several joint models with weights, one answer."""

from montechain.population.combinations import COMBINATIONS, Algorithm4, Combination, Mixture, Vote, check_combine
from montechain.population.population import Population

__all__ = ["COMBINATIONS", "Algorithm4", "Combination", "Mixture", "Population", "Vote", "check_combine"]
