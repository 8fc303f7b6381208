"""Predict several targets at once with probabilistic classifier chains: exact answers, with certificates."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from montechain import metrics
    from montechain.datasets import Dataset, load_digits_facts, read_dataset
    from montechain.errors import DataError, ModelFileError, MontechainError, OutputError
    from montechain.estimators import (
        ChainClassifier,
        ChainPopulationClassifier,
        ClusteringForestClassifier,
        DependencyNetworkClassifier,
        LabelPowersetClassifier,
        MajorityClassifier,
    )
    from montechain.estimators.auto import AutoChainClassifier
    from montechain.estimators.stacked import StackedMixtureClassifier
    from montechain.estimators.table import TableClassifier
    from montechain.features import CrossFittedFeatures, OutOfBagForestFeatures
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
    from montechain.losses import F1, CallableLoss, ExactMatch, Hamming, Jaccard
    from montechain.methods import METHODS, make_method
    from montechain.ordering import AllOrders, BeamOrder, OrderSearch, Swap, TemperedSwap
    from montechain.persistence import load, save
    from montechain.population import Algorithm4, Mixture, Vote
    from montechain.preparation import TableEncoder

__version__ = "0.2.0"

# Loaded when they are first used: numba, scikit-learn and pandas take seconds, which `montechain --help` should not
# wait for.
_NAMES = {
    "montechain.datasets": "Dataset load_digits_facts read_dataset",
    "montechain.errors": "DataError ModelFileError MontechainError OutputError",
    "montechain.estimators": "ChainClassifier ChainPopulationClassifier ClusteringForestClassifier "
    "DependencyNetworkClassifier LabelPowersetClassifier MajorityClassifier",
    "montechain.estimators.auto": "AutoChainClassifier",
    "montechain.estimators.stacked": "StackedMixtureClassifier",
    "montechain.estimators.table": "TableClassifier",
    "montechain.features": "CrossFittedFeatures OutOfBagForestFeatures",
    "montechain.inference": "Beam BranchAndBound Decision EpsilonApproximate Exhaustive Greedy MonteCarlo TopK",
    "montechain.links": "LogisticLink SVMLink",
    "montechain.losses": "CallableLoss ExactMatch F1 Hamming Jaccard",
    "montechain.methods": "METHODS make_method",
    "montechain.ordering": "AllOrders BeamOrder OrderSearch Swap TemperedSwap",
    "montechain.persistence": "load save",
    "montechain.population": "Algorithm4 Mixture Vote",
    "montechain.preparation": "TableEncoder",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return import_module("montechain.metrics")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "F1", "METHODS", "Algorithm4", "AllOrders", "AutoChainClassifier", "Beam", "BeamOrder", "BranchAndBound",
    "CallableLoss", "ChainClassifier", "ChainPopulationClassifier", "ClusteringForestClassifier", "CrossFittedFeatures",
    "DataError", "Dataset", "Decision", "DependencyNetworkClassifier", "EpsilonApproximate", "ExactMatch", "Exhaustive",
    "Greedy", "Hamming", "Jaccard", "LabelPowersetClassifier", "LogisticLink", "MajorityClassifier",
    "Mixture", "ModelFileError", "MonteCarlo", "MontechainError", "OrderSearch", "OutOfBagForestFeatures",
    "OutputError", "SVMLink", "StackedMixtureClassifier", "Swap", "TableClassifier", "TableEncoder", "TemperedSwap",
    "TopK", "Vote", "load", "load_digits_facts", "make_method", "metrics", "read_dataset", "save",
]  # fmt: skip
