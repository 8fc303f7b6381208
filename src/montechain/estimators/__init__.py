"""The scikit-learn classes."""

from montechain.estimators.chain import ChainClassifier
from montechain.estimators.population import ChainPopulationClassifier

__all__ = ["ChainClassifier", "ChainPopulationClassifier"]
