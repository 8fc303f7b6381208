"""The scikit-learn classes."""

from montechain.estimators.chain import ChainClassifier, ChainPopulationClassifier
from montechain.estimators.network import DependencyNetworkClassifier
from montechain.estimators.vectors import ClusteringForestClassifier, LabelPowersetClassifier, MajorityClassifier

__all__ = [
    "ChainClassifier",
    "ChainPopulationClassifier",
    "ClusteringForestClassifier",
    "DependencyNetworkClassifier",
    "LabelPowersetClassifier",
    "MajorityClassifier",
]
