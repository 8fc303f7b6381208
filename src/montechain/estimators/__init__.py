"""The scikit-learn classes."""

from montechain.estimators.chain import ChainClassifier
from montechain.estimators.clustering_forest import ClusteringForestClassifier
from montechain.estimators.dependency_network import DependencyNetworkClassifier
from montechain.estimators.label_powerset import LabelPowersetClassifier
from montechain.estimators.majority import MajorityClassifier
from montechain.estimators.population import ChainPopulationClassifier

__all__ = [
    "ChainClassifier",
    "ChainPopulationClassifier",
    "ClusteringForestClassifier",
    "DependencyNetworkClassifier",
    "LabelPowersetClassifier",
    "MajorityClassifier",
]
