"""The scikit-learn classes."""

from montechain.estimators.chain import ChainClassifier
from montechain.estimators.network import DependencyNetworkClassifier
from montechain.estimators.population import ChainPopulationClassifier
from montechain.estimators.vectors import ClusteringForestClassifier, LabelPowersetClassifier, MajorityClassifier

__all__ = [
    "ChainClassifier",
    "ChainPopulationClassifier",
    "ClusteringForestClassifier",
    "DependencyNetworkClassifier",
    "LabelPowersetClassifier",
    "MajorityClassifier",
]
