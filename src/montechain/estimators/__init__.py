"""The scikit-learn classes."""

from montechain.estimators.chain import ChainClassifier
from montechain.estimators.forest import ClusteringForestClassifier
from montechain.estimators.majority import MajorityClassifier
from montechain.estimators.network import DependencyNetworkClassifier
from montechain.estimators.population import ChainPopulationClassifier
from montechain.estimators.powerset import LabelPowersetClassifier

__all__ = [
    "ChainClassifier",
    "ChainPopulationClassifier",
    "ClusteringForestClassifier",
    "DependencyNetworkClassifier",
    "LabelPowersetClassifier",
    "MajorityClassifier",
]
